package ledger

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/rules/graph"
	"github.com/tachobench/tacho/rules/job"
	"github.com/tachobench/tacho/rules/request"
)

// Graph is a graph of a request that may still change: its jobs need one another.
type Graph struct {
	Request events.RequestID
	Number  int
	Kind    events.GraphKind
	// Priority is that of its jobs if they are samples. Cancelled says that it was withdrawn.
	Priority  events.Priority `json:",omitzero"`
	Cancelled bool            `json:",omitzero"`
	// Deadline is by when its jobs should have ended; zero for none. Expired says that it was withdrawn for that.
	Deadline time.Time `json:",omitzero"`
	Expired  bool      `json:",omitzero"`
	// States are those of its jobs, Jobs has the newest round of each.
	States *graph.Graph
	Jobs   []events.JobID
	// Ranks are the places of its jobs in the order in which they are to run; nil if that is the order of their numbers.
	Ranks []int32 `json:",omitempty"`
	// Gone are outputs that the store had not any more.
	Gone []Gone `json:",omitempty"`
	// Lent are the numbers of the jobs of an added graph that its request had before.
	Lent []int `json:",omitempty"`
	// blocked counts the blocked jobs for each lane of a target.
	blocked map[events.Lane]int
}

// place is a job's number in a graph.
type place struct {
	graph  *Graph
	number int
}

// foldGraphCreated begins a graph. Its jobs and needs follow. It begins none that its request cannot have, and none twice.
func (l *Ledger) foldGraphCreated(f events.GraphCreated) {
	if r := l.Requests[f.RequestID]; r == nil || !request.MayBegin(r.State, f) || l.graph(f.RequestID, f.Graph) != nil {
		return
	}
	states := graph.New(f.Jobs, f.Needs)
	if f.OnFailure == events.FailFast {
		states.FailFast()
	}
	l.Graphs[f.RequestID] = append(l.Graphs[f.RequestID], &Graph{
		Request: f.RequestID, Number: f.Graph, Kind: f.Kind, Priority: f.Priority, Deadline: job.Time(f.Deadline), States: states, Jobs: make([]events.JobID, states.Len()), blocked: map[events.Lane]int{},
	})
	l.Graphed[f.RequestID] = max(l.Graphed[f.RequestID], f.Graph+1)
	l.noteTimed(f.RequestID)
	if f.Deadline != "" {
		l.deadlines.add(due{job.Time(f.Deadline), f.RequestID}, l.Timed)
	}
}

// prioritise applies a fact to the priority of a graph of samples, if it is about one.
func (l *Ledger) prioritise(id events.RequestID, f events.RequestFact) {
	changed, ok := f.(events.PriorityChanged)
	if !ok || l.Graphed[id] == 0 || l.Requests[id] == nil {
		return
	}
	if changed.Graph != nil {
		if g := l.graph(id, *changed.Graph); g != nil {
			g.Priority = changed.To
		}
	}
	l.reorder(l.Requests[id], l.seatedBy(id, changed))
}

// foldGraphEnded forgets a graph. What was skipped in it was withdrawn before, unless another request wants it.
func (l *Ledger) foldGraphEnded(f events.GraphEnded) {
	g := l.graph(f.RequestID, f.Graph)
	if g == nil {
		return
	}
	l.reseat(g.Jobs, func() {
		for number, id := range g.Jobs {
			l.leave(id, place{g, number})
			l.Blocked -= one(g.countsBlocked(number))
		}
	})
	left := slices.DeleteFunc(slices.Clone(l.Graphs[f.RequestID]), func(other *Graph) bool { return other == g })
	if l.Graphs[f.RequestID] = left; len(left) == 0 {
		delete(l.Graphs, f.RequestID)
		delete(l.Amending, f.RequestID)
	}
	l.noteOver(f.RequestID)
	l.noteTimed(f.RequestID)
	l.reline(g.Jobs)
}

// noteTimed notes whether a request has an open graph with a deadline.
func (l *Ledger) noteTimed(id events.RequestID) {
	note(l.Timed, id, slices.ContainsFunc(l.Graphs[id], func(g *Graph) bool { return !g.Cancelled && !g.Deadline.IsZero() }))
}

// Overdue returns the open graphs with jobs that have not ended by their deadline, in the order of their requests. A graph of
// a request that was never made, which no program makes, is left out.
func (l *Ledger) Overdue(now time.Time) (all []*Graph) {
	for _, id := range l.deadlines.before(now) {
		if l.Requests[id] == nil {
			continue
		}
		for _, g := range l.Graphs[id] {
			if !g.Cancelled && !g.Deadline.IsZero() && now.After(g.Deadline) && g.States.Left() > 0 && !l.Stopped(id) {
				all = append(all, g)
			}
		}
	}
	return all
}

// keeps reports whether the request of a graph that is cancelled still wants a job of it: one that another of its graphs has,
// or one that it had before.
func (l *Ledger) keeps(g *Graph, number int) bool {
	kept := slices.Contains(g.Lent, number)
	for _, p := range l.in[g.Jobs[number]] {
		if p.graph == g || p.graph.Request != g.Request {
			continue
		}
		if kept = !p.graph.Cancelled; kept {
			return true
		}
	}
	return kept
}

// cancelGraph notes that the request of a graph does not want its jobs any more, but for those that it keeps. nil is
// ignored.
func (l *Ledger) cancelGraph(g *Graph) {
	if g == nil {
		return
	}
	g.Cancelled = true
	l.noteTimed(g.Request)
	l.reseat(g.Jobs, func() {
		for number, id := range g.Jobs {
			j, ok := l.Jobs[id]
			if !ok || j.State.Terminal() || l.keeps(g, number) {
				continue
			}
			list := slices.Clone(j.wantedBy())
			for i, w := range list {
				if w.Request == g.Request {
					list[i] = Wanter{Request: w.Request, Looks: true, Counts: w.Counts}
				}
			}
			j.wanters = &list
		}
	})
}

// PriorityFor returns the priority of a job for a request that wants it. A sample is never more urgent than its request,
// and as urgent if its graph names no priority.
func (l *Ledger) PriorityFor(r *request.Request, j *Job) events.Priority {
	if !j.Sampled() {
		return r.Priority
	}
	for _, at := range l.in[j.ID] {
		if g := at.graph; g.Request == r.ID && g.Priority != "" && g.Priority.Level() > r.Priority.Level() {
			return g.Priority
		}
	}
	return r.Priority
}

// graph returns a graph that has not ended; nil for others.
func (l *Ledger) graph(id events.RequestID, number int) *Graph {
	for _, g := range l.Graphs[id] {
		if g.Number == number {
			return g
		}
	}
	return nil
}

// enter notes that a job is the newest round of a number of a graph, and leave that it is no more.
func (l *Ledger) enter(id events.JobID, at place) {
	at.graph.Jobs[at.number] = id
	l.in[id] = append(slices.Clip(l.in[id]), at)
	if len(l.in[id]) > 1 { // the order is the one that a snapshot gives
		slices.SortStableFunc(l.in[id], func(a, b place) int {
			return cmp.Or(cmp.Compare(a.graph.Request, b.graph.Request), cmp.Compare(l.indexOf(a.graph), l.indexOf(b.graph)), cmp.Compare(a.number, b.number))
		})
	}
}

// join lets a job enter a graph. A sample that waits may be less urgent there: it takes another seat, and another place in its line.
func (l *Ledger) join(id events.JobID, at place) {
	l.reseat([]events.JobID{id}, func() { l.enter(id, at) })
	if j, ok := l.Jobs[id]; ok && j.Sampled() && l.Requests[j.of.request] != nil {
		l.reorder(l.Requests[j.of.request], []events.JobID{id})
	}
}

// indexOf returns the place of a graph among those of its request.
func (l *Ledger) indexOf(g *Graph) int { return slices.Index(l.Graphs[g.Request], g) }

func (l *Ledger) leave(id events.JobID, at place) {
	left := slices.DeleteFunc(slices.Clone(l.in[id]), func(p place) bool { return p == at })
	if l.in[id] = left; len(left) == 0 {
		delete(l.in, id)
	}
}

// foldPart gives the jobs of an event, which exist by now, their numbers; made says which of them it has made. A graph that is
// complete then is settled.
func (l *Ledger) foldPart(f events.JobsCreated, made []bool) {
	g, again := l.graph(f.RequestID, f.Graph.Graph), f.Graph.Again
	if g == nil || len(again) > 0 && len(again) != len(f.Jobs) {
		return
	}
	for i, spec := range f.Jobs {
		if len(again) > 0 {
			if made[i] {
				l.runAgain(g, again[i], spec.ID)
			}
			continue
		}
		if l.number(g, events.SharedJob{Number: f.Graph.First + i, ID: spec.ID, Optional: spec.Optional}) && i < len(f.Graph.Rank) {
			g.rank(f.Graph.First+i, f.Graph.Rank[i])
		}
	}
	for _, s := range f.Graph.Shared {
		if g.Kind == events.GraphAdded && !s.Added && !g.States.Settled() {
			g.Lent = append(g.Lent, s.Number)
		}
		l.number(g, s)
	}
	for _, n := range f.Graph.Needs {
		if n.Output != "" {
			l.noteUse(g, n.Job)
		}
		for _, on := range n.On {
			g.States.Need(graph.Need{Job: n.Job, On: on, Until: n.Until, Output: n.Output})
		}
	}
	if g.States.Complete() && !g.States.Settled() {
		l.Owed = max(l.Owed-1, 0)
		changed := g.States.Settle()
		l.follow(g, changed, "")
		l.reline(g.of(changed))
		l.reline(g.Jobs) // also those that have begun or ended before
	}
}

// number gives a job its number, once. Of a job that had ended before the event, the event knows how, and with which outputs.
func (l *Ledger) number(g *Graph, s events.SharedJob) bool {
	number, id, outputs := s.Number, s.ID, s.Outputs
	if number < 0 || number >= len(g.Jobs) || g.Jobs[number] != "" || id == "" || s.Outcome != "" && !ends(s.Outcome) {
		return false
	}
	if s.Outcome == "" {
		if state := l.StateOf(id); state.Terminal() {
			s.Outcome = events.Outcome(state)
		}
		outputs = l.OutputsOf(id)
	}
	l.join(id, place{g, number})
	g.States.Add(number, s.Optional, s.Outcome)
	for _, name := range outputs {
		g.States.Stored(number, name)
	}
	if j, ok := l.Jobs[id]; ok && j.Place > 0 && !j.State.Terminal() {
		g.States.Begin(number)
	}
	g.block(l.laneOf(id), 1)
	l.Blocked++
	return true
}

// ends reports whether a job can end so.
func ends(o events.Outcome) bool {
	return o == events.Success || o == events.Failure || o == events.Cancelled
}

// countsBlocked reports whether a job is counted as blocked: until the graph is settled, all that are named are.
func (g *Graph) countsBlocked(number int) bool {
	return g.Jobs[number] != "" && (!g.States.Settled() || g.States.State(number) == graph.Blocked)
}

// reblock counts the places in which a job is blocked, once it is in memory, and with -1 before it leaves that: its lane is known
// only there.
func (l *Ledger) reblock(id events.JobID, n int) {
	for _, at := range l.in[id] {
		at.graph.block(l.laneOf(id), n*one(at.graph.countsBlocked(at.number)))
	}
}

// block counts blocked jobs for the lane of a target; those of other jobs are not counted.
func (g *Graph) block(lane events.Lane, n int) {
	if lane != (events.Lane{}) {
		g.blocked[lane] += n
	}
}

// laneOf returns the lane of a target that a job runs on; the zero lane for a matched job, and for one that has left the
// memory.
func (l *Ledger) laneOf(id events.JobID) events.Lane {
	if j, ok := l.Jobs[id]; ok && !j.like.Matched {
		return j.Lane()
	}
	return events.Lane{}
}

// runAgain puts the next round of a job in its place in a graph, and in the added graphs of the request that have the job.
func (l *Ledger) runAgain(g *Graph, number int, id events.JobID) {
	if number < 0 || number >= len(g.Jobs) || !g.States.Settled() || !l.endedIn(g, number) {
		return
	}
	var also []place
	for _, p := range l.in[g.Jobs[number]] {
		if p.graph != g && p.graph.Request == g.Request && p.graph.Kind == events.GraphAdded && l.endedIn(p.graph, p.number) {
			also = append(also, p)
		}
	}
	l.again(g, number, id)
	for _, p := range also {
		l.again(p.graph, p.number, id)
	}
}

// endedIn reports whether a job of a graph is over there, or has ended: one that was withdrawn while it was skipped is blocked again
// once what it needs runs again.
func (l *Ledger) endedIn(g *Graph, number int) bool {
	j, ok := l.Jobs[g.Jobs[number]]
	return g.States.State(number).Over() || ok && j.State.Terminal()
}

// again puts the next round of a job in its place.
func (l *Ledger) again(g *Graph, number int, id events.JobID) {
	g.remade(number, g.Jobs[number])
	before := g.Jobs[number]
	l.reseat([]events.JobID{before}, func() { l.leave(before, place{g, number}) })
	l.join(id, place{g, number})
	g.States.Inputs(number, func(int, string) { l.noteUse(g, number) })
	changed := g.States.Again(number)
	l.follow(g, changed, id)
	l.reline(append(g.of(changed), id))
}

// of returns the jobs that changed, in the order in which they are to run.
func (g *Graph) of(changed []graph.Change) []events.JobID {
	if g.Ranks != nil {
		changed = slices.SortedStableFunc(slices.Values(changed), func(a, b graph.Change) int { return cmp.Compare(g.Ranks[a.Job], g.Ranks[b.Job]) })
	}
	ids := make([]events.JobID, len(changed))
	for i, c := range changed {
		ids[i] = g.Jobs[c.Job]
	}
	return ids
}

// endInGraphs notes the end of a job in all its graphs.
func (l *Ledger) endInGraphs(j *Job) {
	for _, at := range l.in[j.ID] {
		changed := at.graph.States.End(at.number, events.Outcome(j.State))
		l.follow(at.graph, changed, "")
		l.reline(at.graph.of(changed))
	}
}

// beginInGraphs notes in all graphs of a job that it was dispatched.
func (l *Ledger) beginInGraphs(j *Job) {
	for _, at := range l.in[j.ID] {
		changed := at.graph.States.Begin(at.number)
		l.follow(at.graph, changed, "")
		l.reline(at.graph.of(changed))
	}
}

// force lets the needs of a job that has not ended count as met in the graphs of a request.
func (l *Ledger) force(f events.JobForced) {
	j, ok := l.Jobs[f.JobID]
	if !ok || j.State.Terminal() {
		return
	}
	for _, at := range l.in[j.ID] {
		if at.graph.Request == f.RequestID {
			changed := at.graph.States.Force(at.number)
			l.follow(at.graph, changed, "")
			l.reline(at.graph.of(changed))
		}
	}
}

// follow counts what changed states of a graph mean for its request. fresh is a new round that has taken the place of
// another one; empty for none.
func (l *Ledger) follow(g *Graph, changed []graph.Change, fresh events.JobID) {
	for _, c := range changed {
		more := one(c.Now == graph.Blocked) - one(c.Was == graph.Blocked)
		g.block(l.laneOf(g.Jobs[c.Job]), more)
		l.Blocked += more
		j, ok := l.Jobs[g.Jobs[c.Job]]
		if !ok || j.State.Terminal() || !slices.ContainsFunc(j.wantedBy(), func(w Wanter) bool { return w.Request == g.Request && w.Counts }) {
			continue
		}
		if first, _, _ := l.NumberOf(g.Request, j.ID); first != g {
			continue
		}
		if was, is := c.Was == graph.Skipped && j.ID != fresh, c.Now == graph.Skipped; was != is && l.Running[g.Request] {
			l.Open[g.Request] += one(was) - one(is)
			l.noteDue(g.Request)
		}
	}
	l.noteOver(g.Request)
}

// noteOver notes whether a request has a graph that can end: all its jobs are over, and none of them can run again in it.
func (l *Ledger) noteOver(id events.RequestID) { note(l.Over, id, len(l.OverOf(id)) > 0) }

// OverOf returns the graphs of a request that can end, by number.
func (l *Ledger) OverOf(id events.RequestID) (over []*Graph) {
	for _, g := range l.Graphs[id] {
		open := g.Kind == events.GraphInitial || g.Kind == events.GraphBackfill || g.Kind == events.GraphAdded
		if _, pending := l.Pending[id]; g.States.Settled() && g.States.Left() == 0 && !(open && pending) {
			over = append(over, g)
		}
	}
	return over
}

// Leftover returns the jobs that were skipped in a graph and that no other request waits for: they end with it.
func (l *Ledger) Leftover(g *Graph) (jobs []events.JobID) {
	for number, id := range g.Jobs {
		j, ok := l.Jobs[id]
		if !ok || g.States.State(number) != graph.Skipped || j.State != events.JobQueued || j.Place > 0 || len(l.in[id]) > 1 {
			continue
		}
		if j.Sampled() || !slices.ContainsFunc(j.wantedBy(), func(w Wanter) bool { return l.Pending[w.Request] != nil && !w.Looks }) {
			jobs = append(jobs, id)
		}
	}
	return jobs
}

func one(is bool) int {
	if is {
		return 1
	}
	return 0
}

// Held reports whether a job that has not ended must not run yet: it is in graphs, and none of them has it ready.
func (l *Ledger) Held(j *Job) bool {
	if !j.Graphed {
		return false
	}
	places := l.in[j.ID]
	return len(places) > 0 && !slices.ContainsFunc(places, func(at place) bool { return at.graph.States.State(at.number) == graph.Ready })
}

// Skips returns the job because of which another one is skipped for a request; false if it is not skipped. Of several graphs
// that have the job, the first one says so: the others only wait for it.
func (l *Ledger) Skips(id events.RequestID, j *Job) (cause events.JobID, ok bool) {
	g, number, ok := l.NumberOf(id, j.ID)
	if !ok {
		return "", false
	}
	on, skipped := g.States.Cause(number)
	if !skipped {
		return "", false
	}
	return g.Jobs[on], true
}

// NumberOf returns the first open graph of a request that has a job, and the job's number there; false if there is none.
func (l *Ledger) NumberOf(id events.RequestID, job events.JobID) (g *Graph, number int, ok bool) {
	for _, at := range l.in[job] {
		if at.graph.Request == id {
			return at.graph, at.number, true
		}
	}
	return nil, 0, false
}

// NumberIn returns the number of a job in an open graph; false if it is not in it.
func (l *Ledger) NumberIn(g *Graph, job events.JobID) (number int, ok bool) {
	for _, at := range l.in[job] {
		if at.graph == g {
			return at.number, true
		}
	}
	return 0, false
}

// Awaits reports whether a request has blocked jobs for a lane.
func (l *Ledger) Awaits(id events.RequestID, lane events.Lane) bool {
	return slices.ContainsFunc(l.Graphs[id], func(g *Graph) bool { return g.blocked[lane] > 0 })
}

// reline puts the jobs that may run into the line, and takes those that must not out of it.
func (l *Ledger) reline(jobs []events.JobID) {
	for _, id := range jobs {
		j, ok := l.Jobs[id]
		if !ok || j.State != events.JobQueued || j.Place > 0 || j.lined == !l.Held(j) {
			continue
		}
		l.reseat([]events.JobID{id}, func() {
			if j.lined {
				l.unqueue(j)
				return
			}
			if j.like.Matched {
				l.near(j)
			}
			l.back(j, l.at)
		})
		l.noteUnserved(j.Lane())
	}
}

// restoreGraphs makes what a snapshot leaves out of graphs.
func (l *Ledger) restoreGraphs() {
	for _, id := range slices.Sorted(maps.Keys(l.Graphs)) {
		for _, g := range l.Graphs[id] {
			g.blocked = map[events.Lane]int{}
			for number, job := range g.Jobs {
				if job == "" {
					continue
				}
				l.in[job] = append(l.in[job], place{g, number})
				blocked := one(g.countsBlocked(number))
				g.block(l.laneOf(job), blocked)
				l.Blocked += blocked
			}
		}
		l.noteOver(id)
		l.noteTimed(id)
		for _, g := range l.Graphs[id] {
			if !g.Deadline.IsZero() {
				l.deadlines.add(due{g.Deadline, id}, l.Timed)
			}
		}
	}
}
