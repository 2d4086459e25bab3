package ledger

import (
	"cmp"
	"container/heap"
	"slices"
	"strings"
	"time"

	"github.com/tachobench/tacho/events"
)

// Touch is how many times the lanes of a ledger were touched. A decider keeps the one up to which it has looked.
type Touch uint64

// trail is which lanes events touched, the newest last. It is bounded: a reader that is too far behind looks at all lanes.
type trail struct {
	// before counts the touches that are not kept.
	before Touch
	lanes  []events.Lane
}

// trailMin is how many touches are kept at least; with many lanes, two for each.
const trailMin = 1024

// touch notes that an event may have changed what a lane can do, once for each event.
func (l *Ledger) touch(name events.Lane, lane *Lane) {
	if lane.touched == l.Seq {
		return
	}
	lane.touched = l.Seq
	if len(l.trail.lanes) >= max(trailMin, 2*len(l.Lanes)) {
		l.touchAll()
	}
	l.trail.lanes = append(l.trail.lanes, name)
}

// touchAll notes that an event may have changed what any lane can do.
func (l *Ledger) touchAll() {
	l.trail = trail{before: l.trail.before + Touch(len(l.trail.lanes)) + 1}
}

// Touched returns the lanes that events have touched since a reader looked last, in the order of LaneOrder, and up to where it has
// looked after that. A reader that looked never, or not for long, gets all lanes: then all is true.
func (l *Ledger) Touched(since Touch) (lanes []events.Lane, now Touch, all bool) {
	t := &l.trail
	now = t.before + Touch(len(t.lanes))
	if since < t.before || since > now {
		return l.LaneOrder, now, true
	}
	return SortLanes(slices.Clone(t.lanes[since-t.before:])), now, false
}

// SortLanes puts lanes in the order of LaneOrder, each once.
func SortLanes(lanes []events.Lane) []events.Lane {
	slices.SortFunc(lanes, compareLanes)
	return slices.Compact(lanes)
}

func compareLanes(a, b events.Lane) int {
	if a.Target == b.Target && a.Set == b.Set {
		return 0
	}
	return strings.Compare(a.String(), b.String())
}

// due is when something about a request is due.
type due struct {
	at time.Time
	id events.RequestID
}

// dues are what is due, the first one in front. What is over is left out when it comes to the front.
type dues []due

func (d dues) Len() int { return len(d) }
func (d dues) Less(a, b int) bool {
	return cmp.Or(d[a].at.Compare(d[b].at), cmp.Compare(d[a].id, d[b].id)) < 0
}
func (d dues) Swap(a, b int) { d[a], d[b] = d[b], d[a] }

// Push implements heap.Interface.
func (d *dues) Push(x any) { *d = append(*d, x.(due)) }

// Pop implements heap.Interface.
func (d *dues) Pop() any {
	last := len(*d) - 1
	x := (*d)[last]
	*d = (*d)[:last]
	return x
}

// add notes when something is due. It drops what is in front and not in open any more, and makes the heap anew when most of it is
// over.
func (d *dues) add(x due, open map[events.RequestID]bool) {
	if len(*d) > 64 && len(*d) > 4*len(open) {
		*d = slices.DeleteFunc(*d, func(x due) bool { return !open[x.id] })
		heap.Init(d)
	}
	for len(*d) > 0 && !open[(*d)[0].id] {
		heap.Pop(d)
	}
	heap.Push(d, x)
}

// before returns the requests with something due before a time, in order, each once. It looks at no others.
func (d dues) before(at time.Time) (ids []events.RequestID) {
	var visit func(int)
	visit = func(i int) {
		if i < len(d) && d[i].at.Before(at) {
			ids = append(ids, d[i].id)
			visit(2*i + 1)
			visit(2*i + 2)
		}
	}
	visit(0)
	slices.Sort(ids)
	return slices.Compact(ids)
}

// WaitingSince returns the requests that wait for artifacts and were created before a time, in order.
func (l *Ledger) WaitingSince(at time.Time) []events.RequestID {
	return slices.DeleteFunc(l.waits.before(at), func(id events.RequestID) bool { return !l.Waiting[id] })
}
