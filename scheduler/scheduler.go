// Package scheduler decides when requests start and end and which job each lane gets next.
//
// It is a pure decision on the ledger (decide.go). The shell feeds it and carries out its decisions. Every decision is
// appended with the versions that it was taken on, so any number of schedulers may run: if two decide at once, the log
// takes one decision; the other scheduler reads it and decides again. Only time-outs depend on a clock.
//
// What a crash means at each step:
//
//   - before an append: nothing happened; the next scheduler decides the same.
//   - after an append: it happened; the next scheduler reads it and continues from there.
//   - a request is never in progress without all its jobs: admission, start and jobs are one batch.
//   - a dispatch is the message that the collector receives: there is nothing to send afterwards.
package scheduler

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"maps"
	"slices"
	"time"

	"github.com/tachobench/tacho/eventlog"
	"github.com/tachobench/tacho/eventlog/presence"
	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/rules/ledger"
	"github.com/tachobench/tacho/rules/seal"
	"github.com/tachobench/tacho/shell"
)

const source = "scheduler"

// Config is what a Scheduler needs.
type Config struct {
	Log eventlog.Log
	// Hearing says which collectors are silent; nil calls none silent.
	Hearing presence.Hearing
	Policy  Policy
	// OfflineAfter is how long a collector may be silent before it counts as offline and its attempt as lost.
	// TakeoverAfter is how long before a standby takes over its lane. 0 means 60 and 30 seconds.
	OfflineAfter, TakeoverAfter time.Duration
	// Key seals each dispatch; nil seals none. Schedulers may have different keys.
	Key    *seal.Private
	Logger *slog.Logger
}

// Scheduler is one scheduler: a shell.Decider.
type Scheduler struct {
	Config
	// littered is how much litter was logged already.
	littered int
	sight    sight
}

// state is the ledger with the scheduler's own questions.
type state struct{ *ledger.Ledger }

// New returns a scheduler. It decides when the shell asks it.
func New(c Config) *Scheduler {
	c.OfflineAfter, c.TakeoverAfter = cmp.Or(c.OfflineAfter, time.Minute), cmp.Or(c.TakeoverAfter, 30*time.Second)
	if c.Hearing == nil {
		c.Hearing = presence.Deaf{}
	}
	return &Scheduler{Config: c}
}

// Told implements shell.Decider.
func (s *Scheduler) Told(f events.Fact) bool {
	// The others may need a decision.
	//exhaustive:ignore
	switch f := f.(type) {
	case events.CollectorOnline:
		s.Hearing.Note(f.Name)
	case events.DeliveryFact, events.OutboxFact: // other parts handle GitHub
		return false
	}
	return true
}

// Decide implements shell.Decider.
func (s *Scheduler) Decide(l *ledger.Ledger, now time.Time) []shell.Step {
	s.tellLitter(l)
	var steps []shell.Step
	taken := false
	for _, d := range s.decisions(&state{l}, now) {
		step := s.step(l, d, now)
		if d.turn {
			step.Do = once(step.Do, &taken)
		}
		steps = append(steps, step)
	}
	return steps
}

// decisions returns what to do on the lanes that concern what happened since it was asked last.
func (s *Scheduler) decisions(st *state, now time.Time) []decision {
	if st.halved() { // nothing is decided on that but who is silent
		return s.silent(st, st.LaneOrder, true)
	}
	lanes, all := s.sight.look(st.Ledger, now)
	decided := decide(st, s.Policy, now, lanes)
	decided = append(decided, s.silent(st, lanes, all)...)
	s.sight.note(st, lanes, decided)
	return decided
}

// once carries out a step unless one before it was taken. A conflict also takes the turn: another scheduler was first.
func once(do func(context.Context) (events.Seq, error), taken *bool) func(context.Context) (events.Seq, error) {
	return func(ctx context.Context) (events.Seq, error) {
		if *taken {
			return 0, nil
		}
		seq, err := do(ctx)
		var conflict *eventlog.ConflictError
		*taken = err == nil || errors.As(err, &conflict)
		return seq, err
	}
}

// tellLitter logs new litter, the last event of each subject.
func (s *Scheduler) tellLitter(l *ledger.Ledger) {
	if s.littered == l.Littered {
		return
	}
	for _, subject := range slices.Sorted(maps.Keys(l.Litter)) {
		if t := l.Litter[subject]; t.Nth > s.littered {
			s.Logger.Warn("events changed nothing", "subject", subject, "events", t.Count, "last", t.Seq, "collector", t.Collector, "reason", t.Why)
		}
	}
	s.littered = l.Littered
}

// step is the append of one decision: all its facts or none.
func (s *Scheduler) step(l *ledger.Ledger, d decision, now time.Time) shell.Step {
	tries := [][]eventlog.Append{appends(l, now, append([]decision{d}, d.beside...)...)}
	if len(d.beside) > 0 {
		tries = append(tries, appends(l, now, d))
	}
	if d.facts = d.otherwise; len(d.facts) > 0 {
		tries = append(tries, appends(l, now, d))
	}
	var subjects []events.Subject
	if d.lane != nil { // many lanes become free at once; the lives of requests go on in order
		subjects = subjectsOf(tries)
	}
	return shell.Step{What: d.what, Subjects: subjects, Do: func(ctx context.Context) (events.Seq, error) {
		var seq events.Seq
		err := eventlog.ErrBatchTooLarge
		for _, batch := range tries {
			if errors.Is(err, eventlog.ErrBatchTooLarge) {
				seq, err = s.Log.Append(ctx, sealed(s.Key, batch)...)
			}
		}
		return seq, err
	}}
}

// subjectsOf returns what appends write to.
func subjectsOf(tries [][]eventlog.Append) (all []events.Subject) {
	for _, batch := range tries {
		for _, part := range batch {
			all = append(all, part.Subject)
		}
	}
	return all
}

// sealed returns an append with its dispatches sealed. Only what is appended is sealed: a decision is taken again and again until it
// can be carried out.
func sealed(key *seal.Private, batch []eventlog.Append) []eventlog.Append {
	if key == nil {
		return batch
	}
	for _, part := range batch {
		for i, e := range part.Events {
			if d, ok := e.Fact.(events.JobDispatched); ok {
				d.Seal = key.Dispatch(d)
				part.Events[i].Fact = d
			}
		}
	}
	return batch
}

// appends puts the facts of decisions on their subjects, with the versions that the decisions were taken on.
func appends(l *ledger.Ledger, now time.Time, decisions ...decision) (parts []eventlog.Append) {
	at := map[events.Subject]int{}
	for _, d := range decisions {
		meta := eventlog.Meta{Source: source, Actor: source, Cause: d.cause, Root: l.Roots[d.request]}
		for _, f := range d.facts {
			subject := f.Subject()
			i, known := at[subject]
			if !known {
				i = len(parts)
				at[subject] = i
				parts = append(parts, eventlog.Append{Subject: subject, Expected: l.Versions[subject]})
			}
			parts[i].Events = append(parts[i].Events, eventlog.NewEvent(f, meta, now))
		}
	}
	return parts
}
