package readmodel

import (
	"context"
	"fmt"

	"github.com/tachobench/tacho/events"
)

// ForcedJob is a job that a person let run although its needs were not met.
type ForcedJob struct {
	Tag     events.Tag     `db:"tag"`
	Kind    events.JobKind `db:"kind"`
	Target  events.Target  `db:"target"`
	Set     events.Set     `db:"set"`
	Backend events.Backend `db:"backend"`
	Profile events.Profile `db:"profile"`
	// Forced is why.
	Forced string `db:"forced"`
}

// Forced returns the jobs of the base series of artifacts that ran although their needs were not met.
func (r *Reader) Forced(ctx context.Context, suite events.SuiteName, tags ...events.Tag) ([]ForcedJob, error) {
	list, err := all[ForcedJob](ctx, r.pool, "forced", suite, tags)
	if err != nil {
		return nil, fmt.Errorf("forced jobs of %v: %w", tags, err)
	}
	return list, nil
}
