package scheduler

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/tachobench/tacho/events"
)

// settle lets all schedulers read everything and decide, until nothing more is decided.
func (p *pool) settle() {
	for again := true; again; {
		again = false
		for _, s := range p.schedulers {
			p.read(s, len(p.log))
			before := len(p.log)
			p.decide(s)
			again = again || len(p.log) > before
		}
	}
}

func size(memoryGiB int64, cpus, slots int) events.MachineDescribed {
	return events.MachineDescribed{MemoryMiB: memoryGiB * 1024, CPUs: cpus, Slots: slots}
}

// running returns the machines on which jobs of a request are open.
func (p *pool) on(id events.RequestID) (machines []events.MachineName) {
	for lane, d := range p.places {
		if d.Job.RequestID == id {
			machines = append(machines, p.hostOf(lane).Machine)
		}
	}
	return machines
}

func TestOneJobOfFiveHasRoom(t *testing.T) {
	p := newPool(1, 1)
	h := p.machine(size(20, 64, 8))
	big, small, exact := p.ask("u", 5, "memory=16"), p.ask("u", 1, "memory=4097m"), p.ask("u", 1, "memory=4096m")
	p.settle()
	if len(p.on(big)) != 1 || len(p.on(small)) != 0 || len(p.on(exact)) != 1 {
		t.Errorf("%d, %d and %d jobs run", len(p.on(big)), len(p.on(small)), len(p.on(exact)))
	}
	for range 40 { // a job begins and ends
		for _, lane := range h.lanes {
			p.work(h, lane)
		}
		p.settle()
	}
	if len(p.ended) != 7 || p.problem != "" {
		t.Errorf("%d jobs have ended, %s", len(p.ended), p.problem)
	}
}

func TestTheMachineWithMostFreeMemoryIsFirst(t *testing.T) {
	p := newPool(1, 1)
	for _, gib := range []int64{8, 64, 16} {
		p.machine(size(gib, 8, 2))
	}
	for i, want := range []events.MachineName{"m001", "m001", "m002", "m002", "m000", "m000"} {
		id := p.ask("u", 1, "memory=2")
		p.settle()
		if on := p.on(id); len(on) != 1 || on[0] != want {
			t.Errorf("job %d is on %v, want %s", i, on, want)
		}
	}
}

// A job whose machine is gone goes to another one with its attempts, however it went. What the old process still says is
// refused.
func TestJobsLeaveMachinesThatAreGone(t *testing.T) {
	for name, tc := range map[string]struct {
		begun bool
		goes  func(*pool, *host, events.CollectorName)
		lost  int
		stays bool
	}{
		"silent before it began":  {false, func(_ *pool, h *host, _ events.CollectorName) { h.silent = true }, 0, false},
		"silent while it ran":     {true, func(_ *pool, h *host, _ events.CollectorName) { h.silent = true }, 1, false},
		"drained before it began": {false, func(p *pool, _ *host, c events.CollectorName) { p.say(events.CollectorDraining{Name: c}) }, 0, false},
		"drained while it ran":    {true, func(p *pool, _ *host, c events.CollectorName) { p.say(events.CollectorDraining{Name: c}) }, 0, true},
		"quarantined":             {false, func(p *pool, _ *host, c events.CollectorName) { p.say(events.CollectorQuarantined{Name: c}) }, 0, false},
		"deactivated":             {false, func(p *pool, _ *host, c events.CollectorName) { p.say(events.CollectorDeactivated{Name: c}) }, 0, false},
		"offline":                 {false, func(p *pool, _ *host, c events.CollectorName) { p.say(events.CollectorOffline{Name: c, Instance: "i"}) }, 0, false},
		"removed while it ran": {true, func(p *pool, h *host, c events.CollectorName) {
			p.say(events.CollectorRemoved{Name: c}, events.LaneUnassigned{Lane: h.lanes[0], Name: c})
		}, 0, false},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPool(1, 1)
			first := p.machine(size(64, 8, 1))
			p.machine(size(32, 8, 1))
			id := p.ask("u", 1, "exclusive")
			p.settle()
			if tc.begun {
				p.work(first, first.lanes[0])
			}
			tc.goes(p, first, first.slot(first.lanes[0]))
			p.settle()
			on := p.on(id)
			if stays := len(on) == 1 && on[0] == first.Machine; len(on) != 1 || stays != tc.stays || p.problem != "" {
				t.Fatalf("the job is on %v: %s", on, p.problem)
			}
			if tc.stays {
				return
			}
			d := p.places[events.PoolLane("p", 64)]
			if d.Lost != tc.lost || d.Attempt > 1 || (d.Attempt == 1) != tc.begun {
				t.Errorf("it comes as attempt %d, %d lost", d.Attempt, d.Lost)
			}
			before := len(p.log)
			first.silent = false
			p.work(first, first.lanes[0]) // the old process ends the job, or begins it
			if len(p.log) != before {
				t.Errorf("the log has taken %T", p.log[before].Fact)
			}
		})
	}
}

// A job does not go back to the machine that lost it while another one could take it, and does when none can.
func TestALostJobAvoidsItsMachine(t *testing.T) {
	p := newPool(1, 1)
	first, second := p.machine(size(64, 8, 1)), p.machine(size(32, 8, 1))
	id, other := p.ask("u", 1, "exclusive"), p.ask("v", 1, "exclusive")
	p.settle()
	p.work(first, first.lanes[0])
	first.silent = true
	p.settle() // the other machine is busy
	first.silent = false
	name := first.slot(first.lanes[0])
	p.say(events.CollectorOnline{Name: name, Instance: "j", Knows: []string{events.KnowsMatched, events.KnowsBuild}})
	p.settle()
	if on := p.on(id); len(on) != 0 {
		t.Fatalf("the job is on %v", on)
	}
	p.work(second, second.lanes[0])
	p.work(second, second.lanes[0])
	p.settle()
	if on := p.on(id); len(on) != 1 || on[0] != second.Machine || !p.ended["j"+events.JobID(other)[1:]+"-0"] {
		t.Fatalf("the job is on %v", on)
	}
	p.work(second, second.lanes[0])
	second.silent = true
	p.settle()
	p.say(events.CollectorSilent{Name: second.slot(second.lanes[0]), Instance: "i"})
	p.settle()
	if on := p.on(id); len(on) != 1 || on[0] != first.Machine {
		t.Errorf("no other machine is there, and the job is on %v", on)
	}
}

// policy of pools with waits for better machines.
var patient = Policy{MaxInProgress: 1, AffinityWait: 30 * time.Second, RoomWait: 10 * time.Minute}

// A job goes to the machine that has its caches, for which it waits a little; then to any.
func TestJobsGoWhereTheirCachesAre(t *testing.T) {
	p := newPool(1, 1)
	p.policy = patient
	large, small := p.machine(size(64, 8, 1)), p.machine(size(8, 8, 1))
	p.say(events.CollectorDraining{Name: large.slot(large.lanes[0])})
	p.caches = []string{"git/linux"}
	p.ask("u", 1)
	p.settle()
	p.work(small, small.lanes[0])
	p.work(small, small.lanes[0])
	p.say(events.CollectorActivated{Name: large.slot(large.lanes[0])})
	warm := p.ask("u", 1)
	p.settle()
	if on := p.on(warm); len(on) != 1 || on[0] != small.Machine {
		t.Fatalf("the job with a warm cache is on %v", on)
	}
	waits, other := p.ask("u", 1), events.RequestID("")
	p.caches = nil
	other = p.ask("v", 1)
	p.settle()
	if a, b := p.on(waits), p.on(other); len(a) != 0 || len(b) != 1 || b[0] != large.Machine {
		t.Fatalf("the jobs are on %v and %v", a, b)
	}
	p.work(large, large.lanes[0])
	p.work(large, large.lanes[0])
	p.settle()
	if on := p.on(waits); len(on) != 0 {
		t.Fatalf("the job does not wait, but is on %v", on)
	}
	p.now = p.now.Add(30 * time.Second)
	p.settle()
	if on := p.on(waits); len(on) != 1 || on[0] != large.Machine {
		t.Errorf("after half a minute the job is on %v", on)
	}
}

// No job waits for a cache that was thrown away, or for a machine that is not there.
func TestNoJobWaitsForAColdCache(t *testing.T) {
	for name, cool := range map[string]func(*pool, *host){
		"evicted": func(p *pool, h *host) {
			p.say(events.CollectorOnline{Name: h.slot(h.lanes[0]), Instance: "j", Knows: []string{events.KnowsMatched}, Evicted: []string{"git/linux"}},
				events.CollectorDraining{Name: h.slot(h.lanes[0])})
		},
		"offline": func(p *pool, h *host) { p.say(events.CollectorOffline{Name: h.slot(h.lanes[0]), Instance: "i"}) },
		"drained": func(p *pool, h *host) { p.say(events.CollectorDraining{Name: h.slot(h.lanes[0])}) },
	} {
		t.Run(name, func(t *testing.T) {
			p := newPool(1, 1)
			p.policy = patient
			warm, cold := p.machine(size(64, 8, 1)), p.machine(size(8, 8, 1))
			p.caches = []string{"git/linux"}
			p.ask("u", 1)
			p.settle()
			p.work(warm, warm.lanes[0])
			p.work(warm, warm.lanes[0])
			cool(p, warm)
			id := p.ask("u", 1)
			p.settle()
			if on := p.on(id); len(on) != 1 || on[0] != cold.Machine {
				t.Errorf("the job is on %v", on)
			}
		})
	}
}

// Small jobs do not keep a large one waiting for ever: the machine that has room first is held for it, and no other.
func TestALargeJobGetsRoom(t *testing.T) {
	for _, wait := range []time.Duration{0, 10 * time.Minute} {
		p := newPool(1, 1)
		p.policy = patient
		p.policy.RoomWait = wait
		a, b := p.machine(size(16, 16, 4)), p.machine(size(16, 16, 4))
		p.ask("small", 2000, "memory=4")
		p.settle()
		large := p.ask("large", 1, "memory=16")
		ends := map[events.Lane]time.Time{}
		began := p.now
		for i := 0; len(p.on(large)) == 0 && p.now.Sub(began) < 2*time.Hour; i++ {
			p.settle()
			for _, h := range []*host{a, b} {
				for k, lane := range h.lanes {
					if _, holds := h.held[lane]; !holds {
						p.work(h, lane)
						ends[lane] = p.now.Add(time.Duration(7+2*k) * time.Minute) // they never end together
					} else if !p.now.Before(ends[lane]) {
						p.work(h, lane)
					}
				}
			}
			p.settle()
			p.now = p.now.Add(time.Minute)
		}
		waited := p.now.Sub(began)
		if wait == 0 && waited < 2*time.Hour {
			t.Errorf("without a wait the large job had room after %s: the test shows nothing", waited)
		}
		if longest := wait + 14*time.Minute; wait > 0 && waited > longest {
			t.Errorf("the large job waited for %s, longer than %s", waited, longest)
		}
	}
}

// A machine whose size is not stated has what its host has, and is never larger than what was said.
func TestSizesOfTheHostCountWhereNoneAreStated(t *testing.T) {
	p := newPool(1, 1)
	h := p.machine(events.MachineDescribed{Slots: 1, CPUs: 2})
	id := p.ask("u", 1, "memory=8", "cpus=2")
	p.settle()
	if on := p.on(id); len(on) != 0 {
		t.Fatalf("the job is on %v", on)
	}
	online := events.CollectorOnline{Name: h.slot(h.lanes[0]), Instance: "j", Knows: []string{events.KnowsMatched}}
	online.Environment.MemoryBytes, online.Environment.CPUs = 8<<30, 16
	p.say(online)
	h.MemoryMiB = 8192
	more := p.ask("u", 1, "cpus=3")
	p.settle()
	if a, b := p.on(id), p.on(more); len(a) != 1 || len(b) != 0 || p.problem != "" {
		t.Errorf("the jobs are on %v and %v: %s", a, b, p.problem)
	}
}

// An older collector program gets no matched job.
func TestOnlyWhoKnowsGetsMatchedJobs(t *testing.T) {
	p := newPool(1, 1)
	h := p.machine(size(64, 8, 1))
	p.say(events.CollectorOnline{Name: h.slot(h.lanes[0]), Instance: "old"})
	id := p.ask("u", 1)
	p.settle()
	if on := p.on(id); len(on) != 0 {
		t.Errorf("the job is on %v", on)
	}
}

// One who can use only one of four machines has it nearly for himself.
func TestOneFittingMachineOfFour(t *testing.T) {
	p := newPool(1, 1)
	for i := range 4 {
		d := size(64, 8, 1)
		if i == 0 {
			d.Traits = []string{"nvme"}
		}
		p.machine(d)
	}
	p.ask("a", 2000, "exclusive")
	p.ask("b", 2000, "exclusive")
	p.ask("needy", 2000, "exclusive", "trait=nvme")
	for range 400 { // all jobs take the same time
		p.settle()
		for _, h := range p.machines {
			p.work(h, h.lanes[0])
		}
		p.now = p.now.Add(time.Minute)
		for _, h := range p.machines {
			p.work(h, h.lanes[0])
		}
	}
	served := map[events.AccountName]int{}
	for _, e := range p.log {
		if d, ok := e.Fact.(events.JobDispatched); ok {
			served[d.Share.Account]++
		}
	}
	all := served["a"] + served["b"] + served["needy"]
	if part := float64(served["needy"]) / float64(all); part < 0.24 || served["a"]-served["b"] > 2 || served["b"]-served["a"] > 2 {
		t.Errorf("%v: the one that fits one machine had %.1f %%", served, 100*part)
	}
}

// Jobs that take a quarter of a machine cost a quarter.
func TestPartsOfAMachineAreCharged(t *testing.T) {
	p := newPool(1, 1)
	h := p.machine(size(64, 16, 4))
	p.ask("small", 4000, "memory=1")
	p.ask("large", 4000, "exclusive")
	spent := map[events.AccountName]float64{}
	began := map[events.Lane]time.Time{}
	for range 500 {
		p.settle()
		for _, lane := range h.lanes {
			if _, holds := h.held[lane]; !holds {
				p.work(h, lane)
				began[lane] = p.now
			}
		}
		p.now = p.now.Add(time.Minute)
		for _, lane := range h.lanes {
			if d, open := p.places[lane]; open {
				part := 1.0
				if d.Share.Part > 0 {
					part = float64(d.Share.Part) / 1024
				}
				spent[d.Share.Account] += part
				p.work(h, lane)
			}
		}
	}
	if part := spent["small"] / (spent["small"] + spent["large"]); part < 0.4 || part > 0.6 {
		t.Errorf("the small jobs had %.1f %% of the machine", 100*part)
	}
}

// A snapshot decides as the ledger from which it was made, at any event.
func TestRandomPoolsDecideAsTheirSnapshots(t *testing.T) {
	for seed := range uint64(poolLives / 5) {
		p := randomPool(seed, 1, 5, 40)
		for step := range 300 {
			p.step()
			if step%15 != 0 {
				continue
			}
			s := p.schedulers[0]
			p.read(s, len(p.log))
			data, err := s.Snapshot()
			if err != nil {
				t.Fatal(err)
			}
			want, got := facts(decideAll(s, p.policy, p.now)), facts(decideAll(restored(t, data), p.policy, p.now))
			if diff := gocmp.Diff(want, got); diff != "" {
				t.Fatalf("seed %d, step %d (-ledger +snapshot):\n%s", seed, step, diff)
			}
		}
	}
}

func facts(all []decision) (out []events.Fact) {
	for _, d := range all {
		out = append(out, d.facts...)
	}
	return out
}

// randomPool returns a farm with machines and accounts of any kind.
func randomPool(seed uint64, schedulers, machines, jobs int) *pool {
	p := newPool(seed, schedulers)
	p.policy = patient
	for i := range 4 {
		p.say(events.AccountConfigured{Account: account(i), Weight: 1 + p.r.IntN(30), Limits: events.Limits{MaxRunning: []int{0, 0, 3, 8}[i]}})
	}
	for range machines {
		d := size(int64(4+p.r.IntN(60)), 1+p.r.IntN(16), 1+p.r.IntN(4))
		if p.r.IntN(3) == 0 {
			d.Traits = []string{"nvme"}
		}
		p.machine(d)
	}
	for jobs > 0 {
		n := 1 + p.r.IntN(min(jobs, 20))
		p.caches = [][]string{nil, nil, {"git/a"}, {"git/a", "cc/b"}}[p.r.IntN(4)]
		p.ask(account(p.r.IntN(4)), n, terms(p.r)...)
		jobs -= n
	}
	return p
}

func account(i int) events.AccountName { return events.AccountName(fmt.Sprintf("a%d", i)) }

// terms returns terms that a machine of a random farm may meet.
func terms(r *rand.Rand) (terms []string) {
	if r.IntN(2) == 0 {
		terms = append(terms, fmt.Sprintf("memory=%dm", 512*(1+r.IntN(12))))
	}
	if r.IntN(3) == 0 {
		terms = append(terms, "cpus=1")
	}
	if r.IntN(6) == 0 {
		terms = append(terms, "trait=nvme")
	}
	if r.IntN(5) == 0 {
		terms = append(terms, "exclusive")
	}
	return terms
}

// step lets something happen: a scheduler reads a little or everything, and decides; a process goes on; a machine falls
// silent, comes back, drains, is quarantined or has its memory taken; requests come and are cancelled; a scheduler is killed.
func (p *pool) step() {
	p.now = p.now.Add(time.Duration(p.r.IntN(2000)) * time.Millisecond)
	i := p.r.IntN(len(p.schedulers))
	s := p.schedulers[i]
	h := p.machines[p.r.IntN(len(p.machines))]
	lane := h.lanes[p.r.IntN(len(h.lanes))]
	name := h.slot(lane)
	switch k := p.r.IntN(100); {
	case k < 10:
		p.read(s, 1+p.r.IntN(20))
		p.decide(s)
	case k < 50:
		p.read(s, len(p.log))
		p.decide(s)
	case k < 90:
		if !h.silent {
			p.work(h, lane)
		}
	case k < 91:
		h.silent = true
	case k < 92:
		h.taken = p.r.Int64N(2*h.MemoryMiB) - h.MemoryMiB
	case k < 96:
		h.silent = false
		p.say(events.CollectorActivated{Name: name}, events.CollectorOnline{Name: name, Instance: fmt.Sprint(len(p.log)), Knows: []string{events.KnowsMatched, events.KnowsBuild}})
	case k < 97:
		p.say(events.CollectorDraining{Name: name})
	case k < 98:
		p.say(events.CollectorQuarantined{Name: name})
	case k < 99 && p.r.IntN(2) == 0:
		p.cancel(events.RequestID(fmt.Sprintf("rt%06d", 1+p.r.IntN(p.requests))))
	case k < 99:
		p.ask(account(p.r.IntN(4)), 1+p.r.IntN(3), terms(p.r)...)
	case len(p.log) < 3000 || p.r.IntN(20) == 0: // reading a long log takes time
		p.schedulers[i] = newState() // killed: another one reads the log anew
	}
}

// cancel cancels a request, unless that was done before.
func (p *pool) cancel(id events.RequestID) {
	if !p.cancelled[id] {
		p.cancelled[id] = true
		p.say(events.RequestCancelled{RequestID: id})
	}
}

// finish repairs everything and lets all jobs end that a machine can run.
func (p *pool) finish() {
	for _, h := range p.machines {
		h.silent, h.taken = false, 0
		for _, lane := range h.lanes {
			p.say(events.CollectorActivated{Name: h.slot(lane)},
				events.CollectorOnline{Name: h.slot(lane), Instance: fmt.Sprint(len(p.log)), Knows: []string{events.KnowsMatched, events.KnowsBuild}})
		}
	}
	for idle := 0; idle < 6; {
		before := len(p.log)
		p.settle()
		for _, h := range p.machines {
			for _, lane := range h.lanes {
				p.work(h, lane)
			}
		}
		p.now = p.now.Add(time.Minute)
		if len(p.log) == before {
			idle++
		} else {
			idle = 0
		}
	}
}

// Whatever happens, no job is bound twice or ends twice, no machine is booked beyond its offer, no account has more than
// it may, and every job ends that a machine can run.
func TestRandomPoolsKeepTheRules(t *testing.T) {
	for seed := range uint64(poolLives) {
		p := randomPool(seed, 1+int(seed%4), 1+int(seed%7), 20+int(seed%60))
		for range 600 {
			p.step()
		}
		p.finish()
		p.hold(t, seed)
	}
}

// Four schedulers, a hundred machines and five thousand jobs.
func TestALargePoolKeepsTheRules(t *testing.T) {
	p := randomPool(99, 4, poolMachines, poolJobs)
	for range 5 * poolJobs {
		p.step()
	}
	p.finish()
	p.hold(t, 99)
	t.Logf("%d jobs on %d machines: %d events, %d decisions came too late", len(p.ended), len(p.machines), len(p.log), p.conflicts)
}

func (p *pool) hold(t *testing.T, seed uint64) {
	t.Helper()
	if p.problem != "" {
		t.Fatalf("seed %d: %s", seed, p.problem)
	}
	s := p.schedulers[0]
	for _, c := range s.Classes {
		for id := range c.Queued {
			if c.Unserved.IsZero() {
				t.Fatalf("seed %d: jobs of %s wait, requiring %v, avoiding %v", seed, id, c.Requires, c.Avoids)
			}
		}
	}
	if waiting := len(p.made) - len(p.ended); waiting != s.Seats.All || len(p.open) > 0 {
		t.Fatalf("seed %d: %d jobs have not ended, %d wait, %d are open", seed, waiting, s.Seats.All, len(p.open))
	}
}
