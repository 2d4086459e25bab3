package control

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/tachobench/tacho/eventlog/memory"
	"github.com/tachobench/tacho/events"
)

// Any commands in any order: each request in the log was asked for by an account that was open, in a queue that was
// open to it, with a priority that it might give, and no account changed a request of another one, or did what it had no
// right for.
func TestEveryRequestHadTheRight(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		c, log := farm(t)
		accounts := rapid.SampledFrom([]events.AccountName{"a", "b", "gh-c"})
		queues := rapid.SampledFrom([]events.QueueName{"", "main", "p", "q", "a", "idle"})
		priorities := rapid.SampledFrom(append([]events.Priority{""}, events.Priorities...))
		may := rapid.SampledFrom([]*[]events.Right{nil, rights("usual"), rights("none"), rights("request"), rights("cancel", "prioritise"), rights("request", "publish")})
		for i := range rapid.IntRange(5, 40).Draw(rt, "steps") {
			who := by
			if rapid.Bool().Draw(rt, "itself") {
				who = of(accounts.Draw(rt, "who"))
			}
			account, queue, priority := accounts.Draw(rt, "account"), queues.Draw(rt, "queue"), priorities.Draw(rt, "priority")
			id := events.NewRequestID("small", events.Master, fmt.Sprint("c", rapid.IntRange(0, i).Draw(rt, "request")))
			var err error
			switch rapid.IntRange(0, 8).Draw(rt, "what") {
			case 0:
				_, err = c.ConfigureAccount(t.Context(), by, account, AccountChange{MaxPriority: &priority, May: may.Draw(rt, "may")})
			case 1:
				_, err = c.CloseAccount(t.Context(), by, account, "")
			case 2:
				_, err = c.ConfigureQueue(t.Context(), by, queue, QueueChange{Members: rapid.SampledFrom([]*[]events.AccountName{nil, {}, {"a"}}).Draw(rt, "members")})
			case 3:
				_, err = c.CloseQueue(t.Context(), by, queue, "")
			case 4:
				_, _, err = c.PrioritiseRequest(t.Context(), who, id, priority, "")
			case 5:
				_, _, err = c.CancelRequest(t.Context(), who, id, "")
			default:
				n := NewRequest{Suite: "small", Kind: events.Master, Tag: events.Tag(fmt.Sprint("c", i)), Queue: queue, Priority: priority}
				if rapid.Bool().Draw(rt, "named") {
					n.Account = account
				}
				_, _, err = c.CreateRequest(t.Context(), who, n)
			}
			if rapid.IntRange(0, 9).Draw(rt, "publishes") == 0 && err == nil {
				d := definitions()
				d.Targets[0].Sets = 1 + i
				_, err = c.Publish(t.Context(), who, d)
			}
			if _, refused := errors.AsType[*RefusedError](err); err != nil && !refused {
				rt.Fatal(err)
			}
		}
		checkRights(rt, log)
	})
}

func checkRights(t *rapid.T, log *memory.Log) {
	accounts, queues, owners := map[events.AccountName]account{}, map[events.QueueName]queue{}, map[events.RequestID]events.AccountName{}
	var reader events.Reader
	err := upToHead(t.Context(), log, func(m events.Stored) error {
		e, _, err := reader.Understand(m)
		if err != nil {
			return err
		}
		switch name := m.Subject.Last(); m.Subject.Family() {
		case "account":
			accounts[events.AccountName(name)] = evolveAccount(accounts[events.AccountName(name)], e)
		case "queue":
			queues[events.QueueName(name)] = evolveQueue(queues[events.QueueName(name)], e)
		case "request":
			if err := heldRight(e, accounts); err != nil {
				return err
			}
			if f, made := e.Fact.(events.RequestCreated); made {
				owners[f.RequestID] = f.Account
				return rightOf(f, accounts[f.Account], queues[f.Queue], e.Actor)
			}
			owner := owners[events.RequestID(name)]
			if e.Actor != by.Actor && e.Actor != of(owner).Actor {
				return fmt.Errorf("%s changed a request of %q", e.Actor, owner)
			}
		case "suite":
			return heldRight(e, accounts)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// heldRight reports an event of an account that had no right for it.
func heldRight(e events.Recorded, accounts map[events.AccountName]account) error {
	name, itself := strings.CutPrefix(string(e.Actor), "account:")
	if !itself {
		return nil
	}
	var needed events.Right
	// Accounts have no part in others here.
	//exhaustive:ignore
	switch e.Fact.(type) {
	case events.RequestCreated:
		needed = events.RightRequest
	case events.RequestCancelled, events.RequestCancelledWithJobs:
		needed = events.RightCancel
	case events.PriorityChanged:
		needed = events.RightPrioritise
	case events.DefinitionsPublished:
		needed = events.RightPublish
	default:
		return fmt.Errorf("%s recorded %T", e.Actor, e.Fact)
	}
	if a := accounts[events.AccountName(name)]; !slices.Contains(events.HeldRights(a.settings.May), needed) {
		return fmt.Errorf("%s recorded %T without the right %s", e.Actor, e.Fact, needed)
	}
	return nil
}

func rightOf(f events.RequestCreated, a account, q queue, actor events.Actor) error {
	own := f.Queue == "" || f.Queue == events.QueueName(f.Account)
	switch {
	case a.closed || !a.configured && f.Account != "" && actor != of(f.Account).Actor:
		return fmt.Errorf("%+v: the account was not there", f)
	case f.Account != "" && f.Priority.Level() < a.settled(f.Account).MaxPriority.Level():
		return fmt.Errorf("%+v: more urgent than it might be", f)
	case actor != by.Actor && actor != of(f.Account).Actor:
		return fmt.Errorf("%+v: asked for by %s", f, actor)
	case !own && (!q.configured || q.closed || len(q.settings.Members) > 0 && !slices.Contains(q.settings.Members, f.Account)):
		return fmt.Errorf("%+v: the queue was not open to it", f)
	}
	return nil
}
