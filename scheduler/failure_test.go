package scheduler

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/rules/suite"
)

// outcomes returns how each job ended, by kind: + success, - failure, / skipped; and how often the request ended.
func (f *graphFarm) outcomes(id events.RequestID) (jobs string, ends int) {
	var all []string
	for _, e := range f.log {
		// The others end neither.
		//exhaustive:ignore
		switch fact := e.Fact.(type) {
		case events.JobFinished:
			all = append(all, f.kindOf(fact.JobID)+map[events.Outcome]string{events.Success: "+", events.Failure: "-", events.Cancelled: "?"}[fact.Outcome])
		case events.JobsWithdrawn:
			sign := "?"
			if fact.Skipped {
				sign = "/"
			}
			for _, j := range fact.Jobs {
				all = append(all, f.kindOf(j)+sign)
			}
		case events.RequestCompleted, events.RequestFailed:
			ends++
		}
	}
	slices.Sort(all)
	return strings.Join(all, " "), ends
}

// What becomes of every job, the graph and the request when a job fails: a is the root, d the leaf behind b, c another leaf; x and
// y, which needs it, are optional. The lane has one job more than the one that fails.
func TestWhatAFailureMeans(t *testing.T) {
	for _, test := range []struct {
		rule   events.OnFailure
		fails  events.JobKind
		jobs   string
		state  events.RequestState
		graphs string
	}{
		{events.KeepGoing, "d", "a+ b+ c+ d- e+ x+ y+", events.StateFailed, "failure 5/1/0 by [3]"},
		{events.KeepGoing, "a", "a- b/ c/ d/ e+ x+ y+", events.StateFailed, "failure 5/1/3 by [0]"},
		{events.KeepGoing, "x", "a+ b+ c+ d+ e+ x- y/", events.StateCompleted, "success 5/0/0 by [5]"},
		{events.FailFast, "d", "a+ b+ c+ d- e+ x+ y/", events.StateFailed, "failure 5/1/0 by [3]"},
		{events.FailFast, "a", "a- b/ c/ d/ e+ x+ y/", events.StateFailed, "failure 5/1/3 by [0]"},
		{events.FailFast, "x", "a+ b+ c+ d+ e+ x- y/", events.StateCompleted, "success 5/0/0 by [5]"},
	} {
		for _, dies := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/%s/dies=%v", cmp.Or(test.rule, "keep-going"), test.fails, dies), func(t *testing.T) {
				d := kinds("a b:a c:a d:b e x y:x")
				d.Targets = append(d.Targets, suite.Target{Name: "there", Sets: 1, Optional: true, OS: "linux", Arch: "amd64"})
				for i, k := range d.Kinds {
					d.Kinds[i].When = "target = 'here'"
					if k.Name >= "x" {
						d.Kinds[i].When = "target = 'there'"
					}
				}
				f := newGraphFarm(t, d)
				f.rule, f.dies = test.rule, dies
				f.ends[test.fails] = "-"
				id := f.ask("t1", "", events.Master)
				f.settle()
				f.agree()
				jobs, ends := f.outcomes(id)
				if jobs != test.jobs || ends != 1 {
					t.Errorf("jobs %s, want %s; the request ended %d times", jobs, test.jobs, ends)
				}
				if got := f.state.Requests[id].State; got != test.state {
					t.Errorf("the request is %s, want %s", got, test.state)
				}
				if got := f.ended(); got != test.graphs {
					t.Errorf("graphs %s, want %s", got, test.graphs)
				}
			})
		}
	}
}
