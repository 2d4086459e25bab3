package projector_test

import (
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/projector"
	"github.com/tachobench/tacho/readmodel"
)

// farm tells a short story: a parent that was measured, its child in progress, and what waits behind.
type farm struct {
	*story
	parent, child, second events.JobSpec
	token                 events.Seq
}

func newFarm(t testing.TB) *farm {
	f := &farm{story: newStory(t)}
	f.tell(events.DefinitionsPublished{Suite: suite, Digest: "d0", Content: []byte(`{"n":0}`)})
	f.tell(events.DefinitionsPublished{Suite: suite, Digest: "d1", Content: []byte(`{"n": 1}`)})
	f.man(lanes[:]...)
	f.tell(events.CollectorOnline{
		Name: "eider-0", Instance: "i1", Version: "v1", PID: 7, Environment: events.Environment{Fingerprint: "env1", CPUs: 8},
	})
	f.parent, f.child, f.second = job("sha1", lanes[0], "opt"), job("sha2", lanes[0], "opt"), job("sha2", lanes[1], "opt")

	f.tell(created("sha1", "sha0", 1))
	f.startRequest("sha1", f.parent)
	token := f.tell(dequeued(f.parent, 1, 0))
	f.tell(measured(f.parent, token, "gob", "json"))
	f.tell(failedCase(f.parent, token, "exit status 2"))
	f.tell(measured(f.parent, token, "json")) // again
	f.tell(finished(f.parent, token, events.Success))
	f.tell(events.RequestCompleted{RequestID: requestID("sha1"), Jobs: 1})

	f.tell(created("sha2", "sha1", 2))
	f.startRequest("sha2", f.child, f.second)
	f.token = f.tell(dequeued(f.child, 1, 0))
	f.tell(measured(f.child, f.token, "gob"))
	f.tell(measured(f.child, f.token-1, "json")) // of no attempt
	f.tell(created("sha3", "sha2", 0))
	return f
}

func (f *farm) startRequest(tag events.Tag, jobs ...events.JobSpec) {
	id := requestID(tag)
	f.tell(events.RequestAdmitted{RequestID: id, Tag: tag, Reason: "first"})
	f.tell(events.RequestStarted{RequestID: id, Definitions: "d1", Jobs: len(jobs)})
	f.tell(events.JobsCreated{RequestID: id, Jobs: jobs})
	for _, j := range jobs {
		f.tell(events.JobDispatched{Job: j})
	}
}

func read(t testing.TB, f *farm) (*readmodel.Reader, string) {
	url := project(t, f.stored, 1000)
	return open(t, url), url
}

func TestQueueAsJSON(t *testing.T) {
	r, _ := read(t, newFarm(t))
	queue, err := r.Queue(t.Context())
	if err != nil || len(queue) != 2 {
		t.Fatalf("%d places, %v", len(queue), err)
	}
	// sha3 waits for sha2, which is in progress and has two jobs left.
	text, err := json.Marshal(queue[1])
	if err != nil {
		t.Fatal(err)
	}
	var got map[string]any
	if err := json.Unmarshal(text, &got); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]any{
		"position": 2.0, "request_id": string(requestID("sha3")), "kind": "master", "tag": "sha3", "parent_tag": "sha2",
		"pr": nil, "state": "artifacts_ready", "created_at": "2026-03-01T12:00:27Z",
	} {
		if diff := cmp.Diff(want, got[name]); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
	for _, name := range []string{"reason", "estimated_start", "estimated_end"} {
		if text, ok := got[name].(string); !ok || text == "" {
			t.Errorf("%s is %v", name, got[name])
		}
	}
	if queue[0].State != events.StateInProgress || queue[0].PR == nil || *queue[0].PR != 2 {
		t.Errorf("first: %+v", queue[0])
	}
	if start := queue[1].EstimatedStart; start.Before(*queue[0].EstimatedEnd) {
		t.Errorf("the second starts at %v, before the first ends at %v", start, queue[0].EstimatedEnd)
	}
}

func TestStatus(t *testing.T) {
	r, _ := read(t, newFarm(t))
	s, err := r.Status(t.Context(), time.Now())
	if err != nil {
		t.Fatal(err)
	}
	if len(s.InProgress) != 1 || len(s.InProgress[0].JobList) != 2 || s.InProgress[0].Tag != "sha2" {
		t.Fatalf("in progress: %+v", s.InProgress)
	}
	if got, want := s.InProgress[0].Jobs, (readmodel.JobCounts{Total: 2, Queued: 1, InProgress: 1}); got != want {
		t.Errorf("jobs: got %+v, want %+v", got, want)
	}
	if len(s.Completed) != 1 || len(s.Completed[0].ErrorList) != 1 || s.Completed[0].Errors != 1 ||
		s.Completed[0].DurationMS == nil || *s.Completed[0].DurationMS != 8000 {
		t.Errorf("completed: %+v", s.Completed)
	}
	if s.Cursor.DuplicateResults != 1 || s.Cursor.StaleReports != 1 || s.Cursor.ParkedEvents != 0 {
		t.Errorf("cursor: %+v", s.Cursor)
	}
	if len(s.Definitions) != 1 || s.Definitions[0].Digest != "d1" || s.Definitions[0].Content != nil {
		t.Errorf("definitions: %+v", s.Definitions)
	}
	if len(s.Collectors) != 2 {
		t.Fatalf("collectors: %+v", s.Collectors)
	}
	busy, never := s.Collectors[0], s.Collectors[1]
	if busy.State != readmodel.CollectorBenchmarking || busy.CurrentJob == nil || busy.CurrentJob.Tag != "sha2" ||
		busy.CurrentJob.Measured != 1 || len(busy.LastAttempts) != 2 || busy.MedianJobMS != 90_000 || busy.Environment.CPUs != 8 {
		t.Errorf("eider-0: %+v", busy)
	}
	if never.State != readmodel.CollectorRegistered || never.CurrentJob != nil || never.LastAttempts == nil {
		t.Errorf("eider-1: %+v", never)
	}
}

func TestResultsComeBackAsTheyWereMeasured(t *testing.T) {
	f := newFarm(t)
	r, _ := read(t, f)
	results, err := r.Results(t.Context(), suite, "sha1")
	if err != nil || len(results) != 2 {
		t.Fatalf("%d results, %v", len(results), err)
	}
	want := measured(f.parent, 0, "gob", "json").Cases
	for i, result := range results {
		if diff := cmp.Diff(want[i], result.MeasuredCase); diff != "" {
			t.Error(diff)
		}
		if result.Environment != "env1" || result.JobID != f.parent.ID || result.MeasuredAt.Location() != time.UTC {
			t.Errorf("result: %+v", result)
		}
	}
	if tags, err := r.Measured(t.Context(), suite, 0); err != nil || !cmp.Equal(tags, []events.Tag{"sha2", "sha1"}) {
		t.Errorf("measured: %v, %v", tags, err)
	}
}

func TestHistoryFollowsTheParents(t *testing.T) {
	r, _ := read(t, newFarm(t))
	series, err := r.History(t.Context(), suite, "sha3", readmodel.HistoryDepth, "wall-time")
	if err != nil {
		t.Fatal(err)
	}
	c := func(b events.Benchmark) events.TestCase {
		return events.TestCase{Benchmark: b, Profile: "opt", Scenario: "full", Backend: "gc", Target: lanes[0].Target}
	}
	want := []readmodel.Series{
		{TestCase: c("gob"), Metric: "wall-time", Environment: "env1", Tags: []events.Tag{"sha2", "sha1"}, Minima: []float64{1.25, 1.25}},
		{TestCase: c("json"), Metric: "wall-time", Environment: "env1", Tags: []events.Tag{"sha1"}, Minima: []float64{2.25}},
	}
	if diff := cmp.Diff(want, series); diff != "" {
		t.Error(diff)
	}
	all, err := r.History(t.Context(), suite, "sha2", 1, "")
	if err != nil || len(all) != 4 {
		t.Errorf("%d series before sha2, %v", len(all), err)
	}
}

func TestOneJobAndOneRequest(t *testing.T) {
	f := newFarm(t)
	r, _ := read(t, f)
	j, err := r.Job(t.Context(), f.parent.ID)
	if err != nil {
		t.Fatal(err)
	}
	if j.State != events.JobSuccess || j.DispatchedAt == nil || len(j.AttemptList) != 1 || len(j.ErrorList) != 1 ||
		j.AttemptList[0].State != readmodel.AttemptFinished || j.ErrorList[0].Case.Benchmark != "gob" {
		t.Errorf("job: %+v", j)
	}
	for _, name := range []string{"sha2", string(requestID("sha2"))} {
		found, err := r.FindRequest(t.Context(), name)
		if err != nil || found.ID != requestID("sha2") || len(found.JobList) != 2 {
			t.Errorf("request %s: %+v, %v", name, found, err)
		}
	}
	if _, err := r.Job(t.Context(), "j0"); !errors.Is(err, readmodel.ErrNotFound) {
		t.Errorf("got %v", err)
	}
	if _, err := r.FindRequest(t.Context(), "r0"); !errors.Is(err, readmodel.ErrNotFound) {
		t.Errorf("got %v", err)
	}
	lane, err := r.Jobs(t.Context(), readmodel.JobFilter{Lane: &lanes[1], Open: true})
	if err != nil || len(lane) != 1 || lane[0].ID != f.second.ID {
		t.Errorf("jobs of lane 1: %+v, %v", lane, err)
	}
	requests, err := r.Requests(t.Context(), readmodel.RequestFilter{State: events.StateInProgress})
	if err != nil || len(requests) != 1 || requests[0].Tag != "sha2" {
		t.Errorf("requests: %+v, %v", requests, err)
	}
}

func TestArchiveAndChain(t *testing.T) {
	f := newFarm(t)
	r, _ := read(t, f)
	var link projector.Hash
	for _, s := range f.stored {
		link = projector.Chain(link, s)
		e, err := r.Event(t.Context(), s.Seq)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(s.Header, e.Headers); diff != "" || string(e.Data) != string(s.Data) || e.Subject != s.Subject {
			t.Errorf("event %d: %s", s.Seq, diff)
		}
		if want := events.Digest(link.String()); e.Chain != want {
			t.Errorf("event %d: chain %s, want %s", s.Seq, e.Chain, want)
		}
	}
	page, err := r.Events(t.Context(), readmodel.EventFilter{After: 2, Type: "collector.registered.v2", Limit: 1})
	if err != nil || len(page) != 1 || page[0].Seq != 3 {
		t.Errorf("page: %+v, %v", page, err)
	}
	for name, c := range map[string]struct {
		filter readmodel.EventFilter
		extent readmodel.Extent
		want   []events.Seq
		full   bool
	}{
		"from the beginning": {readmodel.EventFilter{Limit: 3}, readmodel.Extent{}, []events.Seq{1, 2, 3}, true},
		"all":                {readmodel.EventFilter{Before: 4}, readmodel.Extent{}, []events.Seq{1, 2, 3}, false},
		"few bytes":          {readmodel.EventFilter{After: 1}, readmodel.Extent{Bytes: 1}, []events.Seq{2}, true},
		"two events":         {readmodel.EventFilter{After: 1}, readmodel.Extent{Bytes: len(f.stored[1].Data) + 1}, []events.Seq{2, 3}, true},
		"a span":             {readmodel.EventFilter{After: 1}, readmodel.Extent{Span: 2}, []events.Seq{2, 3}, false},
		"none in the span":   {readmodel.EventFilter{Type: "no.such.v1"}, readmodel.Extent{Span: 2}, nil, false},
	} {
		list, full, err := r.Long().Page(t.Context(), c.filter, c.extent)
		var got []events.Seq
		for _, e := range list {
			got = append(got, e.Seq)
		}
		if diff := cmp.Diff(c.want, got); err != nil || full != c.full || diff != "" {
			t.Errorf("%s: full %v, %v\n%s", name, full, err, diff)
		}
	}
	newest, err := r.Events(t.Context(), readmodel.EventFilter{Limit: 2})
	if err != nil || len(newest) != 2 || newest[0].Seq != events.Seq(len(f.stored)) {
		t.Errorf("newest: %+v, %v", newest, err)
	}
	d, err := r.CurrentDefinition(t.Context(), suite)
	if err != nil || string(d.Content) != `{"n":1}` {
		t.Errorf("definitions: %+v, %v", d, err)
	}
	if _, err := r.Definition(t.Context(), "d0"); err != nil {
		t.Error(err)
	}
}

// TestTerminalStatesStay: facts after the end of a request or a job are archived and change nothing.
func TestTerminalStatesStay(t *testing.T) {
	f := newFarm(t)
	f.tell(events.RequestCancelled{RequestID: requestID("sha2"), Reason: "asked"})
	f.tell(measured(f.child, f.token, "json")) // the attempt continues, and what is stored counts
	f.tell(finished(f.child, f.token, events.Cancelled))
	f.tell(events.ResultsClosed{Lane: f.child.Lane(), JobID: f.child.ID, Attempt: 1, Token: f.token})
	f.tell(measured(f.child, f.token, "late"))
	f.tell(finished(f.child, f.token, events.Success))
	f.tell(withdrawn(f.second))
	f.tell(events.RequestCompleted{RequestID: requestID("sha2")})
	f.tell(events.RequestFailed{RequestID: requestID("sha1"), Reason: "too late"})
	r, _ := read(t, f)
	found, err := r.FindRequest(t.Context(), "sha2")
	if err != nil {
		t.Fatal(err)
	}
	if found.State != events.StateCancelled || found.Reason != "asked" || found.Jobs.Cancelled != 2 {
		t.Errorf("sha2: %+v", found.Request)
	}
	if parent, err := r.FindRequest(t.Context(), "sha1"); err != nil || parent.State != events.StateCompleted {
		t.Errorf("sha1: %+v, %v", parent.Request, err)
	}
	if results, err := r.Results(t.Context(), suite, "sha2"); err != nil || len(results) != 2 {
		t.Errorf("%d results of sha2, %v", len(results), err)
	}
}
