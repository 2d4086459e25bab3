package readmodel

import (
	"context"

	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/rules/graph"
)

// LinesInForce returns which definitions the branches of all suites use, by suite and branch: those behind a branch of a
// suite, at most limit. Branch "" has those of all branches that have none of their own, and comes first; so begin with an
// empty suite. What is wrong with files that were refused is left out.
func (r *Reader) LinesInForce(ctx context.Context, suite events.SuiteName, branch string, limit int) ([]DefinitionLine, error) {
	return all[DefinitionLine](ctx, r.pool, "lines_in_force", suite, branch, limit)
}

// DigestsInForce returns the digests of all definitions that some branch uses.
func (r *Reader) DigestsInForce(ctx context.Context) ([]events.Digest, error) {
	return values[events.Digest](ctx, r.pool, "digests_in_force")
}

// AddedJobs returns the labels of the jobs that were added to a request although they were switched off for it.
func (r *Reader) AddedJobs(ctx context.Context, request events.RequestID) ([]graph.Label, error) {
	rows, err := all[labelRow](ctx, r.pool, "added_jobs", request)
	labels := make([]graph.Label, len(rows))
	for i, row := range rows {
		labels[i] = row.Label
	}
	return labels, err
}

// labelRow is a row that has only a label.
type labelRow struct{ graph.Label }
