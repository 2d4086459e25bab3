package measure

import (
	"bytes"
	"slices"
	"sync"
	"testing"
)

// However a text is cut when it is written, its lines come whole and in order, and no piece is longer than the bound.
func FuzzLines(f *testing.F) {
	f.Add([]byte("one\ntwo\n"), 3, false)
	f.Add([]byte("no end"), 100, false)
	f.Add([]byte("\n\n\r\n\xff\x00"), 1, true)
	f.Add(bytes.Repeat([]byte("long"), 20), 7, true)
	f.Fuzz(func(t *testing.T, text []byte, cut int, long bool) {
		if long {
			text = bytes.Repeat(append(bytes.Repeat([]byte("x"), maxPiece-1), text...), 3)
		}
		cut = max(1, cut&0x1ffff)
		var got [][]byte
		l := &lines{turn: &sync.Mutex{}, to: func(text []byte) {
			for line := range bytes.Lines(text) {
				got = append(got, bytes.Clone(line))
			}
		}}
		for part := range slices.Chunk(text, cut) {
			if n, err := l.Write(part); n != len(part) || err != nil {
				t.Fatal(n, err)
			}
		}
		l.end()
		if !bytes.Equal(bytes.Join(got, nil), text) {
			t.Fatal("bytes are missing, or in another order")
		}
		for i, line := range got {
			whole := line[len(line)-1] == '\n' || i == len(got)-1
			if len(line) > maxPiece || !whole && len(line) != maxPiece {
				t.Fatalf("piece %d has %d bytes", i, len(line))
			}
		}
	})
}
