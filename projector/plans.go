package projector

import (
	"cmp"
	"slices"
	"time"

	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/readmodel"
	"github.com/tachobench/tacho/rules/graph"
	"github.com/tachobench/tacho/rules/job"
	"github.com/tachobench/tacho/rules/queue"
)

// planning holds what the plans for one order of the queue are made from.
type planning struct {
	*state
	// manned are the lanes with a collector that begins jobs (see mannedLanes).
	manned map[events.Lane]bool
	// fitting are the lanes that could take a sort of matched job (see lanesFor).
	fitting map[string][]events.Lane
	// own is what the requests in progress have done, by suite.
	own map[events.SuiteName]*queue.Own
}

// plans returns the work that is left of each pending request. For a request in progress these are its own jobs; for
// one that has not started, the jobs that a request like it was given. left holds jobs of requests that have ended, and
// those on the lanes of requests in other queues.
func (s *state) plans() (plans map[events.RequestID]queue.Plan, left queue.Plan) {
	p := planning{state: s, manned: s.mannedLanes(), fitting: make(map[string][]events.Lane), own: make(map[events.SuiteName]*queue.Own)}
	open, behind := p.openJobs()
	plans = make(map[events.RequestID]queue.Plan, len(s.requests))
	usual := make(map[*made]queue.Plan) // for requests whose parameters leave out no job, which are most
	for _, r := range s.requests {
		switch {
		case r.Queue != "":
		case r.State == events.StateInProgress:
			byTurn(open[r.ID])
			plans[r.ID] = p.remaining(open[r.ID])
		case !r.State.Terminal():
			t, jobs := s.template(r)
			if t == nil {
				continue
			}
			plan, known := usual[t]
			if !known || len(jobs) < len(t.jobs) {
				plan = p.expected(r.Suite, jobs)
			}
			if len(jobs) == len(t.jobs) {
				usual[t] = plan
			}
			plans[r.ID] = plan
		}
	}
	byCreation(behind)
	samplesLast(behind)
	return plans, p.remaining(behind)
}

// mannedLanes returns the lanes with a collector that begins jobs and is not known to be offline. A collector that was
// not heard yet is expected to come.
func (s *state) mannedLanes() map[events.Lane]bool {
	manned := make(map[events.Lane]bool)
	for key := range s.assignments {
		if c := s.collectors[key.name]; c != nil && c.takes() && c.Presence != readmodel.PresenceOffline {
			manned[key.lane] = true
		}
	}
	return manned
}

func (c *collectorRow) takes() bool {
	return job.Standing{
		Registered: &events.CollectorRegistered{}, Removed: c.RemovedAt != nil, Active: c.Active, Draining: c.Draining, Quarantined: c.Quarantined,
	}.Takes()
}

// openJobs returns the jobs that have not ended: open has those of requests in progress, behind those of requests that
// have ended. It notes what the requests in progress have done. Of requests in other queues than the main one it knows
// only the jobs that are on a lane: they are in behind. It leaves out jobs that are skipped, and samples that wait behind the
// jobs of usual requests. A sample that is on a lane is in behind.
func (p *planning) openJobs() (open map[events.RequestID][]*jobRow, behind []*jobRow) {
	open = make(map[events.RequestID][]*jobRow)
	for _, j := range p.jobs {
		r := p.requests[j.RequestID]
		elsewhere := waitsElsewhere(r)
		switch ended := j.State.Terminal(); {
		case ended && p.tells(j):
			p.ownOf(j.Suite).Ended(time.Duration(j.DurationMS)*time.Millisecond, j.Measured+j.Failed)
		case ended, elsewhere && j.Place == 0, j.Held == graph.Skipped, j.waitsBehind():
		case elsewhere, r == nil || r.State.Terminal(), j.Sample != "" && j.Place > 0:
			behind = append(behind, j)
		case r.State == events.StateInProgress:
			open[r.ID] = append(open[r.ID], j)
			if j.State == events.JobInProgress {
				p.ownOf(j.Suite).Runs(p.elapsed(j), j.Measured)
			}
		}
	}
	return open, behind
}

// waitsBehind reports whether the job is a sample that waits behind the jobs of usual requests.
func (j *jobRow) waitsBehind() bool {
	return j.Sample != "" && j.Place == 0 && j.Priority.Level() > events.PriorityNormal.Level()
}

// samplesLast moves samples behind the other jobs, which come before them.
func samplesLast(jobs []*jobRow) {
	slices.SortStableFunc(jobs, func(a, b *jobRow) int { return min(len(a.Sample), 1) - min(len(b.Sample), 1) })
}

// spare reports whether no request waits for the job.
func (j *jobRow) spare() bool { return j.Optional || j.Sample != "" }

// waitsElsewhere reports whether a request has not ended and is in another queue than the main one.
func waitsElsewhere(r *requestRow) bool { return r != nil && !r.State.Terminal() && r.Queue != "" }

// tells reports whether an ended job shows how long others of its request will take. Jobs that ended before
// their request started do not: they are in the state by chance. Samples do not either: they may measure a part only.
func (s *state) tells(j *jobRow) bool {
	r := s.requests[j.RequestID]
	return r != nil && j.Sample == "" && r.State == events.StateInProgress && *j.FinishedSeq > *r.StartedSeq &&
		(j.State == events.JobSuccess || j.State == events.JobFailure)
}

func (s *state) elapsed(j *jobRow) time.Duration { return max(s.asOf.Sub(*j.DequeuedAt), 0) }

// remaining returns the plan of jobs that have not ended. A running job whose collector is offline counts as waiting
// if its lane has no other collector.
func (p *planning) remaining(jobs []*jobRow) queue.Plan {
	list, waits := newPlanner(), p.waits(jobs)
	for i, j := range jobs {
		e := j.partOf(p.durations.Expect(j.sort()))
		holder := p.collectors[j.Collector]
		if j.State == events.JobInProgress && (p.manned[j.lane()] || holder == nil || holder.Presence != readmodel.PresenceOffline) {
			if !e.Known {
				e = p.ownOf(j.Suite).ExpectRunning(p.elapsed(j), j.Measured, j.Cases)
			}
			w := list.work(j.lane())
			list.loads[w.Lane] += max(e.Length-p.elapsed(j), 0)
			w.Running = &queue.RunningJob{Elapsed: p.elapsed(j), Expected: e, Optional: j.spare(), Number: i + 1}
			w.Unmanned = !p.manned[w.Lane]
			continue
		}
		if !e.Known {
			e = p.ownOf(j.Suite).Expect(j.Cases)
		}
		p.wait(&list, p.laneFor(&list, j.lane(), j.waitsFor()), queue.Job{Expected: e, Optional: j.spare(), Number: i + 1, After: waits[j.ID]})
	}
	return list.plan
}

// expected returns the plan of jobs that do not exist yet.
func (p *planning) expected(suite events.SuiteName, jobs []madeJob) queue.Plan {
	list := newPlanner()
	for _, j := range jobs {
		e := p.durations.Expect(j.Sort)
		if !e.Known {
			e = p.ownOf(suite).Expect(j.cases)
		}
		p.wait(&list, p.laneFor(&list, j.Lane, j.matched), queue.Job{Expected: e, Optional: j.optional})
	}
	return list.plan
}

// wait adds a job that has not begun. It leaves out an optional job on a lane where no collector begins jobs.
func (p *planning) wait(list *planner, lane events.Lane, j queue.Job) {
	manned := p.manned[lane]
	if !manned && j.Optional {
		return
	}
	w := list.work(lane)
	w.Queued, w.Unmanned = append(w.Queued, j), !manned
	list.loads[lane] += cmp.Or(j.Expected.Length, unknownLoad)
}

func (p *planning) ownOf(suite events.SuiteName) *queue.Own {
	own := p.own[suite]
	if own == nil {
		own = &queue.Own{}
		p.own[suite] = own
	}
	return own
}

// planner collects the work of one plan by lane, in the order in which the lanes first appear.
type planner struct {
	plan  queue.Plan
	index map[events.Lane]int
	// loads are how long the jobs of each lane are expected to take.
	loads map[events.Lane]time.Duration
}

// unknownLoad is what a job of unknown length counts, so that such jobs are spread over the lanes, too.
const unknownLoad = time.Minute

func newPlanner() planner {
	return planner{index: map[events.Lane]int{}, loads: map[events.Lane]time.Duration{}}
}

// work returns the work of a lane. The pointer is valid until the next call.
func (p *planner) work(l events.Lane) *queue.LaneWork {
	i, known := p.index[l]
	if !known {
		i = len(p.plan.Lanes)
		p.index[l] = i
		p.plan.Lanes = append(p.plan.Lanes, queue.LaneWork{Lane: l})
	}
	return &p.plan.Lanes[i]
}
