package collector

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tachobench/tacho/eventlog"
	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/rules/suite"
)

// talker is a bench that does what a test says.
type talker func(ctx context.Context, spec events.JobSpec, sink Sink) error

// Run implements Bench.
func (f talker) Run(ctx context.Context, spec events.JobSpec, _ suite.Definitions, _ func(events.TestCase) bool, sink Sink) error {
	return f(ctx, spec, sink)
}

// RunPair implements Bench.
func (f talker) RunPair(ctx context.Context, _, own Half, _ suite.Definitions, sink PairSink) error {
	return f(ctx, own.Spec, sink)
}

// shelf keeps chunks, of each job by itself. While it is shut, writers wait, or are told that it is not reachable.
type shelf struct {
	mu     sync.Mutex
	chunks map[events.JobID][]eventlog.LogChunk
	shut   atomic.Bool
	hangs  bool
	// twice stores each chunk two times, as when an answer is lost.
	twice bool
}

// WriteLog implements eventlog.JobLogWriter.
func (s *shelf) WriteLog(ctx context.Context, _ events.Lane, c eventlog.LogChunk) error {
	if s.shut.Load() {
		if s.hangs {
			<-ctx.Done()
		}
		return fmt.Errorf("%w: the shelf is shut", eventlog.ErrUnavailable)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.chunks == nil {
		s.chunks = map[events.JobID][]eventlog.LogChunk{}
	}
	s.chunks[c.JobID] = append(s.chunks[c.JobID], c)
	if s.twice {
		s.chunks[c.JobID] = append(s.chunks[c.JobID], c)
	}
	return nil
}

// text returns the output of a job and the number of its last chunk, without repeated chunks. Numbers may not be missing.
func (s *shelf) text(t *testing.T, id events.JobID) (text string, last int) {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	var out strings.Builder
	for _, c := range s.chunks[id] {
		switch c.Number {
		case last:
			continue
		case last + 1:
		default:
			t.Fatalf("chunk %d comes after chunk %d", c.Number, last)
		}
		last = c.Number
		out.WriteString(c.Text)
	}
	return out.String(), last
}

// v2 makes the definitions of the suite those of version 2: their jobs tell what they print.
func (s *stage) v2() {
	s.suite.Version = 2
	s.tell(events.DefinitionsPublished{Suite: s.suite.Name, Digest: s.suite.Digest(), Content: s.suite.Canonical()})
}

// lines returns numbered lines of 16 bytes.
func lines(first, n int) string {
	var out strings.Builder
	for i := range n {
		fmt.Fprintf(&out, "%015d\n", first+i)
	}
	return out.String()
}

// Nothing gets through for a minute in the middle of a job that floods its log: each control event is there once, in order,
// and so is all output.
func TestControlAndOutputSurviveAnOutage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		onStage(t, func(s *stage) {
			s.v2()
			wire, out := &cable{Log: s.log}, &shelf{twice: true}
			const cases, each = 120, 2048
			bench := talker(func(ctx context.Context, _ events.JobSpec, sink Sink) error {
				for i := range cases {
					if i == cases/2 {
						wire.cut.Store(true)
						out.shut.Store(true)
						time.AfterFunc(time.Minute, func() { wire.cut.Store(false); out.shut.Store(false) })
					}
					sink.Output([]byte(lines(i*each, each)))
					err := sink.Measured(ctx, events.MeasuredCase{TestCase: events.TestCase{Benchmark: events.Benchmark(fmt.Sprintf("b%03d", i))}})
					if err != nil {
						return err
					}
					time.Sleep(100 * time.Millisecond)
				}
				return nil
			})
			p := s.start("c0", pool0, "i1", bench, func(c *Config) { c.Log, c.JobLogs = wire, out })
			s.dispatch(pool0, 1, s.matched("j1"), 0, 0)
			f := s.finished(pool0, "j1")
			if took := time.Duration(f.DurationMS) * time.Millisecond; f.Outcome != events.Success || f.Measured != cases || took < time.Minute || took > 2*time.Minute {
				t.Errorf("it ended as %+v", f)
			}
			var order []string
			for _, m := range told[events.TestCasesMeasured](s, events.ResultSubject(pool0, "j1")) {
				for _, c := range m.Cases {
					order = append(order, string(c.Benchmark))
				}
			}
			if len(order) != cases || !slices.IsSorted(order) || len(slices.Compact(order)) != cases {
				t.Errorf("measured %q", order)
			}
			time.Sleep(time.Minute) // the sender finishes
			text, last := out.text(t, "j1")
			if want := lines(0, cases*each); text != want || f.Printed == nil || *f.Printed != (events.Printed{Bytes: int64(len(want)), Last: last}) {
				t.Errorf("%d bytes of output, want %d, in %d chunks; the end tells %+v", len(text), len(want), last, f.Printed)
			}
			if err := p.end(); err != nil {
				t.Error(err)
			}
		})
	})
}

// More output than fits into memory waits while nobody takes it. The job ends at once all the same, the next one runs, and
// the output comes later, all and in order. What two jobs ago printed is given up.
func TestOutputFollowsItsJob(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		onStage(t, func(s *stage) {
			s.v2()
			out := &shelf{}
			out.shut.Store(true)
			all := lines(0, outputMemory/16+250)
			bench := talker(func(_ context.Context, _ events.JobSpec, sink Sink) error {
				sink.Output([]byte(all))
				return nil
			})
			p := s.start("c0", pool0, "i1", bench, func(c *Config) { c.JobLogs = out })
			var ends []events.JobFinished
			for i, id := range []events.JobID{"j1", "j2", "j3"} {
				begin := time.Now()
				s.dispatch(pool0, uint64(i+1), s.matched(id), 0, 0)
				ends = append(ends, s.finished(pool0, id))
				if took := time.Since(begin); took > time.Second {
					t.Errorf("job %s took %v", id, took)
				}
			}
			out.shut.Store(false)
			time.Sleep(time.Minute)
			for i, f := range ends {
				text, last := out.text(t, f.JobID)
				if given := i == 0; given && last > 0 || !given && (text != all || f.Printed.Last != last) || f.Printed.Bytes != int64(len(all)) || f.Printed.Dropped > 0 {
					t.Errorf("%s: %d bytes in %d chunks, the end tells %+v", f.JobID, len(text), last, f.Printed)
				}
			}
			if err := p.end(); err != nil {
				t.Error(err)
			}
		})
	})
}

// The log refuses the results while 250 pieces of output wait for a reader that never takes one: the attempt ends at once,
// and the process soon after it is told to.
func TestNothingWaitsForAReader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		onStage(t, func(s *stage) {
			out := &shelf{hangs: true}
			out.shut.Store(true)
			refused := errors.New("refused")
			var begin time.Time
			bench := talker(func(_ context.Context, _ events.JobSpec, sink Sink) error {
				for range 250 {
					sink.Output([]byte(lines(0, 8192)))
				}
				begin = time.Now()
				return refused
			})
			p := s.start("c0", pool0, "i1", bench, func(c *Config) { c.JobLogs = out })
			s.dispatch(pool0, 1, s.matched("j1"), 0, 0)
			released := await(s, events.WorkSubject(pool0), func(f events.AttemptReleased) bool { return true })
			if took := time.Since(begin); took > time.Second || !released.Transient {
				t.Errorf("released after %v: %+v", took, released)
			}
			begin = time.Now()
			if err := p.end(); err != nil || time.Since(begin) > 5*time.Second {
				t.Errorf("%v after %v", err, time.Since(begin))
			}
		})
	})
}

// Jobs of definitions of version 1 end as they always did. Bytes that are no UTF-8 are replaced, lines stay as long as they
// are.
func TestOutputIsStoredAsText(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		onStage(t, func(s *stage) {
			out := &shelf{}
			long := strings.Repeat("€", 1<<20/3)
			bench := talker(func(_ context.Context, _ events.JobSpec, sink Sink) error {
				sink.Log("begin")
				sink.Output([]byte("\x1b[2J\xff\xfe€"))
				sink.Log("no line was open")
				sink.Output([]byte(long))
				return nil
			})
			p := s.start("c0", pool0, "i1", bench, func(c *Config) { c.JobLogs = out })
			s.dispatch(pool0, 1, s.matched("j1"), 0, 0)
			f := s.finished(pool0, "j1")
			if err := p.end(); err != nil || f.Printed != nil {
				t.Errorf("%v, %+v", err, f.Printed)
			}
			if text, _ := out.text(t, "j1"); text != "begin\n\x1b[2J\ufffd\ufffd€\nno line was open\n"+long {
				t.Errorf("%.200q", text)
			}
		})
	})
}
