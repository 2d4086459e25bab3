// Command bench does the work of Tacho beside its peers, in turns, and prints how they compare.
//
// Peers are River and asynq, the statements of the reference, a raw stream of JetStream and raw copies into tables. It
// starts all servers that it needs, in a directory of its own, and leaves nothing behind. docs/performance.md tells of
// each row what is fair about it and what is not.
package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"
)

func main() {
	// The first Ctrl-C ends the servers and removes the directory, a second one ends the program.
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop)
	if len(os.Args) > 2 && os.Args[1] == peerCommand {
		if err := beIdle(ctx, os.Args[2:]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(run(ctx, allRows(), os.Args[1:], os.Stdout, os.Stderr))
}

// options are the flags.
type options struct {
	rows           string
	list           bool
	scale, rounds  int
	json, markdown bool
	dir, program   string
}

func parse(args []string, stderr io.Writer) (o options, err error) {
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.StringVar(&o.rows, "row", "", "run only these rows, as names with commas between them (see --list)")
	flags.BoolVar(&o.list, "list", false, "list the rows and end")
	flags.IntVar(&o.scale, "scale", 1, "do this many times the usual work: 10 or 100 show how the figures grow")
	flags.IntVar(&o.rounds, "rounds", 0, "how many turns each side has; with 0 as many as the row says")
	flags.BoolVar(&o.json, "json", false, "print the results as JSON")
	flags.BoolVar(&o.markdown, "markdown", false, "print the table of docs/performance.md")
	flags.StringVar(&o.dir, "dir", os.TempDir(), "where the servers keep their data; it should be on the disk that is meant, not in memory")
	flags.StringVar(&o.program, "tacho", "../bin/tacho", "the program of the row idle, as make build makes it")
	if err := flags.Parse(args); err != nil {
		return o, err
	}
	switch {
	case flags.NArg() > 0:
		err = fmt.Errorf("%q is not a flag: use --row to choose rows", flags.Arg(0))
	case o.scale < 1:
		err = fmt.Errorf("--scale %d: use 1 or more", o.scale)
	case o.rounds < 0:
		err = fmt.Errorf("--rounds %d: use 1 or more, or 0 for as many as the row says", o.rounds)
	case o.json && o.markdown:
		err = errors.New("choose one of --json and --markdown")
	}
	return o, err
}

// run returns the code to exit with: 0 if all rows ran, 1 if one failed, 2 if the command is wrong.
func run(ctx context.Context, all []Row, args []string, stdout, stderr io.Writer) int {
	o, err := parse(args, stderr)
	if errors.Is(err, flag.ErrHelp) {
		return 0
	}
	var rows []Row
	if err == nil {
		rows, err = choose(all, o.rows)
	}
	if err != nil {
		fmt.Fprintln(stderr, "bench:", err)
		return 2
	}
	if o.list {
		for _, r := range rows {
			fmt.Fprintf(stdout, "%-15s %s\n", r.Name, r.Work)
		}
		return 0
	}
	report := Report{Machine: look(o.dir), Scale: o.scale}
	// As text, each row is printed when it has ended.
	text := !o.json && !o.markdown
	if text {
		report.begin(stdout)
	}
	failed := 0
	for _, r := range rows {
		result := measured(ctx, r, o, stderr)
		if ctx.Err() != nil {
			fmt.Fprintln(stderr, "bench: interrupted; all servers have ended")
			return 1
		}
		if result.Failure != "" {
			failed++
			fmt.Fprintf(stderr, "%s failed: %s\n", r.Name, result.Failure)
		}
		report.Results = append(report.Results, result)
		if text {
			err = errors.Join(err, result.text(stdout))
		}
	}
	print := report.end
	switch {
	case o.json:
		print = report.json
	case o.markdown:
		print = report.markdown
	}
	err = errors.Join(err, print(stdout))
	if err != nil {
		fmt.Fprintln(stderr, "bench:", err)
	}
	if failed > 0 || err != nil {
		return 1
	}
	return 0
}

// patience is how long a row may take at the usual scale.
const patience = 10 * time.Minute

// measured runs one row with a bed of its own, so that a row that fails does not hinder the others.
func measured(ctx context.Context, r Row, o options, stderr io.Writer) Result {
	ctx, cancel := context.WithTimeoutCause(ctx, patience*time.Duration(o.scale), fmt.Errorf("it took longer than %s: is the machine busy?", patience*time.Duration(o.scale)))
	defer cancel()
	bed, err := newBed(ctx, o.dir, o.scale, func(format string, args ...any) { fmt.Fprintf(stderr, format+"\n", args...) })
	if err != nil {
		return Result{Row: r.Name, Work: r.Work, Failure: err.Error()}
	}
	bed.program, r.Rounds = o.program, cmp.Or(o.rounds, r.Rounds, 3)
	result := r.measure(bed.ctx, bed)
	err = bed.Close()
	if err != nil {
		result.Lines, result.Failure = nil, strings.TrimPrefix(result.Failure+"; ", "; ")+err.Error()
	}
	return result
}

// allRows returns the rows in the order of the table.
func allRows() []Row {
	return slices.Concat(rowsOfJobs(), rowsOfDoors(), rowsOfTables(), rowsOfRules(), rowsOfRest())
}

// choose returns the rows with these names, all if there are none.
func choose(rows []Row, names string) (chosen []Row, err error) {
	if names == "" {
		return rows, nil
	}
	for name := range strings.SplitSeq(names, ",") {
		i := slices.IndexFunc(rows, func(r Row) bool { return r.Name == strings.TrimSpace(name) })
		if i < 0 {
			return nil, fmt.Errorf("no row is called %q: --list shows them", name)
		}
		chosen = append(chosen, rows[i])
	}
	return chosen, nil
}
