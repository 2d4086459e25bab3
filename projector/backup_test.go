package projector_test

import (
	"bytes"
	"compress/gzip"
	"errors"
	"testing"
	"time"

	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/projector"
)

func pack(t testing.TB, text []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, err := w.Write(text)
	if err = errors.Join(err, w.Close()); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

const smallBackup = `{"tacho_backup":1,"identity":"EVENTS@2026-11-23T10:00:00Z"}
{"seq":1,"subject":"tacho.ev.version","stored_at":"2026-11-23T10:00:01.000000001Z","headers":{"ce-id":"1"},"data":"e30=","chain":"CHAIN1"}
{"chain":"CHAIN1","end":1}
`

// whole returns a backup of one event.
func whole() []byte {
	e := events.Stored{Seq: 1, Subject: "tacho.ev.version", StoredAt: instant("2026-11-23T10:00:01.000000001Z"), Header: map[string]string{"ce-id": "1"}, Data: []byte("{}")}
	return bytes.ReplaceAll([]byte(smallBackup), []byte("CHAIN1"), []byte(projector.Chain(projector.Hash{}, e).String()))
}

func restored(packed []byte) (n int, end projector.BackupEnd, err error) {
	r, err := projector.ReadBackup(bytes.NewReader(packed))
	if err == nil {
		end, err = r.Each(func(events.Stored) error { n++; return nil })
	}
	return n, end, err
}

// Every line is needed, and none may be changed or added.
func TestABackupIsReadAsAWholeOrNotAtAll(t *testing.T) {
	text := whole()
	if n, end, err := restored(pack(t, text)); err != nil || n != 1 || end.Last != 1 || end.ID != "1" {
		t.Fatalf("%d %+v %v", n, end, err)
	}
	first, rest, _ := bytes.Cut(text, []byte("\n"))
	second, third, _ := bytes.Cut(rest, []byte("\n"))
	join := func(parts ...[]byte) []byte { return bytes.Join(parts, []byte("\n")) }
	for what, c := range map[string]struct {
		text []byte
		line int
	}{
		"without its end":    {join(first, second, nil), 3},
		"without its event":  {join(first, third), 2},
		"without its begin":  {join(second, third), 1},
		"with an event more": {join(first, second, second, third), 3},
		"with more behind":   {append(bytes.Clone(text), "{}\n"...), 3},
		"with other data":    {bytes.Replace(text, []byte("e30="), []byte("e31="), 1), 2},
		"at another time":    {bytes.Replace(text, []byte("10:00:01"), []byte("10:00:02"), 1), 2},
		"with other fields":  {bytes.Replace(text, []byte(`"seq"`), []byte(`"more":1,"seq"`), 1), 2},
		"of another form":    {bytes.Replace(text, []byte(`backup":1`), []byte(`backup":2`), 1), 1},
	} {
		_, _, err := restored(pack(t, c.text))
		var where *projector.BackupError
		if !errors.As(err, &where) || where.Line != c.line {
			t.Errorf("%s: %v, want that line %d is wrong", what, err, c.line)
		}
	}
	packed := pack(t, text)
	for n := range packed {
		if _, _, err := restored(packed[:n]); err == nil {
			t.Errorf("cut after %d of %d bytes, it is taken for whole", n, len(packed))
		}
	}
}

// Whatever bytes come, a backup that is read to its end is the one that was written: its chain is right.
func FuzzReadBackup(f *testing.F) {
	f.Add(whole())
	f.Add([]byte("{}\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		r, err := projector.ReadBackup(bytes.NewReader(pack(t, text)))
		if err != nil {
			return
		}
		var chain projector.Hash
		var last events.Seq
		end, err := r.Each(func(s events.Stored) error {
			chain, last = projector.Chain(chain, s), s.Seq
			return nil
		})
		if err == nil && (end.Chain != chain || end.Last != last) {
			t.Errorf("it ends with event %d, %s, and the events with %d, %s", end.Last, end.Chain, last, chain)
		}
	})
}

func instant(text string) time.Time {
	at, err := time.Parse(time.RFC3339Nano, text)
	if err != nil {
		panic(err)
	}
	return at
}
