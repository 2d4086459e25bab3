// Package queue decides in which order requests are benchmarked, with the reason of every place in words,
// and estimates when each will start and end.
//
// # The order
//
// The order is one pure function, [Order], used by whoever starts requests and by whoever shows them. The
// requests take their turns in six groups, each with its own key; the last tie is always broken by id:
//
//	turn      who                                          ordered by
//	running   in progress                                  start time, PR
//	release   ready releases                               release date, version
//	ready     ready master and try, parents done           level, PR, master before try, creation time
//	orphan    ready, below a parent that nobody knows      level, PR, master before try, creation time
//	tangled   ready, in a cycle of parents or below one,   level; creation time at level 0, below that
//	          or below a parent that waits for artifacts   PR, master before try, creation time
//	waiting   waiting for artifacts                        PR, creation time
//
// The level of a request counts its transitive parents that are still not done. A parent is done once it has
// ended or is in progress; counting those in progress keeps the order from jumping when one of them ends.
// Levels come from one breadth-first walk per turn, which opens a tag when its first request is reached and
// then puts the requests that have this tag as parent one level deeper. The walk of the ready starts at
// requests whose parent is done. What it cannot reach hangs below an unknown parent, below a parent that has
// no artifacts yet, or below a cycle: the later walks start there. Every request names one parent at most, so
// these are all the cases, and every pending request is reached exactly once: the order is never empty and
// never an error. Walks use a list instead of recursion, so that the depth of a chain costs no stack.
//
// # The estimates
//
// [Estimate] plays the queue forward in time: at most so many requests are in progress at once, and each lane
// walks the requests in queue order. [History] tells how long a job will take from those that were measured, and
// how far they spread; the times of the play carry their spread with them (point.go), so that an estimate is a
// range that holds four ends of five.
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
	// Tag is empty while it is not known.
	Tag events.Tag
	// Parent is the tag of the parent, in the same suite; empty when the request has none.
	Parent events.Tag
	// PR is the number of the pull request; 0 when there is none, and sorted as 0.
	PR        int
	CreatedAt time.Time
	// StartedAt is when the request became in progress; zero before.
	StartedAt time.Time
	// ReleasedOn is the date of a release, in UTC; zero when it is not known, and for other kinds.
	ReleasedOn time.Time
}

// Place is one place in the queue.
type Place struct {
	Entry
	// Position counts from 1.
	Position int
	// Level is how many transitive parents are still not done. It counts up to the next unknown parent,
	// parent without artifacts or member of a cycle, which are at level 0.
	Level int
	// Startable reports whether the request may start now: it is ready and nothing that it should wait for
	// is ahead. As long as any request is ready, the first ready one is startable.
	Startable bool
	// Reason says in words why the request has this place.
	Reason string
}

// Order returns the places of all pending requests, first to last, each request exactly once. The order of
// the input does not matter.
//
// done reports whether a request for the tag has ended, in whatever state; it is asked about parents only,
// and may be nil. Entries that have ended may stand among pending: they get no place, and their tags count as
// done. Where several requests have one tag, the tag is done as soon as one of them is.
//
// It costs O(n log n) time for n entries, however their parents hang together.
func Order(pending []Entry, done func(events.SuiteName, events.Tag) bool) []Place {
	spots := settle(pending, done)
	keys := make([]key, 0, len(pending))
	first := tangled
	for i := range pending {
		s := spots[i]
		if s.turn == ended {
			continue
		}
		keys = append(keys, newKey(i, &pending[i], s))
		if s.turn > running {
			first = min(first, s.turn)
		}
	}
	// Releases never hold up masters whose parent is done, but they do hold up orphans.
	first = max(first, ready)
	slices.SortFunc(keys, func(a, b key) int { return compareKeys(pending, &a, &b) })

	places := make([]Place, len(keys))
	for n, k := range keys {
		e, s := &pending[k.index], spots[k.index]
		places[n] = Place{
			Entry:     *e,
			Position:  n + 1,
			Level:     int(s.level),
			Startable: s.turn == release || s.turn == first && s.level == 0,
			Reason:    reason(e, s),
		}
	}
	return places
}

// turn is the group in which a request takes its place; groups follow one another in this order.
type turn int8

const (
	ended turn = iota // no place at all
	running
	release
	ready
	orphan
	tangled
	waiting
)

// newTurn returns the turn of a request as far as its state and kind decide. Master and try requests that
// are ready begin as tangled, which is what they are unless a walk finds them.
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

// key is what a request is sorted by: its numbers one after another, then version and id. Small keys are most
// of what makes sorting fast.
type key struct {
	numbers [4]int64
	index   int32
	turn    turn
}

// newKey writes the table of the package comment as numbers. The first holds turn and level.
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
