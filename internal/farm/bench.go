package farm

import (
	"context"
	"sync"
	"time"

	"github.com/tachobench/tacho/collector"
	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/rules/suite"
)

// Bench measures nothing and takes simulated time: each planned test case lasts Each. It counts how often
// each test case of each artifact was measured.
type Bench struct {
	Each time.Duration
	// Err, if set, decides how a job ends before anything is measured.
	Err func(spec events.JobSpec) error
	// Fails, if set, says which test cases fail.
	Fails func(events.TestCase) bool

	mu sync.Mutex
	// Measured counts the measurements by artifact and test case.
	Measured map[events.Artifact]map[events.TestCase]int
}

// Run implements collector.Bench.
func (b *Bench) Run(ctx context.Context, spec events.JobSpec, d suite.Definitions, done func(events.TestCase) bool, sink collector.Sink) error {
	if b.Err != nil {
		if err := b.Err(spec); err != nil {
			return err
		}
	}
	plans, err := d.Plan(spec)
	if err != nil {
		return &collector.PermanentError{Kind: events.ErrorDefinitions, Err: err}
	}
	for i, p := range plans {
		sink.Started(p.Benchmark.Name, i, len(plans))
		for _, c := range p.Cases {
			if done(c) {
				continue
			}
			select {
			case <-ctx.Done():
				return ctx.Err()
			case <-time.After(b.Each):
			}
			if b.Fails != nil && b.Fails(c) {
				if err := sink.Failed(ctx, events.ErrorBenchmark, string(c.Benchmark), &c, "exit status 1"); err != nil {
					return err
				}
				continue
			}
			b.count(spec.Artifact, c)
			m := events.MeasuredCase{TestCase: c, Iterations: []events.Iteration{{Metrics: map[events.Metric]float64{"wall-time": b.Each.Seconds()}}}}
			if err := sink.Measured(ctx, m); err != nil {
				return err
			}
		}
	}
	return nil
}

func (b *Bench) count(a events.Artifact, c events.TestCase) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.Measured == nil {
		b.Measured = map[events.Artifact]map[events.TestCase]int{}
	}
	if b.Measured[a] == nil {
		b.Measured[a] = map[events.TestCase]int{}
	}
	b.Measured[a][c]++
}
