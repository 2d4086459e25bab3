package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/tachobench/tacho/collector/definitions"
	"github.com/tachobench/tacho/internal/node"
	"github.com/tachobench/tacho/internal/phrase"
	"github.com/tachobench/tacho/internal/usage"
	"github.com/tachobench/tacho/readmodel"
	"github.com/tachobench/tacho/rules/suite"
	"github.com/tachobench/tacho/website/client"
)

type suiteCmd struct {
	Check    suiteCheckCmd    `cmd:"" help:"Check definitions; errors name the line."`
	Show     suiteShowCmd     `cmd:"" help:"Show definitions."`
	Diff     suiteDiffCmd     `cmd:"" help:"Show how definitions differ."`
	Publish  suitePublishCmd  `cmd:"" help:"Make definitions the current ones of a running Tacho."`
	Promote  suitePromoteCmd  `cmd:"" help:"Move a branch to definitions that were published before, forwards or back."`
	Branches suiteBranchesCmd `cmd:"" help:"Show which definitions the branches of a suite use."`
	List     suiteListCmd     `cmd:"" help:"List the suites that ship."`
	Plan     planSetsCmd      `cmd:"" name:"plan-sets" help:"Propose balanced sets for a target, with the fewest moves."`
}

type suiteListCmd struct {
	JSON bool `help:"Print JSON." name:"json"`
}

// Run lists the shipped suites.
func (c *suiteListCmd) Run(_ context.Context, p *Program) error {
	var rows [][]string
	var list []map[string]any
	for _, name := range definitions.Names() {
		d, err := definitions.Shipped(name)
		if err != nil {
			return err
		}
		rows = append(rows, []string{name, fmt.Sprint(len(d.Benchmarks)), d.Description})
		list = append(list, map[string]any{"name": name, "benchmarks": len(d.Benchmarks), "description": d.Description, "digest": d.Digest()})
	}
	if c.JSON {
		return p.json(list)
	}
	return table(p.Stdout, []string{"SUITE", "BENCHMARKS", ""}, rows)
}

type suiteCheckCmd struct {
	Suite string `arg:"" help:"Name of a shipped suite, or a file."`
	JSON  bool   `help:"Print JSON." name:"json"`
}

// Help is shown by --help.
func (*suiteCheckCmd) Help() string {
	return "It asks no server, unless --server URL is given: then it also says which kinds of matched jobs reserve less memory than the last of them had on that Tacho, " +
		"or over twice as much. With warnings and hints the suite is good all the same."
}

// Run checks definitions.
func (c *suiteCheckCmd) Run(ctx context.Context, p *Program) error {
	d, err := loadSuite(c.Suite)
	if err != nil {
		return err
	}
	var hints []readmodel.MemoryHint
	if p.globals.Server != "" {
		if hints, err = p.memoryHints(ctx, d); err != nil {
			return err
		}
	}
	var sizes []suite.Size
	if len(d.Graphs)+len(d.Branches) > 0 {
		if sizes, err = d.Sizes(); err != nil {
			return err
		}
	}
	if c.JSON {
		answer := map[string]any{"suite": d.Name, "digest": d.Digest(), "benchmarks": len(d.Benchmarks)}
		if len(sizes) > 0 {
			answer["sizes"] = sizes
		}
		if len(hints) > 0 {
			answer["hints"] = hints
		}
		if warnings := d.Warnings(); len(warnings) > 0 {
			answer["warnings"] = warnings
		}
		return p.json(answer)
	}
	fmt.Fprintf(p.Stdout, "suite %s is good: %s, %s, digest %s\n", d.Name, phrase.Count(len(d.Benchmarks), "benchmark"), phrase.Count(len(d.Targets), "target"), d.Digest())
	for _, w := range d.Warnings() {
		p.heading("warning: %s", w)
	}
	p.hints(hints)
	if len(sizes) > 0 {
		return p.sizes(sizes)
	}
	return nil
}

// memoryHints asks the running Tacho what the last jobs of the suite used, and compares it with what the kinds reserve.
func (p *Program) memoryHints(ctx context.Context, d suite.Definitions) ([]readmodel.MemoryHint, error) {
	cl, err := p.client()
	if err != nil {
		return nil, err
	}
	uses, err := cl.Uses(ctx, d.Name)
	if err != nil {
		return nil, err
	}
	return readmodel.MemoryHints(d, uses), nil
}

type suiteShowCmd struct {
	Suite string `arg:"" help:"Name of a shipped suite, or a file."`
	JSON  bool   `help:"Print the canonical JSON that the digest names." name:"json"`
}

// Run shows definitions.
func (c *suiteShowCmd) Run(_ context.Context, p *Program) error {
	d, err := loadSuite(c.Suite)
	if err != nil {
		return err
	}
	if c.JSON {
		_, err := fmt.Fprintf(p.jsonOut(), "%s\n", d.Canonical())
		return err
	}
	fmt.Fprintf(p.Stdout, "suite %s: %s\ndigest %s\n\n", d.Name, d.Description, d.Digest())
	fmt.Fprintf(p.Stdout, "%-10s %s\n", "targets", names(d.Targets, func(t suite.Target) string {
		return fmt.Sprintf("%s (%s%s)", t.Name, phrase.Count(t.Sets, "set"), when(t.Optional, ", optional"))
	}))
	fmt.Fprintf(p.Stdout, "%-10s %s\n", "kinds", names(d.Kinds, func(k suite.Kind) string {
		return string(k.Name) + when(k.Does == suite.DoesCommand, " (runs commands)") + when(k.Builds(), " (builds)")
	}))
	fmt.Fprintf(p.Stdout, "%-10s %s\n", "profiles", names(d.Profiles, func(x suite.Profile) string {
		return string(x.Name) + when(x.OnRequest, " (on request)")
	}))
	fmt.Fprintf(p.Stdout, "%-10s %s\n", "backends", names(d.Backends, func(b suite.Backend) string {
		return string(b.Name) + when(b.OnRequest, " (on request)")
	}))
	fmt.Fprintf(p.Stdout, "%-10s %s\n", "scenarios", names(d.Scenarios, func(s suite.Scenario) string { return string(s.Name) }))
	if len(d.Options) > 0 {
		fmt.Fprintf(p.Stdout, "%-10s %s\n", "options", names(d.Options, func(o suite.Option) string {
			return fmt.Sprintf("%s (%s%s)", o.Name, strings.Join(o.Values, ", "), when(o.Who == suite.WhoBranch, "; of branches alone"))
		}))
	}
	if len(d.Graphs) > 0 {
		fmt.Fprintf(p.Stdout, "%-10s %s\n", "graphs", names(d.Graphs, func(g suite.Graph) string { return g.Name }))
	}
	if len(d.Branches) > 0 {
		fmt.Fprintf(p.Stdout, "%-10s %s\n", "branches", names(d.Branches, func(b suite.Branch) string { return b.Match }))
	}
	fmt.Fprintln(p.Stdout)
	var rows [][]string
	for _, b := range d.Benchmarks {
		sets := ""
		for _, t := range sortedKeys(b.Sets) {
			sets += fmt.Sprintf(" %s/%d", t, b.Sets[t])
		}
		rows = append(rows, []string{string(b.Name), string(b.Category), strings.TrimSpace(sets)})
	}
	return table(p.Stdout, []string{"BENCHMARK", "CATEGORY", "SETS"}, rows)
}

func names[T any](list []T, name func(T) string) string {
	var out []string
	for _, x := range list {
		out = append(out, name(x))
	}
	return strings.Join(out, ", ")
}

type suiteDiffCmd struct {
	A    string `arg:"" help:"Name of a shipped suite, or a file."`
	B    string `arg:"" help:"Name of a shipped suite, or a file."`
	JSON bool   `help:"Print JSON." name:"json"`
}

// Run shows how definitions differ.
func (c *suiteDiffCmd) Run(_ context.Context, p *Program) error {
	a, err := loadSuite(c.A)
	if err != nil {
		return err
	}
	b, err := loadSuite(c.B)
	if err != nil {
		return err
	}
	differences := suite.Diff(a, b)
	if c.JSON {
		return p.json(differences)
	}
	if len(differences) == 0 {
		fmt.Fprintln(p.Stdout, "There is no difference.")
	}
	for _, d := range differences {
		fmt.Fprintln(p.Stdout, d)
	}
	return nil
}

type suitePublishCmd struct {
	Suite  string `arg:"" help:"Name of a shipped suite, or a file."`
	Branch string `help:"Branch that they are for; default: all that have none of their own." placeholder:"B"`
	Key    string `help:"File with the private key to seal them with, as tacho seal key makes it." type:"path" placeholder:"KEYFILE"`
	Aside  bool   `help:"No branch uses them: requests name them by their digest (--definitions)."`
	JSON   bool   `help:"Print JSON." name:"json"`
}

// Help is shown by --help.
func (*suitePublishCmd) Help() string {
	return "With --key the definitions are sealed here, on this machine; the server never sees the private key. Published again with another key, they have both seals, and nothing else changes."
}

// Run publishes definitions.
func (c *suitePublishCmd) Run(ctx context.Context, p *Program) error {
	d, err := loadSuite(c.Suite)
	if err != nil {
		return err
	}
	key, err := node.SealKey("--key", c.Key)
	if err != nil {
		return err
	}
	cl, err := p.client()
	if err != nil {
		return err
	}
	if c.Aside && c.Branch != "" {
		return usage.Errorf("--aside needs no --branch: no branch uses the definitions")
	}
	answer, err := cl.Publish(ctx, d.Canonical(), client.Publication{Branch: c.Branch, Aside: c.Aside, Seal: key.Definitions(d.Name, d.Digest())})
	if err != nil {
		return err
	}
	p.warnOld(answer.Warnings)
	if c.JSON {
		return p.json(answer)
	}
	what := "published"
	switch {
	case answer.Existed && c.Aside:
		what = "already published"
	case answer.Existed:
		what = "already current"
	case c.Aside:
		what = fmt.Sprintf("published; no branch uses them, requests name them: --definitions %.12s", answer.Digest)
	}
	if key != nil {
		what += ", sealed with key " + key.Public().ID
	}
	fmt.Fprintf(p.Stdout, "suite %s%s, digest %s: %s\n", answer.Suite, when(c.Branch != "", ", branch "+c.Branch), answer.Digest, what)
	return nil
}

// warnOld prints the warnings of an answer on stderr.
func (p *Program) warnOld(warnings []string) {
	for _, w := range warnings {
		p.say("warning: %s", w)
	}
}

// loadSuite loads definitions. Wrong definitions are a failure; a name without definitions is wrong usage.
func loadSuite(nameOrFile string) (suite.Definitions, error) {
	d, err := definitions.Load(nameOrFile)
	var problems suite.Problems
	if err != nil && !errors.As(err, &problems) {
		return d, usage.Error{Err: err}
	}
	return d, err
}
