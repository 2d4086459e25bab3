package projector

import (
	"cmp"
	"slices"
	"time"

	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/rules/graph"
	"github.com/tachobench/tacho/rules/job"
	"github.com/tachobench/tacho/rules/request"
)

// graphCreated begins a graph that has no jobs yet. It refuses one that no request could have at this time, and one that
// exists.
func (s *state) graphCreated(m moment, f events.GraphCreated) {
	key := graphKey{f.RequestID, f.Graph}
	r := s.requests[f.RequestID]
	if r == nil || s.graphs[key] != nil || !storable(f.RequestID) || !request.MayBegin(r.State, f) {
		s.refused++
		return
	}
	rule := f.OnFailure
	if rule != events.FailFast {
		rule = events.KeepGoing
	}
	s.graphs[key] = newOpenGraph(graphRow{
		RequestID: f.RequestID, Number: f.Graph, Kind: f.Kind, Key: cleanText(f.Key), Jobs: f.Jobs, Needs: f.Needs, LeftNeeds: f.Needs,
		CreatedAt: m.at, CreatedSeq: m.seq, Priority: graphPriority(f.Priority), OnFailure: rule, Deadline: deadline(f.Deadline), Customised: f.Customised,
	})
	s.dirtyGraphs[key] = true
}

// deadline returns the time of an event's text; nil for none, and for one that is no time.
func deadline(text string) *time.Time {
	at := job.Time(text)
	if at.IsZero() {
		return nil
	}
	return pointer(at.UTC())
}

// jobsOfGraph gives the jobs of an event their places in a graph, and notes what they need. made says which of them the
// event has made.
func (s *state) jobsOfGraph(m moment, f events.JobsCreated, made []bool) {
	part := f.Graph
	g := s.graphs[graphKey{f.RequestID, part.Graph}]
	switch {
	case g == nil || g.ended() || len(part.Again) > 0 && len(part.Again) != len(f.Jobs):
		s.refused++
		return
	case len(part.Again) > 0:
		s.runAgain(m, g, f, made)
	default:
		g.countCopies(f.Jobs)
		for i, spec := range f.Jobs {
			if !s.name(g, events.SharedJob{Number: part.First + i, ID: spec.ID, Optional: spec.Optional}) {
				continue
			}
			g.rankJob(part, i)
			if made[i] {
				s.seat(g, part.First+i, spec.ID)
			}
		}
	}
	for _, shared := range part.Shared {
		if j := s.jobs[shared.ID]; shared.Outcome == "" && j != nil {
			shared.Outputs = j.Outputs
			if j.State.Terminal() {
				shared.Outcome = events.Outcome(j.State) // it ended while the graph was made
			}
		}
		s.name(g, shared)
	}
	for _, n := range part.Needs {
		for _, on := range n.On {
			s.need(g, graph.Need{Job: n.Job, On: on, Until: n.Until, Output: n.Output})
		}
	}
	s.dirtyGraphs[g.key()] = true
	s.seal(m, g)
	for i := range f.Jobs {
		s.hold(m, f.Jobs[i].ID)
	}
	for _, shared := range part.Shared {
		s.hold(m, shared.ID)
	}
}

// name gives a number of a graph its job, once.
func (s *state) name(g *openGraph, j events.SharedJob) bool {
	known := j.Outcome == "" || j.Outcome == events.Success || j.Outcome == events.Failure || j.Outcome == events.Cancelled
	if g.row.Sealed || !g.has(j.Number) || g.jobs[j.Number] != "" || j.ID == "" || !storable(j.ID) || !known {
		s.refused++
		return false
	}
	g.rules.Add(j.Number, j.Optional, j.Outcome)
	if row := s.jobs[j.ID]; row != nil && row.Place > 0 && !row.State.Terminal() {
		g.rules.Begin(j.Number)
	}
	for _, name := range j.Outputs {
		g.rules.Stored(j.Number, name)
	}
	g.jobs[j.Number] = j.ID
	s.enter(g, j.Number, j.ID)
	return true
}

// need notes what a job of a graph needs. A need that cannot be is counted as named.
func (s *state) need(g *openGraph, n graph.Need) {
	if g.row.LeftNeeds == 0 {
		s.refused++
		return
	}
	g.row.LeftNeeds--
	g.rules.Need(n)
	if !g.has(n.Job) || !g.has(n.On) || n.Job == n.On {
		s.refused++
	}
}

// seal gives the jobs of a graph their first states once all jobs and needs are named. A graph whose jobs wait for each
// other is never sealed.
func (s *state) seal(m moment, g *openGraph) {
	if g.row.Sealed || !g.rules.Complete() {
		return
	}
	var needs []graph.Need
	g.rules.Needs(func(n graph.Need, _ bool) { needs = append(needs, n) })
	if err := graph.Check(len(g.jobs), needs, func(int) string { return "" }); err != nil {
		s.refused++
		return
	}
	g.row.Sealed = true
	g.rules.Settle()
	for _, id := range g.jobs {
		s.hold(m, id)
	}
}

// runAgain makes the jobs that an event has made the newest rounds of jobs of a graph.
func (s *state) runAgain(m moment, g *openGraph, f events.JobsCreated, made []bool) {
	for i, number := range f.Graph.Again {
		if !made[i] {
			continue
		}
		if !g.row.Sealed || !g.has(number) || !s.endedIn(g, number) || !storable(f.Jobs[i].ID) {
			s.refused++
			continue
		}
		before := slices.Clone(s.places[g.jobs[number]])
		s.again(m, g, number, f.Jobs[i].ID)
		s.seat(g, number, f.Jobs[i].ID)
		s.jobs[f.Jobs[i].ID].Forced = g.forced[number]
		for _, p := range before { // the added graphs of the request that have the job
			if p.graph != g && p.graph.row.RequestID == f.RequestID && p.graph.row.Kind == events.GraphAdded && p.graph.row.Sealed && s.endedIn(p.graph, p.number) {
				s.again(m, p.graph, p.number, f.Jobs[i].ID)
			}
		}
	}
}

// endedIn reports whether a job of a graph is over there, or has ended: one that was withdrawn while it was skipped is blocked again
// once what it needs runs again.
func (s *state) endedIn(g *openGraph, number int) bool {
	j := s.jobs[g.jobs[number]]
	return g.rules.State(number).Over() || j != nil && j.State.Terminal()
}

// again puts the next round of a job in its place.
func (s *state) again(m moment, g *openGraph, number int, id events.JobID) {
	s.leave(g, number)
	g.jobs[number] = id
	s.enter(g, number, id)
	s.dirtyGraphs[g.key()] = true
	s.follow(m, g, g.rules.Again(number))
}

// beginInGraphs notes in every open graph that has the job that it was dispatched.
func (s *state) beginInGraphs(m moment, j *jobRow) {
	for _, p := range s.places[j.ID] {
		if p.graph.row.OnFailure == events.FailFast { // it means nothing in others
			s.dirtyGraphs[p.graph.key()] = true
			s.follow(m, p.graph, p.graph.rules.Begin(p.number))
		}
	}
}

// jobForced lets the needs of a job that has not ended count as met in the open graphs of a request. One that waits for no
// job stays as it is: what it needs ended a moment before.
func (s *state) jobForced(m moment, f events.JobForced) {
	j := s.jobs[f.JobID]
	if j == nil {
		s.refused++
		return
	}
	if j.State.Terminal() {
		return
	}
	for _, p := range s.places[j.ID] {
		if p.graph.row.RequestID != f.RequestID {
			continue
		}
		if changes := p.graph.rules.Force(p.number); len(changes) > 0 {
			j.Forced = cmp.Or(cleanText(f.Reason), "no reason")
			p.graph.forced[p.number] = j.Forced
			s.dirtyGraphs[p.graph.key()], s.dirtyJobs[j.ID] = true, true
			s.follow(m, p.graph, changes)
		}
	}
	s.touchQueue(m)
}

// endInGraphs notes in every open graph that has the job how it ended.
func (s *state) endInGraphs(m moment, j *jobRow) {
	for _, p := range s.places[j.ID] {
		s.dirtyGraphs[p.graph.key()] = true
		s.follow(m, p.graph, p.graph.rules.End(p.number, events.Outcome(j.State)))
	}
}

// follow holds jobs whose state in a graph changed, or lets them go.
func (s *state) follow(m moment, g *openGraph, changes []graph.Change) {
	for _, c := range changes {
		s.hold(m, g.jobs[c.Job])
	}
}

// hold notes whether a job waits for others.
func (s *state) hold(m moment, id events.JobID) {
	j := s.jobs[id]
	if j == nil {
		return
	}
	held := s.heldBy(j)
	if held == j.Held {
		return
	}
	j.Held = held
	s.dirtyJobs[id] = true
	switch {
	case j.LogBegunAt != nil: // its wait is over, whatever comes
	case held != "":
		j.LogReadyAt = nil
	case j.State == events.JobQueued:
		j.LogReadyAt = m.logged()
	}
	if held == "" && j.free() && j.State == events.JobQueued { // it comes into the line of those that wait for a machine
		j.Near, j.MovedAt = s.near(j), pointer(m.at)
	}
}

// heldBy returns the state of a job of a graph that waits, and that no open graph has ready: blocked if it may still become ready in
// one of them, else skipped. It is empty for other jobs.
func (s *state) heldBy(j *jobRow) (held graph.State) {
	if !j.Graphed || j.State != events.JobQueued || j.Place > 0 {
		return ""
	}
	for _, p := range s.places[j.ID] {
		switch state := p.graph.rules.State(p.number); state {
		case graph.Blocked:
			held = state
		case graph.Skipped:
			if held == "" {
				held = state
			}
		case graph.Ready, graph.Succeeded, graph.Failed, graph.Cancelled:
			return ""
		}
	}
	return held
}

// graphEnded closes a graph. The states of its jobs stay as they are, and it holds none of them any more.
func (s *state) graphEnded(m moment, f events.GraphEnded) {
	g := s.graphs[graphKey{f.RequestID, f.Graph}]
	known := f.Outcome == events.Success || f.Outcome == events.Failure || f.Outcome == events.Cancelled || f.Outcome == events.GraphExpired
	if g == nil || g.ended() || !known {
		s.refused++
		return
	}
	s.findNoise(m, g)
	g.row.Outcome, g.row.Failed, g.row.Skipped, g.row.EndedAt = f.Outcome, f.Failed, f.Skipped, pointer(m.at)
	s.dirtyGraphs[g.key()] = true
	for number, id := range g.jobs {
		if id != "" {
			s.leave(g, number)
			s.hold(m, id)
		}
	}
	s.touchQueue(m)
}
