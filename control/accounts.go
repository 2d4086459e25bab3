package control

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"strconv"
	"strings"

	"github.com/tachobench/tacho/eventlog"
	"github.com/tachobench/tacho/events"
)

// The bounds of settings.
const (
	maxWeight = 1000
	maxLimit  = 1_000_000
)

// Weight is the weight of an account or queue in a command, 1 to 1000.
type Weight int

// UnmarshalJSON refuses what is no whole number, and says which numbers there are.
func (w *Weight) UnmarshalJSON(data []byte) error {
	n, err := strconv.Atoi(string(data))
	if err != nil {
		return fmt.Errorf("weight %s: %s", data, weightRange)
	}
	*w = Weight(n)
	return nil
}

const weightRange = "use a whole number from 1 to 1000"

var _ json.Unmarshaler = (*Weight)(nil)

// AccountChange changes settings of an account. What is nil stays as it is.
type AccountChange struct {
	Weight      *Weight          `json:"weight,omitempty"`
	MaxPriority *events.Priority `json:"max_priority,omitempty"`
	MaxRunning  *int             `json:"max_running,omitempty"`
	MaxQueued   *int             `json:"max_queued,omitempty"`
	MaxPending  *int             `json:"max_pending,omitempty"`
	MaxVIP      *int             `json:"max_vip,omitempty"`
	// May has the rights of the account: some of the rights, or none alone. usual alone, or an empty list, means the usual
	// rights.
	May *[]events.Right `json:"may,omitempty"`
	// Branches are patterns of the branches that it may ask for; an empty list means all.
	Branches *[]string `json:"branches,omitempty"`
}

// account is the state of one account.
type account struct {
	// settings are the defaults while configured is not set.
	settings   events.AccountConfigured
	configured bool
	// token is the digest of its token; empty for none.
	token  events.Digest
	closed bool
}

// evolveAccount returns the state after e happened. The zero value is an account of which nothing was recorded.
func evolveAccount(a account, e events.Recorded) account {
	// Only the facts of an account concern it.
	//exhaustive:ignore
	switch f := e.Fact.(type) {
	case events.AccountConfigured:
		a.settings, a.configured, a.closed = f, true, false
	case events.AccountTokenIssued:
		a.token = f.Digest
	case events.AccountTokenRevoked:
		a.token = ""
	case events.AccountClosed:
		a.closed, a.token = true, ""
	}
	return a
}

// settled returns the settings that count for an account.
func (a account) settled(name events.AccountName) events.AccountConfigured {
	if a.configured {
		return a.settings
	}
	return events.UsualAccount(name)
}

// known returns a refusal if the account was never configured, or is closed.
func (a account) known(name events.AccountName) error {
	switch {
	case a.closed:
		return closedAccount(name)
	case !a.configured:
		return refuse(NotFound, "%s", unknownAccount(name))
	}
	return nil
}

func closedAccount(name events.AccountName) error {
	return refuse(Conflict, "account %s was closed: `tacho account set %s` opens it again", name, name)
}

func unknownAccount(name events.AccountName) string {
	return fmt.Sprintf("unknown account %q: make it with `tacho account set %s`", name, name)
}

// decideAccount returns the fact that changes the settings of an account; none if they are so already.
func decideAccount(a account, name events.AccountName, change AccountChange) ([]events.Fact, error) {
	next := a.settled(name)
	if err := setWeight(&next.Weight, change.Weight); err != nil {
		return nil, err
	}
	if change.MaxPriority != nil {
		p, err := events.ParsePriority(string(*change.MaxPriority))
		if err != nil {
			return nil, refuse(Invalid, "%s", err)
		}
		next.MaxPriority = events.Priority(p.String())
	}
	if err := setLimits(&next.Limits, change.MaxRunning, change.MaxQueued, change.MaxPending); err != nil {
		return nil, err
	}
	if v := change.MaxVIP; v != nil {
		if *v < 1 || *v > maxLimit {
			return nil, refuse(Invalid, "max_vip %d: use a number from 1 to %d; max_priority says whether the account may ask for vip at all", *v, maxLimit)
		}
		next.MaxVIP = *v
	}
	err := setRights(&next.May, change.May)
	if err == nil {
		err = setBranches(&next.Branches, change.Branches)
	}
	if err != nil {
		return nil, err
	}
	if a.configured && !a.closed && reflect.DeepEqual(next, a.settings) {
		return nil, nil
	}
	return []events.Fact{next}, nil
}

func setWeight(field *int, value *Weight) error {
	if value == nil {
		return nil
	}
	if *value < 1 || *value > maxWeight {
		return refuse(Invalid, "weight %d: %s", *value, weightRange)
	}
	*field = int(*value)
	return nil
}

func setLimits(l *events.Limits, running, queued, pending *int) error {
	for _, set := range []struct {
		name  string
		field *int
		value *int
	}{{"max_running", &l.MaxRunning, running}, {"max_queued", &l.MaxQueued, queued}, {"max_pending", &l.MaxPending, pending}} {
		if err := setLimit(set.name, set.field, set.value); err != nil {
			return err
		}
	}
	return nil
}

func setLimit(name string, field, value *int) error {
	if value == nil {
		return nil
	}
	if *value < 0 || *value > maxLimit {
		return refuse(Invalid, "%s %d: use a number from 1 to %d, or 0 for no limit", name, *value, maxLimit)
	}
	*field = *value
	return nil
}

// ConfigureAccount changes the settings of an account, makes it if there is none, and opens it again if it was closed. It
// needs a name that no queue has.
func (c *Control) ConfigureAccount(ctx context.Context, by By, name events.AccountName, change AccountChange) (Answer, error) {
	if err := events.CheckAccount(name); err != nil {
		return Answer{}, refuse(Invalid, "%s", err)
	}
	return c.onAccount(ctx, by, name, func(tx *eventlog.Tx, known account) ([]events.Fact, error) {
		facts, err := decideAccount(known, name, change)
		if err != nil || known.configured || len(facts) == 0 {
			return facts, err
		}
		_, taken, err := tx.Last(ctx, events.QueueSubject(events.QueueName(name)))
		switch {
		case err != nil:
			return nil, err
		case taken:
			return nil, refuse(Conflict, "there is or was a queue %s, and an account has a queue of its own name: choose another name", name)
		}
		return shaping(ctx, tx, facts)
	})
}

// onAccount takes a decision on an account and on everything else that the decision reads, and records it.
func (c *Control) onAccount(ctx context.Context, by By, name events.AccountName,
	decision func(*eventlog.Tx, account) ([]events.Fact, error),
) (Answer, error) {
	var version events.Seq
	seq, err := eventlog.Transact(ctx, c.Log, func(tx *eventlog.Tx) ([]events.Event, error) {
		if err := seeShape(ctx, tx); err != nil {
			return nil, err
		}
		known, err := eventlog.StateOf(ctx, tx, events.AccountSubject(name), evolveAccount)
		if err != nil {
			return nil, err
		}
		version = tx.Version(events.AccountSubject(name))
		facts, err := decision(tx, known)
		return c.events(by, facts...), err
	})
	return answer(seq, version, err)
}

// onKnownAccount takes a decision on an account that was configured, and records it.
func (c *Control) onKnownAccount(ctx context.Context, by By, name events.AccountName, decision func(account) ([]events.Fact, error)) (Answer, error) {
	if err := events.CheckAccount(name); err != nil {
		return Answer{}, refuse(Invalid, "%s", err)
	}
	return c.onAccount(ctx, by, name, func(_ *eventlog.Tx, known account) ([]events.Fact, error) { return decision(known) })
}

// CloseAccount ends an account: its token ends, and it asks for nothing any more. Its requests go on.
func (c *Control) CloseAccount(ctx context.Context, by By, name events.AccountName, reason string) (Answer, error) {
	return c.onKnownAccount(ctx, by, name, func(known account) ([]events.Fact, error) {
		if known.closed {
			return nil, nil
		}
		if err := known.known(name); err != nil {
			return nil, err
		}
		if err := shortReason(reason); err != nil {
			return nil, err
		}
		return []events.Fact{events.AccountClosed{Account: name, Reason: reason}}, nil
	})
}

// maxReason bounds the reason of a command in bytes.
const maxReason = 1024

func shortReason(reason string) error {
	if len(reason) > maxReason {
		return refuse(Invalid, "the reason has %d bytes: use at most %d", len(reason), maxReason)
	}
	return nil
}

// AccountOfLogin returns the account of a person on GitHub.
func AccountOfLogin(login string) events.AccountName {
	word := func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || r == '_' || r == '-' {
			return r
		}
		return '-'
	}
	return events.AccountName(githubPrefix + strings.Map(word, strings.ToLower(login)))
}

// githubPrefix begins the names of the accounts of people on GitHub, and no name of a configured queue.
const githubPrefix = "gh-"
