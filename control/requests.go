package control

import (
	"context"
	"errors"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/tachobench/tacho/eventlog"
	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/rules/request"
	"github.com/tachobench/tacho/rules/suite"
)

// NewRequest asks to benchmark an artifact.
type NewRequest struct {
	Suite events.SuiteName   `json:"suite"`
	Kind  events.RequestKind `json:"kind"`
	// Key is the natural key; empty means the tag. A request without a tag needs a key.
	Key        string            `json:"key"`
	Tag        events.Tag        `json:"tag"`
	Parent     events.Tag        `json:"parent_tag"`
	PR         int               `json:"pr"`
	ReleasedOn string            `json:"released_on"`
	Parameters events.Parameters `json:"parameters"`
	// Account is who asks, if the operator asks for an account; else it is known from the token. Queue is where the
	// request waits: empty means the account's own queue or, without an account, the main queue. vip and idle are read as
	// priorities. Priority is empty for normal.
	Account  events.AccountName `json:"account,omitempty"`
	Queue    events.QueueName   `json:"queue,omitempty"`
	Priority events.Priority    `json:"priority,omitempty"`
	// Requires are terms that the machine of each of its matched jobs must meet, beside those of the suite.
	Requires []string `json:"requires,omitempty"`
	// KeepOlder keeps the older tries of the pull request. The new try must have its artifact.
	KeepOlder bool `json:"keep_older,omitempty"`
	// AsItIs accepts an existing request even if it differs from this one. It is for programs that ask again by
	// themselves: no words of a person are lost then. A request of a program is also accepted if no machine could run it
	// now: it waits. Its priority is lowered to what its branch allows.
	AsItIs bool `json:"-"`
	// Waits makes a master request wait for its artifact, which was asked for but is not there yet.
	Waits bool `json:"-"`
	// Fresh assumes that the request does not exist yet, and reads it only if the log refuses the append. That saves a
	// read for a request that is made once.
	Fresh bool `json:"-"`
	// Branch is the branch that the artifact is on or, for a try, meant for. A program may always name it; what a person
	// names must matter to the suite. Graph and Options choose among what the definitions offer.
	Branch  string            `json:"branch,omitempty"`
	Graph   string            `json:"graph,omitempty"`
	Options map[string]string `json:"options,omitempty"`
	// Definitions are those to check the request against; nil means those that it names, or that its branch uses.
	Definitions *suite.Definitions `json:"-"`
	// Named are published definitions to expand the request with, by their digest or its beginning; empty for those that its
	// branch uses when it starts.
	Named events.Digest `json:"definitions,omitempty"`
	// Tree says that Named is what the commit itself has: its branch's own, whether the branch ever used it or not.
	Tree bool `json:"-"`
	// Problem says why the definitions of the commit could not be used.
	Problem string `json:"-"`
	// Set is the name of a set of requests that are asked for together; empty for none.
	Set string `json:"set,omitempty"`
}

// maxKey bounds the natural key in bytes. People see the key while the request has no tag.
const maxKey = 256

// CreateRequest creates a request and returns it. However often it is asked, the request is recorded once. If a request
// with the same key exists and differs, CreateRequest refuses (but see NewRequest.AsItIs).
//
// A try of a pull request supersedes the previous try if that has not started: a finished try build must find exactly
// one waiting request. Everything is one append, together with also: events that must be recorded exactly if the
// request is. If one of those has a conflict, nothing is recorded, and the error is its *eventlog.ConflictError.
func (c *Control) CreateRequest(ctx context.Context, by By, n NewRequest, also ...eventlog.Append) (request.Request, Answer, error) {
	wish, err := c.creation(ctx, by, n, c.Published)
	if err != nil {
		return request.Request{}, Answer{}, err
	}
	return c.create(ctx, by, wish, n.Fresh, func(tx *eventlog.Tx) places { return c.placing(tx, by) }, also)
}

// create records a request that was checked. in returns what places it in one try of the decision.
func (c *Control) create(ctx context.Context, by By, wish creation, fresh bool, in func(*eventlog.Tx) places, also []eventlog.Append) (request.Request, Answer, error) {
	var unread *Known
	if fresh {
		unread = &Known{}
	}
	return c.change(ctx, by, wish.id(), unread, also, func(tx *eventlog.Tx, known request.Request) ([]events.Fact, []events.Event, error) {
		return c.decideCreation(ctx, tx, by, in(tx), wish, known)
	})
}

// creation is the command for a new request, with the definitions that it was checked against.
type creation struct {
	request.Create
	definitions *suite.Definitions
	keepOlder   bool
	// template is what it will be expanded with, unless newer definitions are published until its start. caps are what it
	// may do because of its branch.
	template, caps suite.Template
	// named is the branch that the command names. needless says that a person names one, and the suite has nothing of its own
	// for branches: then the branch only shows that the account may ask.
	named    string
	needless bool
}

// id returns the id of the request.
func (n creation) id() events.RequestID { return events.NewRequestID(n.Suite, n.Kind, n.Key) }

// decideCreation returns the facts that create a request, and the events of others that go with it. It returns neither
// if the request exists as it is asked for.
func (c *Control) decideCreation(ctx context.Context, tx *eventlog.Tx, by By, p places, wish creation, known request.Request) ([]events.Fact, []events.Event, error) {
	// Refuse a wrong command as invalid, even if the request exists.
	if _, err := request.Decide(request.Request{}, wish.Create); err != nil {
		return nil, nil, refuse(Invalid, "%s", err)
	}
	if err := p.mayAsk(ctx, wish); err != nil {
		return nil, nil, err
	}
	create := wish.Create
	if !known.Exists() {
		var err error
		if create, err = p.place(ctx, wish); err != nil {
			return nil, nil, err
		}
	}
	facts, err := request.Decide(known, create)
	if err != nil || len(facts) == 0 || create.Kind != events.Try || create.PR <= 0 || wish.keepOlder {
		return facts, nil, err
	}
	others, err := c.newestTry(ctx, tx, by, create.Suite, create.PR, wish.id(), create.Tag == "")
	return facts, others, err
}

// creation checks a new request against the definitions that from returns, and returns the command for it.
func (c *Control) creation(ctx context.Context, by By, n NewRequest, from publications) (creation, error) {
	n, err := asked(by, n)
	if err != nil {
		return creation{}, err
	}
	named := n.Branch
	n, with, err := c.choose(ctx, n, from)
	if err != nil {
		return creation{}, err
	}
	t, err := with.allow(by, n)
	if err != nil {
		return creation{}, err
	}
	d := with.definitions
	if n.AsItIs && n.Priority != "" && decideBranchPriority(n.Branch, with.caps, n.Priority) != nil {
		n.Priority = with.caps.MaxPriority // a push to the suite's file must not stop all polls
	}
	parameters, err := d.Normalise(n.Parameters)
	if err != nil {
		return creation{}, refuse(Invalid, "%s", err)
	}
	requires, err := canonical(n.Requires)
	if err != nil {
		return creation{}, err
	}
	if n.Set != "" {
		if err := events.CheckSet(n.Set); err != nil {
			return creation{}, refuse(Invalid, "%s", err)
		}
	}
	switch {
	case n.Key == "" && n.Tag == "":
		return creation{}, refuse(Invalid, "a %s request needs a tag or a key", n.Kind)
	case n.Key == "":
		n.Key = string(n.Tag)
	case len(n.Key) > maxKey || !utf8.ValidString(n.Key) || strings.ContainsFunc(n.Key, unicode.IsControl):
		return creation{}, refuse(Invalid, "the key of a request is shown in lists: choose a line of at most %d bytes, without control characters", maxKey)
	}
	if n.KeepOlder && n.Tag == "" {
		return creation{}, refuse(Invalid, "a try that waits for its artifact replaces the one before it: give its tag, or leave keep_older out")
	}
	return creation{request.Create{
		Suite: n.Suite, Kind: n.Kind, Key: n.Key, Tag: n.Tag, Parent: n.Parent, PR: n.PR, ReleasedOn: n.ReleasedOn, Parameters: parameters,
		Account: n.Account, Queue: n.Queue, Priority: n.Priority, Requires: requires, AsItIs: n.AsItIs, Waits: n.Waits,
		Choice: request.Choice{Branch: n.Branch, Graph: n.Graph, Options: n.Options},
		Pinned: request.Pinned{Definitions: n.Named, Customised: with.customised, Together: n.Set, Problem: shortProblem(n.Problem)},
	}, d, n.KeepOlder, t, with.caps, named, named != n.Branch && !n.AsItIs}, nil
}

// newestTry makes id the newest try of its pull request, and supersedes the previous one if that has not started. With
// KeepTries nothing is superseded; then it refuses a second try that waits for its artifact.
func (c *Control) newestTry(ctx context.Context, tx *eventlog.Tx, by By, name events.SuiteName, pr int, id events.RequestID, waits bool) ([]events.Event, error) {
	queued := c.events(by, events.TryQueued{Suite: name, PR: pr, RequestID: id})
	last, found, err := tx.Last(ctx, events.TrySubject(name, pr))
	if err != nil || !found {
		return queued, err
	}
	before, err := requestIn(ctx, tx, last.Fact.(events.TryQueued).RequestID)
	if err != nil {
		return nil, err
	}
	if c.KeepTries {
		if before.State == events.StateWaitingForArtifacts && !waits {
			// The waiting try stays the newest one, so that a finished try build finds it.
			return nil, nil
		}
		if before.State == events.StateWaitingForArtifacts {
			return nil, refuse(Conflict, "pull request %d has a try that waits for its artifact: `tacho request cancel %s` first", pr, before.ID)
		}
		return queued, nil
	}
	facts, err := request.Decide(before.Request, request.Supersede{By: id})
	if err != nil {
		return nil, refuse(Conflict, "%s", err)
	}
	return append(queued, c.events(by, facts...)...), nil
}

// WaitingTry returns the try of a pull request that waits for its artifact; false when there is none.
func (c *Control) WaitingTry(ctx context.Context, name events.SuiteName, pr int) (Known, bool, error) {
	last, found, err := c.Log.Last(ctx, events.TrySubject(name, pr))
	if err != nil || !found {
		return Known{}, false, err
	}
	known, err := requestIn(ctx, c.Log, last.Fact.(events.TryQueued).RequestID)
	return known, err == nil && known.State == events.StateWaitingForArtifacts, err
}

// ArtifactsReady records that the artifact of a waiting request exists. also is recorded with it, as in CreateRequest.
func (c *Control) ArtifactsReady(ctx context.Context, by By, id events.RequestID, tag, parent events.Tag, also ...eventlog.Append) (request.Request, Answer, error) {
	return c.artifactsReady(ctx, by, id, nil, tag, parent, also)
}

// ArtifactsReadyOf is ArtifactsReady for a request that the caller has already read.
func (c *Control) ArtifactsReadyOf(ctx context.Context, by By, known Known, tag, parent events.Tag, also ...eventlog.Append) (request.Request, Answer, error) {
	return c.artifactsReady(ctx, by, known.ID, &known, tag, parent, also)
}

func (c *Control) artifactsReady(ctx context.Context, by By, id events.RequestID, known *Known, tag, parent events.Tag, also []eventlog.Append) (request.Request, Answer, error) {
	err := events.CheckTag(tag)
	if err == nil && parent != "" {
		err = events.CheckTag(parent)
	}
	if err != nil {
		return request.Request{}, Answer{}, refuse(Invalid, "%s", err)
	}
	return c.onRequest(ctx, by, id, known, request.ArtifactsReady{Tag: tag, Parent: parent}, also)
}

// BuildFailed records that the try build of a waiting request failed. The request keeps waiting. also is recorded with
// it.
func (c *Control) BuildFailed(ctx context.Context, by By, known Known, reason, url string, also ...eventlog.Append) (request.Request, Answer, error) {
	return c.onRequest(ctx, by, known.ID, &known, request.BuildFailed{Reason: reason, URL: url}, also)
}

// CancelRequest withdraws a request. Its running jobs are stopped. also is recorded with it.
func (c *Control) CancelRequest(ctx context.Context, by By, id events.RequestID, reason string, also ...eventlog.Append) (request.Request, Answer, error) {
	return c.onRequest(ctx, by, id, nil, request.Cancel{Reason: reason}, also)
}

func (c *Control) onRequest(ctx context.Context, by By, id events.RequestID, known *Known, command request.Command, also []eventlog.Append) (request.Request, Answer, error) {
	if events.CheckToken("request", string(id)) != nil {
		return request.Request{}, Answer{}, refuse(Invalid, "%q is not the id of a request: `tacho request show TAG` shows it", id)
	}
	return c.change(ctx, by, id, known, also, func(tx *eventlog.Tx, q request.Request) ([]events.Fact, []events.Event, error) {
		command, err := c.allowed(ctx, tx, by, id, q, command)
		if err != nil {
			return nil, nil, err
		}
		facts, err := request.Decide(q, command)
		return facts, nil, err
	})
}

// onWhich returns a refusal if a command is about a request that does not exist or is of another account.
func onWhich(by By, id events.RequestID, q request.Request) error {
	if !q.Exists() {
		return refuse(NotFound, "there is no request %s: see `tacho request list`", id)
	}
	return mayChange(by, q)
}

// Known is a request as it was read, with its version.
type Known struct {
	request.Request
	version events.Seq
}

// change decides on a request and records the result: facts about it, events about others, and also. The first try
// decides on known, if there is one. Facts from that are safe, because the log refuses them if the request has changed.
// But a refusal, or no facts, may be outdated: then change reads the request and decides again.
func (c *Control) change(ctx context.Context, by By, id events.RequestID, known *Known, also []eventlog.Append,
	decide func(*eventlog.Tx, request.Request) ([]events.Fact, []events.Event, error),
) (request.Request, Answer, error) {
	var q Known
	var facts []events.Fact
	seq, err := eventlog.Transact(ctx, c.Log, func(tx *eventlog.Tx) (others []events.Event, err error) {
		tx.Beside(also...)
		if known != nil && tx.First() {
			tx.Expect(events.RequestSubject(id), known.version)
			q = *known
			if facts, others, err = decide(tx, q.Request); err == nil && len(facts) > 0 {
				return append(c.events(by, facts...), others...), nil
			}
		}
		if q, err = requestIn(ctx, tx, id); err != nil {
			return nil, err
		}
		if facts, others, err = decide(tx, q.Request); err != nil {
			return nil, asRefusal(err)
		}
		return append(c.events(by, facts...), others...), nil
	})
	switch {
	case err != nil:
		return q.Request, Answer{}, err
	case seq == 0:
		return q.Request, Answer{Seq: q.version, Existed: true}, nil
	}
	for _, f := range facts {
		q.Request = request.Evolve(q.Request, f, c.Clock())
	}
	return q.Request, Answer{Seq: seq, Existed: len(facts) == 0}, nil
}

// asRefusal turns a refusal of package request into a refusal of the command.
func asRefusal(err error) error {
	var refusal *request.Refusal
	switch {
	case !errors.As(err, &refusal):
		return err
	case refusal.TooMany:
		return refuse(TooMany, "%s", refusal.Reason)
	}
	return refuse(Conflict, "%s", refusal.Reason)
}

// requestIn reads a request.
func requestIn(ctx context.Context, from reader, id events.RequestID) (Known, error) {
	history, err := from.Read(ctx, events.RequestSubject(id))
	var out Known
	for _, e := range history {
		if out.version = e.Seq; e.Fact != nil { // litter counts only for the version
			out.Request = request.Evolve(out.Request, e.Fact, e.Time)
		}
	}
	return out, err
}
