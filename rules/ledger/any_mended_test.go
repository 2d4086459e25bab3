package ledger

import (
	"testing"
	"time"

	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/rules/graph"
	"github.com/tachobench/tacho/rules/suite"
)

// The faults that logs with facts in any order have shown, each in its smallest log.

var hereZero = events.Lane{Target: "here"}

// tells folds facts, and fails the test if the ledger contradicts itself or its snapshot after one of them.
func tells(t *testing.T, l *Ledger, facts ...events.Fact) {
	t.Helper()
	for _, f := range facts {
		seq := l.Seq + 1
		l.Fold(events.Recorded{Seq: seq, Event: events.Event{Time: time.Unix(int64(seq), 0).UTC(), Fact: f}})
		if why := l.unsound(); why != "" {
			t.Fatalf("after event %d, %s: %s", seq, events.TypeOf(f), why)
		}
		restored, _, err := again(l)
		if err != nil {
			t.Fatal(err)
		}
		if why := l.differs(restored); why != "" {
			t.Fatalf("after event %d, %s: %s", seq, events.TypeOf(f), why)
		}
	}
}

func oddJob(profile events.Profile) events.JobSpec {
	j := events.JobSpec{Artifact: events.Artifact{Suite: "s", Tag: "t1", Kind: events.Master}, Kind: "compile", Target: "here", Profile: profile, RequestID: "r1"}
	j.ID = j.First()
	return j
}

func oddRequest(id events.RequestID) events.RequestCreated {
	return events.RequestCreated{RequestID: id, Kind: events.Master, Suite: "s", Tag: "t1", Key: "k", State: events.StateArtifactsReady}
}

func begun(j events.JobSpec, place uint64) events.JobDequeued {
	return events.JobDequeued{Lane: hereZero, Place: place, Job: j, Collector: "c", Attempt: 1}
}

func makes(jobs ...events.JobSpec) events.JobsCreated {
	return events.JobsCreated{RequestID: "r1", Jobs: jobs}
}

func TestAJobIsDispatchedBeforeItIsMade(t *testing.T) {
	for name, made := range map[string]int{"before its begin": 1, "before its end": 2} {
		t.Run(name, func(t *testing.T) {
			l, j := New(), oddJob("p0")
			facts := []events.Fact{
				events.JobDispatched{Place: 1, Job: j},
				begun(j, 1),
				events.JobFinished{Lane: hereZero, Place: 1, JobID: j.ID, Collector: "c", Token: events.Seq(4 - made), Outcome: events.Success},
			}
			tells(t, l, facts[:made]...)
			tells(t, l, makes(j))
			tells(t, l, facts[made:]...)
			if got := l.StateOf(j.ID); got != events.JobSuccess || len(l.Lanes[hereZero].Queued) > 0 {
				t.Errorf("the job is %s, and the line is %v", got, l.Lanes[hereZero].Queued)
			}
		})
	}
}

func TestAJobMovesThatIsInItsLine(t *testing.T) {
	l, j := New(), oddJob("p0")
	tells(t, l, events.JobDispatched{Place: 1, Job: j}, makes(j), events.JobMoved{Lane: hereZero, Place: 1, JobID: j.ID})
	if line := l.Lanes[hereZero].Queued["r1"]; len(line) != 1 {
		t.Errorf("it stands in its line %d times", len(line))
	}
}

func TestPlacesBeginAtOneAndAreGivenOnce(t *testing.T) {
	l, a, b := New(), oddJob("p0"), oddJob("p1")
	tells(t, l, makes(a, b), events.JobDispatched{Place: 0, Job: a}, begun(a, 0))
	if l.Jobs[a.ID].State != events.JobQueued || len(l.Lanes[hereZero].Queued["r1"]) != 2 {
		t.Errorf("place 0 was begun: %+v", l.Jobs[a.ID])
	}
	tells(t, l, events.JobDispatched{Place: 1, Job: a}, events.JobDispatched{Place: 1, Job: b})
	if l.Jobs[b.ID].Place != 0 || !l.OnLane(l.Jobs[a.ID]) {
		t.Errorf("place 1 was given twice: %+v", l.Jobs[b.ID])
	}
	tells(t, l, events.JobDispatched{Place: 2, Job: events.JobSpec{ID: b.ID, Target: "there"}})
	if l.Jobs[b.ID].Place != 0 {
		t.Error("a job was dispatched to the lane of others")
	}
}

func TestAGraphWithoutJobsIsNone(t *testing.T) {
	l := New()
	tells(t, l, oddRequest("r1"),
		events.GraphCreated{RequestID: "r1", Graph: 0, Kind: events.GraphRepair}, events.GraphCreated{RequestID: "r1", Graph: 0, Kind: events.GraphForce, Jobs: 1},
		events.GraphCreated{RequestID: "r1", Graph: 0, Kind: events.GraphInitial, Jobs: 1}, events.GraphCreated{RequestID: "r2", Graph: 0, Kind: events.GraphRepair, Jobs: 1},
		events.GraphCreated{RequestID: "r1", Graph: -1, Kind: events.GraphRepair, Jobs: 1})
	if len(l.Graphs) > 0 || len(l.Requests["r1"].Graphs) > 0 {
		t.Errorf("%v", l.Graphs)
	}
	tells(t, l, events.GraphCreated{RequestID: "r1", Kind: events.GraphRepair, Jobs: 2}, events.GraphCreated{RequestID: "r1", Kind: events.GraphRepair, Jobs: 1})
	if len(l.Graphs["r1"]) != 1 || len(l.Requests["r1"].Graphs) != 1 {
		t.Error("it is there twice")
	}
}

func TestTheFirstRankOfAJobStays(t *testing.T) {
	l, a, b := New(), oddJob("p0"), oddJob("p1")
	part := func(ranks ...int) *events.GraphPart { return &events.GraphPart{Rank: ranks} }
	tells(t, l, oddRequest("r1"), events.GraphCreated{RequestID: "r1", Kind: events.GraphRepair, Jobs: 2},
		events.JobsCreated{RequestID: "r1", Jobs: []events.JobSpec{a, b}, Graph: part(1, 0)},
		events.JobsCreated{RequestID: "r1", Jobs: []events.JobSpec{a, b}, Graph: part(0, 1)})
	if got := l.Graphs["r1"][0].Ranks; got[0] != 1 || got[1] != 0 {
		t.Errorf("the ranks are %v", got)
	}
}

// TestAHalfGraphCountsInSnapshots: a snapshot may be made between the events of one append.
func TestAHalfGraphCountsInSnapshots(t *testing.T) {
	l, a, b := New(), oddJob("p0"), oddJob("p1")
	tells(t, l, oddRequest("r1"), makes(a), events.JobDispatched{Place: 1, Job: a}, begun(a, 1),
		events.JobFinished{Lane: hereZero, Place: 1, JobID: a.ID, Collector: "c", Token: 4, Outcome: events.Success},
		events.GraphCreated{RequestID: "r1", Kind: events.GraphRepair, Jobs: 3},
		events.JobsCreated{RequestID: "r1", Graph: &events.GraphPart{Shared: []events.SharedJob{{Number: 0, ID: a.ID}, {Number: 1, ID: b.ID}, {Number: 1, ID: ""}, {Number: 2, ID: a.ID, Outcome: "odd"}}}},
		events.JobsCreated{RequestID: "r1", Jobs: []events.JobSpec{b}, Graph: &events.GraphPart{Again: []int{1}}}, // it is made after it was named
		events.JobsCreated{RequestID: "r1", Graph: &events.GraphPart{Shared: []events.SharedJob{{Number: 2, ID: a.ID}}}})
	if g := l.Graphs["r1"][0]; l.Blocked != 0 || !g.States.Settled() || g.States.State(1) != graph.Ready {
		t.Errorf("%d are blocked in %+v", l.Blocked, g)
	}
}

func TestARequestHasTheJobsMadeBeforeIt(t *testing.T) {
	l, j := New(), oddJob("p0")
	other := j
	other.RequestID = "r2" // the subject says that it is of r1
	tells(t, l, makes(other), oddRequest("r1"), events.PriorityChanged{RequestID: "r1", To: events.PriorityHigh})
	if l.Seats.All != 1 || len(l.Requests["r1"].Jobs) != 1 || l.MakerOf(j.ID) != "r1" {
		t.Errorf("seats %+v of %+v", l.Seats, l.Requests["r1"])
	}
	tells(t, l, makes(j), events.RequestCancelledWithJobs{RequestID: "r1"}) // it is made twice
	if got := l.StateOf(j.ID); got != events.JobCancelled {
		t.Error(got)
	}
}

func TestARequestStartsOnce(t *testing.T) {
	l, j := New(), oddJob("p0")
	tells(t, l, oddRequest("r2"), makes(j), oddRequest("r1"),
		events.RequestStarted{RequestID: "r2", Shared: []events.JobID{j.ID}}, events.RequestStarted{RequestID: "r2"}, events.RequestCancelled{RequestID: "r2"})
	odd := oddRequest("r3")
	odd.State = events.StateInProgress
	tells(t, l, odd)
	if l.Requests["r3"] != nil {
		t.Error("a request began in progress")
	}
}

func TestNumbersOfNonsenseEnd(t *testing.T) {
	l, j := New(), oddJob("p0")
	j.Round, j.Matched, j.Chunk = 1<<40, true, &events.Chunk{Number: 1, Of: 1 << 40, Units: []events.Benchmark{"b"}}
	tells(t, l, makes(j))
	if n := len(j.Earlier()); n > 10_000 {
		t.Errorf("%d rounds before", n)
	}
}

func TestWhatALaneDoesNotHold(t *testing.T) {
	l, a, b := New(), oddJob("p0"), oddJob("p1")
	b.Matched, b.Chunk = true, &events.Chunk{Number: 1, Of: 2}
	b.ID = b.First()
	odd := b.Bound(hereZero)
	odd.Matched, odd.Chunk = false, &events.Chunk{Number: 9, Of: 0, Units: []events.Benchmark{"b"}}
	tells(t, l, makes(a, b), events.JobDispatched{Place: 1, Job: odd},
		events.CollectorRegistered{Name: "c1", Target: "here", Machine: "m1"}, events.CollectorRegistered{Name: "c2", Target: "here", Machine: "m2"},
		events.RegistryCopied{CollectorRegistered: events.CollectorRegistered{Name: "c2", Target: "here", Machine: "m1"}, Active: true},
		events.LaneAssigned{Lane: hereZero, Name: "c3"}, events.CollectorOnline{Name: "c3", Knows: []string{events.KnowsBuild}})
	if m := l.Machines["m1"]; m.room.Open() != 1 || m.Takers != 2 || l.Machines["m2"].Takers != 0 || len(l.Machines["m2"].Lanes) != 0 {
		t.Errorf("machine m1 is %+v, and m2 %+v", m, l.Machines["m2"])
	}
	if l.Jobs[b.ID].On != hereZero || l.Jobs[b.ID].Share != nil || !l.Lanes[hereZero].builds {
		t.Errorf("%+v", l.Jobs[b.ID])
	}
}

func TestDefinitionsUnderAnotherDigest(t *testing.T) {
	d := suite.Definitions{
		Version: 1, Name: "m", PrimaryTarget: "here", Sources: suite.Sources{Root: "file"}, Targets: []suite.Target{{Name: "here", Sets: 1}},
		Kinds: []suite.Kind{{Name: "compile"}}, Backends: []suite.Backend{{Name: "any"}}, Profiles: []suite.Profile{{Name: "p0"}},
	}
	l := New()
	tells(t, l, events.DefinitionsPublished{Suite: "m", Digest: "d1", Content: d.Canonical()})
	if l.Misnamed["d1"] != d.Digest() {
		t.Error(l.Misnamed)
	}
}
