package watchdog

import (
	"strings"
	"testing"
	"time"

	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/rules/job"
)

// inGraph begins a graph of j1 and what it shares, in which j1 needs the job with number 1.
func (w *world) inGraph(jobs int, shared ...events.SharedJob) {
	w.tell(registered(), online(), requested(), events.RequestStarted{RequestID: "r1"},
		events.GraphCreated{RequestID: "r1", Kind: events.GraphInitial, Jobs: jobs, Needs: 1},
		events.JobsCreated{RequestID: "r1", Jobs: []events.JobSpec{spec("j1")}, Graph: &events.GraphPart{Shared: shared, Needs: []events.JobNeeds{{Job: 0, On: []int{1}}}}})
	w.beat("", 0)
}

const stuckKey = "stuck-"

// stuck returns the words of the alert about a stuck graph; empty if there is none.
func (w *world) stuck() (message, action string) {
	w.t.Helper()
	for key, f := range w.judge().wanted {
		if strings.HasPrefix(string(key), stuckKey) {
			return f.Message, f.Action
		}
	}
	return "", ""
}

func TestAGraphWhoseSharedJobNeverComesIsStuck(t *testing.T) {
	w := newWorld(t)
	w.inGraph(2, events.SharedJob{Number: 1, ID: "ghost"})
	message, action := w.stuck()
	for _, part := range []string{"Graph 0 of request r1 for go1.25 is open", "job j1 (compile/linux-amd64/1/gc/opt), which is blocked, and needs job ghost, which was never made"} {
		if !strings.Contains(message, part) {
			t.Errorf("it does not say %q: %s", part, message)
		}
	}
	for _, part := range []string{"`tacho job force j1 --request r1 --reason TEXT`", "`tacho request cancel r1`"} {
		if !strings.Contains(action, part) {
			t.Errorf("it does not advise %q: %s", part, action)
		}
	}
	// What it advises helps, and a wish on its way is waited for.
	w.tell(events.GraphWanted{RequestID: "r1", Key: "k", Kind: events.GraphForce, Select: []events.JobID{"j1"}, Reason: "x"})
	if message, _ := w.stuck(); message != "" {
		t.Errorf("a wish is on its way: %s", message)
	}
	w.tell(events.JobForced{RequestID: "r1", JobID: "j1", Key: "k", Reason: "x"})
	if message, _ := w.stuck(); message != "" {
		t.Errorf("j1 can run: %s", message)
	}
	w.tell(dequeued("j1"))
	if message, _ := w.stuck(); message != "" {
		t.Errorf("j1 runs: %s", message)
	}
	w.tell(finished("j1", 1))
	if message, action := w.stuck(); !strings.Contains(message, "no job of it can run: job ghost, which was never made") || strings.Contains(action, "job force") {
		t.Errorf("the ghost still keeps the graph open: %s %s", message, action)
	}
	w.tell(events.RequestCancelled{RequestID: "r1"})
	if message, _ := w.stuck(); message != "" {
		t.Errorf("its request is cancelled: %s", message)
	}
	if why := w.why(events.AlertRaised{Key: stuckKey, Kind: events.AlertStuck}); why == "" {
		t.Error("it is not cleared")
	}
}

func TestAGraphThatIsNotWholeIsStuck(t *testing.T) {
	w := newWorld(t)
	w.inGraph(3)
	if message, _ := w.stuck(); !strings.Contains(message, "its jobs were not all named") {
		t.Errorf("it says %q", message)
	}
}

func TestAGraphInACircleIsStuck(t *testing.T) {
	w := newWorld(t)
	other := spec("j2")
	other.Profile = "debug"
	w.tell(registered(), online(), requested(), events.RequestStarted{RequestID: "r1"},
		events.GraphCreated{RequestID: "r1", Kind: events.GraphInitial, Jobs: 2, Needs: 2},
		events.JobsCreated{RequestID: "r1", Jobs: []events.JobSpec{spec("j1"), other}, Graph: &events.GraphPart{Needs: []events.JobNeeds{{Job: 0, On: []int{1}}, {Job: 1, On: []int{0}}}}})
	if message, _ := w.stuck(); !strings.Contains(message, "which is blocked, and needs job j") {
		t.Errorf("it says %q", message)
	}
}

func TestAGraphThatGoesOnIsNotStuck(t *testing.T) {
	w := newWorld(t)
	other := spec("j2")
	other.Profile = "debug"
	w.tell(registered(), online(), requested(), events.RequestStarted{RequestID: "r1", Jobs: 2, Graphs: 1})
	w.tell(events.GraphCreated{RequestID: "r1", Kind: events.GraphInitial, Jobs: 2, Needs: 1})
	never := func(when string) {
		t.Helper()
		if message, _ := w.stuck(); message != "" {
			t.Errorf("%s: %s", when, message)
		}
	}
	never("the rest of the batch is to come")
	w.tell(events.JobsCreated{RequestID: "r1", Jobs: []events.JobSpec{other, spec("j1")}, Graph: &events.GraphPart{Needs: []events.JobNeeds{{Job: 1, On: []int{0}}}}})
	never("one is ready")
	w.tell(events.JobDispatched{Job: other})
	never("one is dispatched")
	w.tell(events.JobDequeued{Lane: lane, Job: other, Collector: "eider", Instance: "i1", Attempt: 1})
	never("one runs")
	failed := finished("j2", 1)
	failed.Outcome = events.Failure
	w.tell(failed)
	never("all are over")
}

func TestAMasterThatMissesItsDeadlineIsSaid(t *testing.T) {
	for _, kind := range []events.RequestKind{events.Release, events.Try} {
		w := newWorld(t)
		asked := requested().(events.RequestCreated)
		asked.Kind = kind
		w.tell(registered(), online(), asked, events.RequestStarted{RequestID: "r1"},
			events.GraphCreated{RequestID: "r1", Kind: events.GraphInitial, Jobs: 1, Deadline: job.Stamp(began.Add(time.Minute))},
			events.JobsCreated{RequestID: "r1", Jobs: []events.JobSpec{spec("j1")}, Graph: &events.GraphPart{}})
		w.beat("", 0)
		w.expect("in time")
		w.pass(2 * time.Minute)
		w.beat("", 0)
		if kind == events.Try {
			w.expect("a scheduler ends it")
			continue
		}
		key := string(events.NewAlertKey(events.AlertOverdue, "r1/0"))
		w.says(key, "Graph 0 of request r1 for go1.25 was to be done by", "They go on.")
		w.tell(dequeued("j1"), finished("j1", time.Minute))
		w.expect("its jobs have ended")
		if why := w.why(events.AlertRaised{Key: events.AlertKey(key), Kind: events.AlertOverdue}); why != "its jobs have ended" {
			t.Errorf("over because %q", why)
		}
	}
}
