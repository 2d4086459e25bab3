package projector

import (
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/rules/suite"
)

// A job without known history is estimated by the number of its test cases. The definitions that it was made with say
// how many it has. They are counted when the job is made, and its row holds the number.

type definitionKey struct {
	suite  events.SuiteName
	digest events.Digest
}

func definitionsOf(spec events.JobSpec) definitionKey {
	return definitionKey{suite: spec.Artifact.Suite, digest: spec.Definitions}
}

// maxPlans bounds the definitions that are kept for later jobs.
const maxPlans = 16

func (s *state) forgetPlans() {
	if len(s.plansOf) > maxPlans {
		clear(s.plansOf)
	}
}

// wantsPlan returns the definitions that a new job needs, and whether they must be read.
func (s *state) wantsPlan(spec events.JobSpec) (definitionKey, bool) {
	key := definitionsOf(spec)
	_, here := s.plansOf[key]
	return key, !here && storable(key.suite) && storable(key.digest)
}

// batchPlans reads definitions that were published before the batch.
func (s *state) batchPlans(queries *pgx.Batch, wanted map[definitionKey]bool) {
	var suites []events.SuiteName
	var digests []events.Digest
	for key := range wanted {
		suites, digests = append(suites, key.suite), append(digests, key.digest)
	}
	guests(queries, "guest_definitions", "definition", func(d *definitionRow) {
		s.plansOf[definitionKey{d.Suite, d.Digest}] = parsed(d.Content)
	}, suites, digests)
}

func parsed(content []byte) *suite.Definitions {
	d, err := suite.Parse(content)
	if err != nil {
		return nil
	}
	return &d
}

// planOf returns the definitions of a job; nil if they were not published before it or cannot be read.
func (s *state) planOf(spec events.JobSpec) *suite.Definitions {
	key := definitionsOf(spec)
	d, known := s.plansOf[key]
	if !known {
		i := slices.IndexFunc(s.newDefinitions, func(d definitionRow) bool { return d.Suite == key.suite && d.Digest == key.digest })
		if i < 0 {
			return nil
		}
		d = parsed([]byte(cleanText(string(s.newDefinitions[i].Content))))
		s.plansOf[key] = d
	}
	return d
}

// runsCommands reports whether a job measures no benchmarks.
func (s *state) runsCommands(spec events.JobSpec) bool {
	d := s.planOf(spec)
	if d == nil {
		return false
	}
	kind, _ := d.Kind(spec.Kind)
	return kind.Does != ""
}

// countCases returns how many test cases a job has; 0 if that is unknown.
func (s *state) countCases(spec events.JobSpec) int {
	d := s.planOf(spec)
	if d == nil {
		return 0
	}
	plans, err := d.Plan(spec)
	if err != nil {
		return 0
	}
	n := 0
	for _, p := range plans {
		n += len(p.Cases)
	}
	if c := spec.Chunk; c != nil && len(c.Units) == 0 {
		n = (n + c.Of - 1) / max(c.Of, 1)
	}
	return n
}
