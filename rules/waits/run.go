package waits

import (
	"fmt"
	"math"
	"slices"
	"time"
)

// Run is one job that waits for a machine, or has waited for one. The zero time means that something has not happened.
type Run struct {
	// Ready is when the job was made or its last need was met, whichever is later.
	Ready time.Time
	// Begun is when a collector first took it. Further attempts change nothing.
	Begun time.Time
	// Ended is when it ended. One that ended without Begun was cancelled or expired.
	Ended   time.Time
	Expired bool
}

// Window is the time from From on, and before To.
type Window struct{ From, To time.Time }

func (w Window) has(t time.Time) bool { return !t.Before(w.From) && t.Before(w.To) }

// Verdict is the closed set of what a run is in a window.
type Verdict int

// The verdicts on a run.
const (
	// Outside: it was never ready, or its target is not in the window.
	Outside Verdict = iota
	// LeftOut: it was cancelled before its target.
	LeftOut
	Hit
	Miss
)

// In judges a run in a window. What counts is where its target lies, so a run counts in one window only, and a run whose
// target is still to come counts in none that ends now.
func (r Run) In(w Window, target time.Duration) Verdict {
	due := r.Ready.Add(target)
	switch {
	case r.Ready.IsZero() || !w.has(due):
		return Outside
	case !r.Begun.IsZero():
		if r.Begun.After(due) {
			return Miss
		}
		return Hit
	case r.Expired || r.Ended.IsZero() || r.Ended.After(due):
		return Miss // also while it waits: the window ends after its target
	}
	return LeftOut
}

// Waits reports whether the run waits for a machine.
func (r Run) Waits() bool { return !r.Ready.IsZero() && r.Begun.IsZero() && r.Ended.IsZero() }

// Wait returns how long the run waited; until now, if it still does.
func (r Run) Wait(now time.Time) time.Duration {
	until := now
	switch {
	case r.Ready.IsZero():
		return 0
	case !r.Begun.IsZero():
		until = r.Begun
	case !r.Ended.IsZero():
		until = r.Ended
	}
	return max(until.Sub(r.Ready), 0)
}

// Stats is how long runs waited.
type Stats struct {
	// Runs counts the runs whose target lies in the window, but for those that are left out. Hits are those of them that
	// began in time.
	Runs int `json:"runs"`
	Hits int `json:"hits"`
	// Attainment is Hits by Runs; nil without runs.
	Attainment *float64 `json:"attainment"`
	// P50MS and P90MS are quantiles of the waits of Runs; nil without runs. A run that still waits counts with its wait so far.
	P50MS *int64 `json:"p50_ms"`
	P90MS *int64 `json:"p90_ms"`
	// Waiting counts the runs that wait now, wherever their targets lie. LongestMS is the longest of their waits.
	Waiting   int   `json:"waiting"`
	LongestMS int64 `json:"longest_ms"`
}

// Percent returns the attainment in words; empty without runs. Only all of the runs are 100 %.
func (s Stats) Percent() string {
	if s.Attainment == nil {
		return ""
	}
	return fmt.Sprintf("%g %%", math.Floor(*s.Attainment*1000)/10)
}

// Judge returns the stats of runs.
func Judge(runs []Run, w Window, target time.Duration, now time.Time) Stats {
	var s Stats
	var waits []time.Duration
	for _, r := range runs {
		if r.Waits() {
			s.Waiting++
			s.LongestMS = max(s.LongestMS, r.Wait(now).Milliseconds())
		}
		switch r.In(w, target) {
		case Hit:
			s.Hits++
		case Miss:
		case Outside, LeftOut:
			continue
		}
		s.Runs++
		waits = append(waits, r.Wait(now))
	}
	if s.Runs == 0 {
		return s
	}
	part := float64(s.Hits) / float64(s.Runs)
	s.Attainment, s.P50MS, s.P90MS = &part, Quantile(waits, 50), Quantile(waits, 90)
	return s
}

// Quantile returns the least of the times that so many percent of them do not exceed, in milliseconds; nil if there are none.
// It sorts the times.
func Quantile(times []time.Duration, percent int) *int64 {
	if len(times) == 0 {
		return nil
	}
	slices.Sort(times)
	rank := (len(times)*percent + 99) / 100
	ms := times[min(max(rank, 1), len(times))-1].Milliseconds()
	return &ms
}
