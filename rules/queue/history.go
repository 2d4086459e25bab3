package queue

import (
	"math"
	"slices"
	"time"

	"github.com/tachobench/tacho/events"
)

// Sort holds the properties of a job that decide how long it takes.
type Sort struct {
	Suite   events.SuiteName
	Lane    events.Lane
	Kind    events.JobKind
	Backend events.Backend
	Profile events.Profile
}

// Expected is how long a job is expected to take. Its zero value is "unknown", which is not "no time".
type Expected struct {
	// Length is the median of the jobs that the expectation comes from.
	Length time.Duration
	Known  bool
	// Spread is how far one job is from Length. Doubt is how far Length is from the true median, because it comes from
	// few jobs. Both are standard deviations, and known only if Ranged.
	Spread, Doubt time.Duration
	Ranged        bool
	// Basis is equal for expectations that come from the same jobs: they share their doubt.
	Basis int
}

// Known returns the expectation of a length with unknown spread. A negative length counts as 0.
func Known(length time.Duration) Expected { return Expected{Length: max(length, 0), Known: true} }

// Recent is how many of the last similar jobs count.
const Recent = 10

// enough is how many jobs are needed to know their spread.
const enough = 3

// History remembers how long the last jobs took, and predicts from them how long the next ones will take. The zero
// value is an empty history. It holds only the last few durations of each group of jobs, however many are added. It is
// for one goroutine at a time.
type History struct {
	groups map[group]*sample
}

// group is a set of similar jobs. Coarse groups leave fields empty; the level tells them from jobs whose own fields are
// empty.
type group struct {
	level int
	sort  Sort
}

// sample holds the last durations of a group, oldest first.
type sample struct {
	number int
	took   []time.Duration
}

// groupsOf returns the groups that a job belongs to, finest first. All are within one suite, because jobs of two suites
// say nothing about each other.
func groupsOf(s Sort) [4]group {
	return [4]group{
		{0, s},
		{1, Sort{Suite: s.Suite, Lane: s.Lane, Kind: s.Kind}},
		{2, Sort{Suite: s.Suite, Lane: s.Lane}},
		{3, Sort{Suite: s.Suite}},
	}
}

// longest bounds the duration of a job: a longer one is a clock error, and must not spoil the estimates of the whole
// queue.
const longest = 30 * 24 * time.Hour

// Add records how long a job of sort s took, 30 days at most. Add jobs in the order in which they finished, and only
// those that ran to their end: cancelled jobs and no-ops would make later ones look short.
func (h *History) Add(s Sort, took time.Duration) {
	if h.groups == nil {
		h.groups = make(map[group]*sample)
	}
	for _, g := range groupsOf(s) {
		list := h.groups[g]
		if list == nil {
			list = &sample{number: len(h.groups) + 1}
			h.groups[g] = list
		}
		if len(list.took) == Recent {
			copy(list.took, list.took[1:])
			list.took = list.took[:Recent-1]
		}
		list.took = append(list.took, min(max(took, 0), longest))
	}
}

// Expect returns the median of the last ten jobs of sort s. When there are none, it uses those of the same lane and
// kind, then those of the lane, then those of the suite; else the length is unknown.
//
// The spread comes from the same jobs. If they are fewer than three, Expect assumes that they spread, in proportion,
// like the next group that has three; if no group has three, the spread is unknown.
func (h *History) Expect(s Sort) Expected {
	var e Expected
	from := 0
	for _, g := range groupsOf(s) {
		list := h.groups[g]
		if list == nil {
			continue
		}
		if !e.Known {
			e, from = Known(median(list.took)), len(list.took)
			e.Basis = list.number
		}
		if len(list.took) < enough {
			continue
		}
		mean, deviation := moments(list.took)
		if list.number != e.Basis {
			if mean == 0 {
				return e
			}
			deviation *= float64(e.Length) / mean
		}
		e.Ranged, e.Spread = true, time.Duration(deviation)
		e.Doubt = time.Duration(medianError * deviation / math.Sqrt(float64(from)))
		return e
	}
	return e
}

// medianError is how much larger the error of a median is than that of a mean, for normal values: the root of π/2.
const medianError = 1.2533

// caution is the factor by which a range of four in five must be wider, because the deviation itself comes from only n
// values: the 90 % quantile of Student's t over that of the normal distribution. [Recent] is the largest n.
func caution(n int) float64 {
	return [...]float64{enough: 1.472, 1.278, 1.196, 1.152, 1.124, 1.104, 1.090, 1.079}[n]
}

// moments returns the mean of a list of three or more values, and their standard deviation times caution.
func moments(list []time.Duration) (mean, deviation float64) {
	for _, d := range list {
		mean += float64(d) / float64(len(list))
	}
	square := 0.0
	for _, d := range list {
		square += (float64(d) - mean) * (float64(d) - mean) / float64(len(list)-1)
	}
	return mean, math.Sqrt(square) * caution(len(list))
}

// median returns the middle of a list that is not empty, or the mean of the two in the middle.
func median(list []time.Duration) time.Duration {
	sorted := slices.Sorted(slices.Values(list))
	low, high := sorted[(len(sorted)-1)/2], sorted[len(sorted)/2]
	return low + (high-low)/2
}
