package poller

import (
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tachobench/tacho/artifact"
	"github.com/tachobench/tacho/control"
	"github.com/tachobench/tacho/eventlog/memory"
	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/rules/ledger"
	"github.com/tachobench/tacho/rules/request"
	"github.com/tachobench/tacho/rules/suite"
	"github.com/tachobench/tacho/shell"
)

// server starts an artifact server whose answer can be changed.
func server(t *testing.T) (status *atomic.Int32, store *artifact.Store, url string) {
	t.Helper()
	status = &atomic.Int32{}
	status.Store(http.StatusNotFound)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodHead {
			t.Errorf("asked with %s", r.Method)
		}
		if strings.Contains(r.URL.Path, "experimental") { // an optional target without builds
			w.WriteHeader(http.StatusNotFound)
			return
		}
		w.WriteHeader(int(status.Load()))
	}))
	t.Cleanup(s.Close)
	store, err := artifact.Open(artifact.Config{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	return status, store, s.URL
}

// books returns a ledger that a shell keeps up to date with a log until the test ends.
func books(t *testing.T, log *memory.Log) *shell.Shell {
	t.Helper()
	s := shell.New(shell.Config{Log: log, Clock: time.Now, Logger: slog.New(slog.DiscardHandler)})
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return s
}

// still is a ledger that is not kept up to date.
type still struct{ *ledger.Ledger }

// View implements Ledger.
func (s still) View(look func(*ledger.Ledger)) { look(s.Ledger) }

// Wait implements Ledger.
func (still) Wait(context.Context, events.Seq) error { return nil }

// A poller asks for a commit before CI has uploaded its artifact. The request waits, and starts once the artifact
// exists. With a second poller and a second waiter this still happens once.
func TestAPolledMasterWaitsForItsArtifact(t *testing.T) {
	status, store, url := server(t)
	log := memory.New(memory.Config{})
	c := &control.Control{Log: log, Clock: time.Now}
	d := small()
	d.Targets = append(d.Targets, suite.Target{Name: "experimental", Sets: 1, OS: "linux", Arch: "amd64", Optional: true})
	d.Artifact.Kind, d.Artifact.URLs, d.Artifact.Components = "url", []string{url + "/{tag}/{component}-{target}.tar.gz"}, []string{"toolchain"}
	if _, err := c.Publish(t.Context(), by, d); err != nil {
		t.Fatal(err)
	}
	now := time.Now()
	poll := func() {
		t.Helper()
		source := &branch{commits: []Artifact{{Kind: events.Master, Tag: "c2", Parent: "c1", At: now}}}
		p := New(Config{Name: "main", Suite: "small", Source: source, Policy: Policy{Backlog: 1}, Control: c, Artifacts: store, Clock: time.Now, Logger: slog.New(slog.DiscardHandler)})
		if _, err := p.Poll(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	state := func() request.Request {
		t.Helper()
		var r request.Request
		history, err := log.Read(t.Context(), events.RequestSubject(events.NewRequestID("small", events.Master, "c2")))
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range history {
			r = request.Evolve(r, e.Fact, e.Time)
		}
		return r
	}
	poll()
	if r := state(); r.State != events.StateWaitingForArtifacts || r.Artifact.Tag != "c2" || r.Parent != "c1" {
		t.Fatalf("%+v", r)
	}
	waiters := [2]*Waiter{}
	for i := range waiters {
		waiters[i] = NewWaiter(WaiterConfig{Ledger: books(t, log), Control: c, Artifacts: store, Clock: func() time.Time { return now }, Logger: slog.New(slog.DiscardHandler)})
	}
	look := func(w *Waiter) {
		t.Helper()
		head, err := log.Head(t.Context())
		if err == nil {
			err = w.Ledger.Wait(t.Context(), head.Last)
		}
		if err != nil {
			t.Fatal(err)
		}
		clear(w.questions)
		w.look(t.Context())
	}
	for _, answer := range []int32{http.StatusNotFound, http.StatusServiceUnavailable} {
		status.Store(answer)
		look(waiters[0])
		poll()
		if r := state(); r.State != events.StateWaitingForArtifacts {
			t.Errorf("the server answers %d, and the request is %s", answer, r.State)
		}
	}
	status.Store(http.StatusOK)
	look(waiters[0])
	look(waiters[1])
	poll()
	if r := state(); r.State != events.StateArtifactsReady || r.Artifact.Tag != "c2" || r.Parent != "c1" {
		t.Errorf("%+v", r)
	}
	if n := len(waiters[1].waiting()); n != 0 {
		t.Errorf("%d requests are still waited for", n)
	}
}

// The waiter asks for one artifact less and less often.
func TestAnArtifactIsNotAskedForAllTheTime(t *testing.T) {
	_, store, _ := server(t)
	now := time.Now()
	l := ledger.New()
	l.Fold(events.Recorded{Seq: 1, Event: events.Event{Time: now, Fact: events.RequestCreated{
		RequestID: "r1", Kind: events.Master, Suite: "small", Tag: "c1", Key: "c1", State: events.StateWaitingForArtifacts,
	}}})
	c, _ := newControl(t)
	w := NewWaiter(WaiterConfig{Ledger: still{l}, Control: c, Artifacts: store, Clock: func() time.Time { return now }, Logger: slog.New(slog.DiscardHandler)})
	var pauses []time.Duration
	for range 8 {
		w.look(t.Context())
		next := w.questions["r1"].next
		if pauses = append(pauses, next.Sub(now)); next.Sub(now) > lastPause {
			t.Fatal("it is never asked for again")
		}
		now = next.Add(-time.Second)
		w.look(t.Context())
		if w.questions["r1"].next != next {
			t.Fatal("it is asked for too early")
		}
		now = next
	}
	if pauses[0] != firstPause || pauses[1] != 2*firstPause || pauses[7] != lastPause {
		t.Errorf("paused %v", pauses)
	}
}
