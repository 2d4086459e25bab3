package readmodel

import (
	"fmt"
	"slices"
	"time"

	"github.com/tachobench/tacho/internal/phrase"
	"github.com/tachobench/tacho/rules/match"
)

// WhyStart is how long it takes, roughly, until a job starts: half to double of what its own jobs before it, its share and
// the machines that can run it let expect.
type WhyStart struct {
	AfterMS  int64 `json:"after_ms"`
	BeforeMS int64 `json:"before_ms"`
}

// whyLength is how long a job of the same sort took.
type whyLength struct {
	MS int64 `db:"ms"`
}

// starts returns when a job that waits for its turn or for room is expected to start; nil if no job like it has ended, or
// if something else than time keeps it.
func (r whyRows) starts(w Why) *WhyStart {
	//exhaustive:ignore
	switch w.Reason {
	case WaitPaused, WaitLimit, WaitNoMachine, WaitNoOnline, WaitUnable, WaitNeeds, WaitSkipped:
		return nil
	}
	if w.Reason == WaitAffinity {
		return &WhyStart{BeforeMS: w.Affinity.LeftMS}
	}
	if w.Reason == WaitNoRoom && !slices.ContainsFunc(w.Short, func(s WhyShort) bool { return s.Full == nil }) {
		return nil // something else than jobs has the memory
	}
	each, known := r.length()
	if !known {
		return nil
	}
	lanes, busy := 1.0, w.Running != nil
	if r.free() {
		lanes, busy = r.lanes(), w.Reason != WaitNext
	}
	ahead := float64(w.Ahead)
	if busy && w.Reason != WaitLane { // there what runs is among those before it
		ahead++
	}
	if w.SharePercent != nil && *w.SharePercent > 0 {
		ahead *= 100 / *w.SharePercent
	}
	after := ahead * each / lanes
	return &WhyStart{AfterMS: int64(after / 2), BeforeMS: int64(2 * after)}
}

// length returns the median of what the last jobs like it took, in milliseconds; false if there is none.
func (r whyRows) length() (ms float64, known bool) {
	if len(r.lengths) == 0 {
		return 0, false
	}
	lengths := slices.Clone(r.lengths)
	slices.SortFunc(lengths, func(a, b whyLength) int { return int(a.MS - b.MS) })
	return float64(lengths[len(lengths)/2].MS), true
}

// lanes counts the lanes that could run a matched job: one of each machine that it has for itself.
func (r whyRows) lanes() (n float64) {
	needs, _ := match.Parse(r.job.Requires)
	for _, m := range r.chosen(r.ownClass()) {
		for _, s := range r.park.slotsOf(m.Name) {
			if s.takes() {
				n++
			}
			if s.takes() && needs.Exclusive() {
				break
			}
		}
	}
	return max(n, 1)
}

// words says it after a reason; "" if nothing is known.
func (s *WhyStart) words() string {
	switch {
	case s == nil:
		return ""
	case s.AfterMS == 0 && s.BeforeMS > 0: // the reason says it
		return ""
	case s.BeforeMS == 0:
		return "; it starts at once"
	case s.BeforeMS < 1000: // both would be rounded to nothing
		return "; it starts in about a second"
	}
	long := func(ms int64) string {
		return phrase.Duration((time.Duration(ms) * time.Millisecond).Round(time.Second))
	}
	return fmt.Sprintf("; it starts in about %s to %s", long(s.AfterMS), long(s.BeforeMS))
}
