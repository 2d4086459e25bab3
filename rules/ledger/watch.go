package ledger

import (
	"slices"
	"time"

	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/rules/queue"
	"github.com/tachobench/tacho/rules/request"
)

// never is the time of something that did not happen.
var never time.Time

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// noteUnserved notes since when a lane has waiting jobs but no takers.
func (l *Ledger) noteUnserved(name events.Lane) {
	if _, pool := name.Pool(); pool || name == (events.Lane{}) {
		return // what waits for machines is noted by class
	}
	lane := l.lane(name)
	switch unserved := lane.Takers == 0 && (len(lane.Queued) > 0 || lane.Work.Ahead() > 0); {
	case !unserved:
		lane.Unserved = never
	case lane.Unserved.IsZero():
		lane.Unserved, lane.UnservedBy = l.stored, l.Seq
	}
}

// movedOn notes that a lane's work made progress.
func (l *Ledger) movedOn(name events.Lane) {
	l.Moved = later(l.Moved, l.stored)
	l.noteUnserved(name)
}

// foldMoved notes whether a fact that counts on the work of a lane is progress. The end of an attempt that does not end
// its job is none.
func (l *Ledger) foldMoved(f events.WorkFact) {
	switch f.(type) {
	case events.JobDequeued, events.JobFinished:
		l.movedOn(f.Where())
	case events.AttemptLost, events.AttemptReleased, events.JobMoved:
		l.noteUnserved(f.Where())
	}
}

// foldPoison notes a request that failed because it could not be turned into jobs.
func (l *Ledger) foldPoison(id events.RequestID) {
	r, ok := l.Requests[id]
	if !ok || r.Troubles().Failures < request.QuarantineAfter {
		return
	}
	if _, known := l.Poison[id]; !known {
		l.Poison[id] = Poison{Suite: r.Artifact.Suite, Tag: r.Artifact.Tag, Reason: r.Troubles().Error, At: l.stored, Cause: l.Seq}
	}
}

// mendPoison notes that a suite has new definitions.
func (l *Ledger) mendPoison(name events.SuiteName) {
	for id, p := range l.Poison {
		if p.Suite == name {
			p.Resolved = true
			l.Poison[id] = p
		}
	}
}

// foldRaised notes a new alert, or the new text of one that stands.
func (l *Ledger) foldRaised(f events.AlertRaised) {
	a, stands := l.Alerts[f.Key]
	if !stands {
		a.At, a.Seq = l.stored, l.Seq
	}
	a.AlertRaised = f
	l.Alerts[f.Key] = a
	if f.Kind == events.AlertUnreachable {
		l.Unreachable = l.stored
	}
}

// Lengths holds how long the last jobs took, by sort. An estimate may fall back on jobs that are only similar; an alarm
// may not. The length of a sort without a job of its own is unknown, and an unknown length raises no alarm.
type Lengths map[queue.Sort][]time.Duration

// Expect returns the median of the last jobs of a sort; unknown when there are none.
func (l Lengths) Expect(s queue.Sort) queue.Expected {
	list := l[s]
	if len(list) == 0 {
		return queue.Expected{}
	}
	sorted := slices.Sorted(slices.Values(list))
	low, high := sorted[(len(sorted)-1)/2], sorted[len(sorted)/2]
	return queue.Known(low + (high-low)/2)
}
