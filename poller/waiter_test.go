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
	"github.com/tachobench/tacho/request"
	"github.com/tachobench/tacho/suite"
)

// server is a server of artifacts whose answer can be changed.
func server(t *testing.T) (status *atomic.Int32, store *artifact.Store, url string) {
	t.Helper()
	status = &atomic.Int32{}
	status.Store(http.StatusNotFound)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodHead {
			t.Errorf("asked with %s", r.Method)
		}
		if strings.Contains(r.URL.Path, "experimental") { // an optional target that nobody builds for
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

// A poller asks for a commit before CI has uploaded what it built. The request waits, and starts once that is there;
// with another poller and another waiter the same happens once.
func TestAPolledMasterWaitsForItsArtifact(t *testing.T) {
	status, store, url := server(t)
	log := memory.New(memory.Config{})
	c := &control.Control{Log: log, Dispatch: log, Clock: time.Now}
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
	if r := state(); r.State != events.WaitingForArtifacts || r.Artifact.Tag != "c2" || r.Parent != "c1" {
		t.Fatalf("%+v", r)
	}
	look := func(w *Waiter) {
		t.Helper()
		cursor, err := log.Follow(t.Context(), 0)
		if err != nil {
			t.Fatal(err)
		}
		defer cursor.Close()
		stored, err := cursor.Next(t.Context(), 1000)
		if err == nil {
			w.waiting = map[events.RequestID]*awaited{}
			err = w.take(stored, true)
		}
		if err != nil {
			t.Fatal(err)
		}
		w.look(context.Background())
	}
	waiters := [2]*Waiter{}
	for i := range waiters {
		waiters[i] = NewWaiter(WaiterConfig{Log: log, Control: c, Artifacts: store, Clock: func() time.Time { return now }, Logger: slog.New(slog.DiscardHandler)})
	}
	for _, answer := range []int32{http.StatusNotFound, http.StatusServiceUnavailable} {
		status.Store(answer)
		look(waiters[0])
		poll()
		if r := state(); r.State != events.WaitingForArtifacts {
			t.Errorf("the server answers %d, and the request is %s", answer, r.State)
		}
	}
	status.Store(http.StatusOK)
	look(waiters[0])
	look(waiters[1])
	poll()
	if r := state(); r.State != events.ArtifactsReady || r.Artifact.Tag != "c2" || r.Parent != "c1" {
		t.Errorf("%+v", r)
	}
	if n := len(waiters[1].waiting); n != 0 {
		t.Errorf("%d requests are still waited for", n)
	}
}

// Questions for one artifact are asked less and less often.
func TestAnArtifactIsNotAskedForAllTheTime(t *testing.T) {
	_, store, _ := server(t)
	now := time.Now()
	c, log := newControl(t)
	w := NewWaiter(WaiterConfig{Log: log, Control: c, Artifacts: store, Clock: func() time.Time { return now }, Logger: slog.New(slog.DiscardHandler)})
	a := &awaited{pause: firstPause}
	w.waiting["r1"], w.current = a, true
	var pauses []time.Duration
	for range 8 {
		pauses = append(pauses, a.pause)
		w.look(t.Context())
		if now = a.next.Add(-time.Second); a.next.Sub(now) > lastPause {
			t.Fatal("it is never asked for again")
		}
		before := a.next
		w.look(t.Context())
		if a.next != before {
			t.Fatal("it is asked for too early")
		}
		now = a.next
	}
	if pauses[0] != firstPause || pauses[1] != 2*firstPause || pauses[7] != lastPause {
		t.Errorf("paused %v", pauses)
	}
}
