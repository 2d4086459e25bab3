package scheduler

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/rules/job"
	"github.com/tachobench/tacho/rules/match"
	"github.com/tachobench/tacho/rules/suite"
)

// pool is a log, the schedulers that read it with any delay, and machines whose collectors live, die and are silent. It
// judges the log by rules of its own: no job is bound twice or finished twice, and no machine is booked beyond its offer.
type pool struct {
	r    *rand.Rand
	now  time.Time
	log  []events.Recorded
	last map[events.Subject]events.Seq
	// schedulers are folds of the log up to some event each.
	schedulers []*state
	sights     map[*state]*sight
	machines   []*host
	requests   int
	policy     Policy
	// caches are those of the jobs of the next requests.
	caches []string
	// tokens are those of the jobs of the next requests.
	tokens *events.Tokens
	// limits are the most jobs that accounts may have at once.
	limits map[events.AccountName]int

	requires  map[events.JobID][]string
	open      map[events.JobID]events.Lane
	ended     map[events.JobID]bool
	made      map[events.JobID]bool
	running   map[events.AccountName]int
	conflicts int
	accounts  map[events.RequestID]events.AccountName
	places    map[events.Lane]events.JobDispatched
	works     map[events.Lane]*job.Work
	standing  map[events.CollectorName]job.Standing
	cancelled map[events.RequestID]bool
	// fresh is set while a scheduler decides that has read everything.
	fresh   bool
	problem string
}

// host is a machine, its lanes and what its processes hold.
type host struct {
	events.MachineDescribed
	lanes  []events.Lane
	silent bool
	// held is the token of the attempt that the process of each lane holds: it may be over without its knowing.
	held map[events.Lane]events.Seq
	used []match.Requirement
	// taken is how much of its memory, in MiB, is used by something else than jobs.
	taken int64
	// full is what a job found that wanted more, since when and by which event; nil if a larger one has run since then.
	full  *events.HostFull
	since time.Time
	tried events.Seq
}

func newPool(seed uint64, schedulers int) *pool {
	p := &pool{
		sights: map[*state]*sight{},
		r:      rand.New(rand.NewPCG(seed, 7)), now: noon, policy: Policy{MaxInProgress: 1}, last: map[events.Subject]events.Seq{}, limits: map[events.AccountName]int{},
		requires: map[events.JobID][]string{}, open: map[events.JobID]events.Lane{}, ended: map[events.JobID]bool{}, made: map[events.JobID]bool{},
		running: map[events.AccountName]int{}, accounts: map[events.RequestID]events.AccountName{}, places: map[events.Lane]events.JobDispatched{},
		cancelled: map[events.RequestID]bool{}, works: map[events.Lane]*job.Work{}, standing: map[events.CollectorName]job.Standing{},
	}
	for range schedulers {
		p.schedulers = append(p.schedulers, newState())
	}
	return p
}

// machine adds a machine with its collectors.
func (p *pool) machine(d events.MachineDescribed) *host {
	d.Machine, d.Pool = events.MachineName(fmt.Sprintf("m%03d", len(p.machines))), "p"
	d.OS, d.Arch, d.Slots = "linux", "amd64", max(d.Slots, 1)
	h := &host{MachineDescribed: d, held: map[events.Lane]events.Seq{}}
	p.say(d)
	for i := range d.Slots {
		lane := events.PoolLane("p", len(p.machines)*64+i)
		h.lanes, p.works[lane] = append(h.lanes, lane), &job.Work{}
		name := h.slot(lane)
		p.say(events.CollectorRegistered{Name: name, Target: lane.Target, Set: lane.Set, Machine: d.Machine}, events.LaneAssigned{Lane: lane, Name: name},
			events.CollectorActivated{Name: name}, events.CollectorOnline{Name: name, Instance: "i", Knows: []string{events.KnowsMatched, events.KnowsBuild}})
	}
	p.machines = append(p.machines, h)
	return h
}

func (h *host) slot(lane events.Lane) events.CollectorName {
	return events.CollectorName(fmt.Sprintf("%s-%d", h.Machine, lane.Set%64))
}

// ask starts a request with matched jobs that require some terms.
func (p *pool) ask(account events.AccountName, jobs int, terms ...string) events.RequestID {
	p.requests++
	tag := events.Tag(fmt.Sprintf("t%06d", p.requests))
	r := events.RequestCreated{
		RequestID: events.RequestID("r" + tag), Kind: events.Master, Suite: "s", Tag: tag, Key: string(tag), State: events.StateArtifactsReady,
		Account: account, Queue: events.QueueName(account),
	}
	needs, err := match.Parse(terms)
	if err != nil {
		panic(err)
	}
	made := events.JobsCreated{RequestID: r.RequestID}
	for i := range jobs {
		made.Jobs = append(made.Jobs, events.JobSpec{
			ID: events.JobID(fmt.Sprintf("j%s-%d", tag, i)), RequestID: r.RequestID, Kind: "compile", Target: "here",
			Artifact: events.Artifact{Suite: "s", Tag: tag, Kind: events.Master}, Matched: true, Requires: needs.Terms(), Caches: p.caches, Tokens: p.tokens,
		})
	}
	p.say(r, events.RequestStarted{RequestID: r.RequestID, Jobs: jobs}, made)
	return r.RequestID
}

// say records facts, whatever came before them.
func (p *pool) say(facts ...events.Fact) {
	for _, f := range facts {
		seq := events.Seq(len(p.log) + 1)
		p.log = append(p.log, events.Recorded{Event: events.Event{Time: p.now, Fact: f}, Seq: seq})
		p.last[f.Subject()] = seq
		p.judge(f)
	}
}

// judge holds an event against the rules.
func (p *pool) judge(f events.Fact) {
	// The others break no rule of matching.
	//exhaustive:ignore
	switch f := f.(type) {
	case events.AccountConfigured:
		p.limits[f.Account] = f.MaxRunning
	case events.RequestCreated:
		p.accounts[f.RequestID] = f.Account
	case events.JobsCreated:
		for _, spec := range f.Jobs {
			p.made[spec.ID], p.requires[spec.ID] = true, spec.Requires
		}
	case events.JobsWithdrawn:
		for _, id := range f.Jobs {
			if _, open := p.open[id]; open || p.ended[id] {
				p.fail("job %s is withdrawn and is open or has ended", id)
			}
			p.ended[id] = true
		}
	case events.CollectorFact:
		p.standing[f.Whose()] = job.Stand(p.standing[f.Whose()], f, p.now)
	case events.JobDispatched:
		p.works[f.Job.Lane()].Dispatch(f)
		p.bound(f)
	case events.WorkFact:
		if !p.works[f.Where()].Take(f, events.Seq(len(p.log)), p.now) {
			p.fail("%T does not count", f)
		}
		p.worked(f)
	}
}

func (p *pool) worked(f events.WorkFact) {
	// The others leave the job where it is.
	//exhaustive:ignore
	switch f := f.(type) {
	case events.JobFinished:
		if p.ended[f.JobID] {
			p.fail("job %s ends twice", f.JobID)
		}
		p.ended[f.JobID] = true
		p.leaves(f.Lane, f.JobID)
		if h := p.hostOf(f.Lane); h.full != nil && f.Outcome == events.Success && f.Token > h.tried {
			if needs, _ := match.Parse(p.requires[f.JobID]); needs.MemoryMiB() > h.full.FreeMiB {
				h.full = nil
			}
		}
	case events.AttemptReleased:
		if f.HostFull != nil {
			h := p.hostOf(f.Lane)
			h.full, h.since, h.tried = f.HostFull, p.now, events.Seq(len(p.log))
		}
	case events.JobMoved:
		p.leaves(f.Lane, f.JobID)
	}
}

func (p *pool) bound(f events.JobDispatched) {
	lane := f.Job.Lane()
	if at, open := p.open[f.Job.ID]; open || p.ended[f.Job.ID] {
		p.fail("job %s is bound to %s, and it is open on %s or has ended", f.Job.ID, lane, at)
	}
	if d, busy := p.places[lane]; busy {
		p.fail("lane %s gets job %s while job %s is open", lane, f.Job.ID, d.Job.ID)
	}
	p.open[f.Job.ID], p.places[lane] = lane, f
	account := p.accounts[f.Job.RequestID]
	p.running[account]++
	if limit := p.limits[account]; limit > 0 && p.running[account] > limit {
		p.fail("%s has %d jobs at once", account, p.running[account])
	}
	h := p.hostOf(lane)
	needs := reserves(f.Job)
	if t := f.Job.Tokens; t != nil && (t.Got < t.Min || t.Got > max(t.Min, t.Max)) {
		p.fail("job %s has %+v", f.Job.ID, *t)
	}
	if h.full != nil && p.fresh && needs.MemoryMiB() > h.full.FreeMiB && p.now.Before(h.since.Add(30*time.Second)) {
		p.fail("job %s goes to %s again after %s", f.Job.ID, h.Machine, p.now.Sub(h.since))
	}
	h.used = append(h.used, needs)
	h.overbooked(p)
	if f.Share == nil || f.Share.Part < 0 || f.Share.Part >= 1024 {
		p.fail("job %s has the share %+v", f.Job.ID, f.Share)
	}
}

// reserves returns what a dispatched job reserves.
func reserves(spec events.JobSpec) match.Requirement {
	terms := spec.Requires
	if spec.Tokens != nil {
		terms = append(slices.Clip(terms), fmt.Sprintf("cpus=%d", spec.Tokens.Got))
	}
	needs, _ := match.Parse(terms)
	return needs
}

// overbooked adds up what is reserved, in the plainest way.
func (h *host) overbooked(p *pool) {
	var memory int64
	var cpus int
	alone := false
	for _, r := range h.used {
		memory, cpus, alone = memory+r.MemoryMiB(), cpus+r.CPUs(), alone || r.Exclusive()
	}
	if memory > h.MemoryMiB || cpus > h.CPUs || len(h.used) > h.Slots || alone && len(h.used) > 1 {
		p.fail("machine %s has %v", h.Machine, h.used)
	}
}

func (p *pool) leaves(lane events.Lane, id events.JobID) {
	d := p.places[lane]
	if p.open[id] != lane || d.Job.ID != id {
		p.fail("job %s leaves lane %s, on which it is not open", id, lane)
		return
	}
	delete(p.open, id)
	delete(p.places, lane)
	p.running[p.accounts[d.Job.RequestID]]--
	h := p.hostOf(lane)
	needs := reserves(d.Job)
	i := slices.IndexFunc(h.used, func(r match.Requirement) bool { return r.String() == needs.String() })
	h.used = slices.Delete(h.used, i, i+1)
}

func (p *pool) hostOf(lane events.Lane) *host {
	for _, h := range p.machines {
		if slices.Contains(h.lanes, lane) {
			return h
		}
	}
	return nil
}

func (p *pool) fail(format string, args ...any) {
	if p.problem == "" {
		p.problem = fmt.Sprintf("event %d: ", len(p.log)) + fmt.Sprintf(format, args...)
	}
}

// read lets a scheduler read some more events.
func (p *pool) read(s *state, most int) {
	for range most {
		if int(s.Seq) == len(p.log) {
			return
		}
		s.Fold(p.log[s.Seq])
	}
}

// decide carries out what a scheduler decides on what it has read, as the shell does: each decision is recorded as a
// whole, or not at all if one of its subjects has another version by now.
func (p *pool) decide(s *state) (dispatched int) {
	silent := map[events.CollectorName]bool{}
	for _, h := range p.machines {
		for _, lane := range h.lanes {
			silent[h.slot(lane)] = h.silent
		}
	}
	silence := func(name events.CollectorName) time.Duration {
		if silent[name] {
			return 90 * time.Second // long enough for its job to move, and too short for a lane of its own
		}
		return 0
	}
	p.fresh = int(s.Seq) == len(p.log)
	taken := false
	if p.sights[s] == nil {
		p.sights[s] = &sight{}
	}
	if len(p.machines) <= 10 { // it takes as long as the decisions
		if why := p.sights[s].differs(s, p.policy, p.now); why != "" {
			p.fail("%s", why)
		}
	}
	l := limits{time.Minute, 2 * time.Minute}
	all := append(decideAll(s, p.policy, p.now), decideTakeovers(s, l, silence, s.LaneOrder)...)
	for _, d := range append(all, decideOffline(s, l, silence)...) {
		if d.turn && taken {
			continue
		}
		taken = taken || d.turn
		stale := false
		for _, part := range appends(s.Ledger, p.now, d) {
			stale = stale || p.last[part.Subject] != part.Expected
		}
		if stale {
			p.conflicts++
			continue
		}
		p.say(d.facts...)
		if d.turn {
			dispatched++
		}
	}
	return dispatched
}

// work lets the process of a lane do its next step: it begins the job that waits, or ends the one that it holds. It is
// refused what the log does not have any more. If the machine has too little memory left, it gives the job back.
func (p *pool) work(h *host, lane events.Lane) {
	on := p.works[lane]
	if token, holds := h.held[lane]; holds {
		delete(h.held, lane)
		facts, err := job.Decide(on.Lane, lane, job.Finish{Token: token, Outcome: events.Success, Measured: 1, At: p.now})
		if err == nil {
			p.say(facts...)
		}
		return
	}
	d, open := p.places[lane]
	if !open || !p.standing[h.slot(lane)].Takes() {
		return
	}
	facts, err := job.Decide(on.Lane, lane, job.Dequeue{
		Place: d.Place, Job: d.Job, Collector: h.slot(lane), Instance: fmt.Sprint(len(p.log)), MaxAttempts: 50, Attempt: d.Attempt, Lost: d.Lost,
	})
	if err != nil {
		return
	}
	for _, f := range facts {
		p.say(f)
		if _, begins := f.(events.JobDequeued); begins {
			h.held[lane] = events.Seq(len(p.log))
			p.look(h, lane, d.Job)
		}
	}
}

// look gives a job back that just began, if the machine has less memory free than the job reserves.
func (p *pool) look(h *host, lane events.Lane, spec events.JobSpec) {
	needs, _ := match.Parse(spec.Requires)
	full := events.HostFull{ReservedMiB: needs.MemoryMiB(), FreeMiB: h.MemoryMiB - h.taken}
	if full.FreeMiB >= full.ReservedMiB {
		return
	}
	facts, err := job.Decide(p.works[lane].Lane, lane, job.Release{Token: h.held[lane], Reason: "full", HostFull: &full, At: p.now})
	if err != nil {
		p.fail("%v", err)
	}
	delete(h.held, lane)
	p.say(facts...)
}

// A job that was cancelled while it ran is withdrawn when its machine is lost: nothing else would end it.
func TestACancelledJobOfALostMachineEnds(t *testing.T) {
	for _, dies := range []bool{false, true} {
		d := kinds("a")
		d.Kinds[0].Lanes = suite.LanesAny
		d.Targets[0].OS, d.Targets[0].Arch = "linux", "amd64"
		f := newGraphFarm(t, d)
		f.dies = dies
		id := f.ask("t1", "", events.Master)
		for f.state.Lanes[events.PoolLane("p", 0)].Work.Phase != job.Current && f.state.Lanes[events.PoolLane("p", 1)].Work.Phase != job.Current {
			f.step()
		}
		f.fold(events.RequestCancelled{RequestID: id})
		f.leave(0)
		f.leave(1)
		if f.moved != 1 {
			t.Fatalf("%d jobs moved", f.moved)
		}
		f.settle()
		if j := f.state.Jobs[f.only("a")]; j != nil { // what has ended is forgotten with its request
			t.Errorf("the job is %s", j.State)
		}
	}
}
