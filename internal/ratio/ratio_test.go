package ratio_test

import (
	"testing"

	"github.com/tachobench/tacho/internal/ratio"
)

func TestARatioStandsBesideItsBound(t *testing.T) {
	got := testing.Benchmark(func(b *testing.B) {
		for b.Loop() {
			continue
		}
		ratio.AtLeast(b, "of-raw", 0.7, 0.6)
		ratio.AtMost(b, "times-raw", 5, 4)
	})
	for name, want := range map[string]float64{"of-raw": 0.7, "of-raw-bound": 0.6, "times-raw": 5, "times-raw-bound": 4} {
		if got.Extra[name] != want {
			t.Errorf("%s is %v, want %v", name, got.Extra[name], want)
		}
	}
}
