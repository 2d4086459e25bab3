package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/tachobench/tacho/collector/definitions"
	"github.com/tachobench/tacho/collector/runner"
	"github.com/tachobench/tacho/internal/ab"
	"github.com/tachobench/tacho/internal/usage"
	"github.com/tachobench/tacho/rules/compare"
	"github.com/tachobench/tacho/rules/suite"
)

// runSuite compares two artifacts by the benchmarks of a suite.
func (c *abCmd) runSuite(ctx context.Context, p *Program) error {
	if unfit := c.notForSuites(); unfit != "" {
		return usage.Errorf("%s is not for a suite: it says itself what is run, and how", unfit)
	}
	if err := (ab.Plan{MaxPairs: c.MaxPairs, Budget: c.Budget}).Check(); err != nil {
		return usage.Error{Err: err}
	}
	plan, err := c.suitePlan(p)
	if err != nil {
		return err
	}
	result, err := ab.MeasureSuite(ctx, runner.New(runner.Settings{Counting: c.Instructions}), plan)
	if p.screen != nil {
		p.screen.show("")
	}
	var unknown *ab.UnknownError
	if errors.As(err, &unknown) {
		return usage.Error{Err: err}
	}
	if shown := c.showSuite(p, result); shown != nil {
		return shown
	}
	return c.suiteEnded(result, err)
}

// suiteEnded gives a result its exit code.
func (c *abCmd) suiteEnded(r ab.SuiteResult, err error) error {
	switch {
	case r.Ended == ab.EndInterrupted:
		return codeError{code: exitInterrupted}
	case err != nil:
		return err
	case len(r.Failed) > 0:
		return codeError{exitSideFailed, errors.New(strings.Join(r.Failed, "\n"))}
	case len(r.Cases) == 0:
		return errors.New("nothing was measured: give more time with --budget, or choose fewer benchmarks with --benchmark")
	case c.FailOn != "none" && (r.Verdict == ab.Regressed || r.Verdict == ab.Mixed), c.FailOn == "change" && r.Verdict == ab.Improved:
		return codeError{code: ExitFailed}
	}
	return nil
}

// notForSuites returns the flag that a suite leaves no room for; empty if there is none.
func (c *abCmd) notForSuites() string {
	for _, f := range []struct {
		name string
		set  bool
	}{
		{"--build", c.Build != ""},
		{"--env-a", len(c.EnvA) > 0},
		{"--env-b", len(c.EnvB) > 0},
		{"--args-a", len(c.ArgsA) > 0},
		{"--args-b", len(c.ArgsB) > 0},
		{"--input", c.Input != ""},
		{"--parse", c.Parse != ""},
		{"--runs", c.Runs != 0},
		{"--timeout", c.Timeout != 0},
		{"a command after --", len(c.Args) > 0},
	} {
		if f.set {
			return f.name
		}
	}
	return ""
}

// suitePlan reads what to measure.
func (c *abCmd) suitePlan(p *Program) (plan ab.SuitePlan, err error) {
	plan = ab.SuitePlan{MaxPairs: c.MaxPairs, Budget: c.Budget, Benchmarks: c.Benchmark}
	if plan.Definitions, err = loadSuite(c.Suite); err != nil {
		return plan, err
	}
	plan.Programs = definitions.ProgramsBeside(c.Suite)
	if plan.Definitions.Sources.Root == suite.SourcesShipped {
		plan.Programs = definitions.ShippedPrograms(plan.Definitions.Name)
	}
	if plan.A, err = artifactIn(c.A); err != nil {
		return plan, err
	}
	if plan.B, err = artifactIn(c.B); err != nil {
		return plan, err
	}
	if p.screen != nil {
		plan.Log = p.screen.show
	}
	return plan, nil
}

// artifactIn returns the absolute path of an artifact.
func artifactIn(dir string) (string, error) {
	info, err := os.Stat(dir)
	if err != nil || !info.IsDir() {
		return "", usage.Errorf("%s is not a directory: a suite measures two artifacts, each unpacked in a directory", dir)
	}
	return filepath.Abs(dir)
}

// showSuite prints a result.
func (c *abCmd) showSuite(p *Program, r ab.SuiteResult) error {
	headings := append([]string{"TEST CASE"}, ab.Headings()...)
	switch {
	case c.JSON || c.Format == "json":
		return p.json(r)
	case c.Format == "samples":
		var rows []compare.SampleRow
		for _, one := range r.Cases {
			rows = append(rows, compare.SampleRow{Case: one.Case, Metric: one.Metric.Metric.Name, Pairs: one.Measured})
		}
		return compare.SamplesCSV(p.exactly(p.Stdout), rows)
	case c.Format == "markdown":
		return markdownTable(p.Stdout, r.Sentence(), headings, r.Rows(c.All))
	}
	fmt.Fprintf(p.Stdout, "a: %s\nb: %s\n%s\n\n", c.A, c.B, r.Sentence())
	if err := table(p.Stdout, headings, r.Rows(c.All)); err != nil {
		return err
	}
	if r.Ended == ab.EndBudget {
		fmt.Fprintln(p.Stdout, "\nThe budget was spent: what was not whole by then is left out.")
	}
	return nil
}

// markdownTable writes a sentence and a table. It fails only when w does.
func markdownTable(w io.Writer, sentence string, headings []string, rows [][]string) error {
	var b strings.Builder
	fmt.Fprintf(&b, "**%s**\n\n| %s |\n|%s\n", sentence, strings.ToLower(strings.Join(headings, " | ")), strings.Repeat("---|", len(headings)))
	for _, cells := range rows {
		fmt.Fprintf(&b, "| %s |\n", strings.Join(cells, " | "))
	}
	_, err := io.WriteString(w, b.String())
	return err
}
