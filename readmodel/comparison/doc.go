// Package comparison judges one artifact against another with everything that the tables hold of both.
//
// It loads the results of two artifacts, what the definitions say of their metrics and benchmarks, and the history
// of master before the first, and lets package compare decide. The website, its API and the reporter all ask here,
// so that a page and a comment on a pull request never differ.
package comparison

import (
	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/rules/compare"
)

// Query names what is compared.
type Query struct {
	// A is compared with; empty means the parent of B. B is judged.
	A, B events.Tag
	// Suite may be empty when one suite alone has results of both.
	Suite events.SuiteName
	// Metric restricts the comparison to one metric; empty compares all.
	Metric events.Metric
}

// Side is one side of a comparison.
type Side struct {
	Tag events.Tag `json:"tag"`
	// RequestID and State are those of the newest request for the artifact; empty when there was none and
	// the results come from a backfill.
	RequestID events.RequestID    `json:"request_id"`
	State     events.RequestState `json:"state"`
	// Cases is how many test cases have results.
	Cases int `json:"cases"`
	// Complete is set when its request is completed; else Note says in words what may be missing.
	Complete bool   `json:"complete"`
	Note     string `json:"note,omitempty"`
}

// Comparison is the judgement on two artifacts, and on what it rests.
type Comparison struct {
	Suite events.SuiteName `json:"suite"`
	// Definitions are those that gave metrics and categories their meaning.
	Definitions events.Digest `json:"definitions"`
	// A is compared with, B is judged.
	A Side `json:"a"`
	B Side `json:"b"`
	// Complete is set when both sides are; else Incomplete says in words what may be missing.
	Complete   bool   `json:"complete"`
	Incomplete string `json:"incomplete,omitempty"`
	// Failed are the test cases of B that have an error and no result, with what tells the cause, sorted.
	Failed []compare.FailedCase `json:"failed"`
	// Comparison has the judgement. Its words are those of the report: they tell also what failed or may be missing.
	compare.Comparison
}
