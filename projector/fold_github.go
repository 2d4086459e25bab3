package projector

import (
	"time"

	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/readmodel"
)

// deliveryKey is the primary key of a delivery.
type deliveryKey struct {
	hook events.HookID
	id   events.DeliveryID
}

// foldDelivery applies a fact about a delivery of a webhook.
func (s *state) foldDelivery(m moment, f events.DeliveryFact) {
	switch f := f.(type) {
	case events.DeliveryReceived:
		s.deliveryReceived(m, f)
	case events.DeliveryHandled:
		s.deliveryHandled(m, f)
	case events.DeliveryPart:
		// The body stays in the archive.
	}
}

// foldOutbox applies a fact about a comment.
func (s *state) foldOutbox(m moment, f events.OutboxFact) {
	switch f := f.(type) {
	case events.CommentWanted:
		s.commentWanted(m, f)
	case events.CommentAttempted:
		s.commentAttempted(m, f)
	case events.CommentPosted:
		s.commentPosted(m, f)
	case events.CommentPostponed:
		s.commentPostponed(m, f)
	case events.CommentRefused:
		s.commentRefused(m, f)
	case events.LabelsSet:
		s.labelsSet(m, f)
	case events.CommentMinimised:
		s.commentMinimised(m, f)
	}
}

// deliveryReceived begins the row of a delivery. Only its first event counts: a redelivery is the same delivery.
func (s *state) deliveryReceived(m moment, f events.DeliveryReceived) {
	key := deliveryKey{f.Hook, f.Delivery}
	if s.deliveries[key] != nil || !storable(f.Hook) || !storable(f.Delivery) {
		s.refused++
		return
	}
	s.deliveries[key] = &deliveryRow{
		Hook: f.Hook, ID: f.Delivery, Event: f.Event, Size: int64(f.Size), ReceivedAt: m.at, ReceivedSeq: m.seq, Requests: []events.RequestID{},
	}
	s.dirtyDeliveries[key] = true
}

// deliveryHandled stores what came of a delivery, once.
func (s *state) deliveryHandled(m moment, f events.DeliveryHandled) {
	key := deliveryKey{f.Hook, f.Delivery}
	d := s.deliveries[key]
	if d == nil || d.HandledSeq != nil || f.Outcome == "" {
		s.refused++
		return
	}
	d.HandledAt, d.HandledSeq = pointer(m.at), pointer(m.seq)
	d.Outcome, d.Reason, d.Repo, d.Sender, d.SenderID, d.Command = f.Outcome, f.Reason, f.Repo, f.Sender, f.SenderID, f.Command
	if f.PR != 0 {
		d.PR = pointer(f.PR)
	}
	if f.Comment != 0 {
		d.Comment = pointer(f.Comment)
	}
	d.Requests = append(d.Requests, f.Requests...)
	s.dirtyDeliveries[key] = true
}

// commentWanted begins a comment, or gives it another text.
func (s *state) commentWanted(m moment, f events.CommentWanted) {
	c := s.outbox[f.Key]
	if f.Revision < 1 || c != nil && f.Revision <= c.Revision || !storable(f.Key) {
		s.refused++
		return
	}
	if c == nil {
		c = &outboxRow{Key: f.Key, WantedAt: m.at, WantedSeq: m.seq}
		s.outbox[f.Key] = c
	}
	c.Revision, c.Purpose, c.Repo, c.PR, c.RequestID = f.Revision, f.Purpose, f.Repo, f.PR, f.RequestID
	c.Body, c.Temporary, c.RevisedAt = f.Body, f.Temporary, m.at
	c.AddLabels, c.RemoveLabels = append([]string{}, f.AddLabels...), append([]string{}, f.RemoveLabels...)
	c.State, c.Attempts, c.Reason, c.Until = readmodel.CommentWanted, 0, "", nil
	s.commentChanged(m, c)
}

// comment returns the comment if a report is about its newest revision. It returns nil, and counts, if the comment or
// revision is unknown, or if the revision was replaced.
func (s *state) comment(key events.OutboxKey, revision int) *outboxRow {
	c := s.outbox[key]
	switch {
	case c == nil || revision > c.Revision:
		s.refused++
	case revision < c.Revision:
		s.stale++
	default:
		return c
	}
	return nil
}

func (s *state) commentChanged(m moment, c *outboxRow) {
	c.ChangedSeq = m.seq
	s.dirtyOutbox[c.Key] = true
}

func (s *state) commentAttempted(m moment, f events.CommentAttempted) {
	if c := s.comment(f.Key, f.Revision); c != nil {
		c.Attempts = f.Attempt
		s.commentChanged(m, c)
	}
}

// commentPosted stores that a comment is on GitHub. This counts for a replaced revision too: the comment is there, with
// an older text.
func (s *state) commentPosted(m moment, f events.CommentPosted) {
	c := s.outbox[f.Key]
	if c == nil || f.Revision > c.Revision || f.Revision <= c.PostedRevision {
		s.refused++
		return
	}
	c.CommentID, c.URL, c.PostedRevision, c.PostedAt = pointer(f.CommentID), f.URL, f.Revision, pointer(m.at)
	if f.Revision == c.Revision {
		c.State, c.Reason, c.Until = readmodel.CommentPosted, "", nil
	}
	settle(m, c)
	s.commentChanged(m, c)
}

// commentPostponed stores that a comment waits. One whose newest text is on GitHub keeps its state: only its labels, or
// the folding away, wait.
func (s *state) commentPostponed(m moment, f events.CommentPostponed) {
	c := s.comment(f.Key, f.Revision)
	if c == nil || c.State == readmodel.CommentMinimised {
		return
	}
	if c.PostedRevision < c.Revision {
		c.State = readmodel.CommentPostponed
	}
	c.Attempts, c.Reason, c.Until = f.Attempt, f.Reason, instant(f.Until)
	s.commentChanged(m, c)
}

// commentRefused gives a comment up. One whose newest text is on GitHub keeps its state, and says why the rest was
// given up.
func (s *state) commentRefused(m moment, f events.CommentRefused) {
	c := s.comment(f.Key, f.Revision)
	if c == nil || c.State == readmodel.CommentMinimised {
		return
	}
	if c.PostedRevision < c.Revision {
		c.State = readmodel.CommentRefused
	}
	c.Reason, c.Until = f.Reason, nil
	settle(m, c)
	s.commentChanged(m, c)
}

// settle notes when a comment was first posted or given up. Later texts change nothing: its reader had one.
func settle(m moment, c *outboxRow) {
	if c.LogSettledAt == nil {
		c.LogSettledAt = m.logged()
	}
}

func (s *state) labelsSet(m moment, f events.LabelsSet) {
	if c := s.comment(f.Key, f.Revision); c != nil {
		c.LabelsRevision = f.Revision
		if c.State == readmodel.CommentPosted {
			c.Reason, c.Until = "", nil // they said why the labels had to wait
		}
		s.commentChanged(m, c)
	}
}

// commentMinimised stores that a comment is folded away, or why it is not.
func (s *state) commentMinimised(m moment, f events.CommentMinimised) {
	c := s.outbox[f.Key]
	if c == nil || c.PostedRevision == 0 || c.State == readmodel.CommentMinimised {
		s.refused++
		return
	}
	c.Reason = f.Reason
	if f.Reason == "" {
		c.State, c.Until = readmodel.CommentMinimised, nil
	}
	s.commentChanged(m, c)
}

// instant reads a time that a writer gave; nil if a table cannot hold it.
func instant(text string) *time.Time {
	t, err := time.Parse(time.RFC3339, text)
	if err != nil || t.UTC().Year() < 1970 || t.UTC().Year() > 9999 {
		return nil
	}
	return pointer(t.UTC().Truncate(time.Microsecond))
}

// forgetGitHub drops the rows that the batch read and wrote. The next batch reads the rows that it names.
func (s *state) forgetGitHub() {
	clear(s.deliveries)
	clear(s.outbox)
}

// wantedGitHub names the rows of GitHub that a batch needs.
type wantedGitHub struct {
	hooks      []events.HookID
	deliveries []events.DeliveryID
	outbox     []events.OutboxKey
}

func (w *wantedGitHub) delivery(hook events.HookID, id events.DeliveryID) {
	if storable(hook) && storable(id) {
		w.hooks, w.deliveries = append(w.hooks, hook), append(w.deliveries, id)
	}
}

func (w *wantedGitHub) comment(key events.OutboxKey) {
	if storable(key) {
		w.outbox = append(w.outbox, key)
	}
}
