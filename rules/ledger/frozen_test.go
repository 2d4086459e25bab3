package ledger_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/tachobench/tacho/internal/hostile"
	"github.com/tachobench/tacho/internal/ratio"
	"github.com/tachobench/tacho/rules/ledger"
)

// What was frozen gives the snapshot of that moment, whatever the ledger folds before it is made.
func TestAFrozenLedgerStandsStill(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	r := rand.New(rand.NewPCG(seed, 0))
	for range 300 {
		story, l := hostile.Tell(r.Uint64()), ledger.New()
		for range r.IntN(70) {
			l.Fold(story.Next())
		}
		want := snapshot(t, l)
		frozen, err := l.Freeze()
		if err != nil {
			t.Fatal(err)
		}
		for range 70 {
			l.Fold(story.Next())
		}
		if got, err := frozen.Snapshot(); err != nil || !bytes.Equal(got, want) {
			t.Fatalf("seed %d (%v): frozen it was\n%s\nand later\n%s", seed, err, want, got)
		}
	}
}

// BenchmarkFreeze reports how long decisions wait for a snapshot, beside how long making it takes, with jobs that wait and with jobs
// that have ended.
func BenchmarkFreeze(b *testing.B) {
	for _, ended := range []bool{false, true} {
		for _, jobs := range []int{100_000, 1_000_000} {
			b.Run(fmt.Sprintf("%d/ended=%v", jobs, ended), func(b *testing.B) {
				l := farm(b, jobs, 12, ended, 0)
				var waits, whole time.Duration
				for b.Loop() {
					began := time.Now()
					frozen, err := l.Freeze()
					waits += time.Since(began)
					if err != nil {
						b.Fatal(err)
					}
					if _, err := frozen.Snapshot(); err != nil {
						b.Fatal(err)
					}
					whole += time.Since(began)
				}
				b.ReportMetric(float64(waits.Milliseconds())/float64(b.N), "ms-waits")
				b.ReportMetric(float64(whole.Milliseconds())/float64(b.N), "ms-whole")
				ratio.AtMost(b, "waits/whole", waits.Seconds()/whole.Seconds(), 0.2)
			})
		}
	}
}
