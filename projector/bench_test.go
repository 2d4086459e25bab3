package projector_test

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"testing"
	"time"

	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/projector"
	"github.com/tachobench/tacho/readmodel"
)

// runs writes the log of n honest requests: 12 jobs on two lanes, and for each job its dispatch, its attempt,
// 9 reports of results with 2 test cases of 3 iterations and 8 metrics, and its end. It returns fewer than 140
// events for each request.
func runs(t testing.TB, n int) []events.Stored {
	s := newStory(t)
	s.tell(events.DefinitionsPublished{Suite: suite, Digest: "d1", Content: []byte(`{"suite":"go"}`)})
	for _, l := range lanes {
		s.tell(events.CollectorRegistered{Name: collectorOf(l), Target: l.Target, Set: l.Set})
	}
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
	for i, j := range jobs {
		s.tell(events.JobDispatched{Place: uint64(i), Job: j})
		token := s.tell(dequeued(j, 1, 0))
		for report := range 9 {
			s.tell(samples(j, token, events.Benchmark(fmt.Sprintf("benchmark-%d", report))))
		}
		s.tell(finished(j, token, events.Success))
	}
	s.tell(events.RequestCompleted{RequestID: requestID(tag), Jobs: len(jobs)})
}

func samples(j events.JobSpec, token events.Seq, b events.Benchmark) events.TestCasesMeasured {
	f := measured(j, token, b, b)
	f.Cases[1].Scenario = "incr-unchanged"
	for i := range f.Cases {
		f.Cases[i].Iterations = nil
		for n := range 3 {
			v := 1.0625 + float64(n)/64
			f.Cases[i].Iterations = append(f.Cases[i].Iterations, events.Iteration{Metrics: map[events.Metric]float64{
				"instructions:u": v * 1e9, "cycles:u": v * 2e9, "branch-misses": v * 1e6, "cache-misses": v * 1e5,
				"task-clock": v, "wall-time": v * 1.1, "max-rss": v * 1e8, "page-faults": v * 1e4,
			}})
		}
	}
	return f
}

// BenchmarkCatchUp compares the folding of a log into an empty database with the reading and decoding of the
// same log in the same run. The share must be 0.5 at least.
func BenchmarkCatchUp(b *testing.B) {
	log := runs(b, 150)
	var decoding, projecting time.Duration
	for b.Loop() {
		began := time.Now()
		cursor, err := newFeed("log", log...).Follow(b.Context(), 0)
		if err != nil {
			b.Fatal(err)
		}
		for read := 0; read < len(log); {
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
		decoding += time.Since(began)

		url := database(b)
		r := open(b, url)
		began = time.Now()
		p := start(b, projector.Config{Log: newFeed("log", log...), URL: url})
		p.await(b, r, events.Seq(len(log)))
		projecting += time.Since(began)
		if err := p.stop(); err != nil {
			b.Fatal(err)
		}
		r.Close()
	}
	total := float64(b.N * len(log))
	b.ReportMetric(total/projecting.Seconds(), "events/s")
	b.ReportMetric(total/decoding.Seconds(), "decoded/s")
	b.ReportMetric(decoding.Seconds()/projecting.Seconds(), "share")
}

// BenchmarkVisible measures from the moment an event is in the log until a reader sees its row committed.
func BenchmarkVisible(b *testing.B) {
	url := database(b)
	r := open(b, url)
	log := newFeed("log")
	p := start(b, projector.Config{Log: log, URL: url, Logger: slog.New(slog.DiscardHandler)})
	all := runs(b, b.N/100+2)
	log.add(all[:4]...)
	p.await(b, r, 4)

	times := make([]time.Duration, 0, b.N)
	b.ResetTimer()
	for i := range b.N {
		at := 4 + i
		began := time.Now()
		log.add(all[at])
		p.await(b, r, events.Seq(at+1))
		times = append(times, time.Since(began))
	}
	b.StopTimer()
	slices.Sort(times)
	b.ReportMetric(float64(times[len(times)/2].Microseconds())/1000, "p50-ms")
	b.ReportMetric(float64(times[len(times)*99/100].Microseconds())/1000, "p99-ms")
}

// BenchmarkStatus measures the query behind the status page.
func BenchmarkStatus(b *testing.B) {
	log := runs(b, 60)
	url := project(b, log, 1000)
	r, err := readmodel.Open(context.Background(), url)
	if err != nil {
		b.Fatal(err)
	}
	defer r.Close()
	for b.Loop() {
		if _, err := r.Status(b.Context()); err != nil {
			b.Fatal(err)
		}
	}
}
