package sitetest

import (
	"strings"
	"time"

	"github.com/tachobench/tacho/control"
	"github.com/tachobench/tacho/eventlog"
	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/website/client"
)

const machine = events.Target("linux-amd64")

// teller is who asks in a story.
func teller() control.By { return control.By{Actor: "cli:alice", Source: "test", Root: "story"} }

func sha(letter string) events.Tag { return events.Tag(strings.Repeat(letter, 40)) }

func environment(n string) events.Environment {
	return events.Environment{
		Fingerprint: events.Digest(strings.Repeat(n, 64)), Host: "bench-" + n, OS: "linux", Kernel: "6.1.0", CPU: "Imaginary 9000",
		CPUs: 8, MemoryBytes: 32 << 30, Missing: map[events.Metric]string{"cycles:u": "the kernel does not allow it"},
	}
}

// story is the start of all tests: two finished master requests, one in progress, a release that waits.
type story struct {
	*site
	// parent and child are done; running has one finished job and one that runs.
	parent, child, running, release, try events.RequestID
	// work is the job that amd-0 executes.
	work  events.JobSpec
	token events.Seq
	// places counts the jobs that were dispatched to each lane.
	places map[events.Lane]uint64
}

func (s *site) story() *story {
	s.t.Helper()
	st := &story{site: s, places: map[events.Lane]uint64{}}
	st.ask(s.control.Publish(s.ctx, teller(), s.suite))
	for _, c := range []control.NewCollector{
		{Name: "amd-0", Target: machine, Set: 0}, {Name: "amd-1", Target: machine, Set: 1}, {Name: "spare", Target: machine, Set: 1, Standby: true},
	} {
		st.ask(s.control.AddCollector(s.ctx, teller(), c))
	}
	s.clock.advance(time.Minute)
	s.online("amd-0", "1")
	s.online("amd-1", "2")

	st.parent = st.master(sha("a"), "", 11)
	st.measure(st.parent, 1)
	st.child = st.master(sha("b"), sha("a"), 12)
	st.measure(st.child, 1.04)
	st.running = st.master(sha("c"), sha("b"), 13)
	jobs := st.start(st.running)
	st.finish(jobs[1], "amd-1", 1.04)
	st.work = jobs[0]
	st.token = st.dequeue(st.work, "amd-0")
	st.release = st.request(control.NewRequest{Suite: "go", Kind: events.Release, Tag: "go1.99.0", ReleasedOn: "2026-11-20"})
	st.try = st.request(control.NewRequest{Suite: "go", Kind: events.Try, Key: "comment 7", PR: 14, Parent: sha("c")})
	s.beat(eventlog.Beat{Name: "amd-0", Instance: "i1", Host: "bench-1", PID: 41, Version: "v1.2.3", JobID: st.work.ID, Benchmark: "tables", Done: 1, Total: 2, Load: 1.02})
	s.beat(eventlog.Beat{Name: "amd-1", Instance: "i2", Host: "bench-2", PID: 42, Version: "v1.2.3", Load: 0.1})
	s.clock.advance(5 * time.Second)
	return st
}

func (st *story) ask(_ control.Answer, err error) {
	st.t.Helper()
	if err != nil {
		st.t.Fatal(err)
	}
}

func (s *site) online(name events.CollectorName, n string) {
	s.tell(events.CollectorOnline{Name: name, Instance: "i" + n, Version: "v1.2.3", PID: 40, Environment: environment(n)})
}

// beat sends a heartbeat and waits until the website shows it.
func (s *site) beat(b eventlog.Beat) {
	s.t.Helper()
	b.Time = s.clock.read()
	if _, err := s.log.Beat(s.ctx, b); err != nil {
		s.t.Fatal(err)
	}
	s.until(func() bool {
		for _, c := range s.machines() {
			if c.Name == b.Name && c.Heartbeat != nil && c.Heartbeat.Time.Equal(b.Time) {
				return true
			}
		}
		return false
	})
}

func (s *site) machines() []client.Collector {
	s.t.Helper()
	list, err := s.now().Collectors(s.ctx, false)
	if err != nil {
		s.t.Fatal(err)
	}
	return list
}

// until asks again and again until the condition holds.
func (s *site) until(condition func() bool) {
	s.t.Helper()
	s.untilWithin(patience, condition)
}

// untilWithin is until with a patience of its own.
func (s *site) untilWithin(patience time.Duration, condition func() bool) {
	s.t.Helper()
	deadline := time.NewTimer(patience)
	defer deadline.Stop()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for !condition() {
		select {
		case <-tick.C:
		case <-deadline.C:
			s.t.Fatal("this never became true")
		}
	}
}

func (st *story) request(n control.NewRequest) events.RequestID {
	st.t.Helper()
	r, _, err := st.control.CreateRequest(st.ctx, teller(), n)
	if err != nil {
		st.t.Fatal(err)
	}
	st.clock.advance(time.Minute)
	return r.ID
}

func (st *story) master(tag, parent events.Tag, pr int) events.RequestID {
	st.t.Helper()
	return st.request(control.NewRequest{Suite: "go", Kind: events.Master, Tag: tag, Parent: parent, PR: pr})
}

// start puts a request in progress with the jobs of the profile opt: one on each lane.
func (st *story) start(id events.RequestID) []events.JobSpec {
	st.t.Helper()
	found, err := st.now().Request(st.ctx, string(id))
	if err != nil {
		st.t.Fatal(err)
	}
	var jobs []events.JobSpec
	artifact := events.Artifact{Suite: "go", Tag: found.Tag, Kind: found.Kind}
	for set := range 2 {
		j := events.JobSpec{
			Artifact: artifact, Kind: "compile", Target: machine, Set: events.Set(set), Backend: "gc", Profile: "opt",
			Definitions: st.suite.Digest(), RequestID: id,
		}
		j.ID = events.NewJobID(artifact, j.Kind, j.Lane(), j.Backend, j.Profile, nil, nil)
		jobs = append(jobs, j)
	}
	st.tell(events.RequestAdmitted{RequestID: id, Tag: found.Tag, Reason: "first in the queue"},
		events.RequestStarted{RequestID: id, Definitions: st.suite.Digest(), Jobs: len(jobs)},
		events.JobsCreated{RequestID: id, Jobs: jobs})
	return jobs
}

// dequeue dispatches a job and begins its attempt.
func (st *story) dequeue(j events.JobSpec, name events.CollectorName) events.Seq {
	st.places[j.Lane()]++
	place := st.places[j.Lane()]
	st.tell(events.JobDispatched{Place: place, Job: j})
	return st.tell(events.JobDequeued{Lane: j.Lane(), Place: place, Job: j, Collector: name, Instance: "i", Attempt: 1, Version: "v1.2.3", Environment: fingerprint(name)},
		events.AttemptBegan{Lane: j.Lane(), JobID: j.ID, Collector: name, Attempt: 1})
}

func fingerprint(name events.CollectorName) events.Digest {
	if name == "amd-0" {
		return environment("1").Fingerprint
	}
	return environment("2").Fingerprint
}

// results makes up what a job measures. Its first benchmark needs factor times the usual number of instructions.
func (st *story) results(j events.JobSpec, name events.CollectorName, token events.Seq, factor float64) events.TestCasesMeasured {
	st.t.Helper()
	plans, err := st.suite.Plan(j)
	if err != nil {
		st.t.Fatal(err)
	}
	m := events.TestCasesMeasured{
		Lane: j.Lane(), JobID: j.ID, Artifact: j.Artifact, Collector: name, Token: token, Attempt: 1,
		Definitions: j.Definitions, Environment: fingerprint(name),
	}
	for i, p := range plans {
		for _, c := range p.Cases {
			mc := events.MeasuredCase{TestCase: c}
			by := 1.0
			if i == 0 {
				by = factor
			}
			for n := range 6 {
				noise := 1 + float64(n*n%7)/5000
				mc.Iterations = append(mc.Iterations, events.Iteration{Metrics: map[events.Metric]float64{
					"instructions:u": 1e9 * by * (1 + float64(n)/100000), "wall-time": 0.8 * by * noise, "binary-size": 2_400_000,
				}})
			}
			m.Cases = append(m.Cases, mc)
		}
	}
	return m
}

// finish runs a job to its end.
func (st *story) finish(j events.JobSpec, name events.CollectorName, factor float64) {
	st.t.Helper()
	token := st.dequeue(j, name)
	st.clock.advance(2 * time.Minute)
	measured := st.results(j, name, token, factor)
	st.tell(measured)
	st.tell(events.JobFinished{
		Lane: j.Lane(), Place: st.places[j.Lane()], JobID: j.ID, RequestID: j.RequestID, Collector: name, Token: token, Attempt: 1,
		Outcome: events.Success, Measured: len(measured.Cases), DurationMS: 120_000,
	})
}

// measure runs all jobs of a request and completes it.
func (st *story) measure(id events.RequestID, factor float64) {
	st.t.Helper()
	jobs := st.start(id)
	st.finish(jobs[0], "amd-0", factor)
	st.finish(jobs[1], "amd-1", 1)
	st.tell(events.RequestCompleted{RequestID: id, Jobs: len(jobs)})
}
