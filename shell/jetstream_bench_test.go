package shell_test

import (
	"context"
	"log/slog"
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/tachobench/tacho/eventlog"
	"github.com/tachobench/tacho/eventlog/jetstream"
	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/internal/farm"
	"github.com/tachobench/tacho/internal/natsserver"
	"github.com/tachobench/tacho/rules/ledger"
	"github.com/tachobench/tacho/shell"
)

// BenchmarkStartOfAFarm starts on a log of TACHO_EVENTS events (default 20,000): from a snapshot, and from the first
// event. After the start collectors can connect and jobs are dispatched.
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
	y := farm.NewYears(b, log)
	y.Until(b, events.Seq(want))
	start := func(kept eventlog.Snapshots) (took time.Duration, l *ledger.Ledger) {
		began := time.Now()
		s := shell.New(shell.Config{Log: log, Clock: time.Now, Snapshots: kept, Logger: slog.New(slog.DiscardHandler)})
		ctx, stop := context.WithCancel(b.Context())
		ended := make(chan error, 1)
		go func() { ended <- s.Run(ctx) }()
		if err := s.Wait(b.Context(), y.Last); err != nil {
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
	jobs := l.Past.Len()
	if jobs == 0 || len(l.Jobs) > 0 || len(l.Pending) > 0 || l.Littered > 0 {
		b.Fatalf("%d jobs have ended and %d not, %d requests have not ended, %d events are litter", jobs, len(l.Jobs), len(l.Pending), l.Littered)
	}
	data, err := l.Snapshot()
	if err != nil {
		b.Fatal(err)
	}
	b.ReportMetric(float64(kept)/float64(zero), "kept/zero")
	b.ReportMetric(kept.Seconds()/float64(b.N), "s-kept")
	b.ReportMetric(zero.Seconds()/float64(b.N), "s-zero")
	b.ReportMetric(float64(y.Last), "events")
	b.ReportMetric(float64(jobs), "jobs")
	b.ReportMetric(float64(len(data))/float64(jobs), "B/job-json")
}
