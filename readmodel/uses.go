package readmodel

import (
	"context"
	"errors"
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/rules/suite"
)

// UseRow is one row of job_use: what the last matched jobs of a sort used, oldest first. Jobs are of one sort by what
// decides how long they take (queue.Sort).
type UseRow struct {
	Suite   events.SuiteName `db:"suite" json:"suite"`
	Target  events.Target    `db:"target" json:"target"`
	Set     events.Set       `db:"set" json:"set"`
	Kind    events.JobKind   `db:"kind" json:"kind"`
	Backend events.Backend   `db:"backend" json:"backend"`
	Profile events.Profile   `db:"profile" json:"profile"`
	// Uses are those of at most the last ten jobs that tried their test cases.
	Uses []JobUse `db:"uses" json:"uses"`
}

// JobUse is what one matched job used (events.Used).
type JobUse struct {
	JobID events.JobID    `json:"job_id"`
	State events.JobState `json:"state"`
	// PeakMemoryBytes is in bytes, CPUMS in milliseconds; 0 where it is not known.
	PeakMemoryBytes int64 `json:"peak_memory_bytes"`
	CPUMS           int64 `json:"cpu_ms"`
	// MemoryMiB is what the job reserved; 0 for nothing.
	MemoryMiB int64 `json:"memory_mib"`
}

// Memory returns MemoryMiB in bytes.
func (u JobUse) Memory() int64 { return u.MemoryMiB << 20 }

// Uses returns what the last matched jobs of a suite used, by their sort.
func (r *Reader) Uses(ctx context.Context, name events.SuiteName) ([]UseRow, error) {
	return all[UseRow](ctx, r.pool, "uses", name)
}

// memoryHints returns the hints for the current definitions of all suites, by suite and in the order of their kinds.
func memoryHints(ctx context.Context, tx pgx.Tx) ([]MemoryHint, error) {
	uses, err := all[UseRow](ctx, tx, "uses", "")
	if err != nil {
		return nil, err
	}
	var hints []MemoryHint
	for i, row := range uses { // by suite
		if i > 0 && uses[i-1].Suite == row.Suite {
			continue
		}
		current, err := one[Definition](ctx, tx, "definition_current", row.Suite)
		if errors.Is(err, ErrNotFound) {
			continue
		}
		if err != nil {
			return nil, err
		}
		d, err := suite.Parse(current.Content)
		if err != nil { // of a newer program
			continue
		}
		hints = append(hints, MemoryHints(d, uses)...)
	}
	return hints, nil
}

// alike returns what the last jobs of the same sort as a matched job used, newest first.
func alike(ctx context.Context, tx pgx.Tx, j Job) ([]JobUse, error) {
	if !j.Matched {
		return nil, nil
	}
	row, err := one[UseRow](ctx, tx, "uses_alike", j.Suite, j.Target, j.Set, j.Kind, j.Backend, j.Profile)
	if errors.Is(err, ErrNotFound) {
		return nil, nil
	}
	slices.Reverse(row.Uses)
	return row.Uses, err
}

// MostUsed returns the largest peak of memory and the largest CPU time among jobs, in bytes and milliseconds.
func MostUsed(list []JobUse) (peakBytes, cpuMS int64) {
	for _, u := range list {
		peakBytes, cpuMS = max(peakBytes, u.PeakMemoryBytes), max(cpuMS, u.CPUMS)
	}
	return peakBytes, cpuMS
}
