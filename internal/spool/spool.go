// Package spool keeps what a producer prints until a sender has taken it: first in memory, then in a file, and then only the
// beginning and the end. Writing waits for the disk alone.
//
// The text is kept in numbered chunks. When there is no room for one more, the oldest chunk behind the middle goes: a line in
// its place says exactly how many bytes and lines are not there. The next gap begins only when the sender has passed this
// one, so a flood leaves one gap, however long it lasts.
//
// The file has no name: it is gone with the process, also after a crash.
package spool

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/tachobench/tacho/internal/phrase"
)

const (
	// ChunkBytes bounds a chunk. As JSON it has less than a megabyte, whatever is in it.
	ChunkBytes = 128 << 10
	// lineRoom is the part of a full chunk in whose end it is cut for the sake of whole lines.
	lineRoom = 16
)

// Config says how much is kept, in bytes. All fields but Dir are needed.
type Config struct {
	// Memory is for the chunks that wait in memory, at least two of them; File is for those that wait in the file.
	Memory, File int
	// Dir is where the file is made once it is needed; empty means the directory for temporary files.
	Dir string
}

// Chunk is a piece of the text. Number counts from 1.
type Chunk struct {
	Number int
	Text   []byte
}

// Total is what there was in all. Last is the number of the last chunk; 0 if there is none.
type Total struct {
	Bytes, Dropped int64
	Last           int
}

// Spool has one sender and any number of writers.
type Spool struct {
	dir string
	// chunk is ChunkBytes; tests make it smaller.
	chunk int

	mu sync.Mutex
	// memory holds the chunks that wait in memory, by their slot. The slots from len(memory) on are in the file.
	memory [][]byte
	file   *os.File
	// broken says why nothing more is written to the file.
	broken error
	// freeMemory and freeFile are slots that a chunk has left. Where there is none, a chunk takes a slot that never had one: fresh is
	// the next such slot, and most is how many slots there are.
	freeMemory, freeFile []int
	fresh, most          int
	// queue has the full chunks, oldest first, and open the text behind them.
	queue []stored
	open  []byte
	// gap is the place in the queue before which gone is missing; -1 while nothing is.
	gap   int
	gone  missing
	total Total
	// unended and midLine say that what was written, and what was taken, does not end with a line.
	unended, midLine bool
	closed           bool
}

// stored says where a chunk is.
type stored struct{ slot, bytes, lines int }

// missing counts text that was dropped.
type missing struct{ bytes, lines int64 }

func (m *missing) add(bytes, lines int) {
	m.bytes += int64(bytes)
	m.lines += int64(lines)
}

// New returns an empty spool.
func New(c Config) *Spool { return newSpool(c, ChunkBytes) }

func newSpool(c Config, chunk int) *Spool {
	memory := max(2, c.Memory/chunk)
	return &Spool{dir: c.Dir, chunk: chunk, memory: make([][]byte, memory), most: memory + c.File/chunk, gap: -1}
}

// Write adds text. It fails only after Close.
func (s *Spool) Write(text []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.write(text)
}

// Line adds a text that begins and ends lines.
func (s *Spool) Line(text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.unended {
		text = "\n" + text
	}
	if !strings.HasSuffix(text, "\n") {
		text += "\n"
	}
	_, _ = s.write([]byte(text)) // after Close there is nothing to add
}

func (s *Spool) write(text []byte) (int, error) {
	if s.closed {
		return 0, os.ErrClosed
	}
	n := len(text)
	s.total.Bytes += int64(n)
	if n > 0 {
		s.unended = text[n-1] != '\n'
	}
	for len(text) > 0 {
		part := text[:min(len(text), s.chunk-len(s.open))]
		s.open, text = append(s.open, part...), text[len(part):]
		if len(s.open) == s.chunk {
			end := cut(s.open)
			s.store(s.open[:end])
			s.open = s.open[:copy(s.open, s.open[end:])]
		}
	}
	return n, nil
}

// cut returns where to end a full chunk: behind its last line, unless that is far from its end, and never within a character.
func cut(text []byte) int {
	far := len(text) - len(text)/lineRoom
	if i := bytes.LastIndexByte(text[far:], '\n'); i >= 0 {
		return far + i + 1
	}
	return len(text) - begun(text)
}

// begun returns how many bytes at the end of a text begin a character that is not complete.
func begun(text []byte) int {
	for i := 1; i < utf8.UTFMax && i <= len(text); i++ {
		if rest := text[len(text)-i:]; utf8.RuneStart(rest[0]) {
			if utf8.FullRune(rest) {
				return 0
			}
			return i
		}
	}
	return 0
}

// store puts a chunk into the queue, and makes room for it.
func (s *Spool) store(text []byte) {
	c := stored{bytes: len(text), lines: bytes.Count(text, []byte("\n"))}
	for !s.place(&c, text) {
		if s.gap < 0 {
			s.gap = (len(s.queue) + 1) / 2
		}
		if s.gap == len(s.queue) { // all that is left is in a file that takes no more
			s.drop(c)
			return
		}
		old := s.queue[s.gap]
		s.queue = slices.Delete(s.queue, s.gap, s.gap+1)
		s.release(old)
		s.drop(old)
	}
	s.queue = append(s.queue, c)
}

func (s *Spool) drop(c stored) {
	s.gone.add(c.bytes, c.lines)
	s.total.Dropped += int64(c.bytes)
}

// place writes a chunk to a free slot, in memory if there is one. It returns false if there is none.
func (s *Spool) place(c *stored, text []byte) bool {
	if s.take(c, &s.freeMemory, len(s.memory)) {
		s.memory[c.slot] = append(s.memory[c.slot][:0], text...)
		return true
	}
	if !s.take(c, &s.freeFile, s.most) {
		return false
	}
	if err := s.toFile(c.slot, text); err != nil {
		s.broken, s.freeFile, s.most = err, nil, s.fresh
		return false
	}
	return true
}

// take gives a chunk a slot that another one left, or a fresh one below a limit.
func (s *Spool) take(c *stored, left *[]int, below int) bool {
	n := len(*left)
	switch {
	case n > 0:
		c.slot, *left = (*left)[n-1], (*left)[:n-1]
	case s.fresh < below:
		c.slot = s.fresh
		s.fresh++
	default:
		return false
	}
	return true
}

func (s *Spool) toFile(slot int, text []byte) error {
	if s.file == nil {
		f, err := os.CreateTemp(s.dir, "tacho-output-")
		if err != nil {
			return err
		}
		s.file = f
		if err := os.Remove(f.Name()); err != nil {
			return err
		}
	}
	_, err := s.file.WriteAt(text, s.offset(slot))
	return err
}

func (s *Spool) offset(slot int) int64 { return int64(slot-len(s.memory)) * int64(s.chunk) }

// release gives the slot of a chunk back.
func (s *Spool) release(c stored) {
	switch {
	case c.slot < len(s.memory):
		s.freeMemory = append(s.freeMemory, c.slot)
	case s.broken == nil:
		s.freeFile = append(s.freeFile, c.slot)
	}
}

// Next takes the next chunk; false if there is none now.
func (s *Spool) Next() (Chunk, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	text := s.next()
	if len(text) == 0 {
		return Chunk{}, false
	}
	s.total.Last++
	s.midLine = text[len(text)-1] != '\n'
	return Chunk{Number: s.total.Last, Text: text}, true
}

func (s *Spool) next() []byte {
	if s.gap == 0 {
		gone := s.gone
		s.gap, s.gone = -1, missing{}
		return s.note(gone, "were dropped here")
	}
	if len(s.queue) > 0 {
		c := s.queue[0]
		s.queue = slices.Delete(s.queue, 0, 1)
		if s.gap > 0 {
			s.gap--
		}
		text, err := s.read(c)
		s.release(c)
		if err != nil {
			return s.note(missing{int64(c.bytes), int64(c.lines)}, fmt.Sprintf("were lost here: %v", err))
		}
		return text
	}
	end := len(s.open)
	if !s.closed {
		end -= begun(s.open)
	}
	text := bytes.Clone(s.open[:end])
	s.open = s.open[:copy(s.open, s.open[end:])]
	return text
}

func (s *Spool) read(c stored) ([]byte, error) {
	if c.slot < len(s.memory) {
		return bytes.Clone(s.memory[c.slot]), nil
	}
	text := make([]byte, c.bytes)
	if n, err := s.file.ReadAt(text, s.offset(c.slot)); n < len(text) && !errors.Is(err, io.EOF) {
		return nil, err
	} else if n < len(text) {
		return nil, io.ErrUnexpectedEOF
	}
	return text, nil
}

// note returns the line in the place of text that is not there.
func (s *Spool) note(gone missing, what string) []byte {
	line := fmt.Sprintf("[… %s bytes, %s lines %s]\n", phrase.Thousands(gone.bytes), phrase.Thousands(gone.lines), what)
	if s.midLine {
		line = "\n" + line
	}
	return []byte(line)
}

// Close ends the writing, and returns what there was in all, also of what waits to be taken.
func (s *Spool) Close() Total {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	total := s.total
	total.Last += len(s.queue)
	if s.gap >= 0 {
		total.Last++
	}
	if len(s.open) > 0 {
		total.Last++
	}
	return total
}

// Done reports whether there will be no more chunks.
func (s *Spool) Done() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.closed && len(s.queue) == 0 && s.gap < 0 && len(s.open) == 0
}

// Discard ends the writing and drops what was not taken.
func (s *Spool) Discard() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed, s.queue, s.open, s.memory, s.gap, s.freeMemory, s.freeFile = true, nil, nil, nil, -1, nil, nil
	if s.file != nil {
		_ = s.file.Close() // it has no name any more, and no reader
		s.file = nil
	}
}
