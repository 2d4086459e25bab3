package collector

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/tachobench/tacho/eventlog"
	"github.com/tachobench/tacho/events"
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
	done map[events.TestCase]bool
}

// readResults folds the results of a job.
func (c *Collector) readResults(ctx context.Context, id events.JobID) (earlier, error) {
	var history []events.Recorded
	err := c.retry(ctx, func() (err error) {
		history, err = c.Log.Read(ctx, events.ResultSubject(c.Lane, id))
		return err
	})
	if err != nil {
		return earlier{}, fmt.Errorf("read the results of job %s: %w", id, err)
	}
	return foldResults(history), nil
}

// foldResults returns what the history of a job's results holds.
func foldResults(history []events.Recorded) earlier {
	out := earlier{done: map[events.TestCase]bool{}}
	var results job.Results
	for _, e := range history {
		out.version = e.Seq
		f, ok := e.Fact.(events.ResultFact)
		if !ok || !results.Report(f) {
			continue
		}
		if measured, ok := f.(events.TestCasesMeasured); ok {
			for _, m := range measured.Cases {
				out.done[m.TestCase] = true
			}
		}
	}
	return out
}

// sink turns what the bench reports into events. Only the bench's goroutine uses it.
type sink struct {
	a *attempt
	// version is the last event of the job's results.
	version events.Seq
	pending []events.MeasuredCase
	// bytes is how large pending is as JSON.
	bytes            int
	flushed          time.Time
	measured, failed int
	log              *logWriter
}

func newSink(a *attempt, version events.Seq) *sink {
	return &sink{a: a, version: version, flushed: a.c.Clock(), log: newLogWriter(a)}
}

// Started implements Sink.
func (s *sink) Started(benchmark events.Benchmark, done, total int) {
	s.a.c.show(s.a, progress{job: s.a.spec.ID, benchmark: benchmark, done: done, total: total})
}

// Log implements Sink.
func (s *sink) Log(text string) { s.log.write(text) }

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
	s.measured++
	if len(s.pending) < flushAt && s.a.c.Clock().Sub(s.flushed) < s.a.c.FlushEvery {
		return nil
	}
	return s.flush(ctx)
}

// Failed implements Sink.
func (s *sink) Failed(ctx context.Context, kind events.ErrorKind, about string, c *events.TestCase, message string) error {
	s.failed++
	return s.record(ctx, s.a.errorRecorded(kind, about, c, message))
}

// flush records what was measured since the last time.
func (s *sink) flush(ctx context.Context) error {
	s.flushed = s.a.c.Clock()
	if len(s.pending) == 0 {
		return nil
	}
	a := s.a
	cases := s.pending
	s.pending, s.bytes = nil, 0
	return s.record(ctx, events.TestCasesMeasured{
		Lane: a.c.Lane, JobID: a.spec.ID, Artifact: a.spec.Artifact, Collector: a.c.Name, Token: a.token, Attempt: a.number,
		Definitions: a.spec.Definitions, Environment: a.c.Environment.Fingerprint, Cases: cases,
	})
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
	known, err := s.a.c.readResults(ctx, s.a.spec.ID)
	s.version = known.version
	return err
}
