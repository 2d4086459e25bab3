package ledger_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/tachobench/tacho/internal/ratio"
)

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
