package request

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/tachobench/tacho/events"
)

// decideAgain refuses to create a request that already exists if the command asks for something else: the difference
// would be lost silently. A field that the command leaves out is no difference. Parameters are the exception: no
// profiles means the default ones.
func decideAgain(r Request, c Create) error {
	if c.AsItIs {
		return nil
	}
	found := differences(r, c)
	if len(found) == 0 {
		return nil
	}
	advice := "ask for it as a try with a key of its own (`tacho request try TAG --key TEXT`)"
	if c.Kind == events.Try {
		advice = "use another key (`--key TEXT`)"
	}
	return refuse("request %s exists already (%s), and what is asked for now differs: %s. To have this too, %s; to have what is there, ask for the same as before",
		r.ID, r.State, strings.Join(found, "; "), advice)
}

// differences says in words where the command differs from the request.
func differences(r Request, c Create) []string {
	var out []string
	differ := func(what, asked, is, none string) {
		if is == "" {
			is = none
		}
		if asked == "" {
			asked = none
		}
		if asked != is {
			out = append(out, fmt.Sprintf("%s %s instead of %s", what, asked, is))
		}
	}
	if c.Tag != "" {
		differ("tag", string(c.Tag), string(r.Artifact.Tag), "none yet")
	}
	if c.Parent != "" && c.Parent != r.AskedParent { // its build may have named another parent since
		differ("parent", string(c.Parent), string(r.Parent), "none")
	}
	if c.PR != 0 && c.PR != r.PR {
		differ("pull request", fmt.Sprint(c.PR), number(r.PR), "none")
	}
	if c.ReleasedOn != "" {
		differ("release date", c.ReleasedOn, date(r.ReleasedOn), "none")
	}
	if c.Account != "" {
		differ("account", string(c.Account), string(r.Account), "none")
	}
	if c.Queue != "" {
		differ("queue", string(stored(c.Queue)), string(r.Queue), string(events.MainQueue))
	}
	if c.Priority != "" {
		differ("priority", c.Priority.String(), r.Priority.String(), "")
	}
	if len(c.Requires) > 0 {
		differ("requirements", strings.Join(c.Requires, " "), strings.Join(r.AskedRequires(), " "), "none")
	}
	is := r.Choice()
	if c.Choice.Branch != "" {
		differ("branch", c.Choice.Branch, is.Branch, "none")
	}
	if c.Choice.Graph != "" {
		differ("graph", c.Choice.Graph, is.Graph, "the default")
	}
	if len(c.Choice.Options) > 0 {
		differ("options", c.Choice.Settings(), is.Settings(), "the default")
	}
	if c.Pinned.Definitions != "" {
		differ("definitions", string(c.Pinned.Definitions), string(r.Pins().Definitions), "those of its branch")
	}
	if c.Pinned.Together != "" {
		differ("set", c.Pinned.Together, r.Pins().Together, "none")
	}
	differ("targets", listed(c.Parameters.Targets), listed(r.Parameters.Targets), "the default")
	differ("backends", listed(c.Parameters.Backends), listed(r.Parameters.Backends), "the default")
	differ("profiles", listed(c.Parameters.Profiles), listed(r.Parameters.Profiles), "the default")
	differ("benchmarks", listed(c.Parameters.Benchmarks), listed(r.Parameters.Benchmarks), "all")
	return out
}

func number(n int) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprint(n)
}

func date(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.Format(time.DateOnly)
}

// listed joins the values in sorted order, whatever order they were given in.
func listed[T ~string](values []T) string {
	texts := make([]string, len(values))
	for i, v := range values {
		texts[i] = string(v)
	}
	slices.Sort(texts)
	return strings.Join(texts, ", ")
}
