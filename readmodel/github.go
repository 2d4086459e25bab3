package readmodel

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/tachobench/tacho/events"
)

// Delivery is one row of delivery: something that GitHub delivered, and what came of it. Most of its texts were chosen
// by the author of the comment or commit: do not trust them.
type Delivery struct {
	Hook events.HookID     `db:"hook" json:"hook"`
	ID   events.DeliveryID `db:"delivery" json:"delivery"`
	// Event is GitHub's name for what happened, such as "issue_comment".
	Event string `db:"event" json:"event"`
	// Size is the size of the body, in bytes.
	Size        int64      `db:"size" json:"size"`
	ReceivedAt  time.Time  `db:"received_at" json:"received_at"`
	ReceivedSeq events.Seq `db:"received_seq" json:"received_seq"`
	// HandledAt and HandledSeq are nil, and Outcome is empty, until the delivery is handled.
	HandledAt  *time.Time             `db:"handled_at" json:"handled_at"`
	HandledSeq *events.Seq            `db:"handled_seq" json:"handled_seq"`
	Outcome    events.DeliveryOutcome `db:"outcome" json:"outcome"`
	// Reason says in words why it has this outcome.
	Reason string          `db:"reason" json:"reason"`
	Repo   events.RepoName `db:"repo" json:"repo"`
	// PR and Comment are nil if the delivery is about none.
	PR       *int   `db:"pr" json:"pr"`
	Comment  *int64 `db:"comment" json:"comment"`
	Sender   string `db:"sender" json:"sender"`
	SenderID int64  `db:"sender_id" json:"sender_id"`
	// Command is the command as the bot understood it.
	Command string `db:"command" json:"command"`
	// Requests are the requests that the delivery created or changed.
	Requests []events.RequestID `db:"requests" json:"requests"`
}

// Handled reports whether the delivery was handled.
func (d Delivery) Handled() bool { return d.HandledSeq != nil }

// CommentState is the closed set of states of a comment in the outbox.
type CommentState string

// The states of a comment.
const (
	// CommentWanted means that the comment, or its newest text, is not written yet.
	CommentWanted CommentState = "wanted"
	// CommentPostponed means that GitHub did not take it; the reporter tries again.
	CommentPostponed CommentState = "postponed"
	// CommentPosted means that it is on GitHub with its newest text.
	CommentPosted CommentState = "posted"
	// CommentRefused means that the reporter gave its newest text up.
	CommentRefused CommentState = "refused"
	// CommentMinimised means that it is on GitHub and folded away.
	CommentMinimised CommentState = "minimised"
)

// CommentStates returns all states of a comment.
func CommentStates() []CommentState {
	return []CommentState{CommentWanted, CommentPostponed, CommentPosted, CommentRefused, CommentMinimised}
}

// Comment is one row of outbox: a comment that Tacho wants on GitHub, and how far it came.
type Comment struct {
	Key events.OutboxKey `db:"key" json:"key"`
	// Revision is the revision of Body; PostedRevision is the one on GitHub, LabelsRevision the one whose labels are
	// set. 0 is none.
	Revision       int                   `db:"revision" json:"revision"`
	PostedRevision int                   `db:"posted_revision" json:"posted_revision"`
	LabelsRevision int                   `db:"labels_revision" json:"labels_revision"`
	Purpose        events.CommentPurpose `db:"purpose" json:"purpose"`
	Repo           events.RepoName       `db:"repo" json:"repo"`
	PR             int                   `db:"pr" json:"pr"`
	// RequestID is the request that the comment is about; empty if there is none.
	RequestID events.RequestID `db:"request_id" json:"request_id"`
	// Body is GitHub's Markdown.
	Body string `db:"body" json:"body"`
	// Temporary comments are folded away once the report of their request is on GitHub.
	Temporary    bool         `db:"temporary" json:"temporary"`
	AddLabels    []string     `db:"add_labels" json:"add_labels"`
	RemoveLabels []string     `db:"remove_labels" json:"remove_labels"`
	State        CommentState `db:"state" json:"state"`
	// Attempts counts the attempts at the newest revision.
	Attempts int `db:"attempts" json:"attempts"`
	// Reason says why the comment, its labels or its folding away were postponed or refused.
	Reason string `db:"reason" json:"reason"`
	// Until is when the reporter tries again; nil if it does not.
	Until *time.Time `db:"until" json:"until"`
	// CommentID is GitHub's number and URL its address; nil and empty until it is on GitHub.
	CommentID *int64 `db:"comment_id" json:"comment_id"`
	URL       string `db:"url" json:"url"`
	// WantedAt is when the comment was first wanted, RevisedAt when it was wanted with this text, PostedAt when the text
	// on GitHub was written.
	WantedAt  time.Time  `db:"wanted_at" json:"wanted_at"`
	WantedSeq events.Seq `db:"wanted_seq" json:"wanted_seq"`
	RevisedAt time.Time  `db:"revised_at" json:"revised_at"`
	PostedAt  *time.Time `db:"posted_at" json:"posted_at"`
	// LogSettledAt is when it was first posted, or given up, by the clock of the log.
	LogSettledAt *time.Time `db:"log_settled_at" json:"-"`
	// ChangedSeq is the newest event about it.
	ChangedSeq events.Seq `db:"changed_seq" json:"changed_seq"`
}

// DeliveryFilter selects deliveries; a zero field selects all.
type DeliveryFilter struct {
	ID      events.DeliveryID
	Outcome events.DeliveryOutcome
	// Waiting selects the deliveries that are not handled yet.
	Waiting bool
	PR      int
	// Before selects deliveries that came before the event of this sequence. Use it to page backwards.
	Before events.Seq
	// Limit bounds the list; 0 means 100.
	Limit int
}

// Deliveries returns the deliveries that the filter selects, newest first.
func (r *Reader) Deliveries(ctx context.Context, f DeliveryFilter) ([]Delivery, error) {
	return all[Delivery](ctx, r.pool, "deliveries", pgx.NamedArgs{
		"id": f.ID, "outcome": f.Outcome, "waiting": f.Waiting, "pr": f.PR, "before": f.Before, "limit": limit(f.Limit),
	})
}

// Delivery returns one delivery, or ErrNotFound.
func (r *Reader) Delivery(ctx context.Context, hook events.HookID, id events.DeliveryID) (Delivery, error) {
	d, err := one[Delivery](ctx, r.pool, "delivery", hook, id)
	if err != nil {
		return d, fmt.Errorf("delivery %s of hook %s: %w", id, hook, err)
	}
	return d, nil
}

// DeliveryBody returns the body of a delivery as it is in the archive.
func (r *Reader) DeliveryBody(ctx context.Context, hook events.HookID, id events.DeliveryID) ([]byte, error) {
	// Its subject holds only the delivery, the parts of a large body, and DeliveryHandled.
	const most = 1000
	list, err := r.Events(ctx, EventFilter{Subject: events.DeliverySubject(hook, id), Limit: most})
	if err != nil {
		return nil, err
	}
	slices.Reverse(list)
	var body []byte
	for _, e := range list {
		var piece struct {
			Raw     []byte          `json:"raw"`
			Payload json.RawMessage `json:"payload"`
		}
		if e.Parked != "" {
			continue
		}
		if err := json.Unmarshal(e.Data, &piece); err != nil {
			return nil, fmt.Errorf("body of delivery %s in event %d: %w", id, e.Seq, err)
		}
		body = append(append(body, piece.Payload...), piece.Raw...)
	}
	return body, nil
}

// CommentFilter selects comments of the outbox; a zero field selects all.
type CommentFilter struct {
	State   CommentState
	PR      int
	Request events.RequestID
	// Before selects comments that were first wanted before the event of this sequence. Use it to page backwards.
	Before events.Seq
	// Limit bounds the list; 0 means 100.
	Limit int
}

// Comments returns the comments that the filter selects, the last wanted first.
func (r *Reader) Comments(ctx context.Context, f CommentFilter) ([]Comment, error) {
	return all[Comment](ctx, r.pool, "comments", pgx.NamedArgs{
		"state": f.State, "pr": f.PR, "request": f.Request, "before": f.Before, "limit": limit(f.Limit),
	})
}

// Comment returns one comment of the outbox, or ErrNotFound.
func (r *Reader) Comment(ctx context.Context, key events.OutboxKey) (Comment, error) {
	c, err := one[Comment](ctx, r.pool, "comment", key)
	if err != nil {
		return c, fmt.Errorf("comment %s: %w", key, err)
	}
	return c, nil
}
