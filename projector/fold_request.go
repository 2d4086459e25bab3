package projector

import (
	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/readmodel"
	"github.com/tachobench/tacho/rules/job"
	"github.com/tachobench/tacho/rules/request"
)

// foldRequest applies a fact of a request's life.
func (s *state) foldRequest(m moment, f events.RequestFact) {
	switch f := f.(type) {
	case events.RequestCreated:
		s.requestCreated(m, f)
	case events.RequestArtifactsReady:
		s.artifactsReady(m, f)
	case events.RequestStarted:
		s.requestStarted(m, f)
	case events.JobsCreated:
		s.jobsCreated(m, f)
	case events.RequestExpansionFailed:
		s.expansionFailed(f)
	case events.RequestCompleted:
		s.endRequest(m, f.RequestID, events.StateCompleted, "")
	case events.RequestFailed:
		if r := s.endRequest(m, f.RequestID, events.StateFailed, f.Reason); r != nil {
			r.FailedJobs = f.FailedJobs
		}
	case events.RequestCancelled:
		if s.endRequest(m, f.RequestID, events.StateCancelled, f.Reason) != nil {
			s.cancelSamples(m, f)
		}
	case events.RequestCancelledWithJobs:
		s.cancelledWithJobs(m, f)
	case events.PriorityChanged:
		s.priorityChanged(m, f)
	case events.JobsWithdrawn:
		s.jobsWithdrawn(m, f)
	case events.RequestExpired:
		s.endRequest(m, f.RequestID, events.StateExpired, f.Reason)
	case events.RequestSuperseded:
		if r := s.endRequest(m, f.RequestID, events.StateSuperseded, "replaced by a newer request"); r != nil {
			r.SupersededBy = f.By
		}
	case events.RequestBuildFailed:
		if r := s.openRequest(f.RequestID); r != nil {
			r.Reason = f.Reason
		}
	case events.GraphCreated:
		s.graphCreated(m, f)
	case events.GraphCancelled:
		s.graphCancelled(m, f)
	case events.GraphEnded:
		s.graphEnded(m, f)
	case events.JobForced:
		s.jobForced(m, f)
	case events.JobReused:
		s.jobReused(m, f)
	case events.GraphProposed, events.GraphWanted, events.GraphRefused:
		// They are in the archive; JobsCreated tells what was made.
	}
}

// openRequest returns the request and marks it as changed; nil if it is unknown or has ended.
func (s *state) openRequest(id events.RequestID) *requestRow {
	r := s.requests[id]
	if r == nil || r.State.Terminal() {
		return nil
	}
	s.dirtyRequests[id] = true
	return r
}

func (s *state) requestCreated(m moment, f events.RequestCreated) {
	if s.requests[f.RequestID] != nil || !request.Begins(f) {
		s.refused++
		return
	}
	r := &requestRow{
		ID: f.RequestID, Kind: f.Kind, Suite: f.Suite, Tag: f.Tag, ParentTag: f.Parent, ReleasedOn: f.ReleasedOn,
		Key: f.Key, Parameters: f.Parameters, State: f.State, CreatedBy: m.actor, CreatedAt: m.at, CreatedSeq: m.seq, LogCreatedAt: m.logged(),
	}
	r.Account, r.Queue, r.Priority = f.Account, f.Queue, priority(f.Priority)
	r.Requires = append([]string{}, f.Requires...)
	if f.PR != 0 {
		r.PR = pointer(f.PR)
	}
	if f.Branch != "" || f.Graph != "" || len(f.Options) > 0 {
		r.Choice = &readmodel.Choice{Branch: f.Branch, Graph: f.Graph, Options: f.Options}
	}
	r.Named, r.Customised, r.Together = f.Definitions, f.Customised && f.Definitions != "", f.Together
	r.DefinitionsProblem = cleanText(f.DefinitionsProblem)
	if r.State == events.StateArtifactsReady {
		r.ArtifactsReadyAt, r.LogArtifactsAt = pointer(m.at), m.logged()
	}
	s.addRequest(r)
	s.dirtyRequests[r.ID] = true
	s.tags.Enter(r.Suite, r.Tag, r.State)
	s.touchQueue(m)
}

// priority returns a priority as the table has it: empty for normal.
func priority(p events.Priority) events.Priority {
	p, err := events.ParsePriority(string(p))
	if err != nil {
		return ""
	}
	return p
}

func (s *state) priorityChanged(m moment, f events.PriorityChanged) {
	if f.Graph != nil {
		s.graphPriorityChanged(m, f)
		return
	}
	if r := s.openRequest(f.RequestID); r != nil {
		r.Priority = priority(f.To)
		s.moveSamples(r)
		s.touchQueue(m)
	}
}

func (s *state) artifactsReady(m moment, f events.RequestArtifactsReady) {
	r := s.openRequest(f.RequestID)
	if r == nil || r.State != events.StateWaitingForArtifacts {
		return
	}
	s.tags.Leave(r.Suite, r.Tag, r.State)
	r.State, r.Tag, r.ParentTag, r.ArtifactsReadyAt, r.LogArtifactsAt = events.StateArtifactsReady, f.Tag, f.Parent, pointer(m.at), m.logged()
	r.Reason = "" // it said that an earlier build failed
	s.tags.Enter(r.Suite, r.Tag, r.State)
	s.touchQueue(m)
}

func (s *state) requestStarted(m moment, f events.RequestStarted) {
	r := s.openRequest(f.RequestID)
	if r == nil || r.State == events.StateInProgress {
		return
	}
	r.State, r.StartedAt, r.StartedSeq, r.LogStartedAt = events.StateInProgress, pointer(m.at), pointer(m.seq), m.logged()
	r.Definitions, r.JobsPlanned, r.BackfillPlanned, r.Reason = f.Definitions, f.Jobs, f.Backfill, ""
	if len(f.Requires) > 0 {
		r.Requires = append([]string{}, f.Requires...)
	}
	r.Template = f.Template
	s.startTemplate(r, f)
	s.touchQueue(m)
}

func (s *state) expansionFailed(f events.RequestExpansionFailed) {
	if r := s.openRequest(f.RequestID); r != nil {
		r.Reason = f.Reason
		if !f.Waits {
			r.ExpansionFailures = f.Failures
		}
	}
}

func (s *state) backfillAdmitted(f events.BackfillAdmitted) {
	if r := s.openRequest(f.RequestID); r != nil {
		r.BackfillPlanned += f.Jobs
	}
}

// endRequest ends a request and returns it; nil if it had ended before.
func (s *state) endRequest(m moment, id events.RequestID, to events.RequestState, reason string) *requestRow {
	r := s.openRequest(id)
	if r == nil {
		return nil
	}
	s.tags.Leave(r.Suite, r.Tag, r.State)
	s.tags.Enter(r.Suite, r.Tag, to)
	r.State, r.Reason, r.EndedAt, r.EndedSeq, r.LogEndedAt = to, reason, pointer(m.at), pointer(m.seq), m.logged()
	s.touchQueue(m)
	return r
}

// cancelledWithJobs ends a request as earlier versions did: its own jobs that are on no lane end with it. Those on a
// lane end there.
func (s *state) cancelledWithJobs(m moment, f events.RequestCancelledWithJobs) {
	if s.endRequest(m, f.RequestID, events.StateCancelled, f.Reason) == nil {
		return
	}
	var own []*jobRow
	for _, j := range s.jobs {
		if j.RequestID == f.RequestID {
			own = append(own, j)
		}
	}
	byCreation(own) // in a graph it matters which job ends first
	for _, j := range own {
		s.withdraw(m, j, f)
	}
}

// jobsWithdrawn ends jobs that are on no lane.
func (s *state) jobsWithdrawn(m moment, f events.JobsWithdrawn) {
	for _, id := range f.Jobs {
		if j := s.jobs[id]; j != nil {
			s.withdraw(m, j, f)
		}
	}
	s.touchQueue(m)
}

func (s *state) withdraw(m moment, j *jobRow, f events.RequestFact) {
	if life, counts := job.Live(j.life(), f, m.seq, m.at); counts {
		s.put(m, j, life)
	}
}

func (s *state) jobsCreated(m moment, f events.JobsCreated) {
	made := make([]bool, len(f.Jobs))
	for i, spec := range f.Jobs {
		j := pointer(newJob(spec, f.RequestID))
		j.Graphed = f.Graph != nil
		j.CreatedAt, j.CreatedSeq, j.Ordinal = m.at, m.seq, i
		j.LogReadyAt, j.Wished = m.logged(), f.Key != "" // a job that must wait for others is held below
		// The same job is never made twice, not even under another id.
		if _, known := s.identities[j.identity()]; known || s.jobs[j.ID] != nil || s.retired[j.ID] || j.Round < 0 {
			s.refused++
			continue
		}
		if !s.durations.Expect(j.sort()).Known {
			j.Cases = s.countCases(spec)
		}
		j.RunsCommands = s.runsCommands(spec)
		made[i] = true
		j.Near = s.near(j)
		s.enqueueSample(j, f.Graph)
		s.addJob(j)
		s.dirtyJobs[j.ID] = true
		if f.Key == "" && j.Sample == "" { // jobs that a repair runs again say nothing about the jobs of the next request
			s.growTemplate(j)
		}
	}
	if f.Graph != nil {
		s.jobsOfGraph(m, f, made)
	}
	s.touchQueue(m)
}

// newJob returns the row of a job to which nothing has happened yet.
func newJob(spec events.JobSpec, request events.RequestID) jobRow {
	list := func(names []string) []string { return append([]string{}, names...) }
	against := events.Tag("")
	if spec.Against != nil {
		against = spec.Against.Tag
	}
	row := jobRow{
		ID: spec.ID, RequestID: request, Suite: spec.Artifact.Suite, Tag: spec.Artifact.Tag,
		ArtifactKind: spec.Artifact.Kind, Kind: spec.Kind, Target: spec.Target, Set: spec.Set, Backend: spec.Backend,
		Profile: spec.Profile, Benchmarks: list(spec.Benchmarks), Measures: list(spec.Measures), Round: spec.Round, Optional: spec.Optional, Backfill: spec.Backfill,
		Definitions: spec.Definitions, State: events.JobQueued, Matched: spec.Matched, Requires: list(spec.Requires), Against: against, Caches: list(spec.Caches), Near: []string{},
		Sample: cleanText(spec.Sample), Iterations: spec.Iterations, Units: []events.Benchmark{}, Recipe: events.Digest(cleanText(string(spec.Recipe))), Outputs: []string{}, Built: readmodel.BuiltOf(spec),
	}
	row.divide(spec.Chunk)
	return row
}
