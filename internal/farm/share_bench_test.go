package farm

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tachobench/tacho/control"
	"github.com/tachobench/tacho/eventlog"
	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/scheduler"
	"github.com/tachobench/tacho/shell"
)

// farmLog is a log with the queues of its lanes.
type farmLog interface {
	eventlog.Log
	eventlog.Dispatch
}

// sharedFarm is some schedulers on a log of one node, and a machine with one lane that ends each job after hold.
type sharedFarm struct {
	log     farmLog
	control *control.Control
	hold    atomic.Int64 // nanoseconds
	mu      sync.Mutex
	// dispatched are the times of the dispatches, by request, gaps the times between one dispatch and the next.
	dispatched map[events.RequestID]chan time.Time
	last       time.Time
	gaps       []time.Duration
}

func newSharedFarm(b testing.TB, log farmLog, schedulers int, hold time.Duration) *sharedFarm {
	b.Helper()
	f := &sharedFarm{
		log: log, control: &control.Control{Log: log, Clock: time.Now}, dispatched: map[events.RequestID]chan time.Time{},
	}
	f.hold.Store(int64(hold))
	must := func(_ control.Answer, err error) {
		if err != nil {
			b.Fatal(err)
		}
	}
	must(f.control.Publish(b.Context(), By, manyJobs(1)))
	must(f.control.AddCollector(b.Context(), By, control.NewCollector{Name: "c", Target: "here"}))
	for _, name := range []events.AccountName{"u1", "u2"} {
		must(f.control.ConfigureAccount(b.Context(), By, name, control.AccountChange{}))
	}
	ctx, stop := context.WithCancel(b.Context())
	var tasks sync.WaitGroup
	b.Cleanup(func() { stop(); tasks.Wait() })
	for range schedulers {
		s := shell.New(shell.Config{Log: log, Clock: time.Now, Logger: slog.New(slog.DiscardHandler)})
		s.Seat(scheduler.New(scheduler.Config{Log: log, Policy: policy, OfflineAfter: time.Minute, Logger: slog.New(slog.DiscardHandler)}))
		tasks.Go(func() {
			if err := s.Run(ctx); err != nil {
				b.Error(err)
			}
		})
	}
	tasks.Go(func() { f.serve(ctx, b) })
	return f
}

// serve plays the machine: it follows the log, and ends each job some time after its dispatch, one after another.
func (f *sharedFarm) serve(ctx context.Context, b testing.TB) {
	cursor, err := f.log.Follow(ctx, 0)
	if err != nil {
		b.Error(err)
		return
	}
	jobs := make(chan events.JobDispatched, 100)
	defer close(jobs)
	go f.measure(ctx, b, jobs)
	for {
		stored, err := cursor.Next(ctx, eventlog.MaxBatch)
		if ctx.Err() != nil {
			return
		}
		if err != nil {
			b.Error(err)
			return
		}
		for _, s := range stored {
			e, err := events.Decode(s)
			if d, ok := e.Fact.(events.JobDispatched); ok && err == nil {
				f.note(d.Job.RequestID)
				jobs <- d
			}
		}
	}
}

func (f *sharedFarm) note(id events.RequestID) {
	f.mu.Lock()
	defer f.mu.Unlock()
	now := time.Now()
	if !f.last.IsZero() {
		f.gaps = append(f.gaps, now.Sub(f.last))
	}
	f.last = now
	if waiting := f.dispatched[id]; waiting != nil {
		waiting <- now
	}
}

func (f *sharedFarm) measure(ctx context.Context, b testing.TB, jobs <-chan events.JobDispatched) {
	lane := events.Lane{Target: "here"}
	var version events.Seq
	write := func(fact events.Fact) {
		e := eventlog.NewEvent(fact, eventlog.Meta{Source: "bench", Actor: "collector:c"}, time.Now())
		seq, err := f.log.Append(ctx, eventlog.Append{Subject: fact.Subject(), Expected: version, Events: []events.Event{e}})
		if err != nil && ctx.Err() == nil {
			b.Error(err)
		}
		version = seq
	}
	for d := range jobs {
		write(events.JobDequeued{Lane: lane, Place: d.Place, Job: d.Job, Collector: "c", Instance: "i", Attempt: 1})
		token := version
		select {
		case <-time.After(time.Duration(f.hold.Load())):
		case <-ctx.Done():
			return
		}
		write(events.JobFinished{
			Lane: lane, Place: d.Place, JobID: d.Job.ID, RequestID: d.Job.RequestID, Collector: "c", Token: token, Attempt: 1,
			Outcome: events.Success, Measured: 1, DurationMS: max(time.Duration(f.hold.Load()).Milliseconds(), 1),
		})
	}
}

func (f *sharedFarm) submit(b testing.TB, account events.AccountName, n int) events.RequestID {
	b.Helper()
	tag := events.Tag(fmt.Sprintf("%s-%d", cmp.Or(account, "main"), n))
	r, _, err := f.control.CreateRequest(b.Context(), By, control.NewRequest{Suite: manyJobs(1).Name, Kind: events.Master, Tag: tag, Account: account, Fresh: true})
	if err != nil {
		b.Fatal(err)
	}
	return r.ID
}

// BenchmarkSubmitToDispatch reports how long an account waits on an idle machine from its submit to the dispatch of the
// job, with one scheduler and with four, and how many times longer that is than one synced append.
func BenchmarkSubmitToDispatch(b *testing.B) {
	for _, schedulers := range []int{1, 4} {
		b.Run(fmt.Sprintf("schedulers=%d", schedulers), func(b *testing.B) {
			_, log := syncedLog(b)
			f := newSharedFarm(b, log, schedulers, 0)
			var waits []time.Duration
			for n := 0; b.Loop(); n++ {
				id := events.NewRequestID(manyJobs(1).Name, events.Master, fmt.Sprintf("u1-%d", n))
				came := make(chan time.Time, 1)
				f.mu.Lock()
				f.dispatched[id] = came
				f.mu.Unlock()
				began := time.Now()
				f.submit(b, "u1", n)
				waits = append(waits, (<-came).Sub(began))
			}
			slices.Sort(waits)
			raw := rawAppends(b, f.log)
			b.ReportMetric(float64(waits[len(waits)/2].Microseconds())/1000, "p50-ms")
			b.ReportMetric(float64(waits[len(waits)*99/100].Microseconds())/1000, "p99-ms")
			b.ReportMetric(float64(waits[len(waits)/2])/float64(raw), "times-raw")
		})
	}
}

// rawAppends is how long a synced append of one event takes.
func rawAppends(b *testing.B, log eventlog.Log) time.Duration {
	b.Helper()
	const n = 200
	var at events.Seq
	began := time.Now()
	for range n {
		e := eventlog.NewEvent(events.VersionWanted{Version: "v1"}, eventlog.Meta{Source: "bench", Actor: "bench"}, time.Now())
		seq, err := log.Append(b.Context(), eventlog.Append{Subject: events.VersionSubject(), Expected: at, Events: []events.Event{e}})
		if err != nil {
			b.Fatal(err)
		}
		at = seq
	}
	return time.Since(began) / n
}

// BenchmarkBurst submits 10,000 requests of one account within 10 seconds, while a machine takes 10 jobs a second. It
// reports the longest pause between two dispatches, and how long the submits took.
func BenchmarkBurst(b *testing.B) {
	const burst, clients = 10_000, 8
	for b.Loop() {
		_, log := syncedLog(b)
		f := newSharedFarm(b, log, 1, 100*time.Millisecond)
		for n := range 30 {
			f.submit(b, "u2", n)
		}
		began := time.Now()
		tick := time.NewTicker(10 * time.Second / burst)
		next := make(chan int)
		var tasks sync.WaitGroup
		for range clients {
			tasks.Go(func() {
				for n := range next {
					f.submit(b, "u1", n)
				}
			})
		}
		for n := range burst {
			<-tick.C
			next <- n
		}
		close(next)
		tasks.Wait()
		took := time.Since(began)
		f.mu.Lock()
		b.ReportMetric(slices.Max(f.gaps).Seconds()*1000, "longest-gap-ms")
		b.ReportMetric(float64(len(f.gaps)), "dispatches")
		f.mu.Unlock()
		b.ReportMetric(took.Seconds(), "s-submitting")
	}
}
