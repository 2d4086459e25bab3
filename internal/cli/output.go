package cli

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/tachobench/tacho/internal/phrase"
	"github.com/tachobench/tacho/internal/visible"
)

// cleanly sends all later output through writers that show control characters, so that a terminal does not obey them. Call
// end when all is written. Commands that need the exact bytes use exactly.
func (p *Program) cleanly() (end func()) {
	stdout, stderr := visible.NewWriter(p.Stdout), visible.NewWriter(p.Stderr)
	p.raw, p.Stdout, p.Stderr = p.Stdout, stdout, stderr
	return func() {
		// An error cannot be reported any more.
		_, _ = stdout.Flush(), stderr.Flush()
	}
}

// exactly returns the writer for what programs read: stdout byte for byte, or onTerminal if stdout is a terminal.
func (p *Program) exactly(onTerminal io.Writer) io.Writer {
	if p.Terminal {
		return onTerminal
	}
	return p.raw
}

// jsonOut returns the writer for JSON. On a terminal it is the same JSON, with more characters written as escapes.
func (p *Program) jsonOut() io.Writer { return p.exactly(visible.NewJSONWriter(p.raw)) }

// json prints a value as indented JSON.
func (p *Program) json(v any) error { return indented(p.jsonOut(), v) }

// shownJSON prints a value as JSON for a person, also if stdout is not a terminal.
func (p *Program) shownJSON(v any) error { return indented(visible.NewJSONWriter(p.raw), v) }

func indented(w io.Writer, v any) error {
	e := json.NewEncoder(w)
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
			// Escapes count for the width of a column.
			cells[i] = visible.Text(strings.NewReplacer("\t", " ", "\r\n", " ", "\n", " ").Replace(cell))
		}
		fmt.Fprintln(t, strings.Join(cells, "\t"))
	}
	return t.Flush()
}

// short is phrase.Short for a column: an empty tag becomes "-".
func short[T ~string](tag T) string { return cmp.Or(phrase.Short(tag), "-") }

func moment(t *time.Time) string {
	if t == nil {
		return "-"
	}
	return t.Local().Format("2006-01-02 15:04:05")
}

// window returns a range of times. The second one has no day if both are on the same day. They have seconds if they are less
// than a minute apart.
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

func duration(ms int64) string { return phrase.Duration(time.Duration(ms) * time.Millisecond) }

// when returns the text if so is true, else "".
func when(so bool, text string) string {
	if so {
		return text
	}
	return ""
}
