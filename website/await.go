package website

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/readmodel"
)

// errWaitedLong is the cause when the wait of a read for an event ends.
var errWaitedLong = errors.New("the tables did not catch up with the log in time")

// awaited waits, for a bounded time, until the tables hold the event that a read names.
func (s *Server) awaited(r *http.Request, p *params) error {
	seq := p.seq("wait_for")
	if p.err != nil || seq == 0 {
		return p.err
	}
	ctx, cancel := context.WithTimeoutCause(r.Context(), s.WaitFor, errWaitedLong)
	defer cancel()
	err := s.Reader.WaitFor(ctx, seq)
	if !errors.Is(err, errWaitedLong) {
		return err
	}
	at, err := s.now(r)
	if err != nil {
		return err
	}
	lag := fmt.Sprintf("the tables are at event %d and not at %d after %s", at, seq, s.WaitFor)
	if head, err := s.Log.Head(r.Context()); err == nil {
		lag += fmt.Sprintf("; the log ends at %d", head.Last)
	}
	return wrong(http.StatusGatewayTimeout, "see /readyz: the projector is slow or does not run, or the log has no such event", "%s", lag)
}

// seqNow asks the tables how far they are; 0 if no projector ever began.
func (s *Server) seqNow(r *http.Request) (events.Seq, error) {
	at, err := s.Reader.Cursor(r.Context())
	if errors.Is(err, readmodel.ErrNotFound) {
		err = nil
	}
	return at.Seq, err
}
