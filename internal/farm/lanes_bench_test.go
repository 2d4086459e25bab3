package farm

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/tachobench/tacho/control"
	"github.com/tachobench/tacho/eventlog"
	"github.com/tachobench/tacho/eventlog/memory"
	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/internal/ratio"
	"github.com/tachobench/tacho/scheduler"
	"github.com/tachobench/tacho/shell"
)

// lanesFarm is a scheduler, and lanes whose jobs take no time: each begins and ends its job with two appends.
type lanesFarm struct {
	log   farmLog
	lanes int
	ended chan struct{}
	stop  func()
}

func newLanesFarm(b *testing.B, log farmLog, lanes, inFlight, pending int) *lanesFarm {
	b.Helper()
	f := &lanesFarm{log: log, lanes: lanes, ended: make(chan struct{}, 1_000_000)}
	d := manyJobs(1)
	d.Targets[0].Sets = lanes
	c := &control.Control{Log: log, Clock: time.Now}
	if _, err := c.Publish(b.Context(), By, d); err != nil {
		b.Fatal(err)
	}
	for i := range lanes {
		if _, err := c.AddCollector(b.Context(), By, control.NewCollector{Name: events.CollectorName(fmt.Sprint("c", i)), Target: "here", Set: events.Set(i)}); err != nil {
			b.Fatal(err)
		}
	}
	var asking errgroup.Group
	asking.SetLimit(32)
	for i := range pending {
		tag := events.Tag(fmt.Sprint("t", i))
		asking.Go(func() error {
			return f.append(b.Context(), 0, events.RequestCreated{
				RequestID: events.NewRequestID(d.Name, events.Master, string(tag)), Suite: d.Name, Kind: events.Master, Tag: tag, Key: string(tag), State: events.StateArtifactsReady,
			})
		})
	}
	if err := asking.Wait(); err != nil {
		b.Fatal(err)
	}
	ctx, stop := context.WithCancel(b.Context())
	var tasks sync.WaitGroup
	f.stop = func() { stop(); tasks.Wait() }
	jobs := make([]chan events.JobDispatched, lanes)
	for i := range jobs {
		jobs[i] = make(chan events.JobDispatched, 10)
		tasks.Go(func() { f.serve(ctx, b, i, jobs[i]) })
	}
	tasks.Go(func() { f.follow(ctx, b, jobs) })
	s := shell.New(shell.Config{Log: log, Clock: time.Now, InFlight: inFlight, Logger: slog.New(slog.DiscardHandler)})
	s.Seat(scheduler.New(scheduler.Config{Log: log, Policy: scheduler.Policy{MaxInProgress: 4}, Logger: slog.New(slog.DiscardHandler)}))
	tasks.Go(func() {
		if err := s.Run(ctx); err != nil {
			b.Error(err)
		}
	})
	return f
}

func (f *lanesFarm) append(ctx context.Context, version events.Seq, fact events.Fact) error {
	_, err := f.write(ctx, version, fact)
	return err
}

func (f *lanesFarm) write(ctx context.Context, version events.Seq, fact events.Fact) (events.Seq, error) {
	e := eventlog.NewEvent(fact, eventlog.Meta{Source: "bench", Actor: "bench"}, time.Now())
	return f.log.Append(ctx, eventlog.Append{Subject: fact.Subject(), Expected: version, Events: []events.Event{e}})
}

// follow brings each dispatch to its lane.
func (f *lanesFarm) follow(ctx context.Context, b *testing.B, jobs []chan events.JobDispatched) {
	cursor, err := f.log.Follow(ctx, 0)
	if err != nil {
		b.Error(err)
		return
	}
	defer cursor.Close()
	for {
		stored, err := cursor.Next(ctx, eventlog.MaxBatch)
		if err != nil {
			return
		}
		for _, s := range stored {
			if s.Subject.Family() != "lane" {
				continue
			}
			e, err := events.Decode(s)
			if d, ok := e.Fact.(events.JobDispatched); ok && err == nil {
				select {
				case jobs[d.Job.Set] <- d:
				case <-ctx.Done():
					return
				}
			}
		}
	}
}

// serve plays the collector of a lane.
func (f *lanesFarm) serve(ctx context.Context, b *testing.B, i int, jobs <-chan events.JobDispatched) {
	lane, name := events.Lane{Target: "here", Set: events.Set(i)}, events.CollectorName(fmt.Sprint("c", i))
	var version events.Seq
	for {
		var d events.JobDispatched
		select {
		case d = <-jobs:
		case <-ctx.Done():
			return
		}
		token, err := f.write(ctx, version, events.JobDequeued{Lane: lane, Place: d.Place, Job: d.Job, Collector: name, Instance: "i", Attempt: 1})
		if err == nil {
			version, err = f.write(ctx, token, events.JobFinished{
				Lane: lane, Place: d.Place, JobID: d.Job.ID, RequestID: d.Job.RequestID, Collector: name, Token: token, Attempt: 1, Outcome: events.Success, Measured: 1,
			})
		}
		if err != nil {
			if ctx.Err() == nil {
				b.Error(err)
			}
			return
		}
		f.ended <- struct{}{}
	}
}

// rate is how many jobs end in a second.
func (f *lanesFarm) rate(jobs int) float64 {
	began := time.Now()
	for range jobs {
		<-f.ended
	}
	return float64(jobs) / time.Since(began).Seconds()
}

// BenchmarkInFlight is how many jobs of no length 32 lanes end on a synced log, with one step of the scheduler in flight and with as
// many as usual, in turns.
func BenchmarkInFlight(b *testing.B) {
	const lanes, jobs = 32, 640
	best := map[int]float64{}
	for b.Loop() {
		for _, inFlight := range []int{1, 0, 1, 0} {
			_, log := syncedLog(b)
			f := newLanesFarm(b, log, lanes, inFlight, 2+jobs/lanes)
			best[inFlight] = max(best[inFlight], f.rate(jobs))
			f.stop()
		}
	}
	b.ReportMetric(best[1], "jobs/s-1")
	b.ReportMetric(best[0], "jobs/s")
	ratio.AtLeast(b, "of-1-in-flight", best[0]/best[1], 1.1)
}

// BenchmarkWaiting is how many jobs of no length eight lanes end with 1,000 and with 100,000 requests that wait, on a log in memory,
// in turns.
func BenchmarkWaiting(b *testing.B) {
	const lanes, jobs = 8, 2000
	best := map[int]float64{}
	for b.Loop() {
		farms := map[int]*lanesFarm{}
		for _, pending := range []int{1000, 100_000} {
			farms[pending] = newLanesFarm(b, memory.New(memory.Config{}), lanes, 0, pending)
			farms[pending].rate(100)
			best[pending] = max(best[pending], farms[pending].rate(jobs))
			farms[pending].stop()
		}
	}
	b.ReportMetric(best[1000], "jobs/s-1000")
	b.ReportMetric(best[100_000], "jobs/s-100000")
	ratio.AtLeast(b, "of-1000-pending", best[100_000]/best[1000], 0.95)
}
