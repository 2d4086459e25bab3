package runner_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/tachobench/tacho/collector/measure"
	"github.com/tachobench/tacho/collector/runner"
	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/rules/suite"
)

// pairRecorder keeps what a run of pairs reports, in order.
type pairRecorder struct {
	recorder
	// told are the reports with the side they were of: "a measured one/full". b says whose reports come.
	told []string
	b    bool
	// blocks are the cases of each block, of a and of b.
	blocks [][2][]events.MeasuredCase
}

func (r *pairRecorder) tell(what string) {
	side := "a "
	if r.b {
		side = "b "
	}
	r.told = append(r.told, side+what)
}

func (r *pairRecorder) Side(_ context.Context, b bool) error {
	r.b = b
	return nil
}

func (r *pairRecorder) Measured(_ context.Context, c events.MeasuredCase) error {
	r.tell(fmt.Sprintf("measured %s/%s x%d", c.Benchmark, c.Scenario, len(c.Iterations)))
	return nil
}

func (r *pairRecorder) Failed(_ context.Context, f runner.Failure) error {
	r.tell(fmt.Sprintf("failed %s/%s", f.Case.Benchmark, f.Case.Scenario))
	r.failures = append(r.failures, f)
	return nil
}

func (r *pairRecorder) Block(_ context.Context, a, b []events.MeasuredCase) error {
	var cases []string
	for i, c := range a {
		if c.TestCase != b[i].TestCase || len(c.Iterations) != len(b[i].Iterations) {
			return fmt.Errorf("%v x%d and %v x%d are no pairs", c.TestCase, len(c.Iterations), b[i].TestCase, len(b[i].Iterations))
		}
		cases = append(cases, fmt.Sprintf("%s/%s x%d", c.Benchmark, c.Scenario, len(c.Iterations)))
	}
	r.told = append(r.told, "block "+strings.Join(cases, ", "))
	r.blocks = append(r.blocks, [2][]events.MeasuredCase{a, b})
	return r.refuse
}

// sides returns two jobs with one slot. The programs of a and b differ in the file "side". {artifact} is ../toolchain, where
// commands may write.
func sides(t *testing.T, plans ...suite.BenchmarkPlan) (a, b runner.Job) {
	t.Helper()
	b = jobOf(t, nil, plans...)
	for i := range plans {
		plans[i].Benchmark.SourceDigest = "shipped"
	}
	if err := os.Mkdir(b.Toolchain.Dir, 0o755); err != nil {
		t.Fatal(err)
	}
	of := func(side string) runner.Job {
		j := b
		j.Toolchain.Tag = events.Tag("v" + side)
		j.Source = func(_ context.Context, _ suite.BenchmarkDef, dir string) error {
			return writeFiles(dir, map[string]string{"side": side})
		}
		return j
	}
	return of("1"), of("2")
}

// noted is what commands appended to the file "noted" beside the slot.
func noted(t *testing.T, job runner.Job) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(job.Toolchain.Dir, "noted"))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	return string(data)
}

// note is a script that notes the side.
const note = `echo "$(cat side)" >> ../../toolchain/noted; `

func runPair(t *testing.T, a, b runner.Job, turns runner.Turns) (*pairRecorder, runner.Summary, runner.Summary) {
	t.Helper()
	sink := &pairRecorder{}
	ofA, ofB, err := newRunner().RunPair(t.Context(), a, b, turns, sink)
	if err != nil {
		t.Fatalf("RunPair: %v; log %q", err, sink.log)
	}
	for _, side := range []string{".a", ".b"} {
		if _, err := os.Stat(b.Slot + side); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("a tree stays parked: %v", err)
		}
	}
	return sink, ofA, ofB
}

func checkTold(t *testing.T, sink *pairRecorder, want ...string) {
	t.Helper()
	if diff := cmp.Diff(want, sink.told); diff != "" {
		t.Errorf("reports (-want +got):\n%s\nlog %q", diff, sink.log)
	}
}

// Both sides are prepared before the first pair, and take turns A B, B A, B A, A B at one path.
func TestPairsTakeTurnsInOneSlot(t *testing.T) {
	one := shell("one", note+`pwd >> ../../toolchain/paths; test -e ../home`)
	one.Prepare = []string{"sh", "-c", `echo "prepare $(cat side)" >> ../../toolchain/noted`}
	a, b := sides(t, fullOnly(planOf(one, suite.DriverCommand, 6)))
	sink, ofA, ofB := runPair(t, a, b, runner.Turns{})
	checkTold(t, sink, "block one/full x6")
	if want := "prepare 1\nprepare 2\n" + "1\n2\n" + "2\n1\n" + "2\n1\n" + "1\n2\n" + "1\n2\n" + "2\n1\n"; noted(t, b) != want {
		t.Errorf("noted %q, want %q", noted(t, b), want)
	}
	paths, err := os.ReadFile(filepath.Join(b.Toolchain.Dir, "paths"))
	if want := strings.Repeat(filepath.Join(b.Slot, "src")+"\n", 12); err != nil || string(paths) != want {
		t.Errorf("paths %q, %v", paths, err)
	}
	if want := (runner.Summary{Measured: 1}); ofA != want || ofB != want {
		t.Errorf("%+v and %+v", ofA, ofB)
	}
	for _, side := range sink.blocks[0] {
		if !has(side[0], measure.WallTime) {
			t.Errorf("%+v", side)
		}
	}
	if !slices.ContainsFunc(sink.log, func(l string) bool { return strings.Contains(l, "one opt full: pair 1 of 6: v1 took 0.") }) {
		t.Errorf("log %q", sink.log)
	}
}

// A chain keeps its state in each tree: the warm scenario finds what its own side left.
func TestPairsOfAChainKeepTheirTrees(t *testing.T) {
	script := `cat side >> $TACHO_WORK/seen; test "$(sort -u $TACHO_WORK/seen)" = "$(cat side)" && ` + note + `wc -l < $TACHO_WORK/seen >> ../../toolchain/noted`
	a, b := sides(t, planOf(shell("one", strings.ReplaceAll(script, "cat side", "echo $(cat side)")), suite.DriverCommand, 2))
	sink, _, _ := runPair(t, a, b, runner.Turns{})
	checkTold(t, sink, "block one/full x2, one/incr-full x2, one/incr-unchanged x2, one/incr-patched x2")
	pairs := "1\n1\n2\n1\n" + "1\n1\n2\n1\n" + "1\n2\n2\n2\n" + "1\n3\n2\n3\n"
	back := "2\n1\n1\n1\n" + "2\n1\n1\n1\n" + "2\n2\n1\n2\n" + "2\n3\n1\n3\n"
	if got := noted(t, b); got != pairs+back {
		t.Errorf("noted %q, want %q", got, pairs+back)
	}
}

// Failures in turns.
func TestWhatFailsOnOneSideIsMeasuredAloneOnTheOther(t *testing.T) {
	for _, test := range []struct {
		name, script string
		want         []string
		ofA, ofB     runner.Summary
	}{
		{
			"in the last pair of a", `if [ $(cat side) = 1 ] && [ -e ../third ]; then exit 3; fi; touch $TACHO_WORK/x; if [ -e ../second ]; then touch ../third; fi; touch ../second`,
			[]string{"a failed one/full", "b measured one/full x3"},
			runner.Summary{Failed: 1},
			runner.Summary{Measured: 1},
		},
		{"in the first pair of b", `test $(cat side) = 1`, []string{"b failed one/full", "a measured one/full x3"}, runner.Summary{Measured: 1}, runner.Summary{Failed: 1}},
		{"on both", `exit 1`, []string{"a failed one/full", "b failed one/full"}, runner.Summary{Failed: 1}, runner.Summary{Failed: 1}},
	} {
		t.Run(test.name, func(t *testing.T) {
			a, b := sides(t, fullOnly(planOf(shell("one", test.script), suite.DriverCommand, 3)))
			sink, ofA, ofB := runPair(t, a, b, runner.Turns{})
			checkTold(t, sink, test.want...)
			if ofA != test.ofA || ofB != test.ofB {
				t.Errorf("%+v and %+v", ofA, ofB)
			}
		})
	}
}

// A failure takes the later cases of its segment along, and no others.
func TestAFailureInAChainLeavesTheOtherPairs(t *testing.T) {
	script := `if [ $(cat side) = 2 ] && [ -e $TACHO_WORK/seen ]; then exit 3; fi; touch $TACHO_WORK/seen`
	a, b := sides(t, planOf(shell("one", script), suite.DriverCommand, 2))
	sink, ofA, ofB := runPair(t, a, b, runner.Turns{})
	checkTold(t, sink, "b failed one/incr-unchanged", "b failed one/incr-patched", "block one/full x2, one/incr-full x2",
		"a measured one/incr-unchanged x2", "a measured one/incr-patched x2")
	if ofA != (runner.Summary{Measured: 4}) || ofB != (runner.Summary{Measured: 2, Failed: 2}) {
		t.Errorf("%+v and %+v", ofA, ofB)
	}
}

func TestASideThatCannotBePreparedLeavesTheOtherAlone(t *testing.T) {
	one := shell("one", note+"true")
	one.Prepare = []string{"sh", "-c", "test $(cat side) = 2"}
	a, b := sides(t, fullOnly(planOf(one, suite.DriverCommand, 2)), fullOnly(planOf(shell("two", "true"), suite.DriverCommand, 1)))
	sink, _, _ := runPair(t, a, b, runner.Turns{})
	checkTold(t, sink, "a failed one/full", "b measured one/full x2", "block two/full x1")
	if sink.failures[0].Kind != events.ErrorPrepare || noted(t, b) != "2\n2\n" {
		t.Errorf("%+v, noted %q", sink.failures, noted(t, b))
	}
}

func TestPairsLeaveOutWhatIsDone(t *testing.T) {
	is := func(cases string) func(events.TestCase) bool {
		return func(c events.TestCase) bool { return slices.Contains(strings.Fields(cases), string(c.Scenario)) }
	}
	for _, test := range []struct {
		name, doneA, doneB string
		want               []string
		ofA, ofB           runner.Summary
	}{
		{"nothing", "", "", []string{"block one/full x1, one/incr-full x1, one/incr-unchanged x1, one/incr-patched x1"}, runner.Summary{Measured: 4}, runner.Summary{Measured: 4}},
		{"all", "full incr-full incr-unchanged incr-patched", "full incr-full incr-unchanged incr-patched", nil, runner.Summary{Skipped: 4}, runner.Summary{Skipped: 4}},
		{"all of a", "full incr-full incr-unchanged incr-patched", "incr-full", []string{"b measured one/full x1", "b measured one/incr-unchanged x1", "b measured one/incr-patched x1"}, runner.Summary{Skipped: 4}, runner.Summary{Measured: 3, Skipped: 1}},
		{
			"some of each", "full incr-unchanged", "full incr-full",
			[]string{"block one/incr-patched x1", "a measured one/incr-full x1", "b measured one/incr-unchanged x1"},
			runner.Summary{Measured: 2, Skipped: 2},
			runner.Summary{Measured: 2, Skipped: 2},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			a, b := sides(t, planOf(shell("one", "true"), suite.DriverCommand, 1))
			a.Done, b.Done = is(test.doneA), is(test.doneB)
			sink, ofA, ofB := runPair(t, a, b, runner.Turns{})
			checkTold(t, sink, test.want...)
			if ofA != test.ofA || ofB != test.ofB {
				t.Errorf("%+v and %+v", ofA, ofB)
			}
		})
	}
}

func TestWhatOnlyOneSideHasIsMeasuredAlone(t *testing.T) {
	plan := func(name string) suite.BenchmarkPlan {
		return fullOnly(planOf(shell(name, note+"true"), suite.DriverCommand, 1))
	}
	a, b := sides(t, plan("both"))
	old, gone := plan("old"), plan("new")
	old.Benchmark.SourceDigest, gone.Benchmark.SourceDigest = "shipped", "shipped"
	a.Plans, b.Plans = []suite.BenchmarkPlan{old, a.Plans[0]}, []suite.BenchmarkPlan{b.Plans[0], gone}
	sink, ofA, ofB := runPair(t, a, b, runner.Turns{})
	checkTold(t, sink, "block both/full x1", "b measured new/full x1", "a measured old/full x1")
	if want := (runner.Summary{Measured: 2}); ofA != want || ofB != want || noted(t, b) != "1\n2\n2\n1\n" {
		t.Errorf("%+v and %+v, noted %q", ofA, ofB, noted(t, b))
	}
}

// The command of the other side tells through a pipe that it runs, in the middle of the second pair; then the context ends.
func TestInterruptedPairsReportNothing(t *testing.T) {
	running := filepath.Join(t.TempDir(), "running")
	if err := syscall.Mkfifo(running, 0o600); err != nil {
		t.Fatal(err)
	}
	a, b := sides(t, fullOnly(planOf(shell("one", `if [ $(cat side) = 1 ] && [ -e ../second ]; then sleep 1000 & echo $! > ../../toolchain/pid; echo yes > `+running+`; wait; fi; touch ../second`), suite.DriverCommand, 4)))
	gone := errors.New("somebody asked")
	ctx, cancel := context.WithCancelCause(t.Context())
	go func() {
		_, err := os.ReadFile(running)
		cancel(errors.Join(gone, err))
	}()
	var sink pairRecorder
	ofA, ofB, err := newRunner().RunPair(ctx, a, b, runner.Turns{}, &sink)
	if !errors.Is(err, runner.ErrInterrupted) || !errors.Is(err, gone) || ofA != (runner.Summary{}) || ofB != ofA || len(sink.told) > 0 {
		t.Errorf("RunPair = %+v, %+v, %v; reported %v", ofA, ofB, err, sink.told)
	}
	checkGone(t, filepath.Join(b.Toolchain.Dir, "pid"))
	if _, err := os.Stat(b.Slot + ".b"); err != nil {
		t.Fatalf("the other tree is not parked: %v", err)
	}
	// What a killed process parked is gone with the next run.
	b.Plans[0].Benchmark.Command = []string{"true"}
	if _, err := newRunner().Run(t.Context(), b, &recorder{}); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(b.Slot + ".b"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the parked tree stays: %v", err)
	}
}

func TestASinkThatRefusesABlockEndsThePairs(t *testing.T) {
	a, b := sides(t, fullOnly(planOf(shell("one", "true"), suite.DriverCommand, 1)), fullOnly(planOf(shell("two", "true"), suite.DriverCommand, 1)))
	sink := pairRecorder{recorder: recorder{refuse: errors.New("the attempt is over")}}
	_, ofB, err := newRunner().RunPair(t.Context(), a, b, runner.Turns{}, &sink)
	if !errors.Is(err, sink.refuse) || ofB.Measured != 0 || len(sink.blocks) != 1 {
		t.Errorf("RunPair = %+v, %v", ofB, err)
	}
}

// Compilers keep paths in their caches: both sides find what they left, and equal programs become equal files.
func TestPairsOfCompilersShareOnePath(t *testing.T) {
	job := rustJob(t, crate(), rustPlan("demo", 2, "rustc"))
	sink, _, _ := runPair(t, job, job, runner.Turns{})
	checkTold(t, sink, "block demo/full x2, demo/incr-full x2, demo/incr-unchanged x2, demo/incr-patched x2")
	for i, c := range sink.blocks[0][0] {
		for n := range c.Iterations {
			const size = "size:artifact"
			a, b := c.Iterations[n].Metrics[size], sink.blocks[0][1][i].Iterations[n].Metrics[size]
			if a == 0 || a != b || a != c.Iterations[0].Metrics[size] {
				t.Errorf("%s, pair %d: %v and %v bytes", c.Scenario, n, a, b)
			}
		}
	}
}

// Each run prints 4000 metrics: some 260 KiB of JSON.
func TestPairsEndBeforeTheyAreTooLargeForAnEvent(t *testing.T) {
	script := note + `for i in $(seq 4000); do echo "{\"metric\":\"a-metric-with-a-long-name-so-that-fewer-are-needed-$i\",\"value\":$i}"; done`
	big := fullOnly(planOf(shell("big", script), suite.DriverCommand, 4))
	big.Benchmark.Parse = "jsonlines"
	a, b := sides(t, big)
	sink, _, _ := runPair(t, a, b, runner.Turns{})
	checkTold(t, sink, "block big/full x1")
	text, err := json.Marshal(sink.blocks[0])
	if err != nil || len(text) > 768<<10+1<<10 {
		t.Errorf("%d bytes, %v", len(text), err)
	}
	if !slices.ContainsFunc(sink.log, func(l string) bool {
		return strings.Contains(l, "ends after 1 pair: more do not fit into one event (768 KiB)")
	}) {
		t.Errorf("log %q", sink.log)
	}
}

// Several cases that fit into no common event are several blocks; a pair that fits into none is measured alone.
func TestBlocksAreAsFewAsEventsCanHold(t *testing.T) {
	script := `for i in $(seq $(if [ -e $TACHO_WORK/seen ]; then echo 8000; else echo 3500; fi)); do echo "{\"metric\":\"a-metric-with-a-long-name-so-that-fewer-are-needed-$i\",\"value\":$i}"; done; touch $TACHO_WORK/seen`
	big := planOf(shell("big", script), suite.DriverCommand, 1)
	big.Chain, big.Cases = big.Chain[:3], big.Cases[:3]
	big.Benchmark.Parse = "jsonlines"
	a, b := sides(t, big)
	sink, _, _ := runPair(t, a, b, runner.Turns{})
	checkTold(t, sink, "block big/full x1", "block big/incr-full x1", "a measured big/incr-unchanged x1", "b measured big/incr-unchanged x1")
}

func TestSeveralSamplesOfACommandAreOnePair(t *testing.T) {
	one := fullOnly(planOf(shell("one", `for i in 1 2 10 5; do echo "{\"metric\":\"latency\",\"value\":$i$(cat side)}"; done`), suite.DriverCommand, 2))
	one.Benchmark.Parse = "jsonlines"
	a, b := sides(t, one)
	sink, _, _ := runPair(t, a, b, runner.Turns{})
	checkTold(t, sink, "block one/full x2")
	if x, y := sink.blocks[0][0][0].Iterations[1].Metrics["latency"], sink.blocks[0][1][0].Iterations[1].Metrics["latency"]; x != 36 || y != 37 {
		t.Errorf("medians of %v and %v", x, y)
	}
}

func TestTheCallerSaysWhenPairsAreEnough(t *testing.T) {
	plan := planOf(shell("one", "true"), suite.DriverCommand, 30)
	plan.Chain, plan.Cases = plan.Chain[:2], plan.Cases[:2]
	a, b := sides(t, plan)
	asked := map[events.Scenario]int{}
	sink, _, _ := runPair(t, a, b, runner.Turns{Pairs: 9, Enough: func(c events.TestCase, a, b []events.Iteration) bool {
		if asked[c.Scenario]++; len(a) != asked[c.Scenario] || len(a) != len(b) {
			t.Errorf("asked %d times with %d and %d iterations", asked[c.Scenario], len(a), len(b))
		}
		return len(a) >= map[events.Scenario]int{"full": 1, "incr-full": 3}[c.Scenario]
	}})
	checkTold(t, sink, "block one/full x3, one/incr-full x3")
	a, b = sides(t, plan)
	sink, _, _ = runPair(t, a, b, runner.Turns{Pairs: 2, Enough: func(events.TestCase, []events.Iteration, []events.Iteration) bool { return false }})
	checkTold(t, sink, "block one/full x2, one/incr-full x2")
}

// until lets a plan end at a width that no machine reaches.
func until(p suite.BenchmarkPlan, budget time.Duration) suite.BenchmarkPlan {
	p.Until = &suite.Until{Min: 2, Width: 1e-9, Budget: budget}
	return p
}

// Each case of a benchmark ends for itself, and its steps run on only where later cases need them.
func TestCasesEndAtTheMostOrWhenTheirBudgetIsSpent(t *testing.T) {
	script := note + `if ! [ -e $TACHO_WORK/seen ]; then sleep 1; fi; touch $TACHO_WORK/seen`
	plan := planOf(shell("one", script), suite.DriverCommand, 3)
	plan.Chain, plan.Cases = plan.Chain[1:3], plan.Cases[1:3]
	plan = until(plan, 990*time.Millisecond)
	plan.Benchmark.SourceDigest = "shipped"
	a, b := sides(t, plan)
	var sink recorder
	if got, err := newRunner().Run(t.Context(), a, &sink); err != nil || got != (runner.Summary{Measured: 2}) {
		t.Fatalf("Run = %+v, %v", got, err)
	}
	if len(sink.measured[0].Iterations) != 1 || sink.measured[0].Scenario != "incr-full" || len(sink.measured[1].Iterations) < 2 {
		t.Errorf("measured %+v", sink.measured)
	}
	logged(t, sink.log, "one opt incr-full: the budget of 990ms is spent after 1 iteration")
	logged(t, sink.log, "one opt incr-unchanged: iteration 1 of at most 3 took")

	pairs, _, _ := runPair(t, a, b, runner.Turns{Pairs: 2})
	checkTold(t, pairs, "block one/incr-full x1, one/incr-unchanged x2")
	logged(t, pairs.log, "one opt incr-full: the budget of 990ms is spent after 1 pair")
}

func TestCasesEndAtTheMost(t *testing.T) {
	plan := until(fullOnly(planOf(shell("one", "true"), suite.DriverCommand, 4)), 0)
	plan.Benchmark.SourceDigest = "shipped"
	a, b := sides(t, plan)
	var sink recorder
	if got, err := newRunner().Run(t.Context(), a, &sink); err != nil || got.Measured != 1 || len(sink.measured[0].Iterations) != 4 {
		t.Fatalf("Run = %+v, %v, %+v", got, err, sink.measured)
	}
	logged(t, sink.log, "one opt full: 4 iterations: ")
	pairs, _, _ := runPair(t, a, b, runner.Turns{})
	checkTold(t, pairs, "block one/full x4")
	logged(t, pairs.log, "one opt full: 4 pairs: ")
	logged(t, pairs.log, "one opt full: pair 1 of at most 4: v1 took 0.")
}

func logged(t *testing.T, log []string, want string) {
	t.Helper()
	if !slices.ContainsFunc(log, func(l string) bool { return strings.HasPrefix(l, want) }) {
		t.Errorf("%q is not logged: %q", want, log)
	}
}

// Whatever is done, fails, and is in the plans: each test case ends once on each side, and pairs are in turn.
func TestPairsProperty(t *testing.T) {
	root := t.TempDir()
	rapid.Check(t, func(t *rapid.T) {
		caches := rapid.SliceOfN(rapid.SampledFrom([]string{"none", "empty", "warm", "patched"}), 1, 3).Draw(t, "caches")
		n, pairs := len(caches), rapid.IntRange(1, 5).Draw(t, "pairs")
		plan := suite.BenchmarkPlan{Benchmark: suite.BenchmarkDef{Name: "b"}, Iterations: pairs, Timeout: time.Minute, Driver: "scripted"}
		for i, c := range caches {
			plan.Chain = append(plan.Chain, suite.Scenario{Name: events.Scenario(fmt.Sprint("s", i)), Cache: c})
			plan.Cases = append(plan.Cases, events.TestCase{Benchmark: "b", Scenario: plan.Chain[i].Name})
		}
		slot := filepath.Join(root, "slot")
		r := newRunner()
		r.Measure.NoCgroup = true
		var order []string
		var fails, done [2][]bool
		jobs := make([]runner.Job, 2)
		for side := range jobs {
			fails[side] = rapid.SliceOfN(rapid.Custom(func(t *rapid.T) bool { return rapid.IntRange(0, 4).Draw(t, "fails") == 0 }), n, n).Draw(t, "fails")
			done[side] = rapid.SliceOfN(rapid.Bool(), n, n).Draw(t, "done")
			p := plan
			p.Driver = fmt.Sprint("scripted", side)
			r.Drivers[p.Driver] = turning{side, &order, fails[side]}
			jobs[side] = runner.Job{Plans: []suite.BenchmarkPlan{p}, Slot: slot, Cache: filepath.Join(root, "cache"), Done: func(c events.TestCase) bool {
				return done[side][slices.Index(plan.Cases, c)]
			}}
		}
		var sink pairRecorder
		ofA, ofB, err := r.RunPair(context.Background(), jobs[0], jobs[1], runner.Turns{}, &sink)
		if err != nil {
			t.Fatalf("RunPair: %v", err)
		}
		for side, got := range []runner.Summary{ofA, ofB} {
			seen := map[events.TestCase]int{}
			for _, block := range sink.blocks {
				for _, c := range block[side] {
					if seen[c.TestCase]++; len(c.Iterations) != pairs {
						t.Fatalf("%v has %d pairs", c.TestCase, len(c.Iterations))
					}
				}
			}
			for _, line := range sink.told {
				for i, c := range plan.Cases {
					if strings.HasPrefix(line, []string{"a ", "b "}[side]) && strings.Contains(line+" ", fmt.Sprintf("/s%d ", i)) {
						seen[c]++
					}
				}
			}
			for i, c := range plan.Cases {
				want := 1
				if done[side][i] {
					want = 0
				}
				if seen[c] != want {
					t.Fatalf("%v is accounted for %d times on side %d, want %d: %q", c, seen[c], side, want, sink.told)
				}
			}
			if got.Measured+got.Skipped+got.Failed != n {
				t.Fatalf("%+v of %d", got, n)
			}
		}
		if !slices.Contains(fails[0], true) && !slices.Contains(fails[1], true) && !slices.Contains(done[0], true) && !slices.Contains(done[1], true) {
			balanced(t, order, n)
		}
	})
}

// turning is a driver whose commands fail where the test wants it, and that notes the side of each.
type turning struct {
	side  int
	order *[]string
	fails []bool
}

func (d turning) Prepare(_ context.Context, s *runner.Slot, _ runner.Toolchain, p suite.BenchmarkPlan) (runner.Plan, error) {
	var plan runner.Plan
	for i := range p.Chain {
		path := "/bin/true"
		if d.fails[i] {
			path = "/bin/false"
		}
		plan.Steps = append(plan.Steps, runner.Step{Cmd: measure.Cmd{Path: path}, Before: func(context.Context) error {
			*d.order = append(*d.order, fmt.Sprint(d.side, " ", i))
			own, err := os.ReadFile(s.Path("own"))
			if err == nil && string(own) != fmt.Sprint(d.side) {
				err = fmt.Errorf("the tree is that of side %s", own)
			}
			return err
		}})
	}
	return plan, os.WriteFile(s.Path("own"), []byte(fmt.Sprint(d.side)), 0o600)
}

// balanced checks that both sides of a step follow each other, and that of each four pairs each side begins two, one after the
// other side and one before.
func balanced(t *rapid.T, order []string, steps int) {
	var first []int
	for k := 0; k+1 < len(order); k += 2 {
		var a, b, i, j int
		if _, err := fmt.Sscanf(order[k]+" "+order[k+1], "%d %d %d %d", &a, &i, &b, &j); err != nil || i != j || a == b || i != k/2%steps {
			t.Fatalf("no pair at %d: %q", k, order)
		}
		if i == 0 {
			first = append(first, a)
		}
	}
	for n := 0; n < len(first); n++ {
		if want := []int{0, 1, 1, 0}[n%4]; first[n] != want {
			t.Fatalf("pair %d begins with side %d: %v", n, first[n], first)
		}
	}
}
