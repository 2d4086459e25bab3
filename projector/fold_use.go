package projector

import (
	"maps"
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/readmodel"
	"github.com/tachobench/tacho/rules/match"
	"github.com/tachobench/tacho/rules/queue"
)

// recordUse remembers what a matched job used, and forgets the oldest of its sort beyond maxDurations. A job that failed
// counts as long as it tried its test cases: it may have failed for want of memory. A sample does not count: it may measure
// a part only.
func (s *state) recordUse(j *jobRow, f events.JobFinished) {
	if f.Used == nil || !j.Matched {
		return
	}
	j.PeakMemoryBytes, j.CPUMS = max(f.Used.PeakMemoryBytes, 0), max(f.Used.CPUMS, 0)
	if j.Sample != "" || j.State != events.JobSuccess && j.State != events.JobFailure || f.Fault != "" || f.Measured <= 0 && f.Failed <= 0 {
		return
	}
	needs, _ := match.Parse(j.Requires) // terms of a newer program reserve nothing that is known here
	row := s.uses[j.sort()]
	if row == nil {
		row = &useRow{Suite: j.Suite, Target: j.Target, Set: j.Set, Kind: j.Kind, Backend: j.Backend, Profile: j.Profile}
		s.uses[j.sort()] = row
	}
	if len(row.Uses) == maxDurations {
		row.Uses = slices.Delete(row.Uses, 0, 1)
	}
	row.Uses = append(row.Uses, readmodel.JobUse{
		JobID: j.ID, State: j.State, PeakMemoryBytes: j.PeakMemoryBytes, CPUMS: j.CPUMS, MemoryMiB: needs.MemoryMiB(),
	})
	s.dirtyUses[row] = true
}

// batchUses adds the statements for what jobs used.
func (s *state) batchUses(b *pgx.Batch) error {
	return put(b, "job_use", slices.Collect(maps.Keys(s.dirtyUses)))
}

func (r *useRow) sort() queue.Sort {
	return queue.Sort{Suite: r.Suite, Lane: events.Lane{Target: r.Target, Set: r.Set}, Kind: r.Kind, Backend: r.Backend, Profile: r.Profile}
}
