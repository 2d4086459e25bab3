package cli

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
)

// look returns what a person sees on a terminal to which text was written.
func look(text string) string {
	lines := []string{""}
	for text != "" {
		last := &lines[len(lines)-1]
		switch {
		case strings.HasPrefix(text, clearLine):
			*last, text = "", text[len(clearLine):]
		case text[0] == '\n':
			lines, text = append(lines, ""), text[1:]
		default:
			*last, text = *last+text[:1], text[1:]
		}
	}
	return strings.Join(lines, "\n")
}

func TestTheStatusStaysBelowWhatScrollsBy(t *testing.T) {
	var out bytes.Buffer
	s := &screen{out: &out, width: func() int { return 20 }}
	steps := []struct {
		do   func()
		want string
	}{
		{func() { fmt.Fprint(s, "hello\n") }, "hello\n"},
		{func() { s.show("1 of 4") }, "hello\n1 of 4"},
		{func() { fmt.Fprint(s, "a warning\n") }, "hello\na warning\n1 of 4"},
		{func() { s.show("2 of 4") }, "hello\na warning\n2 of 4"},
		{func() { fmt.Fprint(s, "half a ") }, "hello\na warning\n2 of 4"},
		{func() { fmt.Fprint(s, "line\nand more") }, "hello\na warning\nhalf a line\n2 of 4"},
		{func() { s.show("a status that is too long") }, "hello\na warning\nhalf a line\na status that is t…"},
		{func() { s.show("") }, "hello\na warning\nhalf a line\nand more"},
		{func() { fmt.Fprint(s, "!\nend\n") }, "hello\na warning\nhalf a line\nand more!\nend\n"},
	}
	for i, step := range steps {
		step.do()
		if got := look(out.String()); got != step.want {
			t.Fatalf("after step %d a person sees\n%s\nwant\n%s", i+1, got, step.want)
		}
	}
}

func TestCutIsInColumns(t *testing.T) {
	for _, tc := range []struct {
		line  string
		width int
		want  string
	}{{"abc", 3, "abc"}, {"abcd", 3, "ab…"}, {"…·–x", 3, "…·…"}, {"abc", 0, "abc"}, {"", 5, ""}} {
		if got := cut(tc.line, tc.width); got != tc.want {
			t.Errorf("cut(%q, %d) = %q, want %q", tc.line, tc.width, got, tc.want)
		}
	}
}
