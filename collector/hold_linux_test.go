package collector

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tachobench/tacho/collector/definitions"
	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/internal/turns"
	"github.com/tachobench/tacho/rules/suite"
)

// mixed writes a suite with jobs that measure and jobs that run commands. Each command notes in a file when it ran.
func mixed(t *testing.T) (d suite.Definitions, dir, notes string) {
	t.Helper()
	dir = t.TempDir()
	notes = filepath.Join(dir, "notes")
	for _, sub := range []string{"v0", "v1", "sleep"} {
		if err := os.Mkdir(filepath.Join(dir, sub), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	text := `
version = 2
name = "mixed"
primary_target = "here"
sources = { root = "file" }
defaults = { iterations = 2, timeout = "10s" }
categories = { master = ["primary"], try = ["primary"], release = ["primary"] }
target = [{ name = "here", sets = 1, os = "linux", arch = "amd64" }]
profile = [{ name = "p" }]
backend = [{ name = "b" }]
scenario = [{ name = "full", cache = "none" }]
metric = [{ name = "wall-time", unit = "s", class = "time", better = "lower" }]

[[kind]]
name = "compile"
per_set = true
per_profile = true
per_backend = true

[[kind]]
name = "check"
does = "command"
profile = "p"
source = "sleep"
steps = [["sh", "{source}/sleep.sh", "build", "` + notes + `"], ["sh", "{source}/sleep.sh", "build", "` + notes + `"]]

[artifact]
kind = "path"
path = ["` + dir + `/{tag}"]
driver = "command"

[[benchmark]]
name = "sleep"
category = "primary"
sets = { here = 0 }
prepare = ["sh", "{source}/sleep.sh", "prepare", "` + notes + `"]
command = ["/bin/sh", "{source}/sleep.sh", "measure", "` + notes + `"]
env = ["MAKEFLAGS=-j2 --jobserver-auth=3,4", "CARGO_MAKEFLAGS=--jobserver-fds=3,4 -j", "MFLAGS=-k"]
`
	script := "echo \"$1 $(date +%s%N) $(sleep 0.0$(($$ % 4)); date +%s%N) $MAKEFLAGS$CARGO_MAKEFLAGS$MFLAGS\" >> $2\n"
	for file, text := range map[string]string{"mixed.toml": text, "sleep/sleep.sh": script} {
		if err := os.WriteFile(filepath.Join(dir, file), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	d, err := definitions.Load(filepath.Join(dir, "mixed.toml"))
	if err != nil {
		t.Fatal(err)
	}
	return d, dir, notes
}

// checkOf is the job of a kind that runs commands.
func checkOf(d suite.Definitions, tag events.Tag) events.JobSpec {
	spec := jobOf(d, tag)
	spec.Kind = "check"
	return spec
}

// sharing returns a machine of a collector that shares the directory with others.
func sharing(t *testing.T, name, dir, sources string) *Machine {
	t.Helper()
	m := machine(t, map[string]string{"mixed": sources})
	var err error
	if m.Turns, err = turns.Open(dir); err != nil {
		t.Fatal(err)
	}
	leave, err := m.Turns.Join(turns.User{Name: name})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(leave)
	return m
}

// ran is a command that ran from one time to another, both in nanoseconds.
type ran struct {
	what     string
	from, to int64
	flags    string
}

func readNotes(t *testing.T, file string) (all []ran) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		var r ran
		if _, err := fmt.Sscan(line, &r.what, &r.from, &r.to); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		r.flags = strings.Join(strings.Fields(line)[3:], " ")
		all = append(all, r)
	}
	slices.SortFunc(all, func(a, b ran) int { return int(a.from - b.from) })
	return all
}

// Two lanes measure and four build on one machine, and some attempts are stopped at any time. By the times that the commands
// noted, none that is measured ran beside another one or beside a step. TACHO_TEST_TURNS_FOR makes the test longer.
func TestAMachineMeasuresOrBuilds(t *testing.T) {
	d, dir, notesFile := mixed(t)
	length := 4 * time.Second
	if text := os.Getenv("TACHO_TEST_TURNS_FOR"); text != "" {
		var err error
		if length, err = time.ParseDuration(text); err != nil {
			t.Fatal(err)
		}
	}
	end := time.Now().Add(length)
	shared := filepath.Join(t.TempDir(), "turns")
	var lanes sync.WaitGroup
	var mu sync.Mutex
	jobs, waited := map[events.JobKind]int{}, int64(0)
	for i := range 6 {
		spec := jobOf(d, "v1")
		if i >= 2 {
			spec = checkOf(d, "v1")
		}
		m := sharing(t, fmt.Sprintf("lane-%d", i), shared, dir)
		lanes.Go(func() {
			for done := 0; done < 2 || time.Now().Before(end); {
				ctx, stop := context.WithCancel(t.Context())
				if rand.IntN(4) == 0 {
					time.AfterFunc(time.Duration(rand.IntN(200))*time.Millisecond, stop)
				}
				got := &notes{}
				err := errors.Join(m.Run(ctx, spec, d, none, got), m.Rest(ctx))
				stopped := ctx.Err() != nil
				stop()
				if !stopped && (err != nil || len(got.failed) > 0) {
					t.Errorf("%s: %v %q", spec.Kind, err, got.failed)
					return
				}
				if !stopped {
					done++
				}
				mu.Lock()
				jobs[spec.Kind]++
				waited += got.phases.Wait
				mu.Unlock()
			}
		})
	}
	lanes.Wait()
	all := readNotes(t, notesFile)
	together := 0
	for i, a := range all {
		if a.what == "measure" && a.flags != "-k" {
			t.Errorf("a measured command had the flags %q", a.flags)
		}
		for _, b := range all[i+1:] {
			if b.from >= a.to {
				break
			}
			switch {
			case a.what == "prepare" || b.what == "prepare":
			case a.what == "measure" || b.what == "measure":
				t.Errorf("%s and %s ran at once", a.what, b.what)
			default:
				together++
			}
		}
	}
	t.Logf("%v: %d commands of %v, %d pairs of steps at once, %d ms waited", length, len(all), jobs, together, waited)
	if together == 0 || waited == 0 {
		t.Error("no steps ran at once, or none waited")
	}
}

// A pair has its turn from its first measured command to its last. In between it lets go once, to fetch.
func TestAPairKeepsItsTurn(t *testing.T) {
	d, dir, notesFile := mixed(t)
	m := sharing(t, "lane", filepath.Join(t.TempDir(), "turns"), dir)
	m.Before = []string{"sh", "-c", "echo before 1 1 >> " + notesFile}
	m.After = []string{"sh", "-c", "echo after 1 1 >> " + notesFile}
	parent, got := jobOf(d, "v0"), &notes{}
	for _, spec := range []events.JobSpec{parent, jobOf(d, "v1"), parent, jobOf(d, "v1")} {
		if err := m.Run(t.Context(), spec, d, none, got); err != nil {
			t.Fatal(err)
		}
	}
	if err := m.Rest(t.Context()); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(notesFile)
	if err != nil {
		t.Fatal(err)
	}
	var order []string
	for line := range strings.Lines(string(text)) {
		what, _, _ := strings.Cut(line, " ")
		order = append(order, what[:1])
	}
	if want := "pbmmapbmmpmmpmma"; strings.Join(order, "") != want {
		t.Errorf("the commands ran as %s, want %s", strings.Join(order, ""), want)
	}
	if p := got.phases; p.Run == 0 || p.Prepare == 0 {
		t.Errorf("no time of a phase is known: %+v", p)
	}
}

func TestAWaitIsSaidAndEndsWithAStop(t *testing.T) {
	d, dir, notesFile := mixed(t)
	shared := filepath.Join(t.TempDir(), "turns")
	builder := sharing(t, "builder", shared, dir)
	turn, err := builder.Turns.Take(t.Context(), turns.Build, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer turn.Release()
	m := sharing(t, "lane", shared, dir)
	ctx, stop := context.WithCancelCause(t.Context())
	got := &stopping{stop: func() { stop(errLost) }}
	if err := errors.Join(m.Run(ctx, jobOf(d, "v1"), d, none, got), m.Rest(ctx)); !errors.Is(err, errLost) {
		t.Errorf("got %v", err)
	}
	if !slices.Equal(got.waits, []string{"its turn on the machine", ""}) {
		t.Errorf("it said %q", got.waits)
	}
	for _, r := range readNotes(t, notesFile) {
		if r.what == "measure" {
			t.Error("it measured beside a build")
		}
	}
}

// stopping stops the job that waits.
type stopping struct {
	notes
	stop func()
}

func (s *stopping) Waits(what string) {
	s.notes.Waits(what)
	if what != "" {
		s.stop()
	}
}

func TestAMachineThatIsNotReady(t *testing.T) {
	d, dir, notesFile := mixed(t)
	for name, tc := range map[string]struct{ before, after []string }{
		"before": {before: []string{"sh", "-c", "echo no governor; exit 3"}},
		"after":  {after: []string{"sh", "-c", "echo no governor; exit 3"}},
	} {
		t.Run(name, func(t *testing.T) {
			m := sharing(t, "lane", filepath.Join(t.TempDir(), "turns"), dir)
			m.Before, m.After = tc.before, tc.after
			err := errors.Join(m.Run(t.Context(), jobOf(d, "v1"), d, none, &notes{}), m.Rest(t.Context()))
			unready, ok := errors.AsType[*unreadyError](err)
			if !ok || !strings.Contains(unready.reason, "collector."+name) || !strings.Contains(unready.reason, "no governor") {
				t.Errorf("got %v", err)
			}
			turn, err := m.Turns.Take(t.Context(), turns.Build, func() { t.Error("it kept its turn") })
			if err != nil {
				t.Fatal(err)
			}
			turn.Release()
		})
	}
	if all := readNotes(t, notesFile); slices.ContainsFunc(all[:1], func(r ran) bool { return r.what == "measure" }) {
		t.Errorf("it measured on a machine that was not ready: %v", all)
	}
}
