package cli

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/internal/phrase"
	"github.com/tachobench/tacho/rules/suite"
)

// chosen are the flags that choose among what a suite offers.
type chosen struct {
	Branch  string            `help:"Branch that the request is for." placeholder:"NAME"`
	Graph   string            `help:"Graph of the suite; default: that of the branch, or the first one." placeholder:"NAME"`
	Options map[string]string `help:"Option of the suite; may be repeated." name:"option" placeholder:"NAME=VALUE"`
}

func (c chosen) choice() suite.Choice {
	return suite.Choice{Branch: c.Branch, Graph: c.Graph, Options: c.Options}
}

// plannedTemplate is a suite.Template in JSON and in words.
type plannedTemplate struct {
	suite.PlannedTemplate

	// pairs are the options in words.
	pairs    []string
	deadline time.Duration
}

func newPlannedTemplate(branch string, t suite.Template) *plannedTemplate {
	return &plannedTemplate{PlannedTemplate: t.Planned(branch), pairs: t.Settings(), deadline: t.Deadline}
}

// words say which graph and branch a request has; nothing if there is nothing to choose.
func (t *plannedTemplate) words() string {
	if t == nil {
		return ""
	}
	words := ""
	if t.Graph != "" {
		words += " with graph " + t.Graph
	}
	if t.Branch != "" {
		words += " for branch " + t.Branch
	}
	if t.Match != "" && t.Match != t.Branch {
		words += fmt.Sprintf(" (%s)", t.Match)
	}
	return words
}

// print says what else the template has, for a request of a kind.
func (t *plannedTemplate) print(p *Program, kind events.RequestKind) {
	if t == nil {
		return
	}
	if len(t.pairs) > 0 {
		fmt.Fprintf(p.Stdout, "Options: %s.\n", strings.Join(t.pairs, ", "))
	}
	if t.OnFailure == suite.FailFast {
		fmt.Fprintln(p.Stdout, "The first required job that fails skips all that are not dispatched.")
	}
	if t.Deadline != "" {
		then := "An alert comes if it is open after %s; nothing of it ends.\n"
		if kind == events.Try {
			then = "It ends after %s, whatever is open.\n"
		}
		fmt.Fprintf(p.Stdout, then, phrase.Duration(t.deadline))
	}
	if t.Priority != "" {
		fmt.Fprintf(p.Stdout, "Its priority is %s unless the request names another one.\n", t.Priority)
	}
	if t.MaxPriority != "" {
		fmt.Fprintf(p.Stdout, "Its priority is at most %s.\n", t.MaxPriority)
	}
}

// sizes prints how many jobs the graphs of a suite make, if there are graphs or branches.
func (p *Program) sizes(sizes []suite.Size) error {
	fmt.Fprintln(p.Stdout)
	var rows [][]string
	for _, s := range sizes {
		if s.Request == events.Master {
			rows = append(rows, []string{cmp.Or(s.Branch, "any other"), cmp.Or(s.Graph, "-") + when(s.Default && s.Graph != "", " (default)")})
		}
		jobs := phrase.Count(s.Jobs, "job")
		if s.Off > 0 {
			jobs += fmt.Sprintf(", %d off", s.Off)
		}
		rows[len(rows)-1] = append(rows[len(rows)-1], jobs)
	}
	return table(p.Stdout, []string{"BRANCH", "GRAPH", "MASTER", "TRY", "RELEASE"}, rows)
}
