package ledger_test

import (
	"bytes"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/internal/hostile"
	"github.com/tachobench/tacho/rules/ledger"
)

func snapshot(t testing.TB, l *ledger.Ledger) []byte {
	t.Helper()
	data, err := l.Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func restore(t testing.TB, data []byte) *ledger.Ledger {
	t.Helper()
	l, err := ledger.Restore(data)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// A snapshot and the events after it give the same ledger as all events from the first.
func TestASnapshotAndTheTailAreTheWholeLog(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	r := rand.New(rand.NewPCG(seed, 0))
	for range 300 {
		story := hostile.Tell(r.Uint64())
		var all []events.Recorded
		for range 70 {
			all = append(all, story.Next())
		}
		whole, part := ledger.New(), ledger.New()
		at := r.IntN(len(all) + 1)
		for i, e := range all {
			if i == at {
				part = restore(t, snapshot(t, part))
			}
			whole.Fold(e)
			part.Fold(e)
		}
		if a, b := snapshot(t, whole), snapshot(t, part); !bytes.Equal(a, b) {
			t.Fatalf("seed %d, snapshot at %d: from zero\n%s\nfrom the snapshot\n%s", seed, at, a, b)
		}
	}
}

// The snapshot holds the state of the reader: once the registry is open, a collector's word about its standing does not
// count, even if the registry opened before the snapshot.
func TestASnapshotKnowsWhatIsLitter(t *testing.T) {
	stored := func(seq events.Seq, s events.Subject, f events.Fact) events.Stored {
		m, err := events.Encode(events.Event{ID: "e", Time: time.Date(2026, 11, 22, 0, 0, 0, 0, time.UTC), Source: "t", Actor: "t", Fact: f})
		if err != nil {
			t.Fatal(err)
		}
		m.Seq, m.Subject = seq, s
		return m
	}
	registered := events.CollectorRegistered{Name: "a", Target: "t"}
	for name, before := range map[string]events.Stored{
		"opened": stored(1, events.RegistryOpenedSubject(), events.RegistryOpened{}),
		"copied": stored(1, events.RegistrySubject("a"), events.RegistryCopied{CollectorRegistered: registered}),
	} {
		l := ledger.New()
		if _, err := l.Take(before); err != nil {
			t.Fatal(err)
		}
		l = restore(t, snapshot(t, l))
		if _, err := l.Take(stored(2, events.CollectorSubject("a"), events.CollectorDeactivated{Name: "a"})); err != nil {
			t.Fatal(err)
		}
		if l.Littered != 1 {
			t.Errorf("%s: %d events are litter, want 1", name, l.Littered)
		}
	}
}

func TestADamagedSnapshotIsRefused(t *testing.T) {
	whole := snapshot(t, ledger.New())
	for name, data := range map[string]string{
		"empty": "", "cut": string(whole[:len(whole)/2]), "something follows": string(whole) + "{}",
		"an unknown field":  strings.Replace(string(whole), `"Seq"`, `"Sequence"`, 1),
		"no lane":           strings.Replace(string(whole), `"LaneImages":null`, `"LaneImages":[{"Name":{"target":"a","set":1}}]`, 1),
		"other definitions": strings.Replace(string(whole), `"Definitions":{}`, `"Definitions":{"abc":{"version":1}}`, 1),
		"no request":        strings.Replace(string(whole), `"Requests":{}`, `"Requests":{"r1":null}`, 1),
		"no artifact":       strings.Replace(string(whole), `"ByTag":{}`, `"ByTag":{"abc":"r1"}`, 1),
	} {
		if data == string(whole) {
			t.Errorf("%s: nothing is damaged", name)
		}
		if _, err := ledger.Restore([]byte(data)); err == nil {
			t.Errorf("%s: it was taken", name)
		}
	}
	if s := ledger.Shape(); events.CheckToken("shape", s) != nil || s != ledger.Shape() {
		t.Errorf("shape %q", s)
	}
}

func FuzzRestore(f *testing.F) {
	f.Add([]byte("{}"))
	f.Add(snapshot(f, ledger.New()))
	f.Fuzz(func(t *testing.T, data []byte) {
		l, err := ledger.Restore(data)
		if err != nil {
			return
		}
		restore(t, snapshot(t, l))
	})
}
