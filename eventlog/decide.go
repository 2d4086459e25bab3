package eventlog

import (
	"context"
	"errors"
	"fmt"
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

// decideTries bounds how often Decide starts again. Each conflict means that another writer got through.
const decideTries = 16

// Decide folds an aggregate with evolve, asks decide for events on that state, and appends them with the
// version that the state has. When another writer was first it folds and asks again, a bounded number of
// times; then the last *ConflictError is returned. An error of decide, and no events from it, end the
// matter without an append. The result is the state with the new events folded in and their sequences set.
func Decide[S any](ctx context.Context, log Log, subject events.Subject, evolve func(S, events.Recorded) S,
	decide func(S) ([]events.Event, error),
) (S, error) {
	var conflict *ConflictError
	for range decideTries {
		var state S
		history, err := log.Read(ctx, subject)
		if err != nil {
			return state, err
		}
		var version events.Seq
		for _, e := range history {
			state, version = evolve(state, e), e.Seq
		}
		decided, err := decide(state)
		if err != nil || len(decided) == 0 {
			return state, err
		}
		last, err := log.Append(ctx, Append{Subject: subject, Expected: version, Events: decided})
		if errors.As(err, &conflict) {
			continue
		}
		if err != nil {
			return state, err
		}
		first := last - events.Seq(len(decided)) + 1
		for i, e := range decided {
			state = evolve(state, events.Recorded{Event: e, Seq: first + events.Seq(i)})
		}
		return state, nil
	}
	var none S
	return none, fmt.Errorf("decide on %s: %d times somebody else was first: %w", subject, decideTries, conflict)
}
