package control

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/tachobench/tacho/eventlog"
	"github.com/tachobench/tacho/events"
)

// maxMembers bounds the members of a queue.
const maxMembers = 1000

// QueueChange changes settings of a queue. What is nil stays as it is.
type QueueChange struct {
	// Parent is the queue that it is a part of; empty for none.
	Parent     *events.QueueName  `json:"parent,omitempty"`
	Weight     *Weight            `json:"weight,omitempty"`
	Order      *events.QueueOrder `json:"order,omitempty"`
	InProgress *int               `json:"in_progress,omitempty"`
	MaxRunning *int               `json:"max_running,omitempty"`
	MaxQueued  *int               `json:"max_queued,omitempty"`
	MaxPending *int               `json:"max_pending,omitempty"`
	// Members may use it; an empty list means everyone.
	Members *[]events.AccountName `json:"members,omitempty"`
	// Requires are terms that the machine of each matched job of the queue must meet; an empty list means none.
	Requires *[]string `json:"requires,omitempty"`
	Paused   *bool     `json:"paused,omitempty"`
}

// queue is the state of one queue.
type queue struct {
	// settings are the defaults while configured is not set.
	settings   events.QueueConfigured
	configured bool
	closed     bool
}

// evolveQueue returns the state after e happened. The zero value is a queue of which nothing was recorded.
func evolveQueue(q queue, e events.Recorded) queue {
	// Only the facts of a queue concern it.
	//exhaustive:ignore
	switch f := e.Fact.(type) {
	case events.QueueConfigured:
		q.settings, q.configured, q.closed = f, true, false
	case events.QueueClosed:
		q.closed = true
	}
	return q
}

// settled returns the settings that count for a queue.
func (q queue) settled(name events.QueueName) events.QueueConfigured {
	if q.configured {
		return q.settings
	}
	order := events.OrderFIFO
	if name == events.MainQueue {
		order = events.OrderLevels
	}
	return events.QueueConfigured{Queue: name, Weight: events.UsualWeight, Order: order}
}

func closedQueue(name events.QueueName) error {
	return refuse(Conflict, "queue %s was closed: `tacho queue set %s` opens it again", name, name)
}

// decideQueue returns the settings of a queue after a change.
func decideQueue(q queue, name events.QueueName, change QueueChange) (events.QueueConfigured, error) {
	next := q.settled(name)
	if name == events.MainQueue {
		if change.Parent != nil || change.Order != nil || change.InProgress != nil || change.MaxPending != nil || change.Members != nil || change.Requires != nil {
			return next, refuse(Invalid, "queue main is for everyone and in the order of levels: set its weight, max_running or max_queued, or pause it; scheduler.max_in_progress says how many of its requests are in progress at once")
		}
	}
	if err := setWeight(&next.Weight, change.Weight); err != nil {
		return next, err
	}
	if o := change.Order; o != nil {
		if *o != events.OrderFIFO && *o != events.OrderLevels {
			return next, refuse(Invalid, "order %q: use %s or %s", *o, events.OrderFIFO, events.OrderLevels)
		}
		next.Order = *o
	}
	if err := setLimit("in_progress", &next.InProgress, change.InProgress); err != nil {
		return next, err
	}
	if err := setLimits(&next.Limits, change.MaxRunning, change.MaxQueued, change.MaxPending); err != nil {
		return next, err
	}
	if change.Members != nil {
		next.Members = slices.Compact(slices.Sorted(slices.Values(*change.Members)))
		if len(next.Members) > maxMembers {
			return next, refuse(Invalid, "%d members: use at most %d, or none, which means everyone", len(next.Members), maxMembers)
		}
	}
	if change.Requires != nil {
		var err error
		if next.Requires, err = canonical(*change.Requires); err != nil {
			return next, err
		}
	}
	if change.Paused != nil {
		next.Paused = *change.Paused
	}
	if change.Parent != nil {
		next.Parent = *change.Parent
	}
	return next, nil
}

func sameQueue(a, b events.QueueConfigured) bool {
	lists := slices.Equal(a.Members, b.Members) && slices.Equal(a.Requires, b.Requires)
	a.Members, b.Members, a.Requires, b.Requires = nil, nil, nil, nil
	return lists && fmt.Sprint(a) == fmt.Sprint(b)
}

// ConfigureQueue changes the settings of a queue, makes it if there is none, and opens it again if it was closed. It needs
// a name that no account has.
func (c *Control) ConfigureQueue(ctx context.Context, by By, name events.QueueName, change QueueChange) (Answer, error) {
	if err := checkQueue(name); err != nil {
		return Answer{}, err
	}
	if change.Parent != nil && *change.Parent != "" {
		if *change.Parent == events.MainQueue {
			return Answer{}, refuse(Invalid, "queue main has no parts: name another parent, or none")
		}
		if err := events.CheckQueue(*change.Parent); err != nil {
			return Answer{}, refuse(Invalid, "parent: %s", err)
		}
	}
	return c.onQueue(ctx, by, name, func(tx *eventlog.Tx, known queue) ([]events.Fact, error) {
		next, err := decideQueue(known, name, change)
		stands := known.configured && !known.closed
		if err != nil || stands && sameQueue(next, known.settings) {
			return nil, err
		}
		if err := membersKnown(ctx, tx, change.Members); err != nil {
			return nil, err
		}
		facts := []events.Fact{next}
		if stands && next.Parent == known.settings.Parent || name == events.MainQueue {
			return facts, nil
		}
		if facts, err = shaping(ctx, tx, facts); err != nil {
			return nil, err
		}
		t, err := c.treeIn(ctx, tx, next)
		if err != nil {
			return nil, err
		}
		return facts, decideShape(t, next)
	})
}

// checkQueue returns a refusal if a name cannot be that of a configured queue, or of the main one.
func checkQueue(name events.QueueName) error {
	if name == events.MainQueue {
		return nil
	}
	if err := events.CheckQueue(name); err != nil {
		return refuse(Invalid, "%s", err)
	}
	if strings.HasPrefix(string(name), githubPrefix) {
		return refuse(Conflict, "queue %s: names that begin with %s are those of people on GitHub; choose another one", name, githubPrefix)
	}
	return nil
}

// membersKnown returns a refusal if a member is no account.
func membersKnown(ctx context.Context, tx *eventlog.Tx, members *[]events.AccountName) error {
	if members == nil {
		return nil
	}
	for _, name := range *members {
		if err := events.CheckAccount(name); err != nil {
			return refuse(Invalid, "member: %s", err)
		}
		known, err := eventlog.StateOf(ctx, tx, events.AccountSubject(name), evolveAccount)
		switch {
		case err != nil:
			return err
		case known.closed:
			return refuse(Invalid, "member %s: the account was closed", name)
		case !known.configured:
			return refuse(Invalid, "member: %s", unknownAccount(name))
		}
	}
	return nil
}

// onQueue takes a decision on a configured queue, and on everything else that the decision reads, and records it.
func (c *Control) onQueue(ctx context.Context, by By, name events.QueueName, decision func(*eventlog.Tx, queue) ([]events.Fact, error)) (Answer, error) {
	var version events.Seq
	seq, err := eventlog.Transact(ctx, c.Log, func(tx *eventlog.Tx) ([]events.Event, error) {
		if err := seeShape(ctx, tx); err != nil {
			return nil, err
		}
		known, err := eventlog.StateOf(ctx, tx, events.QueueSubject(name), evolveQueue)
		if err != nil {
			return nil, err
		}
		version = tx.Version(events.QueueSubject(name))
		if !known.configured && name != events.MainQueue {
			if err := notOwn(ctx, tx, name); err != nil {
				return nil, err
			}
		}
		facts, err := decision(tx, known)
		return c.events(by, facts...), err
	})
	return answer(seq, version, err)
}

// notOwn returns a refusal if a queue is an account's own.
func notOwn(ctx context.Context, tx *eventlog.Tx, name events.QueueName) error {
	_, taken, err := tx.Last(ctx, events.AccountSubject(events.AccountName(name)))
	if err == nil && taken {
		err = refuse(Conflict, "queue %s is the own queue of account %s: use `tacho account set %s`", name, name, name)
	}
	return err
}

// PauseQueue makes the jobs of a queue wait, or lets them start again.
func (c *Control) PauseQueue(ctx context.Context, by By, name events.QueueName, paused bool) (Answer, error) {
	if err := checkQueue(name); err != nil {
		return Answer{}, err
	}
	return c.onQueue(ctx, by, name, func(_ *eventlog.Tx, known queue) ([]events.Fact, error) {
		if err := known.known(name); err != nil {
			return nil, err
		}
		next := known.settled(name)
		if next.Paused == paused {
			return nil, nil
		}
		next.Paused = paused
		return []events.Fact{next}, nil
	})
}

// known returns a refusal if the queue was never configured, or is closed. The main queue is always there.
func (q queue) known(name events.QueueName) error {
	switch {
	case q.closed:
		return closedQueue(name)
	case !q.configured && name != events.MainQueue:
		return refuse(NotFound, "there is no queue %s: see `tacho queue list`", name)
	}
	return nil
}

// CloseQueue ends a queue: it takes no requests any more. It needs a queue without parts and without requests that have
// not ended. A request that is made at the same moment may still come into it, and goes on there.
func (c *Control) CloseQueue(ctx context.Context, by By, name events.QueueName, reason string) (Answer, error) {
	if err := checkQueue(name); err != nil {
		return Answer{}, err
	}
	if name == events.MainQueue {
		return Answer{}, refuse(Invalid, "queue main stays: pause it with `tacho queue pause main`")
	}
	if err := shortReason(reason); err != nil {
		return Answer{}, err
	}
	return c.onQueue(ctx, by, name, func(tx *eventlog.Tx, known queue) ([]events.Fact, error) {
		if known.closed {
			return nil, nil
		}
		if err := known.known(name); err != nil {
			return nil, err
		}
		facts, err := shaping(ctx, tx, []events.Fact{events.QueueClosed{Queue: name, Reason: reason}})
		if err != nil {
			return nil, err
		}
		t, err := c.treeIn(ctx, tx, known.settings)
		if err != nil {
			return nil, err
		}
		pending := 0
		if c.PendingIn != nil {
			if pending, err = c.PendingIn(ctx, name); err != nil {
				return nil, err
			}
		}
		return facts, decideClose(t, name, pending)
	})
}
