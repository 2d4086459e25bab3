package comparison

import (
	"cmp"
	"context"
	"slices"

	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/readmodel"
	"github.com/tachobench/tacho/rules/compare"
)

// inTurns gives series the pairs of blocks in which both sides were measured in turns. Both sides then have the values of that
// block: those of other times and machines are weaker evidence. Of several blocks of a test case it takes that of the machine
// whose results are compared, else that with most pairs.
func inTurns(list []compare.Series, blocks []readmodel.Block) []compare.Series {
	of := map[events.TestCase][]readmodel.Block{}
	for _, b := range blocks {
		of[b.TestCase] = append(of[b.TestCase], b)
	}
	for i := range list {
		s := &list[i]
		found := of[s.Case]
		if len(found) == 0 {
			continue
		}
		compared := func(b readmodel.Block) int {
			if b.Environment == s.A.Environment && b.Environment == s.B.Environment {
				return 1
			}
			return 0
		}
		b := slices.MaxFunc(found, func(x, y readmodel.Block) int {
			return cmp.Or(compared(x)-compared(y), min(len(x.Iterations), len(x.Beside))-min(len(y.Iterations), len(y.Beside)))
		})
		if s.Pairs = compare.SamplesOfPairs(s.Metric.Name, b.Beside, b.Iterations); len(s.Pairs) == 0 {
			continue
		}
		if compared(b) == 0 { // what is known of the noise is that of another machine
			s.History, s.Spread = nil, 0
		}
		s.A = sideOf(s.Metric.Name, b.Beside, b)
		s.B = sideOf(s.Metric.Name, b.Iterations, b)
	}
	return list
}

func sideOf(metric events.Metric, iterations []events.Iteration, b readmodel.Block) compare.Samples {
	values := compare.SamplesOf(metric, iterations, b.Environment)
	values.Machine = b.Machine
	return values
}

// Samples returns the pairs of a comparison: all that was measured in turns, in the order of the comparison. It fails as
// Compare does.
func (t Tables) Samples(ctx context.Context, q Query) (rows []compare.SampleRow, err error) {
	m, err := t.compare(ctx, q)
	if err != nil {
		return nil, err
	}
	pairs := m.pairs()
	for _, ch := range m.Changes {
		if ch.Turns != nil {
			rows = append(rows, compare.SampleRow{Case: ch.Case, Metric: ch.Metric, Pairs: pairs[seriesKey{ch.Case, ch.Metric}]})
		}
	}
	return rows, nil
}

// pairs returns the pairs of all series that have some.
func (m measured) pairs() map[seriesKey][]compare.Pair {
	all := map[seriesKey][]compare.Pair{}
	for _, s := range m.series {
		if len(s.Pairs) > 0 {
			all[seriesKey{s.Case, s.Metric.Name}] = s.Pairs
		}
	}
	return all
}
