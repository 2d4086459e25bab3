package webhook

import (
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tachobench/tacho/eventlog/memory"
	"github.com/tachobench/tacho/internal/fakegithub"
	"github.com/tachobench/tacho/internal/githubapi"
)

// front passes the deliveries of an in-process GitHub to a handler, unless it is down.
type front struct {
	handler http.Handler
	down    atomic.Bool
}

// RoundTrip implements http.RoundTripper.
func (f *front) RoundTrip(r *http.Request) (*http.Response, error) {
	w := httptest.NewRecorder()
	if f.down.Load() {
		w.WriteHeader(http.StatusBadGateway)
	} else {
		f.handler.ServeHTTP(w, r)
	}
	return w.Result(), nil
}

// The Redeliverer asks for a delivery until it is in the log, whether GitHub lost it or we were down. It does not ask
// for one that is there.
func TestWhatDidNotArriveIsAskedForAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := memory.New(memory.Config{})
		way := &front{handler: newReceiver(t, log)}
		server := fakegithub.Start(t, fakegithub.Config{InProcess: true, Webhooks: &http.Client{Transport: way}})
		server.AddToken("token", server.AddBot("tacho[bot]"))
		repo := server.Repository("rust-lang/rust")
		hook := repo.AddHook(fakegithub.Hook{URL: "http://tacho.test/webhook/github", Secret: secret})
		api, err := githubapi.New(githubapi.Config{URL: server.URL(), Token: "token", Transport: server.Client().Transport})
		if err != nil {
			t.Fatal(err)
		}
		failures := 0
		r := Redeliverer{
			Log: log, Hook: api, Repo: "rust-lang/rust", ID: hook.ID(), Every: 10 * time.Minute, Back: 72 * time.Hour,
			Clock: time.Now, Logger: slog.New(slog.DiscardHandler), Failing: func(err error) {
				if err != nil {
					failures++
				}
			},
		}
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- r.Run(ctx) }()

		for range 3 {
			hook.Send("ping", []byte(`{}`))
		}
		hook.Lose(2)
		hook.Send("ping", []byte(`{"lost":1}`))
		hook.Send("ping", []byte(`{"lost":2}`))
		way.down.Store(true)
		hook.Send("ping", []byte(`{"down":1}`))
		pass(15 * time.Minute)
		way.down.Store(false)
		broken := server.Break(fakegithub.Fault{Method: http.MethodGet, Do: fakegithub.Status(500)})
		pass(30 * time.Minute)
		broken.Mend()
		pass(30 * time.Minute)
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		server.Settle()
		if head, err := log.Head(t.Context()); err != nil || head.Last != 6 || failures == 0 {
			t.Errorf("%d deliveries in the log (%v), %d looks failed", head.Last, err, failures)
		}
		tries := map[string]int{}
		for _, d := range hook.Deliveries() {
			tries[d.GUID]++
		}
		for id, n := range tries {
			if n > 3 {
				t.Errorf("delivery %s was tried %d times", id, n)
			}
		}
	})
}
