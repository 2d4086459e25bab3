package readmodel

import (
	"cmp"
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/internal/phrase"
)

// StartReason is the closed set of reasons why a request has not started.
type StartReason string

// The reasons why a request has not started.
const (
	// StartNext means that no request of its queue comes before it.
	StartNext StartReason = "next"
	// StartArtifacts means that it waits for its artifacts.
	StartArtifacts StartReason = "artifacts"
	// StartRetried means that its jobs could not be made, and that this is tried again.
	StartRetried StartReason = "retried"
	// StartPaused means that its queue is paused.
	StartPaused StartReason = "paused"
	// StartInProgress means that its queue has as many requests of the tier in progress as it may.
	StartInProgress StartReason = "in_progress"
	// StartParent means that the request of its parent starts first.
	StartParent StartReason = "parent"
	// StartVIPs means that its account has as many vip requests in progress as it may.
	StartVIPs StartReason = "vips"
	// StartQueued means that its account or queue has as many jobs waiting as it may.
	StartQueued StartReason = "queued"
	// StartBehind means that other requests of its queue come before it.
	StartBehind StartReason = "behind"
)

// RequestWhy says why a request has not started.
type RequestWhy struct {
	Reason StartReason `json:"reason"`
	// Words say it with numbers.
	Words string `json:"words"`
	// Count is the number that the reason is about, Most is the limit that it has reached; 0 for none.
	Count int `json:"count,omitempty"`
	Most  int `json:"most,omitempty"`
}

// startRows are the rows that the start of a request depends on.
type startRows struct {
	request Request
	startCounts
}

// startCounts are counts about a request, and settings of its account and queue.
type startCounts struct {
	// InProgress counts the requests in progress in its queue and tier, VIPs those of its account in the vip tier.
	InProgress int `db:"in_progress"`
	VIPs       int `db:"vips"`
	// QueuedOf and QueuedIn count the jobs of its account and of its queue that wait for dispatch.
	QueuedOf int `db:"queued_of"`
	QueuedIn int `db:"queued_in"`
	// Before counts the requests of its queue and tier that are ready and come before it; Parents, those that it waits for.
	Before  int `db:"before"`
	Parents int `db:"parents"`
	// Paused and the limits are those of its queue, MaxVIP and MaxQueuedOf those of its account.
	Paused        bool `db:"paused"`
	MaxInProgress int  `db:"max_in_progress"`
	MaxQueuedIn   int  `db:"max_queued_in"`
	MaxQueuedOf   int  `db:"max_queued_of"`
	// MaxVIP is nil if its account was never configured.
	MaxVIP *int `db:"max_vip"`
}

// whyRequest reads why a request has not started; nil if it has.
func whyRequest(ctx context.Context, tx pgx.Tx, r Request) (*RequestWhy, error) {
	if r.State != events.StateWaitingForArtifacts && r.State != events.StateArtifactsReady {
		return nil, nil
	}
	counts, err := one[startCounts](ctx, tx, "why_request", r.ID)
	if err != nil {
		return nil, fmt.Errorf("why request %s has not started: %w", r.ID, err)
	}
	return startRows{r, counts}.why(), nil
}

// why returns why the request has not started; nil if its place in the main queue says it. How many requests of the main
// queue may be in progress is a setting of the scheduler, which the tables do not know.
func (r startRows) why() *RequestWhy {
	w := r.reason()
	if r.request.Queue != "" {
		return &w
	}
	switch w.Reason {
	case StartPaused, StartVIPs, StartQueued:
		return &w
	case StartNext, StartArtifacts, StartRetried, StartInProgress, StartParent, StartBehind:
	}
	return nil
}

// reason returns the first reason that holds.
func (r startRows) reason() RequestWhy {
	queue, account := shownQueue(r.request.Queue), r.request.Account
	tier := r.request.Priority.Tier()
	vips := events.UsualAccount(account).MaxVIP
	if r.MaxVIP != nil {
		vips = *r.MaxVIP
	}
	switch {
	case r.request.State == events.StateWaitingForArtifacts:
		return RequestWhy{Reason: StartArtifacts, Words: "it waits for its artifacts"}
	case r.Paused:
		return RequestWhy{Reason: StartPaused, Words: fmt.Sprintf("queue %s is paused", queue)}
	case r.MaxInProgress > 0 && r.InProgress >= r.MaxInProgress:
		return RequestWhy{StartInProgress, fmt.Sprintf("queue %s has %d of %s of tier %s in progress",
			queue, r.InProgress, phrase.Count(r.MaxInProgress, "request"), tier), r.InProgress, r.MaxInProgress}
	case account != "" && tier == events.TierVIP && r.VIPs >= vips:
		return RequestWhy{StartVIPs, fmt.Sprintf("account %s has %d of %s in progress", account, r.VIPs, phrase.Count(vips, "vip request")), r.VIPs, vips}
	case account != "" && r.MaxQueuedOf > 0 && r.QueuedOf >= r.MaxQueuedOf:
		return RequestWhy{StartQueued, fmt.Sprintf("account %s has %d of %s waiting", account, r.QueuedOf, phrase.Count(r.MaxQueuedOf, "job")), r.QueuedOf, r.MaxQueuedOf}
	case r.MaxQueuedIn > 0 && r.QueuedIn >= r.MaxQueuedIn:
		return RequestWhy{StartQueued, fmt.Sprintf("queue %s has %d of %s waiting", queue, r.QueuedIn, phrase.Count(r.MaxQueuedIn, "job")), r.QueuedIn, r.MaxQueuedIn}
	case r.request.ExpansionFailures > 0:
		return RequestWhy{Reason: StartRetried, Words: "its jobs could not be made: " + cmp.Or(r.request.Reason, "it is tried again"), Count: r.request.ExpansionFailures}
	case r.Parents > 0:
		return RequestWhy{Reason: StartParent, Words: "the request of its parent starts first", Count: r.Parents}
	case r.Before > 0:
		return RequestWhy{Reason: StartBehind, Words: fmt.Sprintf("%s before it in queue %s", phrase.Are(r.Before, "request"), queue), Count: r.Before}
	}
	return RequestWhy{Reason: StartNext, Words: fmt.Sprintf("it starts next in queue %s", queue)}
}
