package compare

// Summary sums up the changes of one metric.
type Summary struct {
	Metric  MetricInfo `json:"metric"`
	Verdict Verdict    `json:"verdict"`
	// Words are the summary in words for people.
	Words
	// Attention: a person should look. It is set when the largest relevant change of a primary benchmark is at least
	// medium, when that of another benchmark is at least large, or when 3·primary + others reach 9. AttentionReason
	// says which.
	Attention       bool   `json:"attention"`
	AttentionReason string `json:"attention_reason,omitempty"`
	// Cases is how many test cases were measured on both sides; the five below add up to it.
	Cases         int `json:"cases"`
	Improved      int `json:"improved"`
	Regressed     int `json:"regressed"`
	Unchanged     int `json:"unchanged"`
	Inconclusive  int `json:"inconclusive"`
	NotComparable int `json:"not_comparable"`
	// The groups hold relevant changes only. Secondary is everything that is not primary.
	Primary   Group `json:"primary"`
	Secondary Group `json:"secondary"`
	All       Group `json:"all"`
}

// Group sums up the relevant changes of one group of benchmarks.
type Group struct {
	Regressed Range `json:"regressed"`
	Improved  Range `json:"improved"`
}

// Range sums up relative changes; all zero when there are none.
type Range struct {
	Count int     `json:"count"`
	Mean  float64 `json:"mean"`
	Min   float64 `json:"min"`
	Max   float64 `json:"max"`
}

// add adds one relative change.
func (r *Range) add(change float64) {
	if r.Count == 0 {
		r.Min, r.Max = change, change
	}
	r.Count++
	r.Min, r.Max = min(r.Min, change), max(r.Max, change)
	// A running mean: the sum of huge changes could be infinite.
	r.Mean += (change - r.Mean) / float64(r.Count)
}

// join returns the range of both ranges together.
func (r Range) join(o Range) Range {
	switch {
	case r.Count == 0:
		return o
	case o.Count == 0:
		return r
	}
	share := float64(o.Count) / float64(r.Count+o.Count)
	return Range{
		Count: r.Count + o.Count, Mean: r.Mean*(1-share) + o.Mean*share, Min: min(r.Min, o.Min), Max: max(r.Max, o.Max),
	}
}

func (g *Group) add(c Change) {
	if c.Judgement == Improved {
		g.Improved.add(*c.Relative)
	} else {
		g.Regressed.add(*c.Relative)
	}
}

// conclusive returns how many test cases were judged improved, regressed or unchanged.
func (s Summary) conclusive() int { return s.Cases - s.Inconclusive - s.NotComparable }

// summarize sums up the changes of one metric.
func summarize(metric MetricInfo, changes []Change) Summary {
	s := Summary{Metric: metric, Cases: len(changes)}
	var relevant []Change
	for _, c := range changes {
		switch c.Judgement {
		case Improved:
			s.Improved++
		case Regressed:
			s.Regressed++
		case Unchanged:
			s.Unchanged++
		case Inconclusive:
			s.Inconclusive++
		case NotComparable:
			s.NotComparable++
		}
		if !c.Relevant {
			continue
		}
		relevant = append(relevant, c)
		s.All.add(c)
		if c.Category == Primary {
			s.Primary.add(c)
		} else {
			s.Secondary.add(c)
		}
	}
	s.Verdict = verdictOf(relevant)
	s.Attention, s.AttentionReason = attentionOf(relevant)
	s.Words = s.say(string(metric.Name))
	return s
}
