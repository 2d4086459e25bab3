package main

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"
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
		fmt.Fprintln(t, strings.Join(r, "\t"))
	}
	return t.Flush()
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

func moment(t *time.Time) string {
	if t == nil {
		return "-"
	}
	return t.Local().Format("2006-01-02 15:04:05")
}

func duration(ms int64) string {
	return (time.Duration(ms) * time.Millisecond).Round(100 * time.Millisecond).String()
}
