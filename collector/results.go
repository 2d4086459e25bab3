package collector

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"strings"
	"time"

	"github.com/tachobench/tacho/collector/measure"
	"github.com/tachobench/tacho/eventlog"
	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/internal/spool"
	"github.com/tachobench/tacho/rules/job"
)

const (
	// flushAt is how many measured test cases are collected at most before they are recorded.
	flushAt = 50
	// flushBytes is how large the test cases of one event may be together. An event must stay below a megabyte, and
	// the runner keeps a single test case below this bound.
	flushBytes = 768 << 10
)

// earlier is what the log holds about a job's results.
type earlier struct {
	version events.Seq
	// done are the test cases with results that count.
	done measured
}

// measured are test cases with results, by the tag of their artifact: that of the job or that of its parent.
type measured map[events.Tag]map[events.TestCase]bool

// readResults folds the results of a job. from restricts them to those of one environment; empty takes all.
func (c *Collector) readResults(ctx context.Context, id events.JobID, from events.Digest) (earlier, error) {
	var history []events.Recorded
	err := c.retry(ctx, func() (err error) {
		history, err = c.Log.Read(ctx, events.ResultSubject(c.Lane, id))
		return err
	})
	if err != nil {
		return earlier{}, fmt.Errorf("read the results of job %s: %w", id, err)
	}
	return foldResults(history, from), nil
}

// foldResults returns what the history of a job's results holds.
func foldResults(history []events.Recorded, from events.Digest) earlier {
	out := earlier{done: measured{}}
	var results job.Results
	for _, e := range history {
		out.version = e.Seq
		f, ok := e.Fact.(events.ResultFact)
		if !ok || !results.Report(f) {
			continue
		}
		if f, ok := f.(events.TestCasesMeasured); ok && (from == "" || from == f.Environment) {
			for _, side := range f.Sides() {
				out.done.add(side.Artifact.Tag, side.Cases)
			}
		}
	}
	return out
}

func (m measured) add(of events.Tag, cases []events.MeasuredCase) {
	if m[of] == nil {
		m[of] = map[events.TestCase]bool{}
	}
	for _, c := range cases {
		m[of][c.TestCase] = true
	}
}

// join adds what others hold.
func (m measured) join(others measured) {
	for of, cases := range others {
		if m[of] == nil {
			m[of] = map[events.TestCase]bool{}
		}
		maps.Copy(m[of], cases)
	}
}

// sink turns what the bench reports into events. It is the state of the attempt, and only the bench's goroutine uses it, but
// for Output and Log.
type sink struct {
	a *attempt
	// version is the last event of the job's results.
	version events.Seq
	// of is the artifact that is measured now.
	of      events.Artifact
	pending []events.MeasuredCase
	// bytes is how large pending is as JSON.
	bytes   int
	flushed time.Time
	// here are the test cases that the attempt has measured so far.
	here measured
	// measured and failed count the test cases of the job's own artifact.
	measured, failed int
	// exceeded says how the first of them wanted more memory than the job reserves; empty when none did.
	exceeded string
	// before and total count, for a pair, the test cases of the turns that are over and of all turns.
	before, total int
	// used is what all commands used so far; nil before the first.
	used *events.Used
	// cpu is their CPU time.
	cpu time.Duration
	// phases and jobserver are nil while there is nothing to say of them.
	phases    *events.Phases
	jobserver *events.JobserverCount
	// out takes what the attempt prints, from any goroutine.
	out *spool.Spool
}

func newSink(a *attempt, version events.Seq) *sink {
	return &sink{
		a: a, version: version, of: a.spec.Artifact, here: measured{}, flushed: a.c.Clock(),
		out: spool.New(spool.Config{Memory: outputMemory, File: outputFile, Dir: a.c.SpoolDir}),
	}
}

// turnTo says whose turn it is now.
func (s *sink) turnTo(ctx context.Context, of events.Artifact) error {
	if s.of == of {
		return nil
	}
	if err := s.flush(ctx); err != nil {
		return err
	}
	s.of = of
	return nil
}

// owns reports whether it is the turn of the job's own artifact.
func (s *sink) owns() bool { return s.of == s.a.spec.Artifact }

// Started implements Sink. The progress of a pair is that of both sides.
func (s *sink) Started(benchmark events.Benchmark, done, total int) {
	if s.total > 0 {
		done, total = s.before+done, s.total
	}
	s.a.c.show(s.a, progress{job: s.a.spec.ID, benchmark: benchmark, done: done, total: total})
}

// Log implements Sink.
func (s *sink) Log(text string) { s.out.Line(text) }

// Output implements Sink.
func (s *sink) Output(text []byte) { _, _ = s.out.Write(text) } // after the end it has no place

// Used implements Sink.
func (s *sink) Used(u measure.Use) {
	if s.used == nil {
		s.used = &events.Used{}
	}
	s.cpu += max(u.CPU, 0)
	s.used.PeakMemoryBytes = max(s.used.PeakMemoryBytes, u.Memory)
	s.used.CPUMS = s.cpu.Milliseconds()
}

// Stored implements Sink.
func (s *sink) Stored(ctx context.Context, o events.Output, upload bool) error {
	a := s.a
	return s.record(ctx, events.OutputStored{
		Lane: a.c.Lane, JobID: a.spec.ID, Collector: a.c.Name, Token: a.token, Attempt: a.number, Output: o, Upload: upload,
	})
}

// Diagnosed implements Sink.
func (s *sink) Diagnosed(ctx context.Context, seen events.DiagnosticsSeen) error {
	a := s.a
	seen.Lane, seen.JobID, seen.Collector, seen.Token, seen.Attempt = a.c.Lane, a.spec.ID, a.c.Name, a.token, a.number
	return s.record(ctx, seen)
}

// Took implements Sink.
func (s *sink) Took(phase func(*events.Phases) *int64, d time.Duration) {
	if s.phases == nil {
		s.phases = &events.Phases{}
	}
	*phase(s.phases) += d.Milliseconds()
}

// Waits implements Sink.
func (s *sink) Waits(what string) {
	s.a.c.mu.Lock()
	defer s.a.c.mu.Unlock()
	s.a.c.progress.waits, s.a.c.progress.since = what, s.a.c.Clock().UTC()
}

// Counted implements Sink.
func (s *sink) Counted(j events.JobserverCount) {
	if s.jobserver == nil {
		s.jobserver = &events.JobserverCount{}
	}
	s.jobserver.Missing += j.Missing
	s.jobserver.Surplus += j.Surplus
}

// Measured implements Sink.
func (s *sink) Measured(ctx context.Context, c events.MeasuredCase) error {
	text, err := json.Marshal(c)
	if err != nil {
		return fmt.Errorf("record the results of %s: %w", c.Benchmark, err)
	}
	if s.bytes+len(text) > flushBytes {
		if err := s.flush(ctx); err != nil {
			return err
		}
	}
	s.pending, s.bytes = append(s.pending, c), s.bytes+len(text)
	s.here.add(s.of.Tag, []events.MeasuredCase{c})
	if s.owns() {
		s.measured++
	}
	if len(s.pending) < flushAt && s.a.c.Clock().Sub(s.flushed) < s.a.c.FlushEvery {
		return nil
	}
	return s.flush(ctx)
}

// Failed implements Sink.
func (s *sink) Failed(ctx context.Context, kind events.ErrorKind, about string, c *events.TestCase, message string) error {
	if s.owns() {
		s.failed++
		if kind == events.ErrorMemory && s.exceeded == "" {
			s.exceeded, _, _ = strings.Cut(message, "\n")
		}
	}
	return s.fail(ctx, kind, about, c, message)
}

// fail records an error of the artifact whose turn it is.
func (s *sink) fail(ctx context.Context, kind events.ErrorKind, about string, c *events.TestCase, message string) error {
	a := s.a
	return s.record(ctx, events.ErrorRecorded{
		Lane: a.c.Lane, JobID: a.spec.ID, Artifact: s.of, Collector: a.c.Name, Token: a.token, Attempt: a.number,
		Kind: kind, Context: about, Case: c, Message: message,
	})
}

// flush records what was measured since the last time.
func (s *sink) flush(ctx context.Context) error {
	s.flushed = s.a.c.Clock()
	if len(s.pending) == 0 {
		return nil
	}
	cases := s.pending
	s.pending, s.bytes = nil, 0
	return s.record(ctx, s.measuredOf(s.of, cases, nil))
}

// measuredOf returns the fact that test cases were measured.
func (s *sink) measuredOf(of events.Artifact, cases []events.MeasuredCase, beside *events.Beside) events.TestCasesMeasured {
	a := s.a
	return events.TestCasesMeasured{
		Lane: a.c.Lane, JobID: a.spec.ID, Artifact: of, Collector: a.c.Name, Token: a.token, Attempt: a.number,
		Definitions: a.spec.Definitions, Environment: a.c.Environment.Fingerprint, Cases: cases, Beside: beside,
	}
}

// record appends a fact to the job's results, or returns errLost. When ctx ends it continues for a few seconds: an
// append that is broken off may or may not be in the log, and what was measured would be lost.
func (s *sink) record(ctx context.Context, f events.Fact) error {
	ctx, cancel := outlasting(ctx)
	defer cancel()
	event := s.a.c.event(f, s.a.token, s.a.root)
	last, err := eventlog.Transact(ctx, s.a.c.patient(), func(tx *eventlog.Tx) ([]events.Event, error) {
		if !tx.First() {
			if err := s.catchUp(ctx); err != nil {
				return nil, err
			}
		}
		tx.Expect(f.Subject(), s.version)
		return []events.Event{event}, nil
	})
	if err == nil {
		s.version = last
	}
	return err
}

// catchUp reads the current version of the job's results. It returns errLost when the attempt is lost, which only the
// lane's work can say.
func (s *sink) catchUp(ctx context.Context) error {
	lane, _, err := s.a.c.laneState(ctx)
	if err != nil {
		return err
	}
	if lane.Phase != job.Current || lane.Token != s.a.token {
		return errLost
	}
	known, err := s.a.c.readResults(ctx, s.a.spec.ID, "")
	s.version = known.version
	return err
}
