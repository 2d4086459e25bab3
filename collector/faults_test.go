package collector

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"os/exec"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tachobench/tacho/eventlog"
	"github.com/tachobench/tacho/eventlog/memory"
	"github.com/tachobench/tacho/events"
)

// A collector that is told to stop while it looks at the sources of a suite gives the job back: the job itself is
// fine.
func TestStoppingIsNoPermanentError(t *testing.T) {
	d, dir := sleepy(t, "checkout", strings.Repeat("0", 40))
	if out, err := exec.CommandContext(t.Context(), "git", "-C", dir, "init", "--quiet").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	ctx, stop := context.WithCancel(t.Context())
	stop()
	err := machine(t, map[string]string{"checkout": dir}).Run(ctx, jobOf(d, "v1"), d, none, &notes{})
	if permanent, ok := errors.AsType[*PermanentError](err); ok || !errors.Is(err, context.Canceled) {
		t.Errorf("got %v (permanent: %v)", err, permanent)
	}
}

// slowLog is a log whose answers take a second.
type slowLog struct{ *memory.Log }

func (l slowLog) Append(ctx context.Context, parts ...eventlog.Append) (events.Seq, error) {
	select {
	case <-ctx.Done():
		return 0, errors.Join(eventlog.ErrUnavailable, ctx.Err())
	case <-time.After(time.Second):
	}
	return l.Log.Append(ctx, parts...)
}

func sinkOn(log eventlog.Log) *sink {
	lane := events.Lane{Target: "here"}
	c := New(Config{
		Name: "c1", Lane: lane, Log: log, FlushEvery: time.Hour, TransientDeadline: time.Hour, Clock: time.Now,
		Logger: slog.New(slog.NewTextHandler(io.Discard, nil)),
	})
	return newSink(&attempt{c: c, spec: events.JobSpec{ID: "j1"}, number: 1, token: 1}, 0)
}

// casesOf returns the measured cases in the log, and how many events hold them.
func casesOf(t *testing.T, log eventlog.Log) (cases []events.MeasuredCase, facts int) {
	t.Helper()
	history, err := log.Read(t.Context(), events.ResultSubject(events.Lane{Target: "here"}, "j1"))
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range history {
		cases = append(cases, e.Fact.(events.TestCasesMeasured).Cases...)
	}
	return cases, len(history)
}

func TestAStopLosesNothingThatIsBeingRecorded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := slowLog{memory.New(memory.Config{})}
		s := sinkOn(log)
		s.a.c.FlushEvery = 0
		ctx, stop := context.WithCancel(t.Context())
		time.AfterFunc(time.Second/2, stop)
		err := s.Measured(ctx, events.MeasuredCase{TestCase: events.TestCase{Benchmark: "b"}})
		last, cancel := s.a.c.lasting(ctx)
		defer cancel()
		err = errors.Join(err, s.flush(last))
		if cases, _ := casesOf(t, log); len(cases) != 1 || err != nil {
			t.Errorf("%d cases recorded, %v", len(cases), err)
		}
	})
}

// An event has a size limit. A fact beyond it would fail for ever.
func TestManyLargeResultsBecomeManyEvents(t *testing.T) {
	log := memory.New(memory.Config{})
	s := sinkOn(log)
	iterations := make([]events.Iteration, 10_000)
	for i := range iterations {
		iterations[i].Metrics = map[events.Metric]float64{"wall-time": 0.0012345678, "page-faults": 12345}
	}
	const count = 5
	for range count {
		if err := s.Measured(t.Context(), events.MeasuredCase{TestCase: events.TestCase{Benchmark: "b"}, Iterations: iterations}); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	if cases, facts := casesOf(t, log); len(cases) != count || facts != count {
		t.Errorf("%d cases in %d events, want %d in as many", len(cases), facts, count)
	}
}
