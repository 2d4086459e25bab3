package control

import (
	"context"

	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/job"
)

// TakeLaneOver has a collector serve its lane from here on, instead of the one that does. A job that the other
// one has in hand is finished there first. It needs no heartbeat of the collector: who asks knows why.
func (c *Control) TakeLaneOver(ctx context.Context, by By, name events.CollectorName, reason string) (Answer, error) {
	if err := events.CheckToken("collector", string(name)); err != nil {
		return Answer{}, refuse(Invalid, "%s", err)
	}
	known, err := c.collector(ctx, name)
	if err == nil {
		err = known.exists(name)
	}
	switch {
	case err != nil:
		return Answer{}, err
	case !known.Takes():
		return Answer{}, refuse(Conflict, "collector %s takes no jobs now: activate it first with `tacho collector activate %s`", name, name)
	}
	lane := known.Registered.Lane()
	if reason == "" {
		reason = "asked for"
	}
	_, answer, err := decide(ctx, c, by, events.AssignmentSubject(lane), evolveAssignment, func(a job.Assignment) ([]events.Fact, error) {
		if _, assigned := a.Collectors[name]; !assigned {
			return nil, refuse(Conflict, "collector %s is not assigned to lane %s: activate it first with `tacho collector activate %s`", name, lane, name)
		}
		if a.Serving == name {
			return nil, nil
		}
		return []events.Fact{events.LaneTakenOver{Lane: lane, Name: name, From: a.Serving, Reason: reason}}, nil
	})
	return answer, err
}
