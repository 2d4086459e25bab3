package control

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/tachobench/tacho/eventlog"
	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/request"
)

// NewRequest is a wish to benchmark an artifact.
type NewRequest struct {
	Suite events.SuiteName   `json:"suite"`
	Kind  events.RequestKind `json:"kind"`
	// Key is the natural key; empty means the tag (master, release) and is required for a try without one.
	Key        string            `json:"key"`
	Tag        events.Tag        `json:"tag"`
	Parent     events.Tag        `json:"parent_tag"`
	PR         int               `json:"pr"`
	ReleasedOn string            `json:"released_on"`
	Parameters events.Parameters `json:"parameters"`
	// KeepOlder leaves the older tries of the pull request alone. The new one must have its artifact.
	KeepOlder bool `json:"keep_older,omitempty"`
	// AsItIs takes a request that was asked for already as it is, instead of refusing a wish that differs. It is for
	// programs that ask again by themselves and drop nobody's words.
	AsItIs bool `json:"-"`
	// Waits has a master wait for its artifact, which was asked for and is not there yet.
	Waits bool `json:"-"`
}

// tries bounds how often a command on several aggregates starts again. Each conflict means that another
// writer got through.
const tries = 16

// maxKey bounds the natural key of a request, which names it to people while it has no tag.
const maxKey = 256

// CreateRequest records the wish once, however often it is asked, and returns the request. A wish that differs from
// the request of the same key is refused: see NewRequest.AsItIs.
//
// A try of a pull request supersedes the one before it that has not started: a finished try build has to find
// exactly one request that waits. All of it is one append, together with also: what must be recorded exactly
// when the request is. When one of those has moved on nothing is recorded, and the error is its
// *eventlog.ConflictError.
func (c *Control) CreateRequest(ctx context.Context, by By, n NewRequest, also ...eventlog.Append) (request.Request, Answer, error) {
	create, err := c.creation(ctx, n)
	if err != nil {
		return request.Request{}, Answer{}, err
	}
	id := events.NewRequestID(n.Suite, n.Kind, create.Key)
	return c.change(ctx, by, id, also, func(known request.Request) ([]events.Fact, []eventlog.Append, error) {
		facts, err := request.Decide(known, create)
		if err != nil || len(facts) == 0 || n.Kind != events.Try || n.PR <= 0 || n.KeepOlder {
			return facts, nil, err
		}
		others, err := c.newestTry(ctx, by, n.Suite, n.PR, id, create.Tag == "")
		return facts, others, err
	})
}

func concerns(parts []eventlog.Append, subject events.Subject) bool {
	for _, p := range parts {
		if p.Subject == subject {
			return true
		}
	}
	return false
}

// creation checks a wish against the current definitions.
func (c *Control) creation(ctx context.Context, n NewRequest) (request.Create, error) {
	d, err := c.Definitions(ctx, n.Suite)
	if err != nil {
		return request.Create{}, err
	}
	parameters, err := d.Normalise(n.Parameters)
	if err != nil {
		return request.Create{}, refuse(Invalid, "%s", err)
	}
	switch {
	case n.Key == "" && n.Tag == "":
		return request.Create{}, refuse(Invalid, "a %s request needs a tag or a key", n.Kind)
	case n.Key == "":
		n.Key = string(n.Tag)
	case len(n.Key) > maxKey || !utf8.ValidString(n.Key) || strings.ContainsFunc(n.Key, unicode.IsControl):
		return request.Create{}, refuse(Invalid, "the key of a request is a line of at most %d bytes, as it stands in lists: choose a shorter one, without control characters", maxKey)
	}
	if n.KeepOlder && n.Tag == "" {
		return request.Create{}, refuse(Invalid, "a try that waits for its artifact replaces the one before it: give its tag, or leave keep_older out")
	}
	create := request.Create{
		Suite: n.Suite, Kind: n.Kind, Key: n.Key, Tag: n.Tag, Parent: n.Parent, PR: n.PR, ReleasedOn: n.ReleasedOn, Parameters: parameters,
		AsItIs: n.AsItIs, Waits: n.Waits,
	}
	if _, err := request.Decide(request.Request{}, create); err != nil {
		return request.Create{}, refuse(Invalid, "%s", err)
	}
	return create, nil
}

// newestTry makes id the newest try of its pull request, and supersedes the one before if it has not started.
// Where trying again does not supersede, two tries that both wait are refused.
func (c *Control) newestTry(ctx context.Context, by By, name events.SuiteName, pr int, id events.RequestID, waits bool) ([]eventlog.Append, error) {
	last, found, err := c.Log.Last(ctx, events.TrySubject(name, pr))
	if err != nil {
		return nil, err
	}
	parts := []eventlog.Append{{Subject: events.TrySubject(name, pr), Expected: last.Seq, Events: c.events(by,
		events.TryQueued{Suite: name, PR: pr, RequestID: id})}}
	if !found {
		return parts, nil
	}
	before, err := foldRequest(ctx, c.Log, last.Fact.(events.TryQueued).RequestID)
	if err != nil {
		return nil, err
	}
	if c.KeepTries {
		if before.state.State == events.WaitingForArtifacts && !waits {
			// The one that waits stays the one that a finished try build finds.
			return nil, nil
		}
		if before.state.State == events.WaitingForArtifacts {
			return nil, refuse(Conflict, "pull request %d has a try that waits for its artifact: `tacho request cancel %s` first", pr, before.state.ID)
		}
		return parts, nil
	}
	facts, err := request.Decide(before.state, request.Supersede{By: id})
	if err != nil {
		return nil, refuse(Conflict, "%s", err)
	}
	if len(facts) > 0 {
		parts = append(parts, eventlog.Append{
			Subject: events.RequestSubject(before.state.ID), Expected: before.seq, Events: c.events(by, facts...),
		})
	}
	return parts, nil
}

// WaitingTry returns the try of a pull request that waits for its artifact; false when there is none.
func (c *Control) WaitingTry(ctx context.Context, name events.SuiteName, pr int) (request.Request, bool, error) {
	last, found, err := c.Log.Last(ctx, events.TrySubject(name, pr))
	if err != nil || !found {
		return request.Request{}, false, err
	}
	known, err := foldRequest(ctx, c.Log, last.Fact.(events.TryQueued).RequestID)
	return known.state, err == nil && known.state.State == events.WaitingForArtifacts, err
}

// ArtifactsReady says that the artifact of a waiting request exists. also is recorded with it, as by CreateRequest.
func (c *Control) ArtifactsReady(ctx context.Context, by By, id events.RequestID, tag, parent events.Tag, also ...eventlog.Append) (request.Request, Answer, error) {
	err := events.CheckTag(tag)
	if err == nil && parent != "" {
		err = events.CheckTag(parent)
	}
	if err != nil {
		return request.Request{}, Answer{}, refuse(Invalid, "%s", err)
	}
	return c.onRequest(ctx, by, id, request.ArtifactsReady{Tag: tag, Parent: parent}, also)
}

// BuildFailed says that the try build of a waiting request failed; it goes on waiting. also is recorded with it.
func (c *Control) BuildFailed(ctx context.Context, by By, id events.RequestID, reason, url string, also ...eventlog.Append) (request.Request, Answer, error) {
	return c.onRequest(ctx, by, id, request.BuildFailed{Reason: reason, URL: url}, also)
}

// CancelRequest withdraws a request; its jobs that run are stopped. also is recorded with it.
func (c *Control) CancelRequest(ctx context.Context, by By, id events.RequestID, reason string, also ...eventlog.Append) (request.Request, Answer, error) {
	return c.onRequest(ctx, by, id, request.Cancel{Reason: reason}, also)
}

func (c *Control) onRequest(ctx context.Context, by By, id events.RequestID, command request.Command, also []eventlog.Append) (request.Request, Answer, error) {
	if events.CheckToken("request", string(id)) != nil {
		return request.Request{}, Answer{}, refuse(Invalid, "%q is no id of a request: `tacho request show TAG` tells it", id)
	}
	return c.change(ctx, by, id, also, func(known request.Request) ([]events.Fact, []eventlog.Append, error) {
		if !known.Exists() {
			return nil, nil, refuse(NotFound, "there is no request %s: see `tacho request list`", id)
		}
		facts, err := request.Decide(known, command)
		return facts, nil, err
	})
}

// change decides on a request and appends what follows: facts about it, parts about others, and also.
func (c *Control) change(ctx context.Context, by By, id events.RequestID, also []eventlog.Append,
	decide func(request.Request) ([]events.Fact, []eventlog.Append, error),
) (request.Request, Answer, error) {
	for range tries {
		known, err := foldRequest(ctx, c.Log, id)
		if err != nil {
			return request.Request{}, Answer{}, err
		}
		facts, others, err := decide(known.state)
		var refusal *request.Refusal
		if errors.As(err, &refusal) {
			err = refuse(Conflict, "%s", refusal.Reason)
		}
		if err != nil {
			return known.state, Answer{}, err
		}
		var parts []eventlog.Append
		if len(facts) > 0 {
			parts = append(parts, eventlog.Append{Subject: events.RequestSubject(id), Expected: known.seq, Events: c.events(by, facts...)})
		}
		parts = append(append(parts, others...), also...)
		if len(parts) == 0 {
			return known.state, Answer{Seq: known.seq, Existed: true}, nil
		}
		seq, err := c.Log.Append(ctx, parts...)
		var conflict *eventlog.ConflictError
		if errors.As(err, &conflict) && !concerns(also, conflict.Subject) {
			continue
		}
		if err != nil {
			return request.Request{}, Answer{}, err
		}
		for _, f := range facts {
			known.state = request.Evolve(known.state, f, c.Clock())
		}
		return known.state, Answer{Seq: seq, Existed: len(facts) == 0}, nil
	}
	return request.Request{}, Answer{}, fmt.Errorf("change request %s: %d times somebody else was first: try again", id, tries)
}

func foldRequest(ctx context.Context, log eventlog.Log, id events.RequestID) (folded[request.Request], error) {
	return fold(ctx, log, events.RequestSubject(id), evolveRequest)
}

func evolveRequest(r request.Request, e events.Recorded) request.Request {
	return request.Evolve(r, e.Fact, e.Time)
}
