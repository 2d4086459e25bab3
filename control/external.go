package control

import (
	"context"

	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/rules/graph"
	"github.com/tachobench/tacho/rules/request"
)

// Submission is a graph that somebody wrote for a request.
type Submission struct {
	// Key identifies the wish: submitting the same graph again with the same key is the same wish.
	Key    string
	Reason string
	// Priority is that of its jobs; empty for low. They are never more urgent than their request.
	Priority events.Priority
	Graph    graph.Proposed
}

// Wish returns the wish for it, and the parts of the graph that are recorded before it.
func (s Submission) Wish(id events.RequestID) (events.GraphWanted, []events.GraphProposed) {
	parts := s.Graph.Parts(id, s.Key)
	return events.GraphWanted{
		RequestID: id, Key: s.Key, Kind: events.GraphExternal, Reason: s.Reason, Priority: s.Priority, Parts: len(parts), Content: s.Graph.Content(),
	}, parts
}

// Submit asks for a graph that somebody wrote, whatever the state of its request. The graph is recorded with the wish, or nothing
// is. Who may do that is decided as in Want. The scheduler answers in the log: see WishAnswer.
func (c *Control) Submit(ctx context.Context, by By, id events.RequestID, s Submission) (request.Request, Answer, error) {
	if err := s.Graph.Check(); err != nil {
		return request.Request{}, Answer{}, refuse(Invalid, "%s", err)
	}
	wish, parts := s.Wish(id)
	if _, _, _, err := c.CheckWant(ctx, by, id, wish); err != nil {
		return request.Request{}, Answer{}, err
	}
	return c.onRequest(ctx, by, id, nil, request.Want{GraphWanted: wish, Proposed: parts}, nil)
}
