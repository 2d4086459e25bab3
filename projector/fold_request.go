package projector

import "github.com/tachobench/tacho/events"

// openRequest returns the request if it can still change, and marks it as changed.
func (s *state) openRequest(id events.RequestID) *requestRow {
	r := s.requests[id]
	if r == nil || r.State.Terminal() {
		return nil
	}
	s.dirtyRequests[id] = true
	return r
}

func (s *state) requestCreated(m moment, f events.RequestCreated) {
	if s.requests[f.RequestID] != nil || f.State != events.WaitingForArtifacts && f.State != events.ArtifactsReady {
		s.refused++
		return
	}
	if _, err := events.ParseRequestKind(string(f.Kind)); err != nil {
		s.refused++
		return
	}
	r := &requestRow{
		ID: f.RequestID, Kind: f.Kind, Suite: f.Suite, Tag: f.Tag, Parent: f.Parent, ReleasedOn: f.ReleasedOn,
		Key: f.Key, Parameters: f.Parameters, State: f.State, CreatedBy: m.actor, CreatedAt: m.at, CreatedSeq: m.seq,
	}
	if f.PR != 0 {
		r.PR = pointer(f.PR)
	}
	if r.State == events.ArtifactsReady {
		r.ArtifactsReadyAt = pointer(m.at)
	}
	s.addRequest(r)
	s.dirtyRequests[r.ID] = true
	s.touchQueue(m)
}

func (s *state) artifactsReady(m moment, f events.RequestArtifactsReady) {
	r := s.openRequest(f.RequestID)
	if r == nil || r.State != events.WaitingForArtifacts {
		return
	}
	r.State, r.Tag, r.Parent, r.ArtifactsReadyAt = events.ArtifactsReady, f.Tag, f.Parent, pointer(m.at)
	r.Reason = "" // that an earlier build failed
	s.touchQueue(m)
}

func (s *state) requestStarted(m moment, f events.RequestStarted) {
	r := s.openRequest(f.RequestID)
	if r == nil || r.State == events.InProgress {
		return
	}
	r.State, r.StartedAt, r.StartedSeq = events.InProgress, pointer(m.at), pointer(m.seq)
	r.Definitions, r.Jobs, r.Backfill, r.Reason = f.Definitions, f.Jobs, f.Backfill, ""
	s.startTemplate(r, f)
	s.touchQueue(m)
}

func (s *state) expansionFailed(f events.RequestExpansionFailed) {
	if r := s.openRequest(f.RequestID); r != nil {
		r.ExpansionFailures, r.Reason = f.Failures, f.Reason
	}
}

func (s *state) backfillAdmitted(f events.BackfillAdmitted) {
	if r := s.openRequest(f.RequestID); r != nil {
		r.Backfill += f.Jobs
	}
}

// endRequest puts a request that has not ended into a terminal state, and returns it; nil when it had ended.
func (s *state) endRequest(m moment, id events.RequestID, to events.RequestState, reason string) *requestRow {
	r := s.openRequest(id)
	if r == nil {
		return nil
	}
	r.State, r.Reason, r.EndedAt, r.EndedSeq = to, reason, pointer(m.at), pointer(m.seq)
	s.ended[artifact{suite: r.Suite, tag: r.Tag}] = true
	s.touchQueue(m)
	return r
}

// requestCancelled ends the request and the jobs that were made for it. A job that runs is over as far as the
// request is concerned; its attempt goes on until its collector says so, and what it says then is late.
func (s *state) requestCancelled(m moment, f events.RequestCancelled) {
	if s.endRequest(m, f.RequestID, events.RequestStopped, f.Reason) == nil {
		return
	}
	for _, j := range s.jobs {
		if j.RequestID != f.RequestID || j.State.Terminal() {
			continue
		}
		j.State, j.Reason = events.JobCancelled, "its request was cancelled"
		j.FinishedAt, j.FinishedSeq = pointer(m.at), pointer(m.seq)
		s.dirtyJobs[j.ID] = true
	}
}

func (s *state) jobsCreated(m moment, f events.JobsCreated) {
	for i, spec := range f.Jobs {
		j := pointer(newJob(spec, f.RequestID))
		j.CreatedAt, j.CreatedSeq, j.Ordinal = m.at, m.seq, i
		// The same job is never made twice, by whatever id.
		if _, known := s.identities[j.identity()]; known || s.jobs[j.ID] != nil || s.retired[j.ID] || j.Round < 0 {
			s.refused++
			continue
		}
		if !s.durations.Expect(j.sort()).Known {
			j.Cases = s.countCases(spec)
		}
		s.addJob(j)
		s.dirtyJobs[j.ID] = true
		s.growTemplate(j)
	}
	s.touchQueue(m)
}

// newJob returns the row of a job that nothing has happened to.
func newJob(spec events.JobSpec, request events.RequestID) jobRow {
	benchmarks := spec.Benchmarks
	if benchmarks == nil {
		benchmarks = []string{}
	}
	return jobRow{
		ID: spec.ID, RequestID: request, Suite: spec.Artifact.Suite, Tag: spec.Artifact.Tag,
		ArtifactKind: spec.Artifact.Kind, Kind: spec.Kind, Target: spec.Target, Set: spec.Set, Backend: spec.Backend,
		Profile: spec.Profile, Benchmarks: benchmarks, Round: spec.Round, Optional: spec.Optional, Backfill: spec.Backfill,
		Definitions: spec.Definitions, State: events.JobQueued,
	}
}
