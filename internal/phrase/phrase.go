// Package phrase words counts, times and commits for people, everywhere in the same way.
package phrase

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Count returns a number and a noun: "1 job", "2 jobs".
func Count(n int, noun string) string {
	if n != 1 {
		noun += "s"
	}
	return fmt.Sprintf("%d %s", n, noun)
}

// Are returns a number and a noun with its verb: "1 job is", "2 jobs are".
func Are(n int, noun string) string {
	return Count(n, noun) + " " + Verb(n, "is", "are")
}

// Verb returns the form of a verb for one thing or for several.
func Verb(n int, one, several string) string {
	if n == 1 {
		return one
	}
	return several
}

// Moment returns a time in UTC, to the second.
func Moment(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05 UTC") }

// Bytes returns a size with at most one decimal: "512 B", "1.5 KiB", "20 GiB".
func Bytes(n int64) string {
	value, units := float64(n), []string{"B", "KiB", "MiB", "GiB", "TiB"}
	unit := 0
	for value >= 1024 && unit < len(units)-1 {
		value, unit = value/1024, unit+1
	}
	return strings.TrimSuffix(fmt.Sprintf("%.1f", value), ".0") + " " + units[unit]
}

// Duration returns a length of time in the two largest units that matter: "350 ms", "3.5 s", "12 s", "2 min 5 s", "1 h",
// "3 d 4 h". What is smaller is cut off; d is not negative.
func Duration(d time.Duration) string {
	switch {
	case d < time.Second:
		return fmt.Sprintf("%d ms", d.Milliseconds())
	case d < 10*time.Second && d%time.Second != 0:
		return fmt.Sprintf("%.1f s", d.Seconds())
	case d < time.Minute:
		return fmt.Sprintf("%d s", int(d.Seconds()))
	case d < time.Hour:
		return pairOf(int(d/time.Minute), "min", int(d%time.Minute/time.Second), "s")
	case d < 48*time.Hour:
		return pairOf(int(d/time.Hour), "h", int(d%time.Hour/time.Minute), "min")
	}
	return pairOf(int(d/(24*time.Hour)), "d", int(d%(24*time.Hour)/time.Hour), "h")
}

func pairOf(n int, unit string, rest int, smaller string) string {
	if rest == 0 {
		return fmt.Sprintf("%d %s", n, unit)
	}
	return fmt.Sprintf("%d %s %d %s", n, unit, rest, smaller)
}

// Short returns the first 10 digits of a commit's SHA. Other names stay as they are.
func Short[T ~string](name T) string {
	if s := string(name); len(s) != 40 || strings.Trim(s, "0123456789abcdef") != "" {
		return s
	}
	return string(name[:10])
}

// Thousands returns a number in groups of three digits: "1,073,741,824".
func Thousands(n int64) string {
	text := strconv.FormatInt(n, 10)
	for i := len(text) - 3; i > 0 && text[i-1] != '-'; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}
