package jetstream_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/nats-io/nats.go"

	"github.com/tachobench/tacho/eventlog"
	"github.com/tachobench/tacho/eventlog/jetstream"
	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/internal/natsserver"
)

// A writer that dies after any of its messages, or any other damage to the messages, costs at most one snapshot: the
// other one is whole, the damage is reported, and the next write repairs it.
func TestASnapshotThatIsNotWholeIsNone(t *testing.T) {
	nc := connect(t, start(t, natsserver.Config{Dir: t.TempDir(), Unsynced: true}))
	l := open(t, nc, jetstream.Config{MaxBytes: 64 << 20})
	const older = "tacho.snapshot.f.s.0"
	at := events.Seq(0)
	keep := func() {
		t.Helper()
		at++
		data := make([]byte, 1400<<10) // three chunks that cannot be compressed
		if _, err := rand.NewChaCha8([32]byte{byte(at)}).Read(data); err != nil {
			t.Fatal(err)
		}
		if err := l.KeepSnapshot(t.Context(), eventlog.Snapshot{Fold: "f", Shape: "s", Identity: "log", Seq: at, EventID: "e", Data: data}); err != nil {
			t.Fatal(err)
		}
	}
	put := func(subject, id string, data []byte) {
		t.Helper()
		m := &nats.Msg{Subject: subject, Header: nats.Header{"tacho-snapshot": {id}}, Data: data}
		if _, err := nc.RequestMsgWithContext(t.Context(), m); err != nil {
			t.Fatal(err)
		}
	}
	last := func(subject string) *nats.Msg {
		t.Helper()
		m, err := nc.RequestWithContext(t.Context(), "$JS.API.DIRECT.GET.SNAPSHOTS."+subject, nil)
		if err != nil {
			t.Fatal(err)
		}
		return m
	}
	for what, harm := range map[string]func(){
		"it died after one chunk":  func() { put(older+".0", "new", []byte("x")) },
		"it died after two chunks": func() { put(older+".0", "new", []byte("x")); put(older+".1", "new", []byte("x")) },
		"it died before the manifest": func() {
			for i := range 3 {
				put(fmt.Sprint(older, ".", i), "new", []byte("x"))
			}
		},
		"a chunk is another one": func() { put(older+".1", last(older+".1").Header.Get("tacho-snapshot"), []byte("x")) },
		"a bit is flipped": func() {
			m := last(older + ".2")
			data := bytes.Clone(m.Data)
			data[len(data)/2] ^= 1
			put(older+".2", m.Header.Get("tacho-snapshot"), data)
		},
		"the manifest is none":       func() { put(older, "", []byte("{")) },
		"the manifest promises more": func() { put(older, "", bytes.Replace(last(older).Data, []byte(`"chunks":3`), []byte(`"chunks":4`), 1)) },
	} {
		// Both slots are written, and the first one is the older.
		keep()
		keep()
		if m := last(older); !strings.Contains(string(m.Data), fmt.Sprintf(`"seq":%d,`, at-1)) {
			t.Fatalf("%s: the older snapshot is %s, want that at %d", what, m.Data, at-1)
		}
		harm()
		whole, wrong, err := l.ReadSnapshots(t.Context(), "f", "s")
		if err != nil || len(whole) != 1 || whole[0].Seq != at || len(wrong) != 1 {
			t.Errorf("%s: %d are whole, wrong is %v, %v", what, len(whole), wrong, err)
		}
		keep()
		keep()
		if whole, wrong, err = l.ReadSnapshots(t.Context(), "f", "s"); err != nil || len(whole) != 2 || len(wrong) > 0 {
			t.Errorf("%s, mended: %d are whole, wrong is %v, %v", what, len(whole), wrong, err)
		}
	}
}
