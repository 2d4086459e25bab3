package jetstream_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/tachobench/tacho/eventlog"
	"github.com/tachobench/tacho/eventlog/jetstream"
	"github.com/tachobench/tacho/events"
)

// damaged returns a log of 2,000 events with a cursor that has read them all. Its server was stopped, its files were
// damaged, and it was started again.
func damaged(t *testing.T, harm func(t *testing.T, blocks []string, index string)) (*restartable, *jetstream.Log, eventlog.Cursor) {
	t.Helper()
	const count = 2000
	r := newRestartable(t)
	l := open(t, r.nc, jetstream.Config{})
	var version events.Seq
	for version < count {
		var err error
		if version, err = l.Append(t.Context(), appendOf("a", version, 500)); err != nil {
			t.Fatal(err)
		}
	}
	cursor, err := l.Follow(t.Context(), 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(cursor.Close)
	for seen := 0; seen < count; {
		got, err := cursor.Next(t.Context(), 1000)
		if err != nil {
			t.Fatal(err)
		}
		seen += len(got)
	}
	if err := l.Verify(t.Context()); err != nil {
		t.Fatal(err)
	}
	r.stop()
	blocks, index := r.files(t)
	harm(t, blocks, index)
	r.start(t)
	return r, l, cursor
}

// files returns the files with the events.
func (r *restartable) files(t *testing.T) (blocks []string, index string) {
	t.Helper()
	dir := filepath.Join(r.cfg.Dir, "jetstream", "$G", "streams", "EVENTS", "msgs")
	blocks, err := filepath.Glob(filepath.Join(dir, "*.blk"))
	if err != nil || len(blocks) == 0 {
		t.Fatalf("no blocks in %s (%v)", dir, err)
	}
	slices.Sort(blocks)
	return blocks, filepath.Join(dir, "index.db")
}

func size(t *testing.T, file string) int64 {
	t.Helper()
	info, err := os.Stat(file)
	if err != nil {
		t.Fatal(err)
	}
	return info.Size()
}

func flipBit(t *testing.T, blocks []string, _ string) {
	t.Helper()
	block := blocks[len(blocks)-1]
	data, err := os.ReadFile(block)
	if err != nil {
		t.Fatal(err)
	}
	data[len(data)/2] ^= 1
	if err := os.WriteFile(block, data, 0o600); err != nil {
		t.Fatal(err)
	}
}

func truncate(t *testing.T, blocks []string, _ string) {
	t.Helper()
	block := blocks[len(blocks)-1]
	if err := os.Truncate(block, size(t, block)/2); err != nil {
		t.Fatal(err)
	}
}

func truncateWithoutIndex(t *testing.T, blocks []string, index string) {
	t.Helper()
	truncate(t, blocks, index)
	if err := os.Remove(index); err != nil {
		t.Fatal(err)
	}
}

func removeBlock(t *testing.T, blocks []string, index string) {
	t.Helper()
	if err := os.Remove(blocks[len(blocks)-1]); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(index); err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
}

// TestDamageIsRefused damages the files of a log in ways that the server does not notice at its start. Three readers
// must notice: the running cursor, a new one at the old place, and the running log's own check.
func TestDamageIsRefused(t *testing.T) {
	for what, harm := range map[string]func(*testing.T, []string, string){
		"a flipped bit": flipBit, "a truncated block": truncate,
		"a truncated block and no index": truncateWithoutIndex, "a missing block": removeBlock,
	} {
		t.Run(what, func(t *testing.T) {
			r, l, cursor := damaged(t, harm)
			ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
			defer cancel()
			wantGap := func(who string, err error) {
				t.Helper()
				if gap := new(eventlog.GapError); !errors.As(err, &gap) {
					t.Errorf("%s: got %v, want that the log has a gap", who, err)
				}
			}
			got, err := cursor.Next(ctx, 10)
			if len(got) > 0 {
				t.Errorf("the running cursor gave %d more events, the first is %d", len(got), got[0].Seq)
			}
			wantGap("the running cursor", err)
			wantGap("verify", l.Verify(ctx))

			again, openErr := jetstream.Open(ctx, r.nc, jetstream.Config{})
			if openErr != nil {
				wantGap("open", openErr)
				return
			}
			_, err = again.Follow(ctx, 2000)
			wantGap("a new cursor", err)
		})
	}
}

// small is a log of 20 events and a cursor that has read them.
func small(t *testing.T, ctx context.Context) (*restartable, *jetstream.Log, eventlog.Cursor) {
	t.Helper()
	r := newRestartable(t)
	l := open(t, r.nc, jetstream.Config{})
	if _, err := l.Append(ctx, appendOf("a", 0, 20)); err != nil {
		t.Fatal(err)
	}
	cursor, err := l.Follow(ctx, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(cursor.Close)
	for seen := 0; seen < 20; {
		got, err := cursor.Next(ctx, 20)
		if err != nil {
			t.Fatal(err)
		}
		seen += len(got)
	}
	return r, l, cursor
}

// TestReusedSequencesAreNoticed lets a cut log grow beyond where it was before the cursor looks again.
func TestReusedSequencesAreNoticed(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	r, _, cursor := small(t, ctx)
	r.stop()
	blocks, index := r.files(t)
	truncateWithoutIndex(t, blocks, index)
	// Another process appends more. The cursor does not see it.
	address := r.cfg.Listen
	r.cfg.Listen = ""
	r.start(t)
	nc := connect(t, r.srv)
	other := open(t, nc, jetstream.Config{})
	if seq, err := other.Append(ctx, appendOf("b", 0, 100)); err != nil || seq == 120 {
		t.Fatalf("appended up to %d, %v: the log was not cut", seq, err)
	}
	nc.Close()
	r.stop()
	r.cfg.Listen = address
	r.start(t)
	got, err := cursor.Next(ctx, 1000)
	if gap := new(eventlog.GapError); !errors.As(err, &gap) || gap.Want != 20 {
		t.Fatalf("got %d events and %v, want that the log was replaced after event 20", len(got), err)
	}
}

// flipFact flips a bit in the data of an event in the middle, where nothing tells the server how long the event is.
func flipFact(t *testing.T, blocks []string) {
	t.Helper()
	block := blocks[len(blocks)-1]
	data, err := os.ReadFile(block)
	if err != nil {
		t.Fatal(err)
	}
	half := len(data) / 2
	data[half+bytes.IndexByte(data[half:], '{')] ^= 1
	if err := os.WriteFile(block, data, 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestUnreadableEventIsNoticed flips a bit of a short log: the server counts all events, checks that pass,
// and leaves out the one that it cannot read.
func TestUnreadableEventIsNoticed(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	r, l, _ := small(t, ctx)
	r.stop()
	blocks, _ := r.files(t)
	flipFact(t, blocks)
	r.start(t)
	var gap *eventlog.GapError
	if got, err := l.Read(ctx, appendOf("a", 0, 1).Subject); !errors.As(err, &gap) {
		t.Errorf("read gave %d events and %v, want that one is missing", len(got), err)
	}
	cursor, err := l.Follow(ctx, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer cursor.Close()
	var seen events.Seq
	for err == nil {
		var got []events.Stored
		got, err = cursor.Next(ctx, 1000)
		for _, e := range got {
			if seen++; e.Seq != seen {
				t.Fatalf("event %d came, want %d", e.Seq, seen)
			}
		}
	}
	if !errors.As(err, &gap) || gap.Want != seen+1 {
		t.Fatalf("after event %d: %v, want the gap", seen, err)
	}
}
