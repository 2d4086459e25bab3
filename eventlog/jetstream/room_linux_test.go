package jetstream_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/tachobench/tacho/eventlog"
	"github.com/tachobench/tacho/eventlog/jetstream"
	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/internal/natsserver"
	"github.com/tachobench/tacho/internal/tinydisk"
)

// The disk under the log is full in the middle of appends. What was acknowledged is there, nothing is there twice, and
// the log goes on without a restart of its process once there is room.
func TestAFullDiskUnderTheLog(t *testing.T) {
	tinydisk.Run(t, 24, func(t *testing.T, dir string) { fillDisk(t, dir, true) })
}

// The same with writers that do not look before they write: the server breaks off in the middle of a write.
func TestADiskThatFillsUpDuringAWrite(t *testing.T) {
	tinydisk.Run(t, 24, func(t *testing.T, dir string) { fillDisk(t, dir, false) })
}

func fillDisk(t *testing.T, dir string, look bool) {
	ctx := t.Context()
	server := start(t, natsserver.Config{Dir: dir + "/log"})
	looks := look
	nc := connect(t, server)
	l := open(t, nc, jetstream.Config{MaxBytes: 1 << 30, Stopped: func() *eventlog.FullError {
		if looks {
			return server.Stopped()
		}
		return nil
	}})
	cursor, err := l.Follow(ctx, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer cursor.Close()
	patience := 10 * time.Minute
	at := map[events.CollectorName]events.Seq{}
	acknowledged := 0
	add := func(name events.CollectorName, n int) error {
		ctx, cancel := context.WithTimeout(ctx, patience)
		defer cancel()
		seq, err := l.Append(ctx, appendOf(name, at[name], n))
		if err == nil {
			at[name] = seq
			acknowledged += n
		}
		return err
	}
	for range 20 {
		if err := add("a", 3); err != nil {
			t.Fatal(err)
		}
	}
	if !look {
		patience = time.Second
	}
	free := tinydisk.Fill(t, dir)
	began := time.Now()
	for err == nil {
		if err = add("b", 1); err != nil && !look && !errors.Is(err, eventlog.ErrFull) {
			t.Logf("after %s, from one who does not look: %v", time.Since(began), err)
			looks, err = true, nil
		}
	}
	if !errors.Is(err, eventlog.ErrFull) {
		t.Fatalf("a full disk: %v", err)
	}
	t.Logf("refused after %s: %v", time.Since(began), err)
	began = time.Now()
	if err := add("c", 3); !errors.Is(err, eventlog.ErrFull) || time.Since(began) > time.Second {
		t.Errorf("the next append after %s: %v", time.Since(began), err)
	}
	if r, err := l.Room(ctx); err != nil || r.Full == nil {
		t.Errorf("%+v, %v", r, err)
	}
	if got, err := l.Read(ctx, appendOf("a", 0, 1).Subject); err != nil || len(got) != 60 {
		t.Errorf("%d events are there while the disk is full (%v)", len(got), err)
	}
	if mended, err := server.Mend(); mended || err != nil {
		t.Errorf("without room it is mended: %t %v", mended, err)
	}
	free()
	began = time.Now()
	if mended, err := server.Mend(); mended == look || err != nil {
		t.Fatalf("mended: %t %v", mended, err)
	}
	if !look { // its consumers are gone: who follows the log notices at a new connection
		if err := nc.ForceReconnect(); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("mended after %s", time.Since(began))
	if !look { // what had no answer may be there
		last, ok, err := l.Last(ctx, appendOf("b", 0, 1).Subject)
		if err != nil {
			t.Fatal(err)
		}
		if ok && last.Seq != at["b"] {
			t.Logf("the append without an answer is there, as event %d", last.Seq)
			at["b"] = last.Seq
			acknowledged++
		}
	}
	patience = 10 * time.Minute
	for _, name := range []events.CollectorName{"b", "c"} {
		if err := add(name, 3); err != nil {
			t.Fatalf("there is room again: %v", err)
		}
	}
	if r, err := l.Room(ctx); err != nil || r.Full != nil {
		t.Errorf("%+v, %v", r, err)
	}
	if err := l.Verify(ctx); err != nil {
		t.Error(err)
	}
	again, err := l.Follow(ctx, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer again.Close()
	for _, c := range []eventlog.Cursor{cursor, again} {
		for seen, ids := 0, map[string]bool{}; seen < acknowledged; {
			got, err := c.Next(ctx, 100)
			if err != nil {
				t.Fatalf("after %d of %d events: %v", seen, acknowledged, err)
			}
			for _, e := range got {
				if id := e.Header[events.HeaderID]; ids[id] {
					t.Errorf("event %d is there twice", e.Seq)
				} else {
					ids[id] = true
				}
			}
			seen += len(got)
		}
	}
	head, err := l.Head(ctx)
	if err != nil || int(head.Last) != acknowledged {
		t.Errorf("the log ends at event %d, and %d were acknowledged (%v)", head.Last, acknowledged, err)
	}
	t.Logf("read again %s after there was room; %d acknowledged, %d in the log", time.Since(began), acknowledged, head.Last)
}
