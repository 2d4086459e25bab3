package website

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/tachobench/tacho/internal/phrase"
	"github.com/tachobench/tacho/readmodel"
)

// probeTimeout bounds each check of readiness.
const probeTimeout = 2 * time.Second

// readiness is the answer of /readyz.
type readiness struct {
	Ready  bool    `json:"ready"`
	Checks []Check `json:"checks"`
	// Alerts are those that this process knows and that the tables may not show.
	Alerts []readmodel.Alert `json:"alerts,omitempty"`
}

// Check is one thing that must be right before this process is ready.
type Check struct {
	Name   string `json:"name"`
	OK     bool   `json:"ok"`
	Detail string `json:"detail"`
}

// healthz says that the process serves. It also lists the alerts that it knows, but stays ok: a restart of this process
// would not end them.
func (s *Server) healthz(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	text := "ok\n"
	for _, a := range s.local() {
		text += string(a.Kind) + ": " + a.Message + "\n"
	}
	_, _ = io.WriteString(w, text) // the caller may have left
}

// readyz says what works and what does not.
func (s *Server) readyz(w http.ResponseWriter, r *http.Request) {
	checks, err := s.probed.get(r.Context(), func() ([]Check, error) {
		ctx, cancel := context.WithTimeout(r.Context(), probeTimeout)
		defer cancel()
		return s.probe(ctx), nil
	})
	if err != nil {
		return // the caller has left
	}
	answer := readiness{Checks: checks, Alerts: s.local()}
	answer.Ready = true
	for _, c := range answer.Checks {
		answer.Ready = answer.Ready && c.OK
	}
	status := http.StatusOK
	if !answer.Ready {
		status = http.StatusServiceUnavailable
	}
	s.write(w, r, status, answer)
}

func (s *Server) probe(ctx context.Context) []Check {
	cursor, err := s.Reader.Cursor(ctx)
	unfilled := errors.Is(err, readmodel.ErrNotFound)
	postgres := Check{"postgres", err == nil || unfilled, "the tables can be read"}
	if !postgres.OK {
		s.Logger.WarnContext(ctx, "not ready: the tables cannot be read", "error", err)
		postgres.Detail = "the tables cannot be read; see the log of the server"
	}
	head, err := s.Log.Head(ctx)
	log := Check{"log", err == nil, "reachable, " + phrase.Count(int(head.Last), "event")}
	if err != nil {
		s.Logger.WarnContext(ctx, "not ready: the log cannot be reached", "error", err)
		log.Detail = "the log cannot be reached; see the log of the server"
	}
	projection := Check{Name: "projection"}
	switch {
	case !postgres.OK || !log.OK:
		projection.Detail = "not known without both Postgres and the log"
	case unfilled:
		projection.Detail = "the projector has not begun to fill the tables: check that it runs"
	case cursor.Identity != "" && cursor.Identity != head.Identity:
		projection.Detail = "the tables were made of another log: run `tacho replay`"
	case cursor.Seq > head.Last: // the log was asked last, and only grows
		projection.Detail = fmt.Sprintf("the tables are at event %d and the log ends at %d: it was restored from an older copy; run `tacho replay`", cursor.Seq, head.Last)
	case head.Last > cursor.Seq && uint64(head.Last-cursor.Seq) > s.MaxLag:
		projection.Detail = fmt.Sprintf("the tables are at event %d of %d, more than %d behind: check that the projector runs", cursor.Seq, head.Last, s.MaxLag)
	default:
		projection.OK, projection.Detail = true, fmt.Sprintf("the tables are at event %d of %d", cursor.Seq, head.Last)
	}
	checks := []Check{postgres, log, projection}
	if s.Ledger != nil {
		at, current := s.Ledger()
		ledger := Check{"ledger", current, "all of the log is read that this program understands"}
		if !current {
			ledger.Detail = fmt.Sprintf("the log is being read, event %d of %d: nothing is decided and no collector is let in meanwhile", at, head.Last)
		}
		checks = append(checks, ledger)
	}
	for _, ask := range s.Checks {
		checks = append(checks, ask(ctx))
	}
	return checks
}
