package match

import (
	"slices"
	"time"
)

// Waits says how long jobs may wait for a better machine.
type Waits struct {
	Now time.Time
	// Affinity is how long a job waits for a machine that has its caches while others could run it; 0 means not at all.
	Affinity time.Duration
	// Room is how long a job that is first waits for room before a machine is held for it; 0 means for ever.
	Room time.Duration
}

// Open is an open place on a machine: what it reserves, and when it is expected to end.
type Open struct {
	Needs Requirement
	Ends  time.Time
}

// Frees returns how many of the open places of a machine must end until it has room for what a job requires, if they end
// as expected; 0 if it has room now. It sorts the places by their ends.
func Frees(o Offer, open []Open, needs Requirement) int {
	slices.SortStableFunc(open, func(a, b Open) int { return a.Ends.Compare(b.Ends) })
	room := NewRoom(o)
	for _, p := range open {
		room.Reserve(p.Needs)
	}
	for n, p := range open {
		if room.Fits(needs) {
			return n
		}
		room.Free(p.Needs)
	}
	return len(open)
}
