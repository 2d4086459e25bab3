package ab

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/tachobench/tacho/collector/measure"
	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/internal/phrase"
	"github.com/tachobench/tacho/rules/compare"
)

const (
	// leastBusy and mostBusy are the CPUs that a command keeps busy whose time is its task-clock.
	leastBusy = 0.9
	mostBusy  = 1.05
	// alike is by how many busy CPUs the sides may differ: what one waits longer than the other, its task-clock does not see.
	alike = 0.05
	// undisturbedEnough is how many undisturbed runs tell alone how busy a command is.
	undisturbedEnough = 3
)

// pairsOf returns the pairs in which both sides have the metric.
func (m *measuring) pairsOf(metric events.Metric) []compare.Pair {
	var pairs []compare.Pair
	for i := range m.a {
		x, inA := m.a[i].metrics[metric]
		y, inB := m.b[i].metrics[metric]
		if inA && inB {
			pairs = append(pairs, compare.Pair{A: x, B: y, Disturbed: m.a[i].interference != "" || m.b[i].interference != ""})
		}
	}
	return pairs
}

// turns returns a metric as it is judged.
func (m *measuring) turns(metric events.Metric) compare.Turns {
	if metric == measure.Instructions && len(m.counts) > 0 {
		return m.turnsOfCounts()
	}
	return compare.Turns{Metric: compare.Usual(metric), Pairs: m.pairsOf(metric), Looks: m.looks}
}

// deciding returns the metrics from which the verdict follows. Instructions lead.
func (m *measuring) deciding() (metrics []events.Metric) {
	if metric, who := m.countedBy(); who != "" {
		metrics = append(metrics, metric)
	}
	if t := m.time(); t != nil {
		metrics = append(metrics, t.Metric)
	}
	return metrics
}

// decided reports whether all deciding metrics are decided. It is asked at planned looks. The first of them settles the metric
// for time.
func (m *measuring) decided() bool {
	m.result.Time = m.time()
	for _, metric := range m.deciding() {
		if !compare.JudgeTurns(m.turns(metric)).Decided() {
			return false
		}
	}
	return true
}

// time returns which metric decides for time: what was settled, or what the runs so far say. It is nil before the first pair.
func (m *measuring) time() *Choice {
	if m.result.Time != nil || len(m.a) == 0 {
		return m.result.Time
	}
	return timeOf(m.a, m.b)
}

// timeOf chooses the metric for time.
func timeOf(a, b []run) *Choice {
	busyA, measured := busy(a)
	busyB, also := busy(b)
	clock := func(r run) bool { _, ok := r.metrics[measure.TaskClock]; return ok }
	switch {
	case !measured || !also || !clock(a[0]) || !clock(b[0]):
		return &Choice{measure.WallTime, "task-clock cannot be measured here"}
	case min(busyA, busyB) < leastBusy:
		return &Choice{measure.WallTime, fmt.Sprintf("a kept %.2f CPUs busy and b %.2f: who runs them waits for more than their CPU time", busyA, busyB)}
	case max(busyA, busyB) > mostBusy:
		return &Choice{measure.WallTime, fmt.Sprintf("a kept %.2f CPUs busy and b %.2f: who runs them waits for less than their CPU time", busyA, busyB)}
	case math.Abs(busyA-busyB) > alike:
		return &Choice{measure.WallTime, fmt.Sprintf("a kept %.2f CPUs busy and b %.2f: one waits more than the other", busyA, busyB)}
	}
	return &Choice{measure.TaskClock, fmt.Sprintf("a kept %.2f CPUs busy and b %.2f: their time is their CPU time, which other programs move less than wall-time", busyA, busyB)}
}

// busy returns how many CPUs the runs kept busy: the upper quartile of those without interference on record, since little of it
// leaves no record. Where these are too few, it is the most of all, with the time added in which the run wanted a CPU and had none.
func busy(runs []run) (cpus float64, ok bool) {
	var clean, all []float64
	for _, r := range runs {
		clock, wall := r.metrics[measure.TaskClock], r.metrics[measure.WallTime]
		if !(clock > 0) || !(wall > 0) {
			continue
		}
		if r.interference == "" {
			clean = append(clean, clock/wall)
		}
		all = append(all, clock/wall+min(r.evidence.Stall.Value, max(0, 1-clock/wall)))
	}
	switch {
	case len(all) == 0:
		return 0, false
	case len(clean) >= undisturbedEnough:
		slices.Sort(clean)
		return clean[len(clean)*3/4], true
	}
	return slices.Max(all), true
}

// judge fills in what the pairs say.
func (m *measuring) judge() {
	r := &m.result
	r.Time = m.time()
	deciding := m.deciding()
	if _, r.Counted = m.countedBy(); r.Counted != "" {
		r.Uncounted = ""
	}
	r.Metrics = []Metric{}
	for _, metric := range m.metrics(deciding) {
		t := m.turns(metric)
		judged := compare.JudgeTurns(t)
		one := Metric{Metric: t.Metric, Deciding: slices.Contains(deciding, metric), Turned: judged, Measured: t.Pairs}
		if one.Deciding && len(m.a) > 0 {
			one.Advice = compare.AdviceOf(t, judged, r.Counted != "", r.Seconds/float64(len(m.a)))
		}
		r.Metrics = append(r.Metrics, one)
	}
	r.Verdict = verdictOf(r.Metrics)
	r.Disturbed = m.disturbed()
	m.note()
}

// metrics returns what was measured on both sides in at least one pair: the deciding ones, then those that people ask for first.
func (m *measuring) metrics(deciding []events.Metric) []events.Metric {
	usual := []events.Metric{
		measure.WallTime, measure.TaskClock, measure.CPUTime, measure.UserTime, measure.SysTime, measure.MaxRSS, measure.PageFaults,
	}
	place := func(metric events.Metric) int {
		if i := slices.Index(deciding, metric); i >= 0 {
			return i
		}
		if i := slices.Index(usual, metric); i >= 0 {
			return len(deciding) + i
		}
		return len(deciding) + len(usual)
	}
	all := map[events.Metric]bool{}
	for _, metric := range deciding {
		all[metric] = true
	}
	for i := range m.a {
		for metric := range m.a[i].metrics {
			if _, both := m.b[i].metrics[metric]; both {
				all[metric] = true
			}
		}
	}
	if m.way != measure.CountCounters {
		delete(all, measure.InstructionsU)
	}
	return slices.SortedFunc(maps.Keys(all), func(x, y events.Metric) int {
		return cmp.Or(cmp.Compare(place(x), place(y)), cmp.Compare(x, y))
	})
}

// verdictOf returns the verdict on the deciding metrics, of which the first leads.
func verdictOf(metrics []Metric) Verdict {
	var better, worse bool
	verdict := Inconclusive
	for i, m := range metrics {
		if !m.Deciding {
			break
		}
		better, worse = better || m.Judgement == compare.Improved, worse || m.Judgement == compare.Regressed
		if i == 0 && m.Judgement == compare.Unchanged {
			verdict = Unchanged
		}
	}
	switch {
	case better && worse:
		return Mixed
	case worse:
		return Regressed
	case better:
		return Improved
	}
	return verdict
}

// disturbed says what else used the machine.
func (m *measuring) disturbed() (d Disturbed) {
	worst := -1.0
	for i := range m.a {
		if m.a[i].interference != "" || m.b[i].interference != "" {
			d.Pairs++
		}
		for _, r := range []run{m.a[i], m.b[i]} {
			if size := r.disturbance(); r.interference != "" && size > worst {
				worst, d.Worst = size, r.interference
			}
		}
	}
	return d
}

// note adds what a reader should know: that wall-time changed where it does not decide, and which metrics are not in all pairs.
func (m *measuring) note() {
	for _, one := range m.result.Metrics {
		if one.Metric.Name == measure.WallTime && !one.Deciding && one.Significant && m.result.Verdict == Unchanged {
			m.result.Notes = append(m.result.Notes, "wall-time "+Signed(*one.Change)+" "+string(one.Judgement)+" although it does not decide: one side may wait longer than the other")
		}
	}
	seen := map[events.Metric]bool{}
	for i := range m.a {
		for _, r := range []run{m.a[i], m.b[i]} {
			for metric := range r.metrics {
				seen[metric] = true
			}
		}
	}
	for _, metric := range slices.Sorted(maps.Keys(seen)) {
		if n := len(m.pairsOf(metric)); n < len(m.a) {
			m.result.Notes = append(m.result.Notes, fmt.Sprintf("%s was measured on both sides in %d of %s: only these count", metric, n, phrase.Count(len(m.a), "pair")))
		}
	}
}
