package scheduler

import (
	"testing"
	"time"

	"github.com/tachobench/tacho/events"
)

// Damaged events are no reason to die.
func TestADeadlineWithoutARequest(t *testing.T) {
	f := newGraphFarm(t, kinds("a b:a"))
	f.judge = nil
	f.fold(
		events.GraphCreated{RequestID: "r9", Kind: events.GraphInitial, Jobs: 1, Deadline: "2000-01-01T00:00:00Z"},
		events.JobsCreated{RequestID: "r9", Jobs: []events.JobSpec{{ID: "j9", RequestID: "r9", Target: "t"}}, Graph: &events.GraphPart{}},
	)
	if overdue := f.state.Overdue(f.now.Add(time.Hour)); len(overdue) > 0 {
		t.Errorf("%d graphs of no request are overdue", len(overdue))
	}
	if all := decideAll(f.state, f.policy, f.now); len(all) > 0 {
		t.Errorf("%s is decided", all[0].what)
	}
}

// Of decisions on one subject the log takes only the first.
func TestDeadlinesAreOneDecisionOfARequest(t *testing.T) {
	f := newGraphFarm(t, backfilled("a b:a c:b"))
	f.within = time.Hour
	f.fold(events.RequestCancelled{RequestID: f.ask("t0", "", events.Try)})
	id := f.ask("t1", "t0", events.Try)
	for len(f.state.Graphs[id]) == 0 {
		if !f.decide() {
			f.step()
		}
	}
	f.now = f.now.Add(2 * time.Hour)
	if overdue := f.state.Overdue(f.now); len(overdue) != 2 {
		t.Fatalf("%d graphs are overdue", len(overdue))
	}
	taken := map[events.Subject]string{}
	for _, d := range decideAll(f.state, f.policy, f.now) {
		of := map[events.Subject]bool{}
		for _, fact := range d.facts {
			of[fact.Subject()] = true
		}
		for subject := range of {
			if other, is := taken[subject]; is {
				t.Errorf("%s and %s are both on %s", other, d.what, subject)
			}
			taken[subject] = d.what
		}
	}
}
