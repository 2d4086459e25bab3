package queue

import (
	"slices"
	"time"

	"github.com/tachobench/tacho/events"
)

// Sort says what a job is like as far as its duration is concerned.
type Sort struct {
	Suite   events.SuiteName
	Lane    events.Lane
	Kind    events.JobKind
	Backend events.Backend
	Profile events.Profile
}

// Expected is how long a job is expected to take. Its zero value is "unknown", which is not "no time".
type Expected struct {
	Length time.Duration
	Known  bool
}

// Known returns the expectation of a length; a negative one counts as 0.
func Known(length time.Duration) Expected { return Expected{Length: max(length, 0), Known: true} }

// recent is how many of the last jobs alike count.
const recent = 10

// History remembers how long the last jobs took, and tells from them how long the next will take. The zero
// value is an empty history. It holds the last few durations of each group of jobs only, however many are
// added. It belongs to one caller at a time.
type History struct {
	groups map[group][]time.Duration
}

// group is a set of jobs alike; coarse groups leave fields empty, and their level keeps them apart from
// jobs whose fields are empty themselves.
type group struct {
	level int
	sort  Sort
}

// groupsOf returns the groups that a job belongs to, finest first. All are within one suite, because the
// jobs of two suites say nothing about each other.
func groupsOf(s Sort) [4]group {
	return [4]group{
		{0, s},
		{1, Sort{Suite: s.Suite, Lane: s.Lane, Kind: s.Kind}},
		{2, Sort{Suite: s.Suite, Lane: s.Lane}},
		{3, Sort{Suite: s.Suite}},
	}
}

// Add records that a job of sort s took so long. Add jobs in the order in which they finished, and only
// those that ran to their end: cancelled ones and no-ops would make later ones look short.
func (h *History) Add(s Sort, took time.Duration) {
	if h.groups == nil {
		h.groups = make(map[group][]time.Duration)
	}
	for _, g := range groupsOf(s) {
		list := h.groups[g]
		if len(list) == recent {
			copy(list, list[1:])
			list = list[:recent-1]
		}
		h.groups[g] = append(list, max(took, 0))
	}
}

// Expect returns the median of the last ten jobs of sort s. When there are none, those of the same lane and
// kind stand in for them, then those of the lane, then those of the suite; else the length is unknown.
func (h *History) Expect(s Sort) Expected {
	for _, g := range groupsOf(s) {
		if list := h.groups[g]; len(list) > 0 {
			return Known(median(list))
		}
	}
	return Expected{}
}

// median returns the middle of a list that is not empty, or the mean of the two in the middle.
func median(list []time.Duration) time.Duration {
	sorted := slices.Sorted(slices.Values(list))
	low, high := sorted[(len(sorted)-1)/2], sorted[len(sorted)/2]
	return low + (high-low)/2
}
