package eventlog

import (
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/tachobench/tacho/events"
)

// Meta is what the writer of an event says about it besides the fact.
type Meta struct {
	// Source is the part that writes, such as "scheduler"; Actor who caused it.
	Source string
	Actor  events.Actor
	// Cause is the sequence of the event that led to this one, Root the delivery, poll or command where
	// it all began.
	Cause events.Seq
	Root  string
}

// NewEvent wraps a fact with a new id. The time is kept to the millisecond, as the log keeps it.
func NewEvent(fact events.Fact, meta Meta, now time.Time) events.Event {
	return events.Event{
		ID: uuid.Must(uuid.NewV7()).String(), Time: now.UTC().Truncate(time.Millisecond),
		Source: meta.Source, Actor: meta.Actor, Cause: meta.Cause, Root: meta.Root, Fact: fact,
	}
}

// Decide is Transact on one aggregate: it folds it with evolve and asks decide for events on that state. The result is the
// state with the new events folded in and their sequences set.
func Decide[S any](ctx context.Context, log Aggregates, subject events.Subject, evolve func(S, events.Recorded) S,
	decide func(S) ([]events.Event, error),
) (S, error) {
	var state S
	var decided []events.Event
	last, err := Transact(ctx, log, func(tx *Tx) (_ []events.Event, err error) {
		if state, err = StateOf(ctx, tx, subject, evolve); err != nil {
			return nil, err
		}
		decided, err = decide(state)
		return decided, err
	})
	if err != nil || last == 0 {
		return state, err
	}
	first := last - events.Seq(len(decided)) + 1
	for i, e := range decided {
		state = evolve(state, events.Recorded{Event: e, Seq: first + events.Seq(i)})
	}
	return state, nil
}
