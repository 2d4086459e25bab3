package website

import (
	"fmt"

	"github.com/tachobench/tacho/internal/phrase"
	"github.com/tachobench/tacho/readmodel"
	"github.com/tachobench/tacho/rules/compare"
)

// sameShown is how many of the errors of one cause a page names beside the first.
const sameShown = 50

// errorGroup is an error, and those of the same cause.
type errorGroup struct {
	readmodel.JobError
	Others []readmodel.JobError
}

// sameErrors puts errors of one cause together, in the order of the first of each.
func sameErrors(list []readmodel.JobError) []errorGroup {
	var groups []errorGroup
	of := map[string]int{}
	for _, e := range list {
		key := fmt.Sprintf("%s %t %s", e.Kind, e.Stale, compare.SameError(e.Message, e.Case))
		if at, known := of[key]; known {
			groups[at].Others = append(groups[at].Others, e)
			continue
		}
		of[key] = len(groups)
		groups = append(groups, errorGroup{JobError: e})
	}
	return groups
}

// Same says how many others have the same error.
func (g errorGroup) Same() string {
	what := "other test case"
	for _, e := range g.Others {
		if e.Case == nil {
			what = "other error"
		}
	}
	return fmt.Sprintf("… and %s: same error", phrase.Count(len(g.Others), what))
}

// Shown are the first of the others, More counts the rest.
func (g errorGroup) Shown() []readmodel.JobError { return g.Others[:min(len(g.Others), sameShown)] }

// More counts the others that are not shown.
func (g errorGroup) More() int { return len(g.Others) - len(g.Shown()) }
