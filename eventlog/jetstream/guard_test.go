package jetstream_test

import (
	"errors"
	"testing"
	"time"

	natsjs "github.com/nats-io/nats.go/jetstream"

	"github.com/tachobench/tacho/eventlog"
	"github.com/tachobench/tacho/eventlog/jetstream"
	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/internal/natsserver"
)

// TestNothingIsDeleted tries every way to delete an event from the log.
func TestNothingIsDeleted(t *testing.T) {
	ctx := t.Context()
	nc := connect(t, start(t, natsserver.Config{Dir: t.TempDir()}))
	l := open(t, nc, jetstream.Config{})
	if _, err := l.Append(ctx, appendOf("a", 0, 3)); err != nil {
		t.Fatal(err)
	}
	js, err := natsjs.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	s, err := js.Stream(ctx, "EVENTS")
	if err != nil {
		t.Fatal(err)
	}
	undenied := s.CachedInfo().Config
	undenied.DenyDelete, undenied.DenyPurge = false, false
	_, updateErr := js.UpdateStream(ctx, undenied)
	_, ttlErr := js.Publish(ctx, "tacho.ev.collector.a", nil, natsjs.WithMsgTTL(time.Second))
	for what, err := range map[string]error{
		"delete": s.DeleteMsg(ctx, 1), "secure delete": s.SecureDeleteMsg(ctx, 1), "purge": s.Purge(ctx),
		"allow deletion": updateErr, "time to live": ttlErr,
	} {
		if err == nil {
			t.Errorf("%s was done", what)
		}
	}
	if err := l.Verify(ctx); err != nil {
		t.Fatal(err)
	}
	if got, err := l.Read(ctx, appendOf("a", 0, 1).Subject); err != nil || len(got) != 3 {
		t.Fatalf("%d events are left (%v), want 3", len(got), err)
	}
}

// TestDriftIsNamed changes the stream as an operator could and expects the field's name.
func TestDriftIsNamed(t *testing.T) {
	for field, change := range map[string]func(*natsjs.StreamConfig){
		"max_age":       func(c *natsjs.StreamConfig) { c.MaxAge = time.Hour },
		"max_msgs":      func(c *natsjs.StreamConfig) { c.MaxMsgs = 10 },
		"max_bytes":     func(c *natsjs.StreamConfig) { c.MaxBytes = 1 << 20 },
		"discard":       func(c *natsjs.StreamConfig) { c.Discard = natsjs.DiscardOld },
		"allow_msg_ttl": func(c *natsjs.StreamConfig) { c.AllowMsgTTL = true },
		"allow_atomic":  func(c *natsjs.StreamConfig) { c.AllowAtomicPublish = false },
		"allow_direct":  func(c *natsjs.StreamConfig) { c.AllowDirect = false },
		"subjects":      func(c *natsjs.StreamConfig) { c.Subjects = []string{"tacho.ev.work.>"} },
		"max_msg_size":  func(c *natsjs.StreamConfig) { c.MaxMsgSize = 100 },
	} {
		t.Run(field, func(t *testing.T) {
			ctx := t.Context()
			nc := connect(t, start(t, natsserver.Config{Dir: t.TempDir(), Unsynced: true}))
			l := open(t, nc, jetstream.Config{})
			js, err := natsjs.New(nc)
			if err != nil {
				t.Fatal(err)
			}
			s, err := js.Stream(ctx, "EVENTS")
			if err != nil {
				t.Fatal(err)
			}
			cfg := s.CachedInfo().Config
			change(&cfg)
			if _, err := js.UpdateStream(ctx, cfg); err != nil {
				t.Fatal(err)
			}
			_, openErr := jetstream.Open(ctx, nc, jetstream.Config{})
			for _, err := range []error{l.Verify(ctx), openErr} {
				var drift *jetstream.DriftError
				if !errors.As(err, &drift) {
					t.Fatalf("got %v, want drift", err)
				}
				if drift.Field != field {
					t.Fatalf("got %v, want the field %s", err, field)
				}
			}
		})
	}
}

// TestReplacedLogIsNoticed deletes the stream, which only an operator can do, and makes it again.
func TestReplacedLogIsNoticed(t *testing.T) {
	ctx := t.Context()
	nc := connect(t, start(t, natsserver.Config{Dir: t.TempDir(), Unsynced: true}))
	l := open(t, nc, jetstream.Config{})
	if _, err := l.Append(ctx, appendOf("a", 0, 3)); err != nil {
		t.Fatal(err)
	}
	if err := l.Verify(ctx); err != nil {
		t.Fatal(err)
	}
	before, err := l.Head(ctx)
	if err != nil {
		t.Fatal(err)
	}
	js, err := natsjs.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	if err := js.DeleteStream(ctx, "EVENTS"); err != nil {
		t.Fatal(err)
	}
	again := open(t, nc, jetstream.Config{})
	if head, err := again.Head(ctx); err != nil || head.Identity == before.Identity {
		t.Fatalf("the new log has the identity of the old one (%v)", err)
	}
	var gap *eventlog.GapError
	if err := l.Verify(ctx); !errors.As(err, &gap) {
		t.Fatalf("verify: %v", err)
	}
	if _, err := again.Follow(ctx, 3); !errors.As(err, &gap) || gap.Want != 3 {
		t.Fatalf("follow: %v", err)
	}
}

// TestFullLog reaches the limit in bytes: appends are refused by name and nothing is lost.
func TestFullLog(t *testing.T) {
	ctx := t.Context()
	l := open(t, connect(t, start(t, natsserver.Config{Dir: t.TempDir(), Unsynced: true})), jetstream.Config{MaxBytes: 100_000})
	var at events.Seq
	stored := 0
	for {
		seq, err := l.Append(ctx, appendOf("a", at, 10))
		if errors.Is(err, eventlog.ErrFull) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		at, stored = seq, stored+10
	}
	if _, err := l.Append(ctx, appendOf("b", 0, 100)); !errors.Is(err, eventlog.ErrFull) {
		t.Fatalf("got %v, want that the log is full", err)
	}
	if got, err := l.Read(ctx, appendOf("a", 0, 1).Subject); err != nil || len(got) != stored {
		t.Fatalf("%d events are there (%v), want %d", len(got), err, stored)
	}
}
