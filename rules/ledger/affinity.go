package ledger

import (
	"slices"
	"time"

	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/rules/match"
	"github.com/tachobench/tacho/rules/share"
)

// Waits says how long jobs may wait for a better machine.
type Waits struct {
	Now time.Time
	// Affinity is how long a job waits for a machine that has its caches while others could run it; 0 means not at all.
	Affinity time.Duration
	// Room is how long a job that is first waits for room before a machine is held for it; 0 means for ever.
	Room time.Duration
}

const (
	// maxWarm bounds the caches that a machine is remembered to have.
	maxWarm = 256
	// maxNear bounds the classes while jobs may still have one for their caches.
	maxNear = 1024
)

// warms returns the names of what a job leaves on its machine. Results of artifacts are among them: whoever measures
// against one of these need not measure it again.
func warms(spec events.JobSpec) []string {
	if spec.Against == nil {
		return spec.Caches
	}
	return append(slices.Clone(spec.Caches), results(spec.Artifact), results(*spec.Against))
}

// wishes returns the names of what a job would like to find on its machine.
func wishes(spec events.JobSpec) []string {
	if spec.Against == nil {
		return spec.Caches
	}
	return append(slices.Clone(spec.Caches), results(*spec.Against))
}

// results names the results of an artifact. No cache has such a name.
func results(a events.Artifact) string { return "=" + string(a.Suite) + "/" + string(a.Tag) }

// warm notes what the machine of a lane has after a job, and what it threw away.
func (l *Ledger) warm(lane *Lane, spec events.JobSpec, evicted []string) {
	if lane.Machine == "" {
		return
	}
	m := l.Machines[lane.Machine]
	for _, name := range warms(spec) {
		if m.Warm == nil {
			m.Warm = map[string]events.Seq{}
		}
		m.Warm[l.names.once(name)] = l.Seq
	}
	m.cool(evicted) // a cache that is too large goes at the end of its own job
	for len(m.Warm) > maxWarm {
		var oldest string
		for name, seq := range m.Warm {
			if oldest == "" || seq < m.Warm[oldest] || seq == m.Warm[oldest] && name < oldest {
				oldest = name
			}
		}
		delete(m.Warm, oldest)
	}
}

// cool notes caches that the machine has no more.
func (m *Machine) cool(names []string) {
	for _, name := range names {
		delete(m.Warm, name)
	}
}

// near notes, of a job that comes into the line, which of its caches some machine has.
func (l *Ledger) near(j *Job) {
	var near []string
	if len(l.Classes) < maxNear {
		for _, name := range wishes(j.Spec()) {
			for _, m := range l.Machines {
				if _, warm := m.Warm[name]; warm && !m.Removed {
					near = append(near, name)
					break
				}
			}
		}
	}
	slices.Sort(near)
	if !slices.Equal(near, j.Near) {
		j.fares(func(c *course) { c.Near = near })
	}
}

// ready notes since when jobs of a request wait in a class.
func (l *Ledger) ready(j *Job) {
	c := l.class(j)
	if _, known := c.Ready[j.of.request]; !known {
		c.Ready[j.of.request] = l.at
	}
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
func (l *Ledger) offered(name events.MachineName, w Waits) (classes []*Class) {
	for _, c := range l.Machines[name].serves {
		if (!slices.Contains(c.Avoids, name) || !l.another(c)) && (len(c.Near) == 0 || c.waited(w.Now) >= w.Affinity || l.warmest(c, name)) {
			classes = append(classes, c)
		}
	}
	return classes
}

// warmest reports whether no other machine that is online has more of the caches of a class.
func (l *Ledger) warmest(c *Class, name events.MachineName) bool {
	own := l.Machines[name].has(c.Near)
	for other, m := range l.Machines {
		if other != name && m.has(c.Near) > own && m.can(c) && !slices.Contains(c.Avoids, other) && l.online(m) {
			return false
		}
	}
	return true
}

// has counts the caches that the machine has.
func (m *Machine) has(names []string) (n int) {
	for _, name := range names {
		if _, warm := m.Warm[name]; warm {
			n++
		}
	}
	return n
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
func (l *Ledger) classesFor(lane *Lane, w Waits) []share.Class {
	if lane.Machine == "" {
		return []share.Class{lane.class}
	}
	m := l.Machines[lane.Machine]
	var all, fits []share.Class
	late := false
	offered := l.offered(lane.Machine, w)
	for _, c := range offered {
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
			if c.Number == choice.Class && !m.room.Fits(c.needs) && w.Now.Sub(c.Ready[choice.Item.ID]) >= w.Room && l.soonest(c) == lane.Machine {
				return nil
			}
		}
	}
	return fits
}

// soonest returns the machine that will have room for a class first, by the expected ends of what runs there.
func (l *Ledger) soonest(c *Class) (first events.MachineName) {
	var best time.Time
	for name, m := range l.Machines {
		if !m.can(c) || !l.online(m) || slices.Contains(c.Avoids, name) && l.another(c) {
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
	type place struct {
		ends  time.Time
		needs match.Requirement
	}
	var open []place
	room := match.NewRoom(m.Offer())
	for _, name := range m.Lanes {
		lane := l.Lanes[name]
		for _, d := range lane.Dispatches {
			began := l.Newest
			if executed := l.Executed(lane); executed != nil && executed.ID == d.Job.ID {
				began = lane.Begun
			}
			p := place{began, needs(d.Job.Requires)}
			if d.Share != nil {
				p.ends = began.Add(time.Duration(d.Share.ExpectMS) * time.Millisecond)
			}
			open = append(open, p)
			room.Reserve(p.needs)
		}
	}
	slices.SortFunc(open, func(a, b place) int { return a.ends.Compare(b.ends) })
	for _, p := range open {
		if room.Fits(c.needs) {
			return at
		}
		room.Free(p.needs)
		at = p.ends
	}
	return at
}
