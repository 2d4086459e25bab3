package eventlog

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/internal/retry"
)

// maxTries bounds how often a decision is taken. Each conflict means that another writer got through.
const maxTries = 16

// BusyError says that another writer was first each time that a decision was taken. Nothing was stored.
type BusyError struct {
	Tries int
	// Conflict is the last one; it names the subject.
	Conflict *ConflictError
}

func (e *BusyError) Error() string {
	return fmt.Sprintf("%d times another writer was first: try again: %s", e.Tries, e.Conflict)
}

// Unwrap returns the last conflict.
func (e *BusyError) Unwrap() error { return e.Conflict }

// Tx is one try of a decision on any number of aggregates. It remembers the version of each that was read, and the
// append expects these: nothing is written that was not read before, or expected.
//
// What is read and not written is not held: it may change before the append.
type Tx struct {
	log      Aggregates
	first    bool
	versions map[events.Subject]events.Seq
	beside   []Append
}

// First reports whether this is the first try. What the caller had folded before may serve then, and no longer.
func (tx *Tx) First() bool { return tx.first }

// Expect says at which version an aggregate is decided on that the caller has read; 0 is one that must not exist.
func (tx *Tx) Expect(subject events.Subject, version events.Seq) { tx.versions[subject] = version }

// Version returns the version of an aggregate that was read or expected.
func (tx *Tx) Version(subject events.Subject) events.Seq { return tx.versions[subject] }

// Beside stores parts that somebody else decided on together with the decision. To decide again does not help these:
// a conflict about one of them is returned at once.
func (tx *Tx) Beside(parts ...Append) { tx.beside = append(tx.beside, parts...) }

// Read returns all events of one aggregate.
func (tx *Tx) Read(ctx context.Context, subject events.Subject) ([]events.Recorded, error) {
	history, err := tx.log.Read(ctx, subject)
	if err != nil {
		return nil, err
	}
	var version events.Seq
	if n := len(history); n > 0 {
		version = history[n-1].Seq
	}
	return history, tx.saw(subject, version)
}

// Last returns the last event of one aggregate; false when there is none.
func (tx *Tx) Last(ctx context.Context, subject events.Subject) (events.Recorded, bool, error) {
	last, found, err := tx.log.Last(ctx, subject)
	if err != nil {
		return last, found, err
	}
	return last, found, tx.saw(subject, last.Seq)
}

// saw notes the version of an aggregate. One that has moved on within a try is a conflict already.
func (tx *Tx) saw(subject events.Subject, version events.Seq) error {
	if before, known := tx.versions[subject]; known && before != version {
		return &ConflictError{Subject: subject, Expected: before, Actual: version}
	}
	tx.versions[subject] = version
	return nil
}

// StateOf folds one aggregate. What no fold may take counts for its version alone.
func StateOf[S any](ctx context.Context, tx *Tx, subject events.Subject, evolve func(S, events.Recorded) S) (S, error) {
	var state S
	history, err := tx.Read(ctx, subject)
	if err != nil {
		return state, err
	}
	for _, e := range history {
		if e.Fact != nil {
			state = evolve(state, e)
		}
	}
	return state, nil
}

// Transact takes one decision on any number of aggregates. It asks decide for events, and stores them in one append
// with the versions that decide has read. When another writer was first it asks again, of a new try, a bounded number
// of times with pauses that grow; then the error is a *BusyError. It is the one loop for conflicts: whoever decides on
// the log uses it, but for parts that follow the log and decide on their own fold.
//
// An error of decide, and no events from it, end the matter without an append. A *ConflictError of decide is a conflict
// as one of the append is. The result is the sequence of the last event; 0 when nothing was stored.
func Transact(ctx context.Context, log Aggregates, decide func(*Tx) ([]events.Event, error)) (events.Seq, error) {
	pauses := retry.Pauses(time.Millisecond, 250*time.Millisecond)
	pauses.Multiplier = 2
	for try := 1; ; try++ {
		tx := &Tx{log: log, first: try == 1, versions: map[events.Subject]events.Seq{}}
		last, err := tx.run(ctx, decide)
		var conflict *ConflictError
		if !errors.As(err, &conflict) || tx.isBeside(conflict.Subject) {
			return last, err
		}
		busy := &BusyError{Tries: try, Conflict: conflict}
		if try == maxTries {
			return 0, busy
		}
		// Most conflicts are over when they are heard of: the second one in a row is the first to wait for.
		if try > 1 && !retry.Sleep(ctx, pauses.NextBackOff()) {
			return 0, fmt.Errorf("%w: %w", context.Cause(ctx), busy)
		}
	}
}

// run decides once and appends.
func (tx *Tx) run(ctx context.Context, decide func(*Tx) ([]events.Event, error)) (events.Seq, error) {
	decided, err := decide(tx)
	if err != nil {
		return 0, err
	}
	parts, err := tx.parts(decided)
	if err != nil || len(parts) == 0 {
		return 0, err
	}
	return tx.log.Append(ctx, parts...)
}

// parts puts events together by aggregate, in the order in which they first come, and what is stored beside them last.
func (tx *Tx) parts(decided []events.Event) ([]Append, error) {
	var parts []Append
	place := map[events.Subject]int{}
	for _, e := range decided {
		subject := e.Fact.Subject()
		i, known := place[subject]
		if !known {
			version, read := tx.versions[subject]
			if !read {
				return nil, fmt.Errorf("%s was decided on %s, which was not read", events.TypeOf(e.Fact), subject)
			}
			i = len(parts)
			place[subject] = i
			parts = append(parts, Append{Subject: subject, Expected: version})
		}
		parts[i].Events = append(parts[i].Events, e)
	}
	return append(parts, tx.beside...), nil
}

func (tx *Tx) isBeside(subject events.Subject) bool {
	for _, p := range tx.beside {
		if p.Subject == subject {
			return true
		}
	}
	return false
}
