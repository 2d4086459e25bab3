package control

import (
	"context"

	"github.com/tachobench/tacho/eventlog"
	"github.com/tachobench/tacho/events"
)

// TakeLaneOver lets a collector serve its lane from here on, instead of the present one. That one first finishes the
// job that it has in hand. The new collector needs no heartbeat: the person who asks knows why.
func (c *Control) TakeLaneOver(ctx context.Context, by By, name events.CollectorName, reason string) (Answer, error) {
	if err := events.CheckToken("collector", string(name)); err != nil {
		return Answer{}, refuse(Invalid, "%s", err)
	}
	if reason == "" {
		reason = "asked for"
	}
	var version events.Seq
	seq, err := eventlog.Transact(ctx, c.Log, func(tx *eventlog.Tx) ([]events.Event, error) {
		known, err := collectorOf(ctx, tx, name)
		if err == nil {
			err = known.exists(name)
		}
		switch {
		case err != nil:
			return nil, err
		case !known.Takes():
			return nil, refuse(Conflict, "collector %s takes no jobs now: activate it first with `tacho collector activate %s`", name, name)
		}
		lane := known.Registered.Lane()
		a, err := eventlog.StateOf(ctx, tx, events.AssignmentSubject(lane), evolveAssignment)
		if err != nil {
			return nil, err
		}
		version = tx.Version(events.AssignmentSubject(lane))
		if _, assigned := a.Collectors[name]; !assigned {
			return nil, refuse(Conflict, "collector %s is not assigned to lane %s: activate it first with `tacho collector activate %s`", name, lane, name)
		}
		if a.Serving == name {
			return nil, nil
		}
		return c.events(by, events.LaneTakenOver{Lane: lane, Name: name, From: a.Serving, Reason: reason}), nil
	})
	return answer(seq, version, err)
}
