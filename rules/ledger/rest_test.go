package ledger_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/rules/ledger"
	"github.com/tachobench/tacho/rules/suite"
)

// teller gives facts to a ledger and restores it from a snapshot after each event: a snapshot must lose nothing that
// counts.
type teller struct {
	*testing.T
	*ledger.Ledger
	seq events.Seq
	// attempts are the tokens of the jobs' attempts.
	attempts map[events.JobID]events.Seq
}

func tell(t *testing.T) *teller {
	w := &teller{T: t, Ledger: ledger.New(), attempts: map[events.JobID]events.Seq{}}
	d := suite.Definitions{
		Version: 1, Name: "m", PrimaryTarget: "here", Sources: suite.Sources{Root: "file"}, Targets: []suite.Target{{Name: "here", Sets: 2}},
		Kinds:    []suite.Kind{{Name: "compile", PerSet: true, PerBackend: true, PerProfile: true, Backfill: true}},
		Backends: []suite.Backend{{Name: "any"}}, Profiles: []suite.Profile{{Name: "a"}},
	}
	content, err := json.Marshal(d)
	if err != nil {
		t.Fatal(err)
	}
	w.happens(events.DefinitionsPublished{Suite: "m", Digest: d.Digest(), Content: content})
	return w
}

func (w *teller) happens(facts ...events.Fact) {
	w.Helper()
	for _, f := range facts {
		w.seq++
		w.Fold(events.Recorded{Seq: w.seq, Event: events.Event{Time: noon.Add(time.Duration(w.seq) * time.Minute), Fact: f}})
		w.Ledger = restore(w, snapshot(w, w.Ledger))
	}
}

// starts creates a request and starts it, with the missing jobs.
func (w *teller) starts(tag, parent events.Tag) (id events.RequestID, jobs []events.JobSpec) {
	w.Helper()
	id = events.NewRequestID("m", events.Master, string(tag))
	w.happens(events.RequestCreated{RequestID: id, Kind: events.Master, Suite: "m", Tag: tag, Parent: parent, Key: string(tag), State: events.StateArtifactsReady})
	own, backfill, digest, err := w.Expand(w.Requests[id])
	if err != nil {
		w.Fatal(err)
	}
	started := events.RequestStarted{RequestID: id, Definitions: digest}
	for _, spec := range append(backfill, own...) {
		if spec, lacks := w.Lacks(spec, noon); lacks {
			jobs = append(jobs, spec)
		} else {
			started.Shared = append(started.Shared, spec.ID)
		}
	}
	w.happens(started, events.JobsCreated{RequestID: id, Jobs: jobs})
	return id, jobs
}

func (w *teller) dispatched(j events.JobSpec) events.JobDispatched {
	return events.JobDispatched{Place: w.place(j.Lane()) + 1, Job: j}
}

func (w *teller) place(l events.Lane) uint64 {
	if lane, ok := w.Lanes[l]; ok {
		return lane.Work.Places
	}
	return 0
}

// ends dispatches a job and lets it end.
func (w *teller) ends(j events.JobSpec, how events.Outcome) {
	w.Helper()
	w.happens(w.dispatched(j))
	place := w.place(j.Lane())
	w.happens(events.JobDequeued{Lane: j.Lane(), Place: place, Job: j, Collector: "c", Instance: "i", Attempt: 1})
	w.happens(events.JobFinished{Lane: j.Lane(), Place: place, JobID: j.ID, RequestID: j.RequestID, Token: w.seq, Attempt: 1, Collector: "c", Outcome: how})
}

// holds checks how many jobs are in the memory, and how many have left it.
func (w *teller) holds(when string, here, past int) {
	w.Helper()
	if len(w.Jobs) != here || w.Past.Len() != past {
		w.Fatalf("%s: %d jobs in the memory and %d in the past, want %d and %d", when, len(w.Jobs), w.Past.Len(), here, past)
	}
}

func TestWhatHasEndedLeavesTheMemory(t *testing.T) {
	w := tell(t)
	id, jobs := w.starts("t1", "")
	w.ends(jobs[0], events.Success)
	w.holds("one of two jobs has ended", 2, 0)
	w.ends(jobs[1], events.Failure)
	w.holds("its request has not", 2, 0)
	w.happens(events.RequestFailed{RequestID: id, Jobs: 2, FailedJobs: 1})
	w.holds("it has", 0, 2)
	for i, want := range []events.JobState{events.JobSuccess, events.JobFailure} {
		if got := w.StateOf(jobs[i].ID); got != want || !w.Made(jobs[i].ID) {
			t.Errorf("job %d is %s, want %s", i, got, want)
		}
		if _, lacks := w.Lacks(jobs[i], noon); lacks {
			t.Errorf("job %d would be made again", i)
		}
	}
	if r := w.Requests[id]; len(r.Jobs) > 0 || r.Artifact.Tag != "t1" || w.StateOf("j0") != "" || w.Made("j0") {
		t.Errorf("the request is %+v", r)
	}
}

func TestARequestThatIsAskedAboutHasItsJobsBack(t *testing.T) {
	w := tell(t)
	_, parents := w.starts("t0", "")
	w.ends(parents[0], events.Success) // the other one was cancelled and is left to the child
	w.happens(events.RequestCancelledWithJobs{RequestID: parents[0].RequestID})
	w.holds("the parent was cancelled", 0, 2)
	id, jobs := w.starts("t1", "t0")
	w.holds("of the parent one job is made again", 3, 2)
	for _, j := range jobs {
		w.ends(j, events.Failure)
	}
	w.happens(events.RequestFailed{RequestID: id, Jobs: 3, FailedJobs: 3})
	w.holds("all have ended", 0, 5)

	w.happens(events.GraphWanted{RequestID: id, Key: "k", Kind: events.GraphRepair})
	w.holds("somebody asks", 4, 1)
	rounds := w.NewestRounds(w.Requests[id])
	if len(rounds) != 3 || !rounds[0].Spec().Backfill || rounds[0].Round != 1 || rounds[1].Spec().Artifact.Tag != "t1" {
		t.Fatalf("the request stands for %d jobs: %+v", len(rounds), rounds)
	}
	again := rounds[1].Spec().Again()
	w.happens(events.JobsCreated{RequestID: id, Key: "k", Jobs: []events.JobSpec{again}})
	w.holds("one is made again", 5, 1)
	w.ends(again, events.Success)
	w.holds("and has ended", 0, 6)
	w.happens(events.GraphWanted{RequestID: id, Key: "l", Kind: events.GraphRepair}, events.GraphRefused{RequestID: id, Key: "l"})
	w.holds("another wish was refused", 0, 6)
}

func TestSharedJobsComeBackForTheNextRequest(t *testing.T) {
	w := tell(t)
	id, jobs := w.starts("t1", "")
	for _, j := range jobs {
		w.ends(j, events.Success)
	}
	w.happens(events.RequestCompleted{RequestID: id, Jobs: 2})
	w.holds("all have ended", 0, 2)
	id = events.NewRequestID("m", events.Try, "again")
	w.happens(
		events.RequestCreated{RequestID: id, Kind: events.Try, Suite: "m", Tag: "t1", Key: "again", State: events.StateArtifactsReady},
		events.RequestStarted{RequestID: id, Definitions: jobs[0].Definitions, Shared: []events.JobID{jobs[0].ID, jobs[1].ID}},
	)
	w.holds("the next one shares them", 2, 0)
	if rounds := w.NewestRounds(w.Requests[id]); len(rounds) != 2 || rounds[0].State != events.JobSuccess {
		t.Fatalf("it stands for %+v", rounds)
	}
	w.happens(events.RequestCompleted{RequestID: id, Jobs: 2})
	w.holds("it has ended, too", 0, 2)
}

// A cancellation and a dispatch may be decided at the same time: the job is on its lane although it has ended.
func TestADispatchAfterTheEndBringsAJobBack(t *testing.T) {
	w := tell(t)
	id, jobs := w.starts("t1", "")
	w.happens(events.RequestCancelledWithJobs{RequestID: id})
	w.holds("all were cancelled", 0, 2)
	w.happens(w.dispatched(jobs[0]))
	w.holds("one is on its lane", 1, 1)
	lane := w.Lanes[jobs[0].Lane()]
	if !w.Astray(w.Jobs[jobs[0].ID]) || !lane.Stopping || w.Jobs[jobs[0].ID].State != events.JobCancelled {
		t.Errorf("it is %+v, and the lane %+v", w.Jobs[jobs[0].ID], lane)
	}
	w.happens(events.JobFinished{Lane: jobs[0].Lane(), Place: 1, JobID: jobs[0].ID, RequestID: id, Outcome: events.Cancelled})
	w.holds("its place is over", 0, 2)
}

// Results of jobs that have left the memory are still news for the reports about their artifact.
func TestLateResultsAreNews(t *testing.T) {
	w := tell(t)
	parent := events.NewRequestID("m", events.Master, "t0")
	w.happens(events.RequestCreated{RequestID: parent, Kind: events.Master, Suite: "m", Tag: "t0", Key: "t0", State: events.StateArtifactsReady})
	id, jobs := w.starts("t1", "t0")
	w.happens(events.RequestCancelledWithJobs{RequestID: id}, events.CommentWanted{Key: events.ReportKey(id), RequestID: id, PR: 1, Revision: 1, Body: "b"})
	late := func(j events.JobSpec) {
		m, err := events.Encode(events.Event{ID: "e", Time: noon, Source: "t", Actor: "t", Fact: events.TestCasesMeasured{Lane: j.Lane(), JobID: j.ID}})
		if err != nil {
			t.Fatal(err)
		}
		w.seq++
		m.Seq, m.StoredAt = w.seq, noon
		if _, err := w.Take(m); err != nil {
			t.Fatal(err)
		}
		if got := w.Outbox.Late[id].Seq; got != w.seq {
			t.Errorf("results of %s are not news", j.Artifact.Tag)
		}
	}
	w.holds("they were cancelled", 0, 4)
	for _, j := range jobs { // two of the parent, two of the artifact
		late(j)
	}
}
