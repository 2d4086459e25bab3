package farm

import (
	"context"
	"errors"
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
			m, err := b.one(ctx, spec.Artifact, c, sink)
			if err == nil && m != nil {
				err = sink.Measured(ctx, *m)
			}
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// one measures a test case; it returns nil if that fails.
func (b *Bench) one(ctx context.Context, of events.Artifact, c events.TestCase, sink collector.Sink) (*events.MeasuredCase, error) {
	select {
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-time.After(b.Each):
	}
	if b.Fails != nil && b.Fails(c) {
		return nil, sink.Failed(ctx, events.ErrorBenchmark, string(c.Benchmark), &c, "exit status 1")
	}
	b.count(of, c)
	return &events.MeasuredCase{TestCase: c, Iterations: []events.Iteration{{Metrics: map[events.Metric]float64{"wall-time": b.Each.Seconds()}}}}, nil
}

// RunPair implements collector.Bench: each test case that both sides need is one pair.
func (b *Bench) RunPair(ctx context.Context, parent, own collector.Half, d suite.Definitions, sink collector.PairSink) error {
	plans, err := d.Plan(own.Spec)
	if err != nil {
		return &collector.PermanentError{Kind: events.ErrorDefinitions, Err: err}
	}
	for i, p := range plans {
		sink.Started(p.Benchmark.Name, i, len(plans))
		for _, c := range p.Cases {
			if err := b.both(ctx, []collector.Half{parent, own}, c, sink); err != nil {
				return err
			}
		}
	}
	return nil
}

func (b *Bench) both(ctx context.Context, halves []collector.Half, c events.TestCase, sink collector.PairSink) (err error) {
	var measured [2]*events.MeasuredCase
	for i, h := range halves {
		if err := sink.Side(ctx, i == 1); err != nil {
			return err
		}
		if h.Done(c) {
			continue
		}
		if b.Err != nil {
			if err := b.Err(h.Spec); err != nil {
				return err
			}
		}
		if measured[i], err = b.one(ctx, h.Spec.Artifact, c, sink); err != nil {
			return err
		}
	}
	for i, m := range measured {
		switch {
		case measured[0] != nil && measured[1] != nil:
			return sink.Block(ctx, []events.MeasuredCase{*measured[0]}, []events.MeasuredCase{*measured[1]})
		case m != nil:
			return errors.Join(sink.Side(ctx, i == 1), sink.Measured(ctx, *m))
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
