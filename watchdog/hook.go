package watchdog

import (
	"context"
	"encoding/json"
	"log/slog"
	"time"

	"github.com/tachobench/tacho/eventlog"
	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/internal/posting"
)

// maxPause bounds the pauses between posts that fail.
const maxPause = time.Minute

// Hook posts every alert that is raised or cleared, by whatever part, to a URL. It posts in the order of the log, and
// each one again and again until the receiver answers 2xx. It keeps its own place in the log in a file: what was raised
// while it did not run is delivered later. What was raised before its first start is never delivered.
type Hook struct {
	// URL is where to post. It may hold a token, and is never logged.
	URL string
	// Link is the address of the pages, for the reader of the message; may be empty.
	Link string
	// Place is the file that holds how far the hook has come.
	Place string

	urgent chan posting.Post
	// timeout bounds one post; pause is the pause after the first failed post.
	timeout, pause time.Duration
}

// NewHook returns a hook that posts to a URL and keeps in the file place how far it has come.
func NewHook(url, link, place string) *Hook {
	return &Hook{URL: url, Link: link, Place: place, urgent: make(chan posting.Post, 1), timeout: posting.Timeout, pause: posting.FirstPause}
}

// Notice is what the hook posts, as JSON.
type Notice struct {
	Key     events.AlertKey  `json:"key"`
	Kind    events.AlertKind `json:"kind"`
	About   string           `json:"about"`
	Message string           `json:"message"`
	Action  string           `json:"action"`
	// State is "raised" or "cleared"; Reason says why it was cleared.
	State  string    `json:"state"`
	Reason string    `json:"reason,omitempty"`
	Time   time.Time `json:"time"`
	// Seq is the event in the log; 0 if the log does not have it yet.
	Seq events.Seq `json:"seq"`
	URL string     `json:"url,omitempty"`
}

func newNotice(a events.AlertRaised, at time.Time) Notice {
	return Notice{Key: a.Key, Kind: a.Kind, About: a.About, Message: a.Message, Action: a.Action, State: "raised", Time: at.UTC()}
}

// tell posts a notice that is not in the log, as soon as possible. A nil hook does nothing.
func (h *Hook) tell(n Notice) {
	if h == nil {
		return
	}
	p, err := h.postOf(n)
	if err != nil {
		return
	}
	select {
	case h.urgent <- p:
	default: // one about the same waits already
	}
}

func (h *Hook) postOf(n Notice) (posting.Post, error) {
	n.URL = h.Link
	body, err := json.Marshal(n)
	return posting.Post{Seq: n.Seq, Body: body}, err
}

func (h *Hook) run(ctx context.Context, log eventlog.Log, logger *slog.Logger, metrics *Metrics, newer func(*events.NewerError)) error {
	line := posting.New(posting.Config{
		What: "the webhook of alerts", URL: h.URL, Agent: "tacho-watchdog", Place: h.Place, Log: log, Take: (&notices{Hook: h, log: log}).take,
		Note: func(_ context.Context, _ posting.Post, outcome error) {
			result := "delivered"
			if outcome != nil {
				result = "failed"
			}
			metrics.posts.WithLabelValues(result).Inc()
		},
		Newer: newer, Timeout: h.timeout, FirstPause: h.pause, MaxPause: maxPause, Logger: logger,
	}, h.urgent)
	return line.Run(ctx)
}

// notices makes posts of the events of a log, for one run.
type notices struct {
	*Hook
	log eventlog.Log
	// reader recognises litter.
	reader events.Reader
}

// take returns the post about an alert; false for other events.
func (s *notices) take(ctx context.Context, m events.Stored) (p posting.Post, ok bool, err error) {
	if m.Subject.Family() != "alert" {
		return p, false, nil
	}
	e, litter, err := s.reader.Understand(m)
	if err != nil || litter != "" {
		return p, false, err
	}
	var n Notice
	// The aggregate has only these two facts.
	//exhaustive:ignore
	switch f := e.Fact.(type) {
	case events.AlertRaised:
		n = newNotice(f, e.Time)
		n.Seq = e.Seq
	case events.AlertCleared:
		if n, err = s.cleared(ctx, f, e); err != nil {
			return p, false, err
		}
	default:
		return p, false, nil
	}
	p, err = s.postOf(n)
	return p, true, err
}

// cleared returns the notice for an alert that is over. The event has only the key, so the rest is read from the log.
func (s *notices) cleared(ctx context.Context, f events.AlertCleared, e events.Recorded) (Notice, error) {
	n := Notice{Key: f.Key}
	history, err := s.log.Read(ctx, f.Subject())
	if err != nil {
		return n, err
	}
	for _, h := range history {
		if raised, ok := h.Fact.(events.AlertRaised); ok && h.Seq < e.Seq {
			n = newNotice(raised, e.Time)
		}
	}
	n.State, n.Reason, n.Time, n.Seq = "cleared", f.Reason, e.Time, e.Seq
	return n, nil
}
