package eventlog

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/internal/retry"
)

// maxTries bounds how often a decision is tried. Each conflict means that another writer succeeded.
const maxTries = 16

// BusyError says that another writer was first at every try. Nothing was stored.
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

// Tx is one try of a decision on any number of aggregates. It remembers the version of each aggregate that was read,
// and the append expects these versions. An aggregate that was neither read nor expected cannot be written.
//
// An aggregate that is only read is not protected: it may change before the append.
type Tx struct {
	log      Aggregates
	first    bool
	versions map[events.Subject]events.Seq
	beside   []Append
}

// First reports whether this is the first try. Only then may the caller use a state that it folded earlier.
func (tx *Tx) First() bool { return tx.first }

// Expect sets the version of an aggregate that the caller has read itself; 0 means that it must not exist.
func (tx *Tx) Expect(subject events.Subject, version events.Seq) { tx.versions[subject] = version }

// Version returns the version of an aggregate that was read or expected.
func (tx *Tx) Version(subject events.Subject) events.Seq { return tx.versions[subject] }

// Beside stores parts that were decided elsewhere together with the decision. Deciding again does not change these
// parts, so a conflict about one of them is returned at once.
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

// saw notes the version of an aggregate. If it changed within this try, that is already a conflict.
func (tx *Tx) saw(subject events.Subject, version events.Seq) error {
	if before, known := tx.versions[subject]; known && before != version {
		return &ConflictError{Subject: subject, Expected: before, Actual: version}
	}
	tx.versions[subject] = version
	return nil
}

// StateOf reads and folds one aggregate. Litter counts only for its version.
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
// with the versions that decide has read. If another writer was first, it asks again with a new Tx, a bounded number of
// times with growing pauses; then it returns a *BusyError. It is the one loop for conflicts. Every writer uses it,
// except parts that follow the log and decide on their own fold.
//
// If decide returns an error or no events, Transact appends nothing. A *ConflictError of decide counts like one of the
// append. The result is the sequence of the last event; 0 when nothing was stored.
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
		// Most conflicts are over by the time they are reported: wait only from the second in a row.
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

// parts groups events by aggregate, in the order of their first events. The parts of Beside come last.
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
