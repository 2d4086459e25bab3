package scheduler

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"math/rand/v2"
	"os"
	"reflect"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tachobench/tacho/control"
	"github.com/tachobench/tacho/eventlog"
	"github.com/tachobench/tacho/eventlog/memory"
	"github.com/tachobench/tacho/eventlog/presence"
	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/rules/ledger"
	"github.com/tachobench/tacho/shell"
)

// Schedulers, processes and people act on one log in random order, on outdated reads, with clocks that jump, through
// crashes, redeliveries and late reports. Whatever they do, the rules of what must never happen (domain 18) hold, and
// once they behave, every request ends. A failure names its seed; TACHO_SEED repeats it.
func TestRandomWorldsKeepTheRules(t *testing.T) {
	first, count := uint64(time.Now().UnixNano()), uint64(modelLives)
	if s := os.Getenv("TACHO_SEED"); s != "" {
		seed, err := strconv.ParseUint(s, 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		first, count = seed, 1
	}
	// Many small worlds mostly make garbage: collect it less often.
	defer debug.SetGCPercent(debug.SetGCPercent(1000))
	var next, lived, happened atomic.Uint64
	var tasks sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		tasks.Go(func() {
			for !t.Failed() {
				i := next.Add(1) - 1
				if i >= count {
					return
				}
				w := newWorld(first + i)
				if err := w.live(); err != nil {
					t.Errorf("repeat with TACHO_SEED=%d: %v\nthe last events:\n%s", first+i, err, w.lawyer.words(40))
					return
				}
				lived.Add(1)
				happened.Add(uint64(len(w.lawyer.log)))
			}
		})
	}
	tasks.Wait()
	t.Logf("%d worlds, %d events", lived.Load(), happened.Load())
}

// world is one random run. It has no goroutines and only its own clock, so its seed repeats it.
type world struct {
	// looks makes schedulers look at all lanes each time, as if much time had passed: they see at once who is silent.
	looks bool
	r     *rand.Rand
	// real is set for the worlds that keep their events in the log in memory.
	real   bool
	log    *memory.Log
	cursor eventlog.Cursor
	lawyer *lawyer
	// index holds the decoded events of each aggregate, so that actors need not decode them again.
	index  map[events.Subject][]events.Recorded
	now    time.Time
	policy Policy

	schedulers []*planner
	people     *control.Control
	processes  []*process
	instances  int
	// commands are the commands so far, to repeat them.
	commands []func()
	// acked is the place up to which the deliveries of a lane are acknowledged.
	acked map[events.Lane]uint64
	// shared is set for the worlds with accounts, queues and priorities.
	shared bool
	// depth counts actors in the middle of an append. calm is set for the end, when every actor behaves.
	depth int
	calm  bool
}

// planner is a scheduler with its own delay in reading and its own clock.
type planner struct {
	*Scheduler
	state *state
	heard present
	skew  time.Duration
	busy  bool
	// after is the sequence that it must have read to decide again.
	after events.Seq
	sees  sight
	// before is how far it must have read before it may decide at all.
	before events.Seq
}

// present are the collectors that are heard now. All others have been silent for an hour.
type present map[events.CollectorName]bool

func (present) Hears() time.Duration { return time.Hour }

func (p present) Of(name events.CollectorName) presence.Voice {
	if p[name] {
		return presence.Voice{}
	}
	return presence.Voice{Silence: time.Hour}
}

func (p present) Note(name events.CollectorName) { p[name] = true }

func (present) Changed() <-chan struct{} { return nil }

func newWorld(seed uint64) *world {
	w := &world{
		r: rand.New(rand.NewPCG(seed, 1)), log: memory.New(memory.Config{}), now: time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC),
		acked: map[events.Lane]uint64{}, index: map[events.Subject][]events.Recorded{},
	}
	w.real = w.odds(8)
	w.shared = rand.New(rand.NewPCG(seed, 2)).IntN(3) == 0 // drawn apart, so that the others are those of testdata
	w.policy = Policy{MaxInProgress: 1 + w.r.IntN(3), ArtifactDeadline: 7 * 24 * time.Hour, ExpansionRetry: time.Minute}
	w.lawyer = newLawyer(w.policy, maxAttempts)
	w.cursor, _ = w.log.Follow(context.Background(), 0)
	w.people = &control.Control{Log: &desk{Log: w.log, w: w, seen: w.head}, Clock: func() time.Time { return w.now.Add(w.jump()) }}
	for range 1 + w.r.IntN(3) {
		w.schedulers = append(w.schedulers, w.newPlanner())
	}
	return w
}

func (w *world) newPlanner() *planner {
	p := &planner{state: newState(), before: w.head(), heard: present{}}
	p.Scheduler = New(Config{
		Hearing: p.heard, Policy: w.policy, OfflineAfter: time.Minute, Logger: slog.New(slog.DiscardHandler),
		Log: &desk{Log: w.log, w: w, seen: func() events.Seq { return p.state.Seq }},
	})
	return p
}

func (w *world) head() events.Seq { return events.Seq(len(w.lawyer.log)) }

// odds reports true once in n times.
func (w *world) odds(n int) bool { return w.r.IntN(n) == 0 }

// jump returns the error of a clock: sometimes it is wrong by hours.
func (w *world) jump() time.Duration {
	if w.calm || !w.odds(20) {
		return 0
	}
	return time.Duration(w.r.IntN(600)-300) * time.Minute
}

// desk is one actor's access to the log. Between a decision and its append other actors act. An append may fail before
// or after it is stored.
type desk struct {
	*memory.Log
	w *world
	// seen is how far the actor had read when it decided.
	seen func() events.Seq
	// settles is set for an actor that repeats an append until it knows whether it was stored.
	settles bool
}

// Append implements eventlog.Log.
func (d *desk) Append(ctx context.Context, parts ...eventlog.Append) (events.Seq, error) {
	w, seen := d.w, d.seen()
	if !w.calm && w.depth < 2 && w.odds(3) {
		w.depth++
		for range 1 + w.r.IntN(4) {
			w.act()
		}
		w.depth--
	}
	if !w.calm && w.odds(50) {
		return 0, fmt.Errorf("append: %w", eventlog.ErrUnavailable)
	}
	last, err := w.store(ctx, parts, seen)
	if err != nil {
		return last, err
	}
	if !w.calm && !d.settles && w.odds(50) {
		return 0, fmt.Errorf("append: the answer was lost: %w", eventlog.ErrUnavailable)
	}
	return last, nil
}

// Read implements eventlog.Log.
func (d *desk) Read(_ context.Context, subject events.Subject) ([]events.Recorded, error) {
	return d.w.index[subject], nil
}

// Last implements eventlog.Log.
func (d *desk) Last(_ context.Context, subject events.Subject) (events.Recorded, bool, error) {
	e, ok := d.w.last(subject)
	return e, ok, nil
}

func (w *world) last(subject events.Subject) (events.Recorded, bool) {
	history := w.index[subject]
	if len(history) == 0 {
		return events.Recorded{}, false
	}
	return history[len(history)-1], true
}

// store appends to the log in memory, or does the same without encoding, which is faster. It shows the lawyer the
// result.
func (w *world) store(ctx context.Context, parts []eventlog.Append, seen events.Seq) (events.Seq, error) {
	if w.real {
		if _, err := w.log.Append(ctx, parts...); err != nil {
			return 0, err
		}
		batch, err := w.cursor.Next(ctx, eventlog.MaxBatch)
		w.lawyer.never(err != nil, "the log cannot be read: %v", err)
		for _, s := range batch {
			e, err := events.Decode(s)
			w.lawyer.never(err != nil, "an event cannot be read: %v", err)
			w.record(e, seen)
		}
		return w.head(), nil
	}
	for _, p := range parts {
		if last, _ := w.last(p.Subject); last.Seq != p.Expected {
			return 0, &eventlog.ConflictError{Subject: p.Subject, Expected: p.Expected, Actual: last.Seq}
		}
	}
	for _, p := range parts {
		for _, e := range p.Events {
			w.record(events.Recorded{Event: e, Seq: w.head() + 1}, seen)
		}
	}
	return w.head(), nil
}

func (w *world) record(e events.Recorded, seen events.Seq) {
	subject := e.Fact.Subject()
	w.index[subject] = append(w.index[subject], e)
	w.lawyer.look(e, seen)
}

// live runs the world and returns a violation of the rules, if there is one.
func (w *world) live() error {
	w.found()
	for range 40 + w.r.IntN(100) {
		w.act()
		if w.lawyer.violation != nil {
			return w.lawyer.violation
		}
	}
	w.settle()
	if w.lawyer.violation != nil {
		return w.lawyer.violation
	}
	return w.agree()
}

// act lets one actor do one step.
func (w *world) act() {
	if w.lawyer.violation != nil {
		return
	}
	w.now = w.now.Add(time.Duration(w.r.IntN(120)) * time.Second)
	switch n := w.r.IntN(20); {
	case n < 3:
		w.command()
	case n < 11:
		w.plan(w.schedulers[w.r.IntN(len(w.schedulers))])
	case n < 19:
		w.processes[w.r.IntN(len(w.processes))].act()
	default:
		w.disturb()
	}
}

// plan lets a scheduler read some of the new events, and often decide.
func (w *world) plan(p *planner) {
	if p.busy {
		return
	}
	p.busy = true
	defer func() { p.busy = false }()
	unread := w.lawyer.log[p.state.Seq:]
	if len(unread) > 0 && !w.calm && w.odds(3) {
		unread = unread[:w.r.IntN(len(unread))]
	}
	for _, e := range unread {
		p.state.Fold(e)
	}
	w.listen(p)
	if p.state.Seq%4 == 0 { // it takes as long as the decisions
		why := p.sees.differs(p.state, p.Policy, w.now.Add(p.skew))
		w.lawyer.never(why != "", "%s", why)
	}
	if p.state.Seq >= p.before && (w.calm || !w.odds(4)) {
		if w.looks {
			p.sight = sight{}
		}
		p.step(w.now.Add(p.skew))
	}
}

// step decides and carries out, like the shell.
func (p *planner) step(now time.Time) {
	if p.state.Seq >= p.after {
		o := shell.CarryOut(context.Background(), p.Decide(p.state.Ledger, now), 1, p.Logger)
		p.after = max(p.after, o.After)
	}
}

// listen tells a scheduler which collectors are heard. It is often right.
func (w *world) listen(p *planner) {
	for _, c := range w.processes {
		delete(p.heard, c.name)
	}
	for _, c := range w.processes {
		if c.asleep == 0 && !c.dead && (w.calm || !w.odds(10)) {
			p.Hearing.Note(c.name)
		}
	}
}

// disturb crashes a scheduler, starts a process, or sets a clock.
func (w *world) disturb() {
	switch i := w.r.IntN(len(w.schedulers)); w.r.IntN(3) {
	case 0:
		if !w.schedulers[i].busy {
			w.schedulers[i] = w.newPlanner()
		}
	case 1:
		w.schedulers[i].skew = time.Duration(w.r.IntN(600)-300) * time.Minute
	case 2:
		p := w.processes[w.r.IntN(len(w.processes))]
		w.startProcess(p.name, p.lane)
	}
}

// settle lets every actor behave: clocks are right, each lane has one live process, everything is read and decided. It
// runs until all requests have ended; a queue that stands still is a violation.
func (w *world) settle() {
	w.calm = true
	w.reform()
	quiet, head := 0, w.head()
	for round := range 3000 {
		w.now = w.now.Add(time.Minute)
		if quiet++; w.head() > head {
			quiet, head = 0, w.head()
		}
		if quiet > 4 {
			w.now = w.now.Add(10 * 24 * time.Hour)
		}
		w.plan(w.schedulers[round%len(w.schedulers)])
		for _, c := range w.processes {
			c.act()
		}
		if w.lawyer.violation != nil || w.over() {
			return
		}
	}
	for _, id := range slices.Sorted(maps.Keys(w.lawyer.requests)) {
		r := w.lawyer.requests[id]
		w.lawyer.never(r.ended == 0, "request %s of %q is %s for ever", id, r.tag, r.state)
	}
	for _, id := range slices.Sorted(maps.Keys(w.lawyer.jobs)) {
		w.lawyer.never(!w.lawyer.jobs[id].done(), "job %s waits for ever", id)
	}
}

// over reports whether every request and every job has ended.
func (w *world) over() bool {
	for _, r := range w.lawyer.requests {
		if r.ended == 0 {
			return false
		}
	}
	for _, t := range w.lawyer.jobs {
		if !t.done() {
			return false
		}
	}
	return true
}

// agree checks that all schedulers have the same state however they read the log, that a replay gives the same, and
// that it is what happened.
func (w *world) agree() error {
	replayed := newState()
	for _, e := range w.lawyer.log {
		replayed.Fold(e)
	}
	for i, p := range w.schedulers {
		for _, e := range w.lawyer.log[p.state.Seq:] {
			p.state.Fold(e)
		}
		if !reflect.DeepEqual(p.state, replayed) {
			return fmt.Errorf("scheduler %d knows something else than a replay", i)
		}
	}
	for id, r := range w.lawyer.requests {
		if got := replayed.Requests[id].State; got != r.state {
			return fmt.Errorf("request %s is %s for the scheduler and %s in truth", id, got, r.state)
		}
	}
	// Optional jobs may still be left when all requests have ended.
	left := func(j *ledger.Job) bool { return !j.State.Terminal() }
	if len(replayed.Pending)+len(replayed.Wishing) == 0 && !slices.ContainsFunc(slices.Collect(maps.Values(replayed.Jobs)), left) && len(replayed.Jobs) > 0 {
		return fmt.Errorf("all has ended, and %d jobs are still in the memory", len(replayed.Jobs))
	}
	for id, t := range w.lawyer.jobs {
		if got := replayed.StateOf(id); string(got) != string(t.outcome) {
			return fmt.Errorf("job %s is %s for the scheduler and %s in truth", id, got, t.outcome)
		}
	}
	return nil
}
