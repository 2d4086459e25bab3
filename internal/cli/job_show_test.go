package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/readmodel"
)

func TestAJobIsShown(t *testing.T) {
	at := time.Date(2026, 11, 22, 9, 0, 0, 0, time.Local)
	j := readmodel.Job{
		ID: "j1", RequestID: "r1", Suite: "linux", Tag: "v2", Kind: "build", Target: "x", Backend: "gcc", Profile: "def", State: events.JobSuccess,
		CreatedAt: at, FinishedAt: &at, Measured: 3, Matched: true, Requires: []string{"memory=2g"}, Against: "v1", PeakMemoryBytes: 1<<30 + 1, CPUMS: 61_000,
	}
	answers := map[string]any{
		"jobs/j1": readmodel.JobHistory{
			Job: j, AttemptList: []readmodel.Attempt{{Attempt: 1, Collector: "eider", State: readmodel.AttemptFinished, Outcome: events.Success, StartedAt: at, EndedAt: &at, DurationMS: 9000}},
			ErrorList: []readmodel.JobError{{Kind: events.ErrorMemory, Context: "b1", Message: "was killed\nat once"}},
			Alike: []readmodel.JobUse{
				{JobID: "j1", State: events.JobSuccess, PeakMemoryBytes: 1<<30 + 1, CPUMS: 61_000, MemoryMiB: 2048},
				{JobID: "j0", State: events.JobFailure, CPUMS: 90_000},
			},
		},
		"jobs/j2": readmodel.JobHistory{Job: readmodel.Job{ID: "j2", State: events.JobQueued, CreatedAt: at}},
	}
	for line, parts := range map[string][]string{
		"job show j1": {
			"job j1: success\n", "tag      v2 against v1\n", "what     build gcc/def of x/0\n", "requires memory=2g\n", "used     1025 MiB of memory at its peak, 1 min 1 s of CPU time\n",
			"\nThe last 2 jobs like it used at most 1025 MiB of memory at its peak, 1 min 30 s of CPU time:\n", "PEAK MEMORY", "2048 MiB", "eider", "memory: b1: was killed",
		},
		"job show j1 --json": {`"alike": [`, `"peak_memory_bytes": 1073741825`, `"cpu_ms": 61000`, `"memory_mib": 2048`},
	} {
		out, errs, code := answering(t, answers, line)
		if code != ExitDone {
			t.Errorf("tacho %s: exit code %d: %s", line, code, errs)
		}
		contains(t, "tacho "+line, out, parts...)
	}
	for _, line := range []string{"job show j2", "job show j2 --json"} {
		if out, _, code := answering(t, answers, line); code != ExitDone || strings.Contains(out, "alike") || strings.Contains(out, "PEAK") || strings.Contains(out, "cpu") || strings.Contains(out, "used") {
			t.Errorf("of a job that is not matched, tacho %s, exit code %d:\n%s", line, code, out)
		}
	}
	_, errs, code := answering(t, answers, "job show j9")
	if code != ExitRefused {
		t.Errorf("exit code %d", code)
	}
	contains(t, "tacho job show j9", errs, "tacho jobs")
}

func TestHintsAboutMemoryAreTold(t *testing.T) {
	hint := readmodel.MemoryHint{Suite: "linux", Kind: "build", JobID: "j7", Words: "kind build of suite linux requires too much: write memory=1g"}
	answers := map[string]any{
		"machines": readmodel.Machines{Machines: []readmodel.Machine{{Name: "eider", Pool: "p", Slots: 1}}, Hints: []readmodel.MemoryHint{hint}},
	}
	out, errs, code := answering(t, answers, "machine list")
	if code != ExitDone {
		t.Fatalf("exit code %d: %s", code, errs)
	}
	contains(t, "tacho machine list", out, "hint: "+hint.Words+" in requires; `tacho job show j7` had the most\n")
}

// The server is asked only if it is named: definitions can be checked without one.
func TestTheServerKnowsWhatJobsUsed(t *testing.T) {
	file := filepath.Join(t.TempDir(), "naps.toml")
	text := strings.Replace(pooledSuite, "REQUIRES", `"memory=8g"`, 1)
	for name, content := range map[string]string{file: text, filepath.Join(filepath.Dir(file), "nap.txtar"): "-- nap.sh --\nsleep 1\n"} {
		if err := os.WriteFile(name, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	row := readmodel.UseRow{Suite: "naps", Target: "here", Kind: "build", Backend: "none", Profile: "plain"}
	for range 3 {
		row.Uses = append(row.Uses, readmodel.JobUse{JobID: "j7", State: events.JobSuccess, PeakMemoryBytes: 1 << 30, MemoryMiB: 8 << 10})
	}
	answers := map[string]any{"uses": []readmodel.UseRow{row}}
	words := "kind build of suite naps requires memory=8g; its last 3 jobs had at most 1024 MiB, less than half of that: write memory=1280m"
	for line, want := range map[string]string{
		"suite check " + file:                          "",
		"suite check " + file + " --json":              "",
		"suite check " + file + " --server URL":        "hint: " + words + " in requires; `tacho job show j7` had the most\n",
		"suite check " + file + " --server URL --json": `"words": "` + words,
	} {
		out, errs, code := answering(t, answers, line)
		if code != ExitDone || (want == "") != !strings.Contains(out, "hint") {
			t.Errorf("tacho %s: exit code %d: %s%s", line, code, out, errs)
		}
		contains(t, "tacho "+line, out, want)
	}
	shared := filepath.Join(filepath.Dir(file), "shared.toml")
	if err := os.WriteFile(shared, []byte(strings.Replace(text, "lanes = ", "shared = true\nlanes = ", 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, flag := range []string{"", " --json"} {
		out, errs, code := answering(t, nil, "suite check "+shared+flag)
		if code != ExitDone || strings.Contains(out, "hint") {
			t.Errorf("a warning: exit code %d: %s%s", code, out, errs)
		}
		contains(t, "the check of a shared kind", out, "warning", "shared = true and measures the time wall-time")
	}
	_, errs, code := answering(t, nil, "suite check "+file+" --server URL")
	if code == ExitDone {
		t.Errorf("a server that does not know the suite: %s", errs)
	}
}

// pooledSuite is a suite of one kind whose jobs run on any machine.
const pooledSuite = `
version = 1
name = "naps"
primary_target = "here"
sources = { root = "file" }
defaults = { iterations = 1, timeout = "1m" }
categories = { master = ["primary"], try = ["primary"], release = ["primary"] }
artifact = { kind = "path", path = ["/opt/naps/{tag}"], driver = "command" }

[[target]]
name = "here"
sets = 1
os = "linux"
arch = "amd64"

[[kind]]
name = "build"
per_set = true
per_profile = true
lanes = "any"
requires = [REQUIRES]

[[profile]]
name = "plain"

[[backend]]
name = "none"

[[scenario]]
name = "full"
cache = "none"

[[metric]]
name = "wall-time"
unit = "s"
class = "time"
better = "lower"

[[benchmark]]
name = "nap"
kind = "build"
category = "primary"
sets = { here = 0 }
source = "nap"
command = ["{artifact}/nap"]
`
