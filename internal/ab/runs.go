package ab

import (
	"math"

	"github.com/tachobench/tacho/collector/measure"
	"github.com/tachobench/tacho/events"
)

const (
	// pairSeconds is how long each side runs in a pair at least, if mostRuns are enough for that.
	pairSeconds = 0.2
	mostRuns    = 10
)

// runsIn returns how often each side runs in a pair if the longer side takes so many seconds; once if that is unknown. The noise of
// n runs is smaller by the root of n, and short runs cost little.
func runsIn(seconds float64) int {
	if !(seconds > 0) {
		return 1
	}
	return int(min(math.Ceil(pairSeconds/seconds), mostRuns))
}

// meanOf returns one or more runs of a side as one: the mean of each metric over the runs that have it, the mean evidence, and the
// worst interference.
func meanOf(runs []run) run {
	if len(runs) == 1 {
		return runs[0]
	}
	mean, worst := run{metrics: map[events.Metric]float64{}}, -1.0
	counts := map[events.Metric]float64{}
	shares := func(e *measure.Evidence) []*measure.Share { return []*measure.Share{&e.Stall, &e.Foreign, &e.Steal} }
	for _, r := range runs {
		for metric, v := range r.metrics {
			counts[metric]++
			mean.metrics[metric] += (v - mean.metrics[metric]) / counts[metric]
		}
		to := shares(&mean.evidence)
		for i, share := range shares(&r.evidence) {
			to[i].Value += share.Value / float64(len(runs))
			to[i].Known = share.Known
		}
		if size := r.disturbance(); r.interference != "" && size > worst {
			worst, mean.interference = size, r.interference
		}
	}
	return mean
}

// disturbance is how much else used the machine during a run.
func (r run) disturbance() float64 {
	return r.evidence.Stall.Value + r.evidence.Foreign.Value + r.evidence.Steal.Value
}
