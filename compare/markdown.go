package compare

import (
	"fmt"
	"io"
	"strings"
)

// Markdown writes a comparison for a comment on GitHub: the verdict, then the mean, range and count of the
// relevant changes of each metric, with its test cases folded away. Names stand in code spans, so that
// none of them mentions a person or breaks a table. It fails only when w does.
func Markdown(w io.Writer, c Comparison, o Options) error {
	var b strings.Builder
	if o.A != "" && o.B != "" {
		fmt.Fprintf(&b, "Comparison of %s (b) with %s (a).\n\n", codeSpan(o.B), codeSpan(o.A))
	}
	fmt.Fprintf(&b, "**%s**\n", plainMarkdown(c.Sentence))
	if c.Attention {
		fmt.Fprintf(&b, "\nDeserves attention: %s.\n", c.AttentionReason)
	}
	for _, s := range sections(c, o) {
		fmt.Fprintf(&b, "\n### %s\n", codeSpan(string(s.Metric.Name)))
		if s.Metric.Name != c.Headline {
			fmt.Fprintf(&b, "\n%s\n", plainMarkdown(s.Sentence))
		}
		if ranges := s.ranges(); ranges != nil {
			b.WriteString("\n| relevant | regressed | improved |\n|---|---|---|\n")
			for _, r := range ranges {
				fmt.Fprintf(&b, "| %s |\n", strings.Join(r, " | "))
			}
		}
		if len(s.notes) > 0 {
			b.WriteString("\n")
		}
		for _, note := range s.notes {
			fmt.Fprintf(&b, "- %s\n", plainMarkdown(note))
		}
		if len(s.rows) == 0 {
			continue
		}
		fmt.Fprintf(&b, "\n<details><summary>%s</summary>\n\n", detailsTitle(s))
		fmt.Fprintf(&b, "| %s |\n|---|--:|--:|--:|--:|--:|--:|---|\n", strings.Join(columns(), " | "))
		for _, r := range s.rows {
			fmt.Fprintf(&b, "| %s", codeSpan(r[0]))
			for _, cell := range r[1:] {
				fmt.Fprintf(&b, " | %s", plainMarkdown(cell))
			}
			b.WriteString(" |\n")
		}
		b.WriteString("\n</details>\n")
	}
	absentMarkdown(&b, "New in b", c.New, o)
	absentMarkdown(&b, "Missing in b", c.Missing, o)
	_, err := io.WriteString(w, b.String())
	return err
}

// detailsTitle is what a folded table shows of itself.
func detailsTitle(s section) string {
	title := plural(len(s.rows), "test case")
	if s.shared != "" {
		title += ", " + plainMarkdown(s.shared)
	}
	return title
}

// absentMarkdown lists what one side lacks.
func absentMarkdown(b *strings.Builder, title string, absent []Absent, o Options) {
	var lines []string
	for _, a := range absent {
		if o.shows(a.Metric) {
			lines = append(lines, fmt.Sprintf("- %s of %s\n", codeSpan(string(a.Metric)), codeSpan(a.Case.String())))
		}
	}
	if len(lines) > 0 {
		fmt.Fprintf(b, "\n%s:\n\n%s", title, strings.Join(lines, ""))
	}
}

// codeSpan writes a name as code that also holds inside a table.
func codeSpan(name string) string {
	return "`" + strings.NewReplacer("`", "'", "|", `\|`).Replace(printable(name)) + "`"
}

// plainMarkdown keeps foreign words in a sentence from being HTML or a mention.
func plainMarkdown(s string) string {
	return strings.NewReplacer("<", "&lt;", ">", "&gt;", "@", "&#64;", "`", "'", "*", `\*`, "|", `\|`).Replace(printable(s))
}
