package projector

import (
	"slices"

	"github.com/tachobench/tacho/events"
)

// testCasesMeasured keeps what was measured of each artifact, and, if both were measured in turns, which pairs they are. columns
// are those of each side (see events.TestCasesMeasured.Sides).
func (s *state) testCasesMeasured(m moment, j *jobRow, f *events.TestCasesMeasured, columns [][]samples) {
	sides := f.Sides()
	if slices.ContainsFunc(sides, func(side events.Beside) bool { return !j.measures(side.Artifact) }) {
		s.stale++
		return
	}
	for i, side := range sides {
		s.measured(m, j, f, side, columns[i])
	}
	if f.Beside != nil && j.Sample == "" {
		s.inTurns(m, j, f, columns)
	}
}

// measured keeps the results of one side.
func (s *state) measured(m moment, j *jobRow, f *events.TestCasesMeasured, side events.Beside, columns []samples) {
	env := events.Digest("")
	if j.Matched {
		env = f.Environment
	}
	for i := range side.Cases {
		c := &side.Cases[i]
		if !j.holds(c.TestCase) {
			s.stale++
			continue
		}
		s.results = append(s.results, resultRow{
			Suite: j.Suite, Tag: side.Artifact.Tag, Benchmark: c.Benchmark, Profile: c.Profile, Scenario: c.Scenario, Backend: c.Backend,
			Target: c.Target, Statistics: columns[i].statistics, Iterations: len(c.Iterations), Interference: columns[i].interference,
			Collector: f.Collector, Environment: f.Environment, Token: f.Token, Attempt: f.Attempt, JobID: j.ID,
			RequestID: j.RequestID, Definitions: f.Definitions, MeasuredAt: m.at, Seq: m.seq, Env: env, Sample: j.Sample,
		})
		j.Measured++
		s.counted[j.ID] = true
	}
}

// inTurns keeps the pairs of a block. Samples have none: nothing is compared by them.
func (s *state) inTurns(m moment, j *jobRow, f *events.TestCasesMeasured, columns [][]samples) {
	for i := range min(len(f.Cases), len(f.Beside.Cases)) {
		own, other := &f.Cases[i], &f.Beside.Cases[i]
		if own.TestCase != other.TestCase || !j.holds(own.TestCase) || f.Artifact.Tag == f.Beside.Artifact.Tag {
			continue
		}
		s.blocks = append(s.blocks, blockRow{
			Suite: j.Suite, Tag: f.Artifact.Tag, Beside: f.Beside.Artifact.Tag, Benchmark: own.Benchmark, Profile: own.Profile, Scenario: own.Scenario,
			Backend: own.Backend, Target: own.Target, Environment: f.Environment,
			Statistics: columns[0][i].statistics, Iterations: len(own.Iterations), Interference: columns[0][i].interference,
			BesideStatistics: columns[1][i].statistics, BesideIterations: len(other.Iterations), BesideInterference: columns[1][i].interference,
			Collector: f.Collector, JobID: j.ID, Definitions: f.Definitions, MeasuredAt: m.at, Seq: m.seq,
		})
	}
}

// holds reports whether a test case can be one of the job.
func (j *jobRow) holds(c events.TestCase) bool {
	return c.Target == j.Target && len(c.String()) <= maxCase
}

// maxCase bounds the length of a test case's name, which must fit into an index entry.
const maxCase = 1024
