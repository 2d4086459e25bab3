package main

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"text/tabwriter"
	"time"
)

// Report is what a run found.
type Report struct {
	Machine Machine  `json:"machine"`
	Scale   int      `json:"scale"`
	Results []Result `json:"results"`
}

// Machine is what the absolute numbers depend on.
type Machine struct {
	At         time.Time `json:"at"`
	Go         string    `json:"go"`
	Processors int       `json:"processors"`
	// Load is the load average of the last minute when the run began; empty where the system does not tell.
	Load string `json:"load,omitempty"`
	// SyncMS is how long the disk takes to sync a few bytes, in milliseconds; 0 if that could not be tried.
	SyncMS float64 `json:"sync_ms,omitempty"`
}

func look(dir string) Machine {
	m := Machine{At: time.Now().UTC().Truncate(time.Second), Go: runtime.Version(), Processors: runtime.NumCPU(), SyncMS: syncTime(dir)}
	if text, err := os.ReadFile("/proc/loadavg"); err == nil {
		m.Load, _, _ = strings.Cut(string(text), " ")
	}
	return m
}

// syncTime returns the median time of a small synced write.
func syncTime(dir string) float64 {
	name := filepath.Join(dir, fmt.Sprintf("tacho-bench-sync-%d", os.Getpid()))
	f, err := os.Create(name)
	if err != nil {
		return 0
	}
	defer os.Remove(name)
	defer f.Close()
	var took []time.Duration
	for range 50 {
		began := time.Now()
		_, err := f.Write(make([]byte, 512))
		if err == nil {
			err = f.Sync()
		}
		if err != nil {
			return 0
		}
		took = append(took, time.Since(began))
	}
	return quantile(took, 0.5)
}

func (m Machine) String() string {
	return fmt.Sprintf("%s, %s, %d processors, load %s at the beginning, a synced write takes %s ms",
		m.At.Format(time.RFC3339), m.Go, m.Processors, m.Load, number(m.SyncMS))
}

func (r Report) json(w io.Writer) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(r)
}

// begin prints what is to be known before the rows.
func (r Report) begin(w io.Writer) {
	fmt.Fprintf(w, "%s, scale %d\n", r.Machine, r.Scale)
	fmt.Fprintln(w, "Medians, in parentheses the least and the most of all turns. Ratios are Tacho's median over that of the peer.")
}

// text prints a row, in at most 160 columns.
func (r Result) text(w io.Writer) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintf(t, "\n%s: %s (%s)\n", r.Row, r.Work, r.Took.Round(100*time.Millisecond))
	if r.Failure != "" {
		fmt.Fprintf(t, "  failed: %s\n", r.Failure)
	}
	for _, l := range r.Lines {
		fmt.Fprintf(t, "  %s\t%s\t%s\t%s\t%s\t%s\n", l.Figure, l.numbers(), l.peer(true), l.ratio(), l.goal(), l.verdict())
	}
	return t.Flush()
}

// end prints what came of all rows.
func (r Report) end(w io.Writer) error {
	_, err := fmt.Fprintf(w, "\n%s\n", r.summary())
	return err
}

// markdown prints the table of docs/performance.md.
func (r Report) markdown(w io.Writer) error {
	fmt.Fprintf(w, "%s, scale %d.\n\n| row | figure | Tacho | peer | ratio | goal | |\n|---|---|---|---|---|---|---|\n", r.Machine, r.Scale)
	for _, result := range r.Results {
		if result.Failure != "" {
			fmt.Fprintf(w, "| `%s` | failed: %s | | | | | |\n", result.Row, strings.ReplaceAll(result.Failure, "|", "/"))
		}
		for _, l := range result.Lines {
			fmt.Fprintf(w, "| `%s` | %s | %s %s | %s | %s | %s | %s |\n", result.Row, l.Figure, number(l.Tacho.Median), l.Unit, l.peer(false), l.ratio(), l.goal(), l.verdict())
		}
	}
	_, err := fmt.Fprintf(w, "\n%s\n", r.summary())
	return err
}

func (r Report) summary() string {
	reached, goals, failed := 0, 0, 0
	for _, result := range r.Results {
		if result.Failure != "" {
			failed++
		}
		for _, l := range result.Lines {
			if l.Reached != nil {
				goals++
				if *l.Reached {
					reached++
				}
			}
		}
	}
	text := fmt.Sprintf("%d of %d goals are reached.", reached, goals)
	if failed > 0 {
		text += fmt.Sprintf(" %d rows failed.", failed)
	}
	return text
}

func (l Line) numbers() string { return l.Tacho.in(l.Unit) }

func (n Numbers) in(unit string) string {
	return fmt.Sprintf("%s %s (%s … %s)", number(n.Median), unit, number(n.Least), number(n.Most))
}

// peer names the peer with its numbers. The spread is left out where there is no room.
func (l Line) peer(spread bool) string {
	switch {
	case l.Theirs == nil:
		return ""
	case spread:
		return l.Peer + ": " + l.Theirs.in(l.Unit)
	}
	return fmt.Sprintf("%s: %s %s", l.Peer, number(l.Theirs.Median), l.Unit)
}

func (l Line) ratio() string {
	if l.Theirs == nil {
		return ""
	}
	return number(l.Ratio) + " ×"
}

func (l Line) goal() string {
	if l.Goal == nil {
		return ""
	}
	sign := "≥"
	if l.Better == lower {
		sign = "≤"
	}
	unit := "×"
	if l.Theirs == nil {
		unit = l.Unit
	}
	return fmt.Sprintf("%s %s %s", sign, number(*l.Goal), unit)
}

func (l Line) verdict() string {
	switch {
	case l.Reached == nil:
		return ""
	case *l.Reached:
		return "reached"
	}
	return "MISSED"
}

// number prints three digits that count, and all of a large number, in groups.
func number(v float64) string {
	if math.Abs(v) < 100 {
		return strings.TrimSuffix(fmt.Sprintf("%.3g", v), ".")
	}
	digits := []byte(fmt.Sprintf("%.0f", v))
	for at := len(digits) - 3; at > 0 && digits[at-1] != '-'; at -= 3 {
		digits = slices.Insert(digits, at, ',')
	}
	return string(digits)
}
