package compare

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/tachobench/tacho/events"
)

// Comparison is the judgement on two artifacts.
type Comparison struct {
	// Headline is the metric whose verdict is the verdict of the comparison: of those that the definitions declare,
	// instructions if some meter gives them, else page faults or memory, else time. Empty when none of them was
	// measured on both sides.
	Headline events.Metric `json:"headline"`
	Verdict  Verdict       `json:"verdict"`
	// Words are the comparison in words for people.
	Words
	Attention       bool   `json:"attention"`
	AttentionReason string `json:"attention_reason,omitempty"`
	// Summaries has an entry for each metric, the headline first, then the declared ones, each by name.
	Summaries []Summary `json:"summaries"`
	// Changes has everything that was measured on both sides, in the order of Summaries, then by test case.
	Changes []Change `json:"changes"`
	// New was measured only for b, Missing only for a; sorted by test case and metric.
	New     []Absent `json:"new"`
	Missing []Absent `json:"missing"`
	// Helps say what would help to decide what is undecided, by metric in the order of Summaries.
	Helps []Help `json:"helps,omitempty"`
	// Machines are those that measured what is in Changes, sorted; only of test cases that may be measured on any machine
	// that fits.
	Machines []string `json:"machines,omitempty"`
}

// Absent is a metric of a test case that one side lacks.
type Absent struct {
	Case     events.TestCase `json:"case"`
	Category Category        `json:"category"`
	Metric   events.Metric   `json:"metric"`
}

// Compare judges all series. Each belongs to one metric of one test case; a second series for the same is judged
// separately. The input is not changed, and its order does not matter. A series without a usable value on either side
// is left out.
func Compare(series []Series) Comparison {
	c := Comparison{
		Verdict:   NoChange,
		Summaries: []Summary{}, Changes: []Change{}, New: []Absent{}, Missing: []Absent{},
	}
	series = slices.SortedFunc(slices.Values(series), order)
	metrics := map[events.Metric]MetricInfo{}
	groups := map[events.Metric][]*judged{}
	declared := false
	for _, s := range series {
		a, b := newSample(s.A), newSample(s.B)
		absent := Absent{Case: s.Case, Category: s.Category, Metric: s.Metric.Name}
		declared = declared || a.N+b.N > 0 && !s.Metric.Undeclared
		switch {
		case a.N > 0 && b.N > 0:
			if _, ok := metrics[s.Metric.Name]; !ok {
				metrics[s.Metric.Name] = described(s.Metric)
			}
			groups[s.Metric.Name] = append(groups[s.Metric.Name], measure(s, a, b))
		case b.N > 0:
			c.New = append(c.New, absent)
		case a.N > 0:
			c.Missing = append(c.Missing, absent)
		}
	}
	changes := map[events.Metric][]Change{}
	for _, name := range slices.Sorted(maps.Keys(groups)) {
		changes[name] = judgeAll(groups[name])
		c.Summaries = append(c.Summaries, summarize(metrics[name], changes[name]))
	}
	c.Headline = headline(c.Summaries, declared)
	slices.SortStableFunc(c.Summaries, func(x, y Summary) int {
		return cmp.Or(compareBools(x.Metric.Name != c.Headline, y.Metric.Name != c.Headline), compareBools(x.Metric.Undeclared, y.Metric.Undeclared))
	})
	for _, s := range c.Summaries {
		c.Changes = append(c.Changes, changes[s.Metric.Name]...)
	}
	c.Machines = machines(c.Changes)
	c.Helps = helps(c, series)
	if top, ok := c.top(); ok {
		c.Verdict, c.Attention, c.AttentionReason = top.Verdict, top.Attention, top.AttentionReason
	}
	c.Words = Report{Comparison: &c}.Words()
	return c
}

// machines returns the machines that measured changes.
func machines(changes []Change) []string {
	named := map[string]bool{}
	for _, ch := range changes {
		named[ch.A.Machine], named[ch.B.Machine] = true, true
	}
	delete(named, "")
	return slices.Sorted(maps.Keys(named))
}

// top returns the summary of the headline metric, if there is one.
func (c Comparison) top() (Summary, bool) {
	if c.Headline == "" || len(c.Summaries) == 0 {
		return Summary{}, false
	}
	return c.Summaries[0], true
}

// described returns the metric as a summary shows it: without a floor that is not a finite number above zero.
func described(m MetricInfo) MetricInfo {
	m.Floor = positive(m.Floor)
	return m
}

// judgeAll judges the test cases of one metric together, because their p-values are corrected together.
func judgeAll(cases []*judged) []Change {
	judgeInTurns(cases)
	var tested []*judged
	var ps []float64
	for _, j := range cases {
		if j.P != nil {
			tested, ps = append(tested, j), append(ps, *j.P)
		}
	}
	for i, adjusted := range adjust(ps) {
		tested[i].Adjusted = &adjusted
	}
	changes := make([]Change, 0, len(cases))
	for _, j := range cases {
		if j.Turns == nil {
			j.judge(len(tested))
		}
		changes = append(changes, j.Change)
	}
	return changes
}

// order sorts series by test case and metric, then by all other fields, so that the order is always the same.
func order(x, y Series) int {
	return cmp.Or(
		compareCases(x.Case, y.Case),
		cmp.Compare(x.Metric.Name, y.Metric.Name),
		cmp.Compare(x.Category, y.Category),
		cmp.Compare(x.A.Environment, y.A.Environment),
		cmp.Compare(x.B.Environment, y.B.Environment),
		cmp.Compare(x.A.Machine, y.A.Machine),
		cmp.Compare(x.B.Machine, y.B.Machine),
		slices.Compare(x.A.Values, y.A.Values),
		slices.Compare(x.B.Values, y.B.Values),
		cmp.Compare(x.A.Interfered, y.A.Interfered),
		cmp.Compare(x.B.Interfered, y.B.Interfered),
		slices.Compare(x.History, y.History),
		cmp.Compare(x.Spread, y.Spread),
		slices.CompareFunc(x.Pairs, y.Pairs, func(p, q Pair) int {
			return cmp.Or(cmp.Compare(p.A, q.A), cmp.Compare(p.B, q.B), compareBools(p.Disturbed, q.Disturbed))
		}),
	)
}

// compareCases compares two test cases, parameter by parameter.
func compareCases(x, y events.TestCase) int {
	return cmp.Or(
		strings.Compare(string(x.Benchmark), string(y.Benchmark)),
		strings.Compare(string(x.Profile), string(y.Profile)),
		strings.Compare(string(x.Scenario), string(y.Scenario)),
		strings.Compare(string(x.Backend), string(y.Backend)),
		strings.Compare(string(x.Target), string(y.Target)),
	)
}
