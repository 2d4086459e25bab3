package jetstream_test

import (
	"errors"
	"strings"
	"testing"

	natsjs "github.com/nats-io/nats.go/jetstream"

	"github.com/tachobench/tacho/eventlog"
	"github.com/tachobench/tacho/eventlog/jetstream"
	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/internal/natsserver"
)

// Who runs the server sets the limit at each start, and never below what the log holds.
func TestTheOwnerSetsTheLimit(t *testing.T) {
	ctx := t.Context()
	nc := connect(t, start(t, natsserver.Config{Dir: t.TempDir(), Unsynced: true}))
	set := ""
	own := func(limit int64) (*jetstream.Log, error) {
		set = ""
		return jetstream.Open(ctx, nc, jetstream.Config{MaxBytes: limit, Own: true, Limited: func(before, now int64) {
			set = "changed"
		}})
	}
	l, err := own(1 << 20)
	if err != nil || set != "" {
		t.Fatalf("%v %q", err, set)
	}
	last := fillUp(t, l, 0)
	for _, limit := range []int64{2 << 20, 3 << 20, 2 << 20} {
		if l, err = own(limit); err != nil || set != "changed" {
			t.Fatalf("%d: %v %q", limit, err, set)
		}
		if r, err := l.Room(ctx); err != nil || r.Limit != limit || r.Full != nil || r.Bytes < 1<<19 {
			t.Errorf("%+v, %v", r, err)
		}
	}
	if last, err = l.Append(ctx, appendOf("a", last, 10)); err != nil {
		t.Fatal(err)
	}
	var low *jetstream.LimitError
	if _, err := own(1 << 19); !errors.As(err, &low) || low.Used < 1<<19 || !strings.Contains(err.Error(), "the smallest limit that works is") {
		t.Errorf("a limit below what is used: %v", err)
	}
	if _, err := l.Append(ctx, appendOf("a", last, 10)); err != nil {
		t.Errorf("after a limit that was refused: %v", err)
	}
}

// fillUp appends until the log takes nothing more, and returns the last event.
func fillUp(t *testing.T, l *jetstream.Log, at events.Seq) events.Seq {
	t.Helper()
	for {
		seq, err := l.Append(t.Context(), appendOf("a", at, 500))
		if errors.Is(err, eventlog.ErrFull) {
			return at
		}
		if err != nil {
			t.Fatal(err)
		}
		at = seq
	}
}

// On a cluster the operator raises the limit while the parts run. They notice, and a lower limit is still drift.
func TestARaisedLimitIsNoticed(t *testing.T) {
	ctx := t.Context()
	nc := connect(t, start(t, natsserver.Config{Dir: t.TempDir(), Unsynced: true}))
	cfg := jetstream.Config{MaxBytes: 1 << 20}
	l := open(t, nc, cfg)
	at := fillUp(t, l, 0)
	if r, err := l.Room(ctx); err != nil || r.Full == nil {
		t.Fatalf("%+v, %v", r, err)
	}
	js, err := natsjs.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	edit := func(limit int64) {
		t.Helper()
		s, err := js.Stream(ctx, "EVENTS")
		if err != nil {
			t.Fatal(err)
		}
		c := s.CachedInfo().Config
		c.MaxBytes = limit
		if _, err := js.UpdateStream(ctx, c); err != nil {
			t.Fatal(err)
		}
	}
	for _, limit := range []int64{4 << 20, -1} {
		edit(limit)
		if r, err := l.Room(ctx); err != nil || r.Full != nil || r.Limit != max(0, limit) {
			t.Errorf("%d: %+v, %v", limit, r, err)
		}
		if err := l.Verify(ctx); err != nil {
			t.Errorf("%d: %v", limit, err)
		}
		if at, err = l.Append(ctx, appendOf("a", at, 500)); err != nil {
			t.Errorf("%d: %v", limit, err)
		}
		open(t, nc, cfg)
	}
	_, err = jetstream.Open(ctx, nc, jetstream.Config{MaxBytes: 8 << 20})
	if err != nil {
		t.Errorf("without a limit: %v", err)
	}
	edit(4 << 20)
	_, err = jetstream.Open(ctx, nc, jetstream.Config{MaxBytes: 8 << 20})
	if drift := new(jetstream.DriftError); !errors.As(err, &drift) || !strings.Contains(err.Error(), "nats stream edit EVENTS --max-bytes 8388608") {
		t.Errorf("a limit below the wanted one: %v", err)
	}
}

// A server that has stored all that it may refuses in another way. What an earlier try has stored is no refusal.
func TestAFullServerIsAFullLog(t *testing.T) {
	ctx := t.Context()
	nc := connect(t, start(t, natsserver.Config{Dir: t.TempDir(), Unsynced: true, MaxStore: 3 << 20}))
	js, err := natsjs.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	l := open(t, nc, jetstream.Config{MaxBytes: 1 << 20, LogsMaxBytes: 1 << 20})
	if _, err := js.CreateStream(ctx, natsjs.StreamConfig{Name: "OTHER", Subjects: []string{"other"}}); err != nil {
		t.Fatal(err)
	}
	at, err := l.Append(ctx, appendOf("a", 0, 3))
	if err != nil {
		t.Fatal(err)
	}
	for err == nil {
		_, err = js.Publish(ctx, "other", make([]byte, 100_000))
	}
	var full *eventlog.FullError
	if _, err := l.Append(ctx, appendOf("a", at, 1)); !errors.As(err, &full) || !strings.Contains(full.Next, "max_file_store") {
		t.Errorf("one event: %v", err)
	}
	if _, err := l.Append(ctx, appendOf("a", at, 3)); !errors.As(err, &full) {
		t.Errorf("several events: %v", err)
	}
	var conflict *eventlog.ConflictError
	if _, err := l.Append(ctx, appendOf("a", at-1, 1)); !errors.As(err, &conflict) {
		t.Errorf("a conflict at a full server: %v", err)
	}
	if r, err := l.Room(ctx); err != nil || r.Full == nil {
		t.Errorf("%+v, %v", r, err)
	}
	if err := js.DeleteStream(ctx, "OTHER"); err != nil {
		t.Fatal(err)
	}
	if _, err := l.Append(ctx, appendOf("a", at, 3)); err != nil {
		t.Errorf("with room: %v", err)
	}
	if r, err := l.Room(ctx); err != nil || r.Full != nil {
		t.Errorf("%+v, %v", r, err)
	}
}
