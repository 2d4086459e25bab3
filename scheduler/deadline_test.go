package scheduler

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/tachobench/tacho/events"
)

func TestRulesOfDeadlines(t *testing.T) {
	for _, tt := range []struct {
		name   string
		kind   events.RequestKind
		late   bool
		state  events.RequestState
		graphs string
		reason string
	}{
		{name: "a try that is done in time", kind: events.Try, state: events.StateCompleted, graphs: "success 4/0/0"},
		{name: "a try that is late", kind: events.Try, late: true, state: events.StateFailed, graphs: "expired 4/2/1 by [1]", reason: "3 of 4 required jobs did not succeed by the deadline"},
		{name: "a master that is late goes on", kind: events.Master, late: true, state: events.StateCompleted, graphs: "success 4/0/0"},
		{name: "a release that is late goes on", kind: events.Release, late: true, state: events.StateCompleted, graphs: "success 4/0/0"},
	} {
		for _, dies := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/dies=%v", tt.name, dies), func(t *testing.T) {
				f := newGraphFarm(t, kinds("a b:a c:b z"))
				f.dies, f.within = dies, time.Hour
				id := f.ask("t1", "", tt.kind)
				for len(f.ran) == 0 {
					f.step()
				}
				if tt.late {
					f.now = f.now.Add(2 * time.Hour)
				}
				if overdue := f.state.Overdue(f.now); len(overdue) > 0 != tt.late {
					t.Errorf("%d graphs are overdue", len(overdue))
				}
				f.settle()
				f.agree()
				if got := f.state.Requests[id].State; got != tt.state {
					t.Errorf("the request is %s, want %s", got, tt.state)
				}
				if got := f.ended(); got != tt.graphs {
					t.Errorf("graphs %s, want %s", got, tt.graphs)
				}
				for _, e := range f.log {
					if failed, ok := e.Fact.(events.RequestFailed); ok && failed.Reason != tt.reason {
						t.Errorf("it failed because %s", failed.Reason)
					}
				}
				cancelled := 0
				for _, e := range f.log {
					if ended, ok := e.Fact.(events.JobFinished); ok && ended.Outcome == events.Cancelled {
						cancelled++
						if ended.Reason != "its graph was not done by its deadline" {
							t.Errorf("a job is stopped, as %s", ended.Reason)
						}
					}
				}
				if late := tt.state == events.StateFailed; cancelled > 0 != late {
					t.Errorf("%d jobs were stopped on their lane", cancelled)
				}
				for job, j := range f.state.Jobs {
					if !j.State.Terminal() {
						t.Errorf("job %s is %s", job, j.State)
					}
				}
				if len(f.state.Graphs)+len(f.state.Timed) > 0 || len(f.state.Overdue(f.now.Add(time.Hour))) > 0 {
					t.Errorf("%d graphs are left", len(f.state.Graphs))
				}
			})
		}
	}
}

func TestAnExpiredTryIsRepaired(t *testing.T) {
	f := newGraphFarm(t, kinds("a b:a c:b"))
	f.within = time.Hour
	id := f.ask("t1", "", events.Try)
	for len(f.ran) == 0 {
		f.step()
	}
	f.now = f.now.Add(2 * time.Hour)
	f.want(id, events.GraphRepair)
	for len(f.state.Requests[id].Wishes) > 0 || !f.state.Requests[id].Graphs[0].Expired {
		f.step()
	}
	f.settle()
	f.want(id, events.GraphRepair)
	f.settle()
	f.agree()
	if got, want := f.ended(), "expired 3/1/1 by [1], success 3/0/0"; got != want {
		t.Errorf("graphs %s, want %s", got, want)
	}
	if got := strings.Join(f.ran, " "); got != "a b c" {
		t.Errorf("ran %s", got)
	}
}

// What another request waits for goes on, and what is cancelled is not made again by itself.
func TestADeadlineLeavesTheJobsOfOthers(t *testing.T) {
	f := newGraphFarm(t, backfilled("a b:a c:b"))
	f.within = time.Hour
	parent := f.ask("t0", "", events.Try)
	for len(f.state.Graphs[parent]) == 0 {
		f.step()
	}
	f.within = 0
	child := f.ask("t1", "t0", events.Master) // it waits for the jobs of its parent, too
	for len(f.state.Graphs[child]) == 0 {
		if !f.decide() {
			f.step()
		}
	}
	f.now = f.now.Add(2 * time.Hour)
	f.settle()
	f.agree()
	for _, id := range []events.RequestID{parent, child} {
		if got := f.state.Requests[id].State; !got.Terminal() {
			t.Errorf("request %s is %s", id, got)
		}
	}
	if got := f.state.Requests[child].State; got != events.StateCompleted {
		t.Errorf("the child is %s", got)
	}
}
