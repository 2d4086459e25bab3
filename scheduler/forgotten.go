package scheduler

import (
	"slices"

	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/rules/suite"
)

// forgotten reports whether a job that succeeded yields something that is not known any more: whoever needs it needs another
// round of the job.
func (s *state) forgotten(d suite.Definitions, spec events.JobSpec) bool {
	k, _ := d.Kind(spec.Kind)
	return s.StateOf(spec.ID) == events.JobSuccess && slices.ContainsFunc(k.Outputs, func(o suite.OutputPaths) bool {
		_, known := s.OutputOf(spec.ID, o.Name)
		return !known
	})
}

// withForgotten moves those of the shared jobs to the ones to be made, in their next rounds, of which these use an output that
// is not known any more.
func (s *state) withForgotten(d suite.Definitions, made, shared []events.JobSpec) (more, left []events.JobSpec) {
	if !slices.ContainsFunc(shared, func(spec events.JobSpec) bool { return s.forgotten(d, spec) }) {
		return made, shared
	}
	for again := true; again; {
		again = false
		all := slices.Concat(made, shared)
		for _, n := range d.Edges(all) {
			at := n.On - len(made)
			if n.Output != "" && n.Job < len(made) && at >= 0 && s.forgotten(d, all[n.On]) {
				made, shared = append(slices.Clip(made), all[n.On].Again()), slices.Delete(slices.Clone(shared), at, at+1)
				again = true
				break
			}
		}
	}
	return made, shared
}
