package control

import (
	"context"
	"errors"
	"strings"

	"github.com/tachobench/tacho/eventlog"
	"github.com/tachobench/tacho/events"
)

// ParkAnswer is the result of a park, and of the end of one: the events that it is about.
type ParkAnswer struct {
	Answer
	First events.Seq `json:"first"`
	Last  events.Seq `json:"last"`
	// Type is that of the event that this program does not understand.
	Type string `json:"type"`
}

func parkAnswer(p events.Park, a Answer) ParkAnswer {
	return ParkAnswer{Answer: a, First: p.First, Last: p.Last, Type: p.Type}
}

// Park leaves an event out of all folds, with all events of its append. Only an event that this program does not
// understand, and that stops its folds, can be parked.
func (c *Control) Park(ctx context.Context, by By, seq events.Seq, reason string) (ParkAnswer, error) {
	if strings.TrimSpace(reason) == "" {
		return ParkAnswer{}, refuse(Invalid, "say with a reason why event %d is parked: it is kept in the log", seq)
	}
	at, err := c.eventAt(ctx, seq)
	if err != nil {
		return ParkAnswer{}, err
	}
	return c.transactParks(ctx, by, func(parks events.Parks) (events.Park, []events.Fact, error) {
		if p, parked := parks.Of(seq); parked {
			return p, nil, nil
		}
		p, err := c.parkOf(ctx, at)
		p.Reason = reason
		return p, []events.Fact{p.EventsParked}, err
	})
}

// Unpark ends the park of an event and of all that were parked with it: folds take them again.
func (c *Control) Unpark(ctx context.Context, by By, seq events.Seq, reason string) (ParkAnswer, error) {
	if strings.TrimSpace(reason) == "" {
		return ParkAnswer{}, refuse(Invalid, "say with a reason why event %d is parked no more: it is kept in the log", seq)
	}
	return c.transactParks(ctx, by, func(parks events.Parks) (events.Park, []events.Fact, error) {
		p, parked := parks.Of(seq)
		if !parked {
			return p, nil, refuse(NotFound, "event %d is not parked: `tacho events parked` lists those that are", seq)
		}
		return p, []events.Fact{events.EventsUnparked{First: p.First, Last: p.Last, Reason: reason}}, nil
	})
}

// Parked returns the parks that stand.
func (c *Control) Parked(ctx context.Context) ([]events.Park, error) {
	parks, err := c.Log.Parks(ctx)
	return parks.Standing(), err
}

// transactParks takes one decision on the parks.
func (c *Control) transactParks(ctx context.Context, by By, decision func(events.Parks) (events.Park, []events.Fact, error)) (ParkAnswer, error) {
	var version events.Seq
	var about events.Park
	seq, err := eventlog.Transact(ctx, c.Log, func(tx *eventlog.Tx) (_ []events.Event, err error) {
		history, err := tx.Read(ctx, events.ParkSubject())
		if err != nil {
			return nil, err
		}
		version = tx.Version(events.ParkSubject())
		var facts []events.Fact
		about, facts, err = decision(events.ParksOf(history))
		return c.events(by, facts...), err
	})
	if err != nil {
		return ParkAnswer{}, err
	}
	if seq > 0 {
		// What reads single aggregates obeys it from now on. If this fails, it does as soon as the ledger does.
		_, _ = c.Log.Parks(ctx)
	}
	a, err := answer(seq, version, nil)
	return parkAnswer(about, a), err
}

// parkOf returns the park of an event that stops folds: the whole append that it was stored with.
func (c *Control) parkOf(ctx context.Context, at events.Stored) (events.Park, error) {
	_, err := events.Decode(at)
	var newer *events.NewerError
	switch {
	case !errors.As(err, &newer) && err != nil:
		return events.Park{}, refuse(Conflict, "event %d is malformed: no fold takes it anyway, and it stops no part", at.Seq)
	case err == nil:
		return events.Park{}, refuse(Conflict, "this program understands event %d (%s): only an event that it does not understand can be parked", at.Seq, events.NameOf(at))
	case at.Subject.Foreign():
		return events.Park{}, refuse(Conflict, "event %d is on %s, where collectors write: there an unknown type stops no part", at.Seq, at.Subject)
	case at.Subject == events.ParkSubject():
		return events.Park{}, refuse(Conflict, "event %d says which events are parked, in words of a newer version: update this program", at.Seq)
	}
	first, last, err := c.batchOf(ctx, at)
	return events.Park{EventsParked: events.EventsParked{First: first, Last: last, ID: newer.ID, Type: newer.Type}}, err
}

// eventAt returns one event of the log.
func (c *Control) eventAt(ctx context.Context, seq events.Seq) (events.Stored, error) {
	head, err := c.Log.Head(ctx)
	switch {
	case err != nil:
		return events.Stored{}, err
	case seq == 0 || seq > head.Last:
		return events.Stored{}, refuse(NotFound, "there is no event %d: the log ends at event %d", seq, head.Last)
	}
	list, err := c.stored(ctx, seq, seq)
	if err != nil {
		return events.Stored{}, err
	}
	return list[0], nil
}

// batchOf returns the first and the last event of the append that an event was stored with. What the event says of it
// counts only if the others say the same.
func (c *Control) batchOf(ctx context.Context, at events.Stored) (first, last events.Seq, err error) {
	first, last = at.Batch()
	if first == last || last-first >= eventlog.MaxBatch {
		return at.Seq, at.Seq, nil
	}
	head, err := c.Log.Head(ctx)
	if err != nil || last > head.Last {
		return at.Seq, at.Seq, err
	}
	all, err := c.stored(ctx, first, last)
	if err != nil {
		return 0, 0, err
	}
	for _, s := range all {
		if f, l := s.Batch(); f != first || l != last {
			return at.Seq, at.Seq, nil
		}
	}
	return first, last, nil
}

// stored returns the events of the log from first to last, which it must hold.
func (c *Control) stored(ctx context.Context, first, last events.Seq) (list []events.Stored, err error) {
	cursor, err := c.Log.Follow(ctx, first-1)
	if err != nil {
		return nil, err
	}
	defer cursor.Close()
	for want := int(last - first + 1); len(list) < want; {
		more, err := cursor.Next(ctx, want-len(list))
		if err != nil {
			return nil, err
		}
		list = append(list, more...)
	}
	return list, nil
}
