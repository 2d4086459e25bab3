package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/tachobench/tacho/internal/cli"
)

// TestAGraphIsShownChangedAndSubmitted submits what was shown with other iterations, while the artifact does something else by
// then: what that measures moves no comparison.
func TestAGraphIsShownChangedAndSubmitted(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.replace("naps.toml", "version = 1", "version = 2")
	s.replace("naps.toml", "[[profile]]\nname = \"quick\"", `needs = [{ kind = "smoke" }]

[[kind]]
name = "smoke"
profile = "quick"
backfill = true

[[branch]]
match = "*"
customise = "any"

[[benchmark]]
name = "boots"
kind = "smoke"
category = "primary"
source = "nap"
command = ["/bin/sh", "-c", "test ! -e {artifact}/slow || sleep 1"]

[[profile]]
name = "quick"`)
	s.start()
	s.must("request", "master", "v1", "--branch", "main", "--wait")
	s.must("request", "master", "v2", "--parent", "v1", "--branch", "main", "--wait")
	before := s.must("compare", "v1", "v2", "--all")
	file := filepath.Join(s.dir, "mine.json")
	shown := s.must("graph", "show", "v2/0", "--json")
	if err := os.WriteFile(file, []byte(shown), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, errs, code := s.run("graph", "submit", file, "--request", "v2", "--dry-run"); code != cli.ExitDone || !strings.Contains(errs, "the graph is not customised") {
		t.Errorf("what the definitions make: exit code %d, %s", code, errs)
	}
	if err := os.WriteFile(filepath.Join(s.dir, "artifacts", "v2", "slow"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	changed := strings.ReplaceAll(shown, `"kind": "smoke",`, `"kind": "smoke", "iterations": 3,`)
	if err := os.WriteFile(file, []byte(changed), 0o644); err != nil {
		t.Fatal(err)
	}
	s.must("graph", "submit", file, "--request", "v2", "--key", "k", "--reason", "three of them")
	s.eventually("the submitted graph succeeds", 60*time.Second, func() bool {
		out, _, _ := s.run("graph", "list", "v2")
		return strings.Contains(out, "external") && strings.Count(out, "success ") >= 2 && !strings.Contains(out, "open")
	})
	s.must("graph", "submit", file, "--request", "v2", "--key", "k")
	if out, _, code := s.run("graph", "diff", "v2/1", "template"); code != cli.ExitFailed || strings.TrimSpace(out) != "smoke/here/0/any/quick: iterations added: 3" {
		t.Errorf("the difference: exit code %d, %s", code, out)
	}
	if out := s.must("graph", "show", "v2/1"); !strings.Contains(out, "external, customised") || !strings.Contains(out, "1.0") {
		t.Errorf("the submitted graph:\n%s", out)
	}
	if after := s.must("compare", "v1", "v2", "--all"); after != before {
		t.Errorf("the comparison was\n%s\nand is\n%s", before, after)
	}
	s.must("replay", "--verify")
}
