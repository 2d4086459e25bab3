package control

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/nats-io/nkeys"

	"github.com/tachobench/tacho/eventlog"
	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/internal/phrase"
	"github.com/tachobench/tacho/rules/job"
	"github.com/tachobench/tacho/rules/suite"
)

// NewCollector is a machine to register.
type NewCollector struct {
	Name    events.CollectorName `json:"name"`
	Target  events.Target        `json:"target"`
	Set     events.Set           `json:"set"`
	Standby bool                 `json:"standby"`
	// NKey is the public key that the collector proves itself with.
	NKey string `json:"nkey"`
}

// collector is one collector as the log has it: its standing, and its events on the registry.
type collector struct {
	job.Standing
	registry []events.Recorded
}

// reader reads one aggregate. The log and eventlog.Tx implement it.
type reader interface {
	Read(ctx context.Context, subject events.Subject) ([]events.Recorded, error)
	Last(ctx context.Context, subject events.Subject) (events.Recorded, bool, error)
}

// collectorOf reads a collector from the log. Almost everything is on the registry; whether it still drains depends on
// its own events.
func collectorOf(ctx context.Context, from reader, name events.CollectorName) (known collector, err error) {
	if known.registry, err = from.Read(ctx, events.RegistrySubject(name)); err != nil {
		return known, err
	}
	own, err := from.Read(ctx, events.CollectorSubject(name))
	known.Standing = job.StandOn(known.registry, own)
	return known, err
}

// Standing reads the standing of a collector from the log.
func (c *Control) Standing(ctx context.Context, name events.CollectorName) (job.Standing, error) {
	known, err := collectorOf(ctx, c.Log, name)
	return known.Standing, err
}

func evolveAssignment(a job.Assignment, e events.Recorded) job.Assignment {
	return job.Assign(a, e.Fact)
}

// AddCollector registers a collector and assigns it to its lane, in one append. Names are unique for ever, and a lane
// has at most one active collector that is not a standby.
func (c *Control) AddCollector(ctx context.Context, by By, n NewCollector) (Answer, error) {
	for _, err := range []error{events.CheckToken("collector", string(n.Name)), events.CheckTarget(n.Target)} {
		if err != nil {
			return Answer{}, refuse(Invalid, "%s", err)
		}
	}
	if n.Set < 0 {
		return Answer{}, refuse(Invalid, "set %d: sets are counted from 0", n.Set)
	}
	if n.NKey != "" && !nkeys.IsValidPublicUserKey(n.NKey) {
		return Answer{}, refuse(Invalid, "%q is not the public key of a user: `tacho collector add` makes one", n.NKey)
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
		return nil, r, refuse(Conflict, "collector %s is already registered for lane %s/%d; names are unique for ever: choose another one, or use `tacho collector activate %s`",
			n.Name, r.Target, r.Set, n.Name)
	})
}

// ActivateCollector lets a collector take jobs again. It ends draining and a quarantine.
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

// exists returns a refusal if the collector is not registered or was removed.
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

// assign records facts about a collector together with its assignment to its lane, in one append that expects the
// versions of both.
func (c *Control) assign(ctx context.Context, by By, name events.CollectorName,
	decision func(collector) ([]events.Fact, events.CollectorRegistered, error),
) (Answer, error) {
	return c.onCollector(ctx, by, name, func(tx *eventlog.Tx, known collector) ([]events.Fact, error) {
		facts, r, err := decision(known)
		if err != nil || len(facts) == 0 {
			return nil, err
		}
		lane := r.Lane()
		serving, err := eventlog.StateOf(ctx, tx, events.AssignmentSubject(lane), evolveAssignment)
		if err != nil {
			return nil, err
		}
		if holder, held := serving.Regular(); held && !r.Standby && holder != name {
			return nil, refuse(Conflict, "lane %s already has collector %s: deactivate it first, or register %s with --standby", lane, holder, name)
		}
		if _, assigned := serving.Collectors[name]; !assigned {
			facts = append(facts, events.LaneAssigned{Lane: lane, Name: name, Standby: r.Standby})
		}
		return facts, nil
	})
}

// takeOut records facts about a collector together with the end of its assignment, in one append that expects the
// versions of both.
func (c *Control) takeOut(ctx context.Context, by By, name events.CollectorName, decision func(collector) ([]events.Fact, error)) (Answer, error) {
	if err := events.CheckToken("collector", string(name)); err != nil {
		return Answer{}, refuse(Invalid, "%s", err)
	}
	return c.onCollector(ctx, by, name, func(tx *eventlog.Tx, known collector) ([]events.Fact, error) {
		facts, err := decision(known)
		if err != nil || len(facts) == 0 {
			return nil, err
		}
		lane := known.Registered.Lane()
		serving, err := eventlog.StateOf(ctx, tx, events.AssignmentSubject(lane), evolveAssignment)
		if err != nil {
			return nil, err
		}
		if _, assigned := serving.Collectors[name]; assigned {
			facts = append(facts, events.LaneUnassigned{Lane: lane, Name: name})
		}
		return facts, nil
	})
}

// onCollector takes a decision on a collector and on everything else that the decision reads, and records it.
func (c *Control) onCollector(ctx context.Context, by By, name events.CollectorName,
	decision func(*eventlog.Tx, collector) ([]events.Fact, error),
) (Answer, error) {
	var version events.Seq
	seq, err := eventlog.Transact(ctx, c.Log, func(tx *eventlog.Tx) ([]events.Event, error) {
		known, err := collectorOf(ctx, tx, name)
		if err != nil {
			return nil, err
		}
		version = tx.Version(events.RegistrySubject(name))
		facts, err := decision(tx, known)
		return c.events(by, facts...), err
	})
	return answer(seq, version, err)
}

// Deactivation says how to deactivate a collector.
type Deactivation struct {
	Reason string `json:"reason,omitempty"`
	// Now makes it give its job back at once, which spends no attempt of the job. Otherwise it finishes the job first.
	Now bool `json:"now,omitempty"`
}

// DeactivateCollector stops the dispatch to a collector. Its running job ends or is given back, as how says; its
// history stays. While it finishes its job, a second call can still make it give the job back.
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

// registered records facts about a registered collector.
func (c *Control) registered(ctx context.Context, by By, name events.CollectorName, decision func(collector) ([]events.Fact, error)) (Answer, error) {
	if err := events.CheckToken("collector", string(name)); err != nil {
		return Answer{}, refuse(Invalid, "%s", err)
	}
	return c.onCollector(ctx, by, name, func(_ *eventlog.Tx, known collector) ([]events.Fact, error) {
		if err := known.exists(name); err != nil {
			return nil, err
		}
		return decision(known)
	})
}

// target finds the target of a new collector in the published definitions, and refuses a lane that none of them has.
// Without any definitions it accepts every lane, on any host.
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
		s, err := c.Published(ctx, name)
		var refused *RefusedError
		if errors.As(err, &refused) {
			continue
		}
		if err != nil {
			return suite.Target{}, err
		}
		for _, t := range s.targets() {
			if t.Name == n.Target && int(n.Set) < t.Sets {
				return t, nil
			}
			known = append(known, fmt.Sprintf("%s (%s)", t.Name, phrase.Count(t.Sets, "set")))
		}
	}
	if len(known) == 0 {
		return suite.Target{Name: n.Target}, nil
	}
	return suite.Target{}, refuse(Invalid, "no published definitions have lane %s/%d; they have %s", n.Target, n.Set, strings.Join(known, ", "))
}
