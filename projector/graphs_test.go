package projector_test

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/projector"
	"github.com/tachobench/tacho/readmodel"
	"github.com/tachobench/tacho/rules/match"
)

func retired(before int64) events.JobsRetired {
	return events.JobsRetired{EndedBefore: time.Unix(before, 0).UTC().Format(time.RFC3339)}
}

// check compares the tables with what the farm says.
func (f *graphFarm) check(t *testing.T, r *readmodel.Reader, step int) {
	t.Helper()
	rest := cmpopts.IgnoreFields(readmodel.GraphJob{}, "Graph", "Tag", "Kind", "Target", "Set", "Backend", "Profile", "Round", "Reason", "Collector", "DequeuedAt", "FinishedAt", "DurationMS", "Benchmarks", "Requires", "Iterations", "Measures", "Caches", "Matched", "ArtifactKind")
	want := map[events.RequestID][]*judge{}
	for _, g := range f.graphs {
		if list := want[g.request]; !g.retired {
			want[g.request] = append(list, g)
		}
	}
	for n := range f.made {
		id := requestID(events.Tag(fmt.Sprintf("sha%d", n+1)))
		got, err := r.Graphs(t.Context(), id)
		if err != nil || len(got) != len(want[id]) {
			t.Fatalf("step %d: request %s has %d graphs, %v, want %d", step, id, len(got), err, len(want[id]))
		}
		for i, g := range got {
			w := want[id][i]
			if g.Number != w.number || g.Outcome != w.outcome || g.Kind != w.kind || g.Jobs != len(w.jobs) || g.Needs != len(w.needs)+w.odd {
				t.Fatalf("step %d: graph %+v, want %+v", step, g, w)
			}
			if diff := gocmp.Diff(f.shows(w), g.Nodes, rest); diff != "" {
				t.Fatalf("step %d: graph %d of request %s, judge (-) and tables (+):\n%s", step, g.Number, id, diff)
			}
		}
	}
	jobs, err := r.Jobs(t.Context(), readmodel.JobFilter{Limit: math.MaxInt32})
	if err != nil {
		t.Fatal(err)
	}
	for _, j := range jobs {
		if got := f.shown(f.jobs[j.ID]); got != j.Shown() {
			t.Fatalf("step %d: job %s is %s, want %s", step, j.ID, j.Shown(), got)
		}
	}
	left := slices.DeleteFunc(slices.Clone(f.order), func(id events.JobID) bool { return f.jobs[id].retired })
	if len(left) != len(jobs) {
		t.Fatalf("step %d: the tables have %d jobs, want %d", step, len(jobs), len(left))
	}
}

// TestRandomGraphs compares random graphs, whose projector stops again and again with graphs open and half told, with a
// judge. At the end the tables are those of projectors that were left alone.
func TestRandomGraphs(t *testing.T) {
	t.Parallel()
	half := 0
	for seed := range uint64(2) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			f := newGraphFarm(newStory(t), seed)
			url, log := database(t), newFeed("log")
			r := open(t, url)
			p := start(t, projector.Config{Log: log, URL: url, BatchSize: 3})
			for step := range 80 {
				n := f.step()
				told := f.stored[len(f.stored)-n:]
				stops := n > 1 && f.r.IntN(3) == 0
				if stops { // in the middle
					cut := 1 + f.r.IntN(n-1)
					log.add(told[:cut]...)
					p.await(t, r, events.Seq(len(f.stored)-n+cut))
					told = told[cut:]
					err := p.stop()
					if err != nil {
						t.Fatal(err)
					}
					half += count(t, url, `SELECT count(*) FROM tacho.graph WHERE NOT sealed`)
					p = start(t, projector.Config{Log: log, URL: url, BatchSize: 1 + f.r.IntN(9)})
				}
				log.add(told...)
				p.await(t, r, events.Seq(len(f.stored)))
				if stops || step%4 == 3 {
					f.check(t, r, step)
				}
			}
			err := p.stop()
			if err != nil {
				t.Fatal(err)
			}
			want := contents(t, url)
			for _, size := range []int{1, 1000} {
				if diff := gocmp.Diff(want, contents(t, project(t, f.stored, size))); diff != "" {
					t.Fatalf("stopped (-) and batch size %d (+):\n%s", size, diff)
				}
			}
			verify(t, log, url)
		})
	}
	if half == 0 {
		t.Error("no projector stopped with half of a graph")
	}
}

func count(t testing.TB, url, sql string) (n int) {
	t.Helper()
	var rows []struct{ Count int }
	query(t, url, sql, &rows)
	for _, row := range rows {
		n += row.Count
	}
	return n
}

// chainOf makes a request whose jobs need one another in a row: the first one checks, the others follow.
func chainOf(s *story, tag events.Tag, jobs int) []events.JobSpec {
	id := requestID(tag)
	s.tell(created(tag, "", 0))
	s.tell(events.RequestStarted{RequestID: id, Definitions: "d1", Jobs: jobs, Graphs: 1})
	s.tell(events.GraphCreated{RequestID: id, Graph: 0, Kind: events.GraphInitial, Jobs: jobs, Needs: jobs - 1})
	part := &events.GraphPart{}
	var specs []events.JobSpec
	for i := range jobs {
		specs = append(specs, job(tag, lanes[0], events.Profile(fmt.Sprintf("p%d", i))))
		if i > 0 {
			part.Needs = append(part.Needs, events.JobNeeds{Job: i, On: []int{i - 1}})
		}
	}
	s.tell(events.JobsCreated{RequestID: id, Jobs: specs, Graph: part})
	return specs
}

// ran begins a job and ends it.
func (s *story) ran(j events.JobSpec, end events.Outcome) {
	s.tell(finished(j, s.tell(dequeued(j, 1, 0)), end))
}

func shownOf(t *testing.T, r *readmodel.Reader, request events.RequestID) (states []string) {
	t.Helper()
	jobs, err := r.Jobs(t.Context(), readmodel.JobFilter{Request: request})
	if err != nil {
		t.Fatal(err)
	}
	slices.SortFunc(jobs, func(a, b readmodel.Job) int { return cmp.Compare(a.Profile+"/", b.Profile+"/") })
	for _, j := range jobs {
		states = append(states, j.Shown())
	}
	return states
}

// TestBlockedAndSkippedAreNotQueued: lists and counts say so, and a skipped job that is withdrawn stays skipped in its graph.
func TestBlockedAndSkippedAreNotQueued(t *testing.T) {
	s := newStory(t)
	ctx := t.Context()
	specs := chainOf(s, "sha1", 3)
	id := requestID("sha1")
	look := func() (*readmodel.Reader, readmodel.JobCounts) {
		r := open(t, project(t, s.stored, 2))
		found, err := r.Request(ctx, id)
		if err != nil {
			t.Fatal(err)
		}
		return r, found.Jobs
	}
	r, counts := look()
	if counts != (readmodel.JobCounts{Total: 3, Queued: 1, Blocked: 2}) {
		t.Errorf("%+v", counts)
	}
	for state, want := range map[events.JobState]int{events.JobQueued: 1, "blocked": 2, "skipped": 0} {
		if list, err := r.Jobs(ctx, readmodel.JobFilter{State: state}); err != nil || len(list) != want {
			t.Errorf("%d jobs are %s, want %d (%v)", len(list), state, want, err)
		}
	}
	s.ran(specs[0], events.Failure)
	if _, counts = look(); counts != (readmodel.JobCounts{Total: 3, Failure: 1, Skipped: 2}) {
		t.Errorf("%+v", counts)
	}
	s.tell(events.GraphEnded{RequestID: id, Graph: 0, Outcome: events.Failure, Jobs: 3, Failed: 1, Skipped: 2, Causes: []int{0}})
	s.tell(events.RequestFailed{RequestID: id, Reason: "1 job failed", FailedJobs: 1})
	s.tell(events.JobsWithdrawn{RequestID: id, Jobs: []events.JobID{specs[1].ID, specs[2].ID}})
	if r, counts = look(); counts != (readmodel.JobCounts{Total: 3, Failure: 1, Cancelled: 2}) {
		t.Errorf("%+v", counts)
	}
	graphs, err := r.Graphs(ctx, id)
	if err != nil || len(graphs) != 1 || graphs[0].Outcome != events.Failure || graphs[0].Failed != 1 || graphs[0].Skipped != 2 || graphs[0].EndedAt == nil {
		t.Fatalf("%+v %v", graphs, err)
	}
	for i, n := range graphs[0].Nodes {
		if i > 0 && (n.State != "skipped" || *n.SkippedBy != 0 || n.Kind != "compile" || len(n.Needs) != 1) {
			t.Errorf("%+v", n)
		}
	}
	if list, err := r.Graphs(ctx, "nobody"); err != nil || list == nil || len(list) > 0 {
		t.Errorf("graphs of a request without graphs: %#v %v", list, err)
	}
}

// TestWhatWasWithdrawnRunsAgainAfterItsNeed: it was skipped, and what it needs runs again first, so it is blocked then. Another
// request, which has ended, made both before.
func TestWhatWasWithdrawnRunsAgainAfterItsNeed(t *testing.T) {
	s := newStory(t)
	specs := chainOf(s, "sha1", 2)
	maker, id := requestID("sha1"), requestID("sha2")
	s.begin(created("sha2", "", 0))
	s.tell(events.GraphCreated{RequestID: id, Kind: events.GraphInitial, Jobs: 2, Needs: 1})
	s.tell(events.JobsCreated{RequestID: id, Graph: &events.GraphPart{
		Shared: []events.SharedJob{{Number: 0, ID: specs[0].ID}, {Number: 1, ID: specs[1].ID}}, Needs: []events.JobNeeds{{Job: 1, On: []int{0}}},
	}})
	s.ran(specs[0], events.Failure)
	s.tell(events.JobsWithdrawn{RequestID: maker, Jobs: []events.JobID{specs[1].ID}})
	s.tell(events.GraphEnded{RequestID: maker, Outcome: events.Failure, Jobs: 2, Failed: 1, Skipped: 1, Causes: []int{0}})
	s.tell(events.RequestFailed{RequestID: maker, Reason: "1 job failed", FailedJobs: 1})
	rounds := []events.JobSpec{specs[0].Again(), specs[1].Again()}
	for number := range rounds {
		rounds[number].RequestID = id
		s.tell(events.JobsCreated{RequestID: id, Key: "again", Jobs: rounds[number : number+1], Graph: &events.GraphPart{Again: []int{number}}})
	}
	s.ran(rounds[0], events.Success)
	url := project(t, s.stored, 1)
	graphs, err := open(t, url).Graphs(t.Context(), id)
	if err != nil || len(graphs) != 1 {
		t.Fatalf("%+v %v", graphs, err)
	}
	if n := graphs[0].Nodes[1]; n.JobID != rounds[1].ID || n.State != "queued" {
		t.Errorf("%+v", n)
	}
	if diff := gocmp.Diff(contents(t, url), contents(t, project(t, s.stored, 1000))); diff != "" {
		t.Error(diff)
	}
}

// TestGraphsThatCannotBeAreRefused: what no honest scheduler writes changes nothing but the counter.
func TestGraphsThatCannotBeAreRefused(t *testing.T) {
	s := newStory(t)
	specs := chainOf(s, "sha1", 2)
	id := requestID("sha1")
	before := contents(t, project(t, s.stored, 1000))
	next := specs[0].Again()
	facts := []events.Fact{
		events.GraphCreated{RequestID: "nobody", Graph: 1, Kind: events.GraphInitial, Jobs: 1},
		events.GraphCreated{RequestID: id, Graph: 0, Kind: events.GraphInitial, Jobs: 1},
		events.GraphCreated{RequestID: id, Graph: -1, Kind: events.GraphInitial, Jobs: 1},
		events.GraphCreated{RequestID: id, Graph: 1, Kind: events.GraphRerun, Jobs: 1},
		events.GraphCreated{RequestID: id, Graph: 1, Kind: "odd", Jobs: 1},
		events.GraphCreated{RequestID: id, Graph: 1, Kind: events.GraphInitial, Jobs: math.MaxInt},
		events.GraphCreated{RequestID: id, Graph: 1, Kind: events.GraphInitial, Jobs: 1, Needs: -1},
		events.JobsCreated{RequestID: id, Graph: &events.GraphPart{Graph: 7}},
		events.JobsCreated{RequestID: id, Graph: &events.GraphPart{Again: []int{0}}},
		events.JobsCreated{RequestID: id, Graph: &events.GraphPart{Shared: []events.SharedJob{{Number: 0, ID: next.ID}}}},
		events.JobsCreated{RequestID: id, Graph: &events.GraphPart{Needs: []events.JobNeeds{{Job: 0, On: []int{1}}}}},
		events.JobsCreated{RequestID: id, Jobs: specs[:1], Graph: &events.GraphPart{Again: []int{0}}},
		events.GraphEnded{RequestID: id, Graph: 0, Outcome: "odd"},
		events.GraphEnded{RequestID: id, Graph: 1, Outcome: events.Success},
		events.GraphEnded{RequestID: "nobody", Outcome: events.Success},
	}
	for _, f := range facts {
		s.tell(f)
	}
	url := project(t, s.stored, 4)
	after := contents(t, url)
	for _, table := range []string{"graph", "graph_job", "job_queue"} {
		if diff := gocmp.Diff(before[table], after[table]); diff != "" {
			t.Errorf("%s: %s", table, diff)
		}
	}
	cursor, err := open(t, url).Cursor(t.Context())
	if err != nil || cursor.ParkedEvents != int64(len(facts)) {
		t.Errorf("%d events are refused, want %d (%v)", cursor.ParkedEvents, len(facts), err)
	}
}

// TestAGraphInACircleIsNeverSealed: its jobs stay blocked, and it can be ended.
func TestAGraphInACircleIsNeverSealed(t *testing.T) {
	s := newStory(t)
	id := requestID("sha1")
	specs := []events.JobSpec{job("sha1", lanes[0], "debug"), job("sha1", lanes[0], "opt")}
	s.begin(created("sha1", "", 0))
	s.tell(events.GraphCreated{RequestID: id, Kind: events.GraphInitial, Jobs: 2, Needs: 2})
	s.tell(events.JobsCreated{RequestID: id, Jobs: specs, Graph: &events.GraphPart{Needs: []events.JobNeeds{{Job: 0, On: []int{1}}, {Job: 1, On: []int{0}}}}})
	if got := shownOf(t, open(t, project(t, s.stored, 1)), id); !slices.Equal(got, []string{"blocked", "blocked"}) {
		t.Error(got)
	}
	s.tell(events.GraphEnded{RequestID: id, Outcome: events.Failure})
	if got := shownOf(t, open(t, project(t, s.stored, 1)), id); !slices.Equal(got, []string{"queued", "queued"}) {
		t.Error(got)
	}
}

// TestEndedGraphsLeaveWithTheirJobs: retention takes out what ended before the time, and leaves open graphs.
func TestEndedGraphsLeaveWithTheirJobs(t *testing.T) {
	s := newStory(t)
	for _, tag := range []events.Tag{"sha1", "sha2"} {
		specs := chainOf(s, tag, 2)
		s.ran(specs[0], events.Success)
	}
	s.ran(job("sha1", lanes[0], "p1"), events.Success)
	s.tell(events.GraphEnded{RequestID: requestID("sha1"), Outcome: events.Success, Jobs: 2})
	s.tell(events.RequestCompleted{RequestID: requestID("sha1"), Jobs: 2})
	s.tell(retired(s.at.Unix()))
	for _, size := range []int{1, 1000} {
		r := open(t, project(t, s.stored, size))
		gone, err := r.Graphs(t.Context(), requestID("sha1"))
		if err != nil || len(gone) > 0 {
			t.Errorf("%+v %v", gone, err)
		}
		stays, err := r.Graphs(t.Context(), requestID("sha2"))
		if err != nil || len(stays) != 1 || stays[0].Nodes[0].State != "success" || stays[0].Nodes[1].State != "queued" {
			t.Errorf("%+v %v", stays, err)
		}
	}
}

// TestSkippedJobsAreNoWaitingWork: the estimates of the queue leave them out.
func TestSkippedJobsAreNoWaitingWork(t *testing.T) {
	s := newStory(t)
	s.man(lanes[0])
	known := job("sha0", lanes[0], "p1")
	s.begin(created("sha0", "", 0), known)
	s.ran(known, events.Success)
	s.tell(events.RequestCompleted{RequestID: requestID("sha0"), Jobs: 1})
	specs := chainOf(s, "sha1", 2)
	end := func() time.Time {
		q := s.queueOf()
		if len(q) != 1 || q[0].EstimatedEnd == nil {
			t.Fatalf("%+v", q)
		}
		return *q[0].EstimatedEnd
	}
	blocked := end()
	s.ran(specs[0], events.Failure)
	if skipped := end(); !skipped.Before(blocked) || skipped.After(s.at) {
		t.Errorf("the request ends at %s with a blocked job, and at %s with a skipped one", blocked, skipped)
	}
}

// TestWhyAJobOfAGraphWaits: the answer names what it needs, or what it is skipped for, wherever the job is shared.
func TestWhyAJobOfAGraphWaits(t *testing.T) {
	s := newStory(t)
	s.man(lanes[0])
	s.tell(events.CollectorOnline{Name: collectorOf(lanes[0]), Instance: "i1"})
	specs := chainOf(s, "sha1", 3)
	// Another request has the last job, too, and needs one more for it.
	s.tell(created("sha2", "", 0))
	s.tell(events.RequestStarted{RequestID: requestID("sha2"), Definitions: "d1", Jobs: 1, Graphs: 1})
	s.tell(events.GraphCreated{RequestID: requestID("sha2"), Kind: events.GraphInitial, Jobs: 2, Needs: 1})
	s.tell(events.JobsCreated{RequestID: requestID("sha2"), Jobs: []events.JobSpec{job("sha2", lanes[1], "p1")}, Graph: &events.GraphPart{
		Shared: []events.SharedJob{{Number: 1, ID: specs[2].ID}}, Needs: []events.JobNeeds{{Job: 1, On: []int{0}}},
	}})
	why := func(j events.JobSpec, reason readmodel.WaitReason, words string) {
		t.Helper()
		w, err := open(t, project(t, s.stored, 7)).WhyJob(t.Context(), j.ID, match.Waits{})
		if err != nil || w.Reason != reason || w.Words != words {
			t.Errorf("%v\n%+v\nwant %s", err, w, words)
		}
	}
	why(specs[1], readmodel.WaitNeeds, "it needs compile/linux-amd64/0/gc/p0, which is queued")
	token := s.tell(dequeued(specs[0], 1, 0))
	why(specs[1], readmodel.WaitNeeds, "it needs compile/linux-amd64/0/gc/p0, which is in progress")
	why(specs[2], readmodel.WaitNeeds, "it needs compile/linux-amd64/0/gc/p1, which is blocked")
	s.tell(finished(specs[0], token, events.Failure))
	why(specs[1], readmodel.WaitSkipped, fmt.Sprintf("it is skipped: compile/linux-amd64/0/gc/p0 failed; `tacho job rerun %s` runs that one again", specs[0].ID))
	why(specs[2], readmodel.WaitNeeds, "it needs compile/linux-amd64/1/gc/p1, which is queued")
	s.ran(job("sha2", lanes[1], "p1"), events.Success)
	why(specs[2], readmodel.WaitNext, "it is dispatched next on lane linux-amd64/0")
}

// TestAMatchedJobComesIntoTheLineLate: one that waited for others stands in the line since they ended.
func TestAMatchedJobComesIntoTheLineLate(t *testing.T) {
	s := newStory(t)
	id := requestID("sha1")
	first, second := job("sha1", lanes[0], "opt"), matchedJob("sha1", "", "exclusive")
	s.begin(created("sha1", "", 0))
	s.tell(events.GraphCreated{RequestID: id, Kind: events.GraphInitial, Jobs: 2, Needs: 1})
	s.tell(events.JobsCreated{RequestID: id, Jobs: []events.JobSpec{first, second}, Graph: &events.GraphPart{Needs: []events.JobNeeds{{Job: 1, On: []int{0}}}}})
	matched := func() readmodel.Job {
		j, err := open(t, project(t, s.stored, 2)).Job(t.Context(), second.ID)
		if err != nil {
			t.Fatal(err)
		}
		return j.Job
	}
	if j := matched(); j.Shown() != "blocked" || j.MovedAt != nil {
		t.Errorf("%+v", j)
	}
	at := s.at.Add(2 * time.Second) // it is dispatched, begun, and ends
	s.ran(first, events.Success)
	if j := matched(); j.Shown() != "queued" || j.MovedAt == nil || !j.MovedAt.Equal(at) {
		t.Errorf("%+v, want it in the line since %s", j, at)
	}
}
