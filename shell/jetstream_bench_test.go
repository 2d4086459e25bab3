package shell_test

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/tachobench/tacho/eventlog"
	"github.com/tachobench/tacho/eventlog/jetstream"
	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/internal/natsserver"
	"github.com/tachobench/tacho/ledger"
	"github.com/tachobench/tacho/shell"
)

// past writes the log of a farm that has measured masters, one after the other, each with 12 jobs on 4 lanes, until the
// log has at least n events.
type past struct {
	log      eventlog.Log
	versions map[events.Subject]events.Seq
	batch    []eventlog.Append
	at       events.Seq
	now      time.Time
}

// say puts facts into the next batch. Their sequences are known, for nobody else writes.
func (p *past) say(b *testing.B, facts ...events.Fact) {
	b.Helper()
	for _, f := range facts {
		p.at++
		subject := f.Subject()
		if i := len(p.batch) - 1; i >= 0 && p.batch[i].Subject == subject {
			p.batch[i].Events = append(p.batch[i].Events, eventlog.NewEvent(f, eventlog.Meta{Source: "past", Actor: "past"}, p.now))
		} else {
			p.batch = append(p.batch, eventlog.Append{
				Subject: subject, Expected: p.versions[subject], Events: []events.Event{eventlog.NewEvent(f, eventlog.Meta{Source: "past", Actor: "past"}, p.now)},
			})
		}
		p.versions[subject] = p.at
	}
}

// write appends what was said. One subject is in an append once.
func (p *past) write(b *testing.B) {
	b.Helper()
	if len(p.batch) == 0 {
		return
	}
	if _, err := p.log.Append(b.Context(), p.batch...); err != nil {
		b.Fatal(err)
	}
	p.batch = nil
}

func (p *past) request(b *testing.B, i int) {
	const lanes, perLane = 4, 3
	tag := events.Tag(fmt.Sprintf("%040x", i))
	a := events.Artifact{Suite: "s", Tag: tag, Kind: events.Master}
	id := events.NewRequestID(a.Suite, events.Master, string(tag))
	var jobs []events.JobSpec
	for n := range lanes * perLane {
		j := events.JobSpec{
			Artifact: a, Kind: "compile", Target: "linux-amd64", Set: events.Set(n % lanes), Backend: "llvm",
			Profile: events.Profile(fmt.Sprintf("p%d", n/lanes)), Definitions: "0123456789abcdef", RequestID: id,
		}
		j.ID = events.NewJobID(a, j.Kind, j.Lane(), j.Backend, j.Profile, nil, nil)
		jobs = append(jobs, j)
	}
	p.say(b, events.RequestCreated{RequestID: id, Kind: events.Master, Suite: "s", Tag: tag, Key: string(tag), State: events.ArtifactsReady})
	p.say(b, events.RequestAdmitted{RequestID: id, Tag: tag})
	p.write(b)
	p.say(b, events.RequestStarted{RequestID: id, Jobs: len(jobs)}, events.JobsCreated{RequestID: id, Jobs: jobs})
	p.write(b)
	for turn := range perLane {
		place := uint64(i*perLane + turn + 1)
		now := jobs[turn*lanes : (turn+1)*lanes]
		for _, j := range now {
			p.say(b, events.JobDispatched{Place: place, Job: j})
		}
		p.write(b)
		var tokens []events.Seq
		for _, j := range now {
			p.say(b, events.JobDequeued{Lane: j.Lane(), Place: place, Job: j, Collector: "c", Instance: "i", Attempt: 1})
			tokens = append(tokens, p.at)
		}
		p.write(b)
		for n, j := range now {
			for range 5 {
				p.say(b, events.TestCasesMeasured{Lane: j.Lane(), JobID: j.ID, Token: tokens[n], Attempt: 1, Collector: "c", Artifact: a})
			}
		}
		p.write(b)
		for n, j := range now {
			p.say(b, events.JobFinished{
				Lane: j.Lane(), Place: place, JobID: j.ID, RequestID: id, Token: tokens[n], Attempt: 1, Collector: "c", Outcome: events.Success,
				Measured: 5, DurationMS: 60_000,
			})
		}
		p.write(b)
	}
	p.say(b, events.RequestCompleted{RequestID: id})
	p.write(b)
}

// BenchmarkStartOfAFarm starts on a log of TACHO_EVENTS events (20,000 unless it is said): from a snapshot, and from the
// first event. Collectors are let in and jobs dispatched when the start is over.
func BenchmarkStartOfAFarm(b *testing.B) {
	want := 20_000
	if text := os.Getenv("TACHO_EVENTS"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil {
			b.Fatal(err)
		}
		want = n
	}
	server, err := natsserver.Start(natsserver.Config{Dir: b.TempDir(), Unsynced: true})
	if err != nil {
		b.Fatal(err)
	}
	defer server.Shutdown()
	nc, err := server.Connect()
	if err != nil {
		b.Fatal(err)
	}
	defer nc.Close()
	log, err := jetstream.Open(b.Context(), nc, jetstream.Config{MaxBytes: 8 << 30})
	if err != nil {
		b.Fatal(err)
	}
	p := &past{log: log, versions: map[events.Subject]events.Seq{}, now: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)}
	for i := 0; int(p.at) < want; i++ {
		p.request(b, i)
		p.now = p.now.Add(time.Hour)
	}
	start := func(kept eventlog.Snapshots) (took time.Duration, l *ledger.Ledger) {
		began := time.Now()
		s := shell.New(shell.Config{Log: log, Clock: time.Now, Snapshots: kept, Logger: slog.New(slog.DiscardHandler)})
		ctx, stop := context.WithCancel(b.Context())
		ended := make(chan error, 1)
		go func() { ended <- s.Run(ctx) }()
		if err := s.Wait(b.Context(), p.at); err != nil {
			b.Fatal(err)
		}
		took = time.Since(began)
		s.View(func(all *ledger.Ledger) { l = all })
		stop()
		if err := <-ended; err != nil {
			b.Fatal(err)
		}
		return took, l
	}
	start(log)
	var kept, zero time.Duration
	var l *ledger.Ledger
	for b.Loop() {
		k, _ := start(log)
		var z time.Duration
		z, l = start(nil)
		kept, zero = kept+k, zero+z
	}
	if len(l.Jobs) == 0 || len(l.Pending) > 0 || l.Littered > 0 {
		b.Fatalf("%d jobs, %d requests that have not ended, %d events are litter", len(l.Jobs), len(l.Pending), l.Littered)
	}
	data, err := l.Snapshot()
	if err != nil {
		b.Fatal(err)
	}
	b.ReportMetric(float64(kept)/float64(zero), "kept/zero")
	b.ReportMetric(kept.Seconds()/float64(b.N), "s-kept")
	b.ReportMetric(zero.Seconds()/float64(b.N), "s-zero")
	b.ReportMetric(float64(p.at), "events")
	b.ReportMetric(float64(len(l.Jobs)), "jobs")
	b.ReportMetric(float64(len(data))/float64(len(l.Jobs)), "B/job-json")
}
