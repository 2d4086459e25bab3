package main

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/internal/cli"
	"github.com/tachobench/tacho/website/client"
)

// ballast publishes definitions of some KiB that nobody uses, and returns what the command says if it fails.
func (s *site) ballast(n, kib int) (refused string) {
	s.t.Helper()
	text, err := os.ReadFile(filepath.Join(s.dir, "naps.toml"))
	if err != nil {
		s.t.Fatal(err)
	}
	heavy := strings.Replace(string(text), `name = "naps"`, `name = "ballast"`, 1)
	heavy = strings.Replace(heavy, `"{source}/nap.sh", `, fmt.Sprintf(`"{source}/nap.sh", "%d%s", `, n, strings.Repeat("x", kib<<10)), 1)
	path := filepath.Join(s.dir, "ballast.toml")
	if err := os.WriteFile(path, []byte(heavy), 0o644); err != nil {
		s.t.Fatal(err)
	}
	_, said, code := s.run("suite", "publish", path)
	if code == cli.ExitDone {
		return ""
	}
	return said
}

// ready asks /readyz, and returns its status and its text.
func (s *site) ready() (int, string) {
	s.t.Helper()
	return s.get("/readyz")
}

// get returns the status and the text of a page.
func (s *site) get(path string) (int, string) {
	s.t.Helper()
	c, ok := s.client()
	if !ok {
		s.t.Fatal("tacho up does not run")
	}
	answer, err := http.Get(c.URL(path))
	if err != nil {
		s.t.Fatal(err)
	}
	defer func() { _ = answer.Body.Close() }()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	return answer.StatusCode, string(text)
}

// stopUp ends tacho up softly and waits for its end.
func (s *site) stopUp() {
	s.t.Helper()
	if err := s.up.Process.Signal(syscall.SIGINT); err != nil {
		s.t.Fatal(err)
	}
	select {
	case <-s.gone:
	case <-time.After(2 * time.Minute):
		s.t.Fatal("tacho up does not end")
	}
}

// measuredOnce checks that every test case of a tag is in the log, once, and that no attempt was lost.
func (s *site) measuredOnce(tag events.Tag, want int) {
	s.t.Helper()
	measured := map[string]int{}
	for _, e := range s.events() {
		// The other events say nothing about results.
		//exhaustive:ignore
		switch f := e.Fact.(type) {
		case events.TestCasesMeasured:
			for _, c := range f.Cases {
				if f.Artifact.Tag == tag {
					measured[c.TestCase.String()]++
				}
			}
		case events.AttemptLost:
			s.t.Errorf("event %d: attempt %d of job %s is lost: %s", e.Seq, f.Attempt, f.JobID, f.Reason)
		case events.JobFinished:
			if f.Attempt != 1 || f.Outcome != events.Success {
				s.t.Errorf("event %d: job %s: %s in attempt %d: %s", e.Seq, f.JobID, f.Outcome, f.Attempt, f.Reason)
			}
		}
	}
	if len(measured) != want {
		s.t.Errorf("%d test cases of %s are measured, want %d", len(measured), tag, want)
	}
	for c, n := range measured {
		if n != 1 {
			s.t.Errorf("%s is measured %d times", c, n)
		}
	}
}

// holdsBack waits until the core had no room for what a collector measured.
func (s *site) holdsBack(name string) {
	s.t.Helper()
	s.eventually("its results are refused", 30*time.Second, func() bool {
		_, text := s.get("/metrics")
		return strings.Contains(text, `tacho_door_refused_total{collector="`+name+`",kind="again"}`)
	})
}

// brim fills what is left of the log with small events, until none fits.
func (s *site) brim() {
	s.t.Helper()
	c, _ := s.client()
	for _, size := range []int{1000, 1} {
		for full := false; !full; {
			_, err := c.DrainCollector(s.t.Context(), "spare", strings.Repeat("x", size))
			if err == nil {
				_, err = c.ActivateCollector(s.t.Context(), "spare")
			}
			var refused *client.Error
			if full = errors.As(err, &refused) && refused.Status == http.StatusInsufficientStorage; !full && err != nil {
				s.t.Fatal(err)
			}
		}
	}
}

// The log fills up while a job runs: it is said at a mark and at the limit, requests are refused with what to do, the collector
// keeps what it measured, and after a higher limit everything is recorded once.
func TestAFullLogLosesNothing(t *testing.T) {
	t.Parallel()
	s := newSiteOf(t, newShop(t, map[string]int{"v1": 1000}))
	s.replace("naps.toml", `"0.01"`, `"0.7"`)
	s.replace("quick.toml", "marks = []", "marks = [50]\n[nats]\nmax_bytes = 1048576")
	s.start("--collectors", "0")
	s.must("collector", "add", "near", "--target", "here", "--set", "0")
	s.must("collector", "add", "spare", "--target", "here", "--set", "0", "--standby")
	s.begin("collector", "run", "near")
	n, refused := 0, ""
	fill := func(kib int, until func() bool) {
		t.Helper()
		for refused = ""; refused == "" && !until(); n++ {
			refused = s.ballast(n, kib)
		}
	}
	alerts := func(words string) func() bool {
		return func() bool { return strings.Contains(s.must("alerts"), words) }
	}
	fill(100, func() bool { return n == 6 })
	s.eventually("the mark is said", 10*time.Second, alerts("The log is more than 50 % full"))
	if status, text := s.ready(); status != http.StatusOK || refused != "" {
		t.Errorf("at the mark: %d %s %s", status, text, refused)
	}
	never := func() bool { return false }
	fill(100, never)
	s.must("request", "master", "v1", "--suite", "naps")
	s.eventually("a job runs", 30*time.Second, func() bool { return strings.Contains(s.must("collector", "list"), "benchmarking") })
	fill(30, never)
	fill(8, never)
	s.brim()
	for _, part := range []string{"takes no more events", "nats.max_bytes", "ask again"} {
		if !strings.Contains(refused, part) {
			t.Errorf("the refusal does not say %q: %s", part, refused)
		}
	}
	began := time.Now()
	s.eventually("it is not ready", 10*time.Second, func() bool {
		status, text := s.ready()
		return status == http.StatusServiceUnavailable && strings.Contains(text, "the log takes no more events")
	})
	t.Logf("/readyz says so after %s", time.Since(began))
	s.eventually("the alert stands", 10*time.Second, alerts("The log takes nothing more"))
	if out := s.must("status"); !strings.Contains(out, "1 MiB (") {
		t.Errorf("the status does not say how full it is: %s", out)
	}
	s.holdsBack("near")

	s.stopUp()
	s.replace("quick.toml", "max_bytes = 1048576", "max_bytes = 4194304")
	s.start("--collectors", "0")
	if !strings.Contains(s.log.String(), "its limit is now 4 MiB and was 1 MiB") {
		t.Error("the new limit is not said")
	}
	if r := s.ended("v1"); r.State != events.StateCompleted {
		t.Errorf("the request is %s: %s", r.State, r.Reason)
	}
	s.measuredOnce("v1", 6)
	if said := s.ballast(n, 100); said != "" {
		t.Error(said)
	}
	s.eventually("the alert is over", 20*time.Second, func() bool { return !alerts("The log ")() })
	if status, text := s.ready(); status != http.StatusOK {
		t.Errorf("with room: %d %s", status, text)
	}
	s.stopUp()
	s.replace("quick.toml", "max_bytes = 4194304", "max_bytes = 1048576")
	s.refused(cli.ExitFailed, []string{"up", "--listen", "127.0.0.1:0"}, "nats.max_bytes is 1048576, and the log holds", "the smallest limit that works is")
}
