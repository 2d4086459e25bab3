package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/internal/cli"
	"github.com/tachobench/tacho/rules/graph"
)

// printed is a command in the words of an error.
var printed = regexp.MustCompile("`tacho ([^`]+)`")

// TestJobsThatNeedOthers measures two artifacts whose jobs need a small one first. In the second it fails: what needs it
// is skipped, what only waits for its end runs. The repair that is printed then works as it is.
func TestJobsThatNeedOthers(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.replace("naps.toml", "version = 1", "version = 2")
	s.replace("naps.toml", "[[profile]]\nname = \"quick\"", `needs = [{ kind = "smoke" }]

[[kind]]
name = "smoke"
profile = "quick"
backfill = true

[[kind]]
name = "report"
profile = "quick"
needs = [{ kind = "compile", across = ["set", "profile"], until = "ended" }]

[[benchmark]]
name = "boots"
kind = "smoke"
category = "primary"
source = "nap"
command = ["/bin/sh", "-c", "test ! -e {artifact}/bad"]

[[benchmark]]
name = "sums"
kind = "report"
category = "primary"
source = "nap"
command = ["/bin/sh", "-c", "true"]

[[profile]]
name = "quick"`)
	s.replace("quick.toml", "[scheduler]", "[sla]\ntarget = \"1s\"\n[scheduler]")
	bad := filepath.Join(s.dir, "artifacts", "v2", "bad")
	if err := os.WriteFile(bad, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	s.start()
	s.must("request", "master", "v1", "--wait")
	if out := s.must("graph", "list", "v1"); !strings.Contains(out, "success") {
		t.Errorf("the graph of v1:\n%s", out)
	}
	if out, _, code := s.run("request", "master", "v2", "--parent", "v1", "--wait"); code == cli.ExitDone {
		t.Errorf("v2 succeeded:\n%s", out)
	}
	s.eventually("the graph of v2 ends", 60*time.Second, func() bool {
		out, _, _ := s.run("graph", "list", "v2")
		return strings.Contains(out, "failure")
	})
	if out := s.must("graph", "timings", "v2"); !strings.Contains(out, "failure after") || !strings.Contains(out, "CRITICAL PATH") {
		t.Errorf("the timings of the graph of v2:\n%s", out)
	}
	if out := s.must("waits", "--window", "1h"); !strings.Contains(out, "here/0") || !strings.Contains(out, "master  2         p50") {
		t.Errorf("waits:\n%s", out)
	}
	var smoke events.JobID
	for _, j := range s.ended("v2").JobList {
		want := events.JobSuccess
		switch j.Kind {
		case "smoke":
			smoke, want = j.ID, events.JobFailure
		case "compile":
			want = events.JobCancelled
		}
		if j.State != want {
			t.Errorf("job %s of v2 is %s, want %s", j.Kind, j.State, want)
		}
	}
	if out := s.must("graph", "show", "v2"); strings.Count(out, string(graph.Skipped)) < 4 {
		t.Errorf("the graph of v2 has four skipped jobs:\n%s", out)
	}
	_, errs, code := s.run("job", "rerun", string(smoke))
	repair := printed.FindStringSubmatch(errs)
	if code == cli.ExitDone || repair == nil || !strings.HasPrefix(repair[1], "request repair") {
		t.Fatalf("a rerun after the end: exit code %d, %s", code, errs)
	}
	if err := os.Remove(bad); err != nil {
		t.Fatal(err)
	}
	s.must(words(repair[1])...)
	s.must("request", "repair", "v2") // what was skipped, too
	s.eventually("the graph of the repair succeeds", 60*time.Second, func() bool {
		out, _, _ := s.run("graph", "list", "v2")
		return strings.Contains(out, "repair") && strings.Contains(out, "success")
	})
	if out := s.must("request", "list"); !strings.Contains(out, "need others that failed") {
		t.Errorf("the list says why v2 failed:\n%s", out)
	}
	s.must("replay", "--verify")
}
