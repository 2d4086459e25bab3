package projector

import (
	"bytes"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/tachobench/tacho/events"
)

const replacement = "\uFFFD"

// cleanText returns s as Postgres takes it: valid UTF-8 without the character 0. Nothing is lost: the archive keeps the
// data of events as bytes.
func cleanText(s string) string {
	if strings.IndexByte(s, 0) >= 0 {
		s = strings.ReplaceAll(s, "\x00", replacement)
	}
	if !utf8.ValidString(s) {
		s = strings.ToValidUTF8(s, replacement)
	}
	return s
}

var escapedZero = []byte(`\u0000`)

// cleanJSON returns JSON as Postgres takes it. It replaces each escaped character 0: a \u0000 with an even number of
// backslashes before it.
func cleanJSON(b []byte) []byte {
	for from := 0; ; {
		at := bytes.Index(b[from:], escapedZero)
		if at < 0 {
			return b
		}
		at += from
		before := at
		for before > 0 && b[before-1] == '\\' {
			before--
		}
		if (at-before)%2 == 0 {
			copy(b[at:], `\ufffd`)
		}
		from = at + len(escapedZero)
	}
}

// headerJSON returns the headers of a row as its column headers holds them (see EventRow.Header), in the order of names.
func headerJSON(row *eventRow, header map[string]string, names []string) string {
	b := []byte{'{'}
	begin := func(name string) {
		if len(b) > 1 {
			b = append(b, ',')
		}
		b = append(appendJSONText(b, name), ':')
	}
	for _, name := range names {
		if value, tells := row.Tells(name); !tells || value != header[name] {
			begin(name)
			b = appendJSONText(b, header[name])
		}
	}
	for _, name := range row.Told() {
		if _, has := header[name]; has {
			continue
		}
		if _, tells := row.Tells(name); tells {
			begin(name)
			b = append(b, "null"...)
		}
	}
	return string(append(b, '}'))
}

// appendJSONText appends s as a JSON string. Nearly all texts need only quotes.
func appendJSONText(b []byte, s string) []byte {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c >= utf8.RuneSelf || c == '"' || c == '\\' {
			quoted, err := json.Marshal(s)
			if err != nil { // a string can always be encoded
				quoted = []byte(`""`)
			}
			return append(b, quoted...)
		}
	}
	b = append(b, '"')
	b = append(b, s...)
	return append(b, '"')
}

// statistics returns the samples of a test case by metric: {"wall-time":[1.5,1.4]}. It has null for an
// iteration without the metric. Metrics are in the order of their names.
func statistics(iterations []events.Iteration) string {
	var names []events.Metric
	for i, it := range iterations {
		for metric := range it.Metrics {
			if i == 0 || !has(iterations[i-1], metric) { // most iterations have the same metrics
				names = append(names, metric)
			}
		}
	}
	slices.Sort(names)
	b := make([]byte, 0, 1024)
	for i, metric := range slices.Compact(names) {
		b = append(b, '{')
		if i > 0 {
			b[len(b)-1] = ','
		}
		b = appendJSONText(b, string(metric))
		b = append(b, ':')
		for n, it := range iterations {
			b = append(b, '[')
			if n > 0 {
				b[len(b)-1] = ','
			}
			if v, ok := it.Metrics[metric]; ok {
				b = strconv.AppendFloat(b, v, 'g', -1, 64)
			} else {
				b = append(b, "null"...)
			}
		}
		b = append(b, ']')
	}
	if len(b) == 0 {
		b = append(b, '{')
	}
	return string(cleanJSON(append(b, '}')))
}

func has(it events.Iteration, metric events.Metric) bool {
	_, ok := it.Metrics[metric]
	return ok
}

// interference returns what disturbed each iteration, by its index; nil if all are clean.
func interference(iterations []events.Iteration) *string {
	var b []byte
	for i, it := range iterations {
		if it.Interference == "" {
			continue
		}
		if b == nil {
			b = append(b, '{')
		} else {
			b = append(b, ',')
		}
		b = append(b, '"')
		b = strconv.AppendInt(b, int64(i), 10)
		b = append(b, '"', ':')
		b = appendJSONText(b, it.Interference)
	}
	if b == nil {
		return nil
	}
	return pointer(string(cleanJSON(append(b, '}'))))
}
