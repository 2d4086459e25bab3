package control

import (
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/rules/request"
)

// master is a request for a commit, with what asks returns.
func master(tag events.Tag, asks func(*NewRequest)) NewRequest {
	n := NewRequest{Suite: "small", Kind: events.Master, Tag: tag}
	if asks != nil {
		asks(&n)
	}
	return n
}

// of returns on whose behalf an account gives a command.
func of(name events.AccountName) By {
	return By{Actor: events.Actor("account:" + string(name)), Source: "website", Root: "test", Account: name}
}

func TestARequestGetsItsPlaceOrARefusal(t *testing.T) {
	c, log := farm(t)
	accountNamed(t, c, "alice", AccountChange{})
	accountNamed(t, c, "boss", AccountChange{MaxPriority: new(events.PriorityVIP)})
	accountNamed(t, c, "gone", AccountChange{})
	queueNamed(t, c, "bisect", QueueChange{})
	queueNamed(t, c, "ours", QueueChange{Members: &[]events.AccountName{"boss"}})
	queueNamed(t, c, "over", QueueChange{})
	if _, err := c.CloseAccount(t.Context(), by, "gone", ""); err != nil {
		t.Fatal(err)
	}
	if _, err := c.CloseQueue(t.Context(), by, "over", ""); err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct {
		by       By
		asks     NewRequest
		account  events.AccountName
		queue    events.QueueName
		priority events.Priority
		kind     RefusalKind
		says     string
	}{
		"everyone waits in main":          {by: by},
		"main has no name":                {by: by, asks: NewRequest{Queue: "main"}},
		"the operator names an account":   {by: by, asks: NewRequest{Account: "alice"}, account: "alice", queue: "alice"},
		"an account asks for itself":      {by: of("alice"), account: "alice", queue: "alice"},
		"and may say so":                  {by: of("alice"), asks: NewRequest{Account: "alice", Queue: "alice"}, account: "alice", queue: "alice"},
		"in another queue":                {by: of("alice"), asks: NewRequest{Queue: "bisect"}, account: "alice", queue: "bisect"},
		"in the main one":                 {by: of("alice"), asks: NewRequest{Queue: "main"}, account: "alice"},
		"as urgent as it may":             {by: of("alice"), asks: NewRequest{Priority: "high"}, account: "alice", queue: "alice", priority: "high"},
		"normal is nothing":               {by: of("alice"), asks: NewRequest{Priority: "normal"}, account: "alice", queue: "alice"},
		"idle is no queue":                {by: of("alice"), asks: NewRequest{Queue: "idle"}, account: "alice", queue: "alice", priority: "idle"},
		"nor is vip":                      {by: of("boss"), asks: NewRequest{Queue: "vip", Priority: "vip"}, account: "boss", queue: "boss", priority: "vip"},
		"the operator may all":            {by: by, asks: NewRequest{Priority: "vip"}, priority: "vip"},
		"a member":                        {by: of("boss"), asks: NewRequest{Queue: "ours"}, account: "boss", queue: "ours"},
		"a trusted one nobody configured": {by: of("gh-bob"), account: "gh-bob", queue: "gh-bob"},

		"an unknown account":     {by: by, asks: NewRequest{Account: "bob"}, kind: Invalid, says: "unknown account \"bob\": make it with `tacho account set bob`"},
		"no name of an account":  {by: by, asks: NewRequest{Account: "A b"}, kind: Invalid, says: "lower-case"},
		"another's account":      {by: of("alice"), asks: NewRequest{Account: "boss"}, kind: Forbidden, says: "account alice cannot ask for account boss"},
		"a closed account":       {by: by, asks: NewRequest{Account: "gone"}, kind: Conflict, says: "account gone was closed"},
		"a closed one by itself": {by: of("gone"), kind: Conflict, says: "account gone was closed"},
		"an unknown queue":       {by: by, asks: NewRequest{Queue: "bisct"}, kind: Invalid, says: `unknown queue "bisct": use one of main, bisect, ours`},
		"no name of a queue":     {by: by, asks: NewRequest{Queue: "A b"}, kind: Invalid, says: "lower-case"},
		"another's own queue":    {by: of("alice"), asks: NewRequest{Queue: "boss"}, kind: Forbidden, says: "own queue of account boss"},
		"an own queue, unnamed":  {by: by, asks: NewRequest{Queue: "boss"}, kind: Forbidden, says: "own queue of account boss"},
		"a closed queue":         {by: of("alice"), asks: NewRequest{Queue: "over"}, kind: Conflict, says: "queue over was closed"},
		"no member":              {by: of("alice"), asks: NewRequest{Queue: "ours"}, kind: Forbidden, says: "account alice is no member of queue ours"},
		"no member, unnamed":     {by: by, asks: NewRequest{Queue: "ours"}, kind: Forbidden, says: "name the account"},
		"too urgent":             {by: of("alice"), asks: NewRequest{Priority: "vip"}, kind: Forbidden, says: "priority vip is above what account alice may give, which is high"},
		"too urgent, by name":    {by: by, asks: NewRequest{Account: "alice", Priority: "vip"}, kind: Forbidden, says: "max_priority"},
		"an unknown priority":    {by: by, asks: NewRequest{Priority: "asap"}, kind: Invalid, says: `unknown priority "asap"`},
		"two priorities":         {by: by, asks: NewRequest{Queue: "idle", Priority: "high"}, kind: Invalid, says: "leave one of them out"},
		"the name of a queue":    {by: of("bisect"), kind: Conflict, says: "use another name"},
	} {
		t.Run(name, func(t *testing.T) {
			before := last(t, log)
			n := tc.asks
			n.Suite, n.Kind, n.Tag = "small", events.Master, events.Tag(strings.NewReplacer(" ", "-", ",", "", "'", "").Replace(name))
			r, _, err := c.CreateRequest(t.Context(), tc.by, n)
			sees(t, err, tc.kind, tc.says)
			if tc.says != "" {
				if last(t, log) != before {
					t.Error("something was recorded")
				}
				return
			}
			if r.Account != tc.account || r.Queue != tc.queue || r.Priority != tc.priority {
				t.Errorf("account %q, queue %q, priority %q", r.Account, r.Queue, r.Priority)
			}
		})
	}
}

func TestTheSameKeyIsTheSameRequest(t *testing.T) {
	c, _ := farm(t)
	accountNamed(t, c, "alice", AccountChange{})
	queueNamed(t, c, "bisect", QueueChange{})
	asks := master("c1", func(n *NewRequest) { n.Queue, n.Priority = "bisect", "low" })
	made, _, err := c.CreateRequest(t.Context(), of("alice"), asks)
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range []NewRequest{asks, master("c1", nil)} {
		if again, answer, err := c.CreateRequest(t.Context(), of("alice"), n); err != nil || !answer.Existed || again.ID != made.ID {
			t.Errorf("%+v: %+v %v", n, answer, err)
		}
	}
	_, _, err = c.CreateRequest(t.Context(), of("bob"), asks)
	refused(t, err, Conflict, "account bob instead of alice")
	_, _, err = c.CreateRequest(t.Context(), of("alice"), master("c1", func(n *NewRequest) { n.Queue = "main" }))
	refused(t, err, Conflict, "queue main instead of bisect")
	_, _, err = c.CreateRequest(t.Context(), of("alice"), master("c1", func(n *NewRequest) { n.Priority = "high" }))
	refused(t, err, Conflict, "priority high instead of low")
}

func TestOnlyItsAccountAndTheOperatorChangeARequest(t *testing.T) {
	c, log := farm(t)
	accountNamed(t, c, "alice", AccountChange{})
	hers, _, err := c.CreateRequest(t.Context(), of("alice"), master("c1", nil))
	if err != nil {
		t.Fatal(err)
	}
	everyones := create(t, c, master("c2", nil))
	before := last(t, log)
	for what, change := range map[string]func(By, events.RequestID) error{
		"cancel": func(who By, id events.RequestID) error {
			_, _, err := c.CancelRequest(t.Context(), who, id, "")
			return err
		},
		"prioritise": func(who By, id events.RequestID) error {
			_, _, err := c.PrioritiseRequest(t.Context(), who, id, "low", "")
			return err
		},
		"repair": func(who By, id events.RequestID) error {
			_, _, err := c.RepairRequest(t.Context(), who, id, Repair{Key: "k"})
			return err
		},
	} {
		t.Run(what, func(t *testing.T) {
			refused(t, change(of("bob"), hers.ID), Forbidden, "is of account alice and not of bob")
			refused(t, change(of("bob"), everyones), Forbidden, "not of account bob")
		})
	}
	_, _, err = c.PrioritiseRequest(t.Context(), of("alice"), hers.ID, "vip", "")
	refused(t, err, Forbidden, "above what account alice may give")
	_, _, err = c.PrioritiseRequest(t.Context(), of("alice"), hers.ID, "asap", "")
	refused(t, err, Invalid, "unknown priority")
	_, _, err = c.PrioritiseRequest(t.Context(), of("alice"), hers.ID, "low", strings.Repeat("x", 2000))
	refused(t, err, Invalid, "at most 1024")
	if last(t, log) != before {
		t.Error("something was recorded")
	}
	if r, _, err := c.PrioritiseRequest(t.Context(), of("alice"), hers.ID, "low", "no hurry"); err != nil || r.Priority != "low" {
		t.Errorf("%+v %v", r, err)
	}
	if r, _, err := c.PrioritiseRequest(t.Context(), by, hers.ID, "vip", "the release"); err != nil || r.Priority != "vip" {
		t.Errorf("the operator: %+v %v", r, err)
	}
	if _, answer, err := c.PrioritiseRequest(t.Context(), by, hers.ID, "vip", "again"); err != nil || !answer.Existed {
		t.Errorf("%+v %v", answer, err)
	}
	if _, _, err := c.CancelRequest(t.Context(), of("alice"), hers.ID, ""); err != nil {
		t.Error(err)
	}
	_, _, err = c.PrioritiseRequest(t.Context(), of("alice"), hers.ID, "high", "")
	refused(t, err, Conflict, "cancelled already")
}

// A limit holds, but for the requests that were under way when it was reached.
func TestManyAtOnceAreBoundedByMaxPending(t *testing.T) {
	const clients, each, limit = 50, 6, 20
	c, log := farm(t)
	accountNamed(t, c, "alice", AccountChange{MaxPending: new(limit)})
	var all sync.WaitGroup
	var made, over atomic.Int32
	for i := range clients {
		all.Go(func() {
			for k := range each {
				_, _, err := c.CreateRequest(t.Context(), of("alice"), master(events.Tag(fmt.Sprint("c", i, "-", k)), nil))
				if err == nil {
					made.Add(1)
					continue
				}
				over.Add(1)
				refused(t, err, TooMany, "may have 20 (max_pending)")
			}
		})
	}
	all.Wait()
	if n := made.Load(); n < limit || n > limit+clients || n+over.Load() != clients*each {
		t.Errorf("%d made and %d refused", n, over.Load())
	}
	before := last(t, log)
	_, _, err := c.CreateRequest(t.Context(), of("alice"), master("one-more", nil))
	refused(t, err, TooMany, "account alice has ")
	if last(t, log) != before {
		t.Error("something was recorded")
	}
}

func TestAQueueHasItsOwnLimit(t *testing.T) {
	c, _ := farm(t)
	queueNamed(t, c, "bisect", QueueChange{MaxPending: new(1)})
	in := func(tag events.Tag) (request.Request, error) {
		r, _, err := c.CreateRequest(t.Context(), by, master(tag, func(n *NewRequest) { n.Queue = "bisect" }))
		return r, err
	}
	first, err := in("c1")
	if err != nil {
		t.Fatal(err)
	}
	_, err = in("c2")
	refused(t, err, TooMany, "queue bisect has 1 request that has not ended, and may have 1 (max_pending)")
	if _, _, err := c.CancelRequest(t.Context(), by, first.ID, ""); err != nil {
		t.Fatal(err)
	}
	if _, err := in("c2"); err != nil {
		t.Error(err)
	}
}

func TestTheFarmHasALimitOfItsOwn(t *testing.T) {
	c, _ := farm(t)
	c.MaxPending = 2
	for _, tag := range []events.Tag{"c1", "c2"} {
		if _, _, err := c.CreateRequest(t.Context(), by, master(tag, nil)); err != nil {
			t.Fatal(err)
		}
	}
	_, _, err := c.CreateRequest(t.Context(), by, master("c3", nil))
	refused(t, err, TooMany, "2 requests have not ended, and the farm takes no more than 2")
	if _, _, err := c.CreateRequest(t.Context(), by, master("c2", nil)); err != nil {
		t.Errorf("one that exists is asked for again: %v", err)
	}
}
