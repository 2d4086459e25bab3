package scheduler

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/rules/match"
)

// build asks for a job that builds with tokens.
func (p *pool) build(least, most int) events.RequestID { return p.buildOf("builds", least, most) }

func (p *pool) buildOf(account events.AccountName, least, most int) events.RequestID {
	p.tokens = &events.Tokens{Min: least, Max: most}
	defer func() { p.tokens = nil }()
	return p.ask(account, 1, fmt.Sprintf("cpus=%d", least))
}

// got returns the tokens of a job that is open.
func (p *pool) got(t *testing.T, id events.RequestID) int {
	t.Helper()
	for _, d := range p.places {
		if d.Job.RequestID == id {
			return d.Job.Tokens.Got
		}
	}
	t.Fatalf("no job of %s is open", id)
	return 0
}

// free returns how many CPUs of a machine are not reserved, by the judge's own account.
func (h *host) free() int {
	free := h.CPUs
	for _, r := range h.used {
		free -= r.CPUs()
	}
	return free
}

func TestAJobGetsWhatElseIsFree(t *testing.T) {
	p := newPool(1, 1)
	h := p.machine(size(64, 8, 4))
	wide := p.build(2, 6)
	p.settle()
	fixed := p.build(1, 0)
	p.settle()
	if got := p.got(t, wide); got != 6 {
		t.Errorf("on an empty machine it got %d", got)
	}
	last := p.build(1, 8)
	p.settle()
	if a, b := p.got(t, fixed), p.got(t, last); a != 1 || b != 1 {
		t.Errorf("got %d and %d of the two that were left", a, b)
	}
	large := p.build(4, 8)
	p.settle()
	if len(p.on(large)) > 0 {
		t.Error("a job has a place without its least")
	}
	for _, lane := range h.lanes[:1] { // the first ends
		p.work(h, lane)
		p.work(h, lane)
	}
	p.settle()
	if got := p.got(t, large); got != 6 || h.free() != 0 {
		t.Errorf("it got %d, and %d are free", got, h.free())
	}
}

// A job that moves gives its tokens back, and the next machine chooses anew.
func TestAMoveGivesTokensBack(t *testing.T) {
	p := newPool(1, 1)
	a := p.machine(size(64, 8, 4))
	moving := p.build(2, 6)
	p.settle()
	b := p.machine(size(64, 4, 2))
	for _, lane := range a.lanes {
		p.say(events.CollectorDraining{Name: a.slot(lane)})
	}
	p.settle()
	if got := p.got(t, moving); got != 4 || a.free() != 8 || b.free() != 0 {
		t.Errorf("it got %d; %d and %d are free", got, a.free(), b.free())
	}
	s := p.schedulers[0]
	again := newState()
	p.read(again, len(p.log))
	for name, m := range s.Machines {
		if got := again.Machines[name]; got.Offer().CPUs != m.Offer().CPUs {
			t.Errorf("%s differs when the log is read again", name)
		}
	}
}

func TestAJobOnItsOwnLaneGetsWhatItsHostHas(t *testing.T) {
	for cpus, want := range map[int]int{0: 2, 1: 1, 4: 4, 64: 6} {
		p := newPool(1, 1)
		lane := events.Lane{Target: "here", Set: 0}
		p.say(events.CollectorRegistered{Name: "c", Target: lane.Target, Set: lane.Set}, events.LaneAssigned{Lane: lane, Name: "c"},
			events.CollectorActivated{Name: "c"}, events.CollectorOnline{Name: "c", Instance: "i", Environment: events.Environment{CPUs: cpus}})
		r := events.RequestCreated{RequestID: "r1", Kind: events.Master, Suite: "s", Tag: "t1", Key: "t1", State: events.StateArtifactsReady}
		p.say(r, events.RequestStarted{RequestID: "r1", Jobs: 1}, events.JobsCreated{RequestID: "r1", Jobs: []events.JobSpec{{
			ID: "j1", RequestID: "r1", Kind: "build", Target: "here", Artifact: events.Artifact{Suite: "s", Tag: "t1", Kind: events.Master},
			Tokens: &events.Tokens{Min: 2, Max: 6},
		}}})
		s := p.schedulers[0]
		p.read(s, len(p.log))
		for _, f := range facts(decideAll(s, p.policy, p.now)) {
			if d, is := f.(events.JobDispatched); !is || d.Job.Tokens.Got != want {
				t.Errorf("with %d CPUs it got %+v, want %d", cpus, d.Job.Tokens, want)
			}
		}
	}
}

// builds returns a farm of builders, and asks for many builds of any size.
func builds(seed uint64, schedulers, jobs int) *pool {
	p := newPool(seed, schedulers)
	p.policy = patient
	for range 1 + p.r.IntN(3) {
		p.machine(size(64, 2+p.r.IntN(15), 1+p.r.IntN(6)))
	}
	p.machine(size(64, 16, 4)) // all fit here
	for range jobs {
		least := 1 + p.r.IntN(16)
		p.build(least, []int{0, least, min(least+p.r.IntN(16), 16)}[p.r.IntN(3)])
	}
	return p
}

// 200 builds of 1 to 16 tokens, fixed and in ranges, while machines die, move their jobs and come back, and up to three
// schedulers decide: no machine is ever booked beyond its CPUs, and all builds end.
func TestRandomBuildsKeepTheirTokens(t *testing.T) {
	for seed := range uint64(max(poolLives/16, 2)) {
		p := builds(seed, 1+int(seed%3), 200)
		for range 600 {
			p.step()
		}
		p.finish()
		p.hold(t, seed)
		for _, h := range p.machines {
			if h.free() != h.CPUs {
				t.Fatalf("seed %d: %d of %d CPUs of %s are free, and nothing runs", seed, h.free(), h.CPUs, h.Machine)
			}
		}
	}
}

// While machines are not held for large jobs, no CPU is idle that a waiting job could have. With room_wait, the largest job
// waits no longer than that and the jobs that run then.
func TestBuildsLeaveNoCPUIdleAndNoneStarves(t *testing.T) {
	sum := map[time.Duration]time.Duration{}
	for seed := range uint64(8) {
		for _, wait := range []time.Duration{0, 10 * time.Minute} {
			p := newPool(seed, 1)
			p.policy = patient
			p.policy.RoomWait = wait
			h := p.machine(size(64, 8, 8))
			for range 150 {
				least := 1 + p.r.IntN(4)
				p.build(least, least+p.r.IntN(3))
			}
			p.settle()
			large := p.buildOf("large", 8, 0)
			longest := p.busy(t, h, wait == 0, large)
			const runs = 9 * time.Minute
			if wait > 0 && longest > wait+2*runs {
				t.Errorf("seed %d: the largest build waited for %s", seed, longest)
			}
			sum[wait] += longest
			if p.problem != "" {
				t.Fatalf("seed %d: %s", seed, p.problem)
			}
		}
	}
	t.Logf("the largest build waited %s on average, and %s without room_wait", sum[10*time.Minute]/8, sum[0]/8)
}

// busy lets all builds run, a few minutes each. It returns how long the large one waited. full says that no CPU may be idle
// that a job could have.
func (p *pool) busy(t *testing.T, h *host, full bool, large events.RequestID) (waited time.Duration) {
	t.Helper()
	began, ends := p.now, map[events.Lane]time.Time{}
	for len(p.ended) < len(p.made) {
		p.settle()
		if waited == 0 && len(p.on(large)) > 0 {
			waited = p.now.Sub(began)
		}
		if full {
			p.idle(t, h)
		}
		for i, lane := range h.lanes {
			if _, holds := h.held[lane]; !holds {
				p.work(h, lane)
				ends[lane] = p.now.Add(time.Duration(2+i) * time.Minute)
			} else if !p.now.Before(ends[lane]) {
				p.work(h, lane)
			}
		}
		p.now = p.now.Add(time.Minute)
		if p.now.Sub(began) > 48*time.Hour {
			t.Fatalf("%d of %d builds have ended after two days", len(p.ended), len(p.made))
		}
	}
	return waited
}

// idle fails if a job waits that fits into what is free.
func (p *pool) idle(t *testing.T, h *host) {
	t.Helper()
	if len(h.used) == len(h.lanes) {
		return
	}
	var open []events.RequestID
	for _, d := range p.places {
		open = append(open, d.Job.RequestID)
	}
	for id, terms := range p.requires {
		needs, err := match.Parse(terms)
		if err != nil {
			t.Fatal(err)
		}
		if _, runs := p.open[id]; !runs && !p.ended[id] && needs.CPUs() <= h.free() {
			t.Fatalf("%d CPUs are free, and job %s waits that needs %d; open are %v", h.free(), id, needs.CPUs(), slices.Sorted(slices.Values(open)))
		}
	}
}
