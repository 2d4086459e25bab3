// Package control carries out the commands of people and programs on the log: requests, accounts, queues, collectors,
// definitions, alerts and versions.
//
// Each command reads the aggregate that it concerns, decides, and appends with the version that it decided on. A
// command that asks for what already is returns that, and records nothing. A refused command records nothing.
package control

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/tachobench/tacho/eventlog"
	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/rules/match"
)

// Control carries out commands. Its fields are set once, before use.
type Control struct {
	Log   eventlog.Log
	Clock func() time.Time
	// Suites names the published suites. A new collector's lane is checked against their definitions, and refusals list
	// them. nil checks nothing.
	Suites func(context.Context) ([]events.SuiteName, error)
	// KeyHolder returns the collector that has or had a public key; empty when there is none. nil knows no collector. A
	// collector's own earlier keys are known without it.
	KeyHolder func(context.Context, string) (events.CollectorName, error)
	// TokenHolder returns the account that has the token with a digest; empty when there is none. nil knows no token.
	TokenHolder func(context.Context, events.Digest) (events.AccountName, error)
	// PendingOf and PendingIn count the requests of an account and in a queue that have not ended, everything counted
	// that the log holds when they are called. nil counts nothing.
	PendingOf func(context.Context, events.AccountName) (int, error)
	PendingIn func(context.Context, events.QueueName) (int, error)
	// PendingAll counts all requests that have not ended, as they were about a second ago. With MaxPending or more no new
	// one is taken; 0 takes any number.
	PendingAll func(context.Context) (int, error)
	MaxPending int
	// Queues returns the configured queues that are not closed, at least as they were at an event. nil knows none.
	Queues func(context.Context, events.Seq) ([]events.QueueConfigured, error)
	// Offers returns what the machines offer that are registered, not removed, and have an active collector, everything
	// counted that the log holds when it is called. nil checks nothing.
	Offers func(context.Context) ([]match.Offer, error)
	// Requirements counts the different requirements of requests that have not ended, and reports whether these terms are
	// one of them. nil counts nothing.
	Requirements func(context.Context, []string) (count int, known bool, err error)
	// KeepTries keeps older tries of a pull request when a newer one is asked for.
	KeepTries bool

	published published
}

// By says who gave a command, through which part, and where it began.
type By struct {
	Actor  events.Actor
	Source string
	Root   string
	// Cause is the event that led to the command; 0 when it began outside the log.
	Cause events.Seq
	// Account is the account that gives the command: it asks for itself alone, and changes only its own requests. Empty
	// means the operator, or a part of Tacho.
	Account events.AccountName
	// Rights is the account whose rights the command needs, if the command is not given in its name alone: what a person on
	// GitHub says about the request of another one. Empty means Account.
	Rights events.AccountName
	// Configured says that the operator has set up that the command is given, as in a source of the configuration: the rights
	// of Account do not bind it.
	Configured bool
}

// bound returns the account whose rights bind the command; empty for the operator and the parts of Tacho.
func (b By) bound() events.AccountName {
	if b.Configured {
		return ""
	}
	return cmp.Or(b.Account, b.Rights)
}

// RefusedError says why a command was not carried out. Kind says what the caller can do about it.
type RefusedError struct {
	Kind   RefusalKind
	Reason string
}

func (e *RefusedError) Error() string { return e.Reason }

// RefusalKind is the closed set of kinds of refusal.
type RefusalKind int

// The kinds of refusal.
const (
	// Invalid: the command itself is wrong.
	Invalid RefusalKind = iota
	// NotFound: the thing that it names does not exist.
	NotFound
	// Conflict: the thing that it names is in a state that does not allow the command.
	Conflict
	// Forbidden: who gives it may not do that.
	Forbidden
	// TooMany: who gives it has as many of something as is allowed.
	TooMany
	// Full: the farm has as many of something as it can have.
	Full
	// Impossible: no machine could ever do what is asked for.
	Impossible
)

func refuse(kind RefusalKind, format string, args ...any) error {
	return &RefusedError{Kind: kind, Reason: fmt.Sprintf(format, args...)}
}

// Answer is the result of a command.
type Answer struct {
	// Seq is the last event of the aggregate. Readers that have reached it see the effect.
	Seq events.Seq `json:"seq"`
	// Existed is set when everything was already as asked and nothing was recorded.
	Existed bool `json:"existed"`
}

func (c *Control) events(by By, facts ...events.Fact) []events.Event {
	out := make([]events.Event, 0, len(facts))
	for _, f := range facts {
		out = append(out, eventlog.NewEvent(f, eventlog.Meta{Source: by.Source, Actor: by.Actor, Cause: by.Cause, Root: by.Root}, c.Clock()))
	}
	return out
}

// decide takes a decision on one aggregate and records it.
func decide[S any](ctx context.Context, c *Control, by By, subject events.Subject, evolve func(S, events.Recorded) S,
	decision func(S) ([]events.Fact, error),
) (Answer, error) {
	var version events.Seq
	seq, err := eventlog.Transact(ctx, c.Log, func(tx *eventlog.Tx) ([]events.Event, error) {
		state, err := eventlog.StateOf(ctx, tx, subject, evolve)
		if err != nil {
			return nil, err
		}
		version = tx.Version(subject)
		facts, err := decision(state)
		return c.events(by, facts...), err
	})
	return answer(seq, version, err)
}

// stateIn reads and folds one aggregate. Litter does not count.
func stateIn[S any](ctx context.Context, from reader, subject events.Subject, evolve func(S, events.Recorded) S) (state S, err error) {
	history, err := from.Read(ctx, subject)
	for _, e := range history {
		if e.Fact != nil {
			state = evolve(state, e)
		}
	}
	return state, err
}

// answer returns the result of a command: the last event that it recorded, or, if it recorded nothing, the version that
// it found.
func answer(seq, version events.Seq, err error) (Answer, error) {
	if seq > 0 {
		return Answer{Seq: seq}, err
	}
	return Answer{Seq: version, Existed: err == nil}, err
}

// others lists the published suites, as a help for a person who named an unpublished one. It is empty when they are
// unknown: the refusal is right without them.
func (c *Control) others(ctx context.Context, but events.SuiteName) string {
	if c.Suites == nil {
		return ""
	}
	names, err := c.Suites(ctx)
	var words []string
	for _, name := range names {
		if name != but {
			words = append(words, string(name))
		}
	}
	if err != nil || len(words) == 0 {
		return ""
	}
	return ", or name one of the published suites: " + strings.Join(words, ", ")
}
