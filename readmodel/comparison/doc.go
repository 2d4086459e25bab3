// Package comparison judges one artifact against another by everything that the tables hold about both.
//
// It loads the results of two artifacts, what the definitions say about their metrics and benchmarks, and the history
// of master before the first, with the noise that was found between equal artifacts. Package compare decides. The website, its API and the reporter all use this package,
// so a page and a comment on a pull request never differ.
package comparison

import (
	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/rules/compare"
)

// Query names what is compared.
type Query struct {
	// B is judged against A. An empty A means the parent of B.
	A, B events.Tag
	// Suite may be empty: the first suite with results of both is used.
	Suite events.SuiteName
	// Metric restricts the comparison to one metric; empty compares all.
	Metric events.Metric
}

// Side is one side of a comparison.
type Side struct {
	Tag events.Tag `json:"tag"`
	// RequestID and State are those of the newest request for the artifact; empty if there was none because
	// the results come from a backfill.
	RequestID events.RequestID    `json:"request_id"`
	State     events.RequestState `json:"state"`
	// Cases is how many test cases have results.
	Cases int `json:"cases"`
	// Complete is set if its request is completed; else Note says in words what may be missing.
	Complete bool   `json:"complete"`
	Note     string `json:"note,omitempty"`
	// DefinitionsNote says what is special about the definitions that it was measured with; empty for nothing.
	DefinitionsNote string `json:"definitions_note,omitempty"`
}

// Notes say what is special about the definitions that either artifact was measured with, and what was not measured again.
func (c Comparison) Notes() (out []string) {
	for _, s := range []Side{c.A, c.B} {
		if s.DefinitionsNote != "" {
			out = append(out, s.DefinitionsNote)
		}
	}
	if same := c.sameNote(); same != "" {
		out = append(out, same)
	}
	return out
}

// ForcedWords says in a sentence which jobs were forced; empty if none was.
func (c Comparison) ForcedWords() string { return compare.ForcedWords(c.Forced) }

// Comparison is the judgement on two artifacts, and what it is based on.
type Comparison struct {
	Suite events.SuiteName `json:"suite"`
	// Definitions are the ones that the metrics and categories are taken from.
	Definitions events.Digest `json:"definitions"`
	// B is judged against A.
	A Side `json:"a"`
	B Side `json:"b"`
	// Complete is set if both sides are complete; else Incomplete says in words what may be missing.
	Complete   bool   `json:"complete"`
	Incomplete string `json:"incomplete,omitempty"`
	// Same counts the results that both sides took from one run, because what was measured is byte for byte the same.
	Same int `json:"same,omitempty"`
	// Forced are the jobs of both that ran although not all that they need had succeeded.
	Forced []compare.ForcedJob `json:"forced,omitempty"`
	// Failed are the test cases of B that have an error and no result, with the part of the error that tells the
	// cause, sorted.
	Failed []compare.FailedCase `json:"failed"`
	// Comparison has the judgement. Its words are those of the report: they also say what failed or may be missing.
	compare.Comparison
}
