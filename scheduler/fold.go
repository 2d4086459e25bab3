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
	case "result", "delivery", "outbox":
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
	s.seq = e.Seq
	s.at = e.Time
	s.versions[subject] = e.Seq
	if e.Time.After(s.newest) {
		s.newest = e.Time
	}
	switch f := e.Fact.(type) {
	case events.RequestCreated:
		s.foldRequest(f.RequestID, f, e.Time)
		s.roots[f.RequestID] = e.Root
	case events.RequestArtifactsReady:
		s.foldRequest(f.RequestID, f, e.Time)
	case events.RequestStarted:
		s.foldRequest(f.RequestID, f, e.Time)
		for _, id := range f.Shared {
			s.waitFor(id, f.RequestID)
		}
		s.owed = f.Jobs + f.Backfill
		s.backfilled[f.RequestID] = f.Backfill > 0 || s.parentHasAll(f.RequestID)
	case events.JobsCreated:
		s.foldRequest(f.RequestID, f, e.Time)
		s.foldJobs(f)
		s.owed = max(0, s.owed-len(f.Jobs))
	case events.RequestExpansionFailed:
		s.foldRequest(f.RequestID, f, e.Time)
	case events.RequestCompleted:
		s.foldRequest(f.RequestID, f, e.Time)
	case events.RequestFailed:
		s.foldRequest(f.RequestID, f, e.Time)
	case events.RequestCancelled:
		s.foldRequest(f.RequestID, f, e.Time)
		s.cancelQueued(f.RequestID)
	case events.RequestExpired:
		s.foldRequest(f.RequestID, f, e.Time)
	case events.RequestSuperseded:
		s.foldRequest(f.RequestID, f, e.Time)
	case events.RequestAdmitted:
		s.owed = 1
	case events.BackfillAdmitted:
		s.backfilled[f.RequestID], s.owed = true, f.Jobs
	case events.JobDispatched:
		s.foldDispatched(f)
	case events.JobDequeued:
		if j, ok := s.jobs[f.Job.ID]; ok {
			f.Job = j.spec // what a collector says of the job is nothing to decide on
		}
		if s.foldWork(f.Lane, f.Collector, f, e) {
			s.setJobOn(f.Lane, f.Job.ID, events.JobInProgress)
		}
	case events.JobFinished:
		if s.foldWork(f.Lane, f.Collector, f, e) {
			s.foldFault(f)
			s.foldFinished(f)
		}
	case events.AttemptLost:
		if s.foldWork(f.Lane, f.Collector, f, e) {
			s.foldLoser(f)
			s.setJobOn(f.Lane, f.JobID, events.JobQueued)
		}
	case events.AttemptReleased:
		if s.foldWork(f.Lane, f.Collector, f, e) {
			s.setJobOn(f.Lane, f.JobID, events.JobQueued)
		}
	case events.AttemptBegan, events.TestCasesMeasured, events.ErrorRecorded:
	case events.CollectorRegistered:
		s.foldCollector(f.Name, f)
	case events.RegistryCopied:
		s.foldCollector(f.Name, f)
	case events.CollectorKeyRotated:
		s.foldCollector(f.Name, f)
	case events.CollectorRemoved:
		s.foldCollector(f.Name, f)
	case events.CollectorActivated:
		s.foldCollector(f.Name, f)
		s.collector(f.Name).failed = nil
	case events.CollectorDeactivated:
		s.foldCollector(f.Name, f)
	case events.CollectorOnline:
		s.foldCollector(f.Name, f)
		s.collector(f.Name).updating = false
	case events.CollectorOffline:
		s.foldCollector(f.Name, f)
	case events.CollectorSilent:
		s.foldCollector(f.Name, f)
	case events.CollectorDraining:
		s.foldCollector(f.Name, f)
	case events.CollectorQuarantined:
		s.foldCollector(f.Name, f)
	case events.CollectorUpdating:
		s.foldCollector(f.Name, f)
		s.collector(f.Name).updating = true
	case events.LaneAssigned:
		s.foldAssignment(f.Lane, f)
	case events.LaneUnassigned:
		s.foldAssignment(f.Lane, f)
	case events.LaneTakenOver:
		s.foldAssignment(f.Lane, f)
	case events.DefinitionsPublished:
		s.foldDefinitions(f)
	case events.JobsRetired:
		s.retention.retired(f, e.Time)
	case events.RegistryOpened, events.TryQueued, events.VersionWanted, events.AlertRaised, events.AlertCleared,
		events.RequestBuildFailed, events.DeliveryReceived, events.DeliveryPart, events.DeliveryHandled, events.CommentWanted, events.CommentAttempted,
		events.CommentPosted, events.CommentPostponed, events.CommentRefused, events.LabelsSet, events.CommentMinimised:
	}
}

func (s *state) foldRequest(id events.RequestID, f events.Fact, at time.Time) {
	var r request.Request
	if known, ok := s.requests[id]; ok {
		r = *known
	}
	r = request.Evolve(r, f, at)
	if !r.Exists() {
		return
	}
	s.requests[id] = &r
	delete(s.running, id)
	delete(s.waiting, id)
	// The other states are told by Terminal.
	//exhaustive:ignore
	switch r.State {
	case events.InProgress:
		s.running[id] = true
	case events.WaitingForArtifacts:
		s.waiting[id] = true
	}
	if r.State.Terminal() {
		delete(s.pending, id)
		delete(s.backfilled, id)
		delete(s.open, id)
	} else {
		s.pending[id] = &r
	}
	if r.Artifact.Tag != "" {
		key := artifactKey{r.Artifact.Suite, r.Artifact.Tag}
		if _, taken := s.byTag[key]; !taken {
			s.byTag[key] = id
		}
		if r.State.Terminal() {
			s.ended[key] = true
		}
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
	return err == nil && len(s.missing(backfill)) == 0
}

func (s *state) foldJobs(f events.JobsCreated) {
	for _, spec := range f.Jobs {
		if _, exists := s.jobs[spec.ID]; !exists {
			s.jobs[spec.ID] = &jobState{spec: spec, state: events.JobQueued}
			lane := s.lane(spec.Lane())
			lane.queued[f.RequestID] = append(lane.queued[f.RequestID], spec.ID)
		}
		s.waitFor(spec.ID, f.RequestID)
	}
}

// waitFor counts a required job that a request in progress waits for.
func (s *state) waitFor(id events.JobID, r events.RequestID) {
	if j, ok := s.jobs[id]; ok && !j.spec.Optional && !j.state.Terminal() && s.running[r] {
		j.waiters = append(j.waiters, r)
		s.open[r]++
	}
}

// cancelQueued ends the jobs of a cancelled request that were not dispatched. Those on a lane are ended
// there, by an event of their own.
func (s *state) cancelQueued(id events.RequestID) {
	for _, lane := range s.lanes {
		for _, j := range lane.queued[id] {
			s.setJob(j, events.JobCancelled)
		}
		delete(lane.queued, id)
		for _, j := range lane.dispatched {
			known, ok := s.jobs[j]
			lane.stopping = lane.stopping || ok && known.spec.RequestID == id
		}
	}
}

func (s *state) foldDispatched(f events.JobDispatched) {
	lane := s.lane(f.Job.Lane())
	lane.places = max(lane.places, f.Place)
	lane.dispatched[f.Place] = f.Job.ID
	if j, ok := s.jobs[f.Job.ID]; ok {
		j.place = f.Place
		lane.stopping = lane.stopping || s.stopped(j.spec.RequestID)
	}
	waiting := lane.queued[f.Job.RequestID]
	if i := slices.Index(waiting, f.Job.ID); i >= 0 {
		waiting = slices.Delete(waiting, i, i+1)
	}
	if len(waiting) == 0 {
		delete(lane.queued, f.Job.RequestID)
		return
	}
	lane.queued[f.Job.RequestID] = waiting
}

// foldWork applies a fact on the work of a lane, and reports whether it counts. One that does not is litter.
func (s *state) foldWork(l events.Lane, by events.CollectorName, f events.Fact, e events.Recorded) bool {
	lane := s.lane(l)
	dispatched := func(place uint64) (id events.JobID, ok bool) { id, ok = lane.dispatched[place]; return id, ok }
	if !job.Counts(lane.work, f, dispatched) {
		s.drop(f.Subject(), e.Seq, by, "it is not about the job, place and attempt that the lane holds")
		return false
	}
	lane.work = job.Evolve(lane.work, f, e.Seq, e.Time)
	return true
}

func (s *state) foldCollector(name events.CollectorName, f events.Fact) {
	c := s.collector(name)
	c.standing = job.Stand(c.standing, f, s.at)
}

func (s *state) foldAssignment(l events.Lane, f events.Fact) {
	lane := s.lane(l)
	lane.assignment = job.Assign(lane.assignment, f)
	if lane.assignment.Serving != "" {
		lane.served = lane.assignment.Serving
	}
}

func (s *state) foldFinished(f events.JobFinished) {
	lane := s.lane(f.Lane)
	delete(lane.dispatched, f.Place)
	lane.stopping = lane.stopping && len(lane.dispatched) > 0
	switch f.Outcome {
	case events.Success:
		s.setJobOn(f.Lane, f.JobID, events.JobSuccess)
	case events.Failure:
		s.setJobOn(f.Lane, f.JobID, events.JobFailure)
	case events.Cancelled:
		s.setJobOn(f.Lane, f.JobID, events.JobCancelled)
	}
}

// setJobOn moves a job of a lane to a state: nobody has a say in the jobs of other lanes.
func (s *state) setJobOn(l events.Lane, id events.JobID, to events.JobState) {
	if j, ok := s.jobs[id]; ok && j.spec.Lane() == l {
		s.setJob(id, to)
	}
}

// setJob moves a job to a state unless it has ended.
func (s *state) setJob(id events.JobID, to events.JobState) {
	if j, ok := s.jobs[id]; ok && !j.state.Terminal() {
		j.state = to
		if to.Terminal() {
			s.retention.add(s.at)
			for _, r := range j.waiters {
				if s.open[r] > 0 {
					s.open[r]--
				}
			}
			j.waiters = nil
		}
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
