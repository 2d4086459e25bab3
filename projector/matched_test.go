package projector_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/projector"
	"github.com/tachobench/tacho/readmodel"
	"github.com/tachobench/tacho/readmodel/comparison"
	"github.com/tachobench/tacho/rules/compare"
	rules "github.com/tachobench/tacho/rules/job"
)

// builders are the lanes of a pool. Each is the only slot of a machine of its own.
var builders = [...]events.Lane{events.PoolLane("builders", 0), events.PoolLane("builders", 1), events.PoolLane("builders", 2)}

func machineOf(l events.Lane) events.MachineName {
	return events.MachineName(fmt.Sprintf("eider-1%d", l.Set))
}

func environmentOf(l events.Lane) events.Digest { return events.Digest(fmt.Sprintf("env-1%d", l.Set)) }

// matchedJob is a job that runs on any machine that meets the terms. If against is not empty, it measures that, too.
func matchedJob(tag, against events.Tag, terms ...string) events.JobSpec {
	j := job(tag, lanes[0], "any")
	j.Matched, j.Requires = true, terms
	if against != "" {
		j.Against = &events.Artifact{Suite: suite, Tag: against, Kind: events.Master}
	}
	j.ID = j.First()
	return j
}

// staff describes the machines of the pool, with a collector each.
func (s *story) staff() {
	for _, l := range builders {
		s.tell(events.MachineDescribed{
			Machine: machineOf(l), Pool: "builders", OS: "linux", Arch: "amd64", MemoryMiB: 16 << 10, CPUs: 8, Slots: 1, Traits: []string{"nvme"},
		})
		s.tell(events.CollectorRegistered{Name: collectorOf(l), Target: l.Target, Set: l.Set, Machine: machineOf(l)})
		s.tell(events.LaneAssigned{Lane: l, Name: collectorOf(l)})
		s.tell(events.CollectorOnline{
			Name: collectorOf(l), Instance: "i1", Version: "v1", Environment: events.Environment{Fingerprint: environmentOf(l), Host: "host-" + string(machineOf(l))},
		})
	}
}

// pair tells results of a bound job for an artifact: each test case takes as many seconds as its number says.
func (s *story) pair(j events.JobSpec, token events.Seq, attempt int, tag events.Tag, seconds float64, benchmarks ...events.Benchmark) {
	s.tell(s.side(j, token, attempt, tag, seconds, benchmarks...))
}

// block tells results of a bound job and of what it is measured against, which takes a second, measured in turns.
func (s *story) block(j events.JobSpec, token events.Seq, attempt int, seconds float64, benchmarks ...events.Benchmark) {
	f := s.side(j, token, attempt, j.Artifact.Tag, seconds, benchmarks...)
	f.Beside = &events.Beside{Artifact: *j.Against, Cases: s.side(j, token, attempt, j.Against.Tag, 1, benchmarks...).Cases}
	f.Beside.Cases[0].Iterations[4].Interference = "a neighbour"
	s.tell(f)
}

func (s *story) side(j events.JobSpec, token events.Seq, attempt int, tag events.Tag, seconds float64, benchmarks ...events.Benchmark) events.TestCasesMeasured {
	f := events.TestCasesMeasured{
		Lane: j.Lane(), JobID: j.ID, Artifact: events.Artifact{Suite: suite, Tag: tag, Kind: events.Master}, Collector: collectorOf(j.Lane()),
		Token: token, Attempt: attempt, Definitions: "d1", Environment: environmentOf(j.Lane()),
	}
	for _, b := range benchmarks {
		c := events.MeasuredCase{TestCase: events.TestCase{Benchmark: b, Profile: j.Profile, Scenario: "full", Backend: j.Backend, Target: j.Target}}
		for n := range 6 {
			c.Iterations = append(c.Iterations, events.Iteration{Metrics: map[events.Metric]float64{"instructions:u": seconds * (1e9 + float64(n))}})
		}
		f.Cases = append(f.Cases, c)
	}
	return f
}

// leave moves the job away from a lane whose collector was lost, with all that belongs to it.
func (s *story) leave(j events.JobSpec, token events.Seq, attempt, lost int) {
	s.tell(events.AttemptLost{Lane: j.Lane(), JobID: j.ID, Token: token, Attempt: attempt, Lost: lost, Reason: "silence"})
	s.tell(events.JobMoved{
		Lane: j.Lane(), JobID: j.ID, Collector: collectorOf(j.Lane()), Token: token, Attempt: attempt, Lost: lost, Reason: "no heartbeat for 30s",
	})
	s.tell(events.ResultsClosed{Lane: j.Lane(), JobID: j.ID, Attempt: attempt, Token: token})
}

// movedPair is a story of a try and its parent on three machines. The parent was measured on the first. The job of the try
// begins on the second machine, which dies after one of four test cases, and ends on the third.
func movedPair(t testing.TB) (s *story, parent, try events.JobSpec) {
	s = newStory(t)
	s.tell(events.DefinitionsPublished{Suite: suite, Digest: "d1", Content: definitions()})
	s.staff()
	parent, try = matchedJob("sha0", "", "exclusive"), matchedJob("sha1", "sha0", "exclusive")
	s.begin(created("sha0", "", 0), parent)
	on := parent.Bound(builders[0])
	s.tell(events.JobDispatched{Job: on, Closes: true, Share: turnOf("alice")})
	token := s.tell(dequeued(on, 1, 0))
	s.pair(on, token, 1, "sha0", 1, "b0", "b2", "b4", "b6")
	s.tell(finished(on, token, events.Success))
	s.tell(events.RequestCompleted{RequestID: requestID("sha0"), Jobs: 1})

	s.begin(created("sha1", "sha0", 0), try)
	on = try.Bound(builders[1])
	s.tell(events.JobDispatched{Job: on, Closes: true, Share: &events.Share{Tier: events.TierDefault, Queue: "alice", Account: "alice", ExpectMS: 60_000, Part: 512, Why: "first"}})
	token = s.tell(dequeued(on, 1, 0))
	s.pair(on, token, 1, "sha0", 2, "b0")
	s.pair(on, token, 1, "sha1", 3, "b0")
	s.leave(on, token, 1, 1)
	s.pair(on, token, 1, "sha1", 9, "b2") // it wakes up: this counts nowhere

	on = try.Bound(builders[2])
	s.tell(events.JobDispatched{Job: on, Closes: true, Attempt: 1, Lost: 1, Share: turnOf("bob")})
	token = s.tell(dequeued(on, 2, 1))
	s.pair(on, token, 2, "sha0", 4, "b4")
	s.pair(on, token, 2, "sha1", 6, "b4", "b6")
	s.block(on, token, 2, 1.5, "b2")
	s.tell(failedBy(on, token, "sha0", "b6"))
	ended := finished(on, token, events.Success)
	ended.Attempt, ended.Lost = 2, 1
	s.tell(ended)
	s.tell(events.RequestCompleted{RequestID: requestID("sha1"), Jobs: 1})
	return s, parent, try
}

func failedBy(j events.JobSpec, token events.Seq, tag events.Tag, b events.Benchmark) events.ErrorRecorded {
	f := failedCase(j, token, "exit status 1")
	f.Artifact.Tag, f.Attempt, f.Case.Benchmark = tag, 2, b
	return f
}

// TestAPairIsComparedOnOneMachine: every judged change of a job that moved is between results of one machine.
func TestAPairIsComparedOnOneMachine(t *testing.T) {
	s, _, try := movedPair(t)
	r, ctx := open(t, project(t, s.stored, 3)), t.Context()
	c, err := comparison.Tables{Reader: r}.Compare(ctx, comparison.Query{B: "sha1", Suite: suite})
	if err != nil {
		t.Fatal(err)
	}
	type judgement struct {
		A, B      string
		Judgement compare.Judgement
		Percent   int
		Why       string
	}
	got := map[events.Benchmark]judgement{}
	for _, ch := range c.Changes {
		j := judgement{A: ch.A.Machine, B: ch.B.Machine, Judgement: ch.Judgement, Percent: int(*ch.Relative*100 + 0.5)}
		if ch.A.Environment != ch.B.Environment {
			j.Why = ch.Why
		}
		got[ch.Case.Benchmark] = j
	}
	want := map[events.Benchmark]judgement{
		"b0": {"eider-11", "eider-11", compare.Regressed, 50, ""},
		"b2": {"eider-12", "eider-12", compare.Regressed, 50, ""},
		"b4": {"eider-12", "eider-12", compare.Regressed, 50, ""},
		"b6": {"eider-10", "eider-12", compare.NotComparable, 500, "measured on different machines, eider-10 and eider-12"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"eider-10", "eider-11", "eider-12"}, c.Machines); diff != "" || c.A.Cases != 4 || c.B.Cases != 4 {
		t.Errorf("%d and %d cases, machines %s", c.A.Cases, c.B.Cases, diff)
	}
	j, err := r.Job(ctx, try.ID)
	if err != nil {
		t.Fatal(err)
	}
	if j.Lane() != builders[2] || j.Attempts != 2 || j.Lost != 1 || j.State != events.JobSuccess || j.Against != "sha0" || len(j.AttemptList) != 2 {
		t.Errorf("%+v", j)
	}
	if failed, err := r.ErrorsOf(ctx, suite, "sha0"); err != nil || len(failed) != 1 || failed[0].JobID != try.ID {
		t.Errorf("errors of the parent: %+v %v", failed, err)
	}
	cursor, err := r.Cursor(ctx)
	if err != nil || cursor.StaleReports != 1 || cursor.ParkedEvents != 0 || cursor.DuplicateResults != 0 {
		t.Errorf("%+v %v", cursor, err)
	}
}

// TestABlockIsKept: the pairs of the first block on a machine stay, in their order. Both sides are results, unless they were there.
func TestABlockIsKept(t *testing.T) {
	s := newStory(t)
	s.tell(events.DefinitionsPublished{Suite: suite, Digest: "d1", Content: definitions()})
	s.staff()
	parent, try := matchedJob("sha0", "", "exclusive"), matchedJob("sha1", "sha0", "exclusive")
	s.begin(created("sha0", "", 0), parent)
	on := parent.Bound(builders[0])
	s.tell(events.JobDispatched{Job: on, Closes: true})
	token := s.tell(dequeued(on, 1, 0))
	s.pair(on, token, 1, "sha0", 7, "b0")
	s.tell(finished(on, token, events.Success))
	s.begin(created("sha1", "sha0", 0), try)
	on = try.Bound(builders[0])
	s.tell(events.JobDispatched{Job: on, Closes: true})
	token = s.tell(dequeued(on, 1, 0))
	s.block(on, token, 1, 3, "b0", "b1")
	s.block(on, token, 1, 5, "b1", "b2", "b2")
	wrong := s.side(on, token, 1, "sha1", 1, "b3")
	wrong.Beside = &events.Beside{Artifact: events.Artifact{Suite: suite, Tag: "sha9", Kind: events.Master}, Cases: wrong.Cases}
	s.tell(wrong)
	r, ctx := open(t, project(t, s.stored, 3)), t.Context()
	blocks, err := r.Blocks(ctx, suite, "sha1", "sha0")
	if err != nil {
		t.Fatal(err)
	}
	first := func(list []events.Iteration) float64 { return list[0].Metrics["instructions:u"] / 1e9 }
	var got []string
	for _, b := range blocks {
		got = append(got, fmt.Sprintf("%s on %s: %d × %.0f beside %d × %.0f", b.Benchmark, b.Environment, len(b.Iterations), first(b.Iterations), len(b.Beside), first(b.Beside)))
	}
	if diff := cmp.Diff([]string{"b0 on env-10: 6 × 3 beside 6 × 1", "b1 on env-10: 6 × 3 beside 6 × 1", "b2 on env-10: 6 × 5 beside 6 × 1"}, got); diff != "" {
		t.Error(diff)
	}
	if b := blocks[0].Beside; b[4].Interference != "a neighbour" || b[3].Interference != "" || b[5].Metrics["instructions:u"] != 1e9+5 {
		t.Errorf("%+v", b)
	}
	got = nil
	for _, tag := range []events.Tag{"sha0", "sha1"} {
		results, err := r.Results(ctx, suite, tag)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range results {
			got = append(got, fmt.Sprintf("%s of %s: %.0f", m.Benchmark, tag, first(m.Iterations)))
		}
	}
	if diff := cmp.Diff([]string{"b0 of sha0: 7", "b1 of sha0: 1", "b2 of sha0: 1", "b0 of sha1: 3", "b1 of sha1: 3", "b2 of sha1: 5"}, got); diff != "" {
		t.Error(diff)
	}
	tables := comparison.Tables{Reader: r}
	c, err := tables.Compare(ctx, comparison.Query{A: "sha0", B: "sha1", Suite: suite})
	if err != nil {
		t.Fatal(err)
	}
	if c.Same != 0 { // one job measured both, and took nothing from another
		t.Errorf("%d results are called the same", c.Same)
	}
	got = nil
	for _, ch := range c.Changes {
		got = append(got, fmt.Sprintf("%s: %s, %.0f %%, %s on %s", ch.Case.Benchmark, ch.Judgement, *ch.Relative*100, ch.Evidence(), ch.A.Machine))
	}
	if diff := cmp.Diff([]string{
		"b0: regressed, 200 %, in turns: 6 pairs, 1 with interference, interval [+200%, +200%] on eider-10",
		"b1: regressed, 200 %, in turns: 6 pairs, interval [+200%, +200%] on eider-10",
		"b2: regressed, 400 %, in turns: 6 pairs, interval [+400%, +400%] on eider-10",
	}, got); diff != "" {
		t.Error(diff)
	}
	if rows, err := tables.Samples(ctx, comparison.Query{A: "sha0", B: "sha1", Suite: suite}); err != nil || len(rows) != 3 || len(rows[2].Pairs) != 6 ||
		rows[2].Pairs[5] != (compare.Pair{A: 1e9 + 5, B: 5 * (1e9 + 5)}) {
		t.Errorf("%+v %v", rows, err)
	}
	if none, err := r.Blocks(ctx, suite, "sha0", "sha1"); err != nil || len(none) > 0 {
		t.Errorf("the other way round: %+v %v", none, err)
	}
	if cursor, err := r.Cursor(ctx); err != nil || cursor.StaleReports != 1 {
		t.Errorf("%+v %v", cursor, err)
	}
}

// TestAMovedJobIsChargedAtEachPlace: what was expected is taken back at a move, what the attempt took stays, and the job
// counts where it ended.
func TestAMovedJobIsChargedAtEachPlace(t *testing.T) {
	s, _, _ := movedPair(t)
	var shares []readmodel.ShareRow
	var usage []readmodel.UsageRow
	url := project(t, s.stored, 2)
	query(t, url, "SELECT * FROM tacho.share ORDER BY account", &shares)
	query(t, url, "SELECT * FROM tacho.usage ORDER BY account", &usage)
	// The parent's job took 2 s. The try had half of a machine for 3 s, and then all of one for 5 s.
	want := []readmodel.ShareRow{
		{Tier: events.TierDefault, Queue: "alice", Account: "alice", Dispatched: 2, ChargedMS: 2000 + 1500},
		{Tier: events.TierDefault, Queue: "bob", Account: "bob", Dispatched: 1, ChargedMS: 5000},
	}
	if diff := cmp.Diff(want, shares); diff != "" {
		t.Error(diff)
	}
	days := []readmodel.UsageRow{
		{Day: "2026-03-01", Tier: events.TierDefault, Queue: "alice", Account: "alice", Jobs: 1, ChargedMS: 3500},
		{Day: "2026-03-01", Tier: events.TierDefault, Queue: "bob", Account: "bob", Jobs: 1, ChargedMS: 5000},
	}
	if diff := cmp.Diff(days, usage); diff != "" {
		t.Error(diff)
	}
}

// TestMatchedHistoriesAtEveryBatchSize: the tables are those of the fold, wherever batches end, and a replay verifies them.
func TestMatchedHistoriesAtEveryBatchSize(t *testing.T) {
	s, _, _ := movedPair(t)
	url := project(t, s.stored, 1)
	want := contents(t, url)
	for _, size := range []int{7, 1000} {
		if diff := cmp.Diff(want, contents(t, project(t, s.stored, size))); diff != "" {
			t.Fatalf("batch size 1 (-) and %d (+):\n%s", size, diff)
		}
	}
	report, err := projector.Replay(t.Context(), newFeed("log", s.stored...), url, projector.ReplayOptions{Verify: true})
	if err != nil || !report.Identical() {
		t.Errorf("%+v %v", report, err)
	}
}

// TestAMatchedJobWaitsAgainAfterAMove: it has no lane and no place, and keeps its attempts. Others go on on the lane.
func TestAMatchedJobWaitsAgainAfterAMove(t *testing.T) {
	s := newStory(t)
	s.staff()
	first, second := matchedJob("sha1", "", "exclusive"), matchedJob("sha1", "", "trait=nvme")
	s.begin(created("sha1", "", 0), first, second)
	on := first.Bound(builders[0])
	s.tell(events.JobDispatched{Job: on, Share: turnOf("alice")})
	token := s.tell(dequeued(on, 1, 0))
	s.tell(events.JobDispatched{Job: first.Bound(builders[1]), Share: turnOf("bob")}) // it has a place
	s.leave(on, token, 1, 1)
	other := second.Bound(builders[0])
	s.tell(events.JobDispatched{Job: other})
	s.tell(dequeued(other, 1, 0))
	r := open(t, project(t, s.stored, 4))
	j, err := r.Job(t.Context(), first.ID)
	if err != nil {
		t.Fatal(err)
	}
	if j.State != events.JobQueued || j.Lane() != (events.Lane{}) || j.Place != 0 || j.DispatchedAt != nil || j.Share != nil || j.Attempts != 1 || j.Lost != 1 ||
		j.Reason != "no heartbeat for 30s" || j.Part() != lanes[0] {
		t.Errorf("%+v", j.Job)
	}
	if j, err = r.Job(t.Context(), second.ID); err != nil || j.State != events.JobInProgress || j.Lane() != builders[0] || j.Place != 2 {
		t.Errorf("%+v %v", j.Job, err)
	}
	if q := s.queueOf(); len(q) != 1 || q[0].NoEnd != "" || q[0].EstimatedEnd == nil {
		t.Errorf("%+v", q)
	}
	for _, l := range builders {
		s.tell(events.MachineRemoved{Machine: machineOf(l)})
	}
	if q := s.queueOf(); len(q) != 1 || q[0].NoEnd != "no machine that takes jobs can run all of its jobs" || q[0].EstimatedEnd != nil {
		t.Errorf("%+v", q)
	}
}

// match says something about machines, or about the jobs that any of them may run, honest or not.
func (w *walker) match() {
	lane := builders[w.r.IntN(len(builders))]
	if w.r.IntN(4) == 0 || len(w.matched) == 0 {
		w.machine(lane)
		return
	}
	j := w.matched[max(len(w.matched)-1-w.r.IntN(4), 0)]
	t := w.lane(lane)
	id, waits := t.at(t.Place + 1)
	if t.Phase == rules.Open || t.Phase == rules.Current {
		id, waits = t.JobID, true
	}
	for _, known := range w.matched {
		if known.ID == id && w.r.IntN(8) > 0 {
			j = known
		}
	}
	on := j.Bound(lane)
	switch {
	case !waits || w.r.IntN(8) == 0:
		w.tell(events.JobDispatched{Job: on, Share: w.turn()})
	case t.Phase != rules.Current && w.r.IntN(4) == 0:
		w.tell(events.JobMoved{Lane: lane, JobID: j.ID, Reason: "tier"})
	case t.Phase != rules.Current:
		w.tell(dequeued(on, 1+w.r.IntN(2), w.r.IntN(2)))
	case w.r.IntN(3) == 0:
		tag, b := []events.Tag{j.Artifact.Tag, "sha0"}[w.r.IntN(2)], events.Benchmark(fmt.Sprint("b", w.r.IntN(4)))
		if tag == "sha0" && j.Against != nil {
			w.block(on, t.Token, 1, 2, "b0", b)
		} else {
			w.pair(on, t.Token, 1, tag, 1, "b0", b)
		}
	case w.r.IntN(4) > 0:
		ended := finished(on, t.Token, events.Success)
		ended.Evicted, ended.Used = oddCaches[:w.r.IntN(2)], w.used()
		w.tell(ended)
	case w.r.IntN(2) == 0:
		w.tell(events.AttemptReleased{
			Lane: lane, JobID: on.ID, Token: t.Token, Attempt: 1, Reason: "full", HostFull: &events.HostFull{ReservedMiB: 8192, FreeMiB: int64(w.r.IntN(8192))},
		})
	default:
		w.leave(on, t.Token, 1, 1)
	}
}

func (w *walker) machine(l events.Lane) {
	described := events.MachineDescribed{
		Machine: machineOf(l), Pool: "builders", OS: "linux", Arch: "amd64", MemoryMiB: int64(w.r.IntN(3)) << 13, CPUs: 8, Slots: w.r.IntN(3),
		Devices: map[string]int{"gpu\x00": w.r.IntN(2)}, Traits: []string{"nvme"}, Accepts: []events.RequestKind{events.Master},
	}
	facts := []events.Fact{
		described, described, described,
		events.MachineDescribed{Machine: "bad\x00", Slots: 1},
		events.MachineDescribed{Machine: "small", Slots: 1, CPUs: -1},
		events.MachineRemoved{Machine: "small"},
		events.CollectorRegistered{Name: collectorOf(l), Target: l.Target, Set: l.Set, Machine: machineOf(l)},
		events.CollectorRegistered{Name: collectorOf(l), Target: l.Target, Set: l.Set, Machine: machineOf(l)},
		events.LaneAssigned{Lane: l, Name: collectorOf(l)},
		events.CollectorOnline{
			Name: collectorOf(l), Instance: "i1", Version: "v1", Environment: events.Environment{Fingerprint: environmentOf(l)}, Evicted: oddCaches[w.r.IntN(len(oddCaches)):],
		},
	}
	if w.r.IntN(20) == 0 {
		facts = []events.Fact{events.MachineRemoved{Machine: machineOf(l), Reason: "sold\x00"}}
	}
	w.tell(facts[w.r.IntN(len(facts))])
	w.at = w.at.Add(time.Duration(w.r.IntN(100)) * time.Millisecond)
}

// The sizes of the host fill in what is not stated, also after a later change of the offer.
func TestSizesOfTheHostFillWhatIsNotStated(t *testing.T) {
	s := newStory(t)
	lane := events.PoolLane("p", 9)
	machine := events.MachineDescribed{Machine: "eider-9", Pool: "p", OS: "linux", Arch: "amd64", CPUs: 2, Slots: 1}
	s.tell(machine)
	s.tell(events.CollectorRegistered{Name: "eider-9", Target: lane.Target, Set: lane.Set, Machine: "eider-9"})
	for _, gib := range []int64{8, 64} { // the first one counts
		s.tell(events.CollectorOnline{Name: "eider-9", Instance: fmt.Sprint(gib), Environment: events.Environment{MemoryBytes: gib << 30, CPUs: 16}})
	}
	machine.Traits = []string{"nvme"}
	s.tell(machine)
	offers, err := open(t, project(t, s.stored, 2)).Offers(t.Context())
	if err != nil || len(offers) != 1 || offers[0].MemoryMiB != 8192 || offers[0].CPUs != 2 || len(offers[0].Traits) != 1 {
		t.Errorf("%+v %v", offers, err)
	}
}
