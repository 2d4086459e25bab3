package runner_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/tachobench/tacho/collector/runner"
	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/rules/suite"
)

// saying returns a job whose steps are scripts that print warnings and errors.
func saying(t *testing.T, deny []string, scripts ...string) runner.Steps {
	t.Helper()
	job := stepsOf(t, suite.Success{}, scripts...)
	var err error
	job.Plan.Diagnostics, err = suite.NewDiagnostics([]suite.DiagnosticPattern{
		{Pattern: `^(?:\S+: )?(warning|error)(?:\[(\w+)\])?: `, Level: "$1", Code: "$2"},
		{Pattern: `^level (\S+)`, Level: "$1"},
	}, deny)
	if err != nil {
		t.Fatal(err)
	}
	return job
}

// said returns how a job ended, and what it said.
func said(t *testing.T, job runner.Steps) (string, events.DiagnosticsSeen) {
	t.Helper()
	var sink recorder
	got := outcome(t, newRunner().RunSteps(t.Context(), job, &sink))
	switch len(sink.diagnosed) {
	case 0:
		return got, events.DiagnosticsSeen{}
	case 1:
		return got, sink.diagnosed[0]
	}
	t.Fatalf("it said something %d times", len(sink.diagnosed))
	return "", events.DiagnosticsSeen{}
}

func TestEachDiagnosticIsSaidOnceWithItsCount(t *testing.T) {
	job := saying(t, nil,
		"echo 'warning[W1]: unused x'; echo fine; echo 'warning[W1]: unused x' >&2; printf 'error: no\\r\\n'", "echo 'warning[W1]: unused x'; echo 'warning: \\'")
	got, seen := said(t, job)
	want := events.DiagnosticsSeen{
		Items: []events.Diagnostic{
			{Level: "warning", Code: "W1", Text: "warning[W1]: unused x", Count: 3},
			{Level: "error", Text: "error: no", Count: 1},
			{Level: "warning", Text: `warning: \`, Count: 1},
		},
		Lines: map[string]int{"warning": 4, "error": 1},
	}
	if diff := cmp.Diff(want, seen, cmpopts.IgnoreFields(events.Diagnostic{}, "Hash")); got != "success" || diff != "" {
		t.Errorf("%s (-want +got):\n%s", got, diff)
	}
	if got, seen := said(t, saying(t, nil, "echo nothing")); got != "success" || seen.Items != nil {
		t.Errorf("%s, %+v", got, seen)
	}
}

func TestWhatDiffersByChanceIsOneDiagnostic(t *testing.T) {
	for _, pair := range [][2]string{
		{"warning: at 0x7ffe12 it leaks", "warning: at 0xdeadbeef it leaks"},
		{"warning: src/a.c:12:5 unused", "warning: src/a.c:900:1 unused"},
		{"warning: a.c(12): unused", "warning: a.c(13): unused"},
		{"warning: on line 12 of a.c", "warning: on line 1 of a.c"},
		{"warning: slow, 1.5 s", "warning: slow, 203ms"},
		{"warning: 2026-11-23T19:00:01.5Z too old", "warning: 2025-01-02 03:04 too old"},
		{"warning: 19:00:01 too old", "warning: 1:02:03.123 too old"},
	} {
		_, seen := said(t, saying(t, nil, fmt.Sprintf("echo '%s'; echo '%s'", pair[0], pair[1])))
		if len(seen.Items) != 1 || seen.Items[0].Count != 2 || seen.Items[0].Text != pair[0] {
			t.Errorf("%q: %+v", pair, seen)
		}
	}
	for _, pair := range [][2]string{
		{"warning: unused x1", "warning: unused x2"}, {"warning: 3 arguments", "warning: 4 arguments"}, {"warning: a.c:1 unused", "warning: b.c:1 unused"},
	} {
		_, seen := said(t, saying(t, nil, fmt.Sprintf("echo '%s'; echo '%s'", pair[0], pair[1])))
		if len(seen.Items) != 2 {
			t.Errorf("%q: %+v", pair, seen)
		}
	}
}

func TestTheSlotIsNoPartOfADiagnostic(t *testing.T) {
	var hashes []string
	for range 2 {
		job := saying(t, nil, `echo "$PWD/a.c: warning: unused"`)
		_, seen := said(t, job)
		if len(seen.Items) != 1 || !strings.Contains(seen.Items[0].Text, filepath.Join(job.Slot, "src", "a.c")) {
			t.Fatalf("%+v", seen)
		}
		hashes = append(hashes, seen.Items[0].Hash)
	}
	if hashes[0] != hashes[1] || len(hashes[0]) != 16 {
		t.Errorf("%q", hashes)
	}
}

func TestOfManyDiagnosticsTheFirstAreKept(t *testing.T) {
	got, seen := said(t, saying(t, nil, "seq -f 'warning: unused x%.0f' 10000", "seq -f 'warning: unused x%.0f' 10000"))
	if got != "success" || len(seen.Items) != 200 || seen.More != 9800 || seen.Lines["warning"] != 20000 || seen.Items[199].Text != "warning: unused x200" || seen.Items[0].Count != 2 {
		t.Errorf("%s: %d kept, and %d more, of %v", got, len(seen.Items), seen.More, seen.Lines)
	}
	_, seen = said(t, saying(t, nil, "seq -f 'level l%.0f' 1000"))
	if len(seen.Lines) != 17 || seen.Lines["other"] != 984 {
		t.Errorf("levels %v", seen.Lines)
	}
}

func TestForeignBytesInDiagnosticsAreBounded(t *testing.T) {
	got, seen := said(t, saying(t, nil,
		`printf 'warning: '; head -c 1048576 /dev/zero | tr '\0' a`,
		`printf '\033[1m\033[33mwarning\033[0m: a\377b\001\n\033]0;title\007warning: title\n'`,
		`long=$(head -c 8000 /dev/zero | tr '\0' '<'); for i in $(seq 300); do echo "warning: $i $long"; done`))
	if got != "success" || len(seen.Items) < 3 || len(seen.Items[0].Text) != 4096 || seen.Items[1].Text != "warning: a\uFFFDb\uFFFD" || seen.Items[2].Text != "warning: title" {
		t.Fatalf("%s: %.300q", got, fmt.Sprintf("%+v", seen))
	}
	text, err := json.Marshal(seen)
	if err != nil || len(text) > 600<<10 || len(seen.Items)+seen.More != 303 {
		t.Errorf("the event has %d bytes, %d items and %d more: %v", len(text), len(seen.Items), seen.More, err)
	}
}

func TestDeniedDiagnosticsFailAJobAtItsEnd(t *testing.T) {
	for _, test := range []struct {
		name    string
		scripts []string
		want    string
	}{
		{"all steps run", []string{"echo warning: one", "echo warning: two > ../second; echo warning: two", "echo done > ../last"}, "diagnostics: the commands succeeded, and printed 2 lines that the definitions deny (deny names warning); the first is: warning: one"},
		{"another level", []string{"echo error: one", "true", "echo done > ../last"}, "success"},
		{"a failure is said itself", []string{"echo warning: one; exit 3"}, "command: step 1 of 1: sh -c echo warning: one; exit 3 ended with exit code 3:\nwarning: one"},
	} {
		t.Run(test.name, func(t *testing.T) {
			job := saying(t, []string{"warning"}, test.scripts...)
			got, seen := said(t, job)
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if len(seen.Items) == 0 {
				t.Error("it said nothing")
			}
			if len(test.scripts) == 3 {
				if _, err := os.Stat(filepath.Join(job.Slot, "last")); err != nil {
					t.Error(err)
				}
			}
		})
	}
	again := saying(t, []string{"warning"}, "echo warning: one; exit 75")
	again.Plan.Success.RetryExit = []int{75}
	if got, seen := said(t, again); !strings.HasPrefix(got, "again: ") || len(seen.Items) > 0 {
		t.Errorf("of a job that is tried again: %s, %+v", got, seen)
	}
}
