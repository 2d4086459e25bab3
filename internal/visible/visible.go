// Package visible makes text from others harmless to a terminal: it shows as escapes what a terminal would obey or
// hide.
//
// Control characters clear screens, change titles and make a terminal send answers. Characters of direction and those
// without width make a text look like another one. A terminal that is not set to UTF-8 obeys single bytes above 127,
// so bytes that are not UTF-8 are escaped too. Line feeds and tabs stay. Escaping a text twice changes nothing more.
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
		// They only join letters and emoji, which some scripts need.
		return false
	}
	return unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp, unicode.Bidi_Control)
}

// Text returns s with every harmful rune, and every byte that is not UTF-8, as an escape: \x1b, \u202e, \xff.
func Text(s string) string {
	if clean([]byte(s)) {
		return s
	}
	return string(appendText(nil, []byte(s)))
}

// Line is Text on one line: it escapes line feeds and tabs too. A text from others inside our line must not begin
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

// clean reports whether a text needs no escapes.
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

// appendJSON escapes as JSON does. Valid JSON has such runes only inside of strings.
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

// Writer passes text on with escapes. Several goroutines may write to it at once.
type Writer struct {
	to    io.Writer
	show  func(out, text []byte) []byte
	mu    sync.Mutex
	begun []byte // the beginning of a rune whose rest is still missing
}

// NewWriter returns a writer that escapes as Text does.
func NewWriter(to io.Writer) *Writer { return &Writer{to: to, show: appendText} }

// NewJSONWriter returns a writer of JSON. It does not change the meaning of the JSON.
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

// Flush passes on the beginning of a rune whose rest does not come.
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

// wholeRunes returns how many bytes of a text are whole runes: without the beginning of a rune at the end.
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
