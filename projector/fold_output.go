package projector

import (
	"slices"

	"github.com/tachobench/tacho/events"
)

// outputKey names what a job stored.
type outputKey struct {
	job  events.JobID
	name string
}

// outputStored notes what a job stored, and lets the jobs run that use it.
func (s *state) outputStored(m moment, j *jobRow, f events.OutputStored) {
	if f.Name == "" || !storable(f.Name) || f.Bytes < 0 {
		s.stale++
		return
	}
	s.outputs[outputKey{j.ID, f.Name}] = outputRow{
		JobID: j.ID, Name: f.Name, Digest: events.Digest(cleanText(string(f.Digest))), Bytes: f.Bytes, Target: f.Lane.Target, Set: f.Lane.Set,
		Attempt: f.Attempt, Upload: f.Upload, Seq: m.seq, At: m.at,
	}
	if f.Upload || slices.Contains(j.Outputs, f.Name) {
		return
	}
	j.Outputs = slices.Sorted(slices.Values(append(slices.Clone(j.Outputs), f.Name)))
	s.dirtyJobs[j.ID] = true
	for _, p := range s.places[j.ID] {
		s.dirtyGraphs[p.graph.key()] = true
		s.follow(m, p.graph, p.graph.rules.Stored(p.number, f.Name))
	}
}
