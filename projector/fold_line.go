package projector

import (
	"maps"
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/rules/suite"
)

// lineKey names a branch of a suite.
type lineKey struct {
	suite  events.SuiteName
	branch string
}

func keyOfLine(l *lineRow) lineKey { return lineKey{l.Suite, l.Branch} }

// moveLine applies a fact about the definitions of a branch. It returns false for a name that no table can hold.
func (s *state) moveLine(m moment, name events.SuiteName, branch string, f events.Fact) bool {
	key := lineKey{name, branch}
	if !storable(name) || cleanText(branch) != branch {
		s.refused++
		return false
	}
	before := s.lines[key]
	if before == nil {
		before = &lineRow{}
	}
	lines := suite.Lines{branch: {Digest: before.Digest, Revision: before.Revision, File: before.File, Problems: before.Problems}}
	now := lines.Evolve(f)[branch]
	row := &lineRow{
		Suite: name, Branch: branch, Digest: now.Digest, Revision: cleanText(now.Revision), File: cleanText(now.File), Problems: []string{},
		MovedAt: m.at, Seq: m.seq,
	}
	for _, p := range now.Problems {
		row.Problems = append(row.Problems, cleanText(p))
	}
	if before.Seq != 0 && row.Digest == before.Digest {
		row.MovedAt = before.MovedAt // a file that was refused moves nothing
	}
	s.lines[key] = row
	s.dirtyLines[key] = true
	return true
}

// batchLines stores what the branches of suites use, and marks the definitions that serve the branches without their own.
func (s *state) batchLines(b *pgx.Batch) error {
	if len(s.dirtyLines)+len(s.newDefinitions) == 0 {
		return nil
	}
	moved := make(map[events.SuiteName]bool)
	for key := range s.dirtyLines {
		moved[key.suite] = true
	}
	for _, d := range s.newDefinitions {
		moved[d.Suite] = true // a row that is written anew has lost its mark
	}
	suites := slices.Sorted(maps.Keys(moved))
	b.Queue(statement("retire_definitions"), suites) // the old mark goes before the new one comes
	if err := put(b, "definition", s.definitionRows()); err != nil {
		return err
	}
	if err := put(b, "definition_line", changed(s.lines, s.dirtyLines)); err != nil {
		return err
	}
	b.Queue(statement("mark_definitions"), suites)
	return nil
}

// definitionRows returns the definitions of the batch, each digest once. The first content of a digest stays, as in the
// table.
func (s *state) definitionRows() []definitionRow {
	type key struct {
		suite  events.SuiteName
		digest events.Digest
	}
	at := make(map[key]int)
	var rows []definitionRow
	for _, d := range s.newDefinitions {
		k := key{d.Suite, d.Digest}
		i, known := at[k]
		if !known {
			at[k] = len(rows)
			rows = append(rows, d)
			continue
		}
		d.Content = rows[i].Content
		rows[i] = d
	}
	return rows
}
