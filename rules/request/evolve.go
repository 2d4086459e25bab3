package request

import (
	"slices"
	"time"

	"github.com/tachobench/tacho/events"
)

// Evolve returns the state after f happened at the given time. Facts of other aggregates and late facts about a request
// that has ended change nothing, except wishes and the jobs made for them.
func Evolve(r Request, f events.Fact, at time.Time) Request {
	if created, ok := f.(events.RequestCreated); ok {
		if r.Exists() || !Begins(created) {
			return r
		}
		return fromCreated(created, at)
	}
	if !r.Exists() {
		return r
	}
	// Wishes and the jobs made for them can come after the end. They do not change the request's state.
	//exhaustive:ignore
	switch f := f.(type) {
	case events.GraphProposed:
		r.propose(f)
	case events.GraphWanted:
		if r.asked(f.Key) < 0 {
			r.Asked, r.Wishes = append(slices.Clip(r.Asked), asked(f)), append(slices.Clip(r.Wishes), f)
		}
	case events.GraphRefused:
		r.answered(f.Key)
	case events.JobForced:
		r.answered(f.Key)
	case events.JobsCreated:
		r.Jobs = slices.Grow(slices.Clip(r.Jobs), len(f.Jobs))
		for _, spec := range f.Jobs {
			r.Jobs = append(r.Jobs, spec.ID)
		}
		r.shares(f.Graph)
		r.answered(f.Key)
	case events.GraphCreated:
		if MayBegin(r.State, f) && !slices.ContainsFunc(r.Graphs, func(g OpenGraph) bool { return g.Number == f.Graph }) {
			r.Graphs = append(slices.Clip(r.Graphs), OpenGraph{Number: f.Graph, Kind: f.Kind, Priority: f.Priority})
		}
	case events.PriorityChanged:
		if f.Graph == nil {
			break
		}
		r.Graphs = slices.Clone(r.Graphs)
		for i, g := range r.Graphs {
			if g.Number == *f.Graph {
				r.Graphs[i].Priority = f.To
			}
		}
	case events.GraphCancelled:
		r.Graphs = slices.Clone(r.Graphs)
		for i, g := range r.Graphs {
			r.Graphs[i].Cancelled = g.Cancelled || g.Number == f.Graph
			r.Graphs[i].Expired = g.Expired || g.Number == f.Graph && f.Expired
		}
	case events.GraphEnded:
		r.Graphs = slices.DeleteFunc(slices.Clone(r.Graphs), func(g OpenGraph) bool { return g.Number == f.Graph })
	}
	if r.State.Terminal() {
		return r
	}
	// Only the facts of a request concern it.
	//exhaustive:ignore
	switch f := f.(type) {
	case events.RequestArtifactsReady:
		if r.State == events.StateWaitingForArtifacts {
			r.State, r.Artifact.Tag, r.Parent = events.StateArtifactsReady, f.Tag, f.Parent
		}
	case events.PriorityChanged:
		if f.Graph == nil {
			r.Priority = f.To
		}
	case events.RequestStarted:
		if r.State == events.StateInProgress {
			break // it starts once
		}
		r.State, r.StartedAt, r.Definitions = events.StateInProgress, at, f.Definitions
		r.Shared = append(slices.Clip(r.Shared), f.Shared...)
		t := r.Troubles()
		t.WaitsFor = ""
		r.troubled(t)
		r.Terms = terms(r.AskedRequires(), f.Requires)
	case events.RequestExpansionFailed:
		t := r.Troubles()
		if f.Waits {
			t.WaitsFor = f.Reason
		} else {
			t.Failures, t.FailedAt, t.Error = f.Failures, at, f.Reason
		}
		r.troubled(t)
	case events.RequestCompleted:
		r.State, r.EndedAt = events.StateCompleted, at
	case events.RequestFailed:
		r.State, r.EndedAt = events.StateFailed, at
	case events.RequestCancelled, events.RequestCancelledWithJobs:
		r.State, r.EndedAt = events.StateCancelled, at
	case events.RequestExpired:
		r.State, r.EndedAt = events.StateExpired, at
	case events.RequestSuperseded:
		r.State, r.EndedAt = events.StateSuperseded, at
	}
	return r
}

// Begins reports whether a request begins with a fact: in a state and of a kind in which one can begin.
func Begins(f events.RequestCreated) bool {
	_, err := events.ParseRequestKind(string(f.Kind))
	return err == nil && (f.State == events.StateWaitingForArtifacts || f.State == events.StateArtifactsReady)
}

// shares notes the jobs that other requests had made and that are jobs of this one, too, from now on.
func (r *Request) shares(part *events.GraphPart) {
	if part == nil {
		return
	}
	for _, s := range part.Shared {
		if s.Added && !slices.Contains(r.Jobs, s.ID) && !slices.Contains(r.Shared, s.ID) {
			r.Shared = append(slices.Clip(r.Shared), s.ID)
		}
	}
}

// answered notes that a wish was carried out or refused.
func (r *Request) answered(key string) {
	r.Wishes = slices.DeleteFunc(slices.Clone(r.Wishes), func(w events.GraphWanted) bool { return w.Key == key })
	if len(r.Proposed) > 0 && r.Proposed[0].Key == key {
		r.Proposed = nil
	}
}

func fromCreated(f events.RequestCreated, at time.Time) Request {
	// An unreadable date counts as none: Decide refuses such a date before it is recorded.
	released, _ := time.Parse(time.DateOnly, f.ReleasedOn)
	var chosen *Choice
	if f.Branch != "" || f.Graph != "" || len(f.Options) > 0 {
		chosen = &Choice{Branch: f.Branch, Graph: f.Graph, Options: f.Options}
	}
	var pinned *Pinned
	if p := (Pinned{Definitions: f.Definitions, Customised: f.Customised, Together: f.Together}); p != (Pinned{}) {
		pinned = &p
	}
	return Request{
		ID: f.RequestID, Kind: f.Kind, State: f.State, PR: f.PR, Parent: f.Parent, AskedParent: f.Parent, ReleasedOn: released,
		Artifact:   events.Artifact{Suite: f.Suite, Tag: f.Tag, Kind: f.Kind},
		Parameters: f.Parameters, CreatedAt: at, Account: f.Account, Queue: f.Queue, Priority: f.Priority,
		Terms: terms(f.Requires, f.Requires), Chosen: chosen, Pinned: pinned,
	}
}
