package door

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/internal/retry"
)

// Connection is one connection of a collector to the NATS server.
type Connection struct {
	// Server is the id of the server if there are several. ID is that server's number of the connection.
	Server  string
	ID      uint64
	Account events.CollectorName
	// Key is the public key that the client proved; empty for a client with a password.
	Key string
	// Messages and Bytes are what the client has sent since it connected.
	Messages, Bytes int64
}

// place identifies a connection.
type place struct {
	server string
	id     uint64
}

// Wall knows the connections of collectors and cuts them.
type Wall interface {
	Connections() ([]Connection, error)
	Disconnect(Connection) error
}

const (
	// lookEvery is how often the door looks at the connections and the alerts.
	lookEvery = time.Second
)

// refused notes that a request was refused. Refusals that are no offence only count in the metrics.
func (d *Door) refused(name events.CollectorName, who *account, v Verb, r refusal) {
	d.Metrics.refused.WithLabelValues(string(name), string(r.Kind)).Inc()
	switch r.Kind {
	case conflict, lost, slower, again, held, tooLarge, full, missing, damaged:
		return
	case forbidden, malformed, revoked, outdated:
	}
	now := d.Guard.clock()
	who.offend(now)
	d.complain(name, fmt.Sprintf("%s: %s", v, r.Reason), false)
	d.cutIfOverdue(name, who, now)
}

// complaint is why a person should look at a collector. told is the reason that this door has already put into the
// alert.
type complaint struct{ reason, told string }

// complain keeps the reason for the alert. The first reason stays until the collector is cut off.
func (d *Door) complain(name events.CollectorName, reason string, cut bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if c := d.complaints[name]; c.reason == "" || cut && c.reason != reason {
		d.complaints[name] = complaint{reason: reason, told: c.told}
		d.Logger.Warn("a collector was refused", "collector", name, "reason", reason)
	}
}

// cutIfOverdue cuts off a collector that has offended too often.
func (d *Door) cutIfOverdue(name events.CollectorName, who *account, now time.Time) {
	if long, now := who.overdue(now); now {
		d.tellCut(name, long, tooFast(d.Guard.bounds))
		d.working.do(d.sweep)
	}
}

func (d *Door) tellCut(name events.CollectorName, long time.Duration, why string) {
	d.Metrics.cut.WithLabelValues(string(name)).Inc()
	d.Logger.Warn("a collector is cut off", "collector", name, "for", long, "reason", why)
	d.complain(name, "it was cut off: "+why, true)
}

// collectors returns the connections of collectors: an account has the name of its collector.
func (g *Guard) collectors(all []Connection) []Connection {
	return slices.DeleteFunc(all, func(c Connection) bool { return g.books.standing(c.Account).Registered == nil })
}

// welcome reports whether a connection may stay: its key still opens its account, and the collector is not cut off. A
// client with a password has the account that the server's configuration gives it.
func (g *Guard) welcome(c Connection) bool {
	if c.Key == "" {
		return !g.books.standing(c.Account).Removed && !g.of(c.Account).isCut(g.clock())
	}
	name, err := g.Account(c.Key)
	return err == nil && name == string(c.Account)
}

// watch checks the connections and keeps the alerts up to date until ctx ends.
func (d *Door) watch(ctx context.Context) {
	tick := time.NewTimer(retry.Next(lookEvery))
	defer tick.Stop()
	before := map[place]Connection{}
	for {
		select {
		case <-ctx.Done():
			return
		case <-d.Guard.books.changed:
			d.sweep()
		case <-tick.C:
			before = d.weigh(before)
			d.tell(ctx)
			tick.Reset(retry.Next(lookEvery))
		}
	}
}

// connections returns the connections of collectors. It returns false when it cannot list them, or cannot judge them
// because the log is still being read: it would take a rotated key for an unknown one.
func (d *Door) connections() ([]Connection, bool) {
	if d.Wall == nil || !d.Guard.books.caughtUp() {
		return nil, false
	}
	all, err := d.Wall.Connections()
	if err != nil {
		d.Logger.Warn("the connections of collectors could not be listed", "error", err)
		return nil, false
	}
	return d.Guard.collectors(all), true
}

// sweep cuts the connections with an invalid key and those of collectors that are cut off.
func (d *Door) sweep() {
	all, _ := d.connections()
	for _, c := range all {
		if !d.Guard.welcome(c) {
			d.disconnect(c)
		}
	}
}

func (d *Door) disconnect(c Connection) {
	if err := d.Wall.Disconnect(c); err != nil {
		d.Logger.Debug("a connection was gone before it was cut", "collector", c.Account, "error", err)
	}
}

// weigh compares what each connection has sent with the previous look. It cuts off collectors that send more than they
// may, on all subjects together.
func (d *Door) weigh(before map[place]Connection) map[place]Connection {
	all, seen := d.connections()
	if !seen {
		return before
	}
	now, after := d.Guard.clock(), make(map[place]Connection, len(all))
	for _, c := range all {
		at := place{c.Server, c.ID}
		after[at] = c
		b := before[at]
		loud := c.Messages-b.Messages > d.Guard.bounds.Messages || c.Bytes-b.Bytes > d.Guard.mostBytes(c.Account)
		who := d.Guard.of(c.Account)
		if loud {
			if long := who.cut(now); long > 0 {
				d.tellCut(c.Account, long, fmt.Sprintf("it sent more than %d messages, or %d MiB, within a second", d.Guard.bounds.Messages, d.Guard.mostBytes(c.Account)>>20))
			}
		}
		if !d.Guard.welcome(c) {
			d.disconnect(c)
		}
	}
	return after
}

// tell raises an alert about each collector that offended lately, and clears the alerts about collectors that have kept
// the rules since. Other doors do the same, so the log says which alerts stand.
func (d *Door) tell(ctx context.Context) {
	now := d.Guard.clock()
	standing := d.Guard.books.complaints()
	d.Guard.each(func(name events.CollectorName, who *account) {
		if quiet := who.quiet(now); quiet > d.Guard.bounds.Quiet {
			d.mu.Lock()
			delete(d.complaints, name)
			d.mu.Unlock()
			return
		}
		_, stands := standing[name]
		delete(standing, name)
		d.mu.Lock()
		c := d.complaints[name]
		d.mu.Unlock()
		if stands && c.told == c.reason || c.reason == "" {
			return
		}
		if !d.tried(ctx, d.Alert(ctx, name, fmt.Sprintf("Collector %s asks for something that it may not do: %s.", name, c.reason),
			fmt.Sprintf("If its program is as new as the core's, another program uses its key: `tacho collector rotate %s`, or `tacho collector remove %s`.", name, name))) {
			return
		}
		d.mu.Lock()
		if now := d.complaints[name]; now.reason == c.reason {
			d.complaints[name] = complaint{reason: c.reason, told: c.reason}
		}
		d.mu.Unlock()
	})
	for name, raised := range standing {
		if now.Sub(raised) > d.Guard.bounds.Quiet {
			d.tried(ctx, d.AllClear(ctx, name, fmt.Sprintf("it has kept to the rules for %s", d.Guard.bounds.Quiet)))
		}
	}
}

// tried reports whether an alert was recorded. If not, the next look tries again.
func (d *Door) tried(ctx context.Context, err error) bool {
	if err != nil && ctx.Err() == nil {
		d.Logger.Warn("an alert about a collector could not be recorded, trying again", "error", err)
	}
	return err == nil
}
