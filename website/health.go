package website

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
	"time"

	"github.com/tachobench/tacho/eventlog"
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

// probe makes all checks at the same time: one that waits for an answer leaves the others their time.
func (s *Server) probe(ctx context.Context) []Check {
	var asked sync.WaitGroup
	more := make([]Check, len(s.Checks))
	for i, ask := range s.Checks {
		asked.Go(func() { more[i] = ask(ctx) })
	}
	var cursor readmodel.Cursor
	var away error
	asked.Go(func() { cursor, away = s.Reader.Cursor(ctx) })
	before, err := s.Log.Head(ctx)
	asked.Wait()
	unfilled := errors.Is(away, readmodel.ErrNotFound)
	postgres := Check{"postgres", away == nil || unfilled, "the tables can be read"}
	if !postgres.OK {
		s.Logger.WarnContext(ctx, "not ready: the tables cannot be read", "error", away)
		postgres.Detail = "Postgres does not answer, so pages and reads answer 503; the log takes events, and jobs go on; see the log of the server"
	}
	head := before
	if err == nil && postgres.OK && cursor.Seq > head.Last { // the tables moved meanwhile
		head, err = s.Log.Head(ctx)
	}
	log := Check{"log", err == nil, "reachable, " + phrase.Count(int(head.Last), "event")}
	if err != nil {
		s.Logger.WarnContext(ctx, "not ready: the log cannot be reached", "error", err)
		log.Detail = "the log cannot be reached; see the log of the server"
	}
	checks := []Check{postgres, log, s.projection(postgres.OK && log.OK, unfilled, cursor, head)}
	if s.Ledger != nil {
		at, current := s.Ledger()
		ledger := Check{"ledger", current, "all of the log is read that this program understands"}
		if !current {
			ledger.Detail = fmt.Sprintf("the log is being read, event %d of %d: nothing is decided and no collector is let in meanwhile", at, head.Last)
		}
		checks = append(checks, ledger)
	}
	return append(checks, more...)
}

// projection checks the tables against the log.
func (s *Server) projection(known, unfilled bool, cursor readmodel.Cursor, head eventlog.Head) Check {
	projection := Check{Name: "projection"}
	short := known && !unfilled && cursor.Seq > head.Last
	sure := s.short.note(short, time.Now()) || head.Sole
	switch {
	case !known:
		projection.Detail = "not known without both Postgres and the log"
	case unfilled:
		projection.Detail = "the projector has not begun to fill the tables: check that it runs"
	case cursor.Identity != "" && cursor.Identity != head.Identity:
		projection.Detail = "the tables were made of another log: give Tacho the right one, or run `tacho log repair`"
	case short && !sure:
		projection.Detail = fmt.Sprintf("the tables are at event %d and a server says that the log ends at %d: that server may be late, it is asked again", cursor.Seq, head.Last)
	case short: // the log was asked last, and only grows
		projection.Detail = fmt.Sprintf("the tables are at event %d and the log ends at %d: it is an older copy; stop Tacho and run `tacho log repair`", cursor.Seq, head.Last)
	case head.Last > cursor.Seq && uint64(head.Last-cursor.Seq) > s.MaxLag:
		projection.Detail = fmt.Sprintf("the tables are at event %d of %d, more than %d behind: check that the projector runs", cursor.Seq, head.Last, s.MaxLag)
	default:
		projection.OK, projection.Detail = true, fmt.Sprintf("the tables are at event %d of %d", cursor.Seq, head.Last)
	}
	return projection
}

// shortness remembers since when the log ends before the tables. One probe at a time uses it.
type shortness struct {
	since, last time.Time
}

const (
	// shortAfter is how long a log of several servers must end before the tables until that is believed; shortGap, how far
	// apart two probes may be that belong together.
	shortAfter = 5 * time.Second
	shortGap   = time.Minute
)

// note takes what a probe found, and returns whether it is certain.
func (s *shortness) note(short bool, now time.Time) bool {
	if !short {
		*s = shortness{}
		return false
	}
	if s.since.IsZero() || now.Sub(s.last) > shortGap {
		s.since = now
	}
	s.last = now
	return now.Sub(s.since) >= shortAfter
}
