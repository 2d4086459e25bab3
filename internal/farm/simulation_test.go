package farm

import (
	"container/heap"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tachobench/tacho/control"
	"github.com/tachobench/tacho/eventlog"
	"github.com/tachobench/tacho/eventlog/memory"
	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/rules/job"
	"github.com/tachobench/tacho/rules/suite"
	"github.com/tachobench/tacho/scheduler"
	"github.com/tachobench/tacho/shell"
)

// A week of a busy farm, a month of it in make soak: the scheduler decides on the log in memory, in simulated time. Actors
// play the collectors by the rules of package job. Afterwards an observer that does not know the scheduler reads the whole log: see simulation_check_test.go for what must hold. Under the race detector it is less than a day.
func TestRequestsOfManyDays(t *testing.T) {
	simulate(t, simulated, simulated*(30*24*time.Hour/10_000), 1)
}

// The same with three requests in progress at once, whose jobs share the lanes. Among fewer than 30 not all is estimated that
// the checks look for.
func TestRequestsOfWhichThreeAreInProgress(t *testing.T) {
	count := max(simulated/10, 30)
	simulate(t, count, time.Duration(count)*(3*24*time.Hour/1000), 3)
}

func simulate(t *testing.T, count int, span time.Duration, maxInProgress int) {
	var recorded []events.Recorded
	d := simulatedSuite()
	begun := time.Now()
	synctest.Test(t, func(t *testing.T) { recorded = runSimulation(t, d, count, span, maxInProgress) })
	took := time.Since(begun)
	checkSimulation(t, d, recorded, count, maxInProgress)
	t.Logf("%d requests, %d events, %s simulated: run in %s, checked in %s", count, len(recorded), span, took, time.Since(begun)-took)
}

// simulatedSuite has two required lanes and an optional one, and jobs of different length on each.
func simulatedSuite() suite.Definitions {
	d := smallSuite()
	d.Name = "simulated"
	d.Targets = append(d.Targets, suite.Target{Name: "far", Sets: 1, Optional: true})
	d.Kinds = append(d.Kinds,
		suite.Kind{Name: "runtime", Profile: "a"},
		suite.Kind{Name: "bootstrap", Profile: "a", Primary: true, Requests: []events.RequestKind{events.Master, events.Try}})
	for i := range d.Benchmarks {
		d.Benchmarks[i].Sets["far"] = 0
	}
	return d
}

// meanLength is how long a job of that sort takes on average.
func meanLength(j events.JobSpec) time.Duration {
	mean := map[events.JobKind]time.Duration{"compile": 105 * time.Second, "runtime": 50 * time.Second, "bootstrap": 25 * time.Second}[j.Kind]
	mean += time.Duration(j.Set) * 40 * time.Second
	if j.Kind == "compile" && j.Profile != "a" {
		mean /= 2
	}
	return mean
}

// act is something that happens to the farm at a time.
type act struct {
	at time.Duration
	do func(ctx context.Context)
}

type acts []act

func (a acts) Len() int           { return len(a) }
func (a acts) Less(i, j int) bool { return a[i].at < a[j].at }
func (a acts) Swap(i, j int)      { a[i], a[j] = a[j], a[i] }
func (a *acts) Push(x any)        { *a = append(*a, x.(act)) }
func (a *acts) Pop() any {
	last := (*a)[len(*a)-1]
	*a = (*a)[:len(*a)-1]
	return last
}

// farmhand asks for requests, cancels some, and plays the collectors.
type farmhand struct {
	t       testing.TB
	r       *rand.Rand
	log     *memory.Log
	control *control.Control
	suite   suite.Definitions
	begun   time.Time
	later   acts

	mu sync.Mutex
	// stops are closed when requests are cancelled. Guarded by mu.
	stops map[events.RequestID]chan struct{}
}

func runSimulation(t *testing.T, d suite.Definitions, count int, span time.Duration, maxInProgress int) []events.Recorded {
	f := &Farm{T: t, Log: simulatedLog(t, d, count, span, maxInProgress), ctx: context.Background()}
	return f.Events()
}

// simulatedLog runs the simulation and returns its log.
func simulatedLog(t *testing.T, d suite.Definitions, count int, span time.Duration, maxInProgress int) *memory.Log {
	const forever = 10_000 * time.Hour // nobody falls silent here
	log := memory.New(memory.Config{AckWait: forever, BeatTTL: forever})
	h := &farmhand{
		t: t, r: rand.New(rand.NewPCG(7, uint64(count))), log: log, suite: d, begun: time.Now(), stops: map[events.RequestID]chan struct{}{},
		control: &control.Control{Log: log, Clock: time.Now},
	}
	ctx, cancel := context.WithCancel(context.Background())
	var tasks sync.WaitGroup
	if _, err := h.control.Publish(ctx, By, d); err != nil {
		t.Fatal(err)
	}
	s := shell.New(shell.Config{Log: log, Tick: patience, Clock: time.Now, Logger: slog.New(slog.DiscardHandler)})
	s.Seat(scheduler.New(scheduler.Config{
		Log: log, OfflineAfter: forever, TakeoverAfter: forever,
		Policy: scheduler.Policy{MaxInProgress: maxInProgress, ArtifactDeadline: 7 * 24 * time.Hour, ExpansionRetry: time.Minute},
		Logger: slog.New(slog.DiscardHandler),
	}))
	tasks.Go(func() {
		if err := s.Run(ctx); err != nil {
			t.Error(err)
		}
	})
	for i, lane := range d.Lanes() {
		name := events.CollectorName(fmt.Sprintf("c%d", i))
		if _, err := h.control.AddCollector(ctx, By, control.NewCollector{Name: name, Target: lane.Target, Set: lane.Set}); err != nil {
			t.Fatal(err)
		}
		tasks.Go(func() { h.collect(ctx, name, lane, rand.New(rand.NewPCG(uint64(i), uint64(count)))) })
	}
	h.plan(count, span)
	h.live(ctx)
	cancel()
	tasks.Wait()
	return log
}

// live does everything that is planned. Then it waits until nothing has happened for longer than a request may wait.
func (h *farmhand) live(ctx context.Context) {
	for h.later.Len() > 0 {
		next := heap.Pop(&h.later).(act)
		<-time.After(next.at - time.Since(h.begun))
		next.do(ctx)
	}
	for last := events.Seq(0); ; {
		head, err := h.log.Head(ctx)
		if err != nil {
			h.t.Fatal(err)
		}
		if head.Last == last {
			return
		}
		last = head.Last
		<-time.After(8 * 24 * time.Hour)
	}
}

func (h *farmhand) in(at time.Duration, do func(ctx context.Context)) {
	heap.Push(&h.later, act{at, do})
}

// chance is true in percent of a hundred cases.
func (h *farmhand) chance(percent int) bool { return h.r.IntN(100) < percent }

// upTo returns a random duration.
func (h *farmhand) upTo(d time.Duration) time.Duration { return time.Duration(h.r.Int64N(int64(d))) }

// plan spreads the requests over the span: twice as many in the first half of each day as in the second.
func (h *farmhand) plan(count int, span time.Duration) {
	at, mean := time.Duration(0), float64(span)/float64(count)
	master := 0
	for i := range count {
		rate := 4.0 / 3
		if at%(24*time.Hour) > 12*time.Hour {
			rate = 2.0 / 3
		}
		at += time.Duration(h.r.ExpFloat64() * mean / rate)
		switch kind := h.r.IntN(100); {
		case kind < 60:
			h.master(at, master)
			master++
		case kind < 97:
			h.try(at, i, master)
		default:
			h.release(at, i)
		}
	}
}

func masterTag(n int) events.Tag { return events.Tag(fmt.Sprintf("m%d", n)) }

// master asks for the next commit of the branch. Some are asked for late, and some never: their children must
// not wait for ever.
func (h *farmhand) master(at time.Duration, n int) {
	wish := control.NewRequest{Kind: events.Master, Tag: masterTag(n), PR: 10_000 + n}
	if n > 0 {
		wish.Parent = masterTag(n - 1)
	}
	if h.chance(1) {
		wish.Tag += "-forced" // the parent that the next one names does not exist
	}
	if h.chance(2) {
		at += h.upTo(20 * time.Minute)
	}
	h.ask(at, wish)
}

// try asks for a pull request. Its artifact comes later, never, or is there at once.
func (h *farmhand) try(at time.Duration, n, masters int) {
	wish := control.NewRequest{Kind: events.Try, Key: fmt.Sprint("try-", n), PR: 1 + h.r.IntN(1500)}
	tag, parent := events.Tag(fmt.Sprintf("t%d", n)), events.Tag("")
	if masters > 0 {
		parent = masterTag(max(0, masters-1-h.r.IntN(10)))
	}
	if h.chance(20) {
		wish.Parameters.Profiles = []events.Profile{"extra"} // the parent has to be measured with it too
	}
	if h.chance(20) {
		wish.Tag, wish.Parent = tag, parent
		h.ask(at, wish)
		return
	}
	id := h.ask(at, wish)
	if h.chance(4) {
		return
	}
	h.in(at+10*time.Minute+h.upTo(3*time.Hour), func(ctx context.Context) {
		// A newer try may have taken its place meanwhile.
		_, _, err := h.control.ArtifactsReady(ctx, By, id, tag, parent)
		h.refusedAtMost(err)
	})
}

func (h *farmhand) release(at time.Duration, n int) {
	on := h.begun.Add(at).Format(time.DateOnly)
	h.ask(at, control.NewRequest{Kind: events.Release, Tag: events.Tag(fmt.Sprintf("1.%d.0", n)), ReleasedOn: on})
}

// ask plans a request, and sometimes its cancellation.
func (h *farmhand) ask(at time.Duration, wish control.NewRequest) events.RequestID {
	wish.Suite = h.suite.Name
	key := wish.Key
	if key == "" {
		key = string(wish.Tag)
	}
	id := events.NewRequestID(wish.Suite, wish.Kind, key)
	h.in(at, func(ctx context.Context) {
		if _, _, err := h.control.CreateRequest(ctx, By, wish); err != nil {
			h.t.Error(err)
		}
	})
	if h.chance(3) {
		h.in(at+h.upTo(30*time.Minute), func(ctx context.Context) {
			_, _, err := h.control.CancelRequest(ctx, By, id, "changed my mind")
			h.refusedAtMost(err)
			if err == nil {
				close(h.stop(id))
			}
		})
	}
	return id
}

// refusedAtMost accepts a refusal: the command came too late.
func (h *farmhand) refusedAtMost(err error) {
	var refused *control.RefusedError
	if err != nil && !errors.As(err, &refused) {
		h.t.Error(err)
	}
}

// stop returns a channel that is closed when a request is cancelled.
func (h *farmhand) stop(id events.RequestID) chan struct{} {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.stops[id] == nil {
		h.stops[id] = make(chan struct{})
	}
	return h.stops[id]
}

// collect executes the jobs of a lane one after the other, like a collector.
func (h *farmhand) collect(ctx context.Context, name events.CollectorName, lane events.Lane, r *rand.Rand) {
	if err := h.log.EnsureLane(ctx, lane, 0); err != nil {
		h.t.Error(err)
		return
	}
	w := &worker{farmhand: h, lane: lane}
	for {
		d, err := h.log.NextJob(ctx, lane)
		if err != nil {
			return
		}
		e, err := events.Decode(d.Stored())
		if err != nil {
			h.t.Error(err)
			return
		}
		dispatched := e.Fact.(events.JobDispatched)
		token := w.do(ctx, job.Dequeue{Place: dispatched.Place, Job: dispatched.Job, Collector: name, Instance: "only", MaxAttempts: 3})
		if token > 0 {
			length := time.Duration(float64(meanLength(dispatched.Job)) * (0.8 + 0.4*r.Float64()))
			outcome := events.Success
			switch r.IntN(200) {
			case 0:
				outcome = events.Failure
			case 1, 2:
				length *= 3
			}
			over := time.After(length)
			select {
			case <-over:
			case <-h.stop(dispatched.Job.RequestID):
				// The scheduler ends it, unless another request wants it.
				<-time.After(patience / 2)
				if err := w.look(ctx); err == nil && w.state.Phase == job.Current {
					<-over
				}
			case <-ctx.Done():
				return
			}
			w.do(ctx, job.Finish{Token: token, Outcome: outcome, At: time.Now()})
		}
		if err := d.Ack(ctx); err != nil {
			h.t.Error(err)
		}
	}
}

// worker records what a collector does to its lane.
type worker struct {
	*farmhand
	lane events.Lane
	// state is the lane as the worker knows it, at version.
	state   job.Lane
	version events.Seq
}

// do records a command and returns its sequence; 0 if another event came first.
func (w *worker) do(ctx context.Context, c job.Command) events.Seq {
	subject := events.WorkSubject(w.lane)
	for {
		facts, err := job.Decide(w.state, w.lane, c)
		if err != nil || len(facts) == 0 {
			return 0
		}
		var recorded []events.Event
		for _, f := range facts {
			recorded = append(recorded, eventlog.NewEvent(f, eventlog.Meta{Source: "collector", Actor: "collector"}, time.Now()))
		}
		seq, err := w.log.Append(ctx, eventlog.Append{Subject: subject, Expected: w.version, Events: recorded})
		if err == nil {
			last := recorded[len(recorded)-1]
			w.state, w.version = job.Evolve(w.state, last.Fact, seq, last.Time), seq
			return seq
		}
		var conflict *eventlog.ConflictError
		if !errors.As(err, &conflict) || w.look(ctx) != nil {
			return 0
		}
	}
}

// look reads the state of the lane.
func (w *worker) look(ctx context.Context) error {
	last, known, err := w.log.Last(ctx, events.WorkSubject(w.lane))
	if known && err == nil {
		w.state, w.version = job.Evolve(w.state, last.Fact, last.Seq, last.Time), last.Seq
	}
	return err
}
