package compare

import (
	"cmp"
	"slices"

	"github.com/tachobench/tacho/events"
)

// headlines returns the metrics that can be the headline, best first: instructions, then the stable proxies, then
// times.
func headlines() []events.Metric {
	return []events.Metric{
		"instructions:u", "instructions", "page-faults", "faults", "max-rss", "task-clock", "wall-time",
	}
}

// headline picks the metric that represents the whole comparison: the best one that judged at least half as many test
// cases as any other metric did. So a counter that only one test case has does not represent forty. Metrics outside the
// list come last: counts, then exact ones, then times, then by name. It is empty when there are no summaries. They must
// be sorted by name.
//
// If a metric that the definitions declare was measured on either side, only declared ones can be the headline. It is
// then empty when none of them was measured on both.
func headline(summaries []Summary, declared bool) events.Metric {
	if declared {
		summaries = slices.DeleteFunc(slices.Clone(summaries), func(s Summary) bool { return s.Metric.Undeclared })
	}
	most := 0
	for _, s := range summaries {
		most = max(most, s.conclusive())
	}
	var best events.Metric
	bestRank := -1
	for _, s := range summaries {
		if 2*s.conclusive() < most {
			continue
		}
		if rank := headlineRank(s.Metric); bestRank < 0 || rank < bestRank {
			best, bestRank = s.Metric.Name, rank
		}
	}
	return best
}

// Before orders metrics as a comparison shows them, without what they judged: those that the definitions declare first,
// then as headline does.
func Before(a, b MetricInfo) int {
	return cmp.Or(compareBools(a.Undeclared, b.Undeclared), cmp.Compare(headlineRank(a), headlineRank(b)), cmp.Compare(a.Name, b.Name))
}

// headlineRank is the place of a metric among the candidates; smaller is better.
func headlineRank(m MetricInfo) int {
	known := headlines()
	for i, name := range known {
		if name == m.Name {
			return i
		}
	}
	switch m.Class {
	case Count:
		return len(known)
	case Exact:
		return len(known) + 1
	case Time:
		return len(known) + 2
	}
	return len(known) + 2
}
