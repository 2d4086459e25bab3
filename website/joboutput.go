package website

import (
	"errors"
	"mime"
	"net/http"
	"slices"
	"strconv"

	"github.com/tachobench/tacho/blob"
	"github.com/tachobench/tacho/readmodel"
)

// jobOutput writes what a job stored, as the tar file that it is. Its length is said first, so a reader can tell when it was
// cut.
func (s *Server) jobOutput(w http.ResponseWriter, r *http.Request, p *params) error {
	if p.err != nil {
		return p.err
	}
	job, err := s.jobNow(r.Context(), visitOf(r.Context()).who, r.PathValue("job"))
	if err != nil {
		return err
	}
	name := r.PathValue("name")
	i := slices.IndexFunc(job.OutputList, func(o readmodel.JobOutput) bool { return o.Name == name })
	switch {
	case i < 0:
		return wrong(http.StatusNotFound, "`tacho job show "+string(job.ID)+"` lists what it has stored", "job %s has stored nothing under the name %.64q", job.ID, name)
	case s.Blobs == nil:
		return wrong(http.StatusNotFound, "ask the process that is connected to the log", "this process has no store of outputs")
	}
	out := &outputWriter{begin: func() (*stream, func()) {
		h := w.Header()
		h.Set("Content-Disposition", mime.FormatMediaType("attachment", map[string]string{"filename": string(job.ID) + "-" + name + ".tar"}))
		h.Set("Content-Length", strconv.FormatInt(job.OutputList[i].Bytes, 10))
		return s.open(w, r, "application/x-tar")
	}}
	defer out.close()
	if r.Method == http.MethodHead {
		out.start()
		return nil
	}
	ctx, cancel := s.untilStopped(r)
	defer cancel()
	err = s.Blobs.Get(ctx, job.OutputList[i].Lane(), job.OutputList[i].Output(), out)
	switch {
	case err == nil:
		out.start() // also one without content
	case out.st != nil: // the answer has begun: its length shows that it is cut
		if out.failed == nil {
			s.fault(r, err)
		}
	case errors.Is(err, blob.ErrMissing), errors.Is(err, blob.ErrDamaged):
		return wrong(http.StatusNotFound, "`tacho job rerun "+string(job.ID)+"` makes it again while its request is in progress", "%s of job %s is not in the store any more: the oldest that no job needs make room for others", name, job.ID)
	default:
		return err
	}
	return nil
}

// outputWriter begins the answer with the first byte.
type outputWriter struct {
	begin  func() (*stream, func())
	st     *stream
	closed func()
	// failed is set when the reader has left or does not read.
	failed error
}

func (o *outputWriter) start() {
	if o.st == nil {
		o.st, o.closed = o.begin()
	}
}

func (o *outputWriter) close() {
	if o.closed != nil {
		o.closed()
	}
}

// Write implements io.Writer.
func (o *outputWriter) Write(p []byte) (int, error) {
	o.start()
	if o.failed = o.st.send(p); o.failed != nil {
		return 0, o.failed
	}
	return len(p), nil
}
