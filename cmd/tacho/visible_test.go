package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/internal/visible"
	"github.com/tachobench/tacho/readmodel"
)

// wicked is a text that clears the screen, asks the terminal for its title, hides text and reverses its direction.
const wicked = "\x1b[2J\x1b[21t\u009b31m\r\a\x7f\u202ereverse\u2066\ufeff"

// A benchmark, and people in their reasons, write control characters. No command passes them on to a terminal, wherever its
// output goes. If the output of a job is redirected, it is unchanged.
func TestNoCommandPassesOnWhatATerminalObeys(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	script := "printf '" + strings.NewReplacer("\x1b", `\033`, "\r", `\r`, "\a", `\a`, "\x7f", `\177`).Replace(wicked) + `\377\n' >&2` + "\nexit 1\n"
	if err := os.WriteFile(filepath.Join(s.dir, "nap", "nap.sh"), []byte(script), 0o644); err != nil {
		t.Fatal(err)
	}
	s.start("--verbose")
	out, errs, _ := s.run("request", "master", "v1", "--wait")
	s.must("collector", "add", "spare", "--target", "here", "--set", "1", "--standby")
	s.must("collector", "want", "v9", "--reason", wicked)
	s.must("collector", "deactivate", "spare", "--reason", wicked+"\n     9  forged line")
	s.eventually("the tables know it", 30*time.Second, func() bool { return strings.Contains(s.must("events", "tail"), "forged") })
	job, failed := events.JobID(""), events.Seq(0)
	for _, e := range s.events() {
		if f, ok := e.Fact.(events.JobFinished); ok {
			job = f.JobID
		}
		if _, ok := e.Fact.(events.ErrorRecorded); ok {
			failed = e.Seq
		}
	}
	if job == "" || failed == 0 {
		t.Fatalf("no job ended with an error:\n%s", s.must("events", "tail"))
	}
	texts := map[string]string{"request --wait": out, "request --wait on stderr": errs}
	for _, line := range []string{
		"events tail", fmt.Sprint("events show ", failed), "trace " + string(job), "trace v1", "request list", "request show v1", "jobs", "status", "queue", "alerts",
		"collector list", "collector want", "doctor", "nothing \x1b[2J", "request show \x1b[2J", "suite show naps\u202e", "config",
	} {
		out, errs, _ := s.run(strings.Split(line, " ")...)
		texts[line], texts[line+" on stderr"] = out, errs
	}
	texts["up"] = s.log.String()
	for what, text := range texts {
		if visible.Text(text) != text {
			t.Errorf("tacho %s passes on what a terminal obeys: %q", what, text)
		}
	}
	for what, want := range map[string]string{"events tail": `\x1b[2J`, fmt.Sprint("events show ", failed): `\u001b[2J`, "collector want": `\x1b[2J`} {
		if !strings.Contains(texts[what], want) {
			t.Errorf("tacho %s does not show it: %q", what, texts[what])
		}
	}
	for line := range strings.Lines(texts["events tail"]) {
		if strings.HasPrefix(strings.TrimSpace(line), "9  forged") {
			t.Errorf("a reason begins a line of its own:\n%s", texts["events tail"])
		}
	}

	// Bytes for programs do not change.
	if out := s.must("logs", string(job)); !strings.Contains(out, wicked) {
		t.Errorf("the output of the job has changed: %q", out)
	}
	var shown readmodel.Event
	if err := json.Unmarshal([]byte(s.must("events", "show", fmt.Sprint(failed), "--json")), &shown); err != nil || !strings.Contains(string(shown.Data), "\u202ereverse") {
		t.Errorf("%v: %s", err, shown.Data)
	}
}
