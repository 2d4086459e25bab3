package eventlogtest

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tachobench/tacho/eventlog"
	"github.com/tachobench/tacho/events"
)

// keepsSnapshots writes snapshots small and large, of two shapes.
func keepsSnapshots(t *testing.T, s Subject) {
	fold := name(t, "f")
	read := func(shape string) []eventlog.Snapshot {
		t.Helper()
		whole, damaged, err := s.Snapshots.ReadSnapshots(bounded(t), fold, shape)
		if err != nil || len(damaged) > 0 {
			t.Fatal(damaged, err)
		}
		return whole
	}
	keep := func(shape string, seq events.Seq, size int) eventlog.Snapshot {
		t.Helper()
		data := make([]byte, size)
		r := rand.NewChaCha8([32]byte{byte(seq)})
		if _, err := r.Read(data); err != nil {
			t.Fatal(err)
		}
		one := eventlog.Snapshot{Fold: fold, Shape: shape, Identity: "log", Seq: seq, EventID: name(t, "e"), Data: data}
		if err := s.Snapshots.KeepSnapshot(bounded(t), one); err != nil {
			t.Fatal(err)
		}
		return one
	}
	same := func(shape string, want ...eventlog.Snapshot) {
		t.Helper()
		if diff := cmp.Diff(want, read(shape), cmp.Comparer(bytes.Equal)); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	}
	if got := read("a"); len(got) > 0 {
		t.Errorf("there are %d snapshots before one was kept", len(got))
	}
	first := keep("a", 3, 1)
	same("a", first)
	second := keep("a", 9, 2<<20)
	same("a", second, first)
	third := keep("a", 20, 700<<10)
	same("a", third, second)
	other := keep("b", 5, 10)
	same("b", other)
	same("a", third, second)
	for what, bad := range map[string]eventlog.Snapshot{"no shape": {Fold: fold}, "no token": {Fold: "a.b", Shape: "s"}} {
		if err := s.Snapshots.KeepSnapshot(bounded(t), bad); err == nil {
			t.Errorf("%s: it was taken", what)
		}
	}
}
