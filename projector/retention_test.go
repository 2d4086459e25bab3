package projector_test

import (
	"errors"
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/projector"
	"github.com/tachobench/tacho/readmodel"
)

// retire tells that the jobs that ended before now leave the tables.
func (s *story) retire() { s.tell(events.JobsRetired{EndedBefore: s.at.Format(time.RFC3339Nano)}) }

func rows(t testing.TB, url, table string) int { return len(contents(t, url)[table]) }

func TestFinishedJobsLeaveAndTheirResultsStay(t *testing.T) {
	f := newFarm(t)
	before, _ := read(t, f)
	f.retire()
	r, url := read(t, f)

	_, err := r.Job(t.Context(), f.parent.ID)
	var retired *readmodel.RetiredError
	if !errors.As(err, &retired) || !errors.Is(err, readmodel.ErrNotFound) || retired.RequestID != requestID("sha1") {
		t.Fatalf("the job that ended: %v", err)
	}
	if jobs, err := r.Jobs(t.Context(), readmodel.JobFilter{}); err != nil || len(jobs) != 2 {
		t.Errorf("%d jobs are left, %v; want those that go on", len(jobs), err)
	}
	if n := rows(t, url, "attempt"); n != 1 {
		t.Errorf("%d attempts are left, want the one that runs", n)
	}
	if results, err := r.Results(t.Context(), suite, "sha1"); err != nil || len(results) != 2 {
		t.Errorf("%d results, %v", len(results), err)
	}
	found, err := r.FindRequest(t.Context(), "sha1")
	if err != nil || found.Errors != 1 || len(found.JobList) != 0 {
		t.Errorf("the request: %+v, %v", found, err)
	}
	if want := (readmodel.JobCounts{Total: 1, Success: 1, Retired: 1}); found.Jobs != want {
		t.Errorf("its jobs: %+v, want %+v", found.Jobs, want)
	}
	// Estimates are still made from the jobs that left.
	was, err := before.Queue(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	is, err := r.Queue(t.Context())
	if diff := cmp.Diff(was, is); diff != "" || err != nil {
		t.Errorf("the queue changed: %v %s", err, diff)
	}
}

// TestLateReportsOfRetiredJobsAreStale: it does not matter whether the job left in the batch of the report,
// in one before, or before a restart.
func TestLateReportsOfRetiredJobsAreStale(t *testing.T) {
	f := newFarm(t)
	f.retire()
	f.tell(dequeued(f.parent, 2, 0))
	f.tell(measured(f.parent, 12, "late"))
	f.tell(failedCase(f.parent, 12, "late"))
	f.tell(finished(f.parent, 12, events.Failure))
	f.tell(events.AttemptLost{Lane: f.parent.Lane(), JobID: f.parent.ID, Token: 12, Attempt: 1, Lost: 1, Reason: "silence"})
	f.tell(events.JobsCreated{RequestID: requestID("sha1"), Jobs: []events.JobSpec{f.parent}})
	f.retire()
	sizes := map[int]map[string][]string{}
	for _, size := range []int{1, 7, 1000} {
		url := project(t, f.stored, size)
		sizes[size] = contents(t, url)
		c, err := open(t, url).Cursor(t.Context())
		if err != nil || c.StaleReports != 6 || c.ParkedEvents != 1 {
			t.Errorf("batch size %d: %d stale reports and %d refused events, %v", size, c.StaleReports, c.ParkedEvents, err)
		}
		if n := rows(t, url, "retired_job"); n != 1 {
			t.Errorf("batch size %d: %d retired jobs", size, n)
		}
	}
	for _, size := range []int{7, 1000} {
		if diff := cmp.Diff(sizes[1], sizes[size]); diff != "" {
			t.Errorf("batch size 1 (-) and %d (+):\n%s", size, diff)
		}
	}
}

// withdrawn ends a job at the first place of its lane before it was begun.
func withdrawn(j events.JobSpec) events.JobFinished {
	f := finished(j, 0, events.Cancelled)
	f.Place, f.Collector = 1, ""
	return f
}

// A job that was withdrawn while it was being dispatched stays while its attempt goes on.
func TestJobsStayWhileTheyAreExecuted(t *testing.T) {
	f := newFarm(t)
	f.tell(events.RequestCancelled{RequestID: requestID("sha2"), Reason: "asked"})
	f.tell(finished(f.child, f.token, events.Cancelled))
	f.tell(withdrawn(f.second))
	late := job("sha2", lanes[0], "debug")
	f.tell(events.JobsCreated{RequestID: requestID("sha2"), Jobs: []events.JobSpec{late}})
	f.tell(events.JobsWithdrawn{RequestID: requestID("sha2"), Jobs: []events.JobID{late.ID}})
	token := f.tell(dequeued(late, 1, 0))
	f.retire()
	url := project(t, f.stored, 1000)
	if jobs, attempts := rows(t, url, "job_queue"), rows(t, url, "attempt"); jobs != 1 || attempts != 1 {
		t.Errorf("%d jobs and %d attempts are left, want the one that is executed", jobs, attempts)
	}
	f.tell(finished(late, token, events.Cancelled))
	f.retire()
	for _, size := range []int{1, 1000} {
		url = project(t, f.stored, size)
		if jobs, attempts := rows(t, url, "job_queue"), rows(t, url, "attempt"); jobs != 0 || attempts != 0 {
			t.Errorf("%d jobs and %d attempts are left", jobs, attempts)
		}
	}
}

// TestRestartsChangeNothing: a state that was loaded from the tables continues like the one that was never stored.
func TestRestartsChangeNothing(t *testing.T) {
	for seed := range uint64(2) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			log := walk(t, 200+seed, 350)
			want := contents(t, project(t, log, 1000))
			if len(want["retired_job"]) == 0 {
				t.Fatal("nothing was retired")
			}
			url := database(t)
			r := open(t, url)
			for from := 0; from < len(log); {
				to := min(from+17+int(seed), len(log))
				p := start(t, projector.Config{Log: newFeed("log", log[:to]...), URL: url, BatchSize: 1 + from%9})
				p.await(t, r, events.Seq(to))
				if err := p.stop(); err != nil {
					t.Fatal(err)
				}
				from = to
			}
			if diff := cmp.Diff(want, contents(t, url)); diff != "" {
				t.Errorf("without restarts (-) and with (+):\n%s", diff)
			}
		})
	}
}

// While a job runs, any event shows how time passes, and that the job overruns.
func TestEstimatesMoveWithTheLog(t *testing.T) {
	f := newFarm(t)
	queue := func() []readmodel.QueueEntry {
		r, _ := read(t, f)
		q, err := r.Queue(t.Context())
		if err != nil || len(q) != 2 {
			t.Fatalf("%d places, %v", len(q), err)
		}
		return q
	}
	early := queue()
	if early[0].Overrun || early[0].Guessed || early[0].EndEarliest != nil {
		t.Errorf("after one job alike: %+v", early[0])
	}
	f.at = f.at.Add(10 * time.Minute) // a job takes 90 seconds
	f.tell(measured(f.child, f.token, "json"))
	late := queue()
	if !late[0].Overrun || late[1].Overrun {
		t.Errorf("the request in progress overruns, and nothing else: %+v", late)
	}
	if moved := late[1].EstimatedEnd.Sub(*early[1].EstimatedEnd); moved < 8*time.Minute {
		t.Errorf("what follows moved by %v", moved)
	}
}

// Absurd clocks and durations do not make estimates that a table cannot hold.
func TestAbsurdTimesAreSurvived(t *testing.T) {
	s := newStory(t)
	s.man(lanes[0])
	for i, ms := range []int64{math.MaxInt64, 1, math.MaxInt64 / 1_000_001, 0} {
		tag := events.Tag(fmt.Sprintf("sha%d", i))
		j := job(tag, lanes[0], "opt")
		s.tell(created(tag, "", i+1))
		s.tell(events.RequestStarted{RequestID: requestID(tag), Definitions: "d1", Jobs: 1})
		s.tell(events.JobsCreated{RequestID: requestID(tag), Jobs: []events.JobSpec{j}})
		token := s.tell(dequeued(j, 1, 0))
		if ms == 0 {
			break
		}
		f := finished(j, token, events.Success)
		f.DurationMS = ms
		s.tell(f)
	}
	for i := range 50 {
		s.tell(created(events.Tag(fmt.Sprintf("next%d", i)), "", i))
	}
	for _, year := range []int{2400, 9998} {
		s.at = time.Date(year, 12, 31, 0, 0, 0, 0, time.UTC)
		s.tell(created(events.Tag(fmt.Sprint(year)), "", 1))
		s.retire()
		url := project(t, s.stored, 1000)
		if q, err := open(t, url).Queue(t.Context()); err != nil || len(q) < 50 {
			t.Errorf("in the year %d: %d places, %v", year, len(q), err)
		}
	}
}

// Three jobs of one sort are enough for a range.
func TestEstimatesAreRanges(t *testing.T) {
	s := newStory(t)
	s.man(lanes[0])
	for i, ms := range []int64{80_000, 90_000, 100_000} {
		tag := events.Tag(fmt.Sprintf("sha%d", i))
		j := job(tag, lanes[0], "opt")
		s.tell(created(tag, "", i+1))
		s.tell(events.RequestStarted{RequestID: requestID(tag), Definitions: "d1", Jobs: 1})
		s.tell(events.JobsCreated{RequestID: requestID(tag), Jobs: []events.JobSpec{j}})
		f := finished(j, s.tell(dequeued(j, 1, 0)), events.Success)
		f.DurationMS = ms
		s.tell(f)
		s.tell(events.RequestCompleted{RequestID: requestID(tag), Jobs: 1})
	}
	s.tell(created("next", "", 9))
	q, err := open(t, project(t, s.stored, 1000)).Queue(t.Context())
	if err != nil || len(q) != 1 || q[0].EndEarliest == nil {
		t.Fatalf("%+v, %v", q, err)
	}
	if took := q[0].EstimatedEnd.Sub(*q[0].EstimatedStart); took != 90*time.Second {
		t.Errorf("it takes %v", took)
	}
	low, high := q[0].EndEarliest.Sub(*q[0].EstimatedEnd), q[0].EndLatest.Sub(*q[0].EstimatedEnd)
	if low != -high || high < 15*time.Second || high > 40*time.Second {
		t.Errorf("the end is between %v and %v of the estimate", low, high)
	}
}
