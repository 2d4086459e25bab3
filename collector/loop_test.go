package collector

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tachobench/tacho/eventlog"
	"github.com/tachobench/tacho/eventlog/memory"
	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/rules/job"
)

// contested is a log on which another writer is always faster.
type contested struct {
	eventlog.Log
	appends int
}

// Append implements eventlog.Log.
func (l *contested) Append(_ context.Context, parts ...eventlog.Append) (events.Seq, error) {
	l.appends++
	return 0, &eventlog.ConflictError{Subject: parts[0].Subject, Expected: parts[0].Expected, Actual: parts[0].Expected + 1}
}

func TestACollectorGivesUpAgainstAFasterWriter(t *testing.T) {
	lane := events.Lane{Target: "here"}
	spec := events.JobSpec{ID: "j1", Target: lane.Target}
	for what, tc := range map[string]struct {
		subject events.Subject
		// held is set when the lane already has the attempt.
		held bool
		do   func(context.Context, *Collector, events.Seq) error
	}{
		"begin": {events.WorkSubject(lane), false, func(ctx context.Context, c *Collector, _ events.Seq) error {
			_, err := c.begin(ctx, events.JobDispatched{Place: 1, Job: spec}, 0, "")
			return err
		}},
		"end": {events.WorkSubject(lane), true, func(ctx context.Context, c *Collector, token events.Seq) error {
			return c.record(ctx, "", job.Release{Token: token, Reason: "shutdown"})
		}},
		"results": {events.ResultSubject(lane, spec.ID), true, func(ctx context.Context, c *Collector, token events.Seq) error {
			s := newSink(&attempt{c: c, spec: spec, number: 1, token: token}, 0)
			return s.Failed(ctx, events.ErrorBenchmark, "b", nil, "it failed")
		}},
	} {
		t.Run(what, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				log := &contested{Log: memory.New(memory.Config{})}
				c := New(Config{Name: "c1", Instance: "i1", Lane: lane, Log: log, TransientDeadline: time.Hour, Clock: time.Now, Logger: slog.New(slog.DiscardHandler)})
				var token events.Seq
				if tc.held {
					dequeued := events.JobDequeued{Lane: lane, Place: 1, Job: spec, Collector: "c1", Instance: "i1", Attempt: 1}
					var err error
					if token, err = log.Log.Append(t.Context(), eventlog.Append{Subject: events.WorkSubject(lane), Events: c.events([]events.Fact{dequeued}, 0, "")}); err != nil {
						t.Fatal(err)
					}
				}
				err := tc.do(t.Context(), c, token)
				if busy, ok := errors.AsType[*eventlog.BusyError](err); !ok || log.appends < 2 || busy.Tries != log.appends || busy.Conflict.Subject != tc.subject {
					t.Errorf("%v after %d tries", err, log.appends)
				}
			})
		})
	}
}

// Other writers append to the job all the time: the collector leaves it alone for a while and continues.
func TestAContestedJobIsLeftAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		lane := events.Lane{Target: "here"}
		c := New(Config{Name: "c1", Instance: "i1", Lane: lane, Log: &contested{Log: memory.New(memory.Config{})}, Clock: time.Now, Logger: slog.New(slog.DiscardHandler)})
		again, err := c.execute(t.Context(), events.JobDispatched{Place: 1, Job: events.JobSpec{ID: "j1", Target: lane.Target}}, 0, "", nil)
		if err != nil || again != heldElsewhere {
			t.Errorf("it comes again after %v, %v", again, err)
		}
	})
}
