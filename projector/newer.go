package projector

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/internal/retry"
)

// askEvery is the pause between two looks whether an event was parked.
const askEvery = time.Second

// stoppedError says that the next event is of an unknown type, and which parks were obeyed.
type stoppedError struct {
	*events.NewerError
	obeyed events.Seq
}

func (e *stoppedError) Error() string {
	return fmt.Sprintf("%v: a newer version of Tacho wrote it; %s", e.NewerError, e.Next())
}

func (e *stoppedError) Unwrap() error { return e.NewerError }

// stays waits at an event of an unknown type until other events are parked. It returns false if the error is another one,
// and true at once when ctx ends. The tables stay as they are before that event.
func (p *Projector) stays(ctx context.Context, err error) bool {
	var newer *events.NewerError
	if !errors.As(err, &newer) {
		return false
	}
	p.newer = newer.Seq
	p.config.Newer(newer)
	p.config.Logger.ErrorContext(ctx, "the log holds an event that this program does not understand: the tables stay as they are before it",
		"event", newer.Seq, "type", newer.Type, "subject", newer.Subject, "stored_at", newer.StoredAt, "next", newer.Next())
	var stopped *stoppedError
	at := errors.As(err, &stopped)
	for retry.Sleep(ctx, askEvery) {
		// It fails while the log is away, and while the subject park itself has the event.
		if parks, err := p.config.Log.Parks(ctx); err == nil && (!at || parks.At != stopped.obeyed) {
			return true
		}
	}
	return true
}

// wentOn notes that the tables hold an event: the database has room, and no newer event before it stops the projector.
func (p *Projector) wentOn(at events.Seq) {
	p.config.Full("")
	if p.newer != 0 && at >= p.newer {
		p.newer = 0
		p.config.Newer(nil)
	}
}

// obeys returns ErrParks if the tables hold an event about which the parks say something else than those that the tables
// obeyed.
func obeys(at position, parks events.Parks) error {
	if first, changed := parks.Since(at.parks); changed && first <= at.seq {
		return fmt.Errorf("%w (event %d)", ErrParks, first)
	}
	return nil
}
