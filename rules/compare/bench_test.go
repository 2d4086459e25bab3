package compare_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/tachobench/tacho/rules/compare"
)

// BenchmarkCompare judges 1,000 test cases of one metric with 6 samples a side and a full history.
func BenchmarkCompare(b *testing.B) {
	m := machine{rand.New(rand.NewPCG(1, 2)), 0.01, 0}
	var all []compare.Series
	for i := range 1000 {
		s := series(wallTime(), m.measure(100, 6), m.measure(101, 6), history(m.measure(100, 30).Values...))
		s.Case = testCase(fmt.Sprintf("case-%d", i))
		all = append(all, s)
	}
	for b.Loop() {
		compare.Compare(all)
	}
}
