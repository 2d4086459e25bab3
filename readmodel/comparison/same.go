package comparison

import (
	"cmp"
	"fmt"

	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/internal/phrase"
	"github.com/tachobench/tacho/readmodel"
)

// sameRuns counts the results of two artifacts that one run measured, of which one took those of the other: what it measured is byte
// for byte the same in both. A run that measured both of them for itself, in turns, says nothing of that.
func sameRuns(a, b []readmodel.Result) (n int) {
	type place struct {
		events.TestCase
		environment events.Digest
	}
	run := func(r readmodel.Result) events.JobID { return cmp.Or(r.ReusedFrom, r.JobID) }
	results := map[place]readmodel.Result{}
	for _, r := range a {
		results[place{r.TestCase, r.Environment}] = r
	}
	for _, r := range b {
		other, measured := results[place{r.TestCase, r.Environment}]
		if measured && run(other) == run(r) && (r.ReusedFrom != "" || other.ReusedFrom != "") {
			n++
		}
	}
	return n
}

// sameNote says in a sentence that results of both sides are of one run; empty if none are.
func (c Comparison) sameNote() string {
	switch {
	case c.Same == 0:
		return ""
	case c.Same == c.B.Cases:
		return fmt.Sprintf("What was measured of %s is byte for byte the same as of %s: nothing was measured again, and %s of both are of the same runs.",
			c.B.Tag, c.A.Tag, phrase.Count(c.Same, "result"))
	}
	return fmt.Sprintf("%d of %s of %s %s not measured again: what they show is byte for byte the same as in %s.",
		c.Same, phrase.Count(c.B.Cases, "result"), c.B.Tag, phrase.Verb(c.Same, "was", "were"), c.A.Tag)
}
