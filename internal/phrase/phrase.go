// Package phrase words counts, times and commits for people, everywhere in the same way.
package phrase

import (
	"fmt"
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

// Moment returns a time in UTC, to the second.
func Moment(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05 UTC") }

// Short returns the first 10 digits of a commit's SHA. Other names stay as they are.
func Short[T ~string](name T) string {
	if s := string(name); len(s) != 40 || strings.Trim(s, "0123456789abcdef") != "" {
		return s
	}
	return string(name[:10])
}
