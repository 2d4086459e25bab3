package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/tachobench/tacho/collector/definitions"
	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/internal/phrase"
	"github.com/tachobench/tacho/internal/usage"
	"github.com/tachobench/tacho/rules/suite"
	"github.com/tachobench/tacho/website/client"
)

// notCounted is printed with every plan: no event has these durations.
const notCounted = "Durations are the wall time of iterations. What a job does around them (download, preparation) is not known per benchmark and not counted."

type planSetsCmd struct {
	Suite     string  `arg:"" help:"Name of a shipped suite, or a file; its sets may be incomplete."`
	Target    string  `help:"The target to plan for." required:"" placeholder:"T"`
	Sets      int     `help:"How many sets to plan; default: as many as the target has." placeholder:"N"`
	Tolerance float64 `help:"To save moves, the longest set may be this much longer than necessary, in percent." default:"5" placeholder:"PERCENT"`
	For       string  `help:"Balance what requests of this kind measure: master, try or release." default:"master" enum:"master,try,release" placeholder:"KIND"`
	Durations string  `help:"Read durations from a file (JSON object or CSV: name, seconds) instead of a running Tacho." placeholder:"FILE"`
	JSON      bool    `help:"Print JSON." name:"json"`
}

// Run proposes sets.
func (c *planSetsCmd) Run(ctx context.Context, p *Program) error {
	d, err := definitions.LoadDraft(c.Suite)
	var problems suite.Problems
	if err != nil {
		if errors.As(err, &problems) {
			return err
		}
		return usage.Error{Err: err}
	}
	wish := suite.BalanceWish{
		Target: events.Target(c.Target), Sets: c.Sets, For: events.RequestKind(c.For), Tolerance: c.Tolerance / 100,
	}
	if _, ok := d.Target(wish.Target); ok {
		if wish.Timings, err = c.timings(ctx, p, d, wish); err != nil {
			return err
		}
	}
	b, err := d.Balance(wish)
	if err != nil {
		return usage.Error{Err: err}
	}
	if c.JSON {
		return p.json(newPlannedSets(d, b))
	}
	return c.print(p, d, b)
}

// timings reads the known durations of the benchmarks, from the file or from the running Tacho.
func (c *planSetsCmd) timings(ctx context.Context, p *Program, d suite.Draft, w suite.BalanceWish) (map[events.Benchmark]suite.Timing, error) {
	if c.Durations != "" {
		data, err := os.ReadFile(c.Durations)
		if err != nil {
			return nil, usage.Error{Err: err}
		}
		timings, err := suite.ParseTimings(data)
		if err != nil {
			return nil, usage.Errorf("%s: %w", c.Durations, err)
		}
		for _, name := range sortedKeys(timings) {
			if _, ok := d.Benchmark(name); !ok {
				return nil, usage.Errorf("%s: suite %s has no benchmark %q: see `tacho suite show %s`", c.Durations, d.Name, name, c.Suite)
			}
		}
		return timings, nil
	}
	cl, err := p.client()
	if err != nil {
		return nil, err
	}
	rows, err := cl.Durations(ctx, d.Name, w.Target)
	var gone *client.UnreachableError
	if errors.As(err, &gone) {
		return nil, fmt.Errorf("%w, or give durations with --durations FILE", err)
	}
	if err != nil {
		return nil, err
	}
	cases := make([]suite.CaseTiming, len(rows))
	for i, r := range rows {
		cases[i] = suite.CaseTiming{TestCase: r.TestCase, Artifacts: r.Artifacts}
		if r.Seconds != nil {
			cases[i].Length = time.Duration(*r.Seconds * float64(time.Second))
		}
	}
	return d.Timings(w.Target, w.For, cases), nil
}

// plannedSets is a proposal as JSON.
type plannedSets struct {
	Suite  events.SuiteName `json:"suite"`
	Target events.Target    `json:"target"`
	// Before and After are the seconds that each set takes.
	Before []float64 `json:"before_s"`
	After  []float64 `json:"after_s"`
	// Shortest is the longest set of the best split that was found. No split has a longest set below Bound.
	Shortest float64 `json:"shortest_s"`
	Bound    float64 `json:"bound_s"`
	Optimal  bool    `json:"optimal"`
	Fewest   bool    `json:"fewest"`
	// Moves is how many benchmarks change their set.
	Moves      int                `json:"moves"`
	Benchmarks []plannedBenchmark `json:"benchmarks"`
	Edits      []plannedEdit      `json:"edits"`
	Left       []events.Benchmark `json:"left"`
}

type plannedBenchmark struct {
	Name     events.Benchmark `json:"name"`
	Category suite.Category   `json:"category"`
	Seconds  float64          `json:"duration_s"`
	Assumed  bool             `json:"assumed"`
	From     *events.Set      `json:"from"`
	To       events.Set       `json:"to"`
	Moved    bool             `json:"moved"`
	// Gain is how many seconds longer the longest set would be without this move.
	Gain      float64 `json:"gain_s"`
	Artifacts int     `json:"artifacts"`
	Results   int     `json:"results"`
}

type plannedEdit struct {
	File   string `json:"file"`
	Line   int    `json:"line"`
	Insert bool   `json:"insert"`
	Text   string `json:"text"`
}

func newPlannedSets(d suite.Draft, b suite.Balance) plannedSets {
	plan := plannedSets{
		Suite: d.Name, Target: b.Target, Before: inSeconds(b.Before), After: inSeconds(b.After), Shortest: b.Shortest.Seconds(),
		Bound: b.Bound.Seconds(), Optimal: b.Optimal, Fewest: b.Fewest, Moves: len(b.Moves()),
		Edits: []plannedEdit{}, Left: append([]events.Benchmark{}, b.Left...),
	}
	for _, s := range b.Shares {
		plan.Benchmarks = append(plan.Benchmarks, plannedBenchmark{
			Name: s.Benchmark, Category: s.Category, Seconds: s.Length.Seconds(), Assumed: s.Assumed, From: s.From, To: s.To,
			Moved: s.Moved(), Gain: s.Gain.Seconds(), Artifacts: s.Timing.Artifacts, Results: s.Timing.Results,
		})
	}
	for _, e := range d.Edits(b) {
		plan.Edits = append(plan.Edits, plannedEdit{File: d.File, Line: e.Line, Insert: e.Insert, Text: e.Text})
	}
	return plan
}

func inSeconds(lengths []time.Duration) []float64 {
	all := make([]float64, len(lengths))
	for i, l := range lengths {
		all[i] = l.Seconds()
	}
	return all
}

// print prints a proposal for a person.
func (c *planSetsCmd) print(p *Program, d suite.Draft, b suite.Balance) error {
	var rows [][]string
	for set := range max(len(b.Before), len(b.After)) {
		row := []string{fmt.Sprint(set), "-", "-"}
		if set < len(b.Before) {
			row[1] = phrase.Duration(b.Before[set])
		}
		if set < len(b.After) {
			row[2] = phrase.Duration(b.After[set])
		}
		rows = append(rows, row)
	}
	rows = append(rows, []string{"longest", phrase.Duration(slices.Max(b.Before)), phrase.Duration(slices.Max(b.After))})
	if err := table(p.Stdout, []string{"SET", "BEFORE", "AFTER"}, rows); err != nil {
		return err
	}
	if b.Optimal {
		fmt.Fprintf(p.Stdout, "No split has a longest set below %s.\n", phrase.Duration(b.Shortest))
	} else {
		fmt.Fprintf(p.Stdout, "The longest set of the best split found takes %s; no split has one below %s.\n", phrase.Duration(b.Shortest), phrase.Duration(b.Bound))
	}
	if err := printMoves(p, b); err != nil {
		return err
	}
	printUnknown(p, b)
	if edits := d.Edits(b); len(edits) > 0 {
		fmt.Fprintf(p.Stdout, "\nTo change in %s:\n", d.File)
		for _, e := range edits {
			fmt.Fprintf(p.Stdout, "  %sline %d (%s): %s\n", when(e.Insert, "after "), e.Line, e.Whose, e.Text)
		}
	}
	if len(b.Left) > 0 {
		fmt.Fprintf(p.Stdout, "\nNot measured by %s requests and without a set: %s. Plan them with --for.\n", c.For, names(b.Left, func(x events.Benchmark) string { return string(x) }))
	}
	_, err := fmt.Fprintf(p.Stdout, "\n%s\n", notCounted)
	return err
}

// printMoves lists the benchmarks that change their set, and what that costs.
func printMoves(p *Program, b suite.Balance) error {
	moves := b.Moves()
	if len(moves) == 0 {
		_, err := fmt.Fprintln(p.Stdout, "\nNo benchmark has to move.")
		return err
	}
	var rows [][]string
	for _, s := range moves {
		lost := "not known"
		if s.Timing.Of > 0 {
			lost = phrase.Count(s.Timing.Results, "result") + " of " + phrase.Count(s.Timing.Artifacts, "artifact")
		}
		rows = append(rows, []string{string(s.Benchmark), phrase.Duration(s.Length), fmt.Sprintf("%d → %d", *s.From, s.To), phrase.Duration(s.Gain), lost})
	}
	fmt.Fprintln(p.Stdout)
	if err := table(p.Stdout, []string{"MOVE", "TAKES", "SET", "GAINS", "HISTORY THAT ENDS"}, rows); err != nil {
		return err
	}
	if !b.Fewest {
		fmt.Fprintln(p.Stdout, "There may be a plan with fewer moves: the search ended before it had seen all.")
	}
	_, err := fmt.Fprintln(p.Stdout, "A benchmark that moves changes its machine: its new results are not compared with the old ones.")
	return err
}

// printUnknown prints what the plan assumes.
func printUnknown(p *Program, b suite.Balance) {
	var assumed, partly, placed []string
	for _, s := range b.Shares {
		switch {
		case s.Assumed:
			assumed = append(assumed, fmt.Sprintf("%s (%s)", s.Benchmark, phrase.Duration(s.Length)))
		case s.Timing.Cases < s.Timing.Of:
			partly = append(partly, fmt.Sprintf("%s (%d of %d)", s.Benchmark, s.Timing.Cases, s.Timing.Of))
		}
		if s.New() {
			placed = append(placed, fmt.Sprintf("%s (set %d)", s.Benchmark, s.To))
		}
	}
	if len(placed) > 0 {
		fmt.Fprintf(p.Stdout, "\nPlaced for the first time: %s.\n", strings.Join(placed, ", "))
	}
	if len(assumed) > 0 {
		fmt.Fprintf(p.Stdout, "\nNever measured, taken to be the median of their category, and left where they are: %s.\n", strings.Join(assumed, ", "))
	}
	if len(partly) > 0 {
		fmt.Fprintf(p.Stdout, "\nTest cases that were never measured are taken to be as long as the others: %s.\n", strings.Join(partly, ", "))
	}
}
