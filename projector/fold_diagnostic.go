package projector

import (
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/readmodel"
)

// diagnosticsSeen notes what the commands of a job had to say. An attempt says it once.
func (s *state) diagnosticsSeen(j *jobRow, f *events.DiagnosticsSeen) {
	if j.Diagnosed != nil {
		s.stale++
		return
	}
	d := readmodel.Diagnosed{Token: f.Token, Kept: len(f.Items), More: max(f.More, 0), Lines: map[string]int{}}
	for level, n := range f.Lines {
		d.Lines[level] = max(n, 0)
	}
	j.Diagnosed = &d
	s.dirtyJobs[j.ID] = true
	for i, item := range f.Items {
		s.diagnostics = append(s.diagnostics, diagnosticRow{
			Token: f.Token, Place: i, JobID: j.ID, Level: item.Level, Code: item.Code, Text: item.Text, Hash: item.Hash, Count: max(item.Count, 0),
		})
	}
}

// batchDiagnostics adds the statement for what commands had to say. Jobs that have left the tables say nothing.
func (s *state) batchDiagnostics(b *pgx.Batch) error {
	return put(b, "diagnostic", slices.DeleteFunc(s.diagnostics, func(d diagnosticRow) bool { return s.retired[d.JobID] }))
}
