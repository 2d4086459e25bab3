package main

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"
	"unicode"
)

// json prints a value as indented JSON.
func (p *program) json(v any) error {
	e := json.NewEncoder(p.stdout)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	return e.Encode(v)
}

// table prints rows under headings, in columns.
func table(w io.Writer, headings []string, rows [][]string) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, strings.Join(headings, "\t"))
	for _, r := range rows {
		cells := make([]string, len(r))
		for i, cell := range r {
			cells[i] = strings.NewReplacer("\t", " ", "\n", " ").Replace(printable(cell))
		}
		fmt.Fprintln(t, strings.Join(cells, "\t"))
	}
	return t.Flush()
}

// printable is a text that does nothing to a terminal: what came from GitHub, or from a benchmark, may hold
// sequences that clear a screen, or that turn the direction of writing.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		if r != '\n' && r != '\t' && (unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r)) {
			return unicode.ReplacementChar
		}
		return r
	}, s)
}

// short cuts a SHA for people; other tags stay.
func short[T ~string](tag T) string {
	if s := string(tag); len(s) == 40 && strings.Trim(s, "0123456789abcdef") == "" {
		return s[:10]
	}
	if tag == "" {
		return "-"
	}
	return string(tag)
}

// several counts things: "1 job", "2 jobs".
func several(n int, what string) string {
	if n != 1 {
		what += "s"
	}
	return fmt.Sprintf("%d %s", n, what)
}

func moment(t *time.Time) string {
	if t == nil {
		return "-"
	}
	return t.Local().Format("2006-01-02 15:04:05")
}

// window is a range of times; the second one without its day when that is the same, and with seconds when they matter.
func window(earliest, latest *time.Time) string {
	if earliest == nil || latest == nil {
		return "-"
	}
	low, high := earliest.Local(), latest.Local()
	clock := "15:04"
	if high.Sub(low) < time.Minute {
		clock = time.TimeOnly
	}
	layout := "2006-01-02 " + clock
	if low.Format(time.DateOnly) == high.Format(time.DateOnly) {
		layout = clock
	}
	return low.Format("2006-01-02 "+clock) + " – " + high.Format(layout)
}

func duration(ms int64) string {
	return (time.Duration(ms) * time.Millisecond).Round(100 * time.Millisecond).String()
}
