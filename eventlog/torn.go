package eventlog

import (
	"fmt"

	"github.com/tachobench/tacho/events"
)

// TornError says that the log has stored the beginning of an append and not its rest, which no promise of the log allows. A NATS
// server that stands alone leaves that behind when it has no room in the middle of a batch. Whoever finds it appends
// nothing more: the server stores the rest when it starts again, but only if nothing stands behind the beginning.
//
// It is a *FullError too, so it is shown as one.
type TornError struct {
	// First to Last are stored. The rest belongs behind them, up to End.
	First, Last, End events.Seq
	// Next says what the operator does.
	Next string
}

func (e *TornError) Error() string { return e.Full().Error() }

// Full returns the error as the reason why the log takes no more events.
func (e *TornError) Full() *FullError {
	return &FullError{
		Why: fmt.Sprintf("events %d to %d are the beginning of a decision, and the rest of it, events %d to %d, is not stored: its server had no room in the middle of it",
			e.First, e.Last, e.Last+1, e.End),
		Next: e.Next,
	}
}

// Unwrap returns the *FullError.
func (e *TornError) Unwrap() error { return e.Full() }
