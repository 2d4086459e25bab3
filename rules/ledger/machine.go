package ledger

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/rules/match"
	"github.com/tachobench/tacho/rules/share"
)

// Machine is a machine that takes matched jobs, with what is reserved on it.
type Machine struct {
	Described events.MachineDescribed
	Removed   bool `json:",omitempty"`
	// Host is the size that the first of its collectors found.
	Host events.Size
	// Lanes are the lanes of its collectors, in the order in which these were registered.
	Lanes []events.Lane
	// Takers counts its collectors that may take jobs, online or not.
	Takers int
	// Freed is when a place on it last ended.
	Freed time.Time
	// Warm are the caches that it has, with the last job that used each.
	Warm match.Warm `json:",omitempty"`
	// Full is set while it has less free memory than jobs reserve.
	Full *match.Full `json:",omitempty"`
	// room is what is reserved; serves are the classes of jobs that it can run when it is empty, by number.
	room   *match.Room
	serves []*Class
}

// Class is the matched jobs that wait for the same.
type Class struct {
	Line
	// Number orders the jobs of one request that are of several classes.
	Number share.Class
	// Kind is the kind of artifact that they measure, Requires what their machine must have.
	Kind     events.RequestKind
	Requires []string
	// Avoids are machines that lost an attempt of the job. They take it only if there is no other that could.
	Avoids []events.MachineName `json:",omitempty"`
	// Near are caches that the jobs would find filled on some machine.
	Near []string `json:",omitempty"`
	// Builds says that the jobs build, or use what others built: their collector must know how.
	Builds bool `json:",omitempty"`
	// Ready is since when jobs of a request wait.
	Ready map[events.RequestID]time.Time
	// Unserved is since when no machine with a taker can run them, UnservedBy the event that began it.
	Unserved   time.Time
	UnservedBy events.Seq
	needs      match.Requirement
	// unreadable is set for terms of a newer program.
	unreadable bool
}

// Line is jobs that wait for dispatch: to a lane of their own, or to any machine that can run them.
type Line struct {
	// Queued are the jobs, by the request that had them made, in the order they were made.
	Queued map[events.RequestID][]events.JobID
	class  share.Class
}

// classes is the first number of a class of matched jobs. Lanes have the numbers below.
const classes = share.Class(1 << 20)

// Offer returns what the machine has, as requirements are compared with it.
func (m *Machine) Offer() match.Offer {
	d := m.Described.Sized(m.Host)
	return match.Offer{
		Machine: string(d.Machine), Pool: string(d.Pool), OS: d.OS, Arch: d.Arch, MemoryMiB: d.MemoryMiB, CPUs: d.CPUs,
		Devices: d.Devices, Traits: d.Traits, Only: d.Only, Slots: d.Slots, Accepts: d.Accepts,
	}
}

// foldMachine applies a fact about what a machine has.
func (l *Ledger) foldMachine(f events.MachineFact) {
	m := l.machine(f.Whose())
	switch f := f.(type) {
	case events.MachineDescribed:
		m.Described, m.Full = f, nil // the offer may be right now
		m.room.SetOffer(m.Offer())
	case events.MachineRemoved:
		m.Removed = true
	}
	l.reoffer(m)
}

// reoffer finds the classes for what a machine offers now.
func (l *Ledger) reoffer(m *Machine) {
	m.serves = nil
	for _, c := range l.ordered() {
		m.serve(c)
	}
	l.noteClasses()
}

// foldHost notes the size of the host of a machine.
func (l *Ledger) foldHost(name events.MachineName, e events.Environment) {
	m := l.machine(name)
	if m.Host == (events.Size{}) {
		m.Host = events.SizeOf(e)
		m.room.SetOffer(m.Offer())
		l.reoffer(m)
	}
}

// machine returns a machine to be changed.
func (l *Ledger) machine(name events.MachineName) *Machine {
	m, ok := l.Machines[name]
	if !ok {
		m = &Machine{room: match.NewRoom(match.Offer{})}
		l.Machines[name] = m
		for _, c := range l.ordered() {
			m.serve(c)
		}
	}
	return m
}

// serve notes that the machine can run the jobs of a class, if it can.
func (m *Machine) serve(c *Class) {
	if !m.Removed && !c.unreadable && len(match.Lacks(c.needs, c.Kind, m.Offer())) == 0 {
		m.serves = append(m.serves, c)
	}
}

// can reports whether the machine can run the jobs of a class when it is empty.
func (m *Machine) can(c *Class) bool {
	_, ok := m.find(c)
	return ok
}

func (m *Machine) find(c *Class) (int, bool) {
	return slices.BinarySearchFunc(m.serves, c.Number, func(c *Class, n share.Class) int { return cmp.Compare(c.Number, n) })
}

// foldSlot notes the machine of a collector, and how many of its collectors may take jobs. was is the collector before.
func (l *Ledger) foldSlot(was, c *Collector) {
	before, now := was.machine(), c.machine()
	if before == "" && now == "" {
		return
	}
	if before != "" && was.Takes() {
		l.machine(before).Takers--
	}
	if now != "" && c.Takes() {
		l.machine(now).Takers++
	}
	if now != "" && (before != now || was.Lane() != c.Lane()) {
		l.foldLane(now, c.Lane())
	}
	if was.Takes() != c.Takes() || before != now {
		l.noteClasses()
	}
}

// foldLane notes the machine of a lane. What was dispatched to the lane before has its place there.
func (l *Ledger) foldLane(of events.MachineName, name events.Lane) {
	lane := l.lane(name)
	if lane.Machine == of {
		return
	}
	if lane.Machine != "" {
		before := l.machine(lane.Machine)
		before.Lanes = slices.DeleteFunc(slices.Clone(before.Lanes), func(other events.Lane) bool { return other == name })
		for _, d := range lane.Dispatches {
			before.room.Free(held(d.Job))
		}
	}
	m := l.machine(of)
	m.Lanes, lane.Machine = append(m.Lanes, name), of
	for _, d := range lane.Dispatches {
		m.room.Reserve(held(d.Job))
	}
}

// machine returns the machine that the collector is registered for; empty if it is registered for none.
func (c *Collector) machine() events.MachineName {
	if c.Registered == nil {
		return ""
	}
	return c.Registered.Machine
}

// lineOf returns where a job waits for dispatch.
func (l *Ledger) lineOf(j *Job) *Line {
	if j.like.Matched {
		return &l.class(j).Line
	}
	return &l.lane(j.like.Part()).Line
}

// classKey names the class of a matched job.
func (l *Ledger) classKey(j *Job) (key string, avoids []events.MachineName) {
	avoids = l.avoids(j)
	key = strings.Join(append([]string{string(j.of.artifact.Kind)}, j.like.Requires...), " ")
	for _, name := range avoids {
		key += " !" + string(name)
	}
	for _, name := range j.Near {
		key += " ~" + name
	}
	if j.Builds() {
		key += " +" + events.KnowsBuild
	}
	return key, avoids
}

// class returns the class of a matched job, and makes it if there is none.
func (l *Ledger) class(j *Job) *Class {
	key, avoids := l.classKey(j)
	c, ok := l.Classes[key]
	if !ok {
		c = &Class{Number: classes + l.Numbered, Kind: j.of.artifact.Kind, Requires: j.like.Requires, Avoids: avoids, Near: j.Near, Builds: j.Builds()}
		c.Ready = map[events.RequestID]time.Time{}
		c.Queued = map[events.RequestID][]events.JobID{}
		l.Numbered++
		l.Classes[key] = c
		l.open(c)
		l.noteClass(c)
	}
	return c
}

// ordered returns the classes by number.
func (l *Ledger) ordered() []*Class {
	return slices.SortedFunc(maps.Values(l.Classes), func(a, b *Class) int { return cmp.Compare(a.Number, b.Number) })
}

// ClassOf returns the class in which a matched job waits; false if it does not wait.
func (l *Ledger) ClassOf(j *Job) (*Class, bool) {
	key, _ := l.classKey(j)
	c, ok := l.Classes[key]
	return c, ok && j.like.Matched && j.State == events.JobQueued && j.Place == 0
}

// Unbound returns the matched jobs that wait for a machine.
func (l *Ledger) Unbound() (jobs []*Job) {
	for _, c := range l.Classes {
		for _, ids := range c.Queued {
			for _, id := range ids {
				jobs = append(jobs, l.Jobs[id])
			}
		}
	}
	return jobs
}

// open finds the machines for a class.
func (l *Ledger) open(c *Class) {
	var err error
	c.class = c.Number
	c.needs, err = match.Parse(c.Requires)
	c.unreadable = err != nil
	for _, m := range l.Machines {
		m.serve(c)
	}
}

// close forgets the class of a job if no job waits for it. last says that no other job of its request waits there.
func (l *Ledger) close(j *Job, last bool) {
	key, _ := l.classKey(j)
	c, ok := l.Classes[key]
	if ok && last {
		delete(c.Ready, j.of.request)
	}
	if !ok || len(c.Queued) > 0 {
		return
	}
	delete(l.Classes, key)
	for _, m := range l.Machines {
		if i, ok := m.find(c); ok {
			m.serves = slices.Delete(m.serves, i, i+1)
		}
	}
}

// needs reads terms that were checked before they were recorded. Those of a newer program ask for nothing.
func needs(terms []string) match.Requirement {
	r, _ := match.Parse(terms)
	return r
}

// avoids returns the machines that lost an attempt of a job, sorted.
func (l *Ledger) avoids(j *Job) (names []events.MachineName) {
	for _, loser := range j.Losers {
		if c := l.Collectors[loser]; c != nil && c.Registered != nil && c.Registered.Machine != "" {
			names = append(names, c.Registered.Machine)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// idle reports whether a lane of a machine could begin a matched job now.
func (l *Ledger) idle(lane *Lane) bool {
	c := l.Collectors[lane.Assignment.Serving]
	return lane.Machine != "" && len(lane.Work.Dispatched) == 0 && c != nil && c.Takes() && c.Online && c.Matched
}

// FreeLanes returns the lanes of machines that could begin a matched job now: those of the machine with most free memory
// first, then of the one with fewest open places, then of the one that has been idle longest.
func (l *Ledger) FreeLanes() (free []events.Lane) {
	if len(l.Classes) == 0 {
		return nil
	}
	for _, m := range l.Machines {
		for _, name := range m.Lanes {
			if l.idle(l.Lanes[name]) {
				free = append(free, name)
			}
		}
	}
	slices.SortFunc(free, func(a, b events.Lane) int {
		x, y := l.Machines[l.Lanes[a].Machine], l.Machines[l.Lanes[b].Machine]
		return cmp.Or(cmp.Compare(y.room.FreeMemoryMiB(), x.room.FreeMemoryMiB()), cmp.Compare(x.room.Open(), y.room.Open()),
			x.Freed.Compare(y.Freed), cmp.Compare(a.Target, b.Target), cmp.Compare(a.Set, b.Set))
	})
	return free
}

// another reports whether a machine that is online can run the jobs of a class now and is none that they avoid.
func (l *Ledger) another(c *Class, now time.Time) bool {
	for name, m := range l.Machines {
		if m.can(c) && !slices.Contains(c.Avoids, name) && l.online(m) && !l.barred(c, name, now) {
			return true
		}
	}
	return false
}

// Part returns the part of a machine that a job would take on a lane, as JobDispatched says it.
func (l *Ledger) Part(lane *Lane, j *Job) int {
	if lane.Machine == "" {
		return 0
	}
	part := match.Part(held(events.JobSpec{Requires: j.like.Requires, Tokens: l.Tokens(lane, j)}), l.Machines[lane.Machine].Offer())
	if part == match.Whole {
		return 0
	}
	return part
}

// reserve notes that a job has a place on the machine of a lane.
func (l *Ledger) reserve(lane *Lane, spec events.JobSpec) {
	if lane.Machine != "" {
		l.Machines[lane.Machine].room.Reserve(held(spec))
	}
}

// vacate notes that the place of a job on the machine of a lane is over.
func (l *Ledger) vacate(lane *Lane, spec events.JobSpec) {
	if lane.Machine != "" {
		m := l.Machines[lane.Machine]
		m.room.Free(held(spec))
		m.Freed = l.stored
	}
}

// noteClasses notes for all classes whether a machine can run them.
func (l *Ledger) noteClasses() {
	for _, c := range l.Classes {
		l.noteClass(c)
	}
}

// noteClass notes since when no machine with a taker can run the jobs of a class.
func (l *Ledger) noteClass(c *Class) {
	for _, m := range l.Machines {
		if m.Takers > 0 && m.can(c) {
			c.Unserved = never
			return
		}
	}
	if c.Unserved.IsZero() {
		c.Unserved, c.UnservedBy = l.stored, l.Seq
	}
}

// Lacking returns why no machine can run the jobs of a class: the nearest one, and what it lacks.
func (l *Ledger) Lacking(c *Class) error {
	var offers []match.Offer
	for _, name := range slices.Sorted(maps.Keys(l.Machines)) {
		if m := l.Machines[name]; !m.Removed && m.Takers > 0 {
			offers = append(offers, m.Offer())
		}
	}
	return match.Check("jobs that require "+c.needs.String(), c.needs, c.Kind, offers)
}

// restoreMachines makes what a snapshot leaves out of machines and classes.
func (l *Ledger) restoreMachines() {
	for _, m := range l.Machines {
		m.room = match.NewRoom(m.Offer())
		for _, name := range m.Lanes {
			for _, d := range l.Lanes[name].Dispatches {
				m.room.Reserve(held(d.Job))
			}
		}
	}
	for _, c := range l.ordered() {
		l.open(c)
	}
}

// bind notes the lane that a matched job is bound to, or that it is not bound any more.
func bind(c *course, j *Job, f events.Fact) {
	// The others bind nothing.
	//exhaustive:ignore
	switch f := f.(type) {
	case events.JobDispatched:
		if j.like.Matched {
			c.On = f.Job.Lane()
		}
		if j.takes(f.Job.Chunk) {
			c.Share = f.Job.Chunk
		}
	case events.JobMoved:
		c.On = events.Lane{}
	}
}

// back puts a job that left its place into the line again, where it stood before. since is since when it waits.
func (l *Ledger) back(j *Job, since time.Time) {
	if j.State != events.JobQueued || j.Place > 0 || j.lined {
		return
	}
	maker, line := j.of.request, l.lineOf(j)
	waiting := line.Queued[maker]
	var i int
	if r := l.Requests[maker]; j.Graphed || r == nil {
		i = l.standsBefore(waiting, j)
	} else {
		order := r.Jobs
		at := slices.Index(order, j.ID)
		i = slices.IndexFunc(waiting, func(id events.JobID) bool { return slices.Index(order, id) > at })
	}
	if i < 0 {
		i = len(waiting)
	}
	line.Queued[maker] = slices.Insert(waiting, i, j.ID)
	j.lined = true
	l.noteAlike(j)
	if j.like.Matched {
		l.ready(j, since)
	}
}
