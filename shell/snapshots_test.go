package shell_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tachobench/tacho/eventlog"
	"github.com/tachobench/tacho/eventlog/memory"
	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/internal/hostile"
	"github.com/tachobench/tacho/rules/ledger"
	"github.com/tachobench/tacho/shell"
)

// counting is a log that counts the events that are read.
type counting struct {
	*memory.Log
	read atomic.Int64
}

func (c *counting) Follow(ctx context.Context, after events.Seq) (eventlog.Cursor, error) {
	cursor, err := c.Log.Follow(ctx, after)
	return &counted{cursor, c}, err
}

type counted struct {
	eventlog.Cursor
	log *counting
}

func (c *counted) Next(ctx context.Context, limit int) ([]events.Stored, error) {
	stored, err := c.Cursor.Next(ctx, limit)
	c.log.read.Add(int64(len(stored)))
	return stored, err
}

// lines are the messages of a logger, one line each.
type lines struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// once runs a shell until it has caught up with the log, stops it, and returns its ledger and what it logged.
func once(t *testing.T, log eventlog.Log, kept eventlog.Snapshots, every int) (after []byte, said string) {
	t.Helper()
	var out lines
	s := shell.New(shell.Config{
		Log: log, Clock: time.Now, Snapshots: kept, Every: every, Logger: slog.New(slog.NewTextHandler(&out, nil)),
	})
	after = catchUp(t, s)
	return after, out.String()
}

// catchUp runs a shell until it has caught up with the log, stops it, and returns its ledger.
func catchUp(t *testing.T, s *shell.Shell) (after []byte) {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx) }()
	if err := s.Wait(t.Context(), 0); err != nil {
		t.Fatal(err)
	}
	s.View(func(l *ledger.Ledger) {
		var err error
		if after, err = l.Snapshot(); err != nil {
			t.Error(err)
		}
	})
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	return after
}

// A snapshot is made while the ledger folds on. The race detector looks on: nothing may change what was frozen.
func TestASnapshotIsMadeBesideFolds(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	r := rand.New(rand.NewPCG(seed, 0))
	for range 200 {
		story, l := hostile.Tell(r.Uint64()), ledger.New()
		for range r.IntN(70) {
			l.Fold(story.Next())
		}
		want, err := l.Snapshot()
		if err != nil {
			t.Fatal(err)
		}
		frozen, err := l.Freeze()
		if err != nil {
			t.Fatal(err)
		}
		made := make(chan []byte, 1)
		go func() {
			data, err := frozen.Snapshot()
			if err != nil {
				t.Error(err)
			}
			made <- data
		}()
		for range 70 {
			l.Fold(story.Next())
		}
		if got := <-made; !bytes.Equal(got, want) {
			t.Fatalf("seed %d: frozen it was\n%s\nand beside the folds\n%s", seed, want, got)
		}
	}
}

// A start reads only what came after the stop, and gets the same ledger as a start from the first event.
func TestAStartReadsOnlyWhatIsNew(t *testing.T) {
	log := &counting{Log: memory.New(memory.Config{})}
	fill(t, log.Log, 15)
	once(t, log, log.Log, 0)
	if n := log.read.Swap(0); n != 15 {
		t.Errorf("the first start read %d events", n)
	}
	fill(t, log.Log, 20)
	got, _ := once(t, log, log.Log, 0)
	if n := log.read.Swap(0); n != 1+5 { // the last event of the snapshot is read to compare it
		t.Errorf("the second start read %d events", n)
	}
	if want, _ := once(t, log, nil, 0); !bytes.Equal(got, want) {
		t.Errorf("from the snapshot\n%s\nfrom zero\n%s", got, want)
	}
	log.read.Store(0)
	once(t, log, log.Log, 0)
	if n := log.read.Load(); n != 1 {
		t.Errorf("the last start read %d events", n)
	}
}

// After an early Begin, Run continues with the events stored since, and does not read a snapshot again.
func TestAStartMayBeginEarly(t *testing.T) {
	for _, before := range []int{0, 15} {
		log := &counting{Log: memory.New(memory.Config{})}
		if before > 0 {
			fill(t, log.Log, before)
			once(t, log, log.Log, 0)
		}
		var out lines
		s := shell.New(shell.Config{Log: log, Clock: time.Now, Snapshots: log.Log, Logger: slog.New(slog.NewTextHandler(&out, nil))})
		s.Begin(t.Context())
		fill(t, log.Log, 20)
		got := catchUp(t, s)
		if want, _ := once(t, log, nil, 0); !bytes.Equal(got, want) {
			t.Errorf("begun early\n%s\nfrom zero\n%s", got, want)
		}
		if n := strings.Count(out.String(), "goes on from a snapshot"); n != min(before, 1) {
			t.Errorf("snapshots were read %d times: %s", n, out.String())
		}
	}
}

// Snapshots are also made while the shell runs: not every process gets a soft stop.
func TestSnapshotsAreMadeOnTheWay(t *testing.T) {
	log := memory.New(memory.Config{})
	fill(t, log, 8)
	d := &counter{log: log, enough: 20}
	s := shell.New(shell.Config{Log: log, Tick: 10 * time.Millisecond, Clock: time.Now, Snapshots: log, Every: 5, Logger: slog.New(slog.DiscardHandler)})
	s.Seat(d)
	ctx, stop := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() {
		if err := s.Run(ctx); err != nil {
			t.Error(err)
		}
	})
	defer running.Wait()
	defer stop()
	for tick := time.Tick(5 * time.Millisecond); ; {
		whole, _, err := log.ReadSnapshots(t.Context(), "ledger", ledger.Shape())
		if err != nil {
			t.Fatal(err)
		}
		if len(whole) == 2 && whole[0].Seq >= 13 {
			return
		}
		<-tick
	}
}

// A stop while a snapshot is being written makes another one.
func TestAStopDuringASnapshotLosesNone(t *testing.T) {
	log := memory.New(memory.Config{})
	fill(t, log, 15)
	kept := &slow{Snapshots: log, writing: make(chan struct{})}
	s := shell.New(shell.Config{Log: log, Tick: 10 * time.Millisecond, Clock: time.Now, Snapshots: kept, Every: 5, Logger: slog.New(slog.DiscardHandler)})
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx) }()
	<-kept.writing
	stop()
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	whole, _, err := log.ReadSnapshots(t.Context(), "ledger", ledger.Shape())
	if err != nil || len(whole) != 1 || whole[0].Seq != 15 {
		t.Errorf("%d snapshots, %v", len(whole), err)
	}
}

// slow keeps the first snapshot from being written until it is released.
type slow struct {
	eventlog.Snapshots
	writing chan struct{}
	once    sync.Once
}

func (s *slow) KeepSnapshot(ctx context.Context, one eventlog.Snapshot) error {
	first := false
	s.once.Do(func() { first = true })
	if first {
		close(s.writing)
		<-ctx.Done()
		return ctx.Err()
	}
	return s.Snapshots.KeepSnapshot(ctx, one)
}

// shelf returns the snapshots and errors that it is given.
type shelf struct {
	whole   []eventlog.Snapshot
	damaged []error
	// unread is the error of reading, err that of keeping.
	unread, err error
}

func (s *shelf) KeepSnapshot(context.Context, eventlog.Snapshot) error { return s.err }

func (s *shelf) ReadSnapshots(_ context.Context, _, shape string) (whole []eventlog.Snapshot, damaged []error, err error) {
	for _, one := range s.whole {
		if one.Shape == shape {
			whole = append(whole, one)
		}
	}
	return whole, s.damaged, s.unread
}

// A snapshot that does not fit is logged and left alone: the ledger always agrees with the log.
func TestASnapshotThatDoesNotFitIsLeftAlone(t *testing.T) {
	log := memory.New(memory.Config{})
	fill(t, log, 15)
	once(t, log, log, 0)
	kept, _, err := log.ReadSnapshots(t.Context(), "ledger", ledger.Shape())
	if err != nil || len(kept) != 1 {
		t.Fatal(len(kept), err)
	}
	fill(t, log, 20)
	want, _ := once(t, log, nil, 0)
	other := memory.New(memory.Config{})
	fill(t, other, 20)
	foreign, _ := once(t, other, nil, 0)
	short := memory.New(memory.Config{})
	fill(t, short, 10)
	shorter, _ := once(t, short, nil, 0)

	change := func(f func(*eventlog.Snapshot)) []eventlog.Snapshot {
		one := kept[0]
		f(&one)
		return []eventlog.Snapshot{one}
	}
	for name, tc := range map[string]struct {
		log   eventlog.Log
		shelf shelf
		said  string
		want  []byte
	}{
		"none":                      {log, shelf{}, "", want},
		"one that fits":             {log, shelf{whole: kept}, "goes on from a snapshot", want},
		"a damaged one":             {log, shelf{damaged: []error{errors.New("chunk 3 of 4 is missing")}}, "chunk 3 of 4 is missing", want},
		"a damaged and an older":    {log, shelf{whole: kept, damaged: []error{errors.New("its SHA-256")}}, "goes on from a snapshot", want},
		"of another program":        {log, shelf{whole: change(func(s *eventlog.Snapshot) { s.Shape = "v0-0" })}, "", want},
		"of another log":            {other, shelf{whole: kept}, "it belongs to log", foreign},
		"of a log that was cut":     {&renamed{short, kept[0].Identity}, shelf{whole: kept}, "the log ends at event 10: it was cut", shorter},
		"of a log that went back":   {log, shelf{whole: change(func(s *eventlog.Snapshot) { s.EventID = "gone" })}, "its last event is gone", want},
		"that cannot be read":       {log, shelf{whole: change(func(s *eventlog.Snapshot) { s.Data = s.Data[:40] })}, "does not fit", want},
		"of another event":          {log, shelf{whole: change(func(s *eventlog.Snapshot) { s.Data = want })}, "it holds the ledger of event 20", want},
		"a stream that is not ours": {log, shelf{unread: errors.New("permissions violation")}, "permissions violation", want},
		"that cannot be kept":       {log, shelf{err: errors.New("no space")}, "could not be kept", want},
	} {
		got, said := once(t, tc.log, &tc.shelf, 0)
		if !bytes.Equal(got, tc.want) {
			t.Errorf("%s: the ledger is\n%s\nwant\n%s", name, got, tc.want)
		}
		if !strings.Contains(said, tc.said) {
			t.Errorf("%s: it said %q, want %q", name, said, tc.said)
		}
	}
}

// renamed is a log with the identity of another one.
type renamed struct {
	eventlog.Log
	identity string
}

func (r *renamed) Head(ctx context.Context) (eventlog.Head, error) {
	h, err := r.Log.Head(ctx)
	h.Identity = r.identity
	return h, err
}

// BenchmarkStart compares a start from a snapshot with one from the first event, on the same log.
func BenchmarkStart(b *testing.B) {
	log := memory.New(memory.Config{})
	l := ledger.New()
	for i := range 20_000 {
		name := events.CollectorName(fmt.Sprintf("c%d", i%500))
		f := events.CollectorActivated{Name: name}
		e := eventlog.NewEvent(f, eventlog.Meta{Source: "test", Actor: "test"}, time.Now())
		seq, err := log.Append(b.Context(), eventlog.Append{Subject: f.Subject(), Expected: l.Versions[f.Subject()], Events: []events.Event{e}})
		if err != nil {
			b.Fatal(err)
		}
		l.Fold(events.Recorded{Event: e, Seq: seq})
	}
	start := func(kept eventlog.Snapshots) time.Duration {
		began := time.Now()
		s := shell.New(shell.Config{Log: log, Clock: time.Now, Snapshots: kept, Logger: slog.New(slog.DiscardHandler)})
		ctx, stop := context.WithCancel(b.Context())
		ended := make(chan error, 1)
		go func() { ended <- s.Run(ctx) }()
		if err := s.Wait(b.Context(), 0); err != nil {
			b.Fatal(err)
		}
		took := time.Since(began)
		stop()
		if err := <-ended; err != nil {
			b.Fatal(err)
		}
		return took
	}
	start(log)
	var kept, zero time.Duration
	for b.Loop() {
		kept += start(log)
		zero += start(nil)
	}
	b.ReportMetric(float64(kept)/float64(zero), "kept/zero")
}
