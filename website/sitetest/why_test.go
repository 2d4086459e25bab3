package sitetest

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/readmodel"
)

// uncoded turns the commands on a page back into those of a sentence.
var uncoded = strings.NewReplacer("<code>", "`", "</code>", "`")

// queued makes a request that is in progress, with jobs for a lane that are not dispatched.
func (st *story) queued(tag events.Tag, lane events.Lane, n int, r events.RequestCreated) []events.JobSpec {
	st.t.Helper()
	st.clock.advance(time.Second)
	r.RequestID, r.Kind, r.Suite, r.Tag, r.Key = events.NewRequestID("go", events.Master, string(tag)), events.Master, "go", tag, string(tag)
	r.State = events.StateArtifactsReady
	a := events.Artifact{Suite: "go", Tag: tag, Kind: events.Master}
	var jobs []events.JobSpec
	for i := range n {
		j := events.JobSpec{
			Artifact: a, Kind: "compile", Target: lane.Target, Set: lane.Set, Backend: "gc", Profile: events.Profile(fmt.Sprint("p", i)),
			Definitions: st.suite.Digest(), RequestID: r.RequestID,
		}
		j.ID = events.NewJobID(a, j.Kind, j.Lane(), j.Backend, j.Profile, nil, nil)
		jobs = append(jobs, j)
	}
	st.tell(r, events.RequestStarted{RequestID: r.RequestID, Definitions: st.suite.Digest(), Jobs: n}, events.JobsCreated{RequestID: r.RequestID, Jobs: jobs})
	return jobs
}

// builds makes a request with one job that builds.
func (st *story) builds(tag events.Tag, lane events.Lane) events.JobSpec {
	st.t.Helper()
	st.clock.advance(time.Second)
	a := events.Artifact{Suite: "go", Tag: tag, Kind: events.Master}
	id := events.NewRequestID("go", events.Master, string(tag))
	j := events.JobSpec{Artifact: a, Kind: "compile", Target: lane.Target, Set: lane.Set, Backend: "gc", Profile: "p0", Definitions: st.suite.Digest(), RequestID: id, Recipe: "r"}
	j.ID = j.First()
	st.tell(events.RequestCreated{RequestID: id, Kind: events.Master, Suite: "go", Tag: tag, Key: string(tag), State: events.StateArtifactsReady},
		events.RequestStarted{RequestID: id, Definitions: st.suite.Digest(), Jobs: 1}, events.JobsCreated{RequestID: id, Jobs: []events.JobSpec{j}})
	return j
}

// why returns why a job waits, after a check of its page.
func (st *story) why(id events.JobID) readmodel.Why {
	st.t.Helper()
	w, err := st.now().Why(st.ctx, id)
	if err != nil {
		st.t.Fatal(err)
	}
	_, page := st.get("/jobs/" + string(id))
	if strings.Contains(uncoded.Replace(page), "Waits: "+w.Words+".") != w.Waits {
		st.t.Errorf("the page of job %s does not say %q, or says it: %v", id, w.Words, w.Waits)
	}
	return w
}

// expect checks the reason of a job and parts of its words.
func (st *story) expect(id events.JobID, reason readmodel.WaitReason, parts ...string) readmodel.Why {
	st.t.Helper()
	w := st.why(id)
	if w.Reason != reason || w.Waits != (reason != "") {
		st.t.Errorf("job %s: %+v, want %s", id, w, reason)
	}
	for _, part := range parts {
		if !strings.Contains(w.Words, part) {
			st.t.Errorf("%q lacks %q", w.Words, part)
		}
	}
	return w
}

func TestWhyJobsWaitOnAPlainFarm(t *testing.T) {
	s := open(t, nil)
	st := s.story()
	zero, one := events.Lane{Target: machine, Set: 0}, events.Lane{Target: machine, Set: 1}
	st.expect(st.work.ID, "", "it does not wait: it has run on amd-0 since", "attempt 1")
	jobs := st.queued(sha("d"), zero, 3, events.RequestCreated{})
	st.expect(jobs[0].ID, readmodel.WaitNext, "dispatched next on lane linux-amd64/0; job "+string(st.work.ID)+" has run since")
	if w := st.expect(jobs[2].ID, readmodel.WaitOwn, "2 jobs are before it for lane linux-amd64/0; job"); w.Ahead != 2 || w.Running.JobID != st.work.ID {
		t.Errorf("%+v", w)
	}
	st.places[zero]++
	st.tell(events.JobDispatched{Place: st.places[zero], Job: jobs[0]})
	st.expect(jobs[0].ID, readmodel.WaitLane, "1 job is before it on lane")
	st.expect(jobs[1].ID, readmodel.WaitNext)
	elsewhere := st.queued(sha("e"), events.Lane{Target: "arm", Set: 0}, 1, events.RequestCreated{})
	st.expect(elsewhere[0].ID, readmodel.WaitNoMachine, "no collector is registered for lane arm/0")
	other := st.queued(sha("f"), one, 1, events.RequestCreated{})
	st.expect(other[0].ID, readmodel.WaitNext)
	st.tell(events.CollectorOffline{Name: "amd-1", Instance: "i2", Reason: "stopped"})
	if w := st.expect(other[0].ID, readmodel.WaitNoOnline, "amd-1 has been offline since", "spare has been registered since"); len(w.Machines) != 2 {
		t.Errorf("%+v", w)
	}
	build := st.builds(sha("1"), zero)
	old := st.expect(build.ID, readmodel.WaitUnable, "the collector of lane linux-amd64/0 does not know builds: amd-0 runs version ", "update it: `tacho collector want VERSION`")
	if len(old.Machines) != 1 || old.Machines[0].Name != "amd-0" {
		t.Errorf("%+v", old)
	}
	behind := st.queued(sha("2"), zero, 1, events.RequestCreated{})
	if w := st.expect(behind[0].ID, readmodel.WaitOwn); w.Ahead != 2 {
		t.Errorf("%d jobs are before it, want those that the collector can execute", w.Ahead)
	}
	st.tell(events.CollectorOnline{Name: "amd-0", Instance: "i9", Knows: []string{events.KnowsBuild}})
	st.expect(build.ID, readmodel.WaitOwn, "2 jobs are before it")
	if w := st.expect(behind[0].ID, readmodel.WaitOwn); w.Ahead != 3 {
		t.Errorf("%d jobs are before it, want the build too", w.Ahead)
	}
	st.tell(events.RequestCancelled{RequestID: other[0].RequestID}, events.JobsWithdrawn{RequestID: other[0].RequestID, Jobs: []events.JobID{other[0].ID}})
	st.expect(other[0].ID, "", "it ended (cancelled) at")
	for path, want := range map[string]int{string(jobs[1].ID)[:12]: http.StatusOK, "nosuchjob": http.StatusNotFound} {
		if resp, body := s.get("/api/v1/jobs/" + path + "/why"); resp.StatusCode != want || strings.Contains(body, "share") || strings.Contains(body, "queue ") {
			t.Errorf("%s: %s %s", path, resp.Status, body)
		}
	}
}

func TestWhyJobsWaitOnASharedFarm(t *testing.T) {
	st := open(t, nil).story()
	lane := events.Lane{Target: machine, Set: 1}
	own := func(name events.AccountName) events.RequestCreated {
		return events.RequestCreated{Account: name, Queue: events.QueueName(name)}
	}
	st.tell(
		events.AccountConfigured{Account: "alice", Weight: 30, MaxVIP: 3},
		events.QueueConfigured{Queue: "builds", Weight: 10, Order: events.OrderFIFO},
		events.QueueConfigured{Queue: "bisect", Weight: 10, Parent: "builds", Order: events.OrderFIFO},
	)
	first := st.queued(sha("1"), lane, 2, own("alice"))
	st.expect(first[0].ID, readmodel.WaitNext)
	bobs := st.queued(sha("2"), lane, 1, events.RequestCreated{Account: "bob", Queue: "bisect"})
	if w := st.expect(bobs[0].ID, readmodel.WaitShare, "alice (2 jobs) also has work", "its own share is 25 % by weight"); len(w.Others) != 1 || *w.SharePercent != 25 {
		t.Errorf("%+v", w)
	}
	urgent := own("alice")
	urgent.Priority = events.PriorityHigh
	second := st.queued(sha("3"), lane, 1, urgent)
	st.expect(second[0].ID, readmodel.WaitShare, "bob in queue bisect (1 job)")
	st.expect(first[1].ID, readmodel.WaitOwn, "2 jobs of the same account and queue are before it", "its own share is 75 % by weight")
	st.tell(events.QueueConfigured{Queue: "builds", Weight: 10, Order: events.OrderFIFO, Paused: true})
	st.expect(bobs[0].ID, readmodel.WaitPaused, "queue builds is paused")
	st.expect(second[0].ID, readmodel.WaitNext)
	urgent.Priority = events.PriorityVIP
	vip := st.queued(sha("4"), lane, 1, urgent)
	if w := st.expect(second[0].ID, readmodel.WaitTier, "1 job of more urgent tiers is before it for lane "); w.Ahead != 1 {
		t.Errorf("%+v", w)
	}
	st.tell(events.AccountConfigured{Account: "alice", Weight: 30, MaxVIP: 3, Limits: events.Limits{MaxRunning: 1}})
	st.places[lane]++
	st.tell(events.JobDispatched{Place: st.places[lane], Job: vip[0], Share: &events.Share{Tier: events.TierVIP, Queue: "alice", Account: "alice", ExpectMS: 1000, Why: "vip"}})
	if w := st.expect(second[0].ID, readmodel.WaitLimit, "account alice has 1 of 1 places open"); w.Limit == nil || w.Limit.Account != "alice" {
		t.Errorf("%+v", w)
	}
}

func TestWhyRequestsHaveNotStarted(t *testing.T) {
	s := open(t, nil)
	st := s.story()
	st.tell(
		events.AccountConfigured{Account: "alice", Weight: 30, MaxVIP: 1, Limits: events.Limits{MaxQueued: 2}},
		events.QueueConfigured{Queue: "bisect", Weight: 10, Order: events.OrderFIFO, InProgress: 1},
		events.QueueConfigured{Queue: "night", Weight: 10, Order: events.OrderFIFO},
	)
	ask := func(tag events.Tag, r events.RequestCreated) events.RequestID {
		t.Helper()
		st.clock.advance(time.Second)
		r.RequestID, r.Kind, r.Suite, r.Tag, r.Key = events.NewRequestID("go", events.Master, string(tag)), events.Master, "go", tag, string(tag)
		if r.State == "" {
			r.State = events.StateArtifactsReady
		}
		st.tell(r)
		return r.RequestID
	}
	expect := func(id events.RequestID, reason readmodel.StartReason, words string) {
		t.Helper()
		r, err := st.now().Request(st.ctx, string(id))
		if err != nil || r.Why == nil || r.Why.Reason != reason || r.Why.Words != words {
			t.Errorf("%v %+v, want %s %s", err, r.Why, reason, words)
		}
		if _, page := s.get("/requests/" + string(id)); !strings.Contains(uncoded.Replace(page), "Not started: "+words+".") {
			t.Errorf("the page lacks %q", words)
		}
	}
	older := ask(sha("1"), events.RequestCreated{Account: "bob", Queue: "night"})
	newer := ask(sha("2"), events.RequestCreated{Account: "bob", Queue: "night", Parent: sha("f")})
	child := ask(sha("3"), events.RequestCreated{Account: "bob", Queue: "night", Parent: sha("2")})
	expect(older, readmodel.StartNext, "it starts next in queue night")
	expect(newer, readmodel.StartBehind, "1 request is before it in queue night")
	expect(child, readmodel.StartParent, "the request of its parent starts first")
	expect(ask(sha("4"), events.RequestCreated{Queue: "night", State: events.StateWaitingForArtifacts}), readmodel.StartArtifacts, "it waits for its artifacts")
	st.tell(events.QueueConfigured{Queue: "night", Weight: 10, Order: events.OrderFIFO, Paused: true})
	expect(newer, readmodel.StartPaused, "queue night is paused")
	st.queued(sha("5"), events.Lane{Target: machine, Set: 1}, 2, events.RequestCreated{Account: "alice", Queue: "bisect", Priority: events.PriorityVIP})
	expect(ask(sha("6"), events.RequestCreated{Queue: "bisect", Priority: events.PriorityVIP}), readmodel.StartInProgress,
		"queue bisect has 1 of 1 request of tier vip in progress")
	expect(ask(sha("7"), events.RequestCreated{Account: "alice", Queue: "bisect"}), readmodel.StartQueued, "account alice has 2 of 2 jobs waiting")
	expect(ask(sha("8"), events.RequestCreated{Account: "alice", Priority: events.PriorityVIP}), readmodel.StartVIPs,
		"account alice has 1 of 1 vip request in progress")
	if r, err := st.now().Request(st.ctx, string(st.release)); err != nil || r.Why != nil {
		t.Errorf("%v: the queue says it already: %+v", err, r.Why)
	}
}

// TestWhenRequestsOfOtherQueuesEnd: a range, or why it is not known. Requests of the main queue have it in the queue.
func TestWhenRequestsOfOtherQueuesEnd(t *testing.T) {
	s := open(t, nil)
	st := s.story()
	lane := events.Lane{Target: machine, Set: 1}
	st.tell(events.QueueConfigured{Queue: "bisect", Weight: 10, Order: events.OrderFIFO})
	jobs := st.queued(sha("d"), lane, 2, events.RequestCreated{Account: "alice", Queue: "bisect"})
	expect := func(known bool, words string) {
		t.Helper()
		r, err := st.now().Request(st.ctx, string(jobs[0].RequestID))
		if err != nil || r.Rest == nil || r.Rest.Known != known || !strings.Contains(r.Rest.Words, words) {
			t.Fatalf("%+v %v", r.Rest, err)
		}
		if _, page := s.get("/requests/" + string(r.ID)); !strings.Contains(page, "End: "+r.Rest.Words+".") {
			t.Errorf("the page lacks %q", r.Rest.Words)
		}
	}
	expect(false, "no job like job "+string(jobs[1].ID)+" has ended yet")
	st.tell(events.QueueConfigured{Queue: "bisect", Weight: 10, Order: events.OrderFIFO, Paused: true})
	expect(false, "when its jobs end is not known: ")
	r, err := st.now().Request(st.ctx, string(st.running))
	if err != nil || r.Rest != nil {
		t.Errorf("%+v %v", r.Rest, err)
	}
}
