package control

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/tachobench/tacho/eventlog"
	"github.com/tachobench/tacho/events"
)

func TestDecideQueue(t *testing.T) {
	set := events.QueueConfigured{Queue: "q", Weight: 10, Order: events.OrderFIFO}
	stands := queue{settings: set, configured: true}
	for _, tc := range []struct {
		name   string
		given  queue
		queue  events.QueueName
		change QueueChange
		then   events.QueueConfigured
		says   string
	}{
		{"a new one has the defaults", queue{}, "q", QueueChange{}, set, ""},
		{"the main one is in the order of levels", queue{}, "main", QueueChange{Weight: weight(7)}, events.QueueConfigured{Queue: "main", Weight: 7, Order: events.OrderLevels}, ""},
		{
			"all of it", stands, "q",
			QueueChange{
				Parent: new(events.QueueName("p")), Weight: weight(20), Order: new(events.OrderLevels), InProgress: new(1), MaxRunning: new(2),
				MaxQueued: new(3), MaxPending: new(4), Members: &[]events.AccountName{"b", "a", "b"}, Paused: new(true),
			},
			events.QueueConfigured{
				Queue: "q", Parent: "p", Weight: 20, Order: events.OrderLevels, InProgress: 1, Limits: events.Limits{MaxRunning: 2, MaxQueued: 3, MaxPending: 4},
				Members: []events.AccountName{"a", "b"}, Paused: true,
			},
			"",
		},
		{"weight 0", stands, "q", QueueChange{Weight: weight(0)}, set, "from 1 to 1000"},
		{"an unknown order", stands, "q", QueueChange{Order: new(events.QueueOrder("lifo"))}, set, `order "lifo": use fifo or levels`},
		{"negative in progress", stands, "q", QueueChange{InProgress: new(-1)}, set, "in_progress -1: use a number from 1 to"},
		{"negative pending", stands, "q", QueueChange{MaxPending: new(-1)}, set, "max_pending -1"},
		{"many members", stands, "q", QueueChange{Members: new(many(maxMembers + 1))}, set, "1001 members: use at most 1000"},
		{"a parent of the main one", queue{}, "main", QueueChange{Parent: new(events.QueueName("p"))}, set, "queue main is for everyone"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, err := decideQueue(tc.given, tc.queue, tc.change)
			sees(t, err, Invalid, tc.says)
			if diff := cmp.Diff(tc.then, got); err == nil && diff != "" {
				t.Error(diff)
			}
		})
	}
}

func many(n int) []events.AccountName {
	out := make([]events.AccountName, n)
	for i := range out {
		out[i] = events.AccountName(fmt.Sprint("a", i))
	}
	return out
}

// grow makes a tree from pairs of a queue and its parent.
func grow(pairs ...[2]events.QueueName) tree {
	t := tree{}
	for _, p := range pairs {
		t[p[0]] = events.QueueConfigured{Queue: p[0], Parent: p[1]}
	}
	return t
}

func TestDecideShape(t *testing.T) {
	four := grow([2]events.QueueName{"a", ""}, [2]events.QueueName{"b", "a"}, [2]events.QueueName{"c", "b"}, [2]events.QueueName{"d", "c"}, [2]events.QueueName{"x", ""}, [2]events.QueueName{"y", "x"})
	full := tree{}
	for i := range maxQueues {
		name := events.QueueName(fmt.Sprint("q", i))
		full[name] = events.QueueConfigured{Queue: name}
	}
	for _, tc := range []struct {
		name  string
		given tree
		next  events.QueueConfigured
		kind  RefusalKind
		says  string
	}{
		{"on top", four, events.QueueConfigured{Queue: "n"}, 0, ""},
		{"four deep", four, events.QueueConfigured{Queue: "n", Parent: "c"}, 0, ""},
		{"five deep", four, events.QueueConfigured{Queue: "n", Parent: "d"}, Conflict, "d of c of b of a the queues are 5 deep: at most 4"},
		{"with its parts five deep", four, events.QueueConfigured{Queue: "x", Parent: "c"}, Conflict, "5 deep"},
		{"with its parts four deep", four, events.QueueConfigured{Queue: "x", Parent: "b"}, 0, ""},
		{"its own part", four, events.QueueConfigured{Queue: "a", Parent: "a"}, Conflict, "queue a cannot be a part of a"},
		{"a part of its part", four, events.QueueConfigured{Queue: "a", Parent: "c"}, Conflict, "queue a cannot be a part of c: c is a part of a"},
		{"an unknown parent", four, events.QueueConfigured{Queue: "n", Parent: "z"}, Invalid, `unknown parent "z": use one of a, b, c, d, x, y, or make it`},
		{"the last one", tree{}, events.QueueConfigured{Queue: "n"}, 0, ""},
		{"one too many", full, events.QueueConfigured{Queue: "n"}, Full, "there are 1024 queues"},
		{"one of them", full, events.QueueConfigured{Queue: "q7", Parent: "q8"}, 0, ""},
	} {
		t.Run(tc.name, func(t *testing.T) { sees(t, decideShape(tc.given, tc.next), tc.kind, tc.says) })
	}
}

func TestAQueueFromItsFirstDayToItsLast(t *testing.T) {
	c, _ := farm(t)
	ctx := t.Context()
	_, err := c.PauseQueue(ctx, by, "bisect", true)
	refused(t, err, NotFound, "there is no queue bisect")
	_, err = c.CloseQueue(ctx, by, "bisect", "")
	refused(t, err, NotFound, "there is no queue bisect")
	queueNamed(t, c, "builds", QueueChange{})
	queueNamed(t, c, "bisect", QueueChange{Parent: new(events.QueueName("builds")), Weight: weight(50)})
	if again, err := c.ConfigureQueue(ctx, by, "bisect", QueueChange{Weight: weight(50)}); err != nil || !again.Existed {
		t.Errorf("%+v %v", again, err)
	}
	for _, paused := range []bool{true, false} {
		if _, err := c.PauseQueue(ctx, by, "bisect", paused); err != nil {
			t.Error(err)
		}
		if again, err := c.PauseQueue(ctx, by, "bisect", paused); err != nil || !again.Existed {
			t.Errorf("%+v %v", again, err)
		}
	}
	if _, err := c.PauseQueue(ctx, by, "main", true); err != nil {
		t.Error(err)
	}
	_, err = c.CloseQueue(ctx, by, "main", "")
	refused(t, err, Invalid, "queue main stays")
	_, err = c.CloseQueue(ctx, by, "builds", "")
	refused(t, err, Conflict, "queue builds has parts: close or move bisect first")
	accountNamed(t, c, "alice", AccountChange{})
	r, _, err := c.CreateRequest(ctx, by, NewRequest{Suite: "small", Kind: events.Master, Tag: "c1", Account: "alice", Queue: "bisect"})
	if err != nil {
		t.Fatal(err)
	}
	_, err = c.CloseQueue(ctx, by, "bisect", "")
	refused(t, err, Conflict, "queue bisect has 1 request that has not ended")
	if _, _, err := c.CancelRequest(ctx, by, r.ID, ""); err != nil {
		t.Fatal(err)
	}
	if _, err := c.CloseQueue(ctx, by, "bisect", "done"); err != nil {
		t.Error(err)
	}
	if again, err := c.CloseQueue(ctx, by, "bisect", "done"); err != nil || !again.Existed {
		t.Errorf("%+v %v", again, err)
	}
	_, err = c.PauseQueue(ctx, by, "bisect", true)
	refused(t, err, Conflict, "queue bisect was closed")
	_, err = c.ConfigureQueue(ctx, by, "n", QueueChange{Parent: new(events.QueueName("bisect"))})
	refused(t, err, Invalid, "unknown parent")
	if _, err := c.CloseQueue(ctx, by, "builds", ""); err != nil {
		t.Error(err)
	}
	_, err = c.ConfigureQueue(ctx, by, "bisect", QueueChange{})
	refused(t, err, Invalid, `unknown parent "builds"`)
	queueNamed(t, c, "bisect", QueueChange{Parent: new(events.QueueName(""))})
}

func TestWrongQueuesAreRefusedAndLeaveNothing(t *testing.T) {
	c, log := farm(t)
	accountNamed(t, c, "alice", AccountChange{})
	accountNamed(t, c, "gone", AccountChange{})
	if _, err := c.CloseAccount(t.Context(), by, "gone", ""); err != nil {
		t.Fatal(err)
	}
	queueNamed(t, c, "bisect", QueueChange{})
	before := last(t, log)
	for name, tc := range map[string]struct {
		queue  events.QueueName
		change QueueChange
		kind   RefusalKind
		says   string
	}{
		"an own queue":     {"alice", QueueChange{}, Conflict, "use `tacho account set alice`"},
		"a priority":       {"idle", QueueChange{}, Invalid, "meaning of its own"},
		"no name":          {"", QueueChange{}, Invalid, "lower-case"},
		"a person's name":  {"gh-bob", QueueChange{}, Conflict, "names that begin with gh-"},
		"a part of main":   {"q", QueueChange{Parent: new(events.MainQueue)}, Invalid, "queue main has no parts"},
		"a wrong parent":   {"q", QueueChange{Parent: new(events.QueueName("A b"))}, Invalid, "parent: queue"},
		"an own parent":    {"q", QueueChange{Parent: new(events.QueueName("alice"))}, Invalid, "unknown parent"},
		"an unknown one":   {"q", QueueChange{Members: &[]events.AccountName{"bob"}}, Invalid, "member: unknown account \"bob\""},
		"a closed one":     {"q", QueueChange{Members: &[]events.AccountName{"gone"}}, Invalid, "the account was closed"},
		"no name at all":   {"q", QueueChange{Members: &[]events.AccountName{"A b"}}, Invalid, "member: account"},
		"its own ancestor": {"bisect", QueueChange{Parent: new(events.QueueName("bisect"))}, Conflict, "cannot be a part of"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := c.ConfigureQueue(t.Context(), by, tc.queue, tc.change)
			refused(t, err, tc.kind, tc.says)
		})
	}
	_, err := c.ConfigureAccount(t.Context(), by, "bisect", AccountChange{})
	refused(t, err, Conflict, "there is or was a queue bisect")
	if last(t, log) != before {
		t.Error("something was recorded")
	}
}

func TestDecidePolicy(t *testing.T) {
	standing := events.SharePolicySet{FloorDefault: 200, FloorIdle: 10, LagMS: 1}
	for _, tc := range []struct {
		name   string
		given  policy
		change PolicyChange
		then   []events.Fact
		says   string
	}{
		{"the first one is recorded", nil, PolicyChange{}, []events.Fact{events.UsualPolicy()}, ""},
		{"nothing changes", &standing, PolicyChange{FloorDefault: new(200)}, nil, ""},
		{"strict", &standing, PolicyChange{FloorDefault: new(0), FloorIdle: new(0)}, []events.Fact{events.SharePolicySet{LagMS: 1}}, ""},
		{"as much as there is", &standing, PolicyChange{FloorDefault: new(500), FloorIdle: new(400)}, []events.Fact{events.SharePolicySet{FloorDefault: 500, FloorIdle: 400, LagMS: 1}}, ""},
		{"above a half", &standing, PolicyChange{FloorIdle: new(501)}, nil, "floor of idle: 501 thousandths"},
		{"below nothing", &standing, PolicyChange{FloorDefault: new(-1)}, nil, "floor of default: -1 thousandths"},
		{"too much together", &standing, PolicyChange{FloorDefault: new(500), FloorIdle: new(401)}, nil, "together 901 thousandths"},
		{"no lag", &standing, PolicyChange{LagMS: new(int64(0))}, nil, "lag of 0 ms"},
		{"a long lag", &standing, PolicyChange{LagMS: new(maxLag.Milliseconds() + 1)}, nil, "at most 7 d"},
		{"the longest lag", &standing, PolicyChange{LagMS: new(maxLag.Milliseconds())}, []events.Fact{events.SharePolicySet{FloorDefault: 200, FloorIdle: 10, LagMS: maxLag.Milliseconds()}}, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, err := decidePolicy(tc.given, tc.change)
			sees(t, err, Invalid, tc.says)
			if diff := cmp.Diff(tc.then, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestThePolicyIsRecordedOnce(t *testing.T) {
	c, _ := farm(t)
	if _, err := c.SetSharePolicy(t.Context(), by, PolicyChange{FloorIdle: new(20)}); err != nil {
		t.Fatal(err)
	}
	if again, err := c.SetSharePolicy(t.Context(), by, PolicyChange{FloorIdle: new(20)}); err != nil || !again.Existed {
		t.Errorf("%+v %v", again, err)
	}
	accountNamed(t, c, "alice", AccountChange{})
	p, err := fold(t.Context(), c.Log, events.ShareSubject(), evolvePolicy)
	if err != nil || p.state.FloorIdle != 20 {
		t.Errorf("a new account leaves the policy as it is: %+v %v", p.state, err)
	}
}

// meanwhile is a log on which somebody else does something right after the first read of a subject.
type meanwhile struct {
	eventlog.Log
	after events.Subject
	do    func()
}

func (l *meanwhile) read(subject events.Subject) {
	if do := l.do; subject == l.after && do != nil {
		l.do = nil
		do()
	}
}

func (l *meanwhile) Last(ctx context.Context, subject events.Subject) (events.Recorded, bool, error) {
	e, found, err := l.Log.Last(ctx, subject)
	l.read(subject)
	return e, found, err
}

func (l *meanwhile) Read(ctx context.Context, subject events.Subject) ([]events.Recorded, error) {
	list, err := l.Log.Read(ctx, subject)
	l.read(subject)
	return list, err
}

// Two people give one name at the same moment: the second one is refused, whatever the first one did in between.
func TestANameIsGivenOnce(t *testing.T) {
	for _, after := range []events.Subject{events.ShareSubject(), events.AccountSubject("x"), events.QueueSubject("x")} {
		t.Run(string(after), func(t *testing.T) {
			c, log := farm(t)
			late := copyOf(c)
			late.Log = &meanwhile{Log: log, after: after, do: func() { queueNamed(t, c, "x", QueueChange{}) }}
			_, err := late.ConfigureAccount(t.Context(), by, "x", AccountChange{})
			refused(t, err, Conflict, "there is or was a queue x")

			c, log = farm(t)
			late = copyOf(c)
			late.Log = &meanwhile{Log: log, after: after, do: func() { accountNamed(t, c, "x", AccountChange{}) }}
			_, err = late.ConfigureQueue(t.Context(), by, "x", QueueChange{})
			refused(t, err, Conflict, "use `tacho account set x`")
		})
	}
}

// However many people change the tree at once, it has no cycle, is at most four deep, and no name is an account and a
// queue.
func TestRacesLeaveTheTreeWhole(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		c, _ := farm(t)
		names := []events.QueueName{"a", "b", "c", "d", "e", "f"}
		type move struct {
			queue, parent events.QueueName
			account       bool
		}
		moves := rapid.SliceOfN(rapid.Custom(func(rt *rapid.T) move {
			return move{
				rapid.SampledFrom(names).Draw(rt, "queue"), rapid.SampledFrom(append(names, "")).Draw(rt, "parent"), rapid.IntRange(0, 9).Draw(rt, "account") == 0,
			}
		}), 4, 20).Draw(rt, "moves")
		for _, name := range names[:4] {
			queueNamed(t, c, name, QueueChange{})
		}
		var all sync.WaitGroup
		for _, m := range moves {
			all.Go(func() {
				var err error
				if m.account {
					_, err = c.ConfigureAccount(t.Context(), by, events.AccountName(m.queue), AccountChange{})
				} else {
					_, err = c.ConfigureQueue(t.Context(), by, m.queue, QueueChange{Parent: &m.parent})
				}
				if _, ok := errors.AsType[*RefusedError](err); err != nil && !ok && !strings.Contains(err.Error(), "another writer was first") {
					t.Error(err)
				}
			})
		}
		all.Wait()
		wholeTree(rt, c)
	})
}

func wholeTree(t *rapid.T, c *Control) {
	list, err := c.Queues(context.Background(), 0)
	if err != nil {
		t.Fatal(err)
	}
	whole := tree{}
	for _, q := range list {
		whole[q.Queue] = q
	}
	for name := range whole {
		if above := whole.above(name); len(above) >= maxDepth {
			t.Fatalf("%s is in %v", name, above)
		}
		a, err := accountIn(context.Background(), c.Log, events.AccountName(name))
		if err != nil || a.configured {
			t.Fatalf("%s is an account and a queue (%v)", name, err)
		}
	}
}
