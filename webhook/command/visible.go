package command

import (
	"bytes"
	"regexp"
	"strings"

	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"
)

// hidden replaces each byte of code in visible text.
const hidden = '\x00'

// visible returns the lines that the author of a comment says, without the markers of lists and headings. Each byte
// of inline code becomes [hidden], and an HTML comment becomes blanks. Quotes and blocks of code are left out.
func visible(comment string) []string {
	comment = strings.ToValidUTF8(comment, "\ufffd")
	comment = strings.NewReplacer("\x00", "\ufffd", "\r\n", "\n", "\r", "\n").Replace(comment)
	comment = shallow(comment)
	v := view{source: []byte(comment), shown: []byte(comment)}
	// Neither the visitor nor Walk itself can fail.
	_ = ast.Walk(commonMark().Parse(text.NewReader(v.source)), func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if entering {
			return v.block(n), nil
		}
		return ast.WalkContinue, nil
	})
	return v.said
}

// maxDepth is how many quotes and lists a line may begin with. GitHub shows no deeper nesting.
const maxDepth = 100

// shallow empties lines that are nested deeper: reading them would take time quadratic in their length.
func shallow(comment string) string {
	lines := strings.Split(comment, "\n")
	for i, line := range lines {
		markers := line[:len(line)-len(strings.TrimLeft(line, " \t>-+*.)0123456789"))]
		if strings.Count(markers, ">")+len(strings.Fields(markers)) > maxDepth {
			lines[i] = ""
		}
	}
	return strings.Join(lines, "\n")
}

// commonMark returns a parser of all blocks. Of inline elements it knows only those that hide text or keep text from
// being hidden.
func commonMark() parser.Parser {
	return parser.NewParser(
		parser.WithBlockParsers(parser.DefaultBlockParsers()...),
		parser.WithInlineParsers(
			util.Prioritized(parser.NewCodeSpanParser(), 100),
			util.Prioritized(parser.NewAutoLinkParser(), 200),
			util.Prioritized(parser.NewRawHTMLParser(), 300),
		),
	)
}

// view is the visible part of a comment.
type view struct {
	// shown is source with the hidden parts covered, byte for byte.
	source, shown []byte
	said          []string
}

func (v *view) block(n ast.Node) ast.WalkStatus {
	switch n := n.(type) {
	case *ast.Paragraph, *ast.TextBlock, *ast.Heading:
		v.coverInline(n)
		v.say(n.Lines().Sliced(0, n.Lines().Len())...)
		return ast.WalkSkipChildren
	case *ast.HTMLBlock:
		lines := n.Lines().Sliced(0, n.Lines().Len())
		if n.HasClosure() {
			lines = append(lines, n.ClosureLine)
		}
		v.coverHTML(lines[0].Start, lines[len(lines)-1].Stop)
		v.say(lines...)
	}
	return ast.WalkContinue
}

// say adds the lines that are not quoted. A line without ">" right below a quote is not quoted, although it belongs
// to the quote's paragraph.
func (v *view) say(lines ...text.Segment) {
	for _, line := range lines {
		begin := bytes.LastIndexByte(v.source[:line.Start], '\n') + 1
		if bytes.IndexByte(v.source[begin:line.Start], '>') < 0 {
			v.said = append(v.said, string(v.shown[line.Start:line.Stop]))
		}
	}
}

// codeTag matches the beginning of inline HTML that shows code.
var codeTag = regexp.MustCompile(`(?i)^<(code|pre|samp)[\s>]`)

// coverInline covers the code and the HTML comments of a paragraph.
func (v *view) coverInline(block ast.Node) {
	from, until := 0, ""
	for n := block.FirstChild(); n != nil; n = n.NextSibling() {
		switch n := n.(type) {
		case *ast.CodeSpan:
			end := n.LastChild().(*ast.Text).Segment.Stop
			end += bytes.IndexByte(v.source[end:], '`')
			for end < len(v.source) && v.source[end] == '`' {
				end++
			}
			v.cover(n.Pos(), end, hidden)
		case *ast.RawHTML:
			begin, end := n.Segments.At(0).Start, n.Segments.At(n.Segments.Len()-1).Stop
			tag := v.source[begin:end]
			name := codeTag.FindSubmatch(tag)
			switch {
			case bytes.HasPrefix(tag, []byte("<!--")):
				v.cover(begin, end, ' ')
			case until == "" && name != nil:
				from, until = begin, "</"+string(name[1])
			case until != "" && bytes.EqualFold(tag[:min(len(until), len(tag))], []byte(until)):
				v.cover(from, end, hidden)
				until = ""
			}
		}
	}
}

// covered matches the hidden parts of a block of HTML. A tag that is never closed hides the whole rest.
var covered = regexp.MustCompile(`(?is)<!--(?:-?>|.*?(?:-->|$))` +
	"|`+[^`]+`+" +
	`|<pre(?:[\s/>].*?(?:</pre>|$)|$)` +
	`|<script(?:[\s/>].*?(?:</script>|$)|$)` +
	`|<style(?:[\s/>].*?(?:</style>|$)|$)` +
	`|<textarea(?:[\s/>].*?(?:</textarea>|$)|$)` +
	`|<code>.*?(?:</code>|$)` +
	`|<samp>.*?(?:</samp>|$)`)

func (v *view) coverHTML(begin, end int) {
	for _, at := range covered.FindAllIndex(v.source[begin:end], -1) {
		by := byte(hidden)
		if bytes.HasPrefix(v.source[begin+at[0]:], []byte("<!--")) {
			by = ' '
		}
		v.cover(begin+at[0], begin+at[1], by)
	}
}

// cover replaces every byte except line ends.
func (v *view) cover(begin, end int, by byte) {
	for i := begin; i < end; i++ {
		if v.shown[i] != '\n' {
			v.shown[i] = by
		}
	}
}
