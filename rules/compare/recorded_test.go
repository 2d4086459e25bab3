package compare_test

import (
	"encoding/csv"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/tachobench/tacho/rules/compare"
)

// recording is one metric of two programs that a real machine measured in turns.
type recording struct {
	// what is "equal", "plus2" or "plus10".
	what, metric string
	pairs        []compare.Pair
}

// recordings reads those of testdata/turns; RECORDED.md beside them says how they were made.
func recordings(t *testing.T, file string) (all []recording) {
	t.Helper()
	in, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = in.Close() }()
	lines, err := csv.NewReader(in).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	at := map[string]int{}
	for _, line := range lines[1:] {
		name := line[0] + " " + line[5]
		i, known := at[name]
		if !known {
			i = len(all)
			at[name] = i
			what, _, _ := strings.Cut(line[0], "-")
			all = append(all, recording{what: what, metric: line[5]})
		}
		all[i].pairs = append(all[i].pairs, compare.Pair{A: number(t, line[8]), B: number(t, line[9]), Disturbed: line[10] == "true"})
	}
	return all
}

func number(t *testing.T, text string) float64 {
	t.Helper()
	x, err := strconv.ParseFloat(text, 64)
	if err != nil {
		t.Fatal(err)
	}
	return x
}

// TestRecorded: on a real machine, equal programs are never called changed, and no change is called the opposite. With one neighbour
// that burns both CPUs every other second, CPU time finds +10 % always and +2 % mostly; beside a dozen of them it need not.
func TestRecorded(t *testing.T) {
	files, err := filepath.Glob("testdata/turns/*.csv")
	if err != nil || len(files) == 0 {
		t.Fatalf("no recordings: %v", err)
	}
	least := map[string]float64{"neighbour.csv plus2 task-clock": 0.8, "neighbour.csv plus10 task-clock": 1}
	for _, file := range files {
		all := recordings(t, file)
		for _, of := range []string{"equal wall-time", "equal task-clock", "plus2 wall-time", "plus2 task-clock", "plus10 wall-time", "plus10 task-clock"} {
			n, found, improved, pairs := 0, 0, 0, []int{}
			for _, r := range all {
				if r.what+" "+r.metric != of {
					continue
				}
				info := wallTime()
				got := compare.JudgeTurns(compare.Turns{Metric: info, Pairs: r.pairs, Looks: compare.LooksAt(60)})
				n++
				pairs = append(pairs, got.Pairs)
				//exhaustive:ignore
				switch got.Judgement {
				case compare.Regressed:
					found++
				case compare.Improved:
					improved++
				}
			}
			if n == 0 {
				t.Errorf("%s has no recording of %s", file, of)
				continue
			}
			slices.Sort(pairs)
			t.Logf("| %s | %s | %d of %d | %d |", filepath.Base(file), of, found, n, pairs[n/2])
			switch what, _, _ := strings.Cut(of, " "); {
			case what == "equal" && found+improved > 0:
				t.Errorf("%s: %d of %d equal ones are called changed", of, found+improved, n)
			case improved > 0 || float64(found) < least[filepath.Base(file)+" "+of]*float64(n):
				t.Errorf("%s: %d of %d found, %d called improved", of, found, n, improved)
			}
		}
	}
}
