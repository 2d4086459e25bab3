package scheduler

import (
	"slices"
	"testing"
	"time"

	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/rules/ledger"
)

// since returns the facts of one type that a log has from an event on.
func since[F events.Fact](p *pool, from int) (out []F) {
	for _, e := range p.log[from:] {
		if f, ok := e.Fact.(F); ok {
			out = append(out, f)
		}
	}
	return out
}

// A job that finds too little memory goes to another machine, and spends no attempt.
func TestAJobLeavesAFullMachine(t *testing.T) {
	p := newPool(1, 1)
	full, other := p.machine(size(64, 8, 1)), p.machine(size(32, 8, 1))
	full.taken = 60 << 10
	id := p.ask("u", 1, "memory=8")
	p.settle()
	p.work(full, full.lanes[0])
	p.settle()
	if on := p.on(id); len(on) != 1 || on[0] != other.Machine {
		t.Fatalf("the job is on %v", on)
	}
	d := p.places[other.lanes[0]]
	if d.Attempt != 1 || d.Lost != 0 {
		t.Errorf("it comes as attempt %d, %d lost", d.Attempt, d.Lost)
	}
	moved := since[events.JobMoved](p, 0)
	if len(moved) != 1 || moved[0].Reason != "machine m000 had 4096 MiB of memory free, and the job reserves 8192 MiB" {
		t.Errorf("moved as %+v", moved)
	}
	p.work(other, other.lanes[0])
	p.work(other, other.lanes[0])
	if len(p.ended) != 1 || p.problem != "" {
		t.Errorf("%d jobs have ended: %s", len(p.ended), p.problem)
	}
}

// The only machine that fits is tried again, and more and more seldom. Jobs that fit into what is free run meanwhile.
// The first job that runs there ends it.
func TestAFullMachineIsTriedAgain(t *testing.T) {
	p := newPool(1, 1)
	h := p.machine(size(64, 8, 1))
	h.taken = 60 << 10
	p.ask("u", 1, "memory=8")
	begun, tries := p.now, []time.Duration{}
	turn := func() {
		before := len(p.log)
		p.settle()
		p.work(h, h.lanes[0])
		if len(since[events.AttemptReleased](p, before)) > 0 {
			tries = append(tries, p.now.Sub(begun))
		}
		p.settle()
		p.now = p.now.Add(time.Second)
	}
	for range 12 * 60 {
		turn()
	}
	want := []time.Duration{0, 30 * time.Second, 90 * time.Second, 210 * time.Second, 450 * time.Second, 690 * time.Second}
	if !slices.Equal(tries, want) {
		t.Errorf("tried after %v, want %v", tries, want)
	}
	s := p.schedulers[0]
	f := s.FullOf(h.Machine, p.now)
	if want := (events.HostFull{ReservedMiB: 8192, FreeMiB: 4096}); f == nil || f.Times != 6 || f.HostFull != want || f.Alarm != want {
		t.Fatalf("the machine is %+v", f)
	}
	small := p.ask("u", 1, "memory=4")
	turn()
	if on := p.on(small); len(on) != 1 {
		t.Fatalf("the small job is on %v", on)
	}
	turn()
	if s.FullOf(h.Machine, p.now) == nil {
		t.Error("a job that fits into what was free has ended it")
	}
	h.taken = 0
	for range 5 * 60 {
		turn()
	}
	if s.FullOf(h.Machine, p.now) != nil || len(p.ended) != 2 || p.problem != "" {
		t.Errorf("%d jobs have ended, and the machine is %+v: %s", len(p.ended), s.FullOf(h.Machine, p.now), p.problem)
	}
}

// What a machine is known to lack ends in several ways.
func TestAFullMachineIsFullNoMore(t *testing.T) {
	for name, tc := range map[string]struct {
		then func(p *pool, h *host)
		full bool
	}{
		"a job runs for long": {func(p *pool, _ *host) { p.now = p.now.Add(time.Minute) }, false},
		"a job just began":    {func(p *pool, _ *host) { p.now = p.now.Add(time.Second) }, true},
		"a job is lost after long": {func(p *pool, h *host) {
			p.now = p.now.Add(time.Minute)
			h.silent = true
		}, false},
		"a job is lost at once":      {func(_ *pool, h *host) { h.silent = true }, true},
		"its offer is changed":       {func(p *pool, h *host) { p.say(h.MachineDescribed) }, false},
		"it is removed":              {func(p *pool, h *host) { p.say(events.MachineRemoved{Machine: h.Machine}) }, false},
		"a job is cancelled at once": {func(p *pool, _ *host) { p.cancel("rt000001") }, true},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPool(1, 1)
			h := p.machine(size(64, 8, 1))
			h.taken = 60 << 10
			p.ask("u", 1, "memory=8")
			p.settle()
			p.work(h, h.lanes[0])
			h.taken, p.now = 0, p.now.Add(time.Minute)
			p.settle()
			p.work(h, h.lanes[0])
			tc.then(p, h)
			p.settle()
			s := p.schedulers[0]
			if f := s.FullOf(h.Machine, p.now); (f != nil) != tc.full || p.problem != "" {
				t.Errorf("the machine is %+v: %s", f, p.problem)
			}
			data, err := s.Snapshot()
			if err != nil {
				t.Fatal(err)
			}
			again, err := ledger.Restore(data)
			if err != nil || (again.FullOf(h.Machine, p.now) != nil) != tc.full {
				t.Errorf("of a snapshot: %+v, %v", again.FullOf(h.Machine, p.now), err)
			}
		})
	}
}

// A large job that finds a machine full has waited all the time: another machine is held for it.
func TestAFullMachineDoesNotCostTheRoom(t *testing.T) {
	p := newPool(1, 1)
	p.policy = patient
	full, busy := p.machine(size(64, 8, 1)), p.machine(size(32, 8, 2))
	full.taken = 60 << 10
	large := p.ask("u", 1, "memory=32")
	p.ask("v", 400, "memory=4", "machine=m001")
	for minute := range 13 {
		p.settle()
		p.work(full, full.lanes[0])
		p.work(busy, busy.lanes[minute%2]) // begins a job, or ends one: never both at once
		p.now = p.now.Add(time.Minute)
	}
	p.settle()
	if tries := len(since[events.JobMoved](p, 0)); tries < 4 {
		t.Errorf("the full machine was tried %d times", tries)
	}
	if on := p.on(large); len(on) != 1 || on[0] != busy.Machine || p.problem != "" {
		t.Errorf("the large job is on %v: %s", on, p.problem)
	}
}
