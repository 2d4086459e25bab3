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

// cleanly has everything that is printed from now on go through a writer that shows what a terminal would obey, and
// returns what has to be done at the end. Whoever needs the bytes themselves asks for them: see exactly.
func (p *Program) cleanly() (end func()) {
	stdout, stderr := visible.NewWriter(p.Stdout), visible.NewWriter(p.Stderr)
	p.raw, p.Stdout, p.Stderr = p.Stdout, stdout, stderr
	return func() {
		// There is nobody left to tell of an error.
		_, _ = stdout.Flush(), stderr.Flush()
	}
}

// exactly is stdout for what programs read: byte for byte, unless a person looks at it.
func (p *Program) exactly(onTerminal io.Writer) io.Writer {
	if p.Terminal {
		return onTerminal
	}
	return p.raw
}

// jsonOut is stdout for JSON. It is the same JSON on a terminal, where more is written as escapes.
func (p *Program) jsonOut() io.Writer { return p.exactly(visible.NewJSONWriter(p.raw)) }

// json prints a value as indented JSON.
func (p *Program) json(v any) error { return indented(p.jsonOut(), v) }

// shownJSON prints a value as JSON for a person, wherever it goes.
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
			// The columns are as wide as what is shown.
			cells[i] = visible.Text(strings.NewReplacer("\t", " ", "\r\n", " ", "\n", " ").Replace(cell))
		}
		fmt.Fprintln(t, strings.Join(cells, "\t"))
	}
	return t.Flush()
}

// short is phrase.Short for a column, which is never empty.
func short[T ~string](tag T) string { return cmp.Or(phrase.Short(tag), "-") }

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

func duration(ms int64) string { return phrase.Duration(time.Duration(ms) * time.Millisecond) }

// when returns the text if it is so, and nothing else.
func when(so bool, text string) string {
	if so {
		return text
	}
	return ""
}
