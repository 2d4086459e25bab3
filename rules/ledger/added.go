package ledger

import (
	"slices"

	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/rules/suite"
)

// takeUp notes the jobs that other requests had made and that are jobs of the request, too, from now on.
func (l *Ledger) takeUp(id events.RequestID, f events.JobsCreated) {
	var off []events.JobSpec // expanding is work
	for _, s := range f.Graph.Shared {
		if !s.Added {
			continue
		}
		if l.Past.has(s.ID) && off == nil {
			off = l.switchedOff(id)
		}
		for _, spec := range off {
			if spec.ID == s.ID {
				l.revive(spec)
			}
		}
		if j := l.Jobs[s.ID]; j != nil && !slices.ContainsFunc(j.wantedBy(), func(w Wanter) bool { return w.Request == id }) {
			l.wants(s.ID, id, f.Key)
		}
	}
}

// AddedIn returns the open graph that brought a job into its request after the start; nil for none.
func (l *Ledger) AddedIn(id events.RequestID, job events.JobID) *Graph {
	for _, at := range l.in[job] {
		if at.graph.Request == id && at.graph.Kind == events.GraphAdded && !slices.Contains(at.graph.Lent, at.number) {
			return at.graph
		}
	}
	return nil
}

// offJobs returns the jobs of an expansion that are switched off.
func offJobs(x suite.Expansion) (all []events.JobSpec) {
	for _, off := range slices.Concat(x.OffBackfill, x.Off) {
		all = append(all, off.Job)
	}
	return all
}

// switchedOff returns the jobs that are switched off for a request that has started, in all their rounds.
func (l *Ledger) switchedOff(id events.RequestID) (all []events.JobSpec) {
	r, ok := l.Requests[id]
	if !ok || r.Definitions == "" {
		return nil
	}
	x, _, err := l.Expansion(r)
	if err != nil {
		return nil
	}
	for _, spec := range offJobs(x) {
		all = append(all, l.rounds(spec)...)
	}
	return all
}
