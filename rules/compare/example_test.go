package compare_test

import (
	"fmt"

	"github.com/tachobench/tacho/rules/compare"
)

// A count that changes by much more than its noise is a real change. Change.Why says which rule decided.
func ExampleCompare() {
	c := compare.Compare([]compare.Series{{
		Metric: compare.MetricInfo{Name: "instructions:u", Class: compare.Count},
		A:      compare.Samples{Values: []float64{1000, 1001, 1000}, Environment: "machine-1"},
		B:      compare.Samples{Values: []float64{1100, 1101, 1102}, Environment: "machine-1"},
	}})
	for _, change := range c.Changes {
		fmt.Printf("%+.0f %%: %s, significant: %t\n", 100**change.Relative, change.Judgement, change.Significant)
	}
	// Output: +10 %: regressed, significant: true
}
