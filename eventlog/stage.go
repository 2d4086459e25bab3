package eventlog

import (
	"errors"
	"fmt"

	"github.com/tachobench/tacho/events"
)

// MaxBatch is how many events one Append can store. It is a limit of the NATS server.
const MaxBatch = 1000

// ErrBatchTooLarge says that an Append has more than MaxBatch events, or an event that is too large for the log. Split
// it, or store the bulk elsewhere and its digest in the event.
var ErrBatchTooLarge = errors.New("too much for one append")

// Stage checks an append and returns its events in their stored form and order, without sequences. It is
// for adapters; every adapter refuses the same appends.
func Stage(parts []Append) ([]events.Stored, error) {
	var staged []events.Stored
	seen := make(map[events.Subject]bool, len(parts))
	for _, p := range parts {
		if len(p.Events) == 0 {
			return nil, fmt.Errorf("append to %s: no events", p.Subject)
		}
		if seen[p.Subject] {
			return nil, fmt.Errorf("append to %s: the aggregate is named by two parts", p.Subject)
		}
		seen[p.Subject] = true
		for _, e := range p.Events {
			s, err := events.Encode(e)
			if err != nil {
				return nil, fmt.Errorf("append to %s: %w", p.Subject, err)
			}
			if s.Subject != p.Subject {
				return nil, fmt.Errorf("append to %s: %s belongs to %s", p.Subject, events.TypeOf(e.Fact), s.Subject)
			}
			staged = append(staged, s)
		}
	}
	if len(staged) == 0 {
		return nil, errors.New("append: no events")
	}
	if len(staged) > MaxBatch {
		return nil, fmt.Errorf("append %d events: %w: at most %d", len(staged), ErrBatchTooLarge, MaxBatch)
	}
	if len(staged) > 1 {
		for i, s := range staged {
			s.Header[events.HeaderBatch] = events.InBatch(i+1, len(staged))
		}
	}
	return staged, nil
}
