package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
)

// Row is one difference, compared many times.
type Row struct {
	// Name says what differs, Percent by how much.
	Name    string  `json:"name"`
	Percent float64 `json:"percent"`
	// MaxPairs are the most pairs; comparison i takes MaxPairs[i % len].
	MaxPairs []int `json:"max_pairs"`
	Runs     int   `json:"runs"`
	// Changed counts the comparisons that said "regressed", Wrong those that said something else that is wrong.
	Changed   int `json:"changed"`
	Improved  int `json:"improved"`
	Unchanged int `json:"unchanged"`
	// Pairs, Each and Estimate are medians; Each is how often each side ran in a pair.
	Pairs    float64 `json:"pairs"`
	Each     float64 `json:"runs_each"`
	Estimate float64 `json:"estimate"`
	Goal     string  `json:"goal"`
	Reached  bool    `json:"reached"`
	// Peers are what the others said of the same commands.
	Peers []Peer `json:"peers,omitempty"`

	counted bool
	// single: one run of each side in a pair, which many comparisons have the time for. False alarms do not depend on it.
	single bool
	// reached holds what was said against the goal.
	reached func(changed, improved, runs int) bool
}

// Peer is another tool.
type Peer struct {
	Name string `json:"name"`
	Runs int    `json:"runs"`
	// Changed counts the comparisons in which it said that the second program is slower, Improved those in which it is faster.
	Changed  int `json:"changed"`
	Improved int `json:"improved"`
}

// rows are what is measured.
func rows(o options) []Row {
	found := func(percent int) func(int, int, int) bool {
		return func(changed, _, runs int) bool { return changed*100 >= percent*runs }
	}
	never := func(most int) func(int, int, int) bool {
		return func(changed, improved, _ int) bool { return changed+improved <= most }
	}
	all := []Row{
		{Name: "equal, time", MaxPairs: []int{20, 60}, single: true, Runs: o.equal, Goal: "changed at most once", reached: never(1)},
		{Name: "+10 % time", Percent: 10, MaxPairs: []int{20}, Runs: o.changed, Goal: "found in 95 %", reached: found(95)},
		{Name: "+5 % time", Percent: 5, MaxPairs: []int{60}, Runs: o.changed, Goal: "found in 95 %", reached: found(95)},
		{Name: "+2 % time", Percent: 2, MaxPairs: []int{60}, Runs: o.changed, Goal: "found in 80 %", reached: found(80)},
		{Name: "equal, instructions", MaxPairs: []int{2}, Runs: o.counted, Goal: "never changed", counted: true, reached: never(0)},
		{Name: "+0.5 % instructions", Percent: 0.5, MaxPairs: []int{2}, Runs: o.counted, Goal: "found in 100 %", counted: true, reached: found(100)},
	}
	return slices.DeleteFunc(all, func(r Row) bool { return r.Runs == 0 })
}

// measureAll measures all rows. What it has when an error ends it, it returns too.
func measureAll(ctx context.Context, o options, progress io.Writer) (done []Row, err error) {
	dir, err := os.MkdirTemp("", "tacho-bench-ab-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	w, err := prepareWork(ctx, dir)
	if err != nil {
		return nil, err
	}
	fmt.Fprintf(progress, "the program does %d rounds in about %v\n", w.rounds, programTime)
	if !o.alone {
		end, err := startNeighbour()
		if err != nil {
			return nil, err
		}
		defer end()
	}
	hyperfine, missing := findHyperfine()
	if missing != nil {
		fmt.Fprintln(progress, missing)
	}
	for _, r := range rows(o) {
		err := r.measure(ctx, o.tacho, w, progress)
		if err == nil && !r.counted && missing == nil {
			err = r.measurePeers(ctx, hyperfine, min(r.Runs, o.peers), w, progress)
		}
		if err != nil {
			return done, fmt.Errorf("%s: %w", r.Name, err)
		}
		done = append(done, r)
	}
	return done, nil
}

// measure lets tacho compare.
func (r *Row) measure(ctx context.Context, tacho string, w work, progress io.Writer) error {
	var pairs, each, estimates []float64
	for i := range r.Runs {
		result, err := compareWithTacho(ctx, tacho, w, *r, r.MaxPairs[i%len(r.MaxPairs)])
		if err != nil {
			return err
		}
		switch result.Verdict {
		case "regressed", "mixed":
			r.Changed++
		case "improved":
			r.Improved++
		case "unchanged":
			r.Unchanged++
		}
		pairs, each = append(pairs, float64(result.Pairs)), append(each, float64(result.Runs))
		if len(result.Metrics) > 0 && result.Metrics[0].Change != nil {
			estimates = append(estimates, 100**result.Metrics[0].Change)
		}
		fmt.Fprintf(progress, "%s, %d of %d: %s\n", r.Name, i+1, r.Runs, result.Sentence())
	}
	r.Pairs, r.Each, r.Estimate = median(pairs), median(each), median(estimates)
	r.Reached = r.reached(r.Changed, r.Improved, r.Runs)
	return nil
}

// median returns the middle value; 0 of nothing.
func median(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	n := len(sorted)
	if n == 0 {
		return 0
	}
	return (sorted[(n-1)/2] + sorted[n/2]) / 2
}

// printTable prints the rows as Markdown.
func printTable(w io.Writer, rows []Row) {
	fmt.Fprintln(w, "| what differs | pairs at most | said changed | said unchanged | pairs × runs of each side (medians) | estimate (median) | goal | reached | hyperfine says changed | benchstat says changed |")
	fmt.Fprintln(w, "|---|---|---|---|---|---|---|---|---|---|")
	for _, r := range rows {
		most := strings.Trim(strings.ReplaceAll(fmt.Sprint(r.MaxPairs), " ", " and "), "[]")
		said := map[string]string{}
		for _, p := range r.Peers {
			said[p.Name] = fmt.Sprintf("%d of %d", p.Changed+p.Improved, p.Runs)
		}
		changed := fmt.Sprintf("%d of %d", r.Changed, r.Runs)
		if r.Improved > 0 {
			changed += fmt.Sprintf(", and improved %d", r.Improved)
		}
		reached := "no"
		if r.Reached {
			reached = "yes"
		}
		fmt.Fprintf(w, "| %s | %s | %s | %d | %.0f × %.0f | %+.2f %% | %s | %s | %s | %s |\n",
			r.Name, most, changed, r.Unchanged, r.Pairs, r.Each, r.Estimate, r.Goal, reached, or(said[hyperfineName]), or(said[benchstatName]))
	}
}

func or(text string) string {
	if text == "" {
		return "-"
	}
	return text
}
