package control

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/tachobench/tacho/eventlog"
	"github.com/tachobench/tacho/events"
)

func numbered(i int) string { return fmt.Sprintf("line %d", i+1) }

func TestEachRequestIsMadeForItself(t *testing.T) {
	c, log := farm(t)
	create(t, c, master("there", nil))
	create(t, c, master("other", func(n *NewRequest) { n.Parent = "p" }))
	list := []NewRequest{
		master("a", nil), master("there", nil), master("other", func(n *NewRequest) { n.Parent = "q" }),
		{Suite: "nosuch", Kind: events.Master, Tag: "x"},
		{Suite: "small", Kind: events.Master},
		master("b", func(n *NewRequest) { n.Queue = "bisct" }), try("k7", "", 7), try("k8", "", 7), master("a", nil), master("c", nil),
	}
	before := last(t, log)
	made, err := c.CreateEach(t.Context(), by, list, numbered)
	if err != nil || len(made) != len(list) {
		t.Fatalf("%d answers, %v", len(made), err)
	}
	for i, says := range []string{
		"", "", "exists already", "no definitions of suite nosuch", "needs a tag or a key", "unknown queue", "", "line 7 has a try of pull request 7 too", "the key of line 1", "",
	} {
		a := made[i]
		switch {
		case says == "" && (a.Err != nil || a.Existed != (i == 1) || a.Seq == 0 || c.state(t, a.Request.ID) != a.Request.State):
			t.Errorf("%d: %+v", i, a)
		case says != "" && (a.Err == nil || !strings.Contains(a.Err.Error(), says)):
			t.Errorf("%d: %v, want %q", i, a.Err, says)
		}
	}
	if n := last(t, log) - before; n != 4 { // a, c, the try, and that it is the newest
		t.Errorf("%d events were recorded", n)
	}
	again, err := c.CreateEach(t.Context(), by, list, numbered)
	if err != nil || last(t, log) != before+4 {
		t.Fatalf("asked again, %d events: %v", last(t, log)-before, err)
	}
	for i, a := range again {
		if (a.Err == nil) != (made[i].Err == nil) || a.Err == nil && (!a.Existed || a.Request.ID != made[i].Request.ID) {
			t.Errorf("again %d: %+v, before %+v", i, a, made[i])
		}
	}
	_, err = c.CreateEach(t.Context(), by, commits(MaxEach+1), numbered)
	refused(t, err, Invalid, "1001 requests: at most 1000")
}

// A limit holds for all requests of a batch together, and those that are there already take none of its room.
func TestEachRequestCountsForLimits(t *testing.T) {
	c, _ := farm(t)
	accountNamed(t, c, "alice", AccountChange{MaxPending: new(5)})
	for i, asked := range []int{3, 10, 10} {
		made, err := c.CreateEach(t.Context(), of("alice"), commits(asked), numbered)
		if err != nil {
			t.Fatal(err)
		}
		n := 0
		for _, a := range made {
			if a.Err == nil {
				n++
				continue
			}
			refused(t, a.Err, TooMany, "account alice has 5 requests that have not ended, and may have 5")
		}
		if n != min(asked, 5) {
			t.Errorf("batch %d: %d requests of %d", i, n, asked)
		}
	}
}

// failing is a log that fails for ever from one append on. That append may be stored although it fails.
type failing struct {
	eventlog.Log
	left   atomic.Int64
	stored bool
}

func (l *failing) Append(ctx context.Context, parts ...eventlog.Append) (events.Seq, error) {
	left := l.left.Add(-1)
	if left > 0 {
		return l.Log.Append(ctx, parts...)
	}
	if left == 0 && l.stored {
		if _, err := l.Log.Append(ctx, parts...); err != nil {
			return 0, err
		}
	}
	return 0, fmt.Errorf("append: %w", eventlog.ErrUnavailable)
}

// Wherever the log dies, what was answered is in it, and asking again makes the rest, each once.
func TestNothingAnsweredIsLostInABatch(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		c, log := start(t)
		n := rapid.IntRange(1, 150).Draw(rt, "requests")
		mortal := &failing{Log: log, stored: rapid.Bool().Draw(rt, "stored")}
		mortal.left.Store(int64(rapid.IntRange(1, n+1).Draw(rt, "appends")))
		ill := &Control{Log: mortal, Clock: time.Now}
		made, err := ill.CreateEach(t.Context(), by, commits(n), numbered)
		if err != nil {
			rt.Fatal(err)
		}
		for i, a := range made {
			var untried *NotTriedError
			if a.Err != nil {
				if !errors.Is(a.Err, eventlog.ErrUnavailable) && !errors.As(a.Err, &untried) {
					rt.Fatalf("%d: %v", i, a.Err)
				}
				continue
			}
			if q, err := requestIn(t.Context(), log, a.Request.ID); err != nil || !q.Exists() || q.version != a.Seq {
				rt.Fatalf("%d was answered and is not there: %v", i, err)
			}
		}
		again, err := c.CreateEach(t.Context(), by, commits(n), numbered)
		if err != nil {
			rt.Fatal(err)
		}
		for i, a := range again {
			if a.Err != nil || made[i].Err == nil && !a.Existed {
				rt.Fatalf("again %d: %+v", i, a)
			}
		}
		if head, err := log.Head(t.Context()); err != nil || head.Last != events.Seq(n)+1 {
			rt.Fatalf("%d events for %d requests (%v)", head.Last, n, err)
		}
	})
}

// Many batches with the same requests at once, among others: each request is made once.
func TestBatchesMeetInTheMiddle(t *testing.T) {
	c, log := farm(t)
	before := last(t, log)
	type result struct {
		made []EachAnswer
		err  error
	}
	const writers = 4
	results := make(chan result, writers)
	for range writers {
		go func() {
			made, err := c.CreateEach(t.Context(), by, commits(200), numbered)
			results <- result{made, err}
		}()
	}
	made := make([]int, 200)
	for range writers {
		r := <-results
		if r.err != nil {
			t.Fatal(r.err)
		}
		for i, a := range r.made {
			if a.Err != nil {
				t.Fatalf("%d: %v", i, a.Err)
			}
			if !a.Existed {
				made[i]++
			}
		}
	}
	for i, n := range made {
		if n != 1 {
			t.Errorf("request %d was made %d times", i, n)
		}
	}
	if n := last(t, log) - before; n != 200 {
		t.Errorf("%d events", n)
	}
}
