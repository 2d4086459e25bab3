package ab

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/tachobench/tacho/collector/measure"
	"github.com/tachobench/tacho/collector/runner"
	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/rules/compare"
)

// parsedOutput is how many bytes are kept of what a run prints, if metrics are read from it.
const parsedOutput = 8 << 20

// errBudget ends measuring when the budget is spent.
var errBudget = errors.New("the budget is spent")

// measuring is one measuring of two sides.
type measuring struct {
	plan   Plan
	runner *runner.Runner
	began  time.Time
	looks  []int
	// a and b are what was measured in the whole pairs: i of both is pair i.
	a, b []run
	// once are the shortest times of a and b while warming up, in seconds, without the time in which they had no CPU; 0 if unknown.
	once [2]float64
	// way is how this machine counts instructions, counts are what valgrind counted.
	way    measure.Counting
	counts []compare.Pair
	result Result
}

// run is one run that succeeded, or several of one side and pair as one.
type run struct {
	metrics      map[events.Metric]float64
	evidence     measure.Evidence
	interference string
}

// Measure measures a plan that Check accepts. The result is what is known, whatever ended the measuring. The error is nil when
// the pairs or the budget are spent; it is ErrFailed if a side failed, and the cause of ctx if that ended.
func Measure(ctx context.Context, r *runner.Runner, p Plan) (Result, error) {
	m := &measuring{plan: p, began: time.Now(), looks: compare.LooksAt(p.MaxPairs), result: Result{A: p.A, B: p.B, Runs: p.Runs}}
	way, why := measure.CountingOf(ctx, p.Counting)
	if m.way = way; way == measure.CountOff {
		m.result.Uncounted = why
	}
	kept := *r.Measure
	kept.Shims, kept.Counting = &measure.Shims{}, m.way
	defer kept.Shims.Close()
	m.runner = &runner.Runner{Measure: &kept, Settings: r.Settings}
	budgeted, cancel := context.WithTimeoutCause(ctx, p.Budget, errBudget)
	defer cancel()
	err := m.pairs(budgeted)
	var failed *failedError
	switch {
	case err == nil:
	case ctx.Err() != nil:
		m.result.Ended, err = EndInterrupted, context.Cause(ctx)
	case errors.Is(err, errBudget):
		m.result.Ended, err = EndBudget, nil
	case errors.As(err, &failed):
		m.result.Ended, m.result.Failure = EndFailed, &failed.failure
	}
	m.result.Pairs = len(m.a)
	m.result.Seconds = time.Since(m.began).Seconds()
	m.judge()
	return m.result, err
}

// failedError is a Failure as an error.
type failedError struct{ failure Failure }

// Error implements error.
func (e *failedError) Error() string {
	when := "before the first pair"
	if e.failure.Pair > 0 {
		when = fmt.Sprintf("in pair %d", e.failure.Pair)
	}
	return fmt.Sprintf("%s failed %s: %s", strings.Join(e.failure.Sides, " and "), when, e.failure.Text)
}

// Is makes it an ErrFailed.
func (e *failedError) Is(target error) bool { return target == ErrFailed }

// pairs warms up, counts, and measures pair after pair.
func (m *measuring) pairs(ctx context.Context) error {
	if err := m.warmUp(ctx); err != nil {
		return err
	}
	if m.result.Runs == 0 {
		m.result.Runs = runsIn(max(m.once[0], m.once[1]))
	}
	for len(m.a) < m.plan.MaxPairs {
		if err := m.pair(ctx); err != nil {
			return err
		}
		if len(m.a) == 1 { // now it is known how long a run takes
			if err := m.countWithValgrind(ctx); err != nil {
				return err
			}
		}
		m.progress("")
		if slices.Contains(m.looks, len(m.a)) && m.decided() {
			m.result.Ended = EndDecided
			return nil
		}
	}
	m.result.Ended = EndPairs
	return nil
}

// warmUp runs each side as often as the plan wants. It tries both sides, so that two that fail are told at once.
func (m *measuring) warmUp(ctx context.Context) error {
	for i := range m.plan.Warmup {
		m.progress(fmt.Sprintf("warming up, run %d of %d", i+1, m.plan.Warmup))
		var failure *Failure
		for _, b := range inOrder(i) {
			r, err := m.run(ctx, b)
			var failed *failedError
			if errors.As(err, &failed) {
				failure = failure.and(failed.failure)
				continue
			}
			if err != nil {
				return err
			}
			if took := r.metrics[measure.WallTime] * (1 - r.evidence.Stall.Value); i == 0 || took < m.once[side(b)] {
				m.once[side(b)] = took
			}
		}
		if failure != nil {
			return &failedError{*failure}
		}
	}
	return nil
}

// and joins two failures of the same place.
func (f *Failure) and(other Failure) *Failure {
	if f == nil {
		return &other
	}
	sides := append(slices.Clone(f.Sides), other.Sides...)
	slices.Sort(sides)
	return &Failure{Sides: sides, Pair: f.Pair, Text: f.Text + "\n" + other.Text}
}

// inOrder returns whether b is measured, for the two runs of pair i.
func inOrder(i int) [2]bool { return [2]bool{!compare.FirstIsA(i), compare.FirstIsA(i)} }

// side returns the index of a side.
func side(b bool) int {
	if b {
		return 1
	}
	return 0
}

// pair measures one pair. A pair of which a run is missing is dropped.
func (m *measuring) pair(ctx context.Context) error {
	var sides [2][]run
	for range m.result.Runs {
		for _, b := range inOrder(len(m.a)) {
			r, err := m.run(ctx, b)
			var failed *failedError
			if errors.As(err, &failed) {
				failed.failure.Pair = len(m.a) + 1
			}
			if err != nil {
				return err
			}
			sides[side(b)] = append(sides[side(b)], r)
		}
	}
	m.a, m.b = append(m.a, meanOf(sides[0])), append(m.b, meanOf(sides[1]))
	return nil
}

// command returns the command of a side.
func (m *measuring) command(b bool) measure.Cmd {
	s := m.plan.A
	if b {
		s = m.plan.B
	}
	return measure.Cmd{Path: s.Argv[0], Args: s.Argv[1:], Env: s.Env, Dir: s.Dir, Timeout: m.plan.Timeout, Stdin: m.plan.Input}
}

// run runs one side once.
func (m *measuring) run(ctx context.Context, b bool) (run, error) {
	cmd := m.command(b)
	if m.plan.Parse != nil {
		cmd.OutputLimit = parsedOutput
	}
	out, err := m.runner.Single(ctx, cmd)
	if ctx.Err() != nil {
		return run{}, context.Cause(ctx)
	}
	failed := func(err error) error {
		return &failedError{Failure{Sides: []string{[]string{"a", "b"}[side(b)]}, Text: err.Error()}}
	}
	if err != nil {
		return run{}, failed(err)
	}
	r := run{metrics: maps.Clone(out.Metrics), evidence: out.Evidence, interference: out.Interference}
	if m.plan.Parse != nil {
		printed, err := m.printed(out)
		if err != nil {
			return run{}, failed(fmt.Errorf("%s printed what cannot be read: %w", cmd.Path, err))
		}
		maps.Copy(r.metrics, printed)
	}
	return r, nil
}

// printed reads the metrics that a run printed: the median of each, if it printed one more than once.
func (m *measuring) printed(out measure.Outcome) (map[events.Metric]float64, error) {
	if out.StdoutDropped > 0 {
		return nil, fmt.Errorf("it printed more than %d bytes", parsedOutput)
	}
	samples, err := m.plan.Parse(out.Stdout)
	if err != nil {
		return nil, err
	}
	values := map[events.Metric][]float64{}
	for _, s := range samples {
		for metric, v := range s {
			values[metric] = append(values[metric], v)
		}
	}
	medians := map[events.Metric]float64{}
	for metric, all := range values {
		medians[metric] = middle(all)
	}
	return medians, nil
}

// middle returns the median; NaN of nothing.
func middle(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	n := len(sorted)
	if n == 0 {
		return math.NaN()
	}
	return (sorted[(n-1)/2] + sorted[n/2]) / 2
}

// progress tells what is known.
func (m *measuring) progress(doing string) {
	if m.plan.Progress == nil {
		return
	}
	p := Progress{Pairs: len(m.a), MaxPairs: m.plan.MaxPairs, Doing: doing}
	if metrics := m.deciding(); len(metrics) > 0 {
		t := m.turns(metrics[0])
		p.Metric, p.Judged = t.Metric, compare.JudgeTurns(t)
	}
	m.plan.Progress(p)
}
