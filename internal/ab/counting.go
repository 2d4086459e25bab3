package ab

import (
	"context"
	"fmt"
	"time"

	"github.com/tachobench/tacho/collector/measure"
	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/internal/phrase"
	"github.com/tachobench/tacho/rules/compare"
)

// Counting says how instructions are counted.
type Counting string

// The ways to count. Auto takes hardware counters where they are, else valgrind where it is installed.
const (
	CountAuto     Counting = "auto"
	CountCounters Counting = "counters"
	CountValgrind Counting = "valgrind"
	CountOff      Counting = "off"
)

const (
	// firstCounts is how many pairs are counted with valgrind: a count that repeats needs no third. Where they do not repeat,
	// allCounts are, so that the test can speak.
	firstCounts = 2
	allCounts   = 10
	// slower is about how many times longer a command takes under valgrind, and valgrindStart what valgrind itself takes.
	slower        = 40
	valgrindStart = 2 * time.Second
	// countingShare is the part of the budget that counting may take unless somebody asked for it.
	countingShare = 3
)

// countWithValgrind counts the instructions of both sides, if that is wanted and hardware counters do not. Whatever hinders it is
// kept in Uncounted, and the sides are measured all the same.
func (m *measuring) countWithValgrind(ctx context.Context, seconds float64) error {
	switch m.plan.Counting {
	case CountOff:
		m.result.Uncounted = "switched off"
		return nil
	case CountCounters:
		m.result.Uncounted = m.noCounters
		return nil
	case CountAuto:
		once := time.Duration(slower*seconds*float64(time.Second)) + 2*valgrindStart
		if all := firstCounts * once; all > m.plan.Budget/countingShare {
			m.result.Uncounted = fmt.Sprintf("valgrind would take about %s of the budget of %s: --instructions valgrind wants it all the same", phrase.Duration(all), phrase.Duration(m.plan.Budget))
			return nil
		}
	case CountValgrind:
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
		n, err := m.runner.Measure.CountInstructions(ctx, cmd)
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err != nil {
			m.result.Uncounted = err.Error()
			m.counts = nil
			return nil
		}
		if b {
			p.B = n
		} else {
			p.A = n
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

// countedBy returns the metric of the instructions, and who counted them; "" if nobody did.
func (m *measuring) countedBy() (metric events.Metric, who string) {
	switch {
	case len(m.counts) > 0:
		return measure.Instructions, "valgrind"
	case m.plan.Counting == CountAuto || m.plan.Counting == CountCounters:
		if len(m.pairsOf(measure.InstructionsU)) == len(m.a) && len(m.a) > 0 {
			return measure.InstructionsU, "counters"
		}
	}
	return "", ""
}
