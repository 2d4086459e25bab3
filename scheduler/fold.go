package scheduler

import (
	"slices"
	"time"

	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/job"
	"github.com/tachobench/tacho/request"
	"github.com/tachobench/tacho/suite"
)

// fold applies one event. It cannot fail: if the log says it, it happened.
func (s *state) fold(e events.Recorded) {
	s.seq = e.Seq
	s.versions[e.Fact.Subject()] = e.Seq
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
		if r, ok := s.requests[f.RequestID]; ok {
			_, s.backfilled[f.RequestID] = s.parentOf(r)
		}
	case events.JobsCreated:
		s.foldRequest(f.RequestID, f, e.Time)
		s.foldJobs(f)
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
	case events.BackfillAdmitted:
		s.backfilled[f.RequestID] = true
	case events.JobDispatched:
		s.foldDispatched(f)
	case events.JobDequeued:
		s.foldWork(f.Lane, f, e)
		s.setJob(f.Job.ID, events.JobInProgress)
	case events.JobFinished:
		s.foldWork(f.Lane, f, e)
		s.foldFinished(f)
	case events.AttemptLost:
		s.foldWork(f.Lane, f, e)
		s.setJob(f.JobID, events.JobQueued)
	case events.AttemptReleased:
		s.foldWork(f.Lane, f, e)
		s.setJob(f.JobID, events.JobQueued)
	case events.AttemptBegan, events.TestCasesMeasured, events.ErrorRecorded:
	case events.CollectorRegistered:
		c := s.collector(f.Name)
		c.lane, c.active = events.Lane{Target: f.Target, Set: f.Set}, true
	case events.CollectorActivated:
		c := s.collector(f.Name)
		c.active, c.draining, c.quarantined = true, false, false
	case events.CollectorDeactivated:
		s.collector(f.Name).active = false
	case events.CollectorOnline:
		c := s.collector(f.Name)
		c.online, c.instance, c.onlineAt, c.draining = true, f.Instance, e.Time, false
	case events.CollectorOffline:
		if c := s.collector(f.Name); c.instance == f.Instance {
			c.online = false
		}
	case events.CollectorDraining:
		s.collector(f.Name).draining = true
	case events.LaneAssigned:
		s.lane(f.Lane).collectors[f.Name] = true
	case events.LaneUnassigned:
		delete(s.lane(f.Lane).collectors, f.Name)
	case events.DefinitionsPublished:
		s.foldDefinitions(f)
	case events.CollectorQuarantined:
		s.collector(f.Name).quarantined = true
	case events.CollectorUpdating:
		if c := s.collector(f.Name); c.instance == f.Instance {
			c.online = false
		}
	case events.LaneTakenOver:
		s.lane(f.Lane).serving = f.Name
	case events.TryQueued, events.VersionWanted, events.JobsRetired, events.AlertRaised, events.AlertCleared,
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
	} else {
		s.pending[id] = &r
	}
	if r.Artifact.Tag != "" {
		key := artifactKey{r.Artifact.Suite, r.Artifact.Tag}
		if _, taken := s.byTag[key]; !taken {
			s.byTag[key] = id
		}
	}
}

func (s *state) foldJobs(f events.JobsCreated) {
	for _, spec := range f.Jobs {
		if _, exists := s.jobs[spec.ID]; exists {
			continue
		}
		s.jobs[spec.ID] = &jobState{spec: spec, state: events.JobQueued}
		lane := s.lane(spec.Lane())
		lane.queued[f.RequestID] = append(lane.queued[f.RequestID], spec.ID)
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
	}
}

func (s *state) foldDispatched(f events.JobDispatched) {
	lane := s.lane(f.Job.Lane())
	lane.places = max(lane.places, f.Place)
	lane.dispatched[f.Place] = f.Job.ID
	if j, ok := s.jobs[f.Job.ID]; ok {
		j.place = f.Place
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

func (s *state) foldWork(l events.Lane, f events.Fact, e events.Recorded) {
	lane := s.lane(l)
	lane.work = job.Evolve(lane.work, f, e.Seq, e.Time)
}

func (s *state) foldFinished(f events.JobFinished) {
	delete(s.lane(f.Lane).dispatched, f.Place)
	switch f.Outcome {
	case events.Success:
		s.setJob(f.JobID, events.JobSuccess)
	case events.Failure:
		s.setJob(f.JobID, events.JobFailure)
	case events.Cancelled:
		s.setJob(f.JobID, events.JobCancelled)
	}
}

// setJob moves a job to a state unless it has ended.
func (s *state) setJob(id events.JobID, to events.JobState) {
	if j, ok := s.jobs[id]; ok && !j.state.Terminal() {
		j.state = to
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
