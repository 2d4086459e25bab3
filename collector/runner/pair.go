package runner

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/internal/phrase"
	"github.com/tachobench/tacho/rules/compare"
	"github.com/tachobench/tacho/rules/suite"
)

// Turns is how two sides are measured in turns.
type Turns struct {
	// Pairs is the most pairs of each benchmark; 0: as many as its plan has iterations.
	Pairs int
	// Enough, if set, is called after each pair with all iterations so far of a test case, those of a and of b. Once it says
	// yes for all test cases of a benchmark, no more pairs of it are measured. It takes the place of what the plan says.
	Enough func(c events.TestCase, a, b []events.Iteration) bool
}

// PairSink takes what a run of pairs reports. The reports of Sink that follow a call of Side are those of that side.
type PairSink interface {
	Sink
	// Side says whose reports follow: those of b, or those of a.
	Side(ctx context.Context, b bool) error
	// Block: all iterations of these test cases of both sides, in the same order. Iteration i of both is pair i, in the order
	// of compare.FirstIsA. Where a command prints several samples, an iteration has their medians.
	Block(ctx context.Context, a, b []events.MeasuredCase) error
}

// RunPair measures two jobs in turns: the benchmarks that both have with the same test cases, pair after pair. What only one
// side has, or still needs (Job.Done), it measures alone, and reports to Measured; so also what failed on the other side. Slot
// and Turn are those of b, and what is kept of the files (Uploads) is that of b.
func (r *Runner) RunPair(ctx context.Context, a, b Job, turns Turns, sink PairSink) (ofA, ofB Summary, err error) {
	limited, unlock, err := r.enter(ctx, b.Slot, b.Limits, sink)
	if err != nil {
		return Summary{}, Summary{}, err
	}
	defer unlock()
	a.Slot, a.Turn, a.Uploads = b.Slot, b.Turn, nil
	p := &pair{turns: turns, sink: sink, trees: trees{slot: b.Slot}, a: newRun(r, r.limited(a.Limits, sink, limited.Shims), a, sink), b: newRun(r, limited, b, sink)}
	if err = p.run(ctx); err != nil {
		err = orInterrupted(ctx, err)
	}
	return p.a.summary, p.b.summary, err
}

// pair is the execution of two jobs in turns.
type pair struct {
	turns Turns
	sink  PairSink
	trees trees
	a, b  *run
	// now is the side whose reports follow; nil before the first.
	now *run
}

func (p *pair) run(ctx context.Context) error {
	for _, ofB := range p.b.job.Plans {
		p.b.skip(ofB)
		if i := p.other(p.a.job.Plans, ofB); i >= 0 {
			ofA := p.a.job.Plans[i]
			p.a.skip(ofA)
			if err := p.inTurns(ctx, ofA, ofB); err != nil {
				return err
			}
			if err := p.alone(ctx, p.a, ofA); err != nil {
				return err
			}
		}
		if err := p.alone(ctx, p.b, ofB); err != nil {
			return err
		}
	}
	for _, ofA := range p.a.job.Plans {
		if p.other(p.b.job.Plans, ofA) >= 0 {
			continue
		}
		p.a.skip(ofA)
		if err := p.alone(ctx, p.a, ofA); err != nil {
			return err
		}
	}
	return nil
}

// other returns which of the plans measures the same test cases; -1 if none does.
func (p *pair) other(plans []suite.BenchmarkPlan, of suite.BenchmarkPlan) int {
	return slices.IndexFunc(plans, func(o suite.BenchmarkPlan) bool { return slices.Equal(o.Cases, of.Cases) })
}

// alone measures what one side still needs of a benchmark.
func (p *pair) alone(ctx context.Context, s *run, plan suite.BenchmarkPlan) error {
	if newChain(plan, s.done).missing() == 0 {
		return nil
	}
	if err := p.trees.drop(); err != nil {
		return err
	}
	if err := p.report(ctx, s); err != nil {
		return err
	}
	return s.benchmark(ctx, plan)
}

// report lets the reports that follow be those of a side.
func (p *pair) report(ctx context.Context, s *run) error {
	if p.now == s {
		return nil
	}
	if p.now != nil {
		s.settings = p.now.settings // the sides have one log
	}
	p.now = s
	if err := p.sink.Side(ctx, s == p.b); err != nil {
		return fmt.Errorf("report the side: %w", err)
	}
	return nil
}

// countedPairs is for how many pairs instructions are counted in passes of their own: two of each side show that the count repeats.
const countedPairs = 2

// half is one side of a benchmark that is measured in turns.
type half struct {
	*run
	side  string
	plan  suite.BenchmarkPlan
	chain *chain
	steps Plan
	// counts are the instructions of the steps, for the first pairs.
	counts []map[int]float64
}

// inTurns measures the test cases of a benchmark that both sides need.
func (p *pair) inTurns(ctx context.Context, ofA, ofB suite.BenchmarkPlan) error {
	done := func(c events.TestCase) bool { return p.a.done(c) || p.b.done(c) }
	a := &half{run: p.a, side: sideA, plan: ofA, chain: newChain(ofA, done)}
	b := &half{run: p.b, side: sideB, plan: ofB, chain: newChain(ofB, done)}
	if b.chain.missing() == 0 || ctx.Err() != nil {
		return ctx.Err()
	}
	for _, h := range []*half{a, b} {
		if prepared, err := p.prepare(ctx, h); err != nil || !prepared {
			return err
		}
	}
	if err := take(ctx, b.job.Turn, b.measure); err != nil {
		return err
	}
	a.measure.Held = b.measure.Held
	ended, err := p.pairs(ctx, a, b)
	if err != nil {
		return err
	}
	if err := p.block(ctx, a, b, ended); err != nil {
		return err
	}
	if newChain(ofB, p.b.done).missing() > 0 {
		return nil // they are measured alone, and kept then
	}
	if err := p.turn(ctx, b); err != nil {
		return err
	}
	b.keep(ctx, ofB)
	return p.trees.drop()
}

// prepare prepares one side in the slot. It reports false if that cannot be measured: each of its test cases is reported then.
func (p *pair) prepare(ctx context.Context, h *half) (bool, error) {
	if err := p.trees.park(); err != nil {
		return false, err
	}
	if err := p.report(ctx, h.run); err != nil {
		return false, err
	}
	var err error
	if h.steps, err = h.begin(ctx, h.plan); err != nil {
		return false, h.prepareFailed(ctx, h.plan, h.chain, err)
	}
	p.trees.at = h.side
	return true, nil
}

// turn brings the tree of a side into the slot, and lets the reports that follow be those of that side.
func (p *pair) turn(ctx context.Context, h *half) error {
	if err := p.trees.use(h.side); err != nil {
		return err
	}
	return p.report(ctx, h.run)
}

// pairs measures pair after pair. It returns the test cases whose pairs are all there, by their places in the chain.
func (p *pair) pairs(ctx context.Context, a, b *half) (ended []int, err error) {
	defer b.running()()
	rule, most := b.plan.Until, cmp.Or(p.turns.Pairs, b.plan.Iterations)
	for _, h := range []*half{a, b} {
		if err := p.turn(ctx, h); err != nil {
			return nil, err
		}
		for range min(countedPairs, most) {
			counts, err := h.count(ctx, h.plan, h.chain, h.steps)
			if err != nil {
				return nil, err
			}
			if len(counts) == 0 {
				break // they would fail again
			}
			h.counts = append(h.counts, counts)
		}
	}
	if p.turns.Enough != nil {
		rule = nil
	}
	end := func(i int, why string) {
		a.chain.wanted[i], b.chain.wanted[i] = false, false
		ended = append(ended, i)
		b.say(b.plan, i, why)
	}
	for n := 1; n <= most && b.chain.missing() > 0; n++ {
		for i := range b.plan.Chain {
			if !b.chain.needed(i) {
				continue
			}
			took, err := p.both(ctx, a, b, i, n)
			if err != nil {
				return nil, err
			}
			if took == nil || !b.chain.wanted[i] {
				continue
			}
			b.say(b.plan, i, fmt.Sprintf("pair %d of %s: %s took %s, %s took %s", n, atMost(rule != nil || p.turns.Enough != nil, most), a.job.Toolchain.Tag, took[0], b.job.Toolchain.Tag, took[1]))
			fits, err := p.add(a, b, i, n, took)
			switch {
			case err != nil:
				return nil, err
			case !fits && n == 1:
				a.chain.wanted[i], b.chain.wanted[i] = false, false
				b.say(b.plan, i, fmt.Sprintf("one pair is more than one event may record (%d KiB): both sides are measured alone", maxCaseBytes>>10))
				continue
			case !fits:
				end(i, fmt.Sprintf("ends after %s: more do not fit into one event (%d KiB)", phrase.Count(n-1, "pair"), maxCaseBytes>>10))
				continue
			}
			if enough, why := narrowing(compare.Narrow).enough(rule, i, n, most, "pair", a.chain, b.chain); enough {
				end(i, why)
			}
		}
		if p.enough(a, b) {
			b.sink.Log(fmt.Sprintf("%s %s: enough after %s", b.plan.Benchmark.Name, b.plan.Profile.Name, phrase.Count(n, "pair")))
			for i, wanted := range b.chain.wanted {
				if wanted {
					end(i, "")
				}
			}
		}
	}
	slices.Sort(ended)
	return ended, nil
}

// both runs step i of pair n, which counts from 1, on both sides, and returns what it took on a and on b. After a failure on one
// side it returns nil: that case, and the later ones of the segment, are in turns no more.
func (p *pair) both(ctx context.Context, a, b *half, i, n int) ([]taken, error) {
	took, order := make([]taken, 2), []int{0, 1}
	if !compare.FirstIsA(n - 1) {
		order = []int{1, 0}
	}
	sides := []*half{a, b}
	for _, at := range order {
		h, other := sides[at], sides[1-at]
		if err := p.turn(ctx, h); err != nil {
			return nil, err
		}
		var err error
		if took[at], err = h.step(ctx, h.plan, i, h.steps.Steps[i]); err != nil {
			other.chain.fail(i)
			return nil, h.caseFailed(ctx, h.plan, h.chain, i, err)
		}
	}
	return took, nil
}

// add keeps what pair n gave for step i, unless both sides together would be more than one event may record.
func (p *pair) add(a, b *half, i, n int, took []taken) (fits bool, err error) {
	total := a.chain.bytes[i] + b.chain.bytes[i]
	sides := []*half{a, b}
	for at, h := range sides {
		took[at].samples = []events.Iteration{medians(took[at].samples)}
		if n <= len(h.counts) {
			if count, counted := h.counts[n-1][i]; counted {
				addCount(took[at].samples[0], count)
			}
		}
		size, err := h.chain.size(i, took[at].samples)
		if err != nil {
			return false, err
		}
		total += size
	}
	if total > maxCaseBytes {
		return false, nil
	}
	for at, h := range sides {
		if err := h.chain.add(i, took[at].samples, took[at].elapsed); err != nil {
			return false, err
		}
	}
	return true, nil
}

// enough reports whether the caller has enough pairs of all test cases.
func (p *pair) enough(a, b *half) bool {
	if p.turns.Enough == nil || b.chain.missing() == 0 {
		return false
	}
	for i, c := range b.plan.Cases {
		if b.chain.wanted[i] && !p.turns.Enough(c, a.chain.samples[i], b.chain.samples[i]) {
			return false
		}
	}
	return true
}

// block reports the test cases whose pairs are all there, in as few blocks as events can hold.
func (p *pair) block(ctx context.Context, a, b *half, ended []int) error {
	for len(ended) > 0 {
		var ofA, ofB []events.MeasuredCase
		n, total := 0, 0
		for ; n < len(ended); n++ {
			i := ended[n]
			if total += a.chain.bytes[i] + b.chain.bytes[i]; n > 0 && total > maxCaseBytes {
				break
			}
			ofA, ofB = append(ofA, a.chain.measured(i)), append(ofB, b.chain.measured(i))
		}
		if err := p.sink.Block(ctx, ofA, ofB); err != nil {
			return fmt.Errorf("report a block of %s: %w", b.plan.Benchmark.Name, err)
		}
		for _, i := range ended[:n] {
			a.measured(a.chain, i)
			b.measured(b.chain, i)
		}
		ended = ended[n:]
	}
	return nil
}
