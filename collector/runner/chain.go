package runner

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/internal/phrase"
	"github.com/tachobench/tacho/rules/suite"
)

// chain keeps account of the test cases of one benchmark: which are still to be measured, and their samples so far.
type chain struct {
	plan suite.BenchmarkPlan
	// wanted[i] says that case i is to be measured and has not failed.
	wanted  []bool
	samples [][]events.Iteration
	// runs has one iteration for each run of a case: samples of one run are more alike than those of two.
	runs [][]events.Iteration
	// bytes is how large the samples of each case are as JSON, spent how long they took.
	bytes []int
	spent []time.Duration
}

// maxCaseBytes bounds the samples of one test case. They are kept in memory and become part of one event, which must
// stay below a megabyte. A thousand iterations with every metric that a machine can measure fit.
const maxCaseBytes = 768 << 10

func newChain(p suite.BenchmarkPlan, done func(events.TestCase) bool) *chain {
	n := len(p.Cases)
	c := &chain{
		plan: p, wanted: make([]bool, n), samples: make([][]events.Iteration, n), runs: make([][]events.Iteration, n),
		bytes: make([]int, n), spent: make([]time.Duration, n),
	}
	for i, tc := range p.Cases {
		c.wanted[i] = done == nil || !done(tc)
	}
	return c
}

// starts reports whether scenario i begins a segment: it needs nothing from the scenarios before it.
func (c *chain) starts(i int) bool {
	switch c.plan.Chain[i].Cache {
	case suite.CacheNone, suite.CacheEmpty:
		return true
	}
	return i == 0
}

// segmentEnd returns the index after the last scenario of the segment that holds i.
func (c *chain) segmentEnd(i int) int {
	for i++; i < len(c.plan.Chain) && !c.starts(i); i++ {
	}
	return i
}

// needed reports whether to run step i: its case or a later one of its segment is wanted.
func (c *chain) needed(i int) bool {
	for _, wanted := range c.wanted[i:c.segmentEnd(i)] {
		if wanted {
			return true
		}
	}
	return false
}

// missing returns how many cases are wanted.
func (c *chain) missing() int {
	n := 0
	for _, wanted := range c.wanted {
		if wanted {
			n++
		}
	}
	return n
}

// add keeps the samples of one run of step i, which took so long, if its case is wanted. It returns an error if there are more
// of them than one event can hold.
func (c *chain) add(i int, samples []events.Iteration, took time.Duration) error {
	if !c.wanted[i] {
		return nil
	}
	size, err := c.size(i, samples)
	if err != nil {
		return err
	}
	c.spent[i] += took
	if c.bytes[i] += size; c.bytes[i] > maxCaseBytes {
		return &commandError{
			argv: []string{string(c.plan.Benchmark.Name)},
			what: fmt.Sprintf("yielded more than one test case may record (%d KiB, after %s): let it print fewer, or lower its iterations",
				maxCaseBytes>>10, phrase.Count(len(c.samples[i])+len(samples), "sample")),
		}
	}
	c.samples[i], c.runs[i] = append(c.samples[i], samples...), append(c.runs[i], medians(samples))
	return nil
}

// size returns how large samples of step i are as JSON, in bytes.
func (c *chain) size(i int, samples []events.Iteration) (int, error) {
	text, err := json.Marshal(samples)
	if err != nil {
		return 0, fmt.Errorf("keep the samples of %s: %w", c.plan.Chain[i].Name, err)
	}
	return len(text), nil
}

func (c *chain) measured(i int) events.MeasuredCase {
	return events.MeasuredCase{TestCase: c.plan.Cases[i], Iterations: c.samples[i]}
}

// fail gives up the wanted cases from i to the end of its segment, and returns them.
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

// medians returns the samples of one run as one iteration.
func medians(samples []events.Iteration) events.Iteration {
	if len(samples) == 1 {
		return samples[0]
	}
	values := map[events.Metric][]float64{}
	for _, s := range samples {
		for m, v := range s.Metrics {
			values[m] = append(values[m], v)
		}
	}
	one := events.Iteration{Metrics: map[events.Metric]float64{}, Interference: samples[0].Interference}
	for m, all := range values {
		slices.Sort(all)
		one.Metrics[m] = all[(len(all)-1)/2]/2 + all[len(all)/2]/2
	}
	return one
}
