package control

import (
	"context"

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
}

// RepairRequest asks for the next rounds of jobs of a request, whatever its state. A request that has ended keeps its
// state. The scheduler answers in the log: see RepairAnswer.
func (c *Control) RepairRequest(ctx context.Context, by By, id events.RequestID, r Repair) (request.Request, Answer, error) {
	want := events.GraphWanted{Key: r.Key, Kind: events.GraphRepair, Select: r.Jobs, Reason: r.Reason}
	if r.Rerun {
		want.Kind = events.GraphRerun
	}
	return c.Want(ctx, by, id, want)
}

// Want asks for more jobs for a request, whatever its state; the request of the wish is ignored. A wish with a key that
// was used before is the same wish, and refused if it differs. The scheduler answers in the log: see RepairAnswer. also
// is recorded with it, as in CreateRequest.
func (c *Control) Want(ctx context.Context, by By, id events.RequestID, wish events.GraphWanted, also ...eventlog.Append) (request.Request, Answer, error) {
	return c.onRequest(ctx, by, id, nil, request.Want{GraphWanted: wish}, also)
}

// CancelGraph withdraws a graph that was made by a wish. Its running jobs are stopped, but for those that another
// request waits for.
func (c *Control) CancelGraph(ctx context.Context, by By, id events.RequestID, graph int, reason string) (request.Request, Answer, error) {
	return c.onRequest(ctx, by, id, nil, request.CancelGraph{Graph: graph, Reason: reason}, nil)
}

// RepairAnswer returns the answer to a wish: the jobs that were made, or why there are none. answered is false until
// the scheduler has answered.
func (c *Control) RepairAnswer(ctx context.Context, id events.RequestID, key string) (jobs []events.JobID, refused string, answered bool, err error) {
	history, err := c.Log.Read(ctx, events.RequestSubject(id))
	if err != nil {
		return nil, "", false, err
	}
	for _, e := range history {
		// Only these two are answers.
		//exhaustive:ignore
		switch f := e.Fact.(type) {
		case events.JobsCreated:
			if f.Key == key {
				answered = true
				for _, spec := range f.Jobs {
					jobs = append(jobs, spec.ID)
				}
			}
		case events.GraphRefused:
			if f.Key == key {
				return nil, f.Reason, true, nil
			}
		}
	}
	return jobs, "", answered, nil
}
