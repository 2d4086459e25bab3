package jetstream_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	natsjs "github.com/nats-io/nats.go/jetstream"

	"github.com/tachobench/tacho/eventlog"
	"github.com/tachobench/tacho/eventlog/jetstream"
	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/internal/natsserver"
)

// store is how much the servers of these tests store, in a log of at most a third of it.
const store = 3 << 20

var crowded = jetstream.Config{MaxBytes: store / 3, LogsMaxBytes: store / 3}

// crowd fills the store with messages beside the log until only some bytes are left.
func crowd(t *testing.T, js natsjs.JetStream, leave int64) {
	t.Helper()
	if _, err := js.CreateOrUpdateStream(t.Context(), natsjs.StreamConfig{Name: "OTHER", Subjects: []string{"other"}}); err != nil {
		t.Fatal(err)
	}
	for {
		account, err := js.AccountInfo(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		left := store - int64(account.Store) - leave
		if left < 100 {
			return
		}
		if _, err := js.Publish(t.Context(), "other", make([]byte, min(60_000, left-60))); err != nil {
			t.Fatal(err)
		}
	}
}

// tearable returns a log of three events on a server that stores little.
func tearable(t *testing.T, unsynced bool) (*restartable, natsjs.JetStream, *jetstream.Log) {
	t.Helper()
	r := restartableWith(t, natsserver.Config{Dir: t.TempDir(), MaxStore: store, Unsynced: unsynced})
	js, err := natsjs.New(r.nc)
	if err != nil {
		t.Fatal(err)
	}
	l := open(t, r.nc, crowded)
	if _, err := l.Append(t.Context(), appendOf("a", 0, 3)); err != nil {
		t.Fatal(err)
	}
	return r, js, l
}

// wantTorn checks that an append of n events that begins at first failed because it is torn, and returns its error.
func wantTorn(t *testing.T, err error, first events.Seq, n int) *eventlog.TornError {
	t.Helper()
	torn := new(eventlog.TornError)
	if !errors.As(err, &torn) || !errors.Is(err, eventlog.ErrFull) {
		t.Fatalf("got %v, want that the append is torn", err)
	}
	if torn.First != first || torn.Last < first || torn.Last >= torn.End || torn.End != first+events.Seq(n)-1 {
		t.Fatalf("torn from %d to %d of %d, and %d events were to begin at %d", torn.First, torn.Last, torn.End, n, first)
	}
	return torn
}

// A server that stands alone runs out of room in the middle of a batch. The append is not called stored, whatever its server answers,
// and nothing is appended behind it. When the server starts again, with room, it stores the rest, and the log goes on.
func TestATornBatchIsNotStored(t *testing.T) {
	for _, tt := range []struct {
		name     string
		unsynced bool
		leave    int64
		parts    func() []eventlog.Append
	}{
		{"no answer", false, 9000, func() []eventlog.Append { return []eventlog.Append{appendOf("b", 0, 100)} }},
		{"no answer, unsynced", true, 9000, func() []eventlog.Append { return []eventlog.Append{appendOf("b", 0, 100)} }},
		{"the last event is refused", true, 0, func() []eventlog.Append { return []eventlog.Append{appendOf("b", 0, 2)} }},
		{"between two aggregates", false, 0, func() []eventlog.Append { return []eventlog.Append{appendOf("b", 0, 1), appendOf("c", 0, 3)} }},
		{"in the second aggregate", false, 2000, func() []eventlog.Append { return []eventlog.Append{appendOf("b", 0, 2), appendOf("c", 0, 30)} }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			ctx := t.Context()
			r, js, l := tearable(t, tt.unsynced)
			crowd(t, js, tt.leave)
			parts := tt.parts()
			n := 0
			for _, p := range parts {
				n += len(p.Events)
			}
			_, err := l.Append(ctx, parts...)
			torn := wantTorn(t, err, 4, n)
			if head, err := l.Head(ctx); err != nil || head.Last != torn.Last {
				t.Fatalf("the log ends at event %d, and %d was said: %v", head.Last, torn.Last, err)
			}
			for _, words := range []string{"events 4 to ", " is not stored", "start its NATS server again"} {
				if !strings.Contains(torn.Error(), words) {
					t.Errorf("%q does not say %q", torn, words)
				}
			}

			// Whoever repeats the append, from another process too, is told the same.
			_, err = open(t, r.nc, crowded).Append(ctx, parts...)
			wantTorn(t, err, 4, n)

			// There is room again, and nothing is stored behind.
			if err := js.DeleteStream(ctx, "OTHER"); err != nil {
				t.Fatal(err)
			}
			_, err = l.Append(ctx, appendOf("d", 0, 1))
			wantTorn(t, err, 4, n)
			_, err = l.Append(ctx, appendOf("d", 0, 3))
			wantTorn(t, err, 4, n)
			if room, err := l.Room(ctx); err != nil || room.Full == nil || room.Full.Error() != torn.Error() {
				t.Errorf("the room is %+v, %v", room.Full, err)
			}
			var conflict *eventlog.ConflictError
			if _, err := l.Append(ctx, appendOf("a", 0, 1)); !errors.As(err, &conflict) {
				t.Errorf("a conflict: %v", err)
			}

			r.stop()
			r.start(t)
			if room, err := l.Room(ctx); err != nil || room.Full != nil {
				t.Fatalf("after the start of the server: %+v, %v", room.Full, err)
			}
			wantStored(t, l, torn.End, parts)
			if last, err := l.Append(ctx, parts...); err != nil || last != torn.End {
				t.Errorf("the append once more: %d, %v", last, err)
			}
			if last, err := l.Append(ctx, appendOf("d", 0, 3)); err != nil || last != torn.End+3 {
				t.Errorf("the next append: %d, %v", last, err)
			}
		})
	}
}

// The server throws the rest away if something stands behind the beginning when it starts. The process that knows of it appends
// nothing more; a new one goes on.
func TestTheRestOfATornBatchIsLost(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	r, js, l := tearable(t, true)
	crowd(t, js, 9000)
	_, err := l.Append(ctx, appendOf("b", 0, 100))
	wantTorn(t, err, 4, 100)
	if err := js.DeleteStream(ctx, "OTHER"); err != nil {
		t.Fatal(err)
	}
	if _, err := open(t, r.nc, crowded).Append(ctx, appendOf("c", 0, 1)); err != nil {
		t.Fatalf("from a process that does not know: %v", err)
	}
	r.stop()
	r.start(t)
	if room, err := l.Room(ctx); err != nil || room.Full == nil || !strings.Contains(room.Full.Why, "is not stored") {
		t.Errorf("%+v, %v", room.Full, err)
	}
	_, err = l.Append(ctx, appendOf("d", 0, 1))
	wantTorn(t, err, 4, 100)
	if _, err := open(t, r.nc, crowded).Append(ctx, appendOf("d", 0, 3)); err != nil {
		t.Errorf("from a new process: %v", err)
	}
}

// A batch that would not leave the reserve under the limit of an account is not sent, and so not torn. An event alone is stored.
func TestBatchesLeaveAReserveOfTheAccount(t *testing.T) {
	ctx := t.Context()
	s, err := server.NewServer(&server.Options{
		NoSigs: true, NoLog: true, DontListen: true, JetStream: true, StoreDir: t.TempDir(), JetStreamMaxStore: 1 << 50,
		JetStreamLimits: server.JSLimitOpts{DefaultMaxConsumers: -1},
	})
	if err != nil {
		t.Fatal(err)
	}
	s.Start()
	t.Cleanup(func() {
		s.Shutdown()
		s.WaitForShutdown()
	})
	if !s.ReadyForConnections(10 * time.Second) {
		t.Fatal("the server is not ready")
	}
	limits := map[string]server.JetStreamAccountLimits{"": {
		MaxStore: store, MaxMemory: -1, MaxStreams: -1, MaxConsumers: -1, MaxAckPending: -1, MemoryMaxStreamBytes: -1, StoreMaxStreamBytes: -1,
	}}
	if err := s.GlobalAccount().UpdateJetStreamLimits(limits); err != nil {
		t.Fatal(err)
	}
	nc, err := nats.Connect("", nats.InProcessServer(s))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	js, err := natsjs.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	look := func(l *jetstream.Log) eventlog.Room {
		t.Helper()
		r, err := l.Room(ctx)
		if err != nil || r.AccountLimit != store {
			t.Fatalf("%+v, %v", r, err)
		}
		return r
	}
	l := open(t, nc, crowded)
	crowd(t, js, store/20)
	look(l)
	var full *eventlog.FullError
	_, err = l.Append(ctx, appendOf("b", 0, 10))
	if torn := new(eventlog.TornError); !errors.As(err, &full) || errors.As(err, &torn) || !strings.Contains(err.Error(), "its NATS account has stored almost all") {
		t.Fatalf("within the reserve: %v", err)
	}
	if r := look(l); r.Full == nil {
		t.Error("the room does not say it")
	}
	if last, err := l.Append(ctx, appendOf("a", 0, 1)); err != nil || last != 1 {
		t.Errorf("an event alone: %d, %v", last, err)
	}
	if err := js.DeleteStream(ctx, "OTHER"); err != nil {
		t.Fatal(err)
	}
	if r := look(l); r.Full != nil {
		t.Errorf("with room: %v", r.Full)
	}
	if last, err := l.Append(ctx, appendOf("b", 0, 10)); err != nil || last != 11 {
		t.Errorf("with room: %d, %v", last, err)
	}
	// A process that has not looked yet asks the server, which tears it.
	crowd(t, js, 3000)
	fresh := open(t, nc, crowded)
	_, err = fresh.Append(ctx, appendOf("c", 0, 50))
	wantTorn(t, err, 12, 50)
}

// The same reserve is left under the limit of the log.
func TestBatchesLeaveAReserveOfTheLog(t *testing.T) {
	ctx := t.Context()
	r := newRestartable(t)
	l := open(t, r.nc, jetstream.Config{MaxBytes: 1 << 20})
	var at events.Seq
	for {
		room, err := l.Room(ctx)
		if err != nil {
			t.Fatal(err)
		}
		last, err := l.Append(ctx, appendOf("a", at, 20))
		if errors.Is(err, eventlog.ErrFull) {
			if left := room.Limit - room.Bytes; left < 1<<20/20 || left > 1<<20/10 {
				t.Errorf("batches end with %d bytes left: %v", left, err)
			}
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		at = last
	}
	// A batch that was stored already is stored, and a conflict is a conflict.
	if _, err := l.Append(ctx, appendOf("b", 0, 1)); err != nil {
		t.Errorf("an event alone: %v", err)
	}
	var conflict *eventlog.ConflictError
	if _, err := l.Append(ctx, appendOf("a", 1, 20)); !errors.As(err, &conflict) {
		t.Errorf("a conflict: %v", err)
	}
}

// The server checks a whole batch against the limit of the stream before it stores anything, also if no process has looked.
func TestTheLimitOfTheStreamTearsNothing(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	r := newRestartable(t)
	l := open(t, r.nc, jetstream.Config{MaxBytes: 20_000})
	_, err := l.Append(ctx, appendOf("a", 0, 100))
	if torn := new(eventlog.TornError); !errors.Is(err, eventlog.ErrFull) || errors.As(err, &torn) {
		t.Errorf("a batch beyond the limit: %v", err)
	}
	if head, err := l.Head(ctx); err != nil || head.Last != 0 {
		t.Errorf("the log ends at event %d: %v", head.Last, err)
	}
}
