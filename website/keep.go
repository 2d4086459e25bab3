package website

import (
	"net/http"

	"github.com/tachobench/tacho/website/client"
)

// checkLog compares all of the log with the archive.
func (s *Server) checkLog(w http.ResponseWriter, r *http.Request, _ *params) (any, error) {
	if err := body(w, r, &struct{}{}); err != nil {
		return nil, err
	}
	if s.CheckLog == nil {
		return nil, wrong(http.StatusNotImplemented, "run `tacho log check` where the log and the database are at hand", "this process cannot check the log")
	}
	if !s.verifying.TryLock() {
		return nil, wrong(http.StatusConflict, "wait for it and ask again", "a verification, a check or a backup is running")
	}
	defer s.verifying.Unlock()
	return s.CheckLog(r.Context())
}

// backup sends a backup of the log.
func (s *Server) backup(w http.ResponseWriter, r *http.Request, _ *params) error {
	if err := body(w, r, &struct{}{}); err != nil {
		return err
	}
	if s.Backup == nil {
		return wrong(http.StatusNotImplemented, "run `tacho backup` where the log and the database are at hand", "this process cannot back the log up")
	}
	if !s.verifying.TryLock() {
		return wrong(http.StatusConflict, "wait for it and ask again", "a verification, a check or a backup is running")
	}
	defer s.verifying.Unlock()
	out := &outputWriter{begin: func() (*stream, func()) { return s.open(w, r, client.BackupType) }}
	defer out.close()
	ctx, cancel := s.untilStopped(r)
	defer cancel()
	err := s.Backup(ctx, out)
	if err == nil || out.st == nil {
		return err
	}
	// The answer has begun: the backup lacks its end, which its reader notices.
	if out.failed == nil {
		s.fault(r, err)
	}
	return nil
}
