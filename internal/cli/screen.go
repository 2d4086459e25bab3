package cli

import (
	"bytes"
	"io"
	"os"
	"sync"
	"unicode/utf8"

	"golang.org/x/term"

	"github.com/tachobench/tacho/internal/visible"
)

// screen is a terminal that a person watches during a long task. Text that is written to it scrolls by, above one line of
// status. All writers to the terminal must use the screen.
type screen struct {
	mu     sync.Mutex
	out    io.Writer
	width  func() int
	status string
	// rest is the beginning of a line that has not ended.
	rest []byte
}

const clearLine = "\r\x1b[K"

func newScreen(f *os.File) *screen { return &screen{out: f, width: func() int { return widthOf(f) }} }

// widthOf returns the columns of a terminal; 80 if they are not known.
func widthOf(f *os.File) int {
	if w, _, err := term.GetSize(int(f.Fd())); err == nil && w > 0 {
		return w
	}
	return 80
}

// Write implements io.Writer. While there is a status, lines are written whole.
func (s *screen) Write(text []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.status == "" && len(s.rest) == 0 {
		return s.out.Write(text)
	}
	whole := bytes.LastIndexByte(text, '\n') + 1
	if s.status == "" {
		whole = len(text)
	}
	out := append(s.rest, text[:whole]...)
	s.rest = nil
	if whole == 0 {
		s.rest = append(out, text...)
		return len(text), nil
	}
	s.rest = append(s.rest, text[whole:]...)
	if err := s.draw(out); err != nil {
		return 0, err
	}
	return len(text), nil
}

// show replaces the status; an empty one leaves none.
func (s *screen) show(status string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	had := s.status != ""
	// Others chose the names in it, and it does not pass the writer that cleans all other text; see cleanly.
	s.status = visible.Line(status)
	if !had && status == "" {
		return
	}
	var out []byte
	if status == "" {
		out, s.rest = s.rest, nil
	}
	// The task continues even if the terminal takes no more text.
	_ = s.draw(out)
}

// draw replaces the status by text, and writes the status below it, all in one write.
func (s *screen) draw(text []byte) error {
	all := append([]byte(clearLine), text...)
	// The last column stays free: some terminals begin a new line after it.
	all = append(all, cut(s.status, s.width()-1)...)
	_, err := s.out.Write(all)
	return err
}

// cut shortens a line to a width in columns.
func cut(line string, width int) string {
	if width < 1 || utf8.RuneCountInString(line) <= width {
		return line
	}
	return string([]rune(line)[:width-1]) + "…"
}
