package logfiles_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/nats.go"
	"pgregory.net/rapid"

	"github.com/tachobench/tacho/eventlog"
	"github.com/tachobench/tacho/eventlog/jetstream"
	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/internal/logfiles"
	"github.com/tachobench/tacho/internal/natsserver"
)

// with runs f on the log of a real server in a directory.
func with(t testing.TB, dir string, f func(*jetstream.Log)) {
	t.Helper()
	s, err := natsserver.Start(natsserver.Config{Dir: dir, Unsynced: true})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Shutdown()
	nc, err := s.Connect()
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	l, err := jetstream.Open(t.Context(), nc, jetstream.Config{})
	if err != nil {
		t.Fatal(err)
	}
	f(l)
}

// read returns all events of a log, page by page.
func read(t testing.TB, l *jetstream.Log) (all []events.Stored) {
	t.Helper()
	for {
		page, err := l.Page(t.Context(), events.Seq(len(all)))
		if err != nil {
			t.Fatal(err)
		}
		if len(page) == 0 {
			return all
		}
		all = append(all, page...)
	}
}

func scan(t testing.TB, s logfiles.Store) (all []events.Stored, found logfiles.Found) {
	t.Helper()
	found, err := s.Scan(t.Context(), func(r logfiles.Record) error {
		e, err := r.Event()
		all = append(all, e)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all, found
}

// A server writes, and the files are read. Then they are written anew in small blocks, and the server reads them: the same
// identity, sequences, times to the nanosecond, headers and data.
func TestAServerAndTheFilesAgree(t *testing.T) {
	dir, other := t.TempDir(), t.TempDir()
	var want []events.Stored
	var head eventlog.Head
	with(t, dir, func(l *jetstream.Log) {
		version := events.Seq(0)
		for _, size := range []int{1, 3, 200, 1} {
			part := eventlog.Append{Subject: events.AlertSubject("a"), Expected: version}
			for range size {
				fact := events.AlertCleared{Key: "a", Reason: fmt.Sprint(version)}
				part.Events = append(part.Events, eventlog.NewEvent(fact, eventlog.Meta{Actor: "test"}, time.Now()))
			}
			var err error
			if version, err = l.Append(t.Context(), part); err != nil {
				t.Fatal(err)
			}
		}
		var err error
		if head, err = l.Head(t.Context()); err != nil {
			t.Fatal(err)
		}
		want = read(t, l)
	})
	got, found := scan(t, logfiles.In(dir))
	if !cmp.Equal(got, want) {
		t.Error(cmp.Diff(want, got))
	}
	if found.Identity != head.Identity || found.Last != 205 || len(found.Damage) > 0 || found.Torn != nil {
		t.Errorf("found %+v", found)
	}
	with(t, other, func(*jetstream.Log) {})
	fill(t, logfiles.In(other), head.Identity, want)
	with(t, other, func(l *jetstream.Log) {
		if again, err := l.Head(t.Context()); err != nil || again != head {
			t.Errorf("%+v %v, want %+v", again, err, head)
		}
		if got := read(t, l); !cmp.Equal(got, want) {
			t.Error(cmp.Diff(want, got))
		}
		if err := l.Verify(t.Context()); err != nil {
			t.Error(err)
		}
		// It goes on behind them.
		last, ok, err := l.Last(t.Context(), events.AlertSubject("a"))
		if err != nil || !ok || last.Seq != 205 {
			t.Fatalf("%+v %t %v", last, ok, err)
		}
	})
}

// A log that was written anew says of each event which one of its subject is before it.
func TestAWrittenLogLeadsBack(t *testing.T) {
	s, all := made(t)
	for i, subject := range []events.Subject{"tacho.ev.alert.b", "tacho.ev.alert.a", "tacho.ev.alert.a", "tacho.ev.alert.b"} {
		e := all[i]
		e.Seq, e.Subject = events.Seq(len(all)+1), subject
		all = append(all, e)
	}
	fill(t, s, identity, all)
	again, _ := made(t)
	w, err := again.Write(0)
	if err != nil {
		t.Fatal(err)
	}
	leadsBack(t, s, w.Add)
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	leadsBack(t, again, func(logfiles.Record) error { return nil })
}

// leadsBack reads a store, and checks what each record says of the one before.
func leadsBack(t *testing.T, s logfiles.Store, then func(logfiles.Record) error) {
	t.Helper()
	before := map[events.Subject]events.Seq{}
	found, err := s.Scan(t.Context(), func(r logfiles.Record) error {
		h, err := nats.DecodeHeadersMsg(r.Header)
		if said, want := h.Values("Nats-Expected-Last-Subject-Sequence"), []string{fmt.Sprint(before[r.Subject])}; err != nil || !slices.Equal(said, want) {
			t.Errorf("event %d says %q, %v, want %q", r.Seq, said, err, want)
		}
		before[r.Subject] = r.Seq
		return then(r)
	})
	if err != nil || found.Last != 104 {
		t.Fatalf("%+v, %v", found, err)
	}
}

func fill(t testing.TB, s logfiles.Store, identity string, all []events.Stored) {
	t.Helper()
	if err := s.SetIdentity(identity); err != nil {
		t.Fatal(err)
	}
	w, err := s.Write(2000)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range all {
		if err := w.Add(logfiles.RecordOf(e)); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
}

const identity = "EVENTS@2026-11-23T10:00:00.000000001Z"

// made returns a store of some hundred events in small blocks, without a server.
func made(t testing.TB) (logfiles.Store, []events.Stored) {
	t.Helper()
	s := logfiles.Store(filepath.Join(t.TempDir(), "EVENTS"))
	if err := os.MkdirAll(string(s), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(string(s), "meta.inf"), []byte(`{"name":"EVENTS"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	var all []events.Stored
	for n := range 100 {
		all = append(all, events.Stored{
			Seq: events.Seq(n + 1), Subject: "tacho.ev.alert.a", StoredAt: time.Unix(int64(n), 7).UTC(),
			Header: map[string]string{events.HeaderID: fmt.Sprint("id-", n+1)}, Data: []byte(fmt.Sprintf(`{"n":%d,"text":"%s"}`, n, bytes.Repeat([]byte("x"), n%50))),
		})
	}
	fill(t, s, identity, all)
	return s, all
}

func block(s logfiles.Store, n int) string {
	return filepath.Join(string(s), "msgs", fmt.Sprint(n, ".blk"))
}

func change(t testing.TB, file string, f func([]byte) []byte) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, f(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// Each harm is found, in the right file and at the right event, whether a file is read in whole or at its ends.
func TestDamageIsNamed(t *testing.T) {
	flip := func(at int) func([]byte) []byte {
		return func(b []byte) []byte { b[at] ^= 1; return b }
	}
	for _, c := range []struct {
		name string
		harm func(t *testing.T, s logfiles.Store)
		// first and last are the events of block 2 or 3 that it costs, by the number of the file in which it is.
		file     string
		whole    bool // the ends do not show it
		wantTorn bool
	}{
		{"a flipped byte", func(t *testing.T, s logfiles.Store) { change(t, block(s, 2), flip(700)) }, "2.blk", true, false},
		{"a flipped length", func(t *testing.T, s logfiles.Store) { change(t, block(s, 2), flip(0)) }, "2.blk", false, false},
		{"a cut file", func(t *testing.T, s logfiles.Store) {
			change(t, block(s, 2), func(b []byte) []byte { return b[:len(b)-300] })
		}, "2.blk", false, false},
		{"a removed file", func(t *testing.T, s logfiles.Store) {
			if err := os.Remove(block(s, 2)); err != nil {
				t.Fatal(err)
			}
		}, "2.blk", false, false},
		{"swapped files", func(t *testing.T, s logfiles.Store) {
			for _, step := range [][2]string{{block(s, 2), block(s, 99)}, {block(s, 3), block(s, 2)}, {block(s, 99), block(s, 3)}} {
				if err := os.Rename(step[0], step[1]); err != nil {
					t.Fatal(err)
				}
			}
		}, "2.blk", false, false},
		{"a cut end", func(t *testing.T, s logfiles.Store) {
			_, found := scan(t, s)
			last := block(s, found.Files)
			change(t, last, func(b []byte) []byte { return b[:len(b)-5] })
		}, "", false, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, all := made(t)
			c.harm(t, s)
			got, found := scan(t, s)
			for _, e := range got {
				if !cmp.Equal(e, all[e.Seq-1]) {
					t.Errorf("event %d is not what was written", e.Seq)
				}
			}
			if len(got) == len(all) {
				t.Error("nothing is missing")
			}
			for what, look := range map[string]int64{"whole": logfiles.FullBytes, "ends": 0} {
				if c.whole && what == "ends" {
					continue
				}
				looked, err := s.Look(t.Context(), look, 50)
				if err != nil {
					t.Fatal(err)
				}
				if c.wantTorn {
					if looked.Torn == nil || len(looked.Damage) > 0 || looked.Last != 99 {
						t.Errorf("%s: %+v", what, looked)
					}
					continue
				}
				if len(looked.Damage) == 0 || filepath.Base(looked.Damage[0].File) != c.file || looked.Last != 100 {
					t.Fatalf("%s: %+v", what, looked)
				}
				d := looked.Damage[0]
				if slices.ContainsFunc(got, func(e events.Stored) bool { return e.Seq >= d.First && e.Seq <= d.Last }) {
					t.Errorf("%s: %v, but such an event was read", what, d)
				}
				if what == "whole" && !cmp.Equal(looked.Damage, found.Damage) {
					t.Errorf("Look found %v, Scan %v", looked.Damage, found.Damage)
				}
			}
		})
	}
}

// Whatever byte is flipped, no wrong event is read, and it is noticed.
func TestEveryFlippedByteIsFound(t *testing.T) {
	s, all := made(t)
	rapid.Check(t, func(rt *rapid.T) {
		file := block(s, rapid.IntRange(1, 3).Draw(rt, "file"))
		text, err := os.ReadFile(file)
		if err != nil {
			rt.Fatal(err)
		}
		harmed := bytes.Clone(text)
		harmed[rapid.IntRange(0, len(text)-1).Draw(rt, "at")] ^= byte(rapid.IntRange(1, 255).Draw(rt, "bits"))
		if err := os.WriteFile(file, harmed, 0o600); err != nil {
			rt.Fatal(err)
		}
		defer func() {
			if err := os.WriteFile(file, text, 0o600); err != nil {
				rt.Fatal(err)
			}
		}()
		n := 0
		found, err := s.Scan(t.Context(), func(r logfiles.Record) error {
			e, err := r.Event()
			n++
			if err == nil && !cmp.Equal(e, all[e.Seq-1]) {
				rt.Errorf("event %d is not what was written", e.Seq)
			}
			return err
		})
		if err != nil || len(found.Damage) == 0 || found.Damage[0].File != file || n >= len(all) {
			rt.Fatalf("%d events, %+v, %v", n, found, err)
		}
	})
}

// A wrong description of the stream is damage too: the server would make a new log in its place.
func TestAWrongDescriptionIsFound(t *testing.T) {
	s, _ := made(t)
	change(t, filepath.Join(string(s), "meta.inf"), func(b []byte) []byte { b[5] ^= 1; return b })
	found, err := s.Look(t.Context(), logfiles.FullBytes, 0)
	if err != nil || found.Identity != "" || len(found.Damage) != 1 || filepath.Base(found.Damage[0].File) != "meta.inf" {
		t.Errorf("%+v %v", found, err)
	}
}

func FuzzScan(f *testing.F) {
	s, _ := made(f)
	text, err := os.ReadFile(block(s, 1))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(text)
	f.Add(text[:100])
	f.Fuzz(func(t *testing.T, b []byte) {
		dir := logfiles.Store(t.TempDir())
		if err := os.MkdirAll(filepath.Join(string(dir), "msgs"), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(block(dir, 1), b, 0o600); err != nil {
			t.Fatal(err)
		}
		_, found := scan(t, dir)
		looked, err := dir.Look(t.Context(), 0, 1)
		if err != nil || looked.Last != found.Last {
			t.Errorf("Look ends at %d (%v), Scan at %d", looked.Last, err, found.Last)
		}
	})
}

// BenchmarkLook says what a start reads of a log of TACHO_EVENTS events, and how long that takes.
func BenchmarkLook(b *testing.B) {
	const count = 1_000_000
	s := logfiles.Store(filepath.Join(b.TempDir(), "EVENTS"))
	if err := os.MkdirAll(string(s), 0o700); err != nil {
		b.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(string(s), "meta.inf"), []byte(`{"name":"EVENTS"}`), 0o600); err != nil {
		b.Fatal(err)
	}
	if err := s.SetIdentity(identity); err != nil {
		b.Fatal(err)
	}
	w, err := s.Write(0)
	if err != nil {
		b.Fatal(err)
	}
	data := bytes.Repeat([]byte("{}"), 170)
	for n := range count {
		e := events.Stored{Seq: events.Seq(n + 1), Subject: "tacho.ev.work.linux.1", StoredAt: time.Unix(int64(n), 0), Header: map[string]string{
			events.HeaderID: fmt.Sprint("0199f5b2-aaaa-bbbb-cccc-", n), events.HeaderType: "dev.tacho.job.finished.v1", events.HeaderTime: "2026-11-23T10:00:00.123456Z",
		}, Data: data}
		if err := w.Add(logfiles.RecordOf(e)); err != nil {
			b.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		b.Fatal(err)
	}
	for name, full := range map[string]int64{"whole": logfiles.FullBytes, "ends": 0} {
		b.Run(name, func(b *testing.B) {
			for range b.N {
				found, err := s.Look(b.Context(), full, count)
				if err != nil || found.Last != count || len(found.Damage) > 0 {
					b.Fatalf("%+v %v", found, err)
				}
				b.ReportMetric(float64(found.Read)/1e6, "MB")
			}
		})
	}
}
