package ledger

import (
	"slices"
	"time"

	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/rules/match"
)

// barred reports whether the jobs of a class must wait until a machine is tried again, because it is full.
func (l *Ledger) barred(c *Class, name events.MachineName, now time.Time) bool {
	f := l.Machines[name].Full
	return f.Lacks(c.needs) && now.Before(f.Until(l.elsewhere(c, name)))
}

// elsewhere reports whether another machine that is online has the memory that the jobs of a class reserve.
func (l *Ledger) elsewhere(c *Class, name events.MachineName) bool {
	for other, m := range l.Machines {
		if other != name && m.can(c) && !m.Full.Lacks(c.needs) && !slices.Contains(c.Avoids, other) && l.online(m) {
			return true
		}
	}
	return false
}

// foldFull notes what the end of an attempt tells about the free memory of a machine. begun is when the attempt began.
func (l *Ledger) foldFull(lane *Lane, spec events.JobSpec, begun time.Time, f events.WorkFact) {
	if lane.Machine != "" {
		m := l.Machines[lane.Machine]
		m.Full = m.Full.After(f, match.Ended{At: l.stored, Seq: l.Seq, Ran: l.stored.Sub(begun), Requires: spec.Requires})
	}
}

// FullOf returns how full a machine is; nil if it is not. It is not once a job runs there that reserves more than was
// free.
func (l *Ledger) FullOf(name events.MachineName, now time.Time) *match.Full {
	m, ok := l.Machines[name]
	if !ok || m.Removed || m.Full == nil {
		return nil
	}
	for _, at := range m.Lanes {
		lane := l.Lanes[at]
		if j := l.Executed(lane); j != nil && now.Sub(lane.Begun) >= match.FullRan && m.Full.Disproved(j.Token, j.Spec().Requires) {
			return nil
		}
	}
	return m.Full
}
