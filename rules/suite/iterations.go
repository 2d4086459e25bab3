package suite

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"time"

	"github.com/pelletier/go-toml/v2/unstable"

	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/rules/graph"
)

// Iterations is how often each test case is measured: a plain number, or a table that says when to end. A file and JSON
// have a plain number where Number is not 0, and a table otherwise; zero is the plain number 0.
type Iterations struct {
	Number int `toml:"-" json:"-"`
	// Min and Max are the fewest and the most iterations of a table.
	Min int `toml:"min" json:"min"`
	Max int `toml:"max" json:"max"`
	// Until is how narrow the interval of a test case is to be, in percent of its median ("0.5 %"). See ParsePercent.
	Until string `toml:"until" json:"until"`
	// Budget is how long the iterations of one test case may take together, as a Go duration; empty for any time.
	Budget string `toml:"budget" json:"budget,omitempty"`
}

// Until says when a test case has enough iterations: after Min of them or more, once its interval is narrow or its budget is
// spent.
type Until struct {
	Min int
	// Width is the largest half width of an interval that is narrow, as a share of the median: 0.005 for half a percent.
	Width float64
	// Budget is how long the iterations of a test case may take together, and ends them before Min, too; 0 for any time.
	Budget time.Duration
	// Times are the metrics that the definitions declare as times.
	Times []events.Metric
}

// IsZero reports whether nothing is said.
func (i Iterations) IsZero() bool { return i == Iterations{} }

// table reports whether i is a table.
func (i Iterations) table() bool { return i.Number == 0 && !i.IsZero() }

// most returns the most iterations.
func (i Iterations) most() int { return max(i.Number, i.Max) }

// iterationsTable is a table without the methods that make it a number.
type iterationsTable Iterations

// MarshalJSON writes a plain number or a table.
func (i Iterations) MarshalJSON() ([]byte, error) {
	if i.table() {
		return json.Marshal(iterationsTable(i))
	}
	return json.Marshal(i.Number)
}

// UnmarshalJSON reads a plain number, or a table without unknown keys.
func (i *Iterations) UnmarshalJSON(data []byte) error {
	*i = Iterations{}
	if !bytes.HasPrefix(bytes.TrimSpace(data), []byte("{")) {
		return json.Unmarshal(data, &i.Number)
	}
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	if err := dec.Decode((*iterationsTable)(i)); err != nil {
		return fmt.Errorf("iterations: %w", err)
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return errors.New("iterations: something follows the table")
	}
	return nil
}

const useIterations = `use a number, such as 5, or a table, such as { min = 5, max = 30, until = "0.5 %" }`

// UnmarshalText reads the plain number of a file. The decoder reads a table by its keys.
func (i *Iterations) UnmarshalText(text []byte) error {
	n, err := strconv.ParseInt(string(text), 0, 0)
	if err != nil {
		return unstable.NewParserError(text, "iterations is %q: %s", text, useIterations)
	}
	*i = Iterations{Number: int(n)}
	return nil
}

// until returns when a test case has enough; nil for a plain number.
func (i Iterations) until(metrics []MetricInfo) (*Until, error) {
	if !i.table() {
		return nil, nil
	}
	width, err := ParsePercent(i.Until)
	if err != nil {
		return nil, fmt.Errorf("until %w", err)
	}
	u := &Until{Min: i.Min, Width: width}
	if i.Budget != "" {
		if u.Budget, err = time.ParseDuration(i.Budget); err != nil {
			return nil, fmt.Errorf("budget: %w", err)
		}
	}
	for _, m := range metrics {
		if m.Class == "time" {
			u.Times = append(u.Times, m.Name)
		}
	}
	return u, nil
}

var percent = regexp.MustCompile(`^([0-9]{1,3}(?:\.[0-9]{1,6})?) ?%$`)

// ParsePercent reads a part in percent above 0 and up to 100, such as "0.5 %" or "2%", and returns it as a share: 0.005, 0.02.
func ParsePercent(text string) (float64, error) {
	wrong := fmt.Errorf("%q: use a part in percent above 0, such as \"0.5 %%\"", text)
	m := percent.FindStringSubmatch(text)
	if m == nil {
		return 0, wrong
	}
	value, err := strconv.ParseFloat(m[1], 64)
	if err != nil || value <= 0 || value > 100 {
		return 0, wrong
	}
	return value / 100, nil
}

// iterations checks how often test cases are measured.
func (c *checker) iterations(path string, d Definitions, i Iterations) {
	if c.has(textOf(path)) { // the decoder reads "5" as 5
		c.report(path, "iterations is a text: %s", useIterations)
		return
	}
	if !i.table() {
		if i.Number < 1 || i.Number > graph.MaxIterations {
			c.report(path, "iterations is %d: use 1 to %d", i.Number, graph.MaxIterations)
		}
		return
	}
	if d.Version < 2 {
		c.report(path, "iterations is a table: write version = 2 at the head of the file, so that programs that do not know it refuse the file")
	}
	switch {
	case i.Min < 1:
		c.report(join(path, "min"), "iterations.min is %d: use 1 or more", i.Min)
	case i.Max < i.Min:
		c.report(join(path, "max"), "iterations.max is %d, below min: use %d to %d", i.Max, i.Min, graph.MaxIterations)
	}
	if i.Max > graph.MaxIterations {
		c.report(join(path, "max"), "iterations.max is %d: use at most %d", i.Max, graph.MaxIterations)
	}
	if _, err := ParsePercent(i.Until); err != nil {
		c.report(join(path, "until"), "iterations.until %v", err)
	}
	if i.Budget == "" {
		return
	}
	if b, err := time.ParseDuration(i.Budget); err != nil || b <= 0 || b > maxTimeout {
		c.report(join(path, "budget"), "iterations.budget %q: use a duration above 0 and of at most %.0fh, such as \"2m\"", i.Budget, maxTimeout.Hours())
	}
}
