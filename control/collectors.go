package control

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/nats-io/nkeys"

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

// collector is what the log says of one: its standing, and what the registry holds of it with its version.
type collector struct {
	job.Standing
	registry []events.Recorded
	version  events.Seq
}

// collector reads what the log says of a collector. Its registry tells almost all of it; whether it still drains,
// its processes say.
func (c *Control) collector(ctx context.Context, name events.CollectorName) (known collector, err error) {
	if known.registry, err = c.Log.Read(ctx, events.RegistrySubject(name)); err != nil {
		return known, err
	}
	own, err := c.Log.Read(ctx, events.CollectorSubject(name))
	if n := len(known.registry); n > 0 {
		known.version = known.registry[n-1].Seq
	}
	known.Standing = job.StandOn(known.registry, own)
	return known, err
}

// Standing reads what the log says of a collector.
func (c *Control) Standing(ctx context.Context, name events.CollectorName) (job.Standing, error) {
	known, err := c.collector(ctx, name)
	return known.Standing, err
}

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
	if n.NKey != "" && !nkeys.IsValidPublicUserKey(n.NKey) {
		return Answer{}, refuse(Invalid, "%q is no public key of a user: `tacho collector add` makes one", n.NKey)
	}
	target, err := c.target(ctx, n)
	if err != nil {
		return Answer{}, err
	}
	wanted := events.CollectorRegistered{
		Name: n.Name, Target: n.Target, Set: n.Set, Standby: n.Standby, OS: target.OS, Arch: target.Arch, NKey: n.NKey,
	}
	return c.assign(ctx, by, n.Name, func(known collector) ([]events.Fact, events.CollectorRegistered, error) {
		switch {
		case known.Removed:
			return nil, wanted, removedCollector(n.Name)
		case known.Registered == nil:
			return []events.Fact{wanted}, wanted, c.keyIsFree(ctx, n.Name, n.NKey, known)
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
	return c.assign(ctx, by, name, func(known collector) ([]events.Fact, events.CollectorRegistered, error) {
		if err := known.exists(name); err != nil {
			return nil, events.CollectorRegistered{}, err
		}
		if known.Takes() {
			return nil, *known.Registered, nil
		}
		return []events.Fact{events.CollectorActivated{Name: name}}, *known.Registered, nil
	})
}

// exists refuses a collector that nobody registered, or that was removed.
func (c collector) exists(name events.CollectorName) error {
	switch {
	case c.Removed:
		return removedCollector(name)
	case c.Registered == nil:
		return refuse(NotFound, "there is no collector %s: see `tacho collector list`", name)
	}
	return nil
}

func removedCollector(name events.CollectorName) error {
	return refuse(Conflict, "collector %s was removed, and names are unique for ever: register the machine under another name with `tacho collector add`", name)
}

// assign records facts about a collector together with its assignment to its lane, as one append with the
// versions of both expected.
func (c *Control) assign(ctx context.Context, by By, name events.CollectorName,
	decision func(collector) ([]events.Fact, events.CollectorRegistered, error),
) (Answer, error) {
	return again("change collector "+string(name), func() (Answer, error) {
		known, err := c.collector(ctx, name)
		if err != nil {
			return Answer{}, err
		}
		facts, r, err := decision(known)
		if err != nil || len(facts) == 0 {
			return Answer{Seq: known.version, Existed: err == nil}, err
		}
		lane := r.Lane()
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
		var also []events.Fact
		if _, assigned := serving.state.Collectors[name]; !assigned {
			also = append(also, events.LaneAssigned{Lane: lane, Name: name, Standby: r.Standby})
		}
		return c.record(ctx, by, name, known, facts, serving, also)
	})
}

// takeOut records facts about a collector together with the end of its assignment, as one append with the versions
// of both expected.
func (c *Control) takeOut(ctx context.Context, by By, name events.CollectorName, decision func(collector) ([]events.Fact, error)) (Answer, error) {
	if err := events.CheckToken("collector", string(name)); err != nil {
		return Answer{}, refuse(Invalid, "%s", err)
	}
	return again("change collector "+string(name), func() (Answer, error) {
		known, err := c.collector(ctx, name)
		if err != nil {
			return Answer{}, err
		}
		facts, err := decision(known)
		if err != nil || len(facts) == 0 {
			return Answer{Seq: known.version, Existed: err == nil}, err
		}
		lane := known.Registered.Lane()
		serving, err := fold(ctx, c.Log, events.AssignmentSubject(lane), evolveAssignment)
		if err != nil {
			return Answer{}, err
		}
		var also []events.Fact
		if _, assigned := serving.state.Collectors[name]; assigned {
			also = append(also, events.LaneUnassigned{Lane: lane, Name: name})
		}
		return c.record(ctx, by, name, known, facts, serving, also)
	})
}

// record appends facts about a collector, and about its lane if there are any, with the versions that were read.
func (c *Control) record(ctx context.Context, by By, name events.CollectorName, known collector, facts []events.Fact,
	serving folded[job.Assignment], also []events.Fact,
) (Answer, error) {
	parts := []eventlog.Append{{Subject: events.RegistrySubject(name), Expected: known.version, Events: c.events(by, facts...)}}
	if len(also) > 0 {
		parts = append(parts, eventlog.Append{Subject: also[0].Subject(), Expected: serving.seq, Events: c.events(by, also...)})
	}
	seq, err := c.Log.Append(ctx, parts...)
	return Answer{Seq: seq}, err
}

// again carries a command out until no other writer is faster, a bounded number of times.
func again(what string, try func() (Answer, error)) (answer Answer, err error) {
	for range tries {
		var conflict *eventlog.ConflictError
		if answer, err = try(); !errors.As(err, &conflict) {
			return answer, err
		}
	}
	return Answer{}, fmt.Errorf("%s: %d times somebody else was first: try again: %w", what, tries, err)
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
	return c.takeOut(ctx, by, name, func(known collector) ([]events.Fact, error) {
		if err := known.exists(name); err != nil {
			return nil, err
		}
		if !known.Active && (known.AtOnce || !how.Now) {
			return nil, nil
		}
		return []events.Fact{events.CollectorDeactivated{Name: name, Reason: how.Reason, Now: how.Now}}, nil
	})
}

// DrainCollector asks a collector to finish its job and leave.
func (c *Control) DrainCollector(ctx context.Context, by By, name events.CollectorName, reason string) (Answer, error) {
	return c.registered(ctx, by, name, func(known collector) ([]events.Fact, error) {
		if known.Draining {
			return nil, nil
		}
		return []events.Fact{events.CollectorDraining{Name: name, Reason: reason}}, nil
	})
}

// registered records facts about a collector that there is.
func (c *Control) registered(ctx context.Context, by By, name events.CollectorName, decision func(collector) ([]events.Fact, error)) (Answer, error) {
	if err := events.CheckToken("collector", string(name)); err != nil {
		return Answer{}, refuse(Invalid, "%s", err)
	}
	return again("change collector "+string(name), func() (Answer, error) {
		known, err := c.collector(ctx, name)
		if err == nil {
			err = known.exists(name)
		}
		if err != nil {
			return Answer{}, err
		}
		facts, err := decision(known)
		if err != nil || len(facts) == 0 {
			return Answer{Seq: known.version, Existed: err == nil}, err
		}
		return c.record(ctx, by, name, known, facts, folded[job.Assignment]{}, nil)
	})
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
		if out.seq = e.Seq; e.Fact != nil { // litter counts for the version alone
			out.state = evolve(out.state, e)
		}
	}
	return out, err
}
