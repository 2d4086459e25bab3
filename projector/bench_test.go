package projector_test

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tachobench/tacho/eventlog"
	"github.com/tachobench/tacho/eventlog/jetstream"
	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/internal/natsserver"
	"github.com/tachobench/tacho/internal/ratio"
	"github.com/tachobench/tacho/projector"
	"github.com/tachobench/tacho/readmodel"
)

// runs writes the log of n honest requests: 12 jobs on two lanes, and for each job its dispatch, its attempt,
// 9 reports of results with 2 test cases of 4 iterations and 8 metrics, 2.3 KB each, and its end. It returns fewer than 140
// events for each request.
func runs(t testing.TB, n int) []events.Stored {
	s := newStory(t)
	s.tell(events.DefinitionsPublished{Suite: suite, Digest: "d1", Content: []byte(`{"suite":"go"}`)})
	s.man(lanes[:]...)
	parent := events.Tag("")
	for i := range n {
		tag := events.Tag(fmt.Sprintf("%040d", i))
		s.request(tag, parent, i+1)
		parent = tag
	}
	return s.stored
}

func (s *story) request(tag, parent events.Tag, pr int) {
	s.tell(created(tag, parent, pr))
	var jobs []events.JobSpec
	for _, profile := range []events.Profile{"check", "debug", "opt", "doc", "doc-json", "clippy"} {
		for _, l := range lanes {
			jobs = append(jobs, job(tag, l, profile))
		}
	}
	s.tell(events.RequestAdmitted{RequestID: requestID(tag), Tag: tag, Reason: "level 0"})
	s.tell(events.RequestStarted{RequestID: requestID(tag), Definitions: "d1", Jobs: len(jobs)})
	s.tell(events.JobsCreated{RequestID: requestID(tag), Jobs: jobs})
	for _, j := range jobs {
		s.tell(events.JobDispatched{Job: j})
		token := s.tell(dequeued(j, 1, 0))
		for report := range 9 {
			s.tell(samples(j, token, events.Benchmark(fmt.Sprintf("benchmark-%d-%d", j.Set, report))))
		}
		s.tell(finished(j, token, events.Success))
	}
	s.tell(events.RequestCompleted{RequestID: requestID(tag), Jobs: len(jobs)})
}

func samples(j events.JobSpec, token events.Seq, b events.Benchmark) events.TestCasesMeasured {
	f := measured(j, token, b, b)
	f.Cases[1].Scenario = "incr-unchanged"
	// Digests are as long as they are in the field.
	f.Definitions, f.Environment = events.Digest(strings.Repeat("d1", 32)), events.Digest(strings.Repeat("e1", 32))
	for i := range f.Cases {
		f.Cases[i].Iterations = nil
		for n := range 4 {
			v := 1.0625 + float64(n)/64
			f.Cases[i].Iterations = append(f.Cases[i].Iterations, events.Iteration{Metrics: map[events.Metric]float64{
				"instructions:u": v * 1e9, "cycles:u": v * 2e9, "branch-misses": v * 1e6, "cache-misses": v * 1e5,
				"task-clock": v, "wall-time": v * 1.1, "max-rss": v * 1e8, "page-faults": v * 1e4,
			}})
		}
	}
	return f
}

// server is a log as it runs in production, filled with the events that a benchmark tells.
func server(b *testing.B, unsynced bool, told []events.Stored) *jetstream.Log {
	b.Helper()
	return serverIn(b, b.TempDir(), unsynced, told)
}

func serverIn(b *testing.B, dir string, unsynced bool, told []events.Stored) *jetstream.Log {
	b.Helper()
	s, err := natsserver.Start(natsserver.Config{Dir: dir, Unsynced: unsynced})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(s.Shutdown)
	nc, err := s.Connect()
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(nc.Close)
	log, err := jetstream.Open(b.Context(), nc, jetstream.Config{})
	if err != nil {
		b.Fatal(err)
	}
	versions := make(map[events.Subject]events.Seq)
	for _, stored := range told {
		appendTo(b, log, versions, stored)
	}
	return log
}

func appendTo(b *testing.B, log eventlog.Log, versions map[events.Subject]events.Seq, stored events.Stored) {
	b.Helper()
	e, err := events.Decode(stored)
	if err != nil {
		b.Fatal(err)
	}
	part := eventlog.Append{Subject: stored.Subject, Expected: versions[stored.Subject], Events: []events.Event{e.Event}}
	if versions[stored.Subject], err = log.Append(b.Context(), part); err != nil {
		b.Fatal(err)
	}
}

// BenchmarkCatchUp folds a log into an empty database. In the same run, in turns, it does what that cannot be faster than: it
// reads and decodes the same log, and it copies the rows that came out into tables with the same indexes. For a log in memory
// the first is the decoding alone. The database of "synced" syncs to the disk as in production, those of the others do not.
func BenchmarkCatchUp(b *testing.B) {
	told := runs(b, 300)
	b.Run("jetstream", func(b *testing.B) { catchUp(b, server(b, true, told), len(told), database) })
	b.Run("synced", func(b *testing.B) { catchUp(b, server(b, true, told), len(told), synced(b)) })
	b.Run("memory", func(b *testing.B) { catchUp(b, newFeed("log", told...), len(told), database) })
}

// synced returns what makes databases on a server that syncs to the disk.
func synced(b *testing.B) func(testing.TB) string {
	b.Helper()
	dir, err := os.MkdirTemp("", "tacho-pg-")
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = os.RemoveAll(dir) })
	at, n := startServer(b, dir).URL(), 0
	return func(t testing.TB) string {
		n++
		name := fmt.Sprint("catch_up_", n)
		execute(t, at, "CREATE DATABASE "+name)
		u, err := url.Parse(at)
		if err != nil {
			t.Fatal(err)
		}
		u.Path = "/" + name
		err = readmodel.Migrate(t.Context(), u.String())
		if err != nil {
			t.Fatal(err)
		}
		return u.String()
	}
}

func catchUp(b *testing.B, log projector.Source, n int, database func(testing.TB) string) {
	var decoding, projecting, copying time.Duration
	for b.Loop() {
		began := time.Now()
		decodeAll(b, log, n)
		decoding += time.Since(began)

		url := database(b)
		r := open(b, url)
		began = time.Now()
		p := start(b, projector.Config{Log: log, URL: url})
		p.await(b, r, events.Seq(n))
		projecting += time.Since(began)
		err := p.stop()
		if err != nil {
			b.Fatal(err)
		}
		r.Close()
		copying += copied(b, url, database(b), "event", "benchmark_request", "job_queue", "attempt", "result")
	}
	b.ReportMetric(float64(b.N*n)/projecting.Seconds(), "events/s")
	ratio.AtLeast(b, "of-decoded", decoding.Seconds()/projecting.Seconds(), 0.7)
	ratio.AtLeast(b, "of-copy", copying.Seconds()/projecting.Seconds(), 0.25)
}

// BenchmarkDisk measures how much room the tables take beside the log, after a rebuild and after all events came a few at a time.
func BenchmarkDisk(b *testing.B) {
	told := runs(b, 300)
	dir := b.TempDir()
	log := serverIn(b, dir, true, told)
	for b.Loop() {
		var inLog, rebuilt, live int64
		err := filepath.WalkDir(dir, func(_ string, d os.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			info, err := d.Info()
			if err == nil {
				inLog += info.Size()
			}
			return err
		})
		if err != nil {
			b.Fatal(err)
		}
		for size, takes := range map[int]*int64{1000: &rebuilt, 20: &live} {
			url := database(b)
			r := open(b, url)
			p := start(b, projector.Config{Log: log, URL: url, BatchSize: size})
			p.await(b, r, events.Seq(len(told)))
			*takes = int64(count(b, url, `SELECT sum(pg_total_relation_size(c.oid))::bigint AS count FROM pg_class c WHERE relkind = 'r' AND relnamespace = 'tacho_g1'::regnamespace`))
			err := p.stop()
			if err != nil {
				b.Fatal(err)
			}
			r.Close()
		}
		b.ReportMetric(float64(inLog)/float64(len(told)), "log-B/event")
		b.ReportMetric(float64(rebuilt)/float64(len(told)), "tables-B/event")
		ratio.AtMost(b, "of-log", float64(rebuilt)/float64(inLog), 1.5)
		ratio.AtMost(b, "live-of-log", float64(live)/float64(inLog), 1.5)
	}
}

func decodeAll(b *testing.B, log projector.Source, n int) {
	cursor, err := log.Follow(b.Context(), 0)
	if err != nil {
		b.Fatal(err)
	}
	defer cursor.Close()
	for read := 0; read < n; {
		batch, err := cursor.Next(b.Context(), 1000)
		if err != nil {
			b.Fatal(err)
		}
		for _, s := range batch {
			if _, err := events.Decode(s); err != nil {
				b.Fatal(err)
			}
		}
		read += len(batch)
	}
}

// BenchmarkVisible measures the time from the call that appends an event until a reader knows that its row is committed.
// Log and database sync each write to the disk.
func BenchmarkVisible(b *testing.B) {
	url := synced(b)(b)
	told := runs(b, 40)
	log, versions, at := server(b, false, nil), map[events.Subject]events.Seq{}, 0
	r := open(b, url)
	p := start(b, projector.Config{Log: log, URL: url})

	var times []time.Duration
	for b.Loop() {
		if at == len(told) {
			b.Fatal("the story is too short for so many rounds")
		}
		began := time.Now()
		appendTo(b, log, versions, told[at])
		at++
		p.await(b, r, events.Seq(at))
		times = append(times, time.Since(began))
	}
	slices.Sort(times)
	ratio.AtMost(b, "p50-ms", float64(times[len(times)/2].Microseconds())/1000, 1)
	ratio.AtMost(b, "p99-ms", float64(times[len(times)*99/100].Microseconds())/1000, 5)
}

// BenchmarkDeepQueue measures one event that changes the queue while many requests are pending, from the log to
// a visible row. All requests are ordered and estimated anew, and the rows that differ are written. A new request at
// the end changes one row; a request that overruns changes all of them.
func BenchmarkDeepQueue(b *testing.B) {
	few := 0.0
	for _, crowd := range []int{1_000, 20_000} {
		b.Run(fmt.Sprint(crowd), func(b *testing.B) { few = deepQueue(b, crowd, few) })
	}
}

// deepQueue returns how many milliseconds a new request costs, and compares that with what it cost with fewer pending; 0 for
// nothing to compare with.
func deepQueue(b *testing.B, crowd int, few float64) (ms float64) {
	s := newStory(b)
	sha := func(i int) events.Tag { return events.Tag(fmt.Sprintf("%040d", i)) }
	s.man(lanes[:]...)
	for i := range 3 {
		s.request(sha(i), "", i+1)
	}
	running := job("running", lanes[0], "opt")
	s.tell(created("running", "", 1))
	s.tell(events.RequestStarted{RequestID: requestID("running"), Definitions: "d1", Jobs: 1})
	s.tell(events.JobsCreated{RequestID: requestID("running"), Jobs: []events.JobSpec{running}})
	s.tell(dequeued(running, 1, 0))
	at := s.at
	for i := range crowd {
		s.tell(created(sha(i+3), sha(i+2), 7))
		s.at = at // while it runs as expected
	}
	url := database(b)
	r, log := open(b, url), newFeed("log", s.stored...)
	p := start(b, projector.Config{Log: log, URL: url})
	p.await(b, r, events.Seq(len(s.stored)))
	next := crowd + 3
	one := func(at time.Time) {
		s.at = at
		s.tell(created(sha(next), sha(next-1), 7))
		log.add(s.stored[len(s.stored)-1])
		p.await(b, r, events.Seq(len(s.stored)))
		next++
	}
	b.Run("new-request", func(b *testing.B) {
		began := time.Now()
		for b.Loop() {
			one(at)
		}
		ms = float64(time.Since(began).Microseconds()) / 1000 / float64(b.N)
		ratio.AtMost(b, "ms", ms, 10)
		if few > 0 {
			ratio.AtMost(b, "growth", ms/few, 2)
		}
	})
	b.Run("all-move", func(b *testing.B) {
		late := at.Add(time.Hour) // it overruns, and all requests behind it move back
		for b.Loop() {
			late = late.Add(time.Second)
			one(late)
		}
	})
	return ms
}

// BenchmarkStatus measures the query behind the status page.
func BenchmarkStatus(b *testing.B) {
	log := runs(b, 60)
	url := project(b, log, 1000)
	r, err := readmodel.OpenPools(context.Background(), url, readmodel.Patient(patience))
	if err != nil {
		b.Fatal(err)
	}
	defer r.Close()
	for b.Loop() {
		if _, err := r.Status(b.Context(), time.Now()); err != nil {
			b.Fatal(err)
		}
	}
}
