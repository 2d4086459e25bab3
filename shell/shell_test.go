package shell_test

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tachobench/tacho/eventlog"
	"github.com/tachobench/tacho/eventlog/memory"
	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/rules/ledger"
	"github.com/tachobench/tacho/shell"
)

var (
	lane    = events.Lane{Target: "here"}
	subject = events.LaneAssigned{Lane: lane}.Subject()
)

// counter assigns standbys to a lane until there are enough, each on the version that the ledger has.
type counter struct {
	log    eventlog.Log
	enough int
	// deciding is set while the decider is asked or its steps are carried out.
	deciding atomic.Bool
	// overlaps counts how often both happened at once, decisions counts the steps that were carried out.
	overlaps, decisions atomic.Int32
}

func (c *counter) Told(f events.Fact) bool { _, ours := f.(events.LaneAssigned); return ours }

func (c *counter) Decide(l *ledger.Ledger, now time.Time) []shell.Step {
	n := 0
	if known, ok := l.Lanes[lane]; ok {
		n = len(known.Assignment.Collectors)
	}
	if n >= c.enough {
		return nil
	}
	if c.deciding.Swap(true) {
		c.overlaps.Add(1)
	}
	name, version := events.CollectorName("c"+string(rune('a'+n))), l.Versions[subject]
	return []shell.Step{{What: "assign", Do: func(ctx context.Context) (events.Seq, error) {
		defer c.deciding.Store(false)
		e := eventlog.NewEvent(events.LaneAssigned{Lane: lane, Name: name, Standby: true}, eventlog.Meta{Source: "test", Actor: "test"}, now)
		seq, err := c.log.Append(ctx, eventlog.Append{Subject: subject, Expected: version, Events: []events.Event{e}})
		if err == nil {
			c.decisions.Add(1)
		}
		return seq, err
	}}}
}

func start(t *testing.T, log eventlog.Log, seats []shell.Decider) (*shell.Shell, chan error) {
	t.Helper()
	s := shell.New(shell.Config{Log: log, Tick: 10 * time.Millisecond, Clock: time.Now, Logger: slog.New(slog.DiscardHandler)})
	for _, d := range seats {
		s.Seat(d)
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	var running sync.WaitGroup
	running.Go(func() { ended <- s.Run(ctx) })
	t.Cleanup(func() { stop(); running.Wait() })
	return s, ended
}

// Three shells on one log: each decision is taken on the log's versions, so none is recorded twice.
func TestEachDecisionIsTakenOnce(t *testing.T) {
	log := memory.New(memory.Config{})
	var all []*counter
	var shells []*shell.Shell
	for range 3 {
		one, two := &counter{log: log, enough: 20}, &counter{log: log, enough: 20}
		s, _ := start(t, log, []shell.Decider{one, two})
		shells, all = append(shells, s), append(all, one, two)
	}
	for _, s := range shells {
		if err := s.Wait(t.Context(), 20); err != nil {
			t.Fatal(err)
		}
		s.View(func(l *ledger.Ledger) {
			if n := len(l.Lanes[lane].Assignment.Collectors); n != 20 || l.Seq != 20 {
				t.Errorf("%d collectors at event %d", n, l.Seq)
			}
		})
	}
	taken := 0
	for _, c := range all {
		taken += int(c.decisions.Load())
		if n := c.overlaps.Load(); n > 0 {
			t.Errorf("asked %d times while its steps were carried out", n)
		}
	}
	if taken != 20 {
		t.Errorf("%d decisions, want 20", taken)
	}
}

// fill appends until the log has n events.
func fill(t *testing.T, log eventlog.Log, n int) {
	t.Helper()
	c := &counter{log: log, enough: n}
	l := ledger.New()
	before, err := log.Read(t.Context(), subject)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range before {
		l.Fold(e)
	}
	for range n - len(before) {
		for _, s := range c.Decide(l, time.Now()) {
			if _, err := s.Do(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		e, _, err := log.Last(t.Context(), subject)
		if err != nil {
			t.Fatal(err)
		}
		l.Fold(e)
	}
}

// No decider is asked before the whole log is read, however often the cursor breaks.
func TestNobodyDecidesOnHalfOfTheLog(t *testing.T) {
	log := memory.New(memory.Config{})
	fill(t, log, 20)
	d := &counter{log: log, enough: 20}
	s, _ := start(t, &broken{Log: log}, []shell.Decider{d})
	if err := s.Wait(t.Context(), 20); err != nil {
		t.Fatal(err)
	}
	s.View(func(l *ledger.Ledger) {
		if l.Seq != 20 || l.Littered != 0 {
			t.Errorf("%d events were taken, %d as litter", l.Seq, l.Littered)
		}
	})
	if n := d.decisions.Load(); n != 0 {
		t.Errorf("%d decisions on a part of the log", n)
	}
}

// A log may end where a batch ends, and nothing more may come.
func TestALogOfWholeBatchesIsReadToItsEnd(t *testing.T) {
	log := memory.New(memory.Config{})
	fill(t, log, 1000)
	s, _ := start(t, log, nil)
	if err := s.Wait(t.Context(), 1000); err != nil {
		t.Fatal(err)
	}
}

// broken is a log whose cursors break after three events.
type broken struct{ eventlog.Log }

func (b *broken) Follow(ctx context.Context, after events.Seq) (eventlog.Cursor, error) {
	c, err := b.Log.Follow(ctx, after)
	return &brief{Cursor: c}, err
}

type brief struct {
	eventlog.Cursor
	gave int
}

func (c *brief) Next(ctx context.Context, limit int) ([]events.Stored, error) {
	if c.gave >= 3 {
		return nil, eventlog.ErrUnavailable
	}
	stored, err := c.Cursor.Next(ctx, min(limit, 3-c.gave))
	c.gave += len(stored)
	return stored, err
}

func TestAShellEndsWhenItCannotGoOn(t *testing.T) {
	log := memory.New(memory.Config{})
	fill(t, log, 3)
	for name, tc := range map[string]struct {
		log  eventlog.Log
		want error
	}{
		"a gap": {&failing{Log: log, err: &eventlog.GapError{Want: 4}}, &eventlog.GapError{Want: 4}},
	} {
		_, ended := start(t, tc.log, nil)
		err := <-ended
		var gap *eventlog.GapError
		if !errors.Is(err, tc.want) && !errors.As(err, &gap) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// failing is a log that cannot be followed.
type failing struct {
	eventlog.Log
	err error
}

func (f *failing) Follow(context.Context, events.Seq) (eventlog.Cursor, error) { return nil, f.err }

// Each step of a decision is carried out, even if others fail, as long as the log is available.
func TestOneFailedStepDoesNotBlockTheOthers(t *testing.T) {
	ways := map[string]struct {
		err  error
		want shell.Outcome
		done int
	}{
		"all well":                  {nil, shell.Outcome{After: 7}, 2},
		"somebody was first":        {&eventlog.ConflictError{Actual: 9}, shell.Outcome{After: 9, First: true}, 2},
		"nobody knows who":          {&eventlog.ConflictError{}, shell.Outcome{After: 7, First: true, Unknown: true}, 2},
		"a fault of its own":        {errors.New("too large"), shell.Outcome{After: 7}, 2},
		"the log is away meanwhile": {eventlog.ErrUnavailable, shell.Outcome{}, 1},
	}
	for name, tc := range ways {
		done := 0
		got := shell.CarryOut(t.Context(), []shell.Step{
			{Do: func(context.Context) (events.Seq, error) { done++; return 0, tc.err }},
			{Do: func(context.Context) (events.Seq, error) { done++; return 7, nil }},
		}, 1, slog.New(slog.DiscardHandler))
		if got != tc.want || done != tc.done {
			t.Errorf("%s: %+v after %d steps, want %+v after %d", name, got, done, tc.want, tc.done)
		}
	}
}

// A step without subjects is carried out alone: those before it have ended, and those behind it have not begun.
func TestAStepWithoutSubjectsIsCarriedOutAlone(t *testing.T) {
	var running, alone atomic.Int32
	pairs := make([]sync.WaitGroup, 10)
	for i := range pairs {
		pairs[i].Add(2)
	}
	var all []shell.Step
	for i := range 30 {
		step := shell.Step{Do: func(context.Context) (events.Seq, error) {
			if running.Add(1) == 1 {
				alone.Add(1)
			}
			running.Add(-1)
			return 0, nil
		}}
		if i%3 > 0 { // the two between are in flight together: each waits for the other
			pair := &pairs[i/3]
			step.Subjects = []events.Subject{"s" + events.Subject(strconv.Itoa(i))}
			step.Do = func(context.Context) (events.Seq, error) {
				running.Add(1)
				defer running.Add(-1)
				pair.Done()
				pair.Wait()
				return 0, nil
			}
		}
		all = append(all, step)
	}
	shell.CarryOut(t.Context(), all, 8, slog.New(slog.DiscardHandler))
	if alone.Load() != 10 {
		t.Errorf("%d of 10 were alone", alone.Load())
	}
}

// Steps with different subjects are in flight together, those of one subject follow one another in their order, and there are
// never more at once than allowed.
func TestStepsWithDifferentSubjectsAreInFlightTogether(t *testing.T) {
	const steps, atOnce = 24, 6
	var mu sync.Mutex
	var all []shell.Step
	order := map[events.Subject][]int{}
	running, most := 0, 0
	full := make(chan struct{}) // closed when as many as allowed are in flight
	for i := range steps {
		// A third of the steps have a subject in common.
		own := events.Subject("s" + strconv.Itoa(i))
		if i%3 == 0 {
			own = "shared"
		}
		all = append(all, shell.Step{Subjects: []events.Subject{own, "pair" + events.Subject(strconv.Itoa(i/2)), own}, Do: func(context.Context) (events.Seq, error) {
			mu.Lock()
			order[own] = append(order[own], i)
			running++
			if most = max(most, running); most == atOnce/2 && running == most {
				select {
				case <-full:
				default:
					close(full)
				}
			}
			mu.Unlock()
			<-full
			mu.Lock()
			defer mu.Unlock()
			running--
			return events.Seq(i), nil
		}})
	}
	got := shell.CarryOut(t.Context(), all, atOnce, slog.New(slog.DiscardHandler))
	if got != (shell.Outcome{After: steps - 1}) || most > atOnce || most < atOnce/2 {
		t.Errorf("%+v with %d at once", got, most)
	}
	if shared := order["shared"]; len(shared) != steps/3 || !slices.IsSorted(shared) {
		t.Errorf("those of one subject ran in the order %v", shared)
	}
}

// dying is a log whose process dies while appends are in flight: some are stored, no answer comes back, and nothing more is
// appended.
type dying struct {
	eventlog.Log
	die  func()
	all  int32
	left atomic.Int32
	// together is how many are in flight; with all of them it dies.
	together atomic.Int32
}

func (d *dying) Append(ctx context.Context, parts ...eventlog.Append) (events.Seq, error) {
	n := d.left.Add(-1)
	if n < 0 {
		<-ctx.Done()
		return 0, ctx.Err()
	}
	if n%2 == 0 { // it arrives
		if _, err := d.Log.Append(ctx, parts...); err != nil {
			return 0, err
		}
	}
	if d.together.Add(1) == d.all {
		d.die()
	}
	<-ctx.Done()
	return 0, ctx.Err()
}

// assigner gives each of its lanes one collector. All of that is ready at once.
type assigner struct {
	log   eventlog.Log
	lanes []events.Lane
}

func (a *assigner) Told(events.Fact) bool { return true }

func (a *assigner) Decide(l *ledger.Ledger, now time.Time) (steps []shell.Step) {
	for _, at := range a.lanes {
		fact := events.LaneAssigned{Lane: at, Name: "c"}
		if known, ok := l.Lanes[at]; ok && len(known.Assignment.Collectors) > 0 {
			continue
		}
		version := l.Versions[fact.Subject()]
		steps = append(steps, shell.Step{What: "assign", Subjects: []events.Subject{fact.Subject()}, Do: func(ctx context.Context) (events.Seq, error) {
			e := eventlog.NewEvent(fact, eventlog.Meta{Source: "test", Actor: "test"}, now)
			return a.log.Append(ctx, eventlog.Append{Subject: fact.Subject(), Expected: version, Events: []events.Event{e}})
		}})
	}
	return steps
}

// A process dies with several appends in flight, of which some are stored. The next one decides the rest again, and nothing twice.
func TestACrashWithStepsInFlightLosesAndRepeatsNothing(t *testing.T) {
	log := memory.New(memory.Config{})
	var lanes []events.Lane
	for i := range 40 {
		lanes = append(lanes, events.Lane{Target: "here", Set: events.Set(i)})
	}
	stored := events.Seq(0)
	for killed := range 4 {
		ctx, die := context.WithCancel(t.Context())
		d := &dying{Log: log, die: die, all: 8}
		d.left.Store(d.all)
		s := shell.New(shell.Config{Log: d, Tick: 10 * time.Millisecond, Clock: time.Now, Logger: slog.New(slog.DiscardHandler)})
		s.Seat(&assigner{d, lanes})
		if err := s.Run(ctx); err != nil {
			t.Fatal(err)
		}
		head, err := log.Head(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if n := d.together.Load(); n != 8 || head.Last != stored+4 {
			t.Errorf("crash %d with %d in flight, and %d of them stored", killed, n, head.Last-stored)
		}
		stored = head.Last
	}
	s, _ := start(t, log, []shell.Decider{&assigner{log, lanes}})
	if err := s.Wait(t.Context(), events.Seq(len(lanes))); err != nil {
		t.Fatal(err)
	}
	s.View(func(l *ledger.Ledger) {
		if l.Seq != events.Seq(len(lanes)) || len(l.Lanes) != len(lanes) || l.Littered > 0 {
			t.Errorf("%d events for %d of %d lanes", l.Seq, len(l.Lanes), len(lanes))
		}
	})
}
