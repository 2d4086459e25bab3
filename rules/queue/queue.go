// Package queue decides in which order requests are benchmarked, gives the reason for every place in words, and
// estimates when each request will start and end.
//
// # The order
//
// The order is one pure function, [Order]. The scheduler starts requests by it, and the pages show it. The requests
// take their turns in six groups, each with its own key; the last tie is always broken by id:
//
//	turn      who                                          ordered by
//	running   in progress                                  start time, PR
//	release   ready releases                               release date, version
//	ready     ready master and try, parents done           level, PR, master before try, creation time
//	orphan    ready, below an unknown parent               level, PR, master before try, creation time
//	tangled   ready, in a cycle of parents or below one,   level; creation time at level 0, below that
//	          or below a parent that waits for artifacts   PR, master before try, creation time
//	waiting   waiting for artifacts                        PR, creation time
//
// The level of a request counts its transitive parents that are not done. A parent is done once it has ended or is in
// progress; parents in progress count as done so that the order does not jump when one of them ends. Levels come from
// one breadth-first walk per turn. The walk opens a tag when it reaches the tag's first request, and then puts the
// requests that have this tag as parent one level deeper. The walk of the ready starts at requests whose parent is
// done. The requests that it cannot reach are below an unknown parent, below a parent that has no artifacts yet, or in
// or below a cycle: the later walks start there. Every request names at most one parent, so there are no other cases,
// and every pending request is reached exactly once: the order is never empty and never an error. Walks use a list
// instead of recursion, so the depth of a chain costs no stack.
//
// Of requests of several priorities, the more urgent ones take their turns first, except that those in progress stay in
// front. A request is as urgent as the most urgent one that waits for it as a parent, directly or not (urgency.go).
//
// # The estimates
//
// [Estimate] plays the queue forward in time: a limited number of requests is in progress at once, and each lane works
// through the requests in queue order. [History] predicts how long a job will take, and with what spread, from the jobs
// that were measured. The times of the play carry their spread with them (point.go). So an estimate is a range, and
// four of five ends lie in it.
package queue

import (
	"cmp"
	"slices"
	"time"

	"github.com/tachobench/tacho/events"
)

// Entry is what the order needs to know of one request.
type Entry struct {
	// ID is unique among all entries of a call.
	ID    events.RequestID
	Kind  events.RequestKind
	State events.RequestState
	Suite events.SuiteName
	// Tag is empty while it is unknown.
	Tag events.Tag
	// Parent is the tag of the parent, in the same suite; empty when the request has none.
	Parent events.Tag
	// PR is the number of the pull request; 0 when there is none, and sorted as 0.
	PR        int
	CreatedAt time.Time
	// StartedAt is when the request started; zero before.
	StartedAt time.Time
	// ReleasedOn is the date of a release, in UTC; zero when it is unknown, and for other kinds.
	ReleasedOn time.Time
	// Priority is how urgent it is by itself.
	Priority events.Priority
}

// Place is one place in the queue.
type Place struct {
	Entry
	// Position counts from 1.
	Position int
	// Level is how many transitive parents are not done. The count starts at level 0 below the nearest unknown parent
	// or parent without artifacts, or at a member of a cycle.
	Level int
	// CountsAs is how urgent it is: at least as urgent as the requests that wait for it.
	CountsAs events.Priority
	// Startable reports whether the request may start now: it is ready, and no request that it should wait for is
	// ahead. As long as any request is ready, the first ready one is startable.
	Startable bool
	// Reason says in words why the request has this place.
	Reason string
}

// Order returns the places of all pending requests, first to last, each request exactly once. The result does not
// depend on the order of the input.
//
// done reports whether a request for the tag has ended, in any state. Order asks it about parents only; it may be nil.
// pending may contain entries that have ended: they get no place, and their tags count as done. If several requests
// have one tag, the tag is done as soon as one of them is.
//
// It takes O(n log n) time for n entries, whatever the graph of their parents.
func Order(pending []Entry, done func(events.SuiteName, events.Tag) bool) []Place {
	spots := findSpots(pending, done)
	levels := urgencies(pending, spots)
	keys := make([]key, 0, len(pending))
	firsts := [5]turn{tangled, tangled, tangled, tangled, tangled}
	for i := range pending {
		s := spots[i]
		if s.turn == ended {
			continue
		}
		k := newKey(i, &pending[i], s)
		if s.turn > running {
			firsts[levels[i]] = min(firsts[levels[i]], s.turn)
			k.numbers[0] += int64(levels[i]) << 40
		}
		keys = append(keys, k)
	}
	slices.SortFunc(keys, func(a, b key) int { return compareKeys(pending, &a, &b) })

	places := make([]Place, len(keys))
	for n, k := range keys {
		e, s, urgent := &pending[k.index], spots[k.index], levels[k.index]
		// Releases never delay masters whose parent is done, but they do delay orphans.
		first := max(firsts[urgent], ready)
		places[n] = Place{
			Entry:     *e,
			Position:  n + 1,
			Level:     int(s.level),
			CountsAs:  urgent.priority(),
			Startable: s.turn == release || s.turn == first && s.level == 0,
			Reason:    urgent.words(e) + reason(e, s),
		}
	}
	return places
}

// turn is the group in which a request takes its place. The groups come in this order.
type turn int8

const (
	ended turn = iota // has no place
	running
	release
	ready
	orphan
	tangled
	waiting
)

// newTurn returns the turn that follows from a request's state and kind. Ready master and try requests begin as
// tangled, and stay so unless a walk reaches them.
func newTurn(e *Entry) turn {
	switch {
	case e.State.Terminal():
		return ended
	case e.State == events.StateInProgress:
		return running
	case e.State != events.StateArtifactsReady:
		return waiting
	case e.Kind == events.Release:
		return release
	}
	return tangled
}

// key is what a request is sorted by: first its numbers, one after another, then version and id. Small keys are the
// main reason why sorting is fast.
type key struct {
	numbers [4]int64
	index   int32
	turn    turn
}

// newKey turns the table of the package comment into numbers. The first number holds turn and level, above them the
// urgency.
func newKey(index int, e *Entry, s spot) key {
	first := int64(s.turn)<<32 | int64(s.level)
	seconds, nanos := e.CreatedAt.Unix(), int64(e.CreatedAt.Nanosecond())
	pr := int64(e.PR)
	k := key{index: int32(index), turn: s.turn}
	switch {
	case s.turn == running:
		k.numbers = [...]int64{first, e.StartedAt.Unix(), int64(e.StartedAt.Nanosecond()), pr}
	case s.turn == release:
		k.numbers = [...]int64{first, e.ReleasedOn.Truncate(24 * time.Hour).Unix(), 0, 0}
	case s.turn == waiting:
		k.numbers = [...]int64{first, pr, seconds, nanos}
	case s.turn == tangled && s.level == 0:
		k.numbers = [...]int64{first, seconds, nanos, 0}
	case e.Kind == events.Master:
		k.numbers = [...]int64{first, 2 * pr, seconds, nanos}
	default:
		k.numbers = [...]int64{first, 2*pr + 1, seconds, nanos}
	}
	return k
}

func compareKeys(entries []Entry, a, b *key) int {
	for i, n := range a.numbers {
		if n != b.numbers[i] {
			return cmp.Compare(n, b.numbers[i])
		}
	}
	x, y := &entries[a.index], &entries[b.index]
	if a.turn == release {
		if c := compareVersions(string(x.Tag), string(y.Tag)); c != 0 {
			return c
		}
	}
	return cmp.Compare(x.ID, y.ID)
}
