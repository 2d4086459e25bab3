package control

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/tachobench/tacho/eventlog"
	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/job"
	"github.com/tachobench/tacho/suite"
)

// NewCollector is a machine to be registered.
type NewCollector struct {
	Name    events.CollectorName `json:"name"`
	Target  events.Target        `json:"target"`
	Set     events.Set           `json:"set"`
	Standby bool                 `json:"standby"`
	// NKey is the public key that the collector will prove itself with.
	NKey string `json:"nkey"`
}

func evolveStanding(s job.Standing, e events.Recorded) job.Standing { return job.Stand(s, e.Fact) }

func evolveAssignment(a job.Assignment, e events.Recorded) job.Assignment {
	return job.Assign(a, e.Fact)
}

// AddCollector registers a collector and assigns it to its lane, in one append. Names are unique for
// ever, and a lane has one active collector that is no standby.
func (c *Control) AddCollector(ctx context.Context, by By, n NewCollector) (Answer, error) {
	for what, token := range map[string]string{"collector": string(n.Name), "target": string(n.Target)} {
		if err := events.CheckToken(what, token); err != nil {
			return Answer{}, refuse(Invalid, "%s", err)
		}
	}
	if n.Set < 0 {
		return Answer{}, refuse(Invalid, "set %d: sets are counted from 0", n.Set)
	}
	target, err := c.target(ctx, n)
	if err != nil {
		return Answer{}, err
	}
	wanted := events.CollectorRegistered{
		Name: n.Name, Target: n.Target, Set: n.Set, Standby: n.Standby, OS: target.OS, Arch: target.Arch, NKey: n.NKey,
	}
	return c.assign(ctx, by, n.Name, func(known job.Standing) ([]events.Fact, events.CollectorRegistered, error) {
		if known.Registered == nil {
			return []events.Fact{wanted}, wanted, nil
		}
		r := *known.Registered
		if r.Target == n.Target && r.Set == n.Set && r.Standby == n.Standby && known.Active {
			return nil, r, nil
		}
		return nil, r, refuse(Conflict, "collector %s is registered for lane %s/%d already; names are unique for ever: choose another one, or use `tacho collector activate %s`",
			n.Name, r.Target, r.Set, n.Name)
	})
}

// ActivateCollector lets a collector take jobs again, and ends a wish to drain it and a quarantine.
func (c *Control) ActivateCollector(ctx context.Context, by By, name events.CollectorName) (Answer, error) {
	return c.assign(ctx, by, name, func(known job.Standing) ([]events.Fact, events.CollectorRegistered, error) {
		if known.Registered == nil {
			return nil, events.CollectorRegistered{}, unknownCollector(name)
		}
		if known.Takes() {
			return nil, *known.Registered, nil
		}
		return []events.Fact{events.CollectorActivated{Name: name}}, *known.Registered, nil
	})
}

func unknownCollector(name events.CollectorName) error {
	return refuse(NotFound, "there is no collector %s: see `tacho collector list`", name)
}

// assign records facts about a collector together with its assignment to its lane, as one append with the
// versions of both expected.
func (c *Control) assign(ctx context.Context, by By, name events.CollectorName,
	decision func(job.Standing) ([]events.Fact, events.CollectorRegistered, error),
) (Answer, error) {
	for {
		known, err := fold(ctx, c.Log, events.CollectorSubject(name), evolveStanding)
		if err != nil {
			return Answer{}, err
		}
		facts, r, err := decision(known.state)
		if err != nil || len(facts) == 0 {
			return Answer{Seq: known.seq, Existed: err == nil}, err
		}
		lane := events.Lane{Target: r.Target, Set: r.Set}
		serving, err := fold(ctx, c.Log, events.AssignmentSubject(lane), evolveAssignment)
		if err != nil {
			return Answer{}, err
		}
		if holder, held := serving.state.Regular(); held && !r.Standby && holder != name {
			return Answer{}, refuse(Conflict, "lane %s has the collector %s already: deactivate it first, or register %s with --standby", lane, holder, name)
		}
		if err := c.Dispatch.EnsureLane(ctx, lane); err != nil {
			return Answer{}, err
		}
		parts := []eventlog.Append{{Subject: events.CollectorSubject(name), Expected: known.seq, Events: c.events(by, facts...)}}
		if _, assigned := serving.state.Collectors[name]; !assigned {
			parts = append(parts, eventlog.Append{Subject: events.AssignmentSubject(lane), Expected: serving.seq, Events: c.events(by,
				events.LaneAssigned{Lane: lane, Name: name, Standby: r.Standby})})
		}
		seq, err := c.Log.Append(ctx, parts...)
		var conflict *eventlog.ConflictError
		if errors.As(err, &conflict) {
			continue
		}
		return Answer{Seq: seq}, err
	}
}

// Deactivation says how a collector is taken out.
type Deactivation struct {
	Reason string `json:"reason,omitempty"`
	// Now has it give its job back at once, which spends no attempt of the job; else it finishes it first.
	Now bool `json:"now,omitempty"`
}

// DeactivateCollector stops the dispatch to a collector. Its running job ends or is given back, as asked; its
// history stays. One that finishes its job can still be asked to give it back.
func (c *Control) DeactivateCollector(ctx context.Context, by By, name events.CollectorName, how Deactivation) (Answer, error) {
	for {
		known, err := fold(ctx, c.Log, events.CollectorSubject(name), evolveStanding)
		if err != nil {
			return Answer{}, err
		}
		if known.state.Registered == nil {
			return Answer{}, unknownCollector(name)
		}
		if !known.state.Active && (known.state.AtOnce || !how.Now) {
			return Answer{Seq: known.seq, Existed: true}, nil
		}
		lane := events.Lane{Target: known.state.Registered.Target, Set: known.state.Registered.Set}
		serving, err := fold(ctx, c.Log, events.AssignmentSubject(lane), evolveAssignment)
		if err != nil {
			return Answer{}, err
		}
		parts := []eventlog.Append{{Subject: events.CollectorSubject(name), Expected: known.seq, Events: c.events(by,
			events.CollectorDeactivated{Name: name, Reason: how.Reason, Now: how.Now})}}
		if _, assigned := serving.state.Collectors[name]; assigned {
			parts = append(parts, eventlog.Append{Subject: events.AssignmentSubject(lane), Expected: serving.seq, Events: c.events(by,
				events.LaneUnassigned{Lane: lane, Name: name})})
		}
		seq, err := c.Log.Append(ctx, parts...)
		var conflict *eventlog.ConflictError
		if errors.As(err, &conflict) {
			continue
		}
		return Answer{Seq: seq}, err
	}
}

// DrainCollector asks a collector to finish its job and leave.
func (c *Control) DrainCollector(ctx context.Context, by By, name events.CollectorName, reason string) (Answer, error) {
	if err := events.CheckToken("collector", string(name)); err != nil {
		return Answer{}, refuse(Invalid, "%s", err)
	}
	_, answer, err := decide(ctx, c, by, events.CollectorSubject(name), evolveStanding, func(known job.Standing) ([]events.Fact, error) {
		switch {
		case known.Registered == nil:
			return nil, unknownCollector(name)
		case known.Draining:
			return nil, nil
		}
		return []events.Fact{events.CollectorDraining{Name: name, Reason: reason}}, nil
	})
	return answer, err
}

// target finds the target of a new collector in the published definitions, and refuses a lane that none of
// them has. Without any definitions every lane will do, on any host.
func (c *Control) target(ctx context.Context, n NewCollector) (suite.Target, error) {
	if c.Suites == nil {
		return suite.Target{Name: n.Target}, nil
	}
	names, err := c.Suites(ctx)
	if err != nil {
		return suite.Target{}, err
	}
	var known []string
	for _, name := range names {
		d, err := c.Definitions(ctx, name)
		var refused *RefusedError
		if errors.As(err, &refused) {
			continue
		}
		if err != nil {
			return suite.Target{}, err
		}
		for _, t := range d.Targets {
			if t.Name == n.Target && int(n.Set) < t.Sets {
				return t, nil
			}
			known = append(known, fmt.Sprintf("%s (%d set%s)", t.Name, t.Sets, map[bool]string{true: "s"}[t.Sets > 1]))
		}
	}
	if len(known) == 0 {
		return suite.Target{Name: n.Target}, nil
	}
	return suite.Target{}, refuse(Invalid, "no published definitions have lane %s/%d; they have %s", n.Target, n.Set, strings.Join(known, ", "))
}

func fold[S any](ctx context.Context, log eventlog.Log, subject events.Subject, evolve func(S, events.Recorded) S) (folded[S], error) {
	var out folded[S]
	history, err := log.Read(ctx, subject)
	for _, e := range history {
		out = folded[S]{evolve(out.state, e), e.Seq}
	}
	return out, err
}
