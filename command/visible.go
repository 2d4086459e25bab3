package command

import (
	"slices"
	"strings"
)

// visible returns the lines of a comment that its author says, without the markers of lists and headings before
// them. In place of inline code, every byte is [hidden]; in place of an HTML comment, a space. Quotes and blocks
// of code are left out.
//
// It knows as much of CommonMark as decides this: the blocks that are containers (lists, quotes), those that are
// code (fences, indentation), those that end a paragraph, and which of these may begin in the middle of one.
func visible(comment string) []string {
	comment = strings.ToValidUTF8(comment, "\ufffd")
	comment = strings.NewReplacer("\x00", "\ufffd", "\r\n", "\n", "\r", "\n").Replace(comment)
	var b blocks
	for line := range strings.SplitSeq(comment, "\n") {
		b.line(line)
	}
	b.endParagraph()
	return b.said
}

// maxDepth is how deep lists are nested at most, as where GitHub renders them.
const maxDepth = 100

// blocks is the state between two lines.
type blocks struct {
	// items are the columns where the content of the open list items begins, outermost first.
	items []int
	// hollow is set when the line before was an item without content, which a blank line ends.
	hollow bool
	// paragraph holds the lines of the open paragraph.
	paragraph []string
	// fence is the marker of the open fence, such as "```"; empty outside of one.
	fence string
	// until is what ends the open block of HTML, in lower case; empty outside of one.
	until string
	said  []string
}

func (b *blocks) line(line string) {
	column, rest := indentation(line, 0)
	blank := rest == ""
	open := 0
	for open < len(b.items) && b.items[open] <= column {
		open++
	}
	if open < len(b.items) && !blank && (b.fence != "" || b.until != "") {
		// The list item ends, and what was open in it.
		b.fence, b.until = "", ""
	}
	switch {
	case b.until != "":
		b.html(rest)
	case b.fence != "":
		if column-b.base(open) < 4 && closes(rest, b.fence) {
			b.fence = ""
		}
	case blank:
		b.endParagraph()
		if b.hollow {
			b.items = b.items[:len(b.items)-1]
		}
		b.hollow = false
	default:
		b.hollow = false
		b.text(rest, column, open)
	}
}

// base is the column where the content of the innermost of the open items begins.
func (b *blocks) base(open int) int {
	if open == 0 {
		return 0
	}
	return b.items[open-1]
}

// text reads a line that is neither blank nor in a block that looks at nothing but its end.
func (b *blocks) text(rest string, column, open int) {
	for rest != "" && column-b.base(open) < 4 && open < maxDepth {
		width, ok := listMarker(rest, len(b.paragraph) > 0 && open == len(b.items))
		if !ok {
			break
		}
		b.endParagraph()
		b.items = b.items[:open]
		next, after := indentation(rest[width:], column+width)
		if after == "" || next-column-width > 4 {
			// The content begins one column after the marker: it is empty, or indented code.
			b.items = append(b.items, column+width+1)
		} else {
			b.items = append(b.items, next)
		}
		open++
		column, rest = next, after
	}
	if rest == "" {
		b.hollow = true
		return
	}
	if column-b.base(open) >= 4 {
		if len(b.paragraph) > 0 {
			b.paragraph = append(b.paragraph, rest)
		}
		return
	}
	if b.begins(rest) {
		b.items = b.items[:open]
		return
	}
	if len(b.paragraph) == 0 {
		b.items = b.items[:open]
	}
	b.paragraph = append(b.paragraph, rest)
}

// begins reports whether a block other than a paragraph begins, and reads it.
func (b *blocks) begins(rest string) bool {
	switch {
	case rest[0] == '>', isRule(rest), len(b.paragraph) > 0 && isUnderline(rest):
		b.endParagraph()
	case opensFence(rest) != "":
		b.endParagraph()
		b.fence = opensFence(rest)
	case opensHTML(rest) != "":
		b.endParagraph()
		b.until = opensHTML(rest)
		// The shortest comment is <!-->.
		b.html(rest[2:])
	case isHeading(rest):
		b.endParagraph()
		b.paragraph = append(b.paragraph, strings.TrimLeft(rest, "#"))
		b.endParagraph()
	default:
		return false
	}
	return true
}

// html looks for the end of the open block of HTML; what stands behind it is said.
func (b *blocks) html(rest string) {
	i := strings.Index(lower(rest), b.until)
	if i < 0 {
		return
	}
	rest = rest[i+len(b.until):]
	b.until = ""
	if again := strings.LastIndex(rest, "<!--"); again >= 0 && !strings.Contains(rest[again+2:], "-->") {
		rest = rest[:again] // it hides what is left, although the block ends
	}
	b.paragraph = append(b.paragraph, rest)
	b.endParagraph()
}

func (b *blocks) endParagraph() {
	if len(b.paragraph) > 0 {
		b.said = append(b.said, strings.Split(withoutCode(strings.Join(b.paragraph, "\n")), "\n")...)
		b.paragraph = b.paragraph[:0]
	}
}

// indentation returns the column where the text of a line begins that itself begins at a column, and the text.
func indentation(line string, column int) (int, string) {
	for i := range len(line) {
		switch line[i] {
		case ' ':
			column++
		case '\t':
			column += 4 - column%4
		default:
			return column, line[i:]
		}
	}
	return column, ""
}

// listMarker returns the width of the marker that a list item begins with. In the middle of a paragraph, an empty
// item begins no list, nor does one with a number other than 1.
func listMarker(s string, inParagraph bool) (width int, ok bool) {
	for width < len(s) && width < 9 && '0' <= s[width] && s[width] <= '9' {
		width++
	}
	numbered := width > 0
	if width == len(s) || numbered && s[width] != '.' && s[width] != ')' || !numbered && strings.IndexByte("-+*", s[width]) < 0 {
		return 0, false
	}
	width++
	if width < len(s) && s[width] != ' ' && s[width] != '\t' || isRule(s) {
		return 0, false
	}
	if inParagraph && (strings.Trim(s[width:], " \t") == "" || numbered && s[:width-1] != "1") {
		return 0, false
	}
	return width, true
}

// isUnderline reports what makes a heading of the paragraph above it.
func isUnderline(s string) bool {
	s = strings.TrimRight(s, " \t")
	return strings.Trim(s, "=") == "" || strings.Trim(s, "-") == ""
}

// isRule reports a thematic break.
func isRule(s string) bool {
	s = strings.TrimRight(s, " \t")
	marks := 0
	for i := range len(s) {
		switch {
		case s[i] == s[0]:
			marks++
		case s[i] != ' ' && s[i] != '\t':
			return false
		}
	}
	return marks >= 3 && strings.IndexByte("-_*", s[0]) >= 0
}

func isHeading(s string) bool {
	after := strings.TrimLeft(s, "#")
	marks := len(s) - len(after)
	return 0 < marks && marks <= 6 && (after == "" || after[0] == ' ' || after[0] == '\t')
}

// opensFence returns the marker of the fence that a line opens.
func opensFence(s string) string {
	n := run(s)
	if n < 3 || s[0] != '`' && s[0] != '~' || s[0] == '`' && strings.IndexByte(s[n:], '`') >= 0 {
		return ""
	}
	return s[:n]
}

func closes(s, fence string) bool {
	return s != "" && s[0] == fence[0] && run(s) >= len(fence) && strings.Trim(s[run(s):], " \t") == ""
}

// run is how often the first byte of s stands at its beginning.
func run(s string) (n int) {
	for n < len(s) && s[n] == s[0] {
		n++
	}
	return n
}

// opensHTML returns what ends the block of HTML that a line opens, of those blocks that hide what is in them.
func opensHTML(s string) string {
	if strings.HasPrefix(s, "<!--") {
		return "-->"
	}
	if s[0] != '<' {
		return ""
	}
	for _, name := range []string{"pre", "script", "style", "textarea"} {
		tag := "<" + name
		if !strings.HasPrefix(lower(s), tag) {
			continue
		}
		if after := s[len(tag):]; after == "" || slices.Contains([]byte(" \t>"), after[0]) {
			return "</" + name + ">"
		}
	}
	return ""
}

// lower changes ASCII alone, so that every byte stays where it is.
func lower(s string) string {
	b := []byte(s)
	for i, c := range b {
		if 'A' <= c && c <= 'Z' {
			b[i] = c + 'a' - 'A'
		}
	}
	return string(b)
}
