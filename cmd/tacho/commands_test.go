package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/internal/cli"
	"github.com/tachobench/tacho/rules/graph"
)

// TestAKindThatRunsCommands checks artifacts by a script before they are measured: the first one is good, the second one is
// not, and the third one asks for another try until it is.
func TestAKindThatRunsCommands(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.replace("naps.toml", "version = 1", "version = 2")
	s.replace("naps.toml", "[[profile]]\nname = \"quick\"", `needs = [{ kind = "check" }]

[[kind]]
name = "check"
profile = "quick"
backfill = true
does = "command"
source = "check"
steps = [["sh", "{source}/check.sh", "{artifact}"], ["test", "-s", "m.jsonl"]]
success = { retry_exit = [75], fail = ["^bad"], require = ["is good$"], metrics = "m.jsonl" }

[[profile]]
name = "quick"`)
	write := func(name, text string) {
		t.Helper()
		err := os.MkdirAll(filepath.Dir(filepath.Join(s.dir, name)), 0o755)
		if err == nil {
			err = os.WriteFile(filepath.Join(s.dir, name), []byte(text), 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	write("check/check.sh", `if [ -e $1/later ]; then exit 75; fi
if [ -e $1/bad ]; then echo "bad luck"; fi
echo '{"metric":"files","value":3}' > m.jsonl
echo "$1 is good"
`)
	write("artifacts/v2/bad", "")
	s.start()
	s.must("request", "master", "v1", "--wait")
	if out, _, code := s.run("request", "master", "v2", "--parent", "v1", "--wait"); code == cli.ExitDone {
		t.Errorf("v2 succeeded:\n%s", out)
	}
	for _, j := range s.ended("v2").JobList {
		out := s.must("job", "show", string(j.ID))
		switch {
		case j.Kind == "check" && (j.State != events.JobFailure || !strings.Contains(out, `a line matches "^bad", which is a failure: bad luck`)):
			t.Errorf("the check of v2:\n%s", out)
		case j.Kind != "check" && j.State != events.JobCancelled && j.Held != graph.Skipped: // it is cancelled when its graph ends
			t.Errorf("a job that needs it:\n%s", out)
		}
	}
	write("artifacts/v3/later", "")
	s.must("request", "try", "v3", "--parent", "v1")
	s.eventually("the check of v3 asks for another try", 60*time.Second, func() bool {
		out := s.must("request", "show", "v3")
		return strings.Contains(out, "asks for another try")
	})
	err := os.Remove(filepath.Join(s.dir, "artifacts", "v3", "later"))
	if err != nil {
		t.Fatal(err)
	}
	s.eventually("v3 is measured", 60*time.Second, func() bool {
		out, _, _ := s.run("request", "show", "v3")
		return strings.Contains(out, "completed")
	})
	if out := s.must("compare", "v1", "v3", "--metric", "files"); !strings.Contains(out, "check/quick/full  3  3") {
		t.Errorf("the metrics of the checks:\n%s", out)
	}
	s.must("replay", "--verify")
}
