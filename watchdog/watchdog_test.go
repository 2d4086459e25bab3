package watchdog

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/tachobench/tacho/control"
	"github.com/tachobench/tacho/eventlog"
	"github.com/tachobench/tacho/eventlog/memory"
	"github.com/tachobench/tacho/eventlog/presence"
	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/internal/phrase"
	"github.com/tachobench/tacho/readmodel"
	"github.com/tachobench/tacho/rules/ledger"
	"github.com/tachobench/tacho/shell"
)

// cut is a log that can be away, or refuse every event.
type cut struct {
	*memory.Log
	mu         sync.Mutex
	away, full bool
}

func (c *cut) set(away, full bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.away, c.full = away, full
}

func (c *cut) err(writing bool) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.away {
		return eventlog.ErrUnavailable
	}
	if writing && c.full {
		return fmt.Errorf("the log is full")
	}
	return nil
}

func (c *cut) Head(ctx context.Context) (eventlog.Head, error) {
	if err := c.err(false); err != nil {
		return eventlog.Head{}, err
	}
	return c.Log.Head(ctx)
}

func (c *cut) Takes(ctx context.Context) (eventlog.Head, error) { return c.Head(ctx) }

func (c *cut) Read(ctx context.Context, s events.Subject) ([]events.Recorded, error) {
	if err := c.err(false); err != nil {
		return nil, err
	}
	return c.Log.Read(ctx, s)
}

func (c *cut) Append(ctx context.Context, parts ...eventlog.Append) (events.Seq, error) {
	if err := c.err(true); err != nil {
		return 0, err
	}
	return c.Log.Append(ctx, parts...)
}

// tables are as far as the test says.
type tables struct {
	mu   sync.Mutex
	log  *memory.Log
	lost error
}

func (t *tables) lose(err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.lost = err
}

func (t *tables) Cursor(ctx context.Context) (readmodel.Cursor, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	head, err := t.log.Head(ctx)
	if t.lost != nil {
		err = t.lost
	}
	return readmodel.Cursor{Seq: head.Last}, err
}

// yard is a log with watchdogs, in a bubble of simulated time.
type yard struct {
	t        *testing.T
	ctx      context.Context
	log      *cut
	tables   *tables
	registry *prometheus.Registry
}

func newYard(t *testing.T) *yard {
	log := memory.New(memory.Config{})
	return &yard{t: t, ctx: t.Context(), log: &cut{Log: log}, tables: &tables{log: log}, registry: prometheus.NewRegistry()}
}

// start starts a watchdog; stop ends it.
func (y *yard) start(r prometheus.Registerer) (w *Watchdog, stop func()) {
	ctx, cancel := context.WithCancel(y.ctx)
	hearing := presence.New(presence.Config{Heartbeats: y.log, Logger: slog.New(slog.DiscardHandler), Open: func(ctx context.Context) error {
		_, err := y.log.Head(ctx)
		return err
	}})
	w = New(Config{
		Log: y.log, Hearing: hearing, Tables: y.tables, Limits: limits, Clock: time.Now, Logger: slog.New(slog.NewTextHandler(io.Discard, nil)),
		Control: &control.Control{Log: y.log, Clock: time.Now}, Metrics: NewMetrics(r),
	})
	around := shell.New(shell.Config{Log: y.log, Clock: time.Now, Logger: w.Logger})
	around.Seat(w)
	var task sync.WaitGroup
	for _, run := range []func(context.Context) error{w.Run, around.Run} {
		task.Go(func() {
			if err := run(ctx); err != nil {
				y.t.Error(err)
			}
		})
	}
	task.Go(func() {
		if err := hearing.Run(ctx); !errors.Is(err, context.Canceled) {
			y.t.Error(err)
		}
	})
	return w, func() { cancel(); task.Wait() }
}

func (y *yard) tell(facts ...events.Fact) {
	y.t.Helper()
	for _, f := range facts {
		_, err := eventlog.Decide(y.ctx, y.log.Log, f.Subject(), func(bool, events.Recorded) bool { return true }, func(bool) ([]events.Event, error) {
			return []events.Event{eventlog.NewEvent(f, eventlog.Meta{Source: "test", Actor: "test"}, time.Now())}, nil
		})
		if err != nil {
			y.t.Fatal(err)
		}
	}
}

// pass lets time pass, in which the collector beats, if it has an instance.
func (y *yard) pass(d time.Duration, beat eventlog.Beat) {
	y.t.Helper()
	for end := time.Now().Add(d); time.Now().Before(end); {
		if beat.Instance != "" {
			if _, err := y.log.Beat(y.ctx, beat); err != nil {
				y.t.Fatal(err)
			}
		}
		<-time.After(min(5*time.Second, time.Until(end)))
	}
	synctest.Wait()
}

// alerts returns what the log says of alerts, in order.
func (y *yard) alerts() []string {
	y.t.Helper()
	var out []string
	cursor, err := y.log.Follow(y.ctx, 0)
	if err != nil {
		y.t.Fatal(err)
	}
	head, err := y.log.Log.Head(y.ctx)
	if err != nil {
		y.t.Fatal(err)
	}
	stored, err := cursor.Next(y.ctx, int(head.Last))
	if err != nil {
		y.t.Fatal(err)
	}
	for _, m := range stored {
		e, err := events.Decode(m)
		if err != nil {
			y.t.Fatal(err)
		}
		switch f := e.Fact.(type) {
		case events.AlertRaised:
			out = append(out, "+"+string(f.Key))
		case events.AlertCleared:
			out = append(out, "-"+string(f.Key))
		}
	}
	return out
}

func (y *yard) expect(when string, want ...string) {
	y.t.Helper()
	if diff := cmp.Diff(want, y.alerts()); diff != "" {
		y.t.Errorf("%s (-want +got):\n%s", when, diff)
	}
}

// shows compares the series of a metric.
func (y *yard) shows(metric string, want ...string) {
	y.t.Helper()
	families, err := y.registry.Gather()
	if err != nil {
		y.t.Fatal(err)
	}
	var got []string
	for _, f := range families {
		for _, m := range f.GetMetric() {
			if f.GetName() != metric {
				continue
			}
			series := ""
			for _, l := range m.GetLabel() {
				series += l.GetName() + "=" + l.GetValue() + " "
			}
			got = append(got, series+fmt.Sprint(m.GetGauge().GetValue()+m.GetCounter().GetValue()))
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		y.t.Errorf("%s (-want +got):\n%s", metric, diff)
	}
}

var here = eventlog.Beat{Name: "eider", Instance: "i1"}

func TestAnAlertOutlivesItsWatchdog(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		y := newYard(t)
		y.tell(registered(), online())
		_, stop := y.start(nil)
		y.pass(59*time.Second, eventlog.Beat{})
		y.expect("before the limit")
		y.pass(5*time.Second, eventlog.Beat{})
		y.expect("after it", "+offline-eider")
		stop()

		_, stop = y.start(nil)
		y.pass(time.Hour, eventlog.Beat{})
		y.expect("another watchdog", "+offline-eider")
		stop()

		y.pass(10*time.Second, here)
		_, stop = y.start(nil)
		defer stop()
		y.pass(59*time.Second, here)
		y.expect("back, and not listened for long enough", "+offline-eider")
		y.pass(10*time.Second, here)
		y.expect("back", "+offline-eider", "-offline-eider")
	})
}

// Two watchdogs that were started at different times do not contradict each other.
func TestTwoWatchdogsSayThingsOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		y := newYard(t)
		y.tell(registered(), online(), requested())
		y.tell(started(spec("j1"))...)
		y.tell(dispatched("j1"), dequeued("j1"))
		working := here
		working.JobID, working.Done = "j1", 1
		_, first := y.start(nil)
		y.pass(20*time.Minute, working)
		working.Done++
		y.pass(10*time.Minute, working)
		_, second := y.start(nil)
		y.expect("it moved 10 minutes ago")
		y.pass(25*time.Minute, working)
		y.expect("the first sees it stand still", "+stalled")
		y.pass(time.Hour, working)
		y.expect("the second does, too", "+stalled")
		working.Done++
		y.pass(time.Minute, working)
		y.expect("it moves", "+stalled", "-stalled")
		first()
		y.pass(28*time.Minute, working)
		y.pass(5*time.Minute, working)
		y.expect("it stands still again", "+stalled", "-stalled", "+stalled")
		y.tell(finished("j1", time.Hour), events.RequestCompleted{RequestID: "r1", Jobs: 1})
		y.pass(10*time.Second, here)
		y.expect("it ended", "+stalled", "-stalled", "+stalled", "-stalled")
		second()
	})
}

func TestWhatStandsStillIsSaidInWords(t *testing.T) {
	started := func(w *world) { w.tell(requested()); w.tell(started(spec("j1"))...) }
	for name, tc := range map[string]struct {
		tell  func(*world)
		words string
	}{
		"not started":  {func(w *world) { w.tell(requested()) }, "r1 for go1.25 is ready and waits for a scheduler"},
		"no collector": {started, "waits for a collector of lane linux-amd64/1: no collector is registered for it"},
		"not dispatched": {func(w *world) {
			started(w)
			w.tell(registered(), online())
			w.beat("", 0)
		}, "waits for a scheduler to dispatch its jobs to lane linux-amd64/1"},
		"not taken": {func(w *world) {
			started(w)
			w.tell(registered(), online(), dispatched("j1"))
			w.beat("", 0)
		}, "waits for collector eider, which is heard and takes no job"},
		"offline": {func(w *world) {
			started(w)
			w.tell(registered(), online(), dispatched("j1"))
		}, "the collector of lane linux-amd64/1, which is offline"},
		"hangs": {func(w *world) {
			started(w)
			w.tell(registered(), online(), dispatched("j1"), dequeued("j1"))
			w.beat("j1", 2)
		}, "job j1 on collector eider, which is heard and makes no progress"},
		"dead": {func(w *world) {
			started(w)
			w.tell(registered(), online(), dispatched("j1"), dequeued("j1"))
		}, "collector eider, which has job j1 and is not heard"},
		"not ended": {func(w *world) {
			started(w)
			w.tell(registered(), online(), dequeued("j1"), finished("j1", time.Second))
			w.beat("", 0)
		}, "a scheduler to end it"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			tc.tell(w)
			w.pass(30*time.Minute - time.Second)
			if _, said := w.judge().wanted["stalled"]; said {
				t.Error("it is said too early")
			}
			w.pass(time.Second)
			w.says("stalled", "2026-11-21 09:00:00 UTC", tc.words)
		})
	}
	w := newWorld(t)
	w.pass(100 * time.Hour)
	w.expect("no work")
	w.tell(requested())
	w.expect("work that has just come")
	w.tell(events.RequestCreated{RequestID: "r2", Suite: "go", State: events.StateWaitingForArtifacts})
	w.pass(29 * time.Minute)
	w.tell(events.RequestCreated{RequestID: "r3", Suite: "go", State: events.StateArtifactsReady})
	w.pass(time.Minute)
	w.expect("new wishes are no progress", "stalled")
}

func TestALogThatIsAwayIsSaidAtOnceAndRecordedLater(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		y := newYard(t)
		y.tell(registered(), online())
		w, stop := y.start(y.registry)
		defer stop()
		y.pass(2*time.Minute, here)
		from := time.Now()
		y.log.set(true, false)
		y.pass(2*time.Second, here)
		if l := w.Local(); len(l) != 0 {
			t.Errorf("said too early: %+v", l)
		}
		y.pass(3*time.Second, here)
		l := w.Local()
		if len(l) != 1 || l[0].Key != "unreachable" || l[0].RaisedSeq != 0 || from.Sub(l[0].RaisedAt).Abs() > time.Second ||
			!strings.Contains(l[0].Message, "has not answered since") || l[0].Action == "" {
			t.Errorf("local alerts %+v", l)
		}
		y.shows("tacho_alert", "about= kind=unreachable 1")
		y.pass(55*time.Second, here)
		y.expect("away")
		y.log.set(false, false)
		y.pass(3*time.Second, here)
		y.expect("back", "+unreachable", "-unreachable")
		if l := w.Local(); len(l) != 0 {
			t.Errorf("local alerts after the return %+v", l)
		}
		history, err := y.log.Read(y.ctx, events.AlertSubject("unreachable"))
		if err != nil {
			t.Fatal(err)
		}
		said := history[0].Fact.(events.AlertRaised).Message
		if !strings.Contains(said, "from "+phrase.Moment(from)) && !strings.Contains(said, "from "+phrase.Moment(from.Add(time.Second))) || !strings.Contains(said, "(1 min") {
			t.Errorf("the outage from %s is told as: %s", phrase.Moment(from), said)
		}
		y.log.set(true, false)
		y.pass(8*time.Second, here)
		y.log.set(false, false)
		y.pass(time.Minute, here)
		y.expect("a moment of nothing is no outage", "+unreachable", "-unreachable")
	})
}

func TestALogThatTakesNothingIsSaid(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		y := newYard(t)
		y.tell(registered(), online())
		w, stop := y.start(nil)
		defer stop()
		y.log.set(false, true)
		y.pass(80*time.Second, eventlog.Beat{})
		if l := w.Local(); len(l) != 1 || !strings.Contains(l[0].Message, "has taken no events") || !strings.Contains(l[0].Message, "the log is full") {
			t.Errorf("local alerts %+v", l)
		}
		y.log.set(false, false)
		y.pass(5*time.Second, eventlog.Beat{})
		y.expect("room again", "+offline-eider", "+unreachable", "-unreachable")
	})
}

func TestTablesThatAreAwayAreShownFromMemory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		y := newYard(t)
		y.tell(registered(), online())
		w, stop := y.start(nil)
		defer stop()
		y.pass(10*time.Second, here)
		y.tables.lose(io.ErrUnexpectedEOF)
		y.pass(time.Second, here)
		y.expect("for a moment")
		y.pass(4*time.Second, here)
		y.expect("away", "+database")
		if l := w.Local(); len(l) != 1 || l[0].Key != "database" || l[0].RaisedSeq == 0 {
			t.Errorf("local alerts %+v", l)
		}
		y.pass(time.Hour, here)
		y.tables.lose(nil)
		y.pass(5*time.Second, here)
		y.expect("back", "+database", "-database")
		if l := w.Local(); len(l) != 0 {
			t.Errorf("local alerts %+v", l)
		}
	})
}

// A database in which no projector has begun answers.
func TestTablesThatNobodyHasBegunAreNotAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		y := newYard(t)
		y.tell(registered(), online())
		_, stop := y.start(nil)
		defer stop()
		y.tables.lose(readmodel.ErrNotFound)
		y.pass(20*time.Second, here)
		y.expect("not begun")
	})
}

// A watchdog that stood still asked nobody meanwhile: the question that was under way fails, and nothing is said of it.
func TestStandingStillRaisesNoAlert(t *testing.T) {
	v := newView()
	at := began
	fail := func(asked time.Time) {
		v.look(at, time.Second)
		asked = later(asked, v.woke)
		v.log.note(&v.log.silent, asked, at, io.EOF, unreachableAfter)
		v.tables.note(asked, 7, 0, io.EOF, 100)
	}
	said := func() (alerts []events.AlertKind) {
		v.look(at, time.Second)
		if _, _, away := v.unreachable(at); away {
			alerts = append(alerts, events.AlertUnreachable)
		}
		v.log.silent = time.Time{} // the log could say the next one
		for _, f := range judge(ledger.New(), v, limits, at).wanted {
			alerts = append(alerts, f.Kind)
		}
		return alerts
	}
	v.look(at, time.Second)
	asked := at
	at = at.Add(30 * time.Second) // stopped
	fail(asked)
	at = at.Add(time.Second)
	fail(at)
	if a := said(); len(a) > 0 {
		t.Errorf("after it stood still: %v", a)
	}
	for range 4 {
		at = at.Add(time.Second)
		fail(at)
	}
	if a := said(); !slices.Equal(a, []events.AlertKind{events.AlertUnreachable, events.AlertDatabase}) {
		t.Errorf("what really fails: %v", a)
	}
}

// Two parts of a watchdog read the clock, and look in the other order: that is no time in which it stood still.
func TestLooksOutOfOrderAreNoStandstill(t *testing.T) {
	v := newView()
	at := began
	v.look(at, time.Second)
	v.log.note(&v.log.silent, at, at, io.EOF, unreachableAfter)
	for range 3 {
		at = at.Add(time.Second)
		v.look(at, time.Second)
		v.look(at.Add(-time.Millisecond), time.Second)
	}
	if _, since, away := v.unreachable(at); !away || !since.Equal(began) {
		t.Errorf("away %v since %s", away, since)
	}
	at = at.Add(-time.Hour) // the clock was set
	v.look(at, time.Second)
	if _, since, away := v.unreachable(at); away || !since.Equal(at) {
		t.Errorf("after the clock was set: away %v since %s", away, since)
	}
}

func TestOthersAlertsAreCounted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		y := newYard(t)
		source := events.AlertRaised{Key: "source-rust", Kind: events.AlertSource, About: "rust", Message: "no answer", Action: "look"}
		y.tell(source)
		_, stop := y.start(y.registry)
		defer stop()
		y.pass(5*time.Second, eventlog.Beat{})
		y.tell(events.AlertCleared{Key: "source-rust"})
		y.tell(source)
		y.pass(time.Hour, eventlog.Beat{})
		y.expect("nobody touched it", "+source-rust", "-source-rust", "+source-rust")
		y.shows("tacho_alert", "about=rust kind=source 1")
		y.shows("tacho_alerts_raised_total", "1")
	})
}

func TestGarbageIsPassedAndUnknownEndsIt(t *testing.T) {
	s := ledger.New()
	stored := events.Stored{Seq: 1, Subject: events.RequestSubject("r1"), Header: map[string]string{
		events.HeaderType: events.TypePrefix + "request.created.v1", events.HeaderTime: "2026-11-21T09:00:00Z", events.HeaderCause: "0",
	}, Data: []byte("{")}
	if _, err := s.Take(stored); err != nil || s.Seq != 1 {
		t.Errorf("malformed: %v, at %d", err, s.Seq)
	}
	stored.Seq, stored.Header[events.HeaderType] = 2, events.TypePrefix+"request.of_tomorrow.v1"
	if _, err := s.Take(stored); !errors.Is(err, events.ErrUnknownType) {
		t.Errorf("unknown: %v", err)
	}
	stored.Subject = events.ResultSubject(lane, "j1")
	if _, err := s.Take(stored); err != nil || s.Seq != 2 {
		t.Errorf("what is not needed: %v, at %d", err, s.Seq)
	}
}
