package poller

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tachobench/tacho/control"
	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/internal/farm"
)

// The same 100 commits are polled through git and through the API at once, while they are pushed. A webhook triggers
// polls, and also asks for some of the commits itself. There are 100 requests, parents before children. After a force
// push that drops three commits and adds two, every request is still benchmarked to its end.
func TestAHundredCommitsPolledByTwoAtOnce(t *testing.T) {
	r := newRepository(t)
	history := r.chain(100, "")
	r.push("main", history[0])
	a := newAPI(t, r.url)
	mirror := r.source(t, "main")
	// The real server and the real git are outside of the bubble; simulated time waits for them.
	synctest.Test(t, func(t *testing.T) {
		f := farm.New(t, small(), farm.Usual())
		defer f.Stop()
		policy := Policy{Horizon: 29 * 24 * time.Hour, Backlog: 1000}
		ctx, cancel := context.WithCancel(t.Context())
		var running sync.WaitGroup
		var pollers []*Poller
		for name, from := range map[string]Source{"by-git": mirror, "by-api": a.github(t, time.Now, "main", "")} {
			p := newPoller(f.Control, name, from, policy)
			pollers = append(pollers, p)
			running.Go(func() {
				if err := p.Run(ctx); err != nil {
					t.Error(err)
				}
			})
		}
		for at := 0; at < 100; at += 9 {
			r.push("main", history[min(at+8, 99)])
			if at > 0 {
				// A webhook asks by itself, as soon as the parent has a request.
				f.Await("the parent", func(fact events.Fact) bool {
					c, ok := fact.(events.RequestCreated)
					return ok && c.Tag == history[at-1]
				})
				n := control.NewRequest{Suite: "small", Kind: events.Master, Tag: history[at], Parent: history[at-1]}
				if _, _, err := f.Control.CreateRequest(ctx, farm.By, n); err != nil {
					t.Error(err)
				}
			}
			for _, p := range pollers {
				p.Trigger()
			}
		}
		requests := func(want int) map[events.Tag]int {
			f.Await(fmt.Sprintf("%d requests", want), func(fact events.Fact) bool {
				_, ok := fact.(events.RequestCreated)
				if ok {
					want--
				}
				return want == 0
			})
			// Both poll more often, and find nothing new.
			f.Pass(10 * time.Minute)
			at := map[events.Tag]int{}
			for i, e := range f.Events() {
				if c, ok := e.Fact.(events.RequestCreated); ok {
					if _, twice := at[c.Tag]; twice {
						t.Errorf("%s was created twice", c.Tag)
					}
					at[c.Tag] = i
				}
			}
			return at
		}
		at := requests(100)
		if len(at) != 100 {
			t.Errorf("%d requests", len(at))
		}
		for i := range history {
			if _, ok := at[history[i]]; !ok {
				t.Fatalf("commit %d has no request", i)
			}
			if i > 0 && at[history[i-1]] > at[history[i]] {
				t.Errorf("commit %d was asked for before its parent", i)
			}
		}
		added := r.chain(2, history[96])
		r.push("main", added[1])
		at = requests(102)
		if len(at) != 102 || at[added[0]] == 0 || at[added[0]] > at[added[1]] {
			t.Errorf("%d requests, the new ones at %d and %d", len(at), at[added[0]], at[added[1]])
		}
		lane := events.Lane{Target: "here", Set: 0}
		f.Register("eider-0", lane)
		f.Start("eider-0", lane, "a", &farm.Bench{})
		ended := map[events.RequestState]int{}
		f.Await("the end of all requests", func(fact events.Fact) bool {
			switch fact.(type) {
			case events.RequestCompleted:
				ended[events.StateCompleted]++
			case events.RequestFailed:
				ended[events.StateFailed]++
			}
			return ended[events.StateCompleted]+ended[events.StateFailed] == 102
		})
		if diff := cmp.Diff(map[events.RequestState]int{events.StateCompleted: 102}, ended); diff != "" {
			t.Error(diff)
		}
		cancel()
		running.Wait()
	})
}
