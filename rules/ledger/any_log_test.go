package ledger

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/internal/hostile"
	"github.com/tachobench/tacho/rules/match"
	"github.com/tachobench/tacho/rules/request"
	"github.com/tachobench/tacho/rules/share"
)

// logLength is how many facts one log has.
const logLength = 200

// Whatever stands in the log, in whatever order: the ledger folds it, stays sound, and its snapshot loses nothing.
func TestAnyLogAgreesWithTheLedger(t *testing.T) {
	hostile.ShapesIn(t, "../../events/testdata").FoldAny(t, anyFacts/logLength, logLength, foldAny)
}

// foldAny folds a log, and returns in words what is wrong with the ledger; empty if nothing is.
func foldAny(log []events.Stored) (n int, why string) {
	whole, part := New(), New()
	var still Frozen
	var then []byte
	for i, m := range log {
		if i == len(log)/2 {
			var err, also error
			still, err = whole.Freeze()
			then, also = whole.Snapshot()
			if err := errors.Join(err, also); err != nil {
				return i, err.Error()
			}
		}
		if why := foldNext(&whole, &part, m, i%8 == 0 || i == len(log)-1); why != "" {
			return i + 1, why
		}
	}
	if len(log) == 0 {
		return 0, ""
	}
	if now, err := still.Snapshot(); err != nil || !bytes.Equal(now, then) {
		return len(log), fmt.Sprintf("frozen it was\n%s\nand at the end (%v)\n%s", then, err, now)
	}
	return len(log), ""
}

// foldNext folds one event. At times the ledger part is made anew from a snapshot.
func foldNext(whole, part **Ledger, m events.Stored, anew bool) string {
	for _, l := range []*Ledger{*whole, *part} {
		if _, err := l.Take(m); err != nil {
			return err.Error()
		}
	}
	if why := (*whole).unsound(); why != "" {
		return why
	}
	(*whole).read(m.StoredAt)
	if !anew {
		return ""
	}
	restored, data, err := again(*whole)
	if err != nil {
		return err.Error()
	}
	if _, also, err := again(*part); err != nil || !bytes.Equal(data, also) {
		at := 0
		for at < min(len(data), len(also)) && data[at] == also[at] {
			at++
		}
		around := func(data []byte) []byte { return data[max(at-200, 0):min(at+200, len(data))] }
		return fmt.Sprintf("the same facts gave\n%s\nand after snapshots (%v)\n%s", around(data), err, around(also))
	}
	if why := restored.unsound(); why != "" {
		return "restored: " + why
	}
	*part = restored
	return (*whole).differs(restored)
}

// again returns the ledger that a snapshot gives, and the snapshot of that: whether a list is empty or missing makes no
// difference.
func again(l *Ledger) (*Ledger, []byte, error) {
	data, err := l.Snapshot()
	if err != nil {
		return nil, nil, err
	}
	restored, err := Restore(data)
	if err != nil {
		return nil, nil, err
	}
	data, err = restored.Snapshot()
	return restored, bytes.ReplaceAll(data, []byte(":[]"), []byte(":null")), err
}

// unsound says in words what contradicts itself in a ledger; empty if nothing does.
func (l *Ledger) unsound() string {
	lined, seen := 0, map[events.JobID]bool{}
	line := func(of Line, what any) string {
		for maker, ids := range of.Queued {
			if len(ids) == 0 {
				return fmt.Sprintf("%v has an empty line of %s", what, maker)
			}
			for _, id := range ids {
				j := l.Jobs[id]
				if j == nil || seen[id] || j.State != events.JobQueued || j.Place > 0 || !j.lined || j.of.request != maker {
					return fmt.Sprintf("%v has job %q of %s in its line: %+v", what, id, maker, j)
				}
				seen[id] = true
				lined++
			}
		}
		return ""
	}
	for name, lane := range l.Lanes {
		if why := line(lane.Line, name); why != "" {
			return why
		}
		for place, id := range lane.Work.Dispatched {
			if d, ok := lane.Dispatches[place]; !ok || d.Job.ID != id || place == 0 {
				return fmt.Sprintf("lane %s has job %s at place %d, dispatched as %+v", name, id, place, d)
			}
		}
		if len(lane.Work.Dispatched) != len(lane.Dispatches) {
			return fmt.Sprintf("lane %s has %d jobs and %d dispatches", name, len(lane.Work.Dispatched), len(lane.Dispatches))
		}
	}
	for key, c := range l.Classes {
		if why := line(c.Line, key); why != "" {
			return why
		}
		if len(c.Queued) == 0 {
			return "no job waits in class " + key
		}
		for id := range c.Ready {
			if len(c.Queued[id]) == 0 {
				return fmt.Sprintf("class %q is ready for %s, of which no job waits", key, id)
			}
		}
	}
	busy := map[events.RequestID]int{}
	for id, j := range l.Jobs {
		if j.ID != id || j.lined != seen[id] || l.Past.has(id) {
			return fmt.Sprintf("job %s is %+v, and stands in a line: %v", id, j, seen[id])
		}
		if j.resting != (j.State.Terminal() && !l.OnLane(j)) {
			return fmt.Sprintf("job %s rests: %v", id, j.resting)
		}
		for _, w := range j.wantedBy() {
			if !j.resting {
				busy[w.Request]++
			}
		}
	}
	waiting := map[share.Leaf]int32{}
	seats := Seats{In: map[events.QueueName]int{}, Of: map[events.AccountName]int{}}
	for _, s := range l.seatsOf(slices.Collect(maps.Keys(l.Jobs))) {
		seats.add(s.leaf, 1)
		if s.leaf.Tier = events.Priority("").Tier(); !s.empty {
			waiting[s.leaf]++
		}
	}
	for _, n := range l.Tree.Image().Nodes {
		at := share.Leaf{Tier: events.Priority("").Tier(), Queue: n.Queue, Account: n.Account}
		if waiting[at] -= n.Jobs; waiting[at] == 0 {
			delete(waiting, at)
		}
	}
	if len(waiting) > 0 {
		return fmt.Sprintf("%v more jobs wait than the tree knows", waiting)
	}
	if !reflect.DeepEqual(seats, l.Seats) {
		return fmt.Sprintf("the seats are %v, and known as %v", seats, l.Seats)
	}
	return cmpOr(l.unsoundRequests(busy), l.unsoundGraphs())
}

func cmpOr(list ...string) string {
	for _, s := range list {
		if s != "" {
			return s
		}
	}
	return ""
}

func (l *Ledger) unsoundRequests(busy map[events.RequestID]int) string {
	known := maps.Clone(l.busy)
	maps.DeleteFunc(known, func(_ events.RequestID, n int) bool { return n == 0 })
	if !maps.Equal(busy, known) {
		return fmt.Sprintf("jobs that do not rest: %v, known are %v", busy, l.busy)
	}
	for id, n := range l.Open {
		if n < 0 {
			return fmt.Sprintf("%s waits for %d jobs", id, n)
		}
	}
	counted := New()
	for id, r := range l.Requests {
		if r.ID != id {
			return fmt.Sprintf("request %s is %+v", id, r)
		}
		counted.sort(r)
	}
	over, due := map[events.RequestID]bool{}, map[events.RequestID]bool{}
	for id := range l.Graphs {
		note(over, id, len(l.OverOf(id)) > 0)
	}
	for id := range l.Running {
		note(due, id, l.Open[id] == 0)
	}
	for what, pair := range map[string][2]any{
		"over": {over, l.Over}, "due": {due, l.Due},
		"pending": {keysOf(counted.Pending), keysOf(l.Pending)}, "running": {counted.Running, l.Running}, "waiting": {counted.Waiting, l.Waiting},
		"ready": {counted.Ready, l.Ready}, "wishing": {counted.Wishing, l.Wishing}, "in progress": {counted.InProgress, l.InProgress},
		"outside": {counted.Outside, l.Outside}, "vips": {counted.VIPs, l.VIPs},
	} {
		if !reflect.DeepEqual(pair[0], pair[1]) {
			return fmt.Sprintf("%s are %v, and known as %v", what, pair[0], pair[1])
		}
	}
	return ""
}

func keysOf[V any](m map[events.RequestID]V) []events.RequestID { return slices.Sorted(maps.Keys(m)) }

func (l *Ledger) unsoundGraphs() string {
	blocked, places := 0, 0
	for id, all := range l.Graphs {
		for _, g := range all {
			if g.Request != id || len(g.Jobs) != g.States.Len() || g.Ranks != nil && len(g.Ranks) != len(g.Jobs) {
				return fmt.Sprintf("graph %d of %s is %+v", g.Number, id, g)
			}
			lanes := map[events.Lane]int{}
			for number, job := range g.Jobs {
				if job == "" {
					continue
				}
				places++
				if !slices.Contains(l.in[job], place{g, number}) {
					return fmt.Sprintf("job %s is not known to be number %d of graph %d of %s", job, number, g.Number, id)
				}
				if g.countsBlocked(number) {
					blocked++
					if lane := l.laneOf(job); lane != (events.Lane{}) {
						lanes[lane]++
					}
				}
			}
			maps.DeleteFunc(lanes, func(lane events.Lane, n int) bool { return n == g.blocked[lane] })
			if len(lanes) > 0 {
				return fmt.Sprintf("graph %d of %s has blocked jobs %v, known are %v", g.Number, id, lanes, g.blocked)
			}
		}
	}
	known := 0
	for _, list := range l.in {
		known += len(list)
	}
	if known != places || blocked != l.Blocked {
		return fmt.Sprintf("%d jobs of graphs, known are %d; %d are blocked, known are %d", places, known, blocked, l.Blocked)
	}
	return ""
}

// differs says in words what a restored ledger has otherwise; empty if nothing. What a snapshot holds is compared as bytes.
func (l *Ledger) differs(r *Ledger) string {
	places := func(l *Ledger) (all []string) {
		for id, list := range l.in {
			for _, p := range list {
				all = append(all, fmt.Sprint(id, p.graph.Request, p.graph.Number, p.number))
			}
		}
		slices.Sort(all)
		return all
	}
	rooms := func(l *Ledger) (all []string) {
		for name, m := range l.Machines {
			all = append(all, fmt.Sprint(name, m.room.Open(), m.room.FreeMemoryMiB(), len(m.serves), m.Takers))
		}
		slices.Sort(all)
		return all
	}
	for what, pair := range map[string][2]any{
		"Due": {l.Due, r.Due}, "Late": {l.Late, r.Late}, "children": {l.children, r.children}, "Over": {l.Over, r.Over}, "Timed": {l.Timed, r.Timed},
		"in": {places(l), places(r)}, "Blocked": {l.Blocked, r.Blocked}, "Alike": {l.Alike, r.Alike}, "keys": {l.keys, r.keys},
		"Seats": {l.Seats, r.Seats}, "Blamed": {l.Blamed, r.Blamed}, "Lengths": {l.Lengths, r.Lengths}, "rooms": {rooms(l), rooms(r)},
		"Tree": {l.Tree.Image(), r.Tree.Image()}, "yielders": {len(l.yielders), len(r.yielders)},
	} {
		if !reflect.DeepEqual(pair[0], pair[1]) {
			return fmt.Sprintf("%s of the restored ledger: %v, want %v", what, pair[1], pair[0])
		}
	}
	return ""
}

// read asks a ledger what parts of the core ask it.
func (l *Ledger) read(now time.Time) {
	w := match.Waits{Now: now, Affinity: time.Minute, Room: time.Minute}
	l.Stuck()
	l.Overdue(now)
	l.EmptyJobs()
	l.WaitingSince(now)
	for _, r := range l.Requests {
		l.NewestRounds(r)
		l.Amends(r)
		l.Unwanted(r.ID)
		l.lackedBy(r, now)
		for _, g := range l.Graphs[r.ID] {
			l.Leftover(g)
		}
	}
	for _, name := range l.LaneOrder {
		lane := l.Lanes[name]
		l.Queued(lane)
		if _, j, ok := l.Next(lane, w); ok {
			l.Divide(j, w)
			l.Part(lane, j)
			l.Tokens(lane, j)
			l.Inputs(j)
			l.Taken(j, name)
		}
	}
	for _, j := range l.Jobs {
		l.Expected(j)
		l.Lacks(j.Spec(), now)
		l.Skips(j.of.request, j)
	}
	for _, name := range slices.Sorted(maps.Keys(l.Machines)) {
		l.FullOf(name, now)
	}
	for _, c := range l.Classes {
		_ = l.Lacking(c)
	}
}

func (l *Ledger) lackedBy(r *request.Request, now time.Time) {
	if own, backfill, _, err := l.Expand(r); err == nil {
		l.Missing(append(own, backfill...), now)
	}
}
