package compare

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"
)

// Text writes a report as tables for a terminal: the verdict, new failures, then for each metric its test cases, which
// of them could not be judged and why, and the mean, range and count of its relevant changes. The p-values are the
// corrected ones. It fails only when w does.
func Text(w io.Writer, r Report, o Options) error {
	var b strings.Builder
	if r.Failure != "" {
		fmt.Fprintf(&b, "The request failed: %s\n", printable(cause(r.Failure)))
	}
	if again := r.Again.Words(); again != "" {
		fmt.Fprintf(&b, "Run again: %s\n", again)
	}
	if r.Incomplete != "" {
		fmt.Fprintf(&b, "Incomplete: %s\n", printable(r.Incomplete))
	}
	if forced := ForcedWords(r.Forced); forced != "" {
		fmt.Fprintf(&b, "Forced: %s\n", printable(forced))
	}
	for _, said := range r.Diagnostics {
		fmt.Fprintf(&b, "Diagnostics: %s\n", printable(said))
	}
	for _, note := range r.Notes {
		fmt.Fprintf(&b, "Definitions: %s\n", printable(note))
	}
	if r.A != "" && r.B != "" {
		fmt.Fprintf(&b, "a: %s\nb: %s\n", printable(r.A), printable(r.B))
	}
	said := r.Words()
	fmt.Fprintf(&b, "Overall: %s\n%s\n", said.Overall, said.Sentence)
	if c := r.Comparison; c != nil && len(c.Machines) > 0 {
		fmt.Fprintf(&b, "Measured on %s.\n", named(c.Machines, printable))
	}
	if r.Comparison != nil {
		textOf(&b, *r.Comparison, r.FailedCases, o)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// textOf writes the details after the verdict.
func textOf(b *strings.Builder, c Comparison, failed []FailedCase, o Options) {
	if c.Attention {
		fmt.Fprintf(b, "Deserves attention: %s.\n", c.AttentionReason)
	}
	failed = slices.DeleteFunc(slices.Clone(failed), func(f FailedCase) bool { return !f.New })
	if len(failed) > 0 {
		b.WriteString("\nnewly failed\n")
	}
	for _, f := range grouped(failed) {
		fmt.Fprintf(b, "  %s: %s%s\n", printable(f.name(printable)), printable(f.message), f.rest(printable))
	}
	var others [][]string
	for _, s := range sections(c, o) {
		if !o.details(s.Metric.Name, c.Headline) {
			others = append(others, []string{printable(string(s.Metric.Name)), printable(s.Sentence)})
			continue
		}
		fmt.Fprintf(b, "\n%s", printable(string(s.Metric.Name)))
		if s.shared != "" {
			fmt.Fprintf(b, " (%s)", s.shared)
		}
		b.WriteString("\n")
		if len(s.rows) > 0 {
			alignText(b, append([][]string{columns()}, s.rows...), 1, 7)
		}
		for _, note := range s.notes {
			fmt.Fprintf(b, "  %s\n", printable(note))
		}
		if s.Metric.Name != c.Headline {
			fmt.Fprintf(b, "  %s\n", printable(s.Sentence))
		}
		if ranges := s.ranges(); ranges != nil {
			b.WriteString("\n")
			alignText(b, append([][]string{{"relevant", "regressed", "improved"}}, ranges...), 0, 0)
		}
	}
	if len(others) > 0 {
		b.WriteString("\nother metrics\n")
		alignText(b, others, 0, 0)
	}
	absentText(b, "New in b", c.New, o)
	absentText(b, "Missing in b", c.Missing, o)
}

// alignText writes rows with aligned columns. Columns from index right up to index left are aligned right.
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

// absentText lists the metrics that one side lacks.
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
