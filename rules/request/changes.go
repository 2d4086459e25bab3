package request

import (
	"slices"
	"strings"

	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/rules/graph"
)

// checkChanges checks what a wish says of jobs that succeeded, that were switched off, or that are to be changed.
func checkChanges(w events.GraphWanted) error {
	switch {
	case w.Force && w.Kind != events.GraphRerun:
		return refuse("force is for a rerun of jobs that succeeded: `tacho job rerun JOB --force --reason TEXT`")
	case w.Force && len(w.Select)+len(w.Where) == 0:
		return refuse("name the jobs that are to run again although they succeeded: `tacho job rerun JOB --force --reason TEXT`")
	case w.Force && strings.TrimSpace(w.Reason) == "":
		return refuse("say why jobs that succeeded are to run again: `tacho job rerun JOB --force --reason TEXT`")
	case len(w.Labels) > 0 && w.Kind != events.GraphAdded:
		return refuse("labels name jobs that were switched off, for a graph of kind %s; a %s names jobs by their ids", events.GraphAdded, w.Kind)
	case w.Iterations != 0 && w.Kind != events.GraphRetrigger:
		return refuse("only the clones of a retrigger can have other iterations: leave them out for %s", w.Kind)
	case w.Iterations < 0 || w.Iterations > graph.MaxIterations:
		return refuse("%d iterations: use 1 to %d", w.Iterations, graph.MaxIterations)
	case w.Kind == events.GraphAdded:
		return checkAdded(w)
	}
	return nil
}

// checkAdded checks a wish for jobs that were switched off.
func checkAdded(w events.GraphWanted) error {
	switch {
	case len(w.Select) > 0:
		return refuse("jobs that were switched off have no ids yet: name them by their labels, as `tacho graph add %s` lists them", w.RequestID)
	case len(w.Labels)+len(w.Where) == 0:
		return refuse("name the jobs that are to be added by their labels, such as compile/linux-amd64/0/gc/opt, or select them by their properties")
	case slices.ContainsFunc(w.Labels, func(l string) bool { return len(l) > maxWish || strings.Count(l, "/") != 4 }):
		return refuse("a label is kind, target, set, backend and profile with slashes between them, such as compile/linux-amd64/0/gc/opt")
	case slices.ContainsFunc(w.Where, func(term string) bool { return strings.HasPrefix(term, "state=") }):
		return refuse("jobs that were switched off have no state: select them by kind, target, set, backend, profile or name")
	}
	return nil
}
