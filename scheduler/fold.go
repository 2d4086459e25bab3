package scheduler

import (
	"slices"
	"time"

	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/job"
	"github.com/tachobench/tacho/request"
	"github.com/tachobench/tacho/suite"
)

// take folds one stored event and returns its fact, nil where that does not matter here. What was measured is the bulk
// of a log and decides nothing, and neither does what GitHub said and was told, so that is not decoded. An event that
// no fold may take is one on its subject all the same: whoever appends there next must have seen it.
func (s *state) take(m events.Stored) (events.Fact, error) {
	switch m.Subject.Family() {
	case "result":
		s.seq = m.Seq
		if j, ok := s.jobs[events.JobID(m.Subject.Last())]; ok && s.onLane(j) {
			s.versions[m.Subject] = m.Seq
		}
		return nil, nil
	case "delivery", "outbox":
		s.seq = m.Seq
		return nil, nil
	}
	e, parked, err := s.reader.Understand(m)
	switch {
	case err != nil:
		return nil, err
	case parked != "": // the projector archives it
		s.seq, s.versions[m.Subject] = m.Seq, m.Seq
		s.drop(m.Subject, m.Seq, "", parked)
		return nil, nil
	}
	s.foldOn(m.Subject, e)
	return e.Fact, nil
}

// fold applies one event that lies on the subject of its fact.
func (s *state) fold(e events.Recorded) { s.foldOn(e.Fact.Subject(), e) }

// foldOn applies one event of a subject, which was another one for some facts in earlier versions. It cannot fail: if
// the log says it, it happened.
func (s *state) foldOn(subject events.Subject, e events.Recorded) {
	s.seq, s.at, s.versions[subject] = e.Seq, e.Time, e.Seq
	if e.Time.After(s.newest) {
		s.newest = e.Time
	}
	// The others decide nothing here.
	//exhaustive:ignore
	switch f := e.Fact.(type) {
	case events.RequestFact:
		s.foldRequest(f, e)
	case events.AdmissionFact:
		s.foldAdmission(f)
	case events.JobDispatched:
		s.foldDispatched(f, e)
	case events.WorkFact:
		s.foldWork(f, e)
	case events.CollectorFact:
		s.foldCollector(f)
	case events.AssignmentFact:
		s.foldAssignment(f)
	case events.DefinitionsPublished:
		s.foldDefinitions(f)
	case events.JobsRetired:
		s.retention.retired(f, e.Time)
	}
}

func (s *state) foldAdmission(f events.AdmissionFact) {
	switch f := f.(type) {
	case events.RequestAdmitted:
		s.owed = 1
	case events.BackfillAdmitted:
		s.backfilled[f.RequestID], s.owed = true, f.Jobs
	case events.GraphAdmitted:
		s.owed = f.Jobs
	}
}

// foldRequest applies a fact of a request's life, and what follows for its jobs.
func (s *state) foldRequest(f events.RequestFact, e events.Recorded) {
	id := f.Whose()
	s.evolve(id, f, e.Time)
	// The others concern the request alone.
	//exhaustive:ignore
	switch f := f.(type) {
	case events.RequestCreated:
		s.roots[id] = e.Root
	case events.RequestStarted:
		for _, job := range f.Shared {
			s.wants(job, id, "")
		}
		s.owed = f.Jobs + f.Backfill
		s.backfilled[id] = f.Backfill > 0 || s.parentHasAll(id)
	case events.JobsCreated:
		s.foldJobs(f)
		s.mend(id)
		s.owed = max(0, s.owed-len(f.Jobs))
	case events.RequestCancelled:
		s.stop(id)
	case events.RequestCancelledWithJobs:
		for _, lane := range s.lanes {
			s.withdraw(f, slices.Clone(lane.queued[id]))
		}
		s.stop(id)
	case events.JobsWithdrawn:
		s.withdraw(f, f.Jobs)
		delete(s.withdrawn, id)
	}
}

func (s *state) evolve(id events.RequestID, f events.RequestFact, at time.Time) {
	var before request.Request
	if known, ok := s.requests[id]; ok {
		before = *known
	}
	r := request.Evolve(before, f, at)
	if !r.Exists() {
		return
	}
	s.requests[id] = &r
	delete(s.running, id)
	delete(s.waiting, id)
	delete(s.wishing, id)
	// The other states are told by Terminal.
	//exhaustive:ignore
	switch r.State {
	case events.InProgress:
		s.running[id] = true
	case events.WaitingForArtifacts:
		s.waiting[id] = true
	}
	if len(r.Wishes) > 0 {
		s.wishing[id] = true
	}
	if r.State.Terminal() {
		delete(s.pending, id)
		delete(s.backfilled, id)
		delete(s.torn, id)
		delete(s.open, id)
	} else {
		s.pending[id] = &r
	}
	s.tags.Leave(before.Artifact.Suite, before.Artifact.Tag, before.State)
	s.tags.Enter(r.Artifact.Suite, r.Artifact.Tag, r.State)
	if r.Artifact.Tag == "" {
		return
	}
	if _, taken := s.byTag[artifactKey{r.Artifact.Suite, r.Artifact.Tag}]; !taken {
		s.byTag[artifactKey{r.Artifact.Suite, r.Artifact.Tag}] = id
	}
}

// parentHasAll reports whether the parent of a request that just started is known and lacks no job. Whoever
// started it may not have known the parent yet.
func (s *state) parentHasAll(id events.RequestID) bool {
	r, ok := s.requests[id]
	if !ok {
		return false
	}
	if _, known := s.parentOf(r); !known {
		return false
	}
	_, backfill, _, err := expand(s, r)
	return err == nil && len(s.missing(backfill, s.at)) == 0
}

func (s *state) foldJobs(f events.JobsCreated) {
	for _, spec := range f.Jobs {
		if _, exists := s.jobs[spec.ID]; !exists {
			s.jobs[spec.ID] = &jobState{spec: spec, Life: job.Made()}
			lane := s.lane(spec.Lane())
			lane.queued[f.RequestID] = append(lane.queued[f.RequestID], spec.ID)
			if spec.Round > 0 { // what is tried again has its budget again
				s.artifact(spec.Artifact, func(a *artifactState) { a.since = time.Time{} })
			}
		}
		s.wants(spec.ID, f.RequestID, f.Key)
	}
}

// mend notes that no job of a request is cancelled any more, where that is so.
func (s *state) mend(id events.RequestID) {
	if s.torn[id] && !slices.ContainsFunc(s.newestRounds(s.requests[id]), func(j *jobState) bool { return j.State == events.JobCancelled }) {
		delete(s.torn, id)
	}
}

// wants notes that a request wants a job. It counts those required ones that a request in progress waits for.
func (s *state) wants(id events.JobID, r events.RequestID, key string) {
	j, ok := s.jobs[id]
	if !ok || j.State.Terminal() {
		if ok && j.State == events.JobCancelled && s.running[r] {
			s.torn[r] = true
		}
		return
	}
	w := wanter{request: r, counts: !j.spec.Optional && s.running[r], repair: key != ""}
	if w.counts {
		s.open[r]++
	}
	j.wanters = append(j.wanters, w)
}

// wanted reports whether a job that has not ended is still to be done.
func (s *state) wanted(j *jobState) bool {
	return slices.ContainsFunc(j.wanters, func(w wanter) bool { return w.repair || !s.stopped(w.request) })
}

// stop notes that a request was cancelled: jobs may be left that nobody wants any more.
func (s *state) stop(id events.RequestID) {
	if len(s.unwanted(id)) > 0 {
		s.withdrawn[id] = true
	}
	for _, lane := range s.lanes {
		for _, j := range lane.work.Dispatched {
			lane.stopping = lane.stopping || s.astray(s.jobs[j])
		}
	}
}

// astray reports whether a job on a lane is not to be done.
func (s *state) astray(j *jobState) bool {
	return j != nil && (j.State.Terminal() || !s.wanted(j))
}

// unwanted returns the jobs of a cancelled request that are on no lane and that nobody wants, in the order they were made.
func (s *state) unwanted(id events.RequestID) []events.JobID {
	r, ok := s.requests[id]
	if !ok {
		return nil
	}
	var out []events.JobID
	add := func(id events.JobID) {
		if j, ok := s.jobs[id]; ok && j.State == events.JobQueued && j.Place == 0 && !s.wanted(j) {
			out = append(out, id)
		}
	}
	for _, spec := range r.Jobs {
		add(spec.ID)
	}
	for _, id := range r.Shared {
		add(id)
	}
	return out
}

// withdraw ends those of jobs that are on no lane.
func (s *state) withdraw(f events.Fact, jobs []events.JobID) {
	for _, id := range jobs {
		j, ok := s.jobs[id]
		if !ok {
			continue
		}
		s.live(j, f, s.seq)
		if j.State.Terminal() {
			s.unqueue(j)
		}
	}
}

// unqueue takes a job out of those that wait for dispatch.
func (s *state) unqueue(j *jobState) {
	lane := s.lane(j.spec.Lane())
	waiting := lane.queued[j.spec.RequestID]
	if i := slices.Index(waiting, j.spec.ID); i >= 0 {
		waiting = slices.Delete(waiting, i, i+1)
	}
	if len(waiting) == 0 {
		delete(lane.queued, j.spec.RequestID)
		return
	}
	lane.queued[j.spec.RequestID] = waiting
}

func (s *state) foldDispatched(f events.JobDispatched, e events.Recorded) {
	lane := s.lane(f.Job.Lane())
	lane.work.Dispatch(f)
	j, ok := s.jobs[f.Job.ID]
	if !ok {
		return
	}
	s.live(j, f, e.Seq)
	s.unqueue(j)
	lane.stopping = lane.stopping || s.astray(j)
}

// onLane reports whether a job was dispatched and its place is not over.
func (s *state) onLane(j *jobState) bool {
	lane, ok := s.lanes[j.spec.Lane()]
	return ok && j.Place > 0 && lane.work.Dispatched[j.Place] == j.spec.ID
}

// foldWork applies a fact on the work of a lane. One that does not count is litter.
func (s *state) foldWork(f events.WorkFact, e events.Recorded) {
	lane := s.lane(f.Where())
	j, ok := s.jobs[f.Which()]
	if dequeued, is := f.(events.JobDequeued); is && ok {
		dequeued.Job = j.spec // what a collector says of the job is nothing to decide on
		f = dequeued
	}
	if !lane.work.Take(f, e.Seq, e.Time) {
		s.drop(f.Subject(), e.Seq, writer(f), "it is not about the job, place and attempt that the lane holds")
		return
	}
	lane.stopping = lane.stopping && len(lane.work.Dispatched) > 0
	if !ok || j.spec.Lane() != f.Where() { // nobody has a say in the jobs of other lanes
		return
	}
	switch f := f.(type) {
	case events.AttemptLost:
		s.foldLoser(f)
	case events.AttemptReleased:
		s.foldReleased(j, f)
	case events.JobFinished:
		s.foldFault(j, f)
		delete(s.versions, events.ResultSubject(f.Lane, f.JobID))
	case events.JobDequeued:
	}
	s.live(j, f, e.Seq)
}

// writer returns who wrote a fact by its own word.
func writer(f events.WorkFact) events.CollectorName {
	switch f := f.(type) {
	case events.JobDequeued:
		return f.Collector
	case events.JobFinished:
		return f.Collector
	case events.AttemptLost:
		return f.Collector
	case events.AttemptReleased:
		return f.Collector
	}
	return ""
}

// live applies a fact to a job's life.
func (s *state) live(j *jobState, f events.Fact, seq events.Seq) {
	over := j.State.Terminal()
	j.Life, _ = job.Live(j.Life, f, seq, s.at)
	if over || !j.State.Terminal() {
		return
	}
	s.retention.add(s.at)
	for _, w := range j.wanters {
		if w.counts && s.open[w.request] > 0 {
			s.open[w.request]--
		}
		if j.State == events.JobCancelled && s.running[w.request] {
			s.torn[w.request] = true
		}
	}
	j.wanters = nil
}

func (s *state) foldCollector(f events.CollectorFact) {
	c := s.collector(f.Whose())
	c.standing = job.Stand(c.standing, f, s.at)
	// The others tell of the standing alone.
	//exhaustive:ignore
	switch f.(type) {
	case events.CollectorActivated:
		c.failed = nil
	case events.CollectorOnline:
		c.updating = false
	case events.CollectorUpdating:
		c.updating = true
	}
}

func (s *state) foldAssignment(f events.AssignmentFact) {
	lane := s.lane(f.Where())
	lane.assignment = job.Assign(lane.assignment, f)
	if lane.assignment.Serving != "" {
		lane.served = lane.assignment.Serving
	}
}

func (s *state) foldDefinitions(f events.DefinitionsPublished) {
	d, err := suite.Parse(f.Content)
	if err != nil {
		s.unusable[f.Suite] = err
		return
	}
	delete(s.unusable, f.Suite)
	s.definitions[f.Digest], s.current[f.Suite] = d, f.Digest
}
