package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/tachobench/tacho/collector/definitions"
	"github.com/tachobench/tacho/events"
)

// A shipped Rust program is measured with the toolchain of this machine, from the request to the results. This needs the real
// binary, which takes the compiler's place while cargo runs.
func TestAShippedRustProgramIsMeasuredEndToEnd(t *testing.T) {
	t.Parallel()
	sysroot, err := exec.Command("rustc", "--print", "sysroot").Output()
	if err != nil {
		t.Fatalf("this test needs rustc and cargo: %v", err)
	}
	s := newSite(t)
	text, err := os.ReadFile("../../collector/definitions/rustc-small.toml")
	if err != nil {
		t.Fatal(err)
	}
	local := `path = ["` + strings.TrimSpace(string(sysroot)) + `"]`
	suite := regexp.MustCompile(`(?ms)^path = \[.*?\]`).ReplaceAllLiteralString(string(text), local)
	suite = strings.Replace(suite, `root = "shipped"`, `root = "file"`, 1)
	programs := definitions.ShippedPrograms("rustc-small")
	d, err := definitions.Shipped("rustc-small")
	if err != nil {
		t.Fatal(err)
	}
	for _, b := range d.Benchmarks {
		if err := programs.Materialise(b.Source, filepath.Join(s.dir, b.Source)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(s.dir, "naps.toml"), []byte(suite), 0o644); err != nil {
		t.Fatal(err)
	}
	s.start()
	s.must("request", "master", "here", "--profiles", "check", "--benchmarks", "hello", "--wait")
	c, ok := s.client()
	if !ok {
		t.Fatal("tacho up does not answer")
	}
	results, err := c.Results(t.Context(), "rustc-small", "here")
	if err != nil {
		t.Fatal(err)
	}
	scenarios := map[events.Scenario]bool{}
	for _, r := range results {
		scenarios[r.Scenario] = true
	}
	if len(results) != 4 || len(scenarios) != 4 {
		t.Errorf("%d results of scenarios %v, want one of each of the four", len(results), scenarios)
	}
}
