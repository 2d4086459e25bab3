package queue

import (
	"slices"

	"github.com/tachobench/tacho/events"
)

// urgency counts the priorities that are more urgent, as events.Priority.Level does.
type urgency int8

var usual = urgency(events.PriorityNormal.Level())

// priority returns the priority; empty for normal.
func (u urgency) priority() events.Priority {
	if u == usual {
		return ""
	}
	return events.Priorities[u]
}

// words says how urgent an entry is; empty for an entry of normal priority.
func (u urgency) words(e *Entry) string {
	switch own := urgency(e.Priority.Level()); {
	case e.State == events.StateInProgress || own == usual && u == usual:
		return ""
	case u < own:
		return events.Priorities[u].String() + ", because a request that waits for it is: "
	}
	return e.Priority.String() + ": "
}

// urgencies returns how urgent each pending entry is. An entry lends its urgency to the requests for its parent, and
// they to theirs. The entries are visited from the most urgent one, so each is raised at most once.
func urgencies(entries []Entry, spots []spot) []urgency {
	own := make([]urgency, len(entries))
	var list []int32
	lends := false
	for i := range entries {
		own[i] = urgency(entries[i].Priority.Level())
		lends = lends || own[i] != usual
	}
	if !lends {
		return own
	}
	members := make(map[artifactTag][]int32, len(entries))
	for i := range entries {
		if spots[i].turn > running {
			list = append(list, int32(i))
			if t := (artifactTag{entries[i].Suite, entries[i].Tag}); t.tag != "" {
				members[t] = append(members[t], int32(i))
			}
		}
	}
	slices.SortStableFunc(list, func(a, b int32) int { return int(own[a] - own[b]) })
	for _, from := range list {
		for stack := []int32{from}; len(stack) > 0; {
			e := &entries[stack[len(stack)-1]]
			stack = stack[:len(stack)-1]
			for _, p := range members[artifactTag{e.Suite, e.Parent}] {
				if own[p] > own[from] {
					own[p] = own[from]
					stack = append(stack, p)
				}
			}
		}
	}
	return own
}
