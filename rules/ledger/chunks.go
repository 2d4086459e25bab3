package ledger

import (
	"maps"
	"math"
	"slices"
	"time"

	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/rules/match"
	"github.com/tachobench/tacho/rules/suite"
)

// A divided job is as many jobs as it may have chunks. Which benchmarks a chunk measures is decided when it is dispatched;
// those that find nothing left end without having run.

// chunk returns which chunk the job is, with its units if they are decided; nil for a job that is not divided.
func (j *Job) chunk() *events.Chunk {
	switch {
	case j.of.more == nil || j.of.more.of == 0:
		return nil
	case j.Share != nil:
		return j.Share
	}
	return &events.Chunk{Number: j.of.more.number, Of: j.of.more.of}
}

// takes reports whether a chunk with its units is the one that the job is.
func (j *Job) takes(c *events.Chunk) bool {
	m := j.of.more
	return c != nil && len(c.Units) > 0 && m != nil && m.of > 0 && m.number == c.Number && m.of == c.Of
}

// others calls f with the other chunks of the same job, each in its first round, and with the chunk itself.
func others(spec events.JobSpec, f func(events.JobSpec)) {
	for n := range min(spec.Chunk.Of, suite.MaxChunks) { // more were never made
		spec.Chunk, spec.Round = &events.Chunk{Number: n + 1, Of: spec.Chunk.Of}, 0
		spec.ID = spec.First()
		f(spec)
	}
}

// madeChunks notes what chunks measure that were made in a later round, and those that find nothing left. made says which of the
// jobs are new.
func (l *Ledger) madeChunks(jobs []events.JobSpec, made []bool) {
	for i, spec := range jobs {
		j := l.Jobs[spec.ID]
		if spec.Chunk == nil || j == nil || !made[i] || j.chunk() == nil {
			continue
		}
		first := spec.First()
		if _, known := l.Chunks[first]; !known && len(spec.Chunk.Units) > 0 {
			l.Chunks[first] = spec.Chunk
		}
		if share, known := l.Chunks[first]; known {
			j.fares(func(c *course) { c.Share = share })
			continue
		}
		l.noteEmpty(spec)
	}
}

// tookUnits notes what a chunk measures that was dispatched.
func (l *Ledger) tookUnits(spec events.JobSpec) {
	if spec.Chunk == nil || len(spec.Chunk.Units) == 0 {
		return
	}
	first := spec.First()
	if _, known := l.Chunks[first]; !known {
		l.Chunks[first] = spec.Chunk
		l.noteEmpty(spec)
	}
}

// noteEmpty notes the chunks of a job for which nothing is left.
func (l *Ledger) noteEmpty(spec events.JobSpec) {
	taken := l.taken(spec)
	if len(taken) == 0 {
		return
	}
	units := l.Definitions[spec.Definitions].Units(spec)
	if slices.ContainsFunc(units, func(u suite.Unit) bool { return !taken[u.Benchmark] }) {
		return
	}
	others(spec, func(one events.JobSpec) {
		if _, has := l.Chunks[one.ID]; has {
			return
		}
		for _, round := range l.rounds(one) {
			if j := l.Jobs[round.ID]; j != nil && j.State == events.JobQueued && j.Place == 0 {
				l.Empty[round.ID] = true
			}
		}
	})
}

// taken returns the units of a divided job that its chunks have.
func (l *Ledger) taken(spec events.JobSpec) map[events.Benchmark]bool {
	all := map[events.Benchmark]bool{}
	others(spec, func(one events.JobSpec) {
		if share := l.Chunks[one.ID]; share != nil {
			for _, u := range share.Units {
				all[u] = true
			}
		}
	})
	return all
}

// Divide returns which part a chunk measures that is dispatched now; false if nothing is left for it. A job that is not
// divided, and a chunk of which it was decided before, stay as they are.
func (l *Ledger) Divide(j *Job, now match.Waits) (events.JobSpec, bool) {
	spec := j.Spec()
	if spec.Chunk == nil || len(spec.Chunk.Units) > 0 {
		return spec, true
	}
	definitions := l.Definitions[spec.Definitions]
	kind, _ := definitions.Kind(spec.Kind)
	if kind.Chunks == nil {
		return spec, false
	}
	division := suite.Division{
		Units: definitions.Units(spec), Taken: l.taken(spec), Lanes: l.lanesFor(j, now), Whole: l.wholeLength(j),
	}
	others(spec, func(one events.JobSpec) {
		if l.Chunks[one.ID] == nil {
			division.Slots++
		}
	})
	units, part := kind.Chunks.Take(division)
	spec.Chunk = &events.Chunk{Number: spec.Chunk.Number, Of: spec.Chunk.Of, Units: units, Part: part}
	return spec, len(units) > 0
}

// lanesFor counts the lanes that could take a matched job now.
func (l *Ledger) lanesFor(j *Job, now match.Waits) (n int) {
	class := l.lineOf(j).class
	for _, lane := range l.FreeLanes() {
		if slices.Contains(l.classesFor(l.Lanes[lane], now), class) {
			n++
		}
	}
	return n
}

// EmptyJobs returns the chunks for which nothing is left, by the request that had them made, in order.
func (l *Ledger) EmptyJobs() map[events.RequestID][]events.JobID {
	if len(l.Empty) == 0 {
		return nil
	}
	out := map[events.RequestID][]events.JobID{}
	for _, id := range slices.Sorted(maps.Keys(l.Empty)) {
		if j := l.Jobs[id]; j != nil {
			out[j.of.request] = append(out[j.of.request], id)
		}
	}
	return out
}

// partly returns how long a chunk takes of a job that takes so long as a whole.
func partly(c *events.Chunk, whole time.Duration) time.Duration {
	switch {
	case c == nil:
		return whole
	case c.Part > 0:
		return whole / events.WholeJob * time.Duration(c.Part)
	}
	return whole / time.Duration(max(c.Of, 1))
}

// wholly returns how long a job would have taken of which a chunk took so long: lengths of chunks of different sizes can then be
// compared. Like all lengths they are kept in milliseconds.
func wholly(c *events.Chunk, took time.Duration) time.Duration {
	if c == nil || c.Part <= 0 {
		return took
	}
	return min(min(took, math.MaxInt64/events.WholeJob)*events.WholeJob/time.Duration(c.Part), longestLength).Truncate(time.Millisecond)
}
