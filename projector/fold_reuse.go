package projector

import (
	"cmp"
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/rules/job"
)

// takenOver is a job that took a run over: what that measured is shown as its own.
type takenOver struct {
	job  jobRow
	from events.JobID
	seq  events.Seq
}

// jobReused ends a job that takes a run over instead of running.
func (s *state) jobReused(m moment, f events.JobReused) {
	j := s.jobs[f.JobID]
	if j == nil {
		s.refused++
		return
	}
	life, counts := job.Live(j.life(), f, m.seq, m.at)
	if !counts {
		s.stale++
		return
	}
	s.takeOver(m, j, f.From, f.Key)
	s.put(m, j, life)
	s.touchQueue(m)
}

// takeOver notes which run a job took over. Samples take none over, whatever a collector says. If that run had taken one over
// itself, the tables name the one that really ran. So their references have one link, also when a run between has left them.
func (s *state) takeOver(m moment, j *jobRow, from events.JobID, key events.Digest) {
	origin, tag := from, events.Tag("")
	if run := s.jobs[from]; run != nil {
		origin, tag = cmp.Or(run.ReusedFrom, from), cmp.Or(run.ReusedTag, run.Tag)
	}
	if !storable(from) || j.Sample != "" || origin == j.ID {
		s.refused++
		return
	}
	j.ReusedFrom, j.ReusedTag, j.Key = origin, tag, events.Digest(cleanText(string(key)))
	s.dirtyJobs[j.ID] = true
	s.inherit(m, j, from)
	s.takenOver = append(s.takenOver, takenOver{*j, origin, m.seq})
}

// inherit gives a job the outputs of the run that it took over, and lets the jobs run that use them. The store has them where
// that run put them.
func (s *state) inherit(m moment, j *jobRow, from events.JobID) {
	run := s.jobs[from]
	if run == nil {
		return
	}
	for _, name := range run.Outputs {
		if slices.Contains(j.Outputs, name) {
			continue
		}
		j.Outputs = slices.Sorted(slices.Values(append(slices.Clone(j.Outputs), name)))
		for _, p := range s.places[j.ID] {
			s.dirtyGraphs[p.graph.key()] = true
			s.follow(m, p.graph, p.graph.rules.Stored(p.number, name))
		}
	}
}

// batchReuse adds the statements that give jobs the results of the runs that they took over. They come after the results, in the
// order of the log.
func (s *state) batchReuse(b *pgx.Batch) {
	for _, t := range s.takenOver {
		b.Queue(statement("reuse_results"), t.from, t.job.ID, t.job.RequestID, t.job.Definitions, t.job.Suite, t.job.Tag, t.job.Target, t.seq)
	}
}
