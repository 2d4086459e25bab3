package control

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/tachobench/tacho/eventlog"
	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/rules/request"
)

// MaxRequests is how many requests one batch may have. Each makes up to three events, and all are one append.
const MaxRequests = 300

// Batch are requests of which all are made or none is.
type Batch struct {
	Requests []NewRequest `json:"requests"`
	// First is the number of the first request in refusals; 0 means 1.
	First int `json:"first,omitempty"`
	// Check only checks whether the requests would be made. It records nothing.
	Check bool `json:"check,omitempty"`
	// Each makes each request for itself (CreateEach): a refused one keeps no other out.
	Each bool `json:"each,omitempty"`
}

// Line returns what refusals call a request, by its place in the batch.
func (b Batch) Line(i int) string { return fmt.Sprintf("line %d", max(b.First, 1)+i) }

// BatchAnswer is the result of one request of a batch.
type BatchAnswer struct {
	Request request.Request
	Answer
}

// CreateRequests makes all requests of a batch in one append, or none. Its refusal names the line. Requests that exist
// as they are asked for count as made.
func (c *Control) CreateRequests(ctx context.Context, by By, b Batch) ([]BatchAnswer, error) {
	creates, err := c.creations(ctx, by, b)
	if err != nil {
		return nil, err
	}
	var out []BatchAnswer
	seq, err := eventlog.Transact(ctx, c.Log, func(tx *eventlog.Tx) (decided []events.Event, err error) {
		// On the first try all are taken to be new: that saves a read of each, and the log refuses the append if one is not.
		// But a refusal may be wrong then: it stands if all are new indeed, and else the next try reads them.
		unread := tx.First() && !b.Check
		out, decided, err = c.decideBatch(ctx, tx, by, b, creates, unread)
		if refused := new(RefusedError); unread && errors.As(err, &refused) {
			for _, create := range creates {
				if _, err := requestIn(ctx, tx, create.id()); err != nil {
					return nil, err
				}
			}
		}
		if b.Check {
			return nil, err
		}
		return decided, err
	})
	if err != nil {
		return nil, err
	}
	for i := range out {
		if !out[i].Existed {
			out[i].Seq = seq
		}
	}
	return out, nil
}

// decideBatch decides on all requests of a batch. With unread it takes them to be new without a look.
func (c *Control) decideBatch(ctx context.Context, tx *eventlog.Tx, by By, b Batch, creates []creation, unread bool) (out []BatchAnswer, decided []events.Event, err error) {
	p := c.placing(tx, by)
	for i, create := range creates {
		var known Known
		if unread {
			tx.Expect(events.RequestSubject(create.id()), 0)
		} else if known, err = requestIn(ctx, tx, create.id()); err != nil {
			return nil, nil, err
		}
		facts, others, err := c.decideCreation(ctx, tx, by, p, create, known.Request)
		if err != nil {
			return nil, nil, onLine(b.Line(i), asRefusal(err))
		}
		made := BatchAnswer{Request: known.Request, Answer: Answer{Seq: known.version, Existed: len(facts) == 0}}
		for _, f := range facts {
			made.Request = request.Evolve(made.Request, f, c.Clock())
		}
		out = append(out, made)
		decided = append(append(decided, c.events(by, facts...)...), others...)
	}
	return out, decided, nil
}

// creations checks the requests of a batch one by one and against each other, and returns the commands for them.
func (c *Control) creations(ctx context.Context, by By, b Batch) ([]creation, error) {
	switch {
	case len(b.Requests) == 0:
		return nil, refuse(Invalid, "the batch has no requests")
	case len(b.Requests) > MaxRequests:
		return nil, refuse(Invalid, "the batch has %d requests: at most %d", len(b.Requests), MaxRequests)
	}
	if err := Distinct(b.Requests, b.Line); err != nil {
		return nil, err
	}
	creates, from := make([]creation, len(b.Requests)), c.publishedOnce()
	for i, n := range b.Requests {
		create, err := c.creation(ctx, by, n, from)
		if err != nil {
			return nil, onLine(b.Line(i), err)
		}
		creates[i] = create
	}
	return creates, nil
}

// Distinct returns a refusal if two of the requests are the same one, or if one would replace the other. line returns
// what the refusal calls a request.
func Distinct(list []NewRequest, line func(int) string) error {
	var first error
	clashes(list, line, func(i int, clash error) {
		if first == nil {
			first = onLine(line(i), clash)
		}
	})
	return first
}

// clashes tells a refusal for each request that is the same as one before it, or would replace it.
func clashes(list []NewRequest, line func(int) string, tell func(int, error)) {
	lines, tries := map[events.RequestID]int{}, map[events.Subject]int{}
	for i, n := range list {
		id := events.NewRequestID(n.Suite, n.Kind, cmp.Or(n.Key, string(n.Tag)))
		if other, twice := lines[id]; twice {
			tell(i, refuse(Invalid, "it has the key of %s: keys are used once", line(other)))
			continue
		}
		lines[id] = i
		if n.Kind != events.Try || n.PR <= 0 || n.KeepOlder {
			continue
		}
		pull := events.TrySubject(n.Suite, n.PR)
		if other, twice := tries[pull]; twice {
			tell(i, refuse(Invalid, "%s has a try of pull request %d too, and a newer try replaces the one before: leave one out, or keep the older one (keep_older)", line(other), n.PR))
			continue
		}
		tries[pull] = i
	}
}

// onLine adds the line to a refusal. Other errors stay as they are.
func onLine(line string, err error) error {
	var refused *RefusedError
	if !errors.As(err, &refused) {
		return err
	}
	return refuse(refused.Kind, "%s: %s", line, refused.Reason)
}
