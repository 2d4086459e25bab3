package ledger

import (
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"time"

	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/rules/request"
)

// Outbox is what is said on GitHub, and what is to be said there.
type Outbox struct {
	// Comments are those with something left to do, and all reports.
	Comments map[events.OutboxKey]*Comment
	// Open are those with something left to do.
	Open map[events.OutboxKey]bool
	// Unreported are requests of pull requests that ended and have no report, with when the log stored that.
	Unreported map[events.RequestID]time.Time
	// Reported are the requests whose report compares an artifact.
	Reported map[ArtifactKey][]events.RequestID
	// Late are the requests whose report may not show their newest results.
	Late map[events.RequestID]News
}

// News are results that came after a report: the newest of them.
type News struct {
	Seq events.Seq
	At  time.Time
}

// Comment is one comment that is to stand on GitHub.
type Comment struct {
	// Seq is the last event about it, At the time of that.
	Seq events.Seq
	At  time.Time
	// Wanted is the newest revision. Its text is kept until it is written; Digest tells it from others.
	Wanted events.CommentWanted
	Digest events.Digest
	// WantedAt is when the first revision was wanted, Root where it began.
	WantedAt time.Time
	Root     string
	// Attempt counts the attempts at the newest revision. Instance made the last of them, while nothing is known of what
	// came of it. Until is when it is tried again.
	Attempt  int
	Instance string
	Until    time.Time
	// Posted is the revision that stands, 0 for none; ID is GitHub's number of the comment.
	Posted int
	ID     int64
	// Refused and Labelled are the newest revisions that were given up and whose labels are set.
	Refused, Labelled int
	Minimised         bool
}

// DigestOf tells the text of a comment from others.
func DigestOf(text string) events.Digest {
	sum := sha256.Sum256([]byte(text))
	return events.Digest(hex.EncodeToString(sum[:]))
}

// Written reports whether the newest revision stands or was given up.
func (c *Comment) Written() bool {
	return c.Posted >= c.Wanted.Revision || c.Refused >= c.Wanted.Revision
}

// Unlabelled reports whether the labels of the newest revision are still to be set. What is folded away asks for none.
func (c *Comment) Unlabelled() bool {
	return !c.Minimised && c.Labelled < c.Wanted.Revision && c.Refused < c.Wanted.Revision && len(c.Wanted.AddLabels)+len(c.Wanted.RemoveLabels) > 0
}

// idle reports whether nothing is left to do. A temporary comment that stands waits for its report.
func (c *Comment) idle() bool {
	return c.Written() && !c.Unlabelled() && (c.Minimised || !c.Wanted.Temporary || c.Posted == 0)
}

func newOutbox() Outbox {
	return Outbox{
		Comments: map[events.OutboxKey]*Comment{}, Open: map[events.OutboxKey]bool{}, Unreported: map[events.RequestID]time.Time{},
		Reported: map[ArtifactKey][]events.RequestID{}, Late: map[events.RequestID]News{},
	}
}

// foldOutbox applies a fact about a comment.
func (l *Ledger) foldOutbox(f events.OutboxFact, e events.Recorded) {
	o := &l.Outbox
	switch f := f.(type) {
	case events.CommentWanted:
		l.foldWanted(f, e)
	case events.CommentAttempted:
		o.change(f.Key, e, func(c *Comment) { c.Attempt, c.Instance, c.Until = f.Attempt, f.Instance, never })
	case events.CommentPosted:
		o.change(f.Key, e, func(c *Comment) { c.Posted, c.ID, c.Instance = f.Revision, f.CommentID, "" })
	case events.CommentPostponed:
		until, err := time.Parse(time.RFC3339, f.Until)
		if err != nil {
			until = never
		}
		o.change(f.Key, e, func(c *Comment) { c.Instance, c.Until = "", until })
	case events.CommentRefused:
		o.change(f.Key, e, func(c *Comment) { c.Refused, c.Instance = f.Revision, "" })
	case events.LabelsSet:
		o.change(f.Key, e, func(c *Comment) { c.Labelled = f.Revision })
	case events.CommentMinimised:
		o.change(f.Key, e, func(c *Comment) { c.Minimised = true })
	}
}

func (l *Ledger) foldWanted(f events.CommentWanted, e events.Recorded) {
	o := &l.Outbox
	c, known := o.Comments[f.Key]
	if !known {
		c = &Comment{WantedAt: e.Time, Root: e.Root}
		o.Comments[f.Key] = c
	}
	c.Wanted, c.Digest, c.Attempt, c.Instance, c.Until = f, DigestOf(f.Body), 0, "", never
	c.Seq, c.At = e.Seq, e.Time
	o.Open[f.Key] = true
	if f.Key != events.ReportKey(f.RequestID) {
		return
	}
	delete(o.Unreported, f.RequestID)
	// Results up to the event that caused the wish are in its text.
	if o.Late[f.RequestID].Seq <= e.Cause {
		delete(o.Late, f.RequestID)
	}
	r, ok := l.Requests[f.RequestID]
	if known || !ok {
		return
	}
	for _, tag := range []events.Tag{r.Artifact.Tag, r.Parent} {
		if tag != "" {
			key := ArtifactKey{r.Artifact.Suite, tag}
			o.Reported[key] = append(o.Reported[key], r.ID)
		}
	}
}

// change applies a fact about a comment that was wanted. Years of comments are a lot: of what is idle only reports are
// kept, which may have another revision, and without the text.
func (o *Outbox) change(key events.OutboxKey, e events.Recorded, change func(*Comment)) {
	c, ok := o.Comments[key]
	if !ok {
		return
	}
	change(c)
	c.Seq, c.At = e.Seq, e.Time
	if c.Written() {
		c.Wanted.Body = ""
	}
	o.Open[key] = true
	if !c.idle() {
		return
	}
	delete(o.Open, key)
	c.Wanted.AddLabels, c.Wanted.RemoveLabels = nil, nil
	if key != events.ReportKey(c.Wanted.RequestID) {
		delete(o.Comments, key)
	}
}

// passed notes an event that changes nothing.
func (o *Outbox) passed(on events.Subject, seq events.Seq) {
	if c, ok := o.Comments[events.OutboxKey(on.Last())]; ok && on.Family() == "outbox" {
		c.Seq = seq
	}
}

// foldUnreported notes a request that has just ended by itself: it is to be reported. Nobody reports those of other
// suites and of long ago.
func (l *Ledger) foldUnreported(r *request.Request) {
	o := &l.Outbox
	maps.DeleteFunc(o.Unreported, func(_ events.RequestID, at time.Time) bool { return l.stored.Sub(at) > keepNews })
	maps.DeleteFunc(o.Late, func(_ events.RequestID, n News) bool { return l.stored.Sub(n.At) > keepNews })
	if r.Kind == events.Release || r.State != events.StateCompleted && r.State != events.StateFailed {
		return
	}
	if _, reported := o.Comments[events.ReportKey(r.ID)]; !reported {
		o.Unreported[r.ID] = l.stored
	}
}

// measured notes that there are new results of an artifact.
func (o *Outbox) measured(of events.Artifact, n News) {
	for _, id := range o.Reported[KeyOf(of)] {
		o.Late[id] = n
	}
}

// finished notes that a job of a request has ended: one that has its report was repaired, or has optional jobs.
func (o *Outbox) finished(id events.RequestID, n News) {
	if _, reported := o.Comments[events.ReportKey(id)]; reported {
		o.Late[id] = n
	}
}
