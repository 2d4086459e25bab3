package ledger

import (
	"cmp"
	"math"
	"slices"

	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/rules/request"
)

// rank notes the place of a job in the order of a graph.
func (g *Graph) rank(number, rank int) {
	if number < 0 || number >= len(g.Jobs) {
		return
	}
	if g.Ranks == nil {
		g.Ranks = make([]int32, len(g.Jobs))
	}
	g.Ranks[number] = int32(min(max(rank, 0), math.MaxInt32))
}

// order is where a job stands among those of its maker in a line: the more urgent one first, samples last, backfill first,
// then by graph, rank and number. Those that were made in no graph come after these.
type order struct {
	level, sampled, own int
	graph               int
	rank                int32
	number              int
}

func (l *Ledger) orderOf(j *Job) order {
	o := order{sampled: one(j.Sampled()), own: one(!j.like.Backfill || j.Sampled()), graph: l.Graphed[j.of.request]}
	if maker := l.Requests[j.of.request]; maker != nil {
		o.level = l.PriorityFor(maker, j).Level()
	}
	for _, at := range l.in[j.ID] {
		if at.graph.Request != j.of.request || !j.Graphed {
			continue
		}
		o.graph, o.number = at.graph.Number, at.number
		if at.graph.Ranks != nil {
			o.rank = at.graph.Ranks[at.number]
		}
		return o
	}
	o.own = 1
	return o
}

func (o order) compare(other order) int {
	return cmp.Or(
		cmp.Compare(o.level, other.level), cmp.Compare(o.sampled, other.sampled), cmp.Compare(o.own, other.own), cmp.Compare(o.graph, other.graph),
		cmp.Compare(o.rank, other.rank), cmp.Compare(o.number, other.number),
	)
}

// standsBefore returns the place in a line that a job comes to: behind those of its request that come before it.
func (l *Ledger) standsBefore(waiting []events.JobID, j *Job) int {
	if l.Graphed[j.of.request] == 0 {
		return len(waiting)
	}
	own := l.orderOf(j)
	behind := func(id events.JobID, own order) int {
		if l.orderOf(l.Jobs[id]).compare(own) <= 0 {
			return -1
		}
		return 1
	}
	if n := len(waiting); n == 0 || behind(waiting[n-1], own) < 0 { // those of a graph come in their order
		return n
	}
	at, _ := slices.BinarySearchFunc(waiting, own, behind)
	return at
}

// reorder puts the waiting jobs of a request in their order again, after its priority or that of its samples has changed.
func (l *Ledger) reorder(r *request.Request, jobs []events.JobID) {
	seen := map[*Line]bool{}
	for _, id := range jobs {
		j, ok := l.Jobs[id]
		if !ok || !j.lined {
			continue
		}
		if line := l.lineOf(j); !seen[line] {
			seen[line] = true
			slices.SortStableFunc(line.Queued[r.ID], func(a, b events.JobID) int { return l.orderOf(l.Jobs[a]).compare(l.orderOf(l.Jobs[b])) })
		}
	}
}
