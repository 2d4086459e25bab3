package farm

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tachobench/tacho/collector"
	"github.com/tachobench/tacho/control"
	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/rules/suite"
	"github.com/tachobench/tacho/scheduler"
	"github.com/tachobench/tacho/shell"
)

// Requests are asked for and cancelled, processes are killed, paused, drained and started again, in random order, with
// wrong clocks of schedulers and processes. What must never happen does not happen, and in the end every request has
// ended. A failure names its seed; TACHO_SEED repeats it. Package scheduler has many more lives of a simpler kind.
func TestRandomLivesOfAFarm(t *testing.T) {
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
	paused    []*Process
	instances int
	requests  []events.RequestID
	// clocks are the errors of the clocks of schedulers and processes.
	clocks []*atomic.Int64
}

func live(t *testing.T, r *rand.Rand) {
	p := policy
	p.MaxInProgress, p.ArtifactDeadline = 1+r.IntN(3), 20*time.Minute
	l := &life{Farm: New(t, smallSuite(), p), r: r, benches: map[events.Lane]*Bench{}, running: map[events.Lane]*Process{}}
	defer l.Stop()
	for set := range events.Set(2) {
		lane := events.Lane{Target: "here", Set: set}
		l.benches[lane] = &Bench{Each: 10 * time.Second}
		l.Register(collectorOf(lane), lane)
		l.start(lane)
	}
	for range r.IntN(3) {
		clock := l.clock()
		l.Schedule(p, func(c *shell.Config, _ *scheduler.Config) { c.Clock = clock })
	}
	for range 5 + r.IntN(30) {
		l.step()
		l.Pass(time.Duration(r.IntN(90)) * time.Second)
	}
	l.settle()
	c := newChecker(t, p.MaxInProgress)
	for _, e := range l.Events() {
		c.look(e)
	}
}

// settle brings all processes back and lets them work until nothing is left.
func (l *life) settle() {
	for _, p := range l.paused {
		p.Wake()
	}
	for _, offset := range l.clocks {
		offset.Store(0)
	}
	for range 5 {
		l.Pass(time.Minute)
		for lane, p := range l.running {
			l.do(l.Control.ActivateCollector(l.ctx, By, collectorOf(lane)))
			if ended(p) {
				l.start(lane)
			}
		}
	}
	for _, id := range l.requests {
		l.awaitAnyEnd(id)
	}
}

// clock returns a clock that can be set wrong.
func (l *life) clock() func() time.Time {
	offset := &atomic.Int64{}
	l.clocks = append(l.clocks, offset)
	return func() time.Time { return time.Now().Add(time.Duration(offset.Load())) }
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
	clock := l.clock()
	l.running[lane] = l.Start(collectorOf(lane), lane, fmt.Sprintf("i%d", l.instances), l.benches[lane], func(c *collector.Config) { c.Clock = clock })
}

func (l *life) step() {
	lane := events.Lane{Target: "here", Set: events.Set(l.r.IntN(2))}
	p := l.running[lane]
	switch l.r.IntN(16) {
	case 0, 1, 2, 3, 4:
		l.ask()
	case 5:
		if !ended(p) {
			p.Kill()
		}
	case 6:
		if !ended(p) && !slices.Contains(l.paused, p) {
			p.Stop()
			<-p.Ended
		}
	case 7, 8:
		// A process ends at once if its predecessor's heartbeat is still fresh; another one is started later.
		if ended(p) || slices.Contains(l.paused, p) {
			l.start(lane)
		}
	case 9:
		// Nothing is heard of it until it wakes up. Then it continues what it was doing.
		if !ended(p) && !slices.Contains(l.paused, p) {
			p.Pause()
			l.paused = append(l.paused, p)
		}
	case 10:
		if n := len(l.paused); n > 0 {
			l.paused[n-1].Wake()
			l.paused = l.paused[:n-1]
		}
	case 11, 12:
		l.command(lane)
	case 13:
		l.clocks[l.r.IntN(len(l.clocks))].Store(int64(time.Duration(l.r.IntN(600)-300) * time.Minute))
	default:
		l.onRequest()
	}
}

// command tells a collector to leave, or lets it in again.
func (l *life) command(lane events.Lane) {
	name := collectorOf(lane)
	switch l.r.IntN(4) {
	case 0:
		l.do(l.Control.DrainCollector(l.ctx, By, name, "new disk"))
	case 1:
		l.do(l.Control.DeactivateCollector(l.ctx, By, name, control.Deactivation{Reason: "broken fan", Now: l.r.IntN(2) == 0}))
	default:
		l.do(l.Control.ActivateCollector(l.ctx, By, name))
	}
}

// onRequest cancels a request, or says that its artifact is ready if there is one to report.
func (l *life) onRequest() {
	if len(l.requests) == 0 {
		return
	}
	id := l.requests[l.r.IntN(len(l.requests))]
	var err error
	if l.r.IntN(2) == 0 {
		_, _, err = l.Control.CancelRequest(l.ctx, By, id, "changed my mind")
	} else {
		_, _, err = l.Control.ArtifactsReady(l.ctx, By, id, l.tag(), l.tag())
	}
	if _, refused := errors.AsType[*control.RefusedError](err); err != nil && !refused {
		l.T.Fatal(err)
	}
}

func (l *life) tag() events.Tag { return events.Tag(fmt.Sprintf("t%d", l.r.IntN(12))) }

// ask creates a request. Sometimes it exists already, with the same or other contents, or its parent or its artifact
// comes later.
func (l *life) ask() {
	n := control.NewRequest{Suite: l.Suite.Name, Kind: events.Master, Tag: l.tag(), PR: l.r.IntN(3)}
	if parent := l.tag(); parent != n.Tag {
		n.Parent = parent
	}
	switch l.r.IntN(4) {
	case 0, 1:
		n.Kind, n.Key = events.Try, fmt.Sprintf("k%d", l.r.IntN(12))
		if l.r.IntN(2) == 0 {
			n.Parameters.Profiles = []events.Profile{"extra"}
		}
		if l.r.IntN(2) == 0 {
			n.Tag, n.Parent = "", ""
		}
	case 2:
		n.Kind, n.Parent = events.Release, ""
	}
	r, _, err := l.Control.CreateRequest(l.ctx, By, n)
	if _, refused := errors.AsType[*control.RefusedError](err); refused {
		return // another wish by the same key
	}
	if err != nil {
		l.T.Fatal(err)
	}
	l.requests = append(l.requests, r.ID)
}

func (f *Farm) awaitAnyEnd(id events.RequestID) {
	f.T.Helper()
	f.Await("the end of "+string(id), func(e events.Fact) bool {
		// The others end no request.
		//exhaustive:ignore
		switch e := e.(type) {
		case events.RequestCompleted:
			return e.RequestID == id
		case events.RequestFailed:
			return e.RequestID == id
		case events.RequestCancelled:
			return e.RequestID == id
		case events.RequestExpired:
			return e.RequestID == id
		case events.RequestSuperseded:
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
	d.Defaults = suite.Defaults{Iterations: suite.Iterations{Number: 1}, Timeout: "1m"}
	all := []suite.Category{suite.Primary}
	d.Categories = map[events.RequestKind][]suite.Category{events.Master: all, events.Try: all, events.Release: all}
	for i := range 4 {
		d.Benchmarks = append(d.Benchmarks, suite.BenchmarkDef{
			Name: events.Benchmark(fmt.Sprintf("b%d", i)), Kind: "compile", Category: suite.Primary, Sets: map[events.Target]events.Set{"here": events.Set(i % 2)},
		})
	}
	return d
}
