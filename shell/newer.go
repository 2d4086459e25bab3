package shell

import (
	"context"
	"errors"

	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/rules/ledger"
)

// errParks says that other events are parked than the ledger obeys.
var errParks = errors.New("other events are parked now")

// Newer returns the event of a type that this program does not know, before which the ledger has stopped; nil while it
// goes on. Meanwhile the ledger can be read, but nothing may be decided on it.
func (s *Shell) Newer() *events.NewerError {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.newer
}

// stop ends the folding before an event. The ledger that was read so far stays, even if another one that begins again
// stops before it: collectors end on it what they do. The caller holds mu.
func (s *Shell) stop(at *events.NewerError) {
	if s.newer == nil || s.newer.Seq != at.Seq {
		s.Logger.Error("the log holds an event that this program does not understand: nothing is decided from there on", "event", at.Seq, "type", at.Type,
			"subject", at.Subject, "stored_at", at.StoredAt, "next", at.Next())
	}
	s.newer, s.current = at, false
}

// folded returns the ledger that takes the next event. Only the goroutine that owns it, and one that holds mu, may ask.
func (s *Shell) folded() *ledger.Ledger {
	if s.aside != nil {
		return s.aside
	}
	return s.ledger
}

// rise prepares for the next reading. What workers of the one before have written is read before a decider is asked.
func (s *Shell) rise() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.current, s.stuck = false, false
	for _, seat := range s.seats {
		seat.busy, seat.news, seat.blind = false, true, false
	}
}

// begin returns the event after which to read: that of the newest snapshot at the start, and later that of the ledger.
func (s *Shell) begin(ctx context.Context) (at events.Seq, err error) {
	if s.restored {
		at, err = s.obey(ctx)
	} else {
		at, err = s.restore(ctx)
		s.restored = err == nil
	}
	var newer *events.NewerError
	if errors.As(err, &newer) { // the subject park itself has it
		s.mu.Lock()
		s.stop(newer)
		s.mu.Unlock()
	}
	return at, err
}

// obey makes the ledger obey the parks of now. If the ledger has passed an event that they change, another one begins
// aside: from the newest snapshot before that event, or from the first event.
func (s *Shell) obey(ctx context.Context) (events.Seq, error) {
	head, err := s.Log.Head(ctx)
	if err != nil {
		return 0, err
	}
	parks, err := s.Log.Parks(ctx)
	if err != nil {
		return 0, err
	}
	if !passed(parks, s.ledger) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.aside = nil
		s.ledger.Obey(parks)
		return s.ledger.Seq, nil
	}
	l, at, head, err := s.newest(ctx, head, parks)
	if err != nil {
		return 0, err
	}
	if l == nil {
		l = ledger.New()
	}
	l.Obey(parks)
	s.Logger.WarnContext(ctx, "other events are parked now: the log is read again", "after", at.Seq, "events", head.Last-at.Seq)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.aside, s.keeper.last = l, at.EventID
	return l.Seq, nil
}

// passed reports whether a ledger has folded an event about which the parks say something else than it obeyed.
func passed(parks events.Parks, l *ledger.Ledger) bool {
	first, changed := parks.Since(l.Parks)
	return changed && first <= l.Seq
}

// askParks tells whether the subject park says more than what a stopped ledger obeys.
func (s *Shell) askParks(ctx context.Context, obeyed events.Seq, answer chan<- bool) {
	found, err := s.Log.Parks(ctx)
	select {
	case answer <- err == nil && found.At != obeyed:
	case <-ctx.Done():
	}
}
