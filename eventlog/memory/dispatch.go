package memory

import (
	"context"
	"fmt"
	"sort"
	"time"

	"github.com/tachobench/tacho/eventlog"
	"github.com/tachobench/tacho/events"
)

// lane is the state of one durable consumer: how far it is acknowledged, and its one outstanding delivery.
type lane struct {
	acked int // how many messages of the lane's subject are acknowledged
	// out is the number of the outstanding delivery, 0 for none. deadline is when the message may be delivered again. A
	// delay after a Nak has a deadline but no delivery.
	out, deliveries int
	deadline        time.Time
}

// EnsureLane implements eventlog.Dispatch.
func (l *Log) EnsureLane(_ context.Context, name events.Lane, from events.Seq) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.lanes[name] == nil {
		places := l.places[events.LaneSubject(name)]
		l.lanes[name] = &lane{acked: sort.Search(len(places), func(i int) bool { return l.all[places[i]].Seq >= from })}
		l.announce()
	}
	return nil
}

// ForgetLane loses the consumer of a lane, as a server does that starts anew. A delivery from before counts for nothing.
func (l *Log) ForgetLane(name events.Lane) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.lanes, name)
	l.announce()
}

// NextJob implements eventlog.Dispatch.
func (l *Log) NextJob(ctx context.Context, name events.Lane) (eventlog.Delivery, error) {
	for {
		l.mu.Lock()
		d, wait := l.take(name)
		there, changed := l.lanes[name] != nil, l.changed
		l.mu.Unlock()
		if !there {
			return nil, fmt.Errorf("next job of %s: %w", name, eventlog.ErrNoLane)
		}
		if d != nil {
			return d, nil
		}
		var again <-chan time.Time
		if wait > 0 {
			again = time.After(wait)
		}
		select {
		case <-changed:
		case <-again:
		case <-ctx.Done():
			return nil, fmt.Errorf("next job of %s: %w", name, ctx.Err())
		}
	}
}

// take returns the next delivery of the lane, or how long to wait before looking again; 0 means "until the next
// change". The caller holds mu.
func (l *Log) take(name events.Lane) (*delivery, time.Duration) {
	ln := l.lanes[name]
	if ln == nil {
		return nil, 0
	}
	if wait := time.Until(ln.deadline); wait > 0 {
		return nil, wait
	}
	places := l.places[events.LaneSubject(name)]
	if ln.acked >= len(places) {
		return nil, 0
	}
	ln.deliveries++
	ln.out, ln.deadline = ln.deliveries, time.Now().Add(l.cfg.AckWait)
	return &delivery{log: l, lane: ln, place: ln.acked, stored: l.all[places[ln.acked]]}, 0
}

// delivery refers to the message by its place, like the real server: a late answer counts for the outstanding delivery
// of that message.
type delivery struct {
	log    *Log
	lane   *lane
	place  int
	stored events.Stored
}

// Stored implements eventlog.Delivery.
func (d *delivery) Stored() events.Stored { return d.stored }

// InProgress implements eventlog.Delivery.
func (d *delivery) InProgress(context.Context) error {
	d.ifOutstanding(func() { d.lane.deadline = time.Now().Add(d.log.cfg.AckWait) })
	return nil
}

// Ack implements eventlog.Delivery.
func (d *delivery) Ack(context.Context) error {
	d.ifOutstanding(func() { d.lane.acked, d.lane.out, d.lane.deadline = d.place+1, 0, time.Time{} })
	return nil
}

// Nak implements eventlog.Delivery.
func (d *delivery) Nak(_ context.Context, delay time.Duration) error {
	d.ifOutstanding(func() { d.lane.out, d.lane.deadline = 0, time.Now().Add(delay) })
	return nil
}

// ifOutstanding calls f if the message is outstanding, and wakes all waiters.
func (d *delivery) ifOutstanding(f func()) {
	d.log.mu.Lock()
	defer d.log.mu.Unlock()
	if d.lane.acked == d.place && d.lane.out != 0 {
		f()
		d.log.announce()
	}
}
