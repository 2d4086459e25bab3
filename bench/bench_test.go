package main

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"slices"
	"strings"
	"testing"
)

// pretend is a row whose sides return fixed numbers, one list for each turn.
func pretend(name string, err error) Row {
	turns := func(name string, all ...[]float64) Side {
		i := -1
		return Side{name, func(context.Context) ([]float64, error) { i++; return all[i%len(all)], err }}
	}
	return Row{
		Name: name, Work: "no work at all",
		Figures: []Figure{
			{"rate", "/s", higher, []Goal{{"a peer", 0.6}}},
			{"wait", "ms", lower, []Goal{{"", 5}, {"a peer", 4}}},
		},
		Run: func(context.Context, *Bed) ([]Side, error) {
			return []Side{
				turns("tacho", []float64{1200, 7}, []float64{1000, 6}, []float64{12_345, 0.5}),
				turns("a peer", []float64{2400, 1.5}),
				turns("another", []float64{1500, 0}),
			}, nil
		},
	}
}

func bench(t *testing.T, rows []Row, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, said strings.Builder
	code = run(t.Context(), rows, append(args, "--dir", t.TempDir()), &out, &said)
	return code, out.String(), said.String()
}

func TestTheTable(t *testing.T) {
	code, text, said := bench(t, []Row{pretend("row", nil)})
	if code != 0 {
		t.Errorf("code %d", code)
	}
	for _, want := range []string{"row: round 3 of 3, tacho: rate 12,345 /s, wait 0.5 ms\n", "row: round 1 of 3, another: rate 1,500 /s\n"} {
		if !strings.Contains(said, want) {
			t.Errorf("no %q in\n%s", want, said)
		}
	}
	for _, want := range []string{
		"\nrow: no work at all (",
		"  rate  1,200 /s (1,000 … 12,345)  a peer: 2,400 /s (2,400 … 2,400)   0.5 ×  ≥ 0.6 ×  MISSED\n",
		"  rate  1,200 /s (1,000 … 12,345)  another: 1,500 /s (1,500 … 1,500)  0.8 ×           \n",
		"  wait  6 ms (0.5 … 7)                                                       ≤ 5 ms   MISSED\n",
		"  wait  6 ms (0.5 … 7)             a peer: 1.5 ms (1.5 … 1.5)         4 ×    ≤ 4 ×    reached\n",
		"\n1 of 3 goals are reached.\n",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	_, markdown, _ := bench(t, []Row{pretend("row", nil)}, "--markdown")
	if want := "| `row` | rate | 1,200 /s | a peer: 2,400 /s | 0.5 × | ≥ 0.6 × | MISSED |\n"; !strings.Contains(markdown, want) {
		t.Errorf("no %q in\n%s", want, markdown)
	}
}

func TestARowThatFailsHindersNoOther(t *testing.T) {
	code, text, said := bench(t, []Row{pretend("first", errors.New("it broke")), pretend("second", nil)}, "--json")
	var report Report
	if err := json.Unmarshal([]byte(text), &report); err != nil {
		t.Fatal(err)
	}
	if code != 1 || len(report.Results) != 2 || report.Results[0].Failure != "tacho: it broke" || len(report.Results[1].Lines) != 4 {
		t.Errorf("code %d, %+v", code, report.Results)
	}
	if !strings.Contains(said, "first failed: tacho: it broke") {
		t.Errorf("said %q", said)
	}
}

func TestRowsAreChosenByName(t *testing.T) {
	_, list, _ := bench(t, allRows(), "--list")
	lines := strings.Split(strings.TrimSpace(list), "\n")
	var names []string
	for _, line := range lines {
		names = append(names, strings.Fields(line)[0])
	}
	slices.Sort(names)
	if len(names) < 10 || len(slices.Compact(names)) != len(lines) {
		t.Errorf("names %v", names)
	}
	for args, want := range map[string]string{
		"--row nothing": `no row is called "nothing": --list shows them`, "--scale 0": "use 1 or more", "--rounds -1": "use 1 or more", "--json --markdown": "choose one",
	} {
		code, _, said := bench(t, allRows(), strings.Fields(args)...)
		if code != 2 || !strings.Contains(said, want) {
			t.Errorf("%s: code %d, %q", args, code, said)
		}
	}
}

func TestHowManyTurnsASideHas(t *testing.T) {
	for _, tc := range []struct{ row, asked, want int }{{0, 0, 3}, {2, 0, 2}, {2, 1, 1}, {0, 5, 5}} {
		turns := 0
		row := Row{Name: "turns", Figures: []Figure{{}}, Rounds: tc.row, Run: func(context.Context, *Bed) ([]Side, error) {
			return []Side{{"tacho", func(context.Context) ([]float64, error) { turns++; return []float64{1}, nil }}}, nil
		}}
		if result := measured(t.Context(), row, options{scale: 1, rounds: tc.asked, dir: t.TempDir()}, t.Output()); result.Failure != "" || turns != tc.want {
			t.Errorf("%+v: %d turns, %s", tc, turns, result.Failure)
		}
	}
}

// A farm with a door executes a request, beside a raw stream. Nothing is left of them.
func TestARowEndToEnd(t *testing.T) {
	tiny := Row{Name: "tiny", Figures: []Figure{{Name: "jobs", Better: higher}, {Name: "CPU", Better: lower}}, Rounds: 2, Run: func(_ context.Context, b *Bed) ([]Side, error) {
		tacho, err := b.wholeRequests(FarmConfig{Collectors: 2, Profiles: 3, InProgress: 1, Unsynced: true})
		if err != nil {
			return nil, err
		}
		raw, err := b.rawAppends("raw", true, 2, 20, 4)
		return []Side{tacho, raw}, err
	}}
	dir := t.TempDir()
	result := measured(t.Context(), tiny, options{scale: 1, dir: dir}, t.Output())
	if result.Failure != "" || len(result.Lines) != 2 {
		t.Fatalf("%+v", result)
	}
	for _, l := range result.Lines {
		if l.Tacho.Least <= 0 || l.Theirs.Least <= 0 || l.Tacho.Median < l.Tacho.Least || l.Tacho.Median > l.Tacho.Most {
			t.Errorf("%+v", l)
		}
	}
	left, err := os.ReadDir(dir)
	if err != nil || len(left) > 0 {
		t.Errorf("left: %v (%v)", left, err)
	}
}

// The row idle looks at processes from outside, and is its own peers.
func TestTheIdleRow(t *testing.T) {
	for _, args := range [][]string{{tenWakes}, {emptyNATS, t.TempDir()}} {
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- beIdle(ctx, args) }()
		stop()
		if err := <-ended; err != nil && !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v", args[0], err)
		}
	}
	before, err := cpuOfProcess(os.Getpid())
	for after := before; err == nil && after == before; {
		after, err = cpuOfProcess(os.Getpid())
	}
	if err != nil {
		t.Error(err)
	}
	if pid := processWith(strings.Join(os.Args, "\x00")); pid != os.Getpid() {
		t.Errorf("found process %d, want %d", pid, os.Getpid())
	}
	if _, err := cpuOfProcess(1 << 30); err == nil {
		t.Error("a process that is not there has CPU time")
	}
	row := rowsOfRest()[0]
	if result := measured(t.Context(), row, options{scale: 1, dir: t.TempDir(), program: "/nowhere/tacho"}, t.Output()); !strings.Contains(result.Failure, "make build") {
		t.Errorf("without a program: %+v", result)
	}
}
