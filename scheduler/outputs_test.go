package scheduler

import (
	"fmt"
	"strings"
	"testing"

	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/rules/job"
	"github.com/tachobench/tacho/rules/ledger"
)

// stores lets the attempt that runs on the lane store its output.
func (f *graphFarm) stores(digest events.Digest) {
	f.t.Helper()
	for name, lane := range f.state.Lanes {
		if lane.Work.Phase == job.Current {
			f.fold(events.OutputStored{
				Lane: name, JobID: lane.Work.JobID, Collector: lane.Work.Collector, Token: lane.Work.Token, Attempt: lane.Work.Lane.Attempt,
				Output: events.Output{Name: "out", Digest: digest, Bytes: 3},
			})
		}
	}
}

// yields lets the attempt of a build store its output at random, and reports whether it did. On a farm with done, builds store
// their outputs at their ends.
func (f *graphFarm) yields(name events.Lane, j *ledger.Job) bool {
	spec, work := j.Spec(), f.state.Lanes[name].Work
	kind, _ := f.state.Definitions[spec.Definitions].Kind(spec.Kind)
	if f.random == nil || f.done != nil || !kind.Builds() || f.yielded[work.Token] || f.random.IntN(4) == 0 {
		return false
	}
	if f.yielded == nil {
		f.yielded = map[events.Seq]bool{}
	}
	f.yielded[work.Token] = true
	f.fold(events.OutputStored{
		Lane: name, JobID: work.JobID, Collector: work.Collector, Token: work.Token, Attempt: work.Lane.Attempt,
		Output: events.Output{Name: "out", Digest: events.Digest(work.JobID), Bytes: 3},
	})
	return true
}

// begin lets the first job of a kind begin.
func (f *graphFarm) begin(kind events.JobKind) {
	f.t.Helper()
	for range 100 {
		for _, lane := range f.state.Lanes {
			if lane.Work.Phase == job.Current {
				if f.state.Jobs[lane.Work.JobID].Spec().Kind == kind {
					return
				}
				f.t.Fatalf("%s runs, and %s was to begin", f.state.Jobs[lane.Work.JobID].Spec().Kind, kind)
			}
		}
		f.step()
	}
	f.t.Fatalf("%s never begins", kind)
}

// B begins when its output is stored, C when A has succeeded. When A fails later, B is marked and C is skipped.
func TestAnOutputIsWantedEarly(t *testing.T) {
	for _, dies := range []bool{false, true} {
		t.Run(fmt.Sprint(dies), func(t *testing.T) {
			f := newGraphFarm(t, kinds("a b<a c:a"))
			f.dies, f.judge = dies, nil
			id := f.ask("t1", "", events.Master)
			f.begin("a")

			if got := f.states(id); got != "blocked blocked" {
				t.Fatalf("before the output is stored, b and c are %s", got)
			}
			f.stores("d1")
			if got := f.states(id); got != "ready blocked" {
				t.Fatalf("with the output b and c are %s, want that b can run", got)
			}
			f.ends["a"] = "-"
			f.settle()
			if got := strings.Join(f.ran, " "); got != "a b" {
				t.Errorf("ran %s, want a, and b without its success; c never", got)
			}
			for _, e := range f.log {
				if d, ok := e.Fact.(events.JobDispatched); ok && d.Job.Kind == "b" && (len(d.Job.Inputs) != 1 || d.Job.Inputs[0].Digest != "d1" || d.Job.Inputs[0].Kind != "a") {
					t.Errorf("b was dispatched with %+v", d.Job.Inputs)
				}
			}
			if f.state.Requests[id].State != events.StateFailed || f.ended() != "failure 3/1/1 by [0]" {
				t.Errorf("the request is %s, its graph %s", f.state.Requests[id].State, f.ended())
			}
		})
	}
}

// Its build runs again, once, and then the job that lacked it. The second time it stays failed.
func TestAnOutputThatIsGoneIsMadeAgain(t *testing.T) {
	for _, dies := range []bool{false, true} {
		t.Run(fmt.Sprint(dies), func(t *testing.T) {
			f := newGraphFarm(t, kinds("a b<a"))
			f.dies, f.judge = dies, nil
			id := f.ask("t1", "", events.Master)
			lacks := func() events.Seq {
				for name, lane := range f.state.Lanes {
					if lane.Work.Phase != job.Current {
						continue
					}
					in := lane.Dispatches[lane.Work.Place].Job.Inputs[0]
					f.fold(events.JobFinished{
						Lane: name, Place: lane.Work.Place, JobID: lane.Work.JobID, RequestID: id, Collector: lane.Work.Collector, Token: lane.Work.Token,
						Attempt: lane.Work.Lane.Attempt, Outcome: events.Failure, Fault: events.ErrorOutput,
						Reason: fmt.Sprintf("output %s of job %s, which job %s uses: it is not in the store", in.Name, in.JobID, lane.Work.JobID),
					})
				}
				return f.log[len(f.log)-1].Seq
			}
			f.begin("a")
			f.stores("d1")
			f.work()
			f.begin("b")
			cause := lacks()
			all := decideAll(f.state, f.policy, f.now)
			if len(all) == 0 || all[0].cause != cause || all[0].what != "make an output again" {
				t.Fatalf("it decides %+v, want the build again because of event %d", all, cause)
			}
			f.begin("a")
			if got := f.ended(); got != "" {
				t.Errorf("graph %s ended meanwhile", got)
			}
			f.stores("d2")
			f.work()
			f.begin("b")
			if in := f.state.Lanes[f.state.LaneOrder[0]].Work.JobID; f.state.Jobs[in].Round != 1 {
				t.Errorf("b runs in round %d", f.state.Jobs[in].Round)
			}
			lacks()
			f.settle()
			if got := strings.Join(f.ran, " "); got != "a a" {
				t.Errorf("ran %s: want the build once more, and no third time", got)
			}
			if f.state.Requests[id].State != events.StateFailed {
				t.Errorf("the request is %s", f.state.Requests[id].State)
			}
		})
	}
}

func TestAJobWithoutItsOutputIsNotForced(t *testing.T) {
	f := newGraphFarm(t, kinds("a b<a"))
	f.judge = nil
	id := f.ask("t1", "", events.Master)
	f.begin("a")
	b := f.only("b")
	f.fold(events.GraphWanted{RequestID: id, Key: "k", Kind: events.GraphForce, Select: []events.JobID{b}, Reason: "because"})
	f.settle()
	if got := f.refused(); !strings.Contains(got, "uses the output out of job") || !strings.Contains(got, "`tacho job rerun ") {
		t.Errorf("the refusal is %q", got)
	}
}

// A job that builds waits for a collector that knows how, and the lane goes on behind it. It still counts as one that waits.
func TestCollectorsThatKnowNoBuildsGetNone(t *testing.T) {
	for _, dies := range []bool{false, true} {
		t.Run(fmt.Sprint(dies), func(t *testing.T) {
			f := newGraphFarm(t, kinds("a b<a c d:c"))
			f.dies, f.judge = dies, nil
			name := f.state.Lanes[f.state.LaneOrder[0]].Assignment.Serving
			f.fold(events.CollectorOnline{Name: name, Instance: "old"})
			f.ask("t1", "", events.Master)
			f.settle()
			if got := strings.Join(f.ran, " "); got != "c d" {
				t.Fatalf("ran %s on a collector that does not know builds, want what is behind the build, and not that", got)
			}
			if f.state.Seats.All != 1 {
				t.Errorf("%d jobs wait for dispatch, want the build", f.state.Seats.All)
			}
			f.fold(events.CollectorOnline{Name: name, Instance: "new", Knows: []string{events.KnowsBuild}})
			f.begin("a")
			if f.state.Seats.All != 0 {
				t.Errorf("%d jobs wait for dispatch, want none: b is blocked", f.state.Seats.All)
			}
		})
	}
}

// A collector that cannot build any more, because another program runs there, holds up nothing either.
func TestACollectorForgetsHowToBuild(t *testing.T) {
	f := newGraphFarm(t, kinds("a b<a c"))
	f.judge = nil
	f.ask("t1", "", events.Master)
	name := f.state.Lanes[f.state.LaneOrder[0]].Assignment.Serving
	for len(f.state.Jobs) == 0 {
		f.step()
	}
	f.fold(events.CollectorOnline{Name: name, Instance: "old"})
	f.begin("c")
}
