package ledger

import (
	"slices"

	"github.com/tachobench/tacho/events"
)

// A job rests when it has ended and is on no lane. A request holds its jobs in memory until the request has ended, all
// its jobs rest, and it has no open wish. A job that no request holds leaves the memory for the past (past.go). A later
// fact can bring it back: JobDispatched and JobsCreated carry its identity; for a wish the ledger expands the
// definitions that the request started with.

// Made reports whether a job was ever made.
func (l *Ledger) Made(id events.JobID) bool {
	_, ok := l.Jobs[id]
	return ok || l.Past.has(id)
}

// StateOf returns the state of a job; empty when it was never made.
func (l *Ledger) StateOf(id events.JobID) events.JobState {
	if j, ok := l.Jobs[id]; ok {
		return j.State
	}
	if j, ok := l.Past.job(events.JobSpec{ID: id}); ok {
		return j.State
	}
	return ""
}

// MakerOf returns the request that had a job made; empty when the job was never made.
func (l *Ledger) MakerOf(id events.JobID) events.RequestID {
	if j, ok := l.Jobs[id]; ok {
		return j.of.request
	}
	if j, ok := l.Past.job(events.JobSpec{ID: id}); ok {
		return j.of.request
	}
	return ""
}

// Find returns a job by its identity; nil when it was never made. A job of the past is a copy.
func (l *Ledger) Find(identity events.JobSpec) *Job {
	if j, ok := l.Jobs[identity.ID]; ok {
		return j
	}
	j, known := l.Past.job(identity)
	if known && j.chunk() != nil {
		j.Share = l.Chunks[identity.First()]
	}
	return j
}

// revive finds a job and takes it back into memory if it is in the past. It returns nil when the job was never made.
func (l *Ledger) revive(identity events.JobSpec) *Job {
	j := l.Find(identity)
	if j != nil && l.Past.forget(identity.ID) {
		j = l.names.job(j.Spec(), j.course)
		j.resting = true
		l.Jobs[identity.ID] = j
		l.reblock(identity.ID, 1)
		l.unspend(identity.ID)
	}
	return j
}

// hold notes that a request holds a job in memory.
func (l *Ledger) hold(j *Job, w Wanter) {
	j.wanters = l.names.wanters(j.wantedBy(), w)
	if !j.resting {
		l.busy[w.Request]++
	}
}

// rest notes whether a job rests now. A job can stop resting: a cancelled one may have been dispatched at the same
// time.
func (l *Ledger) rest(j *Job) {
	resting := j.State.Terminal() && !l.OnLane(j)
	if resting != j.resting {
		j.resting = resting
		for _, w := range j.wantedBy() {
			if resting {
				l.busy[w.Request]--
			} else {
				l.busy[w.Request]++
			}
		}
	}
	if !resting {
		return
	}
	for _, w := range slices.Clone(j.wantedBy()) {
		l.releaseJobs(w.Request)
	}
	l.bury(j)
}

// releaseJobs drops the jobs of a request that has ended, if all its jobs rest and it has no open wish.
func (l *Ledger) releaseJobs(id events.RequestID) {
	r, ok := l.Requests[id]
	if !ok || !r.State.Terminal() || len(r.Wishes) > 0 || l.busy[id] > 0 {
		return
	}
	delete(l.busy, id)
	for _, list := range [][]events.JobID{r.Jobs, r.Shared} {
		for _, job := range list {
			if j, ok := l.Jobs[job]; ok {
				if lane, ok := l.Lanes[j.Lane()]; ok {
					delete(lane.Entered, id)
				}
				left := slices.DeleteFunc(slices.Clone(j.wantedBy()), func(w Wanter) bool { return w.Request == id })
				j.wanters = &left
				l.bury(j)
			}
		}
	}
	over := *r
	over.Jobs, over.Shared = nil, nil
	l.Requests[id] = &over
	l.names.forget(string(id), string(r.Artifact.Tag))
}

// bury moves a job from memory into the past if it rests and no request holds it.
func (l *Ledger) bury(j *Job) {
	if !j.resting || slices.ContainsFunc(j.wantedBy(), func(w Wanter) bool { return l.Requests[w.Request] != nil }) {
		return
	}
	l.reblock(j.ID, -1)
	l.Past.add(j)
	delete(l.Jobs, j.ID)
	l.names.bury(*j.of)
	l.spend(j.ID)
}

// share notes that a starting request also holds jobs that other requests had made.
func (l *Ledger) share(id events.RequestID, jobs []events.JobID) {
	if slices.ContainsFunc(jobs, l.Past.has) {
		made, shared := l.expanded(id)
		for _, spec := range append(made, shared...) {
			if slices.Contains(jobs, spec.ID) {
				l.revive(spec)
			}
		}
	}
	for _, job := range jobs {
		l.wants(job, id, "")
	}
}

// expanded returns the jobs of a request that has started, in all their rounds, in the order in which a start makes
// them: made are those that this request had made, for its parent and itself; shared are those rounds that other
// requests had made. Of those that were switched off, and of its parent's, they are the ones that this request had made.
func (l *Ledger) expanded(id events.RequestID) (made, shared []events.JobSpec) {
	r, ok := l.Requests[id]
	if !ok || r.Definitions == "" {
		return nil, nil
	}
	x, _, err := l.Expansion(r)
	if err != nil {
		return nil, nil
	}
	mine := func(s events.JobSpec) bool { return s.RequestID == id }
	asked := append(x.Backfill, x.Own...)
	for i, spec := range append(asked, offJobs(x)...) {
		rounds := l.rounds(spec)
		if (i < len(x.Backfill) || i >= len(asked)) && !slices.ContainsFunc(rounds, mine) {
			continue
		}
		for _, round := range rounds {
			if mine(round) {
				made = append(made, round)
			} else {
				shared = append(shared, round)
			}
		}
	}
	return made, shared
}

// rounds returns all rounds of a job, from the first.
func (l *Ledger) rounds(first events.JobSpec) (all []events.JobSpec) {
	for spec := first; ; {
		j := l.Find(spec)
		if j == nil {
			return all
		}
		all = append(all, j.Spec())
		spec = j.Spec().Again()
	}
}

// recall gives a request back the jobs that it has released.
func (l *Ledger) recall(id events.RequestID) {
	r, ok := l.Requests[id]
	if !ok || !r.State.Terminal() || len(r.Jobs)+len(r.Shared) > 0 {
		return
	}
	back := *r
	take := func(specs []events.JobSpec) (ids []events.JobID) {
		for _, spec := range specs {
			l.hold(l.revive(spec), Wanter{Request: id, Looks: true})
			ids = append(ids, spec.ID)
		}
		return ids
	}
	made, shared := l.expanded(id)
	back.Jobs, back.Shared = take(made), take(shared)
	for _, job := range back.Jobs {
		if j := l.Jobs[job]; j.Place > 0 && !j.like.Matched {
			l.lane(j.Lane()).Entered[id] = true
		}
	}
	l.Requests[id] = &back
}

// artifactOf returns the artifact that a job measures; the zero value when the job was never made.
func (l *Ledger) artifactOf(id events.JobID) events.Artifact {
	if j, ok := l.Jobs[id]; ok {
		return j.of.artifact
	}
	j, ok := l.Past.job(events.JobSpec{ID: id})
	if !ok {
		return events.Artifact{}
	}
	r, ok := l.Requests[j.of.request]
	if !ok {
		return events.Artifact{}
	}
	a := r.Artifact
	if j.like.Backfill {
		a.Tag = r.Parent
	}
	return a
}
