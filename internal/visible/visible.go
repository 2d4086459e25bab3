// Package visible makes text of others harmless to a terminal: what a terminal would obey, or hide, is shown as an
// escape instead.
//
// Control characters clear screens, change titles and answer questions that nobody asked; characters of direction and
// those without width have a text look like another one. A terminal that is not set to UTF-8 obeys single bytes above
// 127, so that bytes which are no UTF-8 are shown, too. Line feeds and tabs stay. What is shown once stays as it is.
package visible

import (
	"bytes"
	"fmt"
	"io"
	"sync"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// harmful reports whether a terminal must not see the rune.
func harmful(r rune) bool {
	switch {
	case r == '\n' || r == '\t':
		return false
	case r < utf8.RuneSelf:
		return r < ' ' || r == 0x7f
	case r == '\u200c' || r == '\u200d':
		// They join letters and emoji, which some scripts need, and do nothing else.
		return false
	}
	return unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp, unicode.Bidi_Control)
}

// Text returns s with every harmful rune, and every byte that is no UTF-8, as an escape: \x1b, \u202e, \xff.
func Text(s string) string {
	if clean([]byte(s)) {
		return s
	}
	return string(appendText(nil, []byte(s)))
}

// Line is Text in one line: line feeds and tabs are shown, too. A text of others in a line of ours must not begin
// another one.
func Line(s string) string {
	s = Text(s)
	var out []byte
	for i := range len(s) {
		switch s[i] {
		case '\n':
			out = append(out, `\n`...)
		case '\t':
			out = append(out, `\t`...)
		default:
			out = append(out, s[i])
		}
	}
	return string(out)
}

// clean reports whether nothing in a text has to be shown otherwise.
func clean(text []byte) bool {
	for len(text) > 0 {
		r, n := utf8.DecodeRune(text)
		if r == utf8.RuneError && n == 1 || harmful(r) {
			return false
		}
		text = text[n:]
	}
	return true
}

func appendText(out, text []byte) []byte {
	for len(text) > 0 {
		r, n := utf8.DecodeRune(text)
		switch {
		case r == utf8.RuneError && n == 1, r < utf8.RuneSelf && harmful(r):
			out = fmt.Appendf(out, `\x%02x`, text[0])
		case !harmful(r):
			out = append(out, text[:n]...)
		case r > 0xffff:
			out = fmt.Appendf(out, `\U%08x`, r)
		default:
			out = fmt.Appendf(out, `\u%04x`, r)
		}
		text = text[n:]
	}
	return out
}

// appendJSON escapes as JSON does, inside of whose strings alone such runes can stand.
func appendJSON(out, text []byte) []byte {
	for len(text) > 0 {
		r, n := utf8.DecodeRune(text)
		switch {
		case r == utf8.RuneError && n == 1:
			out = append(out, `\ufffd`...)
		case !harmful(r):
			out = append(out, text[:n]...)
		case r > 0xffff:
			high, low := utf16.EncodeRune(r)
			out = fmt.Appendf(out, `\u%04x\u%04x`, high, low)
		default:
			out = fmt.Appendf(out, `\u%04x`, r)
		}
		text = text[n:]
	}
	return out
}

// Writer passes text on as it may be seen. Several may write to it at once.
type Writer struct {
	to    io.Writer
	show  func(out, text []byte) []byte
	mu    sync.Mutex
	begun []byte // the beginning of a rune whose rest has not come yet
}

// NewWriter returns a writer of text: see Text.
func NewWriter(to io.Writer) *Writer { return &Writer{to: to, show: appendText} }

// NewJSONWriter returns a writer of JSON, which stays the same JSON.
func NewJSONWriter(to io.Writer) *Writer { return &Writer{to: to, show: appendJSON} }

// Write implements io.Writer.
func (w *Writer) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	text := p
	if len(w.begun) > 0 {
		text = append(w.begun, p...)
	}
	whole := wholeRunes(text)
	rest := bytes.Clone(text[whole:])
	if err := w.pass(text[:whole]); err != nil {
		return 0, err
	}
	w.begun = rest
	return len(p), nil
}

// Flush passes on a rune whose rest will not come.
func (w *Writer) Flush() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	rest := w.begun
	w.begun = nil
	return w.pass(rest)
}

func (w *Writer) pass(text []byte) error {
	if len(text) == 0 {
		return nil
	}
	if !clean(text) {
		text = w.show(nil, text)
	}
	_, err := w.to.Write(text)
	return err
}

// wholeRunes returns how much of a text is not the beginning of a rune that may go on.
func wholeRunes(text []byte) int {
	for i := len(text) - 1; i >= 0 && i >= len(text)-utf8.UTFMax; i-- {
		if utf8.RuneStart(text[i]) {
			if utf8.FullRune(text[i:]) {
				break
			}
			return i
		}
	}
	return len(text)
}
