package ab

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/tachobench/tacho/collector/measure"
	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/internal/phrase"
	"github.com/tachobench/tacho/rules/compare"
)

const (
	// firstCounts is how many pairs are counted with valgrind: a count that repeats needs no third. Where they do not repeat,
	// allCounts are, so that the test can speak.
	firstCounts = 2
	allCounts   = 10
	// slower is about how many times longer a command takes under valgrind, and valgrindStart what valgrind itself takes.
	slower        = 50
	valgrindStart = time.Second
	// countingShare is the part of the budget that counting may take unless somebody asked for it.
	countingShare = 3
)

// countWithValgrind counts the instructions of both sides, if valgrind is the way to count. The first pair tells how
// long a run takes. Whatever hinders it is kept in Uncounted, and the sides are measured all the same.
func (m *measuring) countWithValgrind(ctx context.Context) error {
	if m.way != measure.CountValgrind {
		return nil
	}
	if m.plan.Counting == measure.CountAuto {
		longest := max(m.a[0].metrics[measure.WallTime], m.b[0].metrics[measure.WallTime])
		once := time.Duration(slower*longest*float64(time.Second)) + valgrindStart
		if all := 2 * firstCounts * once; all > m.plan.Budget/countingShare {
			m.result.Uncounted = fmt.Sprintf("valgrind would take about %s of the budget of %s: --instructions valgrind wants it all the same", phrase.Duration(all), phrase.Duration(m.plan.Budget))
			return nil
		}
	}
	for len(m.counts) < firstCounts {
		if err := m.countPair(ctx); err != nil || m.result.Uncounted != "" {
			return err
		}
	}
	if m.judgeCounts().Decided() {
		return nil
	}
	for len(m.counts) < allCounts {
		if err := m.countPair(ctx); err != nil || m.result.Uncounted != "" {
			return err
		}
	}
	return nil
}

// countPair counts both sides once. An error means that ctx ended.
func (m *measuring) countPair(ctx context.Context) error {
	var p compare.Pair
	for _, b := range inOrder(len(m.counts)) {
		m.progress(fmt.Sprintf("counting instructions, pair %d", len(m.counts)+1))
		cmd := m.command(b)
		cmd.DisableASLR, cmd.Timeout = true, m.plan.Timeout*slower
		counted, err := m.runner.Measure.CountInstructions(ctx, cmd)
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err != nil {
			m.result.Uncounted = err.Error()
			m.counts = nil
			return nil
		}
		if counted.Note != "" && !slices.Contains(m.result.Notes, counted.Note) {
			m.result.Notes = append(m.result.Notes, counted.Note)
		}
		if b {
			p.B = counted.Instructions
		} else {
			p.A = counted.Instructions
		}
	}
	m.counts = append(m.counts, p)
	return nil
}

// judgeCounts judges the counts of valgrind. The first look can only see that they repeat.
func (m *measuring) judgeCounts() compare.Turned { return compare.JudgeTurns(m.turnsOfCounts()) }

func (m *measuring) turnsOfCounts() compare.Turns {
	look := 1
	if len(m.counts) > firstCounts {
		look = 2
	}
	return compare.Turns{Metric: compare.Usual(measure.Instructions), Pairs: m.counts, Look: look}
}

// countedBy returns the metric of the instructions, and how they were counted; empty if they were not.
func (m *measuring) countedBy() (metric events.Metric, way measure.Counting) {
	switch {
	case len(m.counts) > 0:
		return measure.Instructions, measure.CountValgrind
	case m.way == measure.CountCounters && len(m.a) > 0 && len(m.pairsOf(measure.InstructionsU)) == len(m.a):
		return measure.InstructionsU, measure.CountCounters
	}
	return "", ""
}
