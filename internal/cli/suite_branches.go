package cli

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/tachobench/tacho/control"
	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/internal/phrase"
	"github.com/tachobench/tacho/internal/usage"
	"github.com/tachobench/tacho/readmodel"
	"github.com/tachobench/tacho/website/client"
)

type suiteBranchesCmd struct {
	Suite events.SuiteName `arg:"" help:"Name of a published suite."`
	JSON  bool             `help:"Print JSON." name:"json"`
}

// Run shows which definitions the branches of a suite use.
func (c *suiteBranchesCmd) Run(ctx context.Context, p *Program) error {
	cl, err := p.client()
	if err != nil {
		return err
	}
	lines, err := cl.Branches(ctx, c.Suite)
	switch {
	case err != nil:
		return next(err, "`tacho suite publish FILE` publishes definitions")
	case c.JSON:
		return p.json(lines)
	}
	published, err := cl.Definitions(ctx)
	if err != nil {
		return err
	}
	if len(lines) > 0 {
		if err := p.branches(lines); err != nil {
			return err
		}
	}
	return p.aside(c.Suite, lines, published)
}

// mostAside is how many definitions that no branch uses are shown.
const mostAside = 10

// aside shows the newest definitions of a suite that were published for requests that name them; nothing if there are none.
func (p *Program) aside(name events.SuiteName, lines []readmodel.DefinitionLine, published []readmodel.Definition) error {
	var rows [][]string
	for _, d := range published {
		used := slices.ContainsFunc(lines, func(l readmodel.DefinitionLine) bool { return l.Digest == d.Digest })
		if d.Suite == name && d.Aside && !used {
			rows = append(rows, []string{string(d.Digest), moment(&d.PublishedAt)})
		}
	}
	if len(rows) == 0 {
		return nil
	}
	fmt.Fprintf(p.Stdout, "%sNo branch uses these; requests name them (--definitions):\n\n", when(len(lines) > 0, "\n"))
	more := len(rows) - mostAside
	if err := table(p.Stdout, []string{"DEFINITIONS", "PUBLISHED"}, rows[:min(len(rows), mostAside)]); err != nil || more <= 0 {
		return err
	}
	_, err := fmt.Fprintf(p.Stdout, "and %d more\n", more)
	return err
}

func (p *Program) branches(lines []readmodel.DefinitionLine) error {
	var rows [][]string
	for _, l := range lines {
		without := "those of all others"
		if l.Branch == "" {
			without = "none yet"
		}
		rows = append(rows, []string{
			cmp.Or(l.Branch, "(all others)"), cmp.Or(string(l.Digest), without), moment(&l.MovedAt), short(l.Revision),
			when(len(l.Problems) > 0, "its newest file was refused"),
		})
	}
	if err := table(p.Stdout, []string{"BRANCH", "DEFINITIONS", "SINCE", "FILE READ AT", ""}, rows); err != nil {
		return err
	}
	for _, l := range lines {
		if len(l.Problems) > 0 {
			fmt.Fprintf(p.Stdout, "\nrevision %s%s was refused:\n", short(l.Revision), when(l.Branch != "", " of branch "+l.Branch))
		}
		for _, problem := range l.Problems {
			fmt.Fprintf(p.Stdout, "  %s\n", problem)
		}
	}
	return nil
}

type suitePromoteCmd struct {
	Suite   events.SuiteName `arg:"" help:"Name of a published suite."`
	Digest  string           `arg:"" optional:"" help:"Digest of definitions that were published, or its beginning (at least 4 characters)."`
	Branch  string           `help:"Branch to move; default: all that have none of their own." placeholder:"B"`
	Inherit bool             `help:"Take its own definitions from the branch: it uses those of all others again."`
	Reason  string           `help:"Why; it is kept in the log." placeholder:"TEXT"`
	JSON    bool             `help:"Print JSON." name:"json"`
}

// Help is shown by --help.
func (*suitePromoteCmd) Help() string {
	return "Requests that have started keep the definitions that they started with. A file of a repository that was read before is not published again, so a branch stays " +
		"where it was moved to until its file changes. Without a digest nothing moves; the refusal names the definitions that were published last."
}

// Run moves a branch to other definitions.
func (c *suitePromoteCmd) Run(ctx context.Context, p *Program) error {
	if c.Inherit && (c.Digest != "" || c.Branch == "") {
		return usage.Errorf("--inherit needs --branch, and no digest")
	}
	cl, err := p.client()
	if err != nil {
		return err
	}
	to := client.Promotion{Branch: c.Branch, Reason: c.Reason}
	if !c.Inherit {
		if to.Digest, err = c.digest(ctx, cl); err != nil {
			return err
		}
	}
	answer, err := cl.Promote(ctx, c.Suite, to)
	if err != nil {
		return err
	}
	p.warnOld(answer.Warnings)
	if c.JSON {
		return p.json(answer)
	}
	fmt.Fprintf(p.Stdout, "suite %s, %s: %s%s\n", c.Suite, cmp.Or(c.Branch, "all branches that have none of their own"),
		cmp.Or(string(to.Digest), "the definitions of all others"), when(answer.Existed, " already"))
	return nil
}

// shortestDigest is the least length of the beginning of a digest, as it is of ids and tags: a slip of the finger should
// not move a branch.
const shortestDigest = 4

// digest finds the published definitions whose digest begins as asked.
func (c *suitePromoteCmd) digest(ctx context.Context, cl *client.Client) (events.Digest, error) {
	published, err := cl.Definitions(ctx)
	if err != nil {
		return "", err
	}
	var found, own []string
	for _, d := range published {
		if d.Suite != c.Suite {
			continue
		}
		own = append(own, fmt.Sprintf("%s of %s%s", d.Digest, phrase.Moment(d.PublishedAt), when(d.Aside, " (aside)")))
		if len(c.Digest) >= shortestDigest && strings.HasPrefix(string(d.Digest), c.Digest) {
			found = append(found, string(d.Digest))
		}
	}
	switch {
	case len(found) == 1:
		return events.Digest(found[0]), nil
	case len(found) > 1:
		return "", unknown("several definitions begin with %s: %s", c.Digest, strings.Join(found, ", "))
	case len(own) == 0:
		return "", unknown("no definitions of suite %s were published: `tacho suite publish` does that", c.Suite)
	}
	newest := strings.Join(own[:min(len(own), 5)], ", ")
	if len(c.Digest) < shortestDigest {
		return "", usage.Errorf("name the definitions by the beginning of their digest, at least %d characters; the newest of suite %s are %s", shortestDigest, c.Suite, newest)
	}
	return "", unknown("suite %s has no definitions %s; it has %s", c.Suite, c.Digest, newest)
}

// unknown says that what was named is not there, as the server says it of what it is asked for: with the same exit code.
func unknown(format string, args ...any) error {
	return &control.RefusedError{Kind: control.NotFound, Reason: fmt.Sprintf(format, args...)}
}
