package ledger

import (
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"time"

	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/rules/request"
)

// Outbox holds the comments for GitHub: posted ones and those still to be posted.
type Outbox struct {
	// Comments are those with work left to do, and all reports.
	Comments map[events.OutboxKey]*Comment
	// Open are those with work left to do.
	Open map[events.OutboxKey]bool
	// Unreported are requests of pull requests that have ended without a report yet, with the time when the log stored
	// their end.
	Unreported map[events.RequestID]time.Time
	// Reported are the requests whose report compares an artifact.
	Reported map[ArtifactKey][]events.RequestID
	// Late are the requests whose report may lack their newest results.
	Late map[events.RequestID]News
}

// News is the newest result that came after a report.
type News struct {
	Seq events.Seq
	At  time.Time
}

// Comment is one comment for GitHub.
type Comment struct {
	// Seq is the last event about it, At the time of that event.
	Seq events.Seq
	At  time.Time
	// Wanted is the newest revision. Its text is kept until it is written. Digest identifies the text.
	Wanted events.CommentWanted
	Digest events.Digest
	// WantedAt is when the first revision was wanted, Root where that began.
	WantedAt time.Time
	Root     string
	// Attempt counts the attempts to write the newest revision. Instance is the process that made the last one; it is
	// empty once the outcome is known. Until is when the reporter tries again.
	Attempt  int
	Instance string
	Until    time.Time
	// Posted is the revision that is on GitHub, 0 for none. ID is GitHub's number of the comment.
	Posted int
	ID     int64
	// Refused is the newest revision that was given up, Labelled the newest one whose labels are set.
	Refused, Labelled int
	Minimised         bool
}

// DigestOf returns the SHA-256 of a comment's text.
func DigestOf(text string) events.Digest {
	sum := sha256.Sum256([]byte(text))
	return events.Digest(hex.EncodeToString(sum[:]))
}

// Written reports whether the newest revision was posted or given up.
func (c *Comment) Written() bool {
	return c.Posted >= c.Wanted.Revision || c.Refused >= c.Wanted.Revision
}

// Unlabelled reports whether the labels of the newest revision must still be set. A minimised comment needs none.
func (c *Comment) Unlabelled() bool {
	return !c.Minimised && c.Labelled < c.Wanted.Revision && c.Refused < c.Wanted.Revision && len(c.Wanted.AddLabels)+len(c.Wanted.RemoveLabels) > 0
}

// idle reports whether no work is left. A temporary comment that was posted waits for its report, so it is not idle.
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
	// The text includes all results up to the event that caused it.
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

// change applies a fact about a wanted comment. Years of comments need much memory: of the idle ones only reports are
// kept, because they may get another revision, and without their text.
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

// passed notes the sequence of litter on the subject of a comment.
func (o *Outbox) passed(on events.Subject, seq events.Seq) {
	if c, ok := o.Comments[events.OutboxKey(on.Last())]; ok && on.Family() == "outbox" {
		c.Seq = seq
	}
}

// forgetEvery is after how many events the ledger looks through all that waits for a report. It is prime, so a log whose events come in a
// pattern meets it.
const forgetEvery = 997

// forget drops what waits for a report for longer than keepNews: no part reports that, nor what is of other suites. It looks at
// each forgetEvery-th event.
func (o *Outbox) forget(seq events.Seq, now time.Time) {
	if seq%forgetEvery != 0 {
		return
	}
	maps.DeleteFunc(o.Unreported, func(_ events.RequestID, at time.Time) bool { return now.Sub(at) > keepNews })
	maps.DeleteFunc(o.Late, func(_ events.RequestID, n News) bool { return now.Sub(n.At) > keepNews })
}

// foldUnreported notes that a request has just ended by itself and needs a report.
func (l *Ledger) foldUnreported(r *request.Request) {
	o := &l.Outbox
	if r.Kind == events.Release || r.State != events.StateCompleted && r.State != events.StateFailed {
		return
	}
	if _, reported := o.Comments[events.ReportKey(r.ID)]; !reported {
		o.Unreported[r.ID] = l.stored
	}
}

// measured notes that an artifact has new results.
func (o *Outbox) measured(of events.Artifact, n News) {
	for _, id := range o.Reported[KeyOf(of)] {
		o.Late[id] = n
	}
}

// finished notes that a job of a request has ended. If the request already has its report, it was repaired or has
// optional jobs.
func (o *Outbox) finished(id events.RequestID, n News) {
	if _, reported := o.Comments[events.ReportKey(id)]; reported {
		o.Late[id] = n
	}
}
