package control

import (
	"context"
	"time"

	"github.com/tachobench/tacho/eventlog"
	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/rules/request"
)

// Repair asks to run jobs of a request again that did not succeed.
type Repair struct {
	// Key identifies the wish: asking again with the same key is the same wish. The API makes up a key if none is
	// given.
	Key string `json:"key"`
	// Jobs are the jobs to run again; empty means all that failed or were cancelled.
	Jobs   []events.JobID `json:"jobs,omitempty"`
	Reason string         `json:"reason,omitempty"`
	// Rerun refuses a request that has ended: its jobs are to run again in it.
	Rerun bool `json:"rerun,omitempty"`
	// Force lets a rerun take jobs that succeeded. It needs a reason.
	Force bool `json:"force,omitempty"`
}

// Wish returns the wish that asks for it.
func (r Repair) Wish() events.GraphWanted {
	want := events.GraphWanted{Key: r.Key, Kind: events.GraphRepair, Select: r.Jobs, Reason: r.Reason, Force: r.Force}
	if r.Rerun {
		want.Kind = events.GraphRerun
	}
	return want
}

// RepairRequest asks for the next rounds of jobs of a request, whatever its state. A request that has ended keeps its
// state. The scheduler answers in the log: see WishAnswer.
func (c *Control) RepairRequest(ctx context.Context, by By, id events.RequestID, r Repair) (request.Request, Answer, error) {
	return c.Want(ctx, by, id, r.Wish())
}

// Want asks for more jobs for a request, whatever its state; the request of the wish is ignored. A wish with a key that
// was used before is the same wish, and refused if it differs. An account names at most its max_priority. The scheduler
// answers in the log: see WishAnswer. also is recorded with it, as in CreateRequest.
func (c *Control) Want(ctx context.Context, by By, id events.RequestID, wish events.GraphWanted, also ...eventlog.Append) (request.Request, Answer, error) {
	if err := checkWish(id, wish); err != nil {
		return request.Request{}, Answer{}, err
	}
	return c.onRequest(ctx, by, id, nil, request.Want{GraphWanted: wish}, also)
}

// CheckWant is Want without a record: it returns the request, its version, and the wish with what it leaves out filled in.
func (c *Control) CheckWant(ctx context.Context, by By, id events.RequestID, wish events.GraphWanted) (Known, Answer, events.GraphWanted, error) {
	err := checkWish(id, wish)
	var q Known
	if err == nil {
		q, err = requestIn(ctx, c.Log, id)
	}
	var command request.Command = request.Want{GraphWanted: wish}
	if err == nil {
		command, err = c.allowed(ctx, c.Log, by, id, q.Request, command)
	}
	if err == nil {
		_, err = request.Decide(q.Request, command)
	}
	if err != nil {
		return Known{}, Answer{}, wish, asRefusal(err)
	}
	if want, ok := command.(request.Want); ok {
		wish = want.GraphWanted
	}
	wish.RequestID = id
	wish, err = request.CheckWish(wish)
	return q, Answer{Seq: q.version, Existed: true}, wish, err
}

// checkWish refuses what could be carried out for no request.
func checkWish(id events.RequestID, wish events.GraphWanted) error {
	wish.RequestID = id
	if _, err := request.CheckWish(wish); err != nil {
		return refuse(Invalid, "%s", err)
	}
	return nil
}

// CancelGraph withdraws a graph that was made by a wish. Its running jobs are stopped, but for those that another
// request waits for.
func (c *Control) CancelGraph(ctx context.Context, by By, id events.RequestID, graph int, reason string) (request.Request, Answer, error) {
	return c.onRequest(ctx, by, id, nil, request.CancelGraph{Graph: graph, Reason: reason}, nil)
}

// WishAnswer is the scheduler's answer to a wish.
type WishAnswer struct {
	// Answered is not set before the scheduler has answered.
	Answered bool
	// Refused says why there are no jobs; empty if there are.
	Refused string
	// Jobs are those that were made, Graph is the number of the graph that has them; nil if none has them.
	Jobs  []events.JobSpec
	Graph *int
	// Shared are jobs of other requests that are added to this one.
	Shared []events.JobID
	// Customised says that the jobs are not those that the definitions make.
	Customised bool
	// Seq is the last event of the answer.
	Seq events.Seq
}

// WishAnswer returns the answer to the wish with a key, as the log has it now.
func (c *Control) WishAnswer(ctx context.Context, id events.RequestID, key string) (a WishAnswer, err error) {
	history, err := c.Log.Read(ctx, events.RequestSubject(id))
	if err != nil {
		return a, err
	}
	for _, e := range history {
		// Only these are answers.
		//exhaustive:ignore
		switch f := e.Fact.(type) {
		case events.JobsCreated:
			if f.Key != key {
				continue
			}
			a.Answered, a.Jobs, a.Seq = true, append(a.Jobs, f.Jobs...), e.Seq
			if f.Graph != nil {
				a.Graph = &f.Graph.Graph
				for _, s := range f.Graph.Shared {
					if s.Added {
						a.Shared = append(a.Shared, s.ID)
					}
				}
			}
		case events.GraphCreated:
			if f.Key == key {
				a.Customised = f.Customised
			}
		case events.JobForced:
			if f.Key == key {
				return WishAnswer{Answered: true, Seq: e.Seq}, nil
			}
		case events.GraphRefused:
			if f.Key == key {
				return WishAnswer{Answered: true, Refused: f.Reason, Seq: e.Seq}, nil
			}
		}
	}
	return a, nil
}

// The log is asked for an answer every so often, for so long.
const (
	answerEvery  = 50 * time.Millisecond
	answerWithin = 5 * time.Second
)

// AwaitAnswer returns the answer to a wish. If no scheduler answers within a few seconds, Answered is not set.
func (c *Control) AwaitAnswer(ctx context.Context, id events.RequestID, key string) (WishAnswer, error) {
	giveUp, again := time.NewTimer(answerWithin), time.NewTicker(answerEvery)
	defer giveUp.Stop()
	defer again.Stop()
	for {
		a, err := c.WishAnswer(ctx, id, key)
		if err != nil || a.Answered {
			return a, err
		}
		select {
		case <-again.C:
		case <-giveUp.C:
			return a, nil
		case <-ctx.Done():
			return a, ctx.Err()
		}
	}
}
