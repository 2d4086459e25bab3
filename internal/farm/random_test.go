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
	"github.com/tachobench/tacho/suite"
)

// Whatever is asked for, killed, started again and cancelled, in whatever order: what must never happen does
// not, and when all is quiet every request has ended. A failure names its seed; TACHO_SEED repeats it.
func TestRandomLivesOfAFarm(t *testing.T) {
	const lives = 120
	first := uint64(time.Now().UnixNano())
	count := lives
	if s := os.Getenv("TACHO_SEED"); s != "" {
		seed, err := strconv.ParseUint(s, 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		first, count = seed, 1
	}
	for i := range count {
		seed := first + uint64(i)
		ok := t.Run(fmt.Sprint(seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { live(t, rand.New(rand.NewPCG(seed, 0))) })
		})
		if !ok {
			t.Fatalf("repeat with TACHO_SEED=%d", seed)
		}
	}
}

// life is one random run.
type life struct {
	*Farm
	r         *rand.Rand
	benches   map[events.Lane]*Bench
	running   map[events.Lane]*Process
	instances int
	requests  []events.RequestID
}

func live(t *testing.T, r *rand.Rand) {
	l := &life{Farm: New(t, smallSuite(), policy), r: r, benches: map[events.Lane]*Bench{}, running: map[events.Lane]*Process{}}
	defer l.Stop()
	for set := range events.Set(2) {
		lane := events.Lane{Target: "here", Set: set}
		l.benches[lane] = &Bench{Each: 10 * time.Second}
		l.Register(collectorOf(lane), lane)
		l.start(lane)
	}
	if r.IntN(3) == 0 {
		l.Schedule(policy)
	}
	for range 5 + r.IntN(25) {
		l.step()
		l.Pass(time.Duration(r.IntN(90)) * time.Second)
	}
	// Everything comes back and goes on until nothing is left.
	for lane, p := range l.running {
		if p == nil || ended(p) {
			l.Pass(2 * time.Minute)
			l.start(lane)
		}
	}
	for _, id := range l.requests {
		l.awaitAnyEnd(id)
	}
	check(t, l.Farm)
}

func collectorOf(lane events.Lane) events.CollectorName {
	return events.CollectorName(fmt.Sprintf("c%d", lane.Set))
}

func ended(p *Process) bool {
	select {
	case <-p.Ended:
		return true
	default:
		return false
	}
}

func (l *life) start(lane events.Lane) {
	l.instances++
	l.running[lane] = l.Start(collectorOf(lane), lane, fmt.Sprintf("i%d", l.instances), l.benches[lane])
}

func (l *life) step() {
	lane := events.Lane{Target: "here", Set: events.Set(l.r.IntN(2))}
	switch l.r.IntN(8) {
	case 0, 1, 2:
		l.ask()
	case 3:
		if p := l.running[lane]; !ended(p) {
			p.Kill()
		}
	case 4:
		if p := l.running[lane]; !ended(p) {
			p.Stop()
			<-p.Ended
		}
	case 5, 6:
		// A process whose predecessor's heartbeat is still fresh ends at once; another comes later.
		if ended(l.running[lane]) {
			l.start(lane)
		}
	case 7:
		if len(l.requests) > 0 {
			id := l.requests[l.r.IntN(len(l.requests))]
			_, _, err := l.Control.CancelRequest(l.ctx, By, id, "changed my mind")
			l.T.Logf("cancel %s: %v", id, err)
		}
	}
}

// ask creates a request; sometimes one that is there already, or with a parent that comes later.
func (l *life) ask() {
	tag := events.Tag(fmt.Sprintf("t%d", l.r.IntN(12)))
	n := control.NewRequest{Suite: l.Suite.Name, Kind: events.Master, Tag: tag}
	if parent := events.Tag(fmt.Sprintf("t%d", l.r.IntN(12))); parent != tag {
		n.Parent = parent
	}
	switch l.r.IntN(4) {
	case 0:
		n.Kind, n.Key = events.Try, fmt.Sprintf("k%d", l.r.IntN(6))
		if l.r.IntN(2) == 0 {
			n.Parameters.Profiles = []events.Profile{"extra"}
		}
	case 1:
		n.Kind, n.Parent = events.Release, ""
	}
	r, _, err := l.Control.CreateRequest(l.ctx, By, n)
	if err != nil {
		l.T.Fatal(err)
	}
	l.requests = append(l.requests, r.ID)
}

func (f *Farm) awaitAnyEnd(id events.RequestID) {
	f.T.Helper()
	f.Await("the end of "+string(id), func(e events.Fact) bool {
		switch e := e.(type) {
		case events.RequestCompleted:
			return e.RequestID == id
		case events.RequestFailed:
			return e.RequestID == id
		case events.RequestCancelled:
			return e.RequestID == id
		}
		return false
	})
}

// smallSuite has two sets, three profiles and four benchmarks.
func smallSuite() suite.Definitions {
	d := manyJobs(0)
	d.Name, d.Targets[0].Sets, d.Kinds[0].Backfill = "small", 2, true
	d.Profiles = []suite.Profile{{Name: "a"}, {Name: "b"}, {Name: "extra", OnRequest: true}}
	d.Scenarios = []suite.Scenario{{Name: "full", Cache: "none"}}
	d.Defaults = suite.Defaults{Iterations: 1, Timeout: "1m"}
	all := []suite.Category{suite.Primary}
	d.Categories = map[events.RequestKind][]suite.Category{events.Master: all, events.Try: all, events.Release: all}
	for i := range 4 {
		d.Benchmarks = append(d.Benchmarks, suite.BenchmarkDef{
			Name: events.Benchmark(fmt.Sprintf("b%d", i)), Category: suite.Primary, Sets: map[events.Target]events.Set{"here": events.Set(i % 2)},
		})
	}
	return d
}
