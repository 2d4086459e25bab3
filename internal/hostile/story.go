// Package hostile tells random stories of a farm on which collectors write what they like. It also says what is true
// after each event: the state of every job, what of it is measured, what every lane holds, and how every collector stands.
//
// Every part that folds the log must come to the same result. If one part believes a collector more than another part
// does, or reads a cancel or a late result differently, the farm shows what it does not do, or loses what it has
// measured. The truth here shares no code with the parts: a fault stays hidden only if both are wrong in the same way.
// Only tests use this package.
package hostile

import (
	"fmt"
	"math/rand/v2"

	"github.com/tachobench/tacho/events"
)

// Request is the request that all jobs of a story belong to.
const Request events.RequestID = "r1"

// Graph is the number of its graph of samples; logs of earlier versions have none.
const Graph = 1

// Story is what happens, told one event after the other. The same seed tells the same story.
type Story struct {
	*Truth
	r *rand.Rand
	// honest is set for a story without forged facts. old is set for the log of an earlier version: a part that ends
	// the attempt of a collector does not close its results.
	honest, old bool
	// specs are the jobs of each lane, in the order of their dispatch; next is how many were dispatched.
	specs map[events.Lane][]events.JobSpec
	next  map[events.Lane]int
	// owed are facts that belong to the same append as the previous one.
	owed []events.Fact
}

var (
	lanes      = [...]events.Lane{{Target: "here"}, {Target: "here", Set: 1}}
	collectors = [...]events.CollectorName{"c0", "c1", "c2"}
	benchmarks = [...]events.Benchmark{"b0", "b1", "b2", "b3"}
)

// Tell begins the story of a seed. A third of the stories are honest, and half are logs of an earlier version.
func Tell(seed uint64) *Story {
	s := &Story{
		Truth: newTruth(), r: rand.New(rand.NewPCG(seed, 2)), specs: map[events.Lane][]events.JobSpec{}, next: map[events.Lane]int{},
	}
	s.honest, s.old = s.r.IntN(3) == 0, s.r.IntN(2) == 0
	s.begin()
	return s
}

// Next returns the next event, and updates the truth.
func (s *Story) Next() events.Recorded {
	var f events.Fact
	for f == nil {
		switch {
		case len(s.owed) > 0:
			f, s.owed = s.owed[0], s.owed[1:]
		case !s.honest && s.r.IntN(3) == 0:
			f = s.forge(s.lane())
		default:
			f = s.happen(s.lane())
		}
	}
	return s.tell(f)
}

func (s *Story) lane() events.Lane { return lanes[s.r.IntN(len(lanes))] }

// begin plans a request in progress with four jobs for each lane, and its collectors. One job of each lane is matched: it
// comes to that lane first, and to the other one after a move. Another one is a sample of the first one.
func (s *Story) begin() {
	artifact := events.Artifact{Suite: "s", Tag: "t1", Kind: events.Master}
	made, samples := events.JobsCreated{RequestID: Request}, events.JobsCreated{RequestID: Request, Key: "k", Graph: &events.GraphPart{Graph: Graph}}
	for _, l := range lanes {
		for i := range 4 {
			profile := events.Profile(fmt.Sprint("p", i))
			spec := events.JobSpec{
				ID: events.NewJobID(artifact, "compile", l, "any", profile, nil, nil), Artifact: artifact, Kind: "compile", Target: l.Target, Set: l.Set,
				Backend: "any", Profile: profile, Definitions: "d1", RequestID: Request,
			}
			if i == 1 && !s.old {
				spec.Matched, spec.Requires = true, []string{"trait=nvme"}
				spec.Against = &events.Artifact{Suite: "s", Tag: "t0", Kind: events.Master}
				spec.ID = spec.First()
			}
			if i == 3 && !s.old {
				spec.Profile, spec.Sample = "p0", events.NewSample(Request, Graph, 1+int(l.Set))
				spec.ID = spec.First()
				s.specs[l], samples.Jobs = append(s.specs[l], spec), append(samples.Jobs, spec)
				continue
			}
			s.specs[l], made.Jobs = append(s.specs[l], spec), append(made.Jobs, spec)
		}
	}
	for i, name := range collectors {
		s.owed = append(s.owed, events.CollectorRegistered{Name: name, Target: "here", Set: events.Set(i % len(lanes)), Standby: i >= len(lanes)})
	}
	s.owed = append(s.owed,
		events.RequestCreated{RequestID: Request, Kind: events.Master, Suite: "s", Tag: "t1", Key: "t1", State: events.StateArtifactsReady},
		events.RequestStarted{RequestID: Request, Definitions: "d1", Jobs: len(made.Jobs)}, made)
	if !s.old {
		s.owed = append(s.owed,
			events.GraphAdmitted{RequestID: Request, Key: "k", Kind: events.GraphRetrigger, Jobs: len(samples.Jobs), Graphs: 1},
			events.GraphCreated{RequestID: Request, Graph: Graph, Kind: events.GraphRetrigger, Key: "k", Jobs: len(samples.Jobs)}, samples)
	}
}

// happen returns what the scheduler, a person or the collector of a lane could say next; nil if it chose nothing.
func (s *Story) happen(name events.Lane) events.Fact {
	l := s.Lanes[name]
	place, id, waits := l.turn()
	switch n := s.r.IntN(24); {
	case n < 6 && s.next[name] < len(s.specs[name]):
		s.next[name]++
		part := []int{1024, 512}[s.r.IntN(2)]
		return events.JobDispatched{
			Place: l.places + 1, Job: s.specs[name][s.next[name]-1].Bound(name),
			Share: &events.Share{Tier: events.TierDefault, Queue: "u", Account: "u", ExpectMS: expected, Part: part, Why: "first of 2 queues"},
		}
	case n == 6 && !l.Running && waits: // no request wants it any more, or its attempts are spent
		outcome := []events.Outcome{events.Failure, events.Cancelled}[s.r.IntN(2)]
		return events.JobFinished{Lane: name, Place: place, JobID: id, RequestID: Request, Outcome: outcome, Fault: events.ErrorExhausted}
	case n < 12 && !l.Running && waits:
		j := s.Jobs[id]
		if s.old {
			s.owed = append(s.owed, events.AttemptBegan{Lane: name, JobID: id, Collector: collectors[name.Set], Attempt: j.attempts + 1})
		}
		return events.JobDequeued{Lane: name, Place: place, Job: s.spec(name, id).Bound(name), Collector: collectors[name.Set], Attempt: j.attempts + 1, Lost: j.lost}
	case n < 15 && l.Running:
		return s.end(name, l, n)
	case n < 18:
		return s.report(name, l)
	case n == 18:
		return s.cancel()
	case n == 19:
		return s.again(name)
	case n < 22:
		return s.collector()
	case n == 22 && !s.old && !l.Running && waits:
		return s.move(name, place, id)
	}
	return nil
}

// move takes a job away from its place. It is dispatched again, after the others.
func (s *Story) move(name events.Lane, place uint64, id events.JobID) events.Fact {
	j, spec, to := s.Jobs[id], s.spec(name, id), name
	if spec.Matched {
		to = lanes[1-name.Set]
	}
	s.specs[to] = append(s.specs[to], spec)
	return events.JobMoved{
		Lane: name, Place: place, JobID: id, Collector: j.collector, Token: j.token, Attempt: j.attempts, Lost: j.lost, Reason: "a more urgent job came",
	}
}

// end ends the attempt of a lane. Either its collector ends it, or another part, which also closes its results.
func (s *Story) end(name events.Lane, l *Lane, n int) events.Fact {
	j := s.Jobs[l.Job]
	byOther := func(f events.Fact) events.Fact {
		if !s.old {
			s.owed = append(s.owed, events.ResultsClosed{Lane: name, JobID: l.Job, Attempt: j.attempts, Token: l.Token})
		}
		return f
	}
	finished := events.JobFinished{
		Lane: name, Place: l.Place, JobID: l.Job, RequestID: Request, Collector: l.Collector, Token: l.Token, Attempt: j.attempts, Lost: j.lost, Outcome: events.Success,
	}
	released := events.AttemptReleased{Lane: name, Place: l.Place, JobID: l.Job, Collector: l.Collector, Token: l.Token, Attempt: j.attempts, Lost: j.lost}
	switch s.r.IntN(6) {
	case 0:
		return byOther(events.AttemptLost{Lane: name, Place: l.Place, JobID: l.Job, Collector: l.Collector, Token: l.Token, Attempt: j.attempts, Lost: j.lost + 1})
	case 1:
		return released
	case 2:
		return byOther(released)
	case 3:
		finished.Outcome = events.Cancelled
		return byOther(finished)
	case 4:
		finished.Outcome = events.Failure
		finished.Fault = []events.ErrorKind{"", events.ErrorArtifact, events.ErrorTransient}[s.r.IntN(3)]
	}
	return finished
}

// report returns a result or an error of the job that a lane has or had. A process may report until it knows that
// its attempt is over, or the log refuses it.
func (s *Story) report(name events.Lane, l *Lane) events.Fact {
	j, known := s.Jobs[l.Job]
	if !known || j.lane != name || j.token == 0 || j.closed >= j.token || j.flushed {
		return nil
	}
	if s.r.IntN(5) == 0 {
		return events.ErrorRecorded{Lane: name, JobID: l.Job, Artifact: s.spec(name, l.Job).Artifact, Collector: j.collector, Token: j.token, Attempt: j.attempts, Kind: events.ErrorBenchmark}
	}
	return s.measured(name, l.Job, j.collector, j.token, j.attempts)
}

func (s *Story) measured(name events.Lane, id events.JobID, by events.CollectorName, token events.Seq, attempt int) events.Fact {
	spec := s.spec(name, id)
	c := events.TestCase{Benchmark: benchmarks[s.r.IntN(len(benchmarks))], Profile: spec.Profile, Scenario: "full", Backend: spec.Backend, Target: spec.Target}
	f := events.TestCasesMeasured{
		Lane: name, JobID: id, Artifact: spec.Artifact, Collector: by, Token: token, Attempt: attempt, Definitions: "d1", Environment: "e1",
		Cases: []events.MeasuredCase{{TestCase: c, Iterations: []events.Iteration{{Metrics: map[events.Metric]float64{"wall-time": 1}}}}},
	}
	if spec.Against != nil && s.r.IntN(2) == 0 {
		f.Beside = &events.Beside{Artifact: *spec.Against, Cases: f.Cases}
	}
	return f
}

// cancel withdraws the request, as its version does it, or some of its jobs.
func (s *Story) cancel() events.Fact {
	switch {
	case !s.stopped && !s.old && !s.Cancelled && s.r.IntN(3) == 0:
		return events.GraphCancelled{RequestID: Request, Graph: Graph}
	case !s.stopped && s.r.IntN(3) > 0:
		return nil // seldom, so that much happens before
	case !s.stopped && s.old:
		return events.RequestCancelledWithJobs{RequestID: Request}
	case !s.stopped:
		return events.RequestCancelled{RequestID: Request}
	case s.old:
		return nil
	}
	f := events.JobsWithdrawn{RequestID: Request}
	for _, l := range lanes {
		for _, spec := range s.specs[l] {
			if s.r.IntN(3) == 0 {
				f.Jobs = append(f.Jobs, spec.ID)
			}
		}
	}
	return f
}

// again makes the next round of a job that did not succeed.
func (s *Story) again(name events.Lane) events.Fact {
	for _, spec := range s.specs[name] {
		next := spec.Again()
		_, made := s.Jobs[next.ID]
		if j := s.Jobs[spec.ID]; j == nil || made || j.State != events.JobFailure && j.State != events.JobCancelled {
			continue
		}
		s.specs[name] = append(s.specs[name], next)
		s.owed = append(s.owed, events.JobsCreated{RequestID: Request, Jobs: []events.JobSpec{next}, Key: string(next.ID)})
		return events.GraphAdmitted{RequestID: Request, Key: string(next.ID), Kind: events.GraphRepair, Jobs: 1}
	}
	return nil
}

// collector returns something about a collector, said by itself or by others.
func (s *Story) collector() events.Fact {
	name := collectors[s.r.IntN(len(collectors))]
	instance := []string{"i1", "i2"}[s.r.IntN(2)]
	switch s.r.IntN(14) {
	case 0, 1, 2:
		return events.CollectorOnline{Name: name, Instance: instance}
	case 3:
		return events.CollectorOffline{Name: name, Instance: instance}
	case 4:
		return events.CollectorSilent{Name: name, Instance: instance, Reason: "no heartbeat"}
	case 5:
		return events.CollectorUpdating{Name: name, Instance: instance, Version: "v1", Wanted: "v2"}
	case 6, 7:
		return events.CollectorDraining{Name: name, Reason: "new kernel"}
	case 8:
		return events.CollectorDeactivated{Name: name, Reason: "new disk"}
	case 9, 10:
		return events.CollectorActivated{Name: name}
	case 11:
		return events.CollectorQuarantined{Name: name, Reason: "3 artifacts"}
	case 12:
		return events.CollectorKeyRotated{Name: name, NKey: instance}
	}
	if s.r.IntN(4) > 0 {
		return nil
	}
	return events.CollectorRemoved{Name: name, Reason: "sold"}
}

func (s *Story) spec(l events.Lane, id events.JobID) events.JobSpec {
	for _, spec := range s.specs[l] {
		if spec.ID == id {
			return spec
		}
	}
	return events.JobSpec{ID: id, Target: l.Target, Set: l.Set, RequestID: Request}
}

// forge returns a fact about the work or the results of a lane that is true only by chance.
func (s *Story) forge(name events.Lane) events.Fact {
	all := append(s.specs[lanes[0]][:len(s.specs[lanes[0]]):len(s.specs[lanes[0]])], s.specs[lanes[1]]...)
	spec := all[s.r.IntN(len(all))]
	place := []uint64{0, 1, 2, 3, 4, 1 << 63}[s.r.IntN(6)]
	token := events.Seq(s.r.IntN(int(s.seq) + 3))
	by := append([]events.CollectorName{""}, collectors[:2]...)[s.r.IntN(3)]
	outcome := []events.Outcome{events.Success, events.Failure, events.Cancelled, "", "odd"}[s.r.IntN(5)]
	// Often all fields but one are right.
	l := s.Lanes[name]
	if wrong := s.r.IntN(6); l.Running && wrong > 0 {
		if wrong != 1 {
			place = l.Place
		}
		if wrong != 2 {
			spec = s.spec(name, l.Job)
		}
		if wrong != 3 {
			token = l.Token
		}
		if wrong != 4 {
			by = l.Collector
		}
	}
	switch s.r.IntN(5) {
	case 0:
		spec.RequestID = []events.RequestID{Request, "r2"}[s.r.IntN(2)]
		return events.JobDequeued{Lane: name, Place: place, Job: spec, Collector: by, Instance: "i9", Attempt: 3, Lost: 2}
	case 1:
		return events.AttemptLost{Lane: name, Place: place, JobID: spec.ID, Collector: by, Token: token, Attempt: 7, Lost: 7}
	case 2:
		return events.AttemptReleased{Lane: name, Place: place, JobID: spec.ID, Collector: by, Token: token}
	case 3:
		return s.measured(name, spec.ID, by, token, s.r.IntN(3))
	}
	return events.JobFinished{Lane: name, Place: place, JobID: spec.ID, RequestID: Request, Collector: by, Token: token, Outcome: outcome}
}
