package cli

import (
	"fmt"
	"strings"

	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/internal/phrase"
)

// describeWish describes a wish for more jobs.
func describeWish(f events.GraphWanted) string {
	what := "all jobs that did not succeed"
	switch {
	case len(f.Select) > 0:
		what = phrase.Count(len(f.Select), "job")
	case f.Kind.Sampled():
		what = "all jobs"
	case f.Kind == events.GraphAdded && len(f.Labels) > 0:
		what = strings.Join(f.Labels, " ")
	case f.Kind == events.GraphAdded:
		what = "all jobs that were switched off"
	case f.Force:
		what = "all jobs that ended"
	}
	if f.Force {
		what += ", also if they succeeded"
	}
	if len(f.Where) > 0 {
		what += " with " + strings.Join(f.Where, " ")
	}
	if f.Copies > 0 {
		what += fmt.Sprintf(", %s each", phrase.Count(f.Copies, "sample"))
	}
	if f.Iterations > 0 {
		what += fmt.Sprintf(", with %s", phrase.Count(f.Iterations, "iteration"))
	}
	if f.Downstream != "" {
		what += fmt.Sprintf(" with %s downstream", f.Downstream)
	}
	kind := string(f.Kind) + " of "
	if f.Kind == events.GraphAdded {
		kind = "to be added: "
	}
	return join(fmt.Sprintf("%s%s for request %s, asked for as %s", kind, what, f.RequestID, f.Key), f.Reason)
}
