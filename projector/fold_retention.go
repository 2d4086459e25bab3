package projector

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/tachobench/tacho/events"
)

// retirement is what one JobsRetired takes out of the tables. The state does not hold most of these jobs, so the
// statement finds their rows. The jobs that the state holds are named.
type retirement struct {
	seq    events.Seq
	before time.Time
	// current are the jobs with the current attempt of a lane. They stay until it is over.
	current []events.JobID
	// jobs and graphs are those that the state held.
	jobs   []*jobRow
	graphs []graphKey
}

// jobsRetired takes jobs that ended before a time out of the tables, with their attempts. From here on such a
// job is unknown: every report of it is stale. Only its id is
// remembered, so that it is never made again. What estimates are made from stays (see durations).
//
// Graphs leave by the same rule: those that ended before the time, with the rows of their jobs. A graph ends after its
// required jobs, so it does not leave before them. One that is open stays, also if its jobs have left.
func (s *state) jobsRetired(m moment, f events.JobsRetired) {
	before, err := time.Parse(time.RFC3339, f.EndedBefore)
	if err != nil || before.Year() < 1970 || before.Year() > 9999 {
		s.refused++
		return
	}
	r := retirement{seq: m.seq, before: before.UTC().Truncate(time.Microsecond)}
	for _, a := range s.lanes {
		r.current = append(r.current, a.JobID)
	}
	for id, j := range s.jobs {
		if !j.State.Terminal() || !j.FinishedAt.Before(r.before) || slices.Contains(r.current, id) {
			continue
		}
		if s.tells(j) {
			s.touchQueue(m)
		}
		r.jobs = append(r.jobs, j)
		s.retired[id] = true
		delete(s.jobs, id)
		delete(s.identities, j.identity())
		delete(s.dirtyJobs, id)
		delete(s.counted, id)
	}
	for key, g := range s.graphs {
		if g.ended() && g.row.EndedAt.Before(r.before) {
			r.graphs = append(r.graphs, key)
			delete(s.graphs, key)
			delete(s.dirtyGraphs, key)
		}
	}
	for key := range s.outputs {
		if s.retired[key.job] {
			delete(s.outputs, key)
		}
	}
	for token, a := range s.dirtyAttempts {
		if s.retired[a.JobID] {
			delete(s.dirtyAttempts, token)
		}
	}
	s.retirements = append(s.retirements, r)
}

// batchRetirements adds the statements that remove jobs. They must come before those that store jobs and attempts: both
// may concern the same id.
func (s *state) batchRetirements(b *pgx.Batch) {
	for _, r := range s.retirements {
		current := append([]events.JobID{}, r.current...)
		jobs, requests, states, samples := []events.JobID{}, []events.RequestID{}, []events.JobState{}, []string{}
		for _, j := range r.jobs {
			jobs, requests, states, samples = append(jobs, j.ID), append(requests, j.RequestID), append(states, j.State), append(samples, j.Sample)
		}
		b.Queue(statement("retire_jobs"), r.before, current, jobs, requests, states, r.seq, samples)
		owners, numbers := []events.RequestID{}, []int{}
		for _, key := range r.graphs {
			owners, numbers = append(owners, key.request), append(numbers, key.number)
		}
		b.Queue(statement("retire_graphs"), r.before, owners, numbers)
	}
}

// recordDuration remembers how long a job took, for estimates, and forgets the oldest of its sort beyond
// maxDurations. The rows of the jobs themselves leave the tables some day.
func (s *state) recordDuration(m moment, j *jobRow, took time.Duration) {
	sort := j.sort()
	d := s.lengths[sort]
	if d == nil {
		d = &durationsRow{Suite: j.Suite, Target: j.Target, Set: j.Set, Kind: j.Kind, Backend: j.Backend, Profile: j.Profile}
		s.lengths[sort] = d
	}
	if len(d.FinishedSeqs) == maxDurations {
		d.FinishedSeqs, d.LengthsMS = slices.Delete(d.FinishedSeqs, 0, 1), slices.Delete(d.LengthsMS, 0, 1)
	}
	d.FinishedSeqs, d.LengthsMS = append(d.FinishedSeqs, m.seq), append(d.LengthsMS, took.Milliseconds())
	s.dirtyDurations[d] = true
	s.durations.Add(sort, took)
}

// addDurations fills the history as it was, in the order in which the jobs finished.
func (s *state) addDurations(rows []*durationsRow) {
	type one struct {
		*durationsRow
		at int
	}
	var all []one
	for _, d := range rows {
		s.lengths[d.sort()] = d
		for i := range d.FinishedSeqs {
			all = append(all, one{d, i})
		}
	}
	slices.SortFunc(all, func(a, b one) int { return cmp.Compare(a.FinishedSeqs[a.at], b.FinishedSeqs[b.at]) })
	for _, d := range all {
		s.durations.Add(d.sort(), time.Duration(d.LengthsMS[d.at])*time.Millisecond)
	}
}

// batchExpectations adds the statements for what estimates are made from.
func (s *state) batchExpectations(b *pgx.Batch) error {
	if err := put(b, "job_duration", slices.Collect(maps.Keys(s.dirtyDurations))); err != nil {
		return err
	}
	var rows []expectedRow
	for key := range s.dirtyTemplates {
		rows = append(rows, newExpectedRow(key, s.templates[key]))
	}
	return put(b, "expected_jobs", rows)
}
