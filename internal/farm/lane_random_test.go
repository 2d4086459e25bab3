package farm

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tachobench/tacho/control"
	"github.com/tachobench/tacho/events"
)

// The three collectors of a lane are killed, stopped, woken, taken out and given the lane, in random
// order. What must never happen does not happen, and in the end the work is done. A failure names its seed;
// TACHO_SEED repeats it.
func TestRandomLivesOfASharedLane(t *testing.T) {
	first, count := uint64(time.Now().UnixNano()), lives
	if s := os.Getenv("TACHO_SEED"); s != "" {
		seed, err := strconv.ParseUint(s, 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		first, count = seed, 1
	}
	for i := range count {
		seed := first + uint64(i)
		if !t.Run(fmt.Sprint(seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { share(t, rand.New(rand.NewPCG(seed, 0))) })
		}) {
			t.Fatalf("repeat with TACHO_SEED=%d", seed)
		}
	}
}

// sharing is one random run.
type sharing struct {
	*Farm
	r         *rand.Rand
	bench     *Bench
	names     []events.CollectorName
	running   map[events.CollectorName]*Process
	paused    map[events.CollectorName]bool
	instances int
}

func share(t *testing.T, r *rand.Rand) {
	d := smallSuite()
	d.Targets[0].Sets = 1
	for i := range d.Benchmarks {
		d.Benchmarks[i].Sets = map[events.Target]events.Set{"here": 0}
	}
	s := &sharing{
		Farm: New(t, d, policy), r: r, bench: &Bench{Each: 20 * time.Second}, names: []events.CollectorName{"first", "spare", "third"},
		running: map[events.CollectorName]*Process{}, paused: map[events.CollectorName]bool{},
	}
	defer s.Stop()
	s.Register("first", here)
	s.RegisterStandby("spare", here)
	s.RegisterStandby("third", here)
	for _, name := range s.names {
		s.start(name)
	}
	if r.IntN(3) == 0 {
		s.Schedule(policy)
	}
	var asked []events.RequestID
	for range 3 + r.IntN(20) {
		if r.IntN(3) == 0 {
			asked = append(asked, s.ask(events.Tag(fmt.Sprintf("t%d", len(asked)))))
		}
		s.step()
		s.Pass(time.Duration(r.IntN(70)) * time.Second)
	}
	s.calm()
	for _, id := range asked {
		s.awaitAnyEnd(id)
	}
	check(t, s.Farm)
}

func (s *sharing) start(name events.CollectorName) {
	s.instances++
	s.running[name] = s.Start(name, here, fmt.Sprintf("i%d", s.instances), s.bench)
}

func (s *sharing) step() {
	name := s.names[s.r.IntN(len(s.names))]
	p := s.running[name]
	switch s.r.IntN(9) {
	case 0, 1:
		s.wake(name)
		p.Kill()
	case 2:
		if !s.paused[name] {
			p.Pause()
			s.paused[name] = true
		}
	case 3, 4:
		s.wake(name)
		if ended(p) {
			s.start(name)
		}
	case 5:
		_, err := s.Control.TakeLaneOver(s.ctx, By, name, "")
		s.T.Logf("%s takes the lane over: %v", name, err)
	case 6:
		_, err := s.Control.DeactivateCollector(s.ctx, By, name, control.Deactivation{Now: s.r.IntN(2) == 0})
		s.T.Logf("%s is deactivated: %v", name, err)
	case 7:
		_, err := s.Control.DrainCollector(s.ctx, By, name, "")
		s.T.Logf("%s is drained: %v", name, err)
	case 8:
		_, err := s.Control.ActivateCollector(s.ctx, By, name)
		s.T.Logf("%s is activated: %v", name, err)
	}
}

func (s *sharing) wake(name events.CollectorName) {
	if s.paused[name] {
		s.running[name].Wake()
		s.paused[name] = false
	}
}

// calm brings all collectors back.
func (s *sharing) calm() {
	for _, name := range s.names {
		s.wake(name)
		s.do(s.Control.ActivateCollector(s.ctx, By, name))
	}
	// A collector that was told to leave may still leave, and the heartbeat of a dead one may still be fresh.
	s.Pass(3 * time.Minute)
	for _, name := range s.names {
		if ended(s.running[name]) {
			s.start(name)
		}
	}
}
