package ratio

import (
	"syscall"
	"testing"
	"time"
)

// Spent is time, and CPU time of this process. On a loaded machine CPU time says more.
type Spent struct{ Time, CPU time.Duration }

var epoch = time.Now()

// Now returns what was spent so far.
func Now(b *testing.B) Spent {
	b.Helper()
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		b.Fatal(err)
	}
	return Spent{time.Since(epoch), time.Duration(used.Utime.Nano() + used.Stime.Nano())}
}

// Since returns what was spent since then.
func Since(b *testing.B, then Spent) Spent {
	b.Helper()
	now := Now(b)
	return Spent{now.Time - then.Time, now.CPU - then.CPU}
}

// Plus returns the sum.
func (s Spent) Plus(more Spent) Spent { return Spent{s.Time + more.Time, s.CPU + more.CPU} }

// Rates reports the rate of what was done n times and that of its peer, the CPU time that each took, and the share of the
// peer's rate beside its bound.
func Rates(b *testing.B, n int, ours, raw Spent, bound float64) {
	b.Helper()
	b.ReportMetric(float64(n)/ours.Time.Seconds(), "ours/s")
	b.ReportMetric(float64(n)/raw.Time.Seconds(), "raw/s")
	b.ReportMetric(float64(ours.CPU.Microseconds())/float64(n), "cpu-µs")
	b.ReportMetric(float64(raw.CPU.Microseconds())/float64(n), "raw-cpu-µs")
	AtLeast(b, "of-raw", raw.Time.Seconds()/ours.Time.Seconds(), bound)
}
