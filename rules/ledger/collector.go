package ledger

import (
	"slices"

	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/rules/job"
)

// foldCollector applies a fact about a collector to it and to the lane that it is registered for.
func (l *Ledger) foldCollector(f events.CollectorFact) {
	c := l.collector(f.Whose())
	if c.Removed {
		return
	}
	was, before, took, process, key := *c, c.Lane(), c.Takes(), c.Instance, keyOf(c.Standing)
	c.Standing = job.Stand(c.Standing, f, l.at)
	l.rekey(f.Whose(), key, keyOf(c.Standing))
	// The others change only the standing.
	//exhaustive:ignore
	switch f := f.(type) {
	case events.CollectorRegistered:
		c.expectedFrom(l)
	case events.RegistryCopied:
		c.expectedFrom(l)
		c.Quarantine = f.Reason
	case events.CollectorActivated:
		c.Failed, c.Unready, c.Expected = nil, 0, l.stored
		delete(l.Blamed, f.Name)
	case events.CollectorOnline:
		if c.Registered != nil && c.Registered.Machine != "" {
			l.machine(c.Registered.Machine).Warm.Cool(f.Evicted)
			l.foldHost(c.Registered.Machine, f.Environment)
		}
		c.Matched, c.Suite2 = slices.Contains(f.Knows, events.KnowsMatched), slices.Contains(f.Knows, events.KnowsSuite2)
		c.Builds = slices.Contains(f.Knows, events.KnowsBuild)
		c.Fingerprint, c.Drivers = f.Environment.Fingerprint, f.Drivers
		c.CPUs = f.Environment.CPUs
		c.Met, c.Expected, c.Updating, c.Wanted, c.Unfetched = true, l.stored, never, "", f.UpdateFailed
	case events.CollectorUpdating:
		if f.Instance == process {
			c.Updating, c.Wanted = l.stored, f.Wanted
		}
	case events.CollectorQuarantined:
		c.Quarantine = f.Reason
	}
	if took {
		l.lane(before).Takers--
	}
	if c.Takes() {
		l.lane(c.Lane()).Takers++
	}
	l.touchAll() // those that it serves, stands by for or executes a job of
	l.foldSlot(&was, c)
	if _, online := f.(events.CollectorOnline); online {
		for _, lane := range l.LaneOrder {
			if l.Lanes[lane].Assignment.Serving == f.Whose() { // mostly the one that it is registered for
				l.noteServer(lane)
			}
		}
	}
	for _, lane := range []events.Lane{before, c.Lane()} {
		if lane != (events.Lane{}) {
			l.noteUnserved(lane)
		}
	}
}

func (l *Ledger) foldAssignment(f events.AssignmentFact) {
	lane := l.lane(f.Where())
	lane.Assignment = job.Assign(lane.Assignment, f)
	if lane.Assignment.Serving != "" {
		lane.Served = lane.Assignment.Serving
	}
	l.touchAll()
	l.noteServer(f.Where())
}

// expectedFrom notes since when a registered collector is expected.
func (c *Collector) expectedFrom(l *Ledger) {
	if c.Expected.IsZero() {
		c.Expected = l.stored
	}
}

// keyOf returns the key of a collector with this standing; empty when it was removed.
func keyOf(s job.Standing) string {
	if s.Registered == nil || s.Removed {
		return ""
	}
	return s.Registered.NKey
}

// rekey changes the key of a collector. A key belongs to the collector that had it first: another one cannot take it by
// registering with the same key.
func (l *Ledger) rekey(name events.CollectorName, old, now string) {
	if old == now {
		return
	}
	if l.Keys[old] == name {
		delete(l.Keys, old)
	}
	if _, taken := l.Keys[now]; now != "" && !taken {
		l.Keys[now] = name
	}
}
