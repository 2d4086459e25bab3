package measure

import (
	"bytes"
	"slices"
	"sync"
)

// maxPiece bounds, in bytes, what is kept of a line that has not ended. A longer line comes in pieces.
const maxPiece = 64 << 10

// lines passes on what a command writes to one of its outputs, as whole lines.
type lines struct {
	// turn makes the outputs of a command take turns.
	turn *sync.Mutex
	to   func(text []byte)
	// rest is the beginning of a line that has not ended: less than maxPiece bytes.
	rest []byte
}

// Write never fails.
func (l *lines) Write(p []byte) (int, error) {
	for part := range slices.Chunk(p, maxPiece) {
		l.write(part)
	}
	return len(p), nil
}

// write takes at most maxPiece bytes.
func (l *lines) write(p []byte) {
	for len(l.rest) > 0 && len(p) > 0 {
		next := p[:min(len(p), maxPiece-len(l.rest))]
		next = next[:lineEnd(next)]
		l.rest, p = append(l.rest, next...), p[len(next):]
		if len(l.rest) == maxPiece || next[len(next)-1] == '\n' {
			l.end()
		}
	}
	whole := bytes.LastIndexByte(p, '\n') + 1
	if whole == 0 && len(p) == maxPiece {
		whole = maxPiece
	}
	l.pass(p[:whole])
	l.rest = append(l.rest, p[whole:]...)
}

// lineEnd returns the length of the first line with its end, or of the whole text.
func lineEnd(text []byte) int {
	if i := bytes.IndexByte(text, '\n'); i >= 0 {
		return i + 1
	}
	return len(text)
}

// end passes on the rest.
func (l *lines) end() {
	l.pass(l.rest)
	l.rest = l.rest[:0]
}

func (l *lines) pass(text []byte) {
	if len(text) == 0 {
		return
	}
	l.turn.Lock()
	defer l.turn.Unlock()
	l.to(text)
}
