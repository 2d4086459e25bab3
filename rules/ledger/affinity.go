package ledger

import (
	"slices"
	"time"

	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/rules/match"
	"github.com/tachobench/tacho/rules/share"
)

// maxNear bounds the classes while jobs may still have one for their caches.
const maxNear = 1024

// warm notes what the machine of a lane has after a job, and what it threw away.
func (l *Ledger) warm(lane *Lane, spec events.JobSpec, evicted []string) {
	if lane.Machine == "" {
		return
	}
	m, names := l.Machines[lane.Machine], slices.Clone(match.Leaves(spec))
	for i, name := range names {
		names[i] = l.names.once(name)
	}
	if m.Warm == nil && len(names) > 0 {
		m.Warm = match.Warm{}
	}
	m.Warm.Fill(names, l.Seq, evicted)
}

// near notes, of a job that comes into the line, which of its caches some machine has.
func (l *Ledger) near(j *Job) {
	var near []string
	if len(l.Classes) < maxNear {
		near = match.Near(j.Spec(), func(name string) bool {
			for _, m := range l.Machines {
				if _, warm := m.Warm[name]; warm && !m.Removed {
					return true
				}
			}
			return false
		})
	}
	if !slices.Equal(near, j.Near) {
		j.fares(func(c *course) { c.Near = near })
	}
}

// ready notes since when jobs of a request wait in a class.
func (l *Ledger) ready(j *Job, since time.Time) {
	c := l.class(j)
	if at, known := c.Ready[j.of.request]; !known || since.Before(at) {
		c.Ready[j.of.request] = since
	}
}

// readyOf returns since when a job has waited that is about to be dispatched; zero for one that is not matched.
func (l *Ledger) readyOf(j *Job) time.Time {
	if j == nil {
		return never
	}
	if c, waits := l.ClassOf(j); waits {
		return c.Ready[j.of.request]
	}
	return never
}

// waited returns how long the oldest jobs of a class have waited.
func (c *Class) waited(now time.Time) (longest time.Duration) {
	for _, since := range c.Ready {
		longest = max(longest, now.Sub(since))
	}
	return longest
}

// offered returns the classes that a machine may begin when it has room for them: those that it can run, except those
// whose jobs had better go to another machine.
func (l *Ledger) offered(name events.MachineName, w match.Waits) (classes []*Class) {
	for _, c := range l.Machines[name].serves {
		if l.barred(c, name, w.Now) {
			continue
		}
		if (!slices.Contains(c.Avoids, name) || !l.another(c, w.Now)) && (len(c.Near) == 0 || c.waited(w.Now) >= w.Affinity || l.warmest(c, name, w.Now)) {
			classes = append(classes, c)
		}
	}
	return classes
}

// warmest reports whether no other machine that is online has more of the caches of a class.
func (l *Ledger) warmest(c *Class, name events.MachineName, now time.Time) bool {
	own := l.Machines[name].Warm.Count(c.Near)
	for other, m := range l.Machines {
		if other != name && m.Warm.Count(c.Near) > own && m.can(c) && !slices.Contains(c.Avoids, other) && l.online(m) && !l.barred(c, other, now) {
			return false
		}
	}
	return true
}

// online reports whether a collector of the machine is there and takes jobs.
func (l *Ledger) online(m *Machine) bool {
	return slices.ContainsFunc(m.Lanes, func(lane events.Lane) bool {
		taker := l.Collectors[l.Lanes[lane].Assignment.Serving]
		return taker != nil && taker.Takes() && taker.Online
	})
}

// classesFor returns the numbers of what a lane may begin now. If the job that is first for its machine has waited too
// long for room, and no machine will have room for it sooner, that is nothing: the machine is held for the job.
func (l *Ledger) classesFor(lane *Lane, w match.Waits) []share.Class {
	if lane.Machine == "" {
		return []share.Class{lane.class}
	}
	knows := l.knowsBuilds(lane)
	m := l.Machines[lane.Machine]
	var all, fits []share.Class
	late := false
	offered := l.offered(lane.Machine, w)
	for _, c := range offered {
		if c.Builds && !knows {
			continue
		}
		all = append(all, c.Number)
		if m.room.Fits(c.needs) {
			fits = append(fits, c.Number)
		} else {
			late = late || w.Room > 0 && c.waited(w.Now) >= w.Room
		}
	}
	if late && len(fits) > 0 {
		choice, _ := l.Tree.Pick(l.expecting(lane), all...)
		for _, c := range offered {
			if c.Number == choice.Class && !m.room.Fits(c.needs) && w.Now.Sub(c.Ready[choice.Item.ID]) >= w.Room && l.soonest(c, w.Now) == lane.Machine {
				return nil
			}
		}
	}
	return fits
}

// soonest returns the machine that will have room for a class first, by the expected ends of what runs there.
func (l *Ledger) soonest(c *Class, now time.Time) (first events.MachineName) {
	var best time.Time
	for name, m := range l.Machines {
		if !m.can(c) || l.barred(c, name, now) || !l.online(m) || slices.Contains(c.Avoids, name) && l.another(c, now) {
			continue
		}
		at := l.roomAt(m, c)
		if first == "" || at.Before(best) || at.Equal(best) && name < first {
			first, best = name, at
		}
	}
	return first
}

// roomAt returns when a machine is expected to have room for a class.
func (l *Ledger) roomAt(m *Machine, c *Class) (at time.Time) {
	var open []match.Open
	for _, name := range m.Lanes {
		lane := l.Lanes[name]
		for _, d := range lane.Dispatches {
			began := l.Newest
			if executed := l.Executed(lane); executed != nil && executed.ID == d.Job.ID {
				began = lane.Begun
			}
			p := match.Open{Needs: needs(d.Job.Requires), Ends: began}
			if d.Share != nil {
				p.Ends = began.Add(time.Duration(d.Share.ExpectMS) * time.Millisecond)
			}
			open = append(open, p)
		}
	}
	if n := match.Frees(m.Offer(), open, c.needs); n > 0 {
		at = open[n-1].Ends
	}
	return at
}
