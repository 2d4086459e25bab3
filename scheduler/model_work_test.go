package scheduler

import (
	"fmt"
	"slices"
	"strings"

	"github.com/tachobench/tacho/events"
)

func (l *lawyer) job(id events.JobID) *task {
	t, ok := l.jobs[id]
	if !ok {
		l.never(true, "job %s does not exist", id)
		return &task{tokens: []events.Seq{0}, measured: map[events.TestCase]bool{}}
	}
	return t
}

// current returns the job of the current attempt of a lane, which must have this token.
func (l *lawyer) current(name events.Lane, id events.JobID, token events.Seq) *task {
	t := l.job(id)
	l.never(l.lane(name).current != t, "the attempt of job %s is over", id)
	l.never(len(t.tokens) == 0 || t.tokens[len(t.tokens)-1] != token, "the attempt %d of job %s is not the current one", token, id)
	return t
}

// dispatch checks that a lane gets the next job in queue order, given what the writer had read.
func (l *lawyer) dispatch(e events.Recorded, f events.JobDispatched, seen events.Seq) {
	t, lane := l.job(f.Job.ID), l.lane(f.Job.Lane())
	lane.places++
	l.never(f.Place != lane.places, "place %d is dispatched after place %d", f.Place, lane.places-1)
	l.never(t.dispatched > 0, "job %s is dispatched twice", f.Job.ID)
	l.never(t.created > seen, "job %s is dispatched by somebody who cannot know it", f.Job.ID)
	l.never(t.ended > 0 && t.ended <= seen, "job %s is dispatched and has ended", f.Job.ID)
	unfinished := 0
	for _, other := range lane.jobs {
		if other.dispatched > 0 && (!other.done() || other.ended > seen) {
			unfinished++
		}
	}
	l.never(unfinished > 1, "job %s is dispatched while one waits on lane %s", f.Job.ID, f.Job.Lane())
	t.dispatched, t.place = e.Seq, f.Place
	l.never((f.Share != nil) != l.shared && (f.Share != nil || seen == e.Seq-1), "job %s is dispatched with the share %v", f.Job.ID, f.Share)
	if l.shared {
		l.never(f.Share != nil && !l.stands(t, f.Share), "job %s is charged to %+v, which has no request for it", f.Job.ID, f.Share)
		return
	}
	r := l.requests[t.spec.RequestID]
	for _, other := range lane.jobs {
		o := l.requests[other.spec.RequestID]
		if other.created > seen || other.dispatched > 0 || other.ended > 0 && other.ended <= seen || l.unwanted(other, seen) {
			continue
		}
		l.never(o == r && other.created <= t.created && l.before(lane, other, t), "job %s of the request is ahead of job %s on lane %s", other.spec.ID, f.Job.ID, f.Job.Lane())
		l.never(o != r && startedEarlier(o.beginning, r.beginning, o.facts, r.facts), "a job of %s is dispatched on lane %s, where %s has jobs and comes first", r.tag, f.Job.Lane(), o.tag)
	}
}

// stands reports whether a request of the account and queue wants the job.
func (l *lawyer) stands(t *task, s *events.Share) bool {
	for _, r := range l.requests {
		if r.facts.Account == s.Account && r.facts.Queue == s.Queue && (slices.Contains(r.own, t) || slices.Contains(r.backfill, t) || slices.Contains(r.stand, t)) {
			return true
		}
	}
	return false
}

// before reports whether a was made before b.
func (l *lawyer) before(lane *track, a, b *task) bool {
	for _, t := range lane.jobs {
		if t == a || t == b {
			return t == a
		}
	}
	return false
}

// startedEarlier is the queue order among requests in progress.
func startedEarlier(a, b events.Recorded, x, y events.RequestCreated) bool {
	switch {
	case !a.Time.Equal(b.Time):
		return a.Time.Before(b.Time)
	case x.PR != y.PR:
		return x.PR < y.PR
	}
	return x.RequestID < y.RequestID
}

func (l *lawyer) dequeue(e events.Recorded, f events.JobDequeued) {
	t, lane := l.job(f.Job.ID), l.lane(f.Lane)
	l.never(lane.current != nil, "job %s is dequeued while another attempt is current on lane %s", f.Job.ID, f.Lane)
	l.never(t.dispatched == 0 || t.place != f.Place, "job %s is dequeued at place %d", f.Job.ID, f.Place)
	l.never(t.done(), "job %s is dequeued and has ended", f.Job.ID)
	if f.Place != lane.place {
		l.never(f.Place != lane.place+1, "place %d of lane %s follows place %d", f.Place, f.Lane, lane.place)
		for _, other := range lane.jobs {
			l.never(other.place > 0 && other.place == lane.place && !other.done(), "job %s is dequeued before %s has ended", f.Job.ID, other.spec.ID)
		}
	}
	t.attempts++
	l.never(f.Attempt != t.attempts, "attempt %d of job %s is its %d.", f.Attempt, f.Job.ID, t.attempts)
	l.never(f.Lost != t.lost, "job %s was lost %d times and not %d", f.Job.ID, t.lost, f.Lost)
	l.never(t.lost >= l.attempts, "job %s is executed after %d crashes", f.Job.ID, t.lost)
	t.tokens = append(t.tokens, e.Seq)
	lane.place, lane.current = f.Place, t
}

// done reports whether a job ended on its lane. A job that was cancelled while it was being dispatched has ended, but
// must still end on its lane.
func (t *task) done() bool { return t.over > t.dispatched }

func (l *lawyer) finish(e events.Recorded, f events.JobFinished, seen events.Seq) {
	t, lane := l.job(f.JobID), l.lane(f.Lane)
	l.never(t.done(), "job %s ends twice", f.JobID)
	l.never(t.dispatched == 0 || t.place != f.Place, "job %s ends at place %d", f.JobID, f.Place)
	l.never(f.Attempt != t.attempts || f.Lost != t.lost, "job %s ends in attempt %d with %d losses; it had %d and %d", f.JobID, f.Attempt, f.Lost, t.attempts, t.lost)
	if f.Token != 0 {
		l.current(f.Lane, f.JobID, f.Token)
	} else {
		l.never(lane.current != nil, "job %s ends without an attempt while one is current", f.JobID)
		l.never(f.Outcome == events.Success, "job %s succeeds without an attempt", f.JobID)
		l.never(f.Outcome == events.Failure && t.lost < l.attempts, "job %s fails unexecuted after %d crashes", f.JobID, t.lost)
	}
	l.never(f.Outcome == events.Cancelled && t.ended == 0 && !l.unwanted(t, seen), "job %s is cancelled and somebody wants it", f.JobID)
	l.never(f.Fault == events.ErrorTransient && !t.transient, "job %s fails of transient errors that nobody saw", f.JobID)
	lane.place, lane.current = f.Place, nil
	if t.ended == 0 {
		t.ended, t.outcome, t.fault, t.endedAt = e.Seq, f.Outcome, f.Fault, e.Time
	}
	t.over = e.Seq
}

// words returns the newest events as text, one per line.
func (l *lawyer) words(n int) string {
	var b strings.Builder
	for _, e := range l.log[max(0, len(l.log)-n):] {
		fmt.Fprintf(&b, "%4d %s %-9s %-22s %.240s\n", e.Seq, e.Time.Format("Jan 2 15:04:05"), e.Actor,
			strings.TrimSuffix(events.TypeOf(e.Fact), ".v1"), inWords(e.Fact))
	}
	return b.String()
}

func inWords(f events.Fact) string {
	// The others are short enough.
	//exhaustive:ignore
	switch f := f.(type) {
	case events.DefinitionsPublished:
		return string(f.Digest)
	case events.RequestStarted:
		return fmt.Sprintf("%s with %d jobs, %d for its parent, shared %s", f.RequestID, f.Jobs, f.Backfill, f.Shared)
	case events.JobsCreated:
		var jobs []string
		for _, spec := range f.Jobs {
			jobs = append(jobs, jobInWords(spec))
		}
		return fmt.Sprintf("%s: %s", f.RequestID, strings.Join(jobs, ", "))
	case events.JobDispatched:
		return fmt.Sprintf("%s at place %d of %s", jobInWords(f.Job), f.Place, f.Job.Lane())
	case events.JobDequeued:
		return fmt.Sprintf("%s at place %d of %s: attempt %d by %s", f.Job.ID, f.Place, f.Lane, f.Attempt, f.Collector)
	}
	return fmt.Sprintf("%+v", f)
}

func jobInWords(spec events.JobSpec) string {
	return fmt.Sprintf("%s %s(%s/%s of %s)", spec.Lane(), spec.ID, spec.Kind, spec.Profile, spec.Artifact.Tag)
}
