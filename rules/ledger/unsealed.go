package ledger

import (
	"time"

	"github.com/tachobench/tacho/events"
)

// UnsealedFor is how long jobs that were refused because of their seals are news.
const UnsealedFor = 24 * time.Hour

// Unsealed are jobs that a collector refused because of their seals, all for one reason.
type Unsealed struct {
	// Job is the first of them, By the event that ended it.
	Job    events.JobID
	By     events.Seq
	Reason string
	// Last is when the log stored the end of the last one.
	Last time.Time
}

// foldUnsealed notes a job that was refused because of its seals. Many such jobs are one piece of news.
func (l *Ledger) foldUnsealed(f events.JobFinished, at events.Seq) {
	if f.Fault != events.ErrorSeal || f.Collector == "" {
		return
	}
	c := l.collector(f.Collector)
	if u := c.Unsealed; u == nil || u.Reason != f.Reason || l.stored.Sub(u.Last) >= UnsealedFor {
		c.Unsealed = &Unsealed{Job: f.JobID, By: at, Reason: f.Reason}
	}
	c.Unsealed.Last = l.stored
}
