package jetstream_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/tachobench/tacho/eventlog"
	"github.com/tachobench/tacho/eventlog/jetstream"
	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/internal/natsserver"
)

// throughProxy opens the log on a connection that can lose answers.
func throughProxy(t *testing.T, url string, cfg jetstream.Config) (*jetstream.Log, *proxy) {
	t.Helper()
	p := newProxy(t, url)
	nc, err := nats.Connect(p.url(), nats.MaxReconnects(-1), nats.ReconnectWait(10*time.Millisecond), nats.IgnoreDiscoveredServers())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	return open(t, nc, cfg), p
}

func TestLostAnswerOneNode(t *testing.T) {
	t.Parallel()
	srv := start(t, natsserver.Config{Dir: t.TempDir(), Listen: "127.0.0.1:0"})
	testLostAnswers(t, srv.URL(), jetstream.Config{})
}

func TestLostAnswerCluster(t *testing.T) {
	t.Parallel()
	c, _ := cluster(t, true)
	testLostAnswers(t, c.Servers[1].URL(), jetstream.Config{Replicas: 3})
}

// testLostAnswers loses the answer to an append: the caller must see the append stored once, at its place.
func testLostAnswers(t *testing.T, url string, cfg jetstream.Config) {
	flaky, p := throughProxy(t, url, cfg)
	direct, err := nats.Connect(url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(direct.Close)
	l := open(t, direct, cfg)
	for _, tt := range []struct {
		name    string
		trigger string
		parts   func() []eventlog.Append
	}{
		{"single", "Nats-Expected-Last-Subject-Sequence", func() []eventlog.Append { return []eventlog.Append{appendOf("a", 0, 1)} }},
		{"batch at its end", "Nats-Batch-Commit", func() []eventlog.Append {
			return []eventlog.Append{appendOf("b", 0, 2), appendOf("c", 0, 3)}
		}},
		{"batch at its beginning", "Nats-Batch-Sequence: 1\r", func() []eventlog.Append {
			return []eventlog.Append{appendOf("d", 0, 2), appendOf("e", 0, 3)}
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			before := p.cutsSoFar()
			p.arm(tt.trigger, 1)
			parts := tt.parts()
			seq, err := flaky.Append(t.Context(), parts...)
			if err != nil {
				t.Fatal(err)
			}
			if p.cutsSoFar() != before+1 {
				t.Fatal("no answer was lost: the test shows nothing")
			}
			wantStored(t, l, seq, parts)
		})
	}
	t.Run("and somebody else writes meanwhile", func(t *testing.T) {
		p.arm("Nats-Expected-Last-Subject-Sequence", 1)
		ours := appendOf("f", 0, 1)
		other := make(chan error, 1)
		go func() {
			_, err := eventlog.Decide(t.Context(), waitFor{l, ours.Subject}, ours.Subject, func(n int, _ events.Recorded) int { return n + 1 },
				func(int) ([]events.Event, error) { return []events.Event{event("f")}, nil })
			other <- err
		}()
		seq, err := flaky.Append(t.Context(), ours)
		if err != nil {
			t.Fatal(err)
		}
		if err := <-other; err != nil {
			t.Fatal(err)
		}
		got, err := l.Read(t.Context(), ours.Subject)
		if err != nil || len(got) != 2 || got[0].ID != ours.Events[0].ID || got[0].Seq != seq {
			t.Fatalf("stored %+v, %v; ours is %d", got, err, seq)
		}
	})
	t.Run("of a conflict", func(t *testing.T) {
		p.arm("Nats-Expected-Last-Subject-Sequence", 1)
		_, err := flaky.Append(t.Context(), appendOf("a", 0, 1))
		if conflict := new(eventlog.ConflictError); !errors.As(err, &conflict) {
			t.Fatalf("got %v, want a conflict", err)
		}
	})
	t.Run("for ever", func(t *testing.T) {
		p.arm("g", 1<<30) // in every message about the aggregate
		ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
		defer cancel()
		if _, err := flaky.Append(ctx, appendOf("g", 0, 1)); !errors.Is(err, eventlog.ErrUnavailable) || !errors.Is(err, context.DeadlineExceeded) {
			t.Fatalf("got %v, want that the log is not reachable", err)
		}
	})
}

// waitFor lets Read wait until there is something to read.
type waitFor struct {
	*jetstream.Log
	subject events.Subject
}

func (w waitFor) Read(ctx context.Context, subject events.Subject) ([]events.Recorded, error) {
	for {
		got, err := w.Log.Read(ctx, subject)
		if err != nil || len(got) > 0 {
			return got, err
		}
	}
}

// wantStored checks that exactly the parts are stored and that the last event is at seq.
func wantStored(t *testing.T, l *jetstream.Log, seq events.Seq, parts []eventlog.Append) {
	t.Helper()
	var last events.Seq
	for _, p := range parts {
		got, err := l.Read(t.Context(), p.Subject)
		if err != nil {
			t.Fatal(err)
		}
		if len(got) != len(p.Events) {
			t.Fatalf("%s has %d events, want %d", p.Subject, len(got), len(p.Events))
		}
		for i, r := range got {
			if r.ID != p.Events[i].ID {
				t.Fatalf("%s: event %d is %s, want %s", p.Subject, i, r.ID, p.Events[i].ID)
			}
			last = r.Seq
		}
	}
	if last != seq {
		t.Fatalf("append said %d, the last event is at %d", seq, last)
	}
}
