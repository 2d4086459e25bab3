package compare

import (
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

// Text writes a comparison as tables for a terminal: the verdict, then for each metric its test cases, what
// could not be judged and why, and the mean, range and count of its relevant changes. The p-values are the
// corrected ones. It fails only when w does.
func Text(w io.Writer, c Comparison, o Options) error {
	var b strings.Builder
	if o.A != "" && o.B != "" {
		fmt.Fprintf(&b, "a: %s\nb: %s\n", printable(o.A), printable(o.B))
	}
	fmt.Fprintf(&b, "%s\n", printable(c.Sentence))
	if c.Attention {
		fmt.Fprintf(&b, "Deserves attention: %s.\n", c.AttentionReason)
	}
	var others [][]string
	for _, s := range sections(c, o) {
		if !o.details(s.Metric.Name, c.Headline) {
			others = append(others, []string{printable(string(s.Metric.Name)), printable(s.Sentence)})
			continue
		}
		fmt.Fprintf(&b, "\n%s", printable(string(s.Metric.Name)))
		if s.shared != "" {
			fmt.Fprintf(&b, " (%s)", s.shared)
		}
		b.WriteString("\n")
		if len(s.rows) > 0 {
			alignText(&b, append([][]string{columns()}, s.rows...), 1, 7)
		}
		for _, note := range s.notes {
			fmt.Fprintf(&b, "  %s\n", printable(note))
		}
		if s.Metric.Name != c.Headline {
			fmt.Fprintf(&b, "  %s\n", printable(s.Sentence))
		}
		if ranges := s.ranges(); ranges != nil {
			b.WriteString("\n")
			alignText(&b, append([][]string{{"relevant", "regressed", "improved"}}, ranges...), 0, 0)
		}
	}
	if len(others) > 0 {
		b.WriteString("\nother metrics\n")
		alignText(&b, others, 0, 0)
	}
	absentText(&b, "New in b", c.New, o)
	absentText(&b, "Missing in b", c.Missing, o)
	_, err := io.WriteString(w, b.String())
	return err
}

// alignText writes rows with their columns under one another; those from right up to left are aligned
// right.
func alignText(b *strings.Builder, rows [][]string, right, left int) {
	widths := make([]int, len(rows[0]))
	for _, r := range rows {
		for i, cell := range r {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	for _, r := range rows {
		var line strings.Builder
		for i, cell := range r {
			pad := strings.Repeat(" ", widths[i]-utf8.RuneCountInString(cell))
			line.WriteString("  ")
			if i >= right && i < left {
				line.WriteString(pad + cell)
			} else {
				line.WriteString(cell + pad)
			}
		}
		b.WriteString(strings.TrimRight(line.String(), " ") + "\n")
	}
}

// absentText lists what one side lacks.
func absentText(b *strings.Builder, title string, absent []Absent, o Options) {
	var lines []string
	for _, a := range absent {
		if o.shows(a.Metric) {
			lines = append(lines, "  "+printable(a.Case.String()+" "+string(a.Metric)))
		}
	}
	if len(lines) > 0 {
		fmt.Fprintf(b, "\n%s:\n%s\n", title, strings.Join(lines, "\n"))
	}
}
