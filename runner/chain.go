package runner

import (
	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/suite"
)

// chain keeps account of the test cases of one benchmark: what is still to be measured, and the samples so
// far.
type chain struct {
	plan suite.BenchmarkPlan
	// wanted[i] says that case i is to be measured and has not failed.
	wanted  []bool
	samples [][]events.Iteration
}

func newChain(p suite.BenchmarkPlan, done func(events.TestCase) bool) *chain {
	c := &chain{plan: p, wanted: make([]bool, len(p.Cases)), samples: make([][]events.Iteration, len(p.Cases))}
	for i, tc := range p.Cases {
		c.wanted[i] = done == nil || !done(tc)
	}
	return c
}

// starts reports whether scenario i needs nothing of what is before it.
func (c *chain) starts(i int) bool {
	switch c.plan.Chain[i].Cache {
	case suite.CacheNone, suite.CacheEmpty:
		return true
	}
	return i == 0
}

// segmentEnd returns the end of the segment that i is in.
func (c *chain) segmentEnd(i int) int {
	for i++; i < len(c.plan.Chain) && !c.starts(i); i++ {
	}
	return i
}

// needed reports whether step i is to be run: its case is wanted, or one later in its segment is.
func (c *chain) needed(i int) bool {
	for _, wanted := range c.wanted[i:c.segmentEnd(i)] {
		if wanted {
			return true
		}
	}
	return false
}

// missing counts the wanted cases.
func (c *chain) missing() int {
	n := 0
	for _, wanted := range c.wanted {
		if wanted {
			n++
		}
	}
	return n
}

func (c *chain) add(i int, samples []events.Iteration) {
	c.samples[i] = append(c.samples[i], samples...)
}

func (c *chain) measured(i int) events.MeasuredCase {
	return events.MeasuredCase{TestCase: c.plan.Cases[i], Iterations: c.samples[i]}
}

// fail gives up the wanted cases from i to the end of its segment and returns them.
func (c *chain) fail(i int) []int {
	var failed []int
	for j := i; j < c.segmentEnd(i); j++ {
		if c.wanted[j] {
			c.wanted[j] = false
			failed = append(failed, j)
		}
	}
	return failed
}
