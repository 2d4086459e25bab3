package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/tachobench/tacho/eventlog"
	"github.com/tachobench/tacho/eventlog/jetstream"
	"github.com/tachobench/tacho/events"
	farming "github.com/tachobench/tacho/internal/farm"
	"github.com/tachobench/tacho/internal/natsserver"
	"github.com/tachobench/tacho/website/client"
)

// A core that starts on a long log reads a snapshot and the events after it, so collectors continue their jobs at once.
// TACHO_EVENTS is the length of the log; -v tells how long a start takes, also from the first event.
func TestALongLogIsNotReadAgain(t *testing.T) {
	t.Parallel()
	want := events.Seq(5_000)
	if text := os.Getenv("TACHO_EVENTS"); text != "" {
		n, err := strconv.ParseUint(text, 10, 32)
		if err != nil {
			t.Fatal(err)
		}
		want = events.Seq(n)
	}
	s := newSite(t)
	if err := os.WriteFile(filepath.Join(s.dir, "nap", "nap.sh"), []byte("exec sleep 25\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	s.start()
	s.must("request", "master", "v1")
	s.first("job.dequeued.v1", time.Time{})
	s.interrupt()
	var last events.Seq
	s.withLog(func(l eventlog.Log) {
		y, began := farming.NewYears(t, l), time.Now()
		y.Until(t, want)
		last = y.Last
		t.Logf("%d events are in the log, after %s", last, time.Since(began).Round(time.Second))
	})
	s.start()
	s.eventually("the tables have all of it", time.Minute+time.Duration(want/1000)*time.Second, func() bool {
		c, ok := s.client()
		if !ok {
			return false
		}
		status, err := c.Status(t.Context())
		return err == nil && status.Cursor.Seq >= last
	})
	for _, from := range []string{"the ledger goes on from a snapshot", "the log is being read"} {
		s.interrupt()
		if from == "the log is being read" {
			if err := os.RemoveAll(s.data("log", "jetstream", "$G", "streams", "SNAPSHOTS")); err != nil {
				t.Fatal(err)
			}
		}
		began := time.Now()
		s.start("--verbose")
		answers, online, goesOn := time.Now(), s.first("collector.online.v1", began), s.first("job.dequeued.v1", began)
		after := func(at time.Time) time.Duration { return at.Sub(began).Round(10 * time.Millisecond) }
		t.Logf("%s: it answers after %s, a collector is online after %s, its job goes on after %s; the core takes %s", from, after(answers), after(online),
			after(goesOn), resident(t, s.up.Process.Pid))
		if strings.Contains(from, "snapshot") && !strings.Contains(s.log.String(), from) {
			t.Errorf("it does not say %q:\n%s", from, s.log.String())
		}
	}
}

// interrupt ends `tacho up` softly.
func (s *site) interrupt() {
	s.t.Helper()
	if err := s.up.Process.Signal(syscall.SIGINT); err != nil {
		s.t.Fatal(err)
	}
	s.eventually("tacho up ends", 60*time.Second, func() bool { return syscall.Kill(s.up.Process.Pid, 0) != nil })
}

// first waits for an event of a type that was stored after a time, and returns when it was stored.
func (s *site) first(kind string, after time.Time) (at time.Time) {
	s.t.Helper()
	s.eventually(kind, 2*time.Minute, func() bool {
		c, ok := s.client()
		if !ok {
			return false
		}
		list, err := c.Events(s.t.Context(), client.EventQuery{Type: kind, Limit: 10})
		for _, e := range list { // the newest is the first
			if e.StoredAt.After(after) {
				at = e.StoredAt
			}
		}
		return err == nil && !at.IsZero()
	})
	return at
}

// withLog calls a function with the log of a Tacho that does not run.
func (s *site) withLog(use func(l eventlog.Log)) {
	s.t.Helper()
	services, limits := natsserver.Door()
	server, err := natsserver.Start(natsserver.Config{Dir: s.data("log"), Services: services, Limits: limits, Unsynced: true})
	if err != nil {
		s.t.Fatal(err)
	}
	defer server.Shutdown()
	nc, err := server.Connect()
	if err != nil {
		s.t.Fatal(err)
	}
	defer nc.Close()
	l, err := jetstream.Open(s.t.Context(), nc, jetstream.Config{})
	if err != nil {
		s.t.Fatal(err)
	}
	use(l)
}

// resident returns the resident memory of a process as Linux reports it; "" on other systems.
func resident(t *testing.T, pid int) string {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return ""
	}
	for line := range strings.Lines(string(text)) {
		if what, ok := strings.CutPrefix(line, "VmRSS:"); ok {
			return strings.TrimSpace(what)
		}
	}
	return ""
}
