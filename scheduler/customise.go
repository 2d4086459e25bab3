package scheduler

import (
	"fmt"

	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/rules/suite"
)

// whyNotCustomised says why a request of a kind, expanded with a template, may have no jobs that differ from those of its
// definitions; empty if it may. No kind of request may by itself: a branch must say so.
func whyNotCustomised(t suite.Template, kind events.RequestKind) string {
	switch {
	case t.Customise == suite.CustomiseAny:
		return ""
	case t.Branch == "":
		return fmt.Sprintf("no [[branch]] applies to this %s request, so its jobs stay as the definitions have them: they can be changed for a branch whose [[branch]] has customise = %q in the suite file",
			kind, suite.CustomiseAny)
	}
	return fmt.Sprintf("branch %s has customise = %q, so the jobs of a %s request stay as the definitions have them: they can be changed with customise = %q in its [[branch]] in the suite file",
		t.Branch, t.Customise, kind, suite.CustomiseAny)
}
