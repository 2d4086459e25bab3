//go:build walk

package main

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"runtime/coverage"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
	_ "unsafe" // for go:linkname

	"github.com/tachobench/tacho/collector"
	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/suite"
)

// emitCounters makes the counters known to runtime/coverage, which a test does only at its end. The linker has to be told
// that this is wanted (-checklinkname=0), and the compiler finds the body in walk.s.
//
//go:linkname emitCounters internal/coverage/cfile.InitHook
func emitCounters(test bool)

const (
	// windows is how often a job is finished. What happens once a second is not in every window.
	windows = 16
	// settles is how long a window stays open. That the page shows the end then is checked.
	settles = 200 * time.Millisecond
)

// gatedBench has measured everything, and ends when it is told to.
type gatedBench struct {
	reached chan events.JobID
	end     chan struct{}
}

func (b gatedBench) Run(ctx context.Context, spec events.JobSpec, d suite.Definitions, _ func(events.TestCase) bool, sink collector.Sink) error {
	plans, err := d.Plan(spec)
	if err != nil {
		return err
	}
	for _, p := range plans {
		for _, c := range p.Cases {
			m := events.MeasuredCase{TestCase: c, Iterations: []events.Iteration{{Metrics: map[events.Metric]float64{"wall-time": 1}}}}
			if err := sink.Measured(ctx, m); err != nil {
				return err
			}
		}
	}
	b.reached <- spec.ID
	select {
	case <-b.end:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// TestTheWalkOfJobFinished prints every function of ours that is entered each time a job finishes, from the collector to the
// page. Core and collector with all their parts are in this process, and nothing beats or prolongs meanwhile.
// `make walk` runs it, and docs/tour.md has the numbers.
func TestTheWalkOfJobFinished(t *testing.T) {
	g := onGitHub(t)
	g.replace("quick.toml", "beat_every = \"300ms\"\nack_wait = \"2s\"", "beat_every = \"1h\"\nack_wait = \"1h\"")
	g.replace("quick.toml", "offline_after = \"3s\"", "offline_after = \"4h\"\ntakeover_after = \"4h\"\nmax_in_progress = 100")
	env := map[string]string{}
	for _, v := range g.env {
		name, value, _ := strings.Cut(v, "=")
		env[name] = value
	}
	var said syncBuffer
	p := func() *program {
		return &program{stdout: &said, stderr: &said, clock: time.Now, getenv: func(name string) string { return env[name] }}
	}
	ctx, stop := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() {
		if code := p().main(ctx, append([]string{"up", "--listen", "127.0.0.1:0", "--collectors", "0"}, g.args...)); code != exitDone {
			t.Errorf("exit code %d: %s", code, said.String())
		}
	})
	t.Cleanup(running.Wait)
	t.Cleanup(stop)
	g.eventually("it answers", 20*time.Second, func() bool {
		c, ok := g.client()
		if !ok {
			return false
		}
		_, err := c.Status(t.Context())
		return err == nil
	})
	c, _ := g.client()
	g.must("collector", "add", "near", "--target", "here")
	bench := gatedBench{make(chan events.JobID), make(chan struct{})}
	near := p()
	near.globals.Config, near.globals.Data = g.args[3], g.args[1]
	if err := near.load(); err != nil {
		t.Fatal(err)
	}
	log, err := (&collectorRunCmd{Name: "near"}).open(ctx, near)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(log.Close)
	running.Go(func() {
		err := collector.New(collector.Config{
			Name: "near", Lane: events.Lane{Target: "here"}, Instance: "one", Host: "h", PID: os.Getpid(), OS: "linux", Arch: "amd64",
			Log: log, Dispatch: log, Presence: log, JobLogs: log, Bench: bench, BeatEvery: time.Hour, ProgressEvery: time.Hour, FlushEvery: 1,
			MaxAttempts: 1, TransientDeadline: time.Minute, Clock: time.Now, Logger: slog.New(slog.DiscardHandler),
		}).Run(ctx)
		if err != nil && ctx.Err() == nil {
			t.Error(err)
		}
	})

	emitCounters(false)
	var walk map[string]bool
	for i := range windows {
		tag := fmt.Sprintf("w%d", i)
		if err := os.Mkdir(g.dir+"/artifacts/"+tag, 0o755); err != nil {
			t.Fatal(err)
		}
		// The other half is another lane's, and stays: the request goes on.
		g.must("request", "master", tag, "--profiles", "quick")
		id := <-bench.reached
		// What the start of the job leads to is over by then, and what happens once a second falls anywhere.
		<-time.After(500*time.Millisecond + rand.N(time.Second))
		if err := coverage.ClearCounters(); err != nil {
			t.Fatal(err)
		}
		bench.end <- struct{}{}
		<-time.After(settles)
		page := get(t, g.url()+"/jobs/"+string(id))
		entered := enteredNow(t)
		if h, err := c.Job(t.Context(), id); err != nil || h.State != events.JobSuccess || !strings.Contains(page, "success") {
			t.Fatalf("window %d: %+v, %v", i, h, err)
		}
		if walk == nil {
			walk = entered
		}
		maps.DeleteFunc(walk, func(f string, _ bool) bool { return !entered[f] })
		t.Logf("window %d: %d entered, %d each time", i, len(entered), len(walk))
	}
	files, packages := map[string]bool{}, map[string]int{}
	for _, f := range slices.Sorted(maps.Keys(walk)) {
		file, _, _ := strings.Cut(f, ":")
		files[file] = true
		packages[file[:strings.LastIndex(file, "/")]]++
		fmt.Println(f)
	}
	for _, name := range slices.Sorted(maps.Keys(packages)) {
		fmt.Printf("%4d %s\n", packages[name], name)
	}
	fmt.Printf("%d functions in %d files\n", len(walk), len(files))
}

func get(t *testing.T, url string) string {
	t.Helper()
	resp, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// enteredNow returns the functions that were entered since the counters were cleared.
func enteredNow(t *testing.T) map[string]bool {
	t.Helper()
	dir := t.TempDir()
	if err := coverage.WriteCountersDir(dir); err != nil {
		t.Fatal(err)
	}
	if err := coverage.WriteMetaDir(dir); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command("go", "tool", "covdata", "func", "-i="+dir).Output()
	if err != nil {
		t.Fatal(err)
	}
	entered := map[string]bool{}
	for s := bufio.NewScanner(bytes.NewReader(out)); s.Scan(); {
		f := strings.Fields(s.Text())
		if len(f) != 3 || f[2] == "0.0%" || f[0] == "total" {
			continue
		}
		file, _, _ := strings.Cut(strings.TrimPrefix(f[0], "github.com/tachobench/tacho/"), ":")
		entered[file+": "+f[1]] = true
	}
	return entered
}
