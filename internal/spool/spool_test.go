package spool

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/tachobench/tacho/internal/phrase"
)

// reader puts together what a sender takes, and compares it with all that was written.
type reader struct {
	all []byte
	// at is how far it is in all.
	at          int
	number      int
	notes, lost int
	dropped     int64
	midLine     bool
}

var note = regexp.MustCompile(`^(\n?)\[… ([0-9,]+) bytes, ([0-9,]+) lines were (dropped here|lost here: .+)\]\n$`)

// take takes a chunk; false if there is none.
func (r *reader) take(t rapid.TB, s *Spool) bool {
	c, ok := s.Next()
	if !ok {
		return false
	}
	if r.number++; c.Number != r.number {
		t.Fatalf("chunk %d, want %d", c.Number, r.number)
	}
	if found := note.FindSubmatch(c.Text); found != nil {
		if begins := len(found[1]) == 0; begins == r.midLine {
			t.Fatalf("%q begins a line: %v", c.Text, begins)
		}
		n := number(t, found[2])
		if r.at+n > len(r.all) || bytes.Count(r.all[r.at:r.at+n], []byte("\n")) != number(t, found[3]) {
			t.Fatalf("%q at byte %d of %d", c.Text, r.at, len(r.all))
		}
		r.at += n
		r.midLine = false
		if strings.HasPrefix(string(found[4]), "lost") {
			r.lost++
		} else {
			r.notes++
			r.dropped += int64(n)
		}
		return true
	}
	if !bytes.HasPrefix(r.all[r.at:], c.Text) {
		t.Fatalf("at byte %d: %q, want %q", r.at, c.Text, r.all[r.at:min(len(r.all), r.at+len(c.Text))])
	}
	if utf8.Valid(r.all) && !utf8.Valid(c.Text) {
		t.Fatalf("chunk %d cuts a character: %q", c.Number, c.Text)
	}
	r.at += len(c.Text)
	r.midLine = c.Text[len(c.Text)-1] != '\n'
	return true
}

func number(t rapid.TB, text []byte) int {
	n, err := strconv.Atoi(strings.ReplaceAll(string(text), ",", ""))
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// Whatever is written and taken, and whatever becomes of the file: what is missing is said to the byte, and all else is there
// in order.
func TestWhatIsMissingIsSaidToTheByte(t *testing.T) {
	piece := rapid.OneOf(
		rapid.StringMatching(`[a-z\n]{0,40}`), rapid.StringMatching(`[äöü€😀\n]{0,30}`), rapid.Just(strings.Repeat("x", 300)),
		rapid.Map(rapid.SliceOfN(rapid.ByteRange(0x80, 0xff), 0, 5), func(b []byte) string { return string(b) }),
	)
	dir := t.TempDir()
	rapid.Check(t, func(t *rapid.T) {
		chunk := rapid.IntRange(4, 40).Draw(t, "chunk")
		memory, file := rapid.IntRange(2, 4).Draw(t, "memory"), rapid.IntRange(0, 8).Draw(t, "file")
		where := rapid.SampledFrom([]string{dir, dir, filepath.Join(dir, "nowhere")}).Draw(t, "dir")
		s := newSpool(Config{Memory: memory * chunk, File: file * chunk, Dir: where}, chunk)
		defer s.Discard()
		var r reader
		broken, taken := where != dir, false
		t.Repeat(map[string]func(*rapid.T){
			"write": func(t *rapid.T) {
				text := piece.Draw(t, "text")
				r.all = append(r.all, text...)
				if n, err := s.Write([]byte(text)); n != len(text) || err != nil {
					t.Fatal(n, err)
				}
			},
			"line": func(t *rapid.T) {
				if len(r.all) > 0 && r.all[len(r.all)-1] != '\n' {
					r.all = append(r.all, '\n')
				}
				r.all = append(r.all, "a line\n"...)
				s.Line("a line")
			},
			"take": func(t *rapid.T) { taken = r.take(t, s) || taken },
			"break": func(t *rapid.T) {
				if rapid.IntRange(0, 9).Draw(t, "chance") > 0 || s.file == nil {
					t.Skip()
				}
				broken = true
				_ = s.file.Close()
			},
			"": func(t *rapid.T) {
				if found, err := os.ReadDir(dir); err != nil || len(found) > 0 {
					t.Fatalf("the file has a name: %v, %v", found, err)
				}
				if !taken && !broken && len(r.all) <= (memory+file)*(chunk-max(chunk/lineRoom, utf8.UTFMax)) && s.total.Dropped > 0 {
					t.Fatalf("%d bytes of %d are dropped, and there is room", s.total.Dropped, len(r.all))
				}
			},
		})
		total := s.Close()
		if _, err := s.Write([]byte("late")); err == nil {
			t.Fatal("written after the end")
		}
		for r.take(t, s) {
			continue
		}
		if !s.Done() || r.at != len(r.all) || r.number != total.Last || total.Bytes != int64(len(r.all)) || total.Dropped != r.dropped {
			t.Fatalf("taken to %d of %d, %+v, reader %d %d", r.at, len(r.all), total, r.number, r.dropped)
		}
		if !taken && r.notes > 1 || !broken && r.lost > 0 {
			t.Fatalf("%d gaps, %d lost", r.notes, r.lost)
		}
	})
}

// The beginning and the end of a flood stay.
func TestAFloodLosesItsMiddle(t *testing.T) {
	s := New(Config{Memory: 4 << 20, File: 8 << 20, Dir: t.TempDir()})
	defer s.Discard()
	line := func(i int) string { return fmt.Sprintf("%019d\n", i) }
	const lines = 2 << 20
	for i := range lines {
		_, _ = s.Write([]byte(line(i)))
	}
	total := s.Close()
	if room := int64(lines*20 - 12<<20); total.Bytes != lines*20 || total.Dropped < room-ChunkBytes || total.Dropped > room+12<<20/lineRoom {
		t.Errorf("%+v", total)
	}
	var kept bytes.Buffer
	for c, ok := s.Next(); ok; c, ok = s.Next() {
		kept.Write(c.Text)
	}
	dropped := fmt.Sprintf("[… %s bytes, %s lines were dropped here]\n", phrase.Thousands(total.Dropped), phrase.Thousands(total.Dropped/20))
	before, after, found := strings.Cut(kept.String(), dropped)
	if !found || !strings.HasPrefix(before, line(0)) || !strings.HasSuffix(after, line(lines-1)) || len(before) < 5<<20 || len(after) < 5<<20 {
		t.Errorf("%d bytes, %d bytes, no %q", len(before), len(after), dropped)
	}
}

// BenchmarkThroughput compares a flood through a pipe into a spool, which a slow sender reads, with the pipe alone.
func BenchmarkThroughput(b *testing.B) {
	block := bytes.Repeat([]byte(strings.Repeat("x", 63)+"\n"), 512)
	const blocks = 4096 // 128 MiB
	flood := func(to io.Writer) {
		r, w, err := os.Pipe()
		if err != nil {
			b.Fatal(err)
		}
		go func() {
			defer w.Close()
			for range blocks {
				if _, err := w.Write(block); err != nil {
					return
				}
			}
		}()
		if n, err := io.Copy(to, r); err != nil || n != blocks*int64(len(block)) {
			b.Fatal(n, err)
		}
		r.Close()
	}
	b.SetBytes(blocks * int64(len(block)))
	var alone, spooled time.Duration
	for b.Loop() {
		begin := time.Now()
		flood(struct{ io.Writer }{io.Discard})
		alone += time.Since(begin)
		begin = time.Now()
		s := New(Config{Memory: 4 << 20, File: 64 << 20, Dir: b.TempDir()})
		flood(s)
		s.Discard()
		spooled += time.Since(begin)
	}
	b.ReportMetric(spooled.Seconds()/alone.Seconds(), "times-the-pipe")
}
