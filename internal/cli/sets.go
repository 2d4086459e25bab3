package cli

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/internal/phrase"
	"github.com/tachobench/tacho/internal/usage"
	"github.com/tachobench/tacho/readmodel"
	"github.com/tachobench/tacho/website/client"
)

// setPrefix before the name of a set stands for all its requests.
const setPrefix = "set:"

// setHelp tells of it in the help of commands.
const setHelp = "set:NAME instead of a request stands for each request of that set, the oldest first; the exit code is that of the worst answer. "

// pageOfSet is how many requests of a set are read at once.
const pageOfSet = 500

// setOf returns the set that an argument names instead of a request.
func setOf(request events.RequestID) (name string, is bool) {
	return strings.CutPrefix(string(request), setPrefix)
}

// members returns the requests of a set, the oldest first, or an error if there are none.
func members(ctx context.Context, cl *client.Client, name string) ([]readmodel.Request, error) {
	if err := events.CheckSet(name); err != nil {
		return nil, usage.Error{Err: err}
	}
	var all []readmodel.Request
	q := client.RequestQuery{Set: name, Limit: pageOfSet}
	for {
		page, err := cl.Requests(ctx, q)
		if err != nil {
			return nil, err
		}
		all = append(all, page...)
		if len(page) < pageOfSet {
			break
		}
		q.Before = page[len(page)-1].CreatedSeq
	}
	if len(all) == 0 {
		return nil, &client.Error{Status: http.StatusNotFound, Message: fmt.Sprintf("no request is in set %s", name), Next: "see `tacho request list`, whose JSON has the sets"}
	}
	slices.Reverse(all)
	return all, nil
}

// memberAnswer is what became of a command for one request of a set.
type memberAnswer struct {
	RequestID events.RequestID `json:"request_id"`
	Answer    any              `json:"answer,omitempty"`
	Error     string           `json:"error,omitempty"`
}

// toSet gives a command to each request. It prints each answer, and returns the worst error: a fault is worse than a
// refusal. It goes on after errors, but not without a server.
func toSet[T any](ctx context.Context, p *Program, requests []readmodel.Request, asJSON bool, command func(events.RequestID) (T, error), print func(T) error) error {
	var worst error
	failed := 0
	answers := []memberAnswer{}
	for _, r := range requests {
		answer, err := command(r.ID)
		var gone *client.UnreachableError
		if errors.As(err, &gone) || ctx.Err() != nil {
			return err
		}
		one := memberAnswer{RequestID: r.ID, Answer: answer}
		if err != nil {
			failed++
			one = memberAnswer{RequestID: r.ID, Error: err.Error()}
			if worst == nil || isRefusal(worst) && !isRefusal(err) {
				worst = err
			}
		}
		answers = append(answers, one)
		switch {
		case asJSON:
		case err != nil:
			p.say("request %s: %s", r.ID, err)
		default:
			if err := print(answer); err != nil {
				return err
			}
		}
	}
	if asJSON {
		if err := p.json(answers); err != nil {
			return err
		}
	}
	if worst == nil {
		return nil
	}
	return fmt.Errorf("%d of %s said no, such as: %w", failed, phrase.Count(len(requests), "request"), worst)
}

// isRefusal reports whether a server refused a command, and nothing was at fault.
func isRefusal(err error) bool {
	var answer *client.Error
	return errors.As(err, &answer) && answer.Status < 500
}

// cancelSet withdraws the requests of a set that have not ended, if that is confirmed.
func (c *requestCancelCmd) cancelSet(ctx context.Context, p *Program, cl *client.Client, name string) error {
	all, err := members(ctx, cl, name)
	if err != nil {
		return err
	}
	open := slices.DeleteFunc(all, func(r readmodel.Request) bool { return r.EndedAt != nil })
	switch {
	case len(open) == 0 && c.JSON:
		return p.json([]memberAnswer{})
	case len(open) == 0:
		_, err := fmt.Fprintf(p.Stdout, "All requests of set %s have ended.\n", name)
		return err
	case !c.Yes:
		if err := p.requestTable(open); err != nil {
			return err
		}
		return usage.Errorf("nothing is cancelled yet: add --yes to cancel %s of set %s", phrase.Count(len(open), "request"), name)
	}
	return toSet(ctx, p, open, c.JSON, func(id events.RequestID) (client.RequestAnswer, error) { return cl.CancelRequest(ctx, id, c.Reason) },
		func(a client.RequestAnswer) error { return p.requestAnswer(a, false) })
}

// askSet asks for jobs of each request of a set.
func (c again) askSet(ctx context.Context, p *Program, cl *client.Client, name string, n client.NewGraph) error {
	if c.Expect != "" || len(c.Job) > 0 {
		return usage.Errorf("--expect and --job are about one request: leave them out for set %s, or name a request", name)
	}
	all, err := members(ctx, cl, name)
	if err != nil {
		return err
	}
	return toSet(ctx, p, all, c.JSON, func(id events.RequestID) (client.GraphAnswer, error) { return cl.WantGraph(ctx, id, n) },
		func(a client.GraphAnswer) error { return p.graphAnswer(a, false) })
}
