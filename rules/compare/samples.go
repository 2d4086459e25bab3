package compare

import (
	"encoding/csv"
	"io"
	"strconv"

	"github.com/tachobench/tacho/events"
)

// SampleRow is one metric of one test case that was measured in turns, for export.
type SampleRow struct {
	Case   events.TestCase
	Metric events.Metric
	Pairs  []Pair
}

// SamplesCSV writes every pair as a line, with a head, so that a verdict can be reproduced elsewhere: the pair counts from 0,
// first is the side that was measured first ("a" or "b"), and a and b are in the unit of the metric. It fails only when w does.
func SamplesCSV(w io.Writer, rows []SampleRow) error {
	out := csv.NewWriter(w)
	lines := [][]string{{"benchmark", "profile", "scenario", "backend", "target", "metric", "pair", "first", "a", "b", "disturbed"}}
	for _, r := range rows {
		for i, p := range r.Pairs {
			first := "b"
			if FirstIsA(i) {
				first = "a"
			}
			lines = append(lines, []string{
				string(r.Case.Benchmark), string(r.Case.Profile), string(r.Case.Scenario), string(r.Case.Backend), string(r.Case.Target),
				string(r.Metric), strconv.Itoa(i), first, csvNumber(&p.A), csvNumber(&p.B), strconv.FormatBool(p.Disturbed),
			})
		}
	}
	return out.WriteAll(lines)
}
