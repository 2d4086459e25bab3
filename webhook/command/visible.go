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

// hidden stands in visible text for each byte of code.
const hidden = '\x00'

// visible returns the lines of a comment that its author says, without the markers of lists and headings before
// them. In place of inline code, every byte is [hidden]; in place of an HTML comment, a space. Quotes and blocks
// of code are left out.
func visible(comment string) []string {
	comment = strings.ToValidUTF8(comment, "\ufffd")
	comment = strings.NewReplacer("\x00", "\ufffd", "\r\n", "\n", "\r", "\n").Replace(comment)
	comment = shallow(comment)
	v := view{source: []byte(comment), shown: []byte(comment)}
	// Neither the visitor nor Walk itself fails.
	_ = ast.Walk(commonMark().Parse(text.NewReader(v.source)), func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if entering {
			return v.block(n), nil
		}
		return ast.WalkContinue, nil
	})
	return v.said
}

// maxDepth is how many quotes and lists a line may begin with. GitHub shows no deeper ones.
const maxDepth = 100

// shallow empties the lines that are nested deeper: reading them would take time quadratic in their length.
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

// commonMark knows all blocks, and of what stands inside of them only what hides text or keeps it from being hidden.
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

// view is what is seen of a comment.
type view struct {
	// shown is source with what is hidden covered, byte for byte.
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

// say takes the lines that are no quotes. A line without ">" straight below a quote is none, although it belongs to
// the quote's paragraph.
func (v *view) say(lines ...text.Segment) {
	for _, line := range lines {
		begin := bytes.LastIndexByte(v.source[:line.Start], '\n') + 1
		if bytes.IndexByte(v.source[begin:line.Start], '>') < 0 {
			v.said = append(v.said, string(v.shown[line.Start:line.Stop]))
		}
	}
}

// codeTag is the beginning of inline HTML that shows code.
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

// covered is what is not said in a block of HTML. What is never closed hides all that is left.
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

// cover replaces every byte but the ends of lines.
func (v *view) cover(begin, end int, by byte) {
	for i := begin; i < end; i++ {
		if v.shown[i] != '\n' {
			v.shown[i] = by
		}
	}
}
