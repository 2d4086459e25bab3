package subprocess

import (
	"bytes"
	"io"
)

// Lines passes on whole lines, so that the lines of several programs that write to the same place do not mix. Call End after
// the last Write.
type Lines struct {
	To io.Writer

	rest []byte
}

// Write implements io.Writer.
func (l *Lines) Write(text []byte) (int, error) {
	l.rest = append(l.rest, text...)
	end := bytes.LastIndexByte(l.rest, '\n') + 1
	if end == 0 {
		return len(text), nil
	}
	_, err := l.To.Write(l.rest[:end])
	l.rest = append([]byte(nil), l.rest[end:]...)
	return len(text), err
}

// End passes on a last line that has no end.
func (l *Lines) End() {
	if len(l.rest) > 0 {
		// The program has ended, so an error cannot be reported to it.
		_, _ = l.To.Write(append(l.rest, '\n'))
		l.rest = nil
	}
}
