package door

import (
	"slices"
	"testing"

	"github.com/tachobench/tacho/eventlog"
	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/rules/job"
	"github.com/tachobench/tacho/rules/ledger"
)

// What a collector of a pool may say about a matched job: its attempts go on from those on other lanes, and the results
// of a pair are of its two artifacts.
func TestWhatMayBeSaidOfAMatchedJob(t *testing.T) {
	lane := events.PoolLane("builders", 1)
	parent := events.Artifact{Suite: "go", Tag: "w", Kind: events.Master}
	spec := specOn(ownLane, "j1")
	spec.Matched, spec.Against = true, &parent
	spec = spec.Bound(lane)
	unbound := spec
	unbound.On = nil
	waiting := view{at: 100, standing: job.Standing{Registered: &events.CollectorRegistered{Name: "eider", Target: lane.Target, Set: lane.Set}, Active: true}}
	waiting.lane = laneState{
		assignment: job.Assignment{Serving: "eider"},
		dispatched: listed(map[uint64]ledger.Dispatch{1: {Seq: 10, Job: spec, Attempt: 2, Lost: 1}}),
	}
	running := waiting
	running.lane.work = job.Lane{Place: 1, Phase: job.Current, JobID: "j1", Job: spec, Collector: "eider", Instance: "1", Token: 20, Attempt: 3, Lost: 1}
	spent := waiting
	spent.lane.dispatched = listed(map[uint64]ledger.Dispatch{1: {Seq: 10, Job: spec, Attempt: 3, Lost: 3}})
	begins := func(spec events.JobSpec, attempt, lost int) events.Fact {
		return events.JobDequeued{Lane: lane, Place: 1, Job: spec, Collector: "eider", Instance: "1", Attempt: attempt, Lost: lost}
	}
	measures := func(at events.Lane, a events.Artifact) events.Fact {
		return events.TestCasesMeasured{Lane: at, JobID: "j1", Artifact: a, Collector: "eider", Token: 20, Attempt: 3, Definitions: "d"}
	}
	block := func(a, b events.Artifact, besides ...events.Benchmark) events.Fact {
		f := measures(lane, a).(events.TestCasesMeasured)
		f.Cases, f.Beside = []events.MeasuredCase{{TestCase: events.TestCase{Benchmark: "b"}}}, &events.Beside{Artifact: b}
		for _, name := range besides {
			f.Beside.Cases = append(f.Beside.Cases, events.MeasuredCase{TestCase: events.TestCase{Benchmark: name}})
		}
		return f
	}
	alone := running
	alone.lane.work.Job.Against = nil
	exhausted := func(attempt, lost int) events.Fact {
		return events.JobFinished{
			Lane: lane, Place: 1, JobID: "j1", RequestID: "r1", Collector: "eider", Outcome: events.Failure, Fault: events.ErrorExhausted,
			Attempt: attempt, Lost: lost,
		}
	}
	finished := func(evicted ...string) events.Fact {
		return events.JobFinished{
			Lane: lane, Place: 1, JobID: "j1", RequestID: "r1", Collector: "eider", Token: 20, Attempt: 3, Lost: 1, Outcome: events.Success, Evicted: evicted,
		}
	}
	released := func(lane events.Lane, full *events.HostFull) events.Fact {
		return events.AttemptReleased{Lane: lane, Place: 1, JobID: "j1", Collector: "eider", Token: 20, Attempt: 3, Lost: 1, HostFull: full}
	}
	used := func(u events.Used) events.Fact {
		f := finished().(events.JobFinished)
		f.Used = &u
		return f
	}
	unmatched := running
	unmatched.lane.work.Job.Matched = false
	static := running
	static.standing.Registered = &events.CollectorRegistered{Name: "eider", Target: ownLane.Target, Set: ownLane.Set}
	for name, tc := range map[string]struct {
		view view
		fact events.Fact
		may  bool
	}{
		"the end of the job":                       {running, finished(), true},
		"the end, and removed caches":              {running, finished("ccache/gcc", "git/linux"), true},
		"the end, and as many as there may be":     {running, finished(slices.Repeat([]string{"c"}, 256)...), true},
		"the end, and too many removed caches":     {running, finished(slices.Repeat([]string{"c"}, 257)...), false},
		"the end, and a cache outside":             {running, finished("../gcc"), false},
		"the end, and results as a cache":          {running, finished("=go/v"), false},
		"the end, and what it used":                {running, used(events.Used{PeakMemoryBytes: 1 << 30, CPUMS: 9000}), true},
		"the end, and negative memory":             {running, used(events.Used{PeakMemoryBytes: -1}), false},
		"the end, and more memory than there is":   {running, used(events.Used{PeakMemoryBytes: 1<<50 + 1}), false},
		"the end, and negative CPU time":           {running, used(events.Used{CPUMS: -1}), false},
		"what a job used that is not matched":      {unmatched, used(events.Used{CPUMS: 1}), false},
		"that it is there, and a removed cache":    {running, events.CollectorOnline{Name: "eider", Evicted: []string{"git/linux"}}, true},
		"that it is there, and a cache outside":    {running, events.CollectorOnline{Name: "eider", Evicted: []string{"/"}}, false},
		"a removed cache, without a pool":          {static, events.CollectorOnline{Name: "eider", Evicted: []string{"git/linux"}}, false},
		"that the host is full":                    {running, released(lane, &events.HostFull{ReservedMiB: 2, FreeMiB: 1}), true},
		"that the host is full with enough free":   {running, released(lane, &events.HostFull{ReservedMiB: 2, FreeMiB: 2}), false},
		"that less than nothing is free":           {running, released(lane, &events.HostFull{ReservedMiB: 2, FreeMiB: -1}), false},
		"that it is there, without a pool":         {static, events.CollectorOnline{Name: "eider"}, true},
		"the next attempt":                         {waiting, begins(spec, 3, 1), true},
		"an attempt that forgets the others":       {waiting, begins(spec, 1, 0), false},
		"an attempt that forgets a loss":           {waiting, begins(spec, 3, 0), false},
		"an attempt of the job on no lane":         {waiting, begins(unbound, 3, 1), false},
		"results of the artifact":                  {running, measures(lane, spec.Artifact), true},
		"results of its parent":                    {running, measures(lane, parent), true},
		"results of another artifact":              {running, measures(lane, events.Artifact{Suite: "go", Tag: "v", Kind: events.Master}), false},
		"results on the lane of target and set":    {running, measures(ownLane, spec.Artifact), false},
		"a block":                                  {running, block(spec.Artifact, parent, "b"), true},
		"a block beside another artifact":          {running, block(spec.Artifact, events.Artifact{Suite: "go", Tag: "v", Kind: events.Master}, "b"), false},
		"a block beside itself":                    {running, block(spec.Artifact, spec.Artifact, "b"), false},
		"a block of the parent beside the child":   {running, block(parent, spec.Artifact, "b"), false},
		"a block with another test case beside":    {running, block(spec.Artifact, parent, "c"), false},
		"a block with nothing beside":              {running, block(spec.Artifact, parent), false},
		"a block with more beside":                 {running, block(spec.Artifact, parent, "b", "c"), false},
		"a block of a job without a parent":        {alone, block(spec.Artifact, parent, "b"), false},
		"an error of its parent":                   {running, events.ErrorRecorded{Lane: lane, JobID: "j1", Artifact: parent, Collector: "eider", Token: 20, Attempt: 3}, true},
		"that no attempt is left":                  {spent, exhausted(3, 3), true},
		"that no attempt is left, of other losses": {spent, exhausted(3, 2), false},
		"that no attempt is left, without a loss":  {viewWithoutLosses(waiting), exhausted(0, 0), false},
		"that it moved the job":                    {running, events.JobMoved{Lane: lane, Place: 1, JobID: "j1", Collector: "eider", Token: 20, Attempt: 3, Lost: 1}, false},
	} {
		t.Run(name, func(t *testing.T) {
			why := check("eider", tc.view, []eventlog.Append{{Subject: tc.fact.Subject(), Events: []events.Event{{Fact: tc.fact, Time: noon}}}}, noon)
			if (why == nil) != tc.may {
				t.Errorf("the door says %v", why)
			}
		})
	}
}

func viewWithoutLosses(v view) view {
	d, _ := v.lane.dispatched.at(1)
	d.Attempt, d.Lost = 0, 0
	v.lane.dispatched = listed(map[uint64]ledger.Dispatch{1: d})
	return v
}

func TestACollectorReadsWhatItsMachineOffers(t *testing.T) {
	r := events.CollectorRegistered{Name: "eider-1", Target: "pool_builders", Machine: "eider"}
	alone := r
	alone.Machine = ""
	for name, tc := range map[string]struct {
		who     events.CollectorRegistered
		subject events.Subject
		all     bool
		may     bool
	}{
		"its machine":              {r, events.MachineSubject("eider"), false, true},
		"the past of its machine":  {r, events.MachineSubject("eider"), true, false},
		"another machine":          {r, events.MachineSubject("teal"), false, false},
		"a machine, without one":   {alone, events.MachineSubject("eider"), false, false},
		"no machine, without one":  {alone, events.MachineSubject(""), false, false},
		"its lane":                 {r, events.WorkSubject(r.Lane()), true, true},
		"the dispatches of others": {r, events.MatchSubject(), false, false},
	} {
		t.Run(name, func(t *testing.T) {
			if why := mayRead(tc.who, tc.subject, tc.all); (why == nil) != tc.may {
				t.Errorf("the door says %v", why)
			}
		})
	}
}
