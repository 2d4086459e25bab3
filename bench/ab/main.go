// Command ab tells how often tacho ab is right on this machine, beside hyperfine and benchstat, while a neighbour burns all CPUs
// every other second.
//
// All of them measure the same small C program, which does a given amount of work. hyperfine measures one command after the other,
// as people use it; its times are what benchstat's method judges. It starts the neighbour itself and ends it.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"
)

func main() {
	if len(os.Args) == 2 && os.Args[1] == neighbourWord {
		beNeighbour()
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// options are the flags.
type options struct {
	tacho                          string
	equal, changed, counted, peers int
	alone, json                    bool
}

func parse(args []string, stderr io.Writer) (o options, err error) {
	flags := flag.NewFlagSet("ab", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.StringVar(&o.tacho, "tacho", "tacho", "the program tacho")
	flags.IntVar(&o.equal, "equal", 200, "compare equal programs by time so often")
	flags.IntVar(&o.changed, "changed", 20, "compare programs that differ by time so often, for each difference")
	flags.IntVar(&o.counted, "counted", 20, "compare counts of instructions so often, of equal and of different programs")
	flags.IntVar(&o.peers, "peers", 50, "let the peers compare equal programs so often, and different ones at most as often as tacho does")
	flags.BoolVar(&o.alone, "alone", false, "start no neighbour")
	flags.BoolVar(&o.json, "json", false, "print the results as JSON")
	if err := flags.Parse(args); err != nil {
		return o, err
	}
	if flags.NArg() > 0 {
		return o, fmt.Errorf("%q is not a flag", flags.Arg(0))
	}
	if min(o.equal, o.changed, o.counted, o.peers) < 0 {
		return o, errors.New("a number of comparisons is negative: 0 leaves them out")
	}
	return o, nil
}

// run returns the code to exit with: 0 if all rows ran, 1 if one failed, 2 if the command is wrong. A goal that is missed fails
// nothing.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	o, err := parse(args, stderr)
	if errors.Is(err, flag.ErrHelp) {
		return 0
	}
	if err != nil {
		fmt.Fprintln(stderr, "ab:", err)
		return 2
	}
	began := time.Now()
	rows, err := measureAll(ctx, o, stderr)
	if o.json {
		e := json.NewEncoder(stdout)
		e.SetIndent("", "  ")
		if err := e.Encode(rows); err != nil {
			return 1
		}
	} else {
		printTable(stdout, rows)
	}
	if err != nil {
		fmt.Fprintln(stderr, "ab:", err)
		return 1
	}
	fmt.Fprintf(stderr, "all of it took %v\n", time.Since(began).Round(time.Second))
	return 0
}
