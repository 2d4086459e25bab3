package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/readmodel/comparison"
	"github.com/tachobench/tacho/rules/compare"
)

// worker writes the program of an artifact: it counts to n, and notes that it ran.
func (s *site) worker(tag string, n int) {
	s.t.Helper()
	text := fmt.Sprintf("echo %s >> %s/ran\ni=0\nwhile [ $i -lt %d ]; do i=$((i+1)); done\n", tag, s.dir, n)
	if err := os.WriteFile(filepath.Join(s.dir, "artifacts", tag, "work.sh"), []byte(text), 0o644); err != nil {
		s.t.Fatal(err)
	}
}

// ran counts the runs of the workers.
func (s *site) ran() int {
	text, err := os.ReadFile(filepath.Join(s.dir, "ran"))
	if err != nil {
		return 0
	}
	return strings.Count(string(text), "\n")
}

// oneBenchmark leaves one benchmark in the suite, which runs the worker and may run on any machine.
func (s *site) oneBenchmark(iterations int) {
	s.t.Helper()
	path := filepath.Join(s.dir, "naps.toml")
	text, err := os.ReadFile(path)
	if err != nil {
		s.t.Fatal(err)
	}
	parts := strings.SplitAfterN(string(text), "[[benchmark]]", 3)
	if err := os.WriteFile(path, []byte(strings.TrimSuffix(parts[0]+parts[1], "[[benchmark]]")), 0o644); err != nil {
		s.t.Fatal(err)
	}
	s.replace("naps.toml", `"{source}/nap.sh", "0.1"`, `"{artifact}/work.sh"`)
	s.replace("naps.toml", "[[profile]]\nname = \"slow\"\n", "")
	s.replace("naps.toml", "sets = 2", "sets = 1")
	s.replace("naps.toml", "iterations = 2", fmt.Sprintf("iterations = %d", iterations))
	s.replace("naps.toml", "backfill = true", "lanes = \"any\"\nrequires = [\"pool=linux\"]")
}

// neighbour burns all CPUs every other second, until the test ends.
func neighbour(t *testing.T) {
	done := t.Context().Done()
	for range runtime.NumCPU() {
		go func() {
			for {
				for began := time.Now(); time.Since(began) < time.Second; {
				}
				select {
				case <-done:
					return
				case <-time.After(time.Second):
				}
			}
		}()
	}
}

// A job with a parent is measured in turns, and its pairs decide. A collector that dies in the middle leaves nothing of the
// block; the next process measures it anew. With TACHO_TURNS=full a small change is told beside a neighbour that burns all CPUs.
func TestAFarmMeasuresInTurns(t *testing.T) {
	t.Parallel()
	// Whatever else this machine has to do, it hardly changes how much CPU time a program needs.
	const metric = "task-clock"
	pairs, work, more := 20, 20_000, 60_000
	if os.Getenv("TACHO_TURNS") == "full" {
		pairs, more = 300, 21_000
		neighbour(t)
	}
	s := newSite(t)
	s.patient()
	s.worker("v1", work)
	s.worker("v2", more)
	s.oneBenchmark(pairs)
	s.start("--collectors", "0")
	s.must(words("machine add eider --pool linux")...)
	first := s.begin("collector", "run", "eider")
	s.must(words("request master v2 --parent v1")...)
	s.eventually("some pairs", time.Minute, func() bool { return s.ran() > 4 })
	if err := first.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	<-first.ended
	if n := s.count("test_cases.measured"); n > 0 {
		t.Errorf("%d events with results of a block that is not over", n)
	}
	s.begin("collector", "run", "eider")
	s.ended("v2")
	var blocks []events.TestCasesMeasured
	for _, e := range s.events() {
		if f, ok := e.Fact.(events.TestCasesMeasured); ok {
			blocks = append(blocks, f)
		}
	}
	if len(blocks) != 1 || blocks[0].Beside == nil || blocks[0].Attempt != 2 || blocks[0].Artifact.Tag != "v2" || blocks[0].Beside.Artifact.Tag != "v1" ||
		len(blocks[0].Cases[0].Iterations) != pairs || len(blocks[0].Beside.Cases[0].Iterations) != pairs {
		t.Fatalf("results %+v", blocks)
	}
	var c comparison.Comparison
	if err := json.Unmarshal([]byte(s.must("compare", "v1", "v2", "--metric", metric, "--json")), &c); err != nil {
		t.Fatal(err)
	}
	if len(c.Changes) != 1 || c.Changes[0].Turns == nil || c.Changes[0].Turns.Pairs != pairs || c.Changes[0].Judgement != compare.Regressed {
		t.Fatalf("changes %+v, help %+v", c.Changes, c.Helps)
	}
	planted := float64(more)/float64(work) - 1
	t.Logf("planted %+.1f %%, found %+.2f %% in %+.2f to %+.2f %%, %d pairs with interference", planted*100, *c.Changes[0].Relative*100,
		c.Changes[0].Turns.Interval.Low*100, c.Changes[0].Turns.Interval.High*100, c.Changes[0].Turns.Disturbed)
	if out := s.must("compare", "v1", "v2", "--metric", metric); !strings.Contains(out, fmt.Sprintf("in turns: %d pairs", pairs)) {
		t.Errorf("compare says %s", out)
	}
	samples := s.must("compare", "v1", "v2", "--metric", metric, "--format", "samples")
	if lines := strings.Split(strings.TrimSpace(samples), "\n"); len(lines) != pairs+1 || !strings.Contains(lines[1], ","+metric+",0,a,") {
		t.Errorf("samples %s", samples)
	}
	s.must("replay", "--verify")
}
