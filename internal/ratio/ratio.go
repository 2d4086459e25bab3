// Package ratio prints what a benchmark found beside the bound that it should keep.
//
// A benchmark compares Tacho with a raw engine or a peer in the same run. The absolute times are those of one machine, the ratio is
// not. `make bench` shows each ratio as two metrics, NAME and NAME-bound, and says DRIFT where it is beyond. It fails nothing: on a
// loaded machine one run proves nothing.
package ratio

import "testing"

// AtLeast reports a ratio that should be the bound or more.
func AtLeast(b *testing.B, name string, got, bound float64) {
	b.Helper()
	report(b, name, got, bound, got < bound)
}

// AtMost reports a ratio that should be the bound or less.
func AtMost(b *testing.B, name string, got, bound float64) {
	b.Helper()
	report(b, name, got, bound, got > bound)
}

func report(b *testing.B, name string, got, bound float64, drift bool) {
	b.Helper()
	b.ReportMetric(got, name)
	b.ReportMetric(bound, name+"-bound")
	if drift {
		b.Logf("DRIFT: %s is %.3g, beyond its bound of %.3g", name, got, bound)
	}
}
