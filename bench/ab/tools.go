package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"

	"golang.org/x/perf/benchmath"

	"github.com/tachobench/tacho/internal/ab"
)

// compareWithTacho compares the program with itself, with more work for b.
func compareWithTacho(ctx context.Context, tacho string, w work, r Row, maxPairs int) (ab.Result, error) {
	counting := "off"
	if r.counted {
		counting = "valgrind"
	}
	each := "0"
	if r.single {
		each = "1"
	}
	cmd := exec.CommandContext(ctx, tacho, "ab", w.path, w.path, "--args-a", w.more(0), "--args-b", w.more(r.Percent),
		"--max-pairs", strconv.Itoa(maxPairs), "--instructions", counting, "--runs", each, "--json")
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return ab.Result{}, fmt.Errorf("run %s ab: %w", tacho, err)
	}
	var result ab.Result
	if err := json.Unmarshal(out, &result); err != nil {
		return result, fmt.Errorf("read what %s ab printed: %w", tacho, err)
	}
	if r.counted && result.Counted == "" {
		return result, errors.New("instructions were not counted: " + result.Uncounted)
	}
	return result, nil
}

const (
	hyperfineName = "hyperfine"
	benchstatName = "benchstat"
	// peerRuns is how often a peer runs each side. It is the number of pairs of the row of +10 %.
	peerRuns = 20
	// benchstatLevel is the level at which benchstat says that something changed.
	benchstatLevel = 0.05
)

// findHyperfine returns the path of hyperfine.
func findHyperfine() (string, error) {
	path, err := exec.LookPath(hyperfineName)
	if err != nil {
		return "", errors.New("hyperfine is not on PATH, so there is nothing beside tacho: on Debian, apt-get install hyperfine")
	}
	return path, nil
}

// hyperfineResult is one command in hyperfine's JSON.
type hyperfineResult struct {
	Mean   float64   `json:"mean"`
	Stddev float64   `json:"stddev"`
	Times  []float64 `json:"times"`
}

// measurePeers lets hyperfine measure both sides, one after the other, and hears what it says, and what benchstat says of the
// same times. Both measure each side peerRuns times.
func (r *Row) measurePeers(ctx context.Context, hyperfine string, runs int, w work, progress io.Writer) error {
	fine, stat := Peer{Name: hyperfineName, Runs: runs}, Peer{Name: benchstatName, Runs: runs}
	file := filepath.Join(filepath.Dir(w.path), "hyperfine.json")
	for i := range runs {
		cmd := exec.CommandContext(ctx, hyperfine, "--style", "none", "-N", "--warmup", "1", "--runs", strconv.Itoa(peerRuns),
			"--export-json", file, w.path+" "+w.more(0), w.path+" "+w.more(r.Percent))
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("run hyperfine: %w: %s", err, out)
		}
		data, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		var answer struct {
			Results []hyperfineResult `json:"results"`
		}
		if err := json.Unmarshal(data, &answer); err != nil || len(answer.Results) != 2 {
			return fmt.Errorf("read hyperfine's %d results: %w", len(answer.Results), err)
		}
		a, b := answer.Results[0], answer.Results[1]
		fine.say(hyperfineSays(a, b))
		stat.say(benchstatSays(a.Times, b.Times))
		fmt.Fprintf(progress, "%s, peers, %d of %d\n", r.Name, i+1, runs)
	}
	r.Peers = []Peer{fine, stat}
	return nil
}

// say counts what a peer said: above 0 that b is slower, below that it is faster.
func (p *Peer) say(slower int) {
	switch {
	case slower > 0:
		p.Changed++
	case slower < 0:
		p.Improved++
	}
}

// hyperfineSays returns what a reader takes from "a ran 1.05 ± 0.03 times faster than b": that they differ if the ratio is more
// than its ± away from 1. hyperfine itself gives no verdict.
func hyperfineSays(a, b hyperfineResult) int {
	fast, slow, sign := a, b, 1
	if b.Mean < a.Mean {
		fast, slow, sign = b, a, -1
	}
	ratio := slow.Mean / fast.Mean
	relFast, relSlow := fast.Stddev/fast.Mean, slow.Stddev/slow.Mean
	if uncertainty := ratio * math.Sqrt(relFast*relFast+relSlow*relSlow); ratio-1 > uncertainty {
		return sign
	}
	return 0
}

// benchstatSays judges as benchstat does without flags: by the test of Mann and Whitney at 0.05.
func benchstatSays(a, b []float64) int {
	thresholds := benchmath.Thresholds{CompareAlpha: benchstatLevel}
	before, after := benchmath.NewSample(a, &thresholds), benchmath.NewSample(b, &thresholds)
	if c := benchmath.AssumeNothing.Compare(before, after); c.P >= benchstatLevel {
		return 0
	}
	if benchmath.AssumeNothing.Summary(after, 0.95).Center > benchmath.AssumeNothing.Summary(before, 0.95).Center {
		return 1
	}
	return -1
}
