package compare

import (
	"slices"

	"github.com/tachobench/tacho/events"
)

// headlines returns the metrics that can speak for a comparison, best first: instructions where some meter
// gives them, then the stable proxies, then times.
func headlines() []events.Metric {
	return []events.Metric{
		"instructions:u", "instructions", "page-faults", "faults", "max-rss", "task-clock", "wall-time",
	}
}

// headline picks the metric that speaks for the whole comparison: the best one that judged at least half as
// many test cases as any metric did, so that a counter which only one test case has does not speak for
// forty. Metrics outside the list come last, counts before exact ones before times, then by name. It is
// empty when there are no summaries, which must be sorted by name.
//
// Where the definitions declare a metric that was measured on either side, only declared ones can speak: it is
// empty when none of them was measured on both.
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
