package reporter

import (
	"cmp"
	"slices"
	"time"

	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/rules/ledger"
	"github.com/tachobench/tacho/rules/request"
)

// ours returns a request that the reporter reports: it is about a pull request and of the suite. It leaves out the
// jobs, which the reporter does not need.
func (r *Reporter) ours(l *ledger.Ledger, id events.RequestID) (request.Request, bool) {
	known, ok := l.Requests[id]
	if !ok || known.PR <= 0 || known.Kind == events.Release || r.Suite != "" && known.Artifact.Suite != r.Suite {
		return request.Request{}, false
	}
	q := *known
	q.Jobs = nil
	return q, true
}

// dropped reports whether a request has ended and will get no report: it was not measured, or it ended too long ago.
func (r *Reporter) dropped(l *ledger.Ledger, id events.RequestID, now time.Time) bool {
	q, ours := r.ours(l, id)
	if !ours || !q.State.Terminal() {
		return false
	}
	if q.State != events.StateCompleted && q.State != events.StateFailed {
		return true
	}
	return l.Outbox.Comments[events.ReportKey(id)] == nil && now.Sub(q.EndedAt) > reportMaxAge
}

// over reports whether the request of a comment is over: its report is posted, or it will get none.
func (r *Reporter) over(l *ledger.Ledger, c *ledger.Comment, now time.Time) bool {
	if c.Wanted.RequestID == "" {
		return false
	}
	report, ok := l.Outbox.Comments[events.ReportKey(c.Wanted.RequestID)]
	return ok && report.Posted > 0 || r.dropped(l, c.Wanted.RequestID, now)
}

// leaves returns the labels of a comment that nothing else will remove: its request gets no report, and the pull
// request has no other pending request.
func (r *Reporter) leaves(c *ledger.Comment, now time.Time) (labels []string) {
	r.Ledger.View(func(l *ledger.Ledger) {
		if !r.dropped(l, c.Wanted.RequestID, now) {
			return
		}
		for id := range l.Pending {
			if q, ours := r.ours(l, id); ours && q.PR == c.Wanted.PR {
				return
			}
		}
		labels = c.Wanted.AddLabels
	})
	return labels
}

// task is the next thing to do for one comment.
type task int

const (
	// write posts the comment, or its new text.
	write task = iota
	// giveUp drops a temporary comment that comes too late and was certainly not written.
	giveUp
	// outdated drops a comment that no process has tried to write for too long.
	outdated
	// findLate finds out whether a temporary comment that comes too late was written nevertheless.
	findLate
	// label sets the labels of the pull request.
	label
	// minimise folds a temporary comment away.
	minimise
)

type todo struct {
	ledger.Comment
	task
}

// due returns what has to be done now, oldest first. It leaves the attempts of other instances alone until their
// lease ends.
func (r *Reporter) due(now time.Time, lease time.Duration) (out []todo) {
	r.Ledger.View(func(l *ledger.Ledger) {
		for key := range l.Outbox.Open {
			c := l.Outbox.Comments[key]
			if now.Before(c.Until) || c.Instance != "" && c.Instance != r.Instance && now.Sub(c.At) < lease {
				continue
			}
			if t, something := r.next(l, c, now); something {
				out = append(out, todo{*c, t})
			}
		}
	})
	slices.SortFunc(out, func(a, b todo) int { return cmp.Compare(a.Seq, b.Seq) })
	return out
}

// next returns what has to be done for a comment, if anything.
func (r *Reporter) next(l *ledger.Ledger, c *ledger.Comment, now time.Time) (task, bool) {
	written, late := c.Written(), c.Wanted.Temporary && r.over(l, c, now)
	switch {
	case !written && late && c.Attempt == 0:
		return giveUp, true
	case !written && late:
		return findLate, true
	case !written && c.Posted == 0 && c.Attempt == 0 && now.Sub(c.At) > reportMaxAge:
		return outdated, true
	case !written:
		return write, true
	case late && c.Posted > 0 && !c.Minimised:
		// Before the labels: what the report removed must not come back.
		return minimise, true
	case c.Unlabelled():
		return label, true
	}
	return 0, false
}
