package sitetest

import (
	"bufio"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/tachobench/tacho/eventlog"
	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/readmodel"
	"github.com/tachobench/tacho/website"
)

var pool = [...]events.Lane{events.PoolLane("builders", 0), events.PoolLane("builders", 1), events.PoolLane("builders", 2)}

// staff makes a pool of two machines: eider-3 with two slots, eider-4 with one.
func (st *story) staff() {
	st.t.Helper()
	st.tell(
		events.MachineDescribed{
			Machine: "eider-3", Pool: "builders", OS: "linux", Arch: "amd64", MemoryMiB: 32 << 10, CPUs: 8, Slots: 2,
			Devices: map[string]int{"gpu": 2}, Traits: []string{"nvme"},
		},
		events.MachineDescribed{Machine: "eider-4", Pool: "builders", OS: "linux", Arch: "amd64", Slots: 1, Accepts: []events.RequestKind{events.Master}},
	)
	for i, name := range []events.CollectorName{"eider-3-1", "eider-3-2", "eider-4"} {
		owner := events.MachineName("eider-3")
		if i == 2 {
			owner = "eider-4"
		}
		n := string(rune('3' + i))
		st.tell(
			events.CollectorRegistered{Name: name, Target: pool[i].Target, Set: pool[i].Set, NKey: "U" + n, Machine: owner},
			events.LaneAssigned{Lane: pool[i], Name: name},
		)
		st.online(name, n)
		st.beat(eventlog.Beat{Name: name, Instance: "i" + n, Host: "bench-" + n, Version: "v1.2.3"})
	}
}

// asked makes a request in progress with one matched job for each list of terms.
func (st *story) asked(tag events.Tag, terms ...[]string) (events.RequestID, []events.JobSpec) {
	st.t.Helper()
	id := events.NewRequestID("go", events.Master, string(tag))
	a := events.Artifact{Suite: "go", Tag: tag, Kind: events.Master}
	var jobs []events.JobSpec
	for _, requires := range terms {
		j := events.JobSpec{
			Artifact: a, Kind: "compile", Target: machine, Backend: "gc", Profile: "opt", Definitions: st.suite.Digest(), RequestID: id, Matched: true,
			Requires: requires, Against: &events.Artifact{Suite: "go", Tag: sha("a"), Kind: events.Master},
		}
		j.ID = j.First()
		jobs = append(jobs, j)
	}
	st.tell(
		events.RequestCreated{RequestID: id, Kind: events.Master, Suite: "go", Tag: tag, Key: string(tag), State: events.StateArtifactsReady, Requires: []string{"trait=nvme"}},
		events.RequestStarted{RequestID: id, Definitions: st.suite.Digest(), Jobs: len(jobs), Requires: []string{"pool=builders", "trait=nvme"}},
		events.JobsCreated{RequestID: id, Jobs: jobs},
	)
	return id, jobs
}

// begun dispatches a job to a lane of the pool, and begins it there.
func (st *story) begun(j events.JobSpec, lane events.Lane, name events.CollectorName, attempt int) events.Seq {
	st.places[lane]++
	on := j.Bound(lane)
	st.tell(
		events.JobsMatched{Bindings: []events.Binding{{JobID: j.ID, Lane: lane, Place: st.places[lane]}}},
		events.JobDispatched{Place: st.places[lane], Job: on, Attempt: attempt - 1, Lost: attempt - 1},
	)
	return st.tell(events.JobDequeued{Lane: lane, Place: st.places[lane], Job: on, Collector: name, Instance: "i", Attempt: attempt, Lost: attempt - 1, Version: "v1.2.3"})
}

func (st *story) moved(j events.JobSpec, lane events.Lane, name events.CollectorName, token events.Seq) {
	st.tell(
		events.AttemptLost{Lane: lane, Place: st.places[lane], JobID: j.ID, Collector: name, Token: token, Attempt: 1, Lost: 1, Reason: "silence"},
		events.JobMoved{Lane: lane, Place: st.places[lane], JobID: j.ID, Collector: name, Token: token, Attempt: 1, Lost: 1, Reason: "collector " + string(name) + " was not heard for 30s"},
		events.ResultsClosed{Lane: lane, JobID: j.ID, Attempt: 1, Token: token},
	)
}

func TestAFarmWithoutMachinesSaysNothingOfThem(t *testing.T) {
	s := open(t, nil)
	st := s.story()
	if _, err := st.now().Status(s.ctx); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"/", "/requests", "/requests/" + string(st.running), "/jobs/" + string(st.work.ID), "/collectors"} {
		_, page := s.get(path)
		for _, word := range []string{"/machines", "Machines", "Requires", "Slot of", "against", "like it used", "CPU time"} {
			if strings.Contains(page, word) {
				t.Errorf("%s says %s", path, word)
			}
		}
	}
	for _, path := range []string{"jobs/" + string(st.work.ID), "requests/" + string(st.running), "results?tag=" + string(sha("a")), "compare?b=" + string(sha("b")), "collectors"} {
		_, body := s.get("/api/v1/" + path)
		for _, word := range []string{"requires", "matched", "lane_target", `"machine"`, "machines", "against", "alike", "peak_memory", "cpu_ms"} {
			if strings.Contains(body, word) {
				t.Errorf("%s says %s", path, word)
			}
		}
	}
	if found, err := s.now().Machines(s.ctx); err != nil || len(found.Machines)+len(found.Unserved) > 0 {
		t.Errorf("%+v %v", found, err)
	}
	if resp, _ := s.get("/api/v1/machines/eider-3"); resp.StatusCode != http.StatusNotFound {
		t.Error(resp.Status)
	}
}

func TestMachinesAndWhatRunsOnThem(t *testing.T) {
	s := open(t, nil)
	st := s.story()
	st.staff()
	request, jobs := st.asked(sha("d"), []string{"cpus=2", "memory=24g"}, []string{"exclusive", "trait=nvme"}, []string{"memory=64g", "trait=nvme"})
	st.begun(jobs[0], pool[1], "eider-3-2", 1)

	found, err := st.now().Machines(s.ctx)
	if err != nil || len(found.Machines) != 2 || len(found.Unserved) != 1 {
		t.Fatalf("%+v %v", found, err)
	}
	m := found.Machines[0]
	if m.Name != "eider-3" || m.FreeMemoryMiB != 8<<10 || m.FreeCPUs != 6 || m.Open != 1 || m.Slots != 2 || len(m.Collectors) != 2 || m.Devices["gpu"] != 2 {
		t.Errorf("%+v", m)
	}
	if free, busy := m.Collectors[0], m.Collectors[1]; free.Job != nil || free.State != readmodel.CollectorIdle || busy.Job.JobID != jobs[0].ID || busy.State != readmodel.CollectorBenchmarking {
		t.Errorf("%+v %+v", free, busy.Job)
	}
	if u := found.Unserved[0]; u.JobID != jobs[2].ID || u.Jobs != 1 || u.Nearest != "eider-3" || u.Lacks != "it lacks 32 GiB of memory" {
		t.Errorf("%+v", u)
	}
	if one, err := s.now().Machine(s.ctx, "eider-4"); err != nil || one.MemoryMiB != 32<<10 || // of its host
		one.CPUs != 8 || one.Accepts[0] != events.Master {
		t.Errorf("%+v %v", one, err)
	}
	st.expect(jobs[0].ID, "", "it has run on eider-3-2 since")
	st.expect(jobs[1].ID, readmodel.WaitNoRoom, "eider-3 has 1 job, and this one runs alone")
	st.expect(jobs[2].ID, readmodel.WaitNoMachine, "eider-3 comes nearest, it lacks 32 GiB of memory")
	for path, parts := range map[string][]string{
		"/":                                 {`href="/machines"`},
		"/machines":                         {`id="eider-3"`, "1 of 2 taken", "6 of 8 free", "2 gpu", "nvme", string(jobs[0].ID), "requires cpus=2", "Jobs that no machine can run", "32 GiB"},
		"/requests/" + string(request):      {"pool=builders, trait=nvme", `<a href="/machines#eider-3">`, "on any machine that meets exclusive"},
		"/jobs/" + string(jobs[0].ID):       {"linux-amd64/0 against", "cpus=2, memory=24g", `<a href="/machines#eider-3">eider-3</a>, lane pool_builders/1 (place 1)`, "result.pool_builders.1."},
		"/jobs/" + string(jobs[1].ID):       {"none yet"},
		"/collectors":                       {`<a href="/machines#eider-3">eider-3</a>`},
		"/api/v1/jobs?lane=pool_builders/1": {string(jobs[0].ID)},
	} {
		_, page := s.get(path)
		for _, part := range parts {
			if !strings.Contains(page, part) {
				t.Errorf("%s lacks %q", path, part)
			}
		}
	}
	_, body := s.get("/api/v1/jobs?lane=linux-amd64/0&open=1")
	var own []readmodel.Job
	if err := json.Unmarshal([]byte(body), &own); err != nil || len(own) != 1 || own[0].ID != st.work.ID {
		t.Errorf("%v %s", err, body)
	}
}

// TestAMachineSaysWhatIsWrongWithIt: whether it enforces what jobs reserve, and that jobs find too little memory.
func TestAMachineSaysWhatIsWrongWithIt(t *testing.T) {
	s := open(t, nil)
	st := s.story()
	st.staff()
	page := func() string {
		t.Helper()
		if _, err := st.now().Machines(s.ctx); err != nil {
			t.Fatal(err)
		}
		_, text := s.get("/machines")
		return text
	}
	if text := page(); strings.Contains(text, "Limits") || strings.Contains(text, "callout") {
		t.Errorf("nothing is known, and the page says %s", text)
	}
	for name, limits := range map[events.CollectorName]string{"eider-3-1": "not enforced: no controller", "eider-3-2": "enforced", "eider-4": "enforced"} {
		e := environment("3")
		e.Settings = map[string]string{"limits": limits}
		st.tell(events.CollectorOnline{Name: name, Instance: "i", Version: "v1.2.3", PID: 40, Environment: e})
	}
	st.tell(events.AlertRaised{Key: "host_full-eider-4", Kind: events.AlertHostFull, About: "eider-4", Message: "It has 1 MiB.", Action: "Do `this`."})
	text := page()
	first, second, both := strings.Cut(text, `id="eider-4"`)
	if !both || !strings.Contains(first, "not enforced, jobs can use more than they reserve: no controller") || strings.Contains(first, "1 MiB") {
		t.Errorf("of eider-3 the page says %s", first)
	}
	if !strings.Contains(second, "<dd>enforced</dd>") || !strings.Contains(second, "It has 1 MiB. Do <code>this</code>.") {
		t.Errorf("of eider-4 the page says %s", second)
	}
}

// TestTheOutputOfAJobThatMoves: it is followed from one lane to the next.
func TestTheOutputOfAJobThatMoves(t *testing.T) {
	s := open(t, nil)
	st := s.story()
	st.staff()
	_, jobs := st.asked(sha("d"), []string{"trait=nvme"})
	write := func(lane events.Lane, attempt int, text string) {
		t.Helper()
		if err := s.log.WriteLog(s.ctx, lane, eventlog.LogChunk{JobID: jobs[0].ID, Attempt: attempt, Text: text}); err != nil {
			t.Fatal(err)
		}
	}
	r, w := io.Pipe()
	done := make(chan error, 1)
	c := s.now()
	go func() {
		_, err := c.JobLog(s.ctx, jobs[0].ID, true, w)
		w.CloseWithError(err)
		done <- err
	}()
	lines := bufio.NewScanner(r)
	token := st.begun(jobs[0], pool[0], "eider-3-1", 1)
	write(pool[0], 1, "measuring here\n")
	nextLine(t, lines, "measuring here")
	st.moved(jobs[0], pool[0], "eider-3-1", token)
	var before strings.Builder
	if _, err := s.now().JobLog(s.ctx, jobs[0].ID, false, &before); err != nil || before.String() != "measuring here\n" {
		t.Errorf("%q %v", before.String(), err)
	}
	token = st.begun(jobs[0], pool[2], "eider-4", 2)
	write(pool[2], 2, "measuring there\n")
	nextLine(t, lines, "--- attempt 2 ---")
	nextLine(t, lines, "measuring there")
	s.tell(events.JobFinished{
		Lane: pool[2], Place: st.places[pool[2]], JobID: jobs[0].ID, RequestID: jobs[0].RequestID, Collector: "eider-4", Token: token, Attempt: 2, Lost: 1,
		Outcome: events.Success,
	})
	if lines.Scan() {
		t.Errorf("written twice: %q", lines.Text())
	}
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// TestWhyAJobWaitsForABetterMachine: a machine that has its caches, or one that is held until it has room for a large job.
func TestWhyAJobWaitsForABetterMachine(t *testing.T) {
	s := open(t, func(c *website.Config) { c.AffinityWait, c.RoomWait = 30*time.Second, 10*time.Minute })
	st := s.story()
	st.staff()
	_, first := st.asked(sha("d"), []string{"cpus=2"}, []string{"cpus=1"})
	token := st.begun(first[0], pool[0], "eider-3-1", 1)
	st.tell(events.JobFinished{
		Lane: pool[0], Place: st.places[pool[0]], JobID: first[0].ID, Collector: "eider-3-1", Token: token, Attempt: 1, Outcome: events.Success, Evicted: []string{"git"},
	})
	st.begun(first[1], pool[0], "eider-3-1", 1)
	_, pair := st.asked(sha("e"), []string{"exclusive"})
	w := st.expect(pair[0].ID, readmodel.WaitAffinity, "it waits for eider-3, which has the results that it measures against: for at most 30 s more, until ",
		", then any machine that fits takes it; eider-3 has 1 job, and this one runs alone")
	if w.Affinity == nil || !w.Affinity.Results || w.Affinity.LeftMS != 30_000 {
		t.Errorf("%+v", w)
	}
	st.clock.advance(18 * time.Second)
	st.expect(pair[0].ID, readmodel.WaitAffinity, "for at most 12 s more")
	st.clock.advance(12 * time.Second)
	st.expect(pair[0].ID, readmodel.WaitNext)

	st.begun(pair[0], pool[2], "eider-4", 1)
	_, large := st.asked(sha("f"), []string{"exclusive", "trait=nvme"})
	st.clock.advance(time.Minute)
	_, small := st.asked(sha("1"), []string{"cpus=1", "trait=nvme"})
	st.expect(large[0].ID, readmodel.WaitNoRoom, "no machine has room for it: eider-3 has 1 job, and this one runs alone")
	st.expect(small[0].ID, readmodel.WaitOwn, "of the same account and queue")
	st.clock.advance(9 * time.Minute)
	w = st.expect(large[0].ID, readmodel.WaitNoRoom, "; eider-3 has been held for it since ", ", until job "+string(first[1].ID)+" ends there")
	if w.Held == nil || w.Held.Machine != "eider-3" || w.Held.JobID != large[0].ID || len(w.Held.Jobs) != 1 {
		t.Errorf("%+v", w.Held)
	}
	if w = st.expect(small[0].ID, readmodel.WaitOwn, "eider-3 is held for job "+string(large[0].ID)); w.Held == nil || w.Held.JobID != large[0].ID {
		t.Errorf("%+v", w)
	}
}
