// Package phrase says counts, times and commits to people, alike wherever they are said.
package phrase

import (
	"fmt"
	"strings"
	"time"
)

// Count says how many there are of what a noun names: "1 job", "2 jobs".
func Count(n int, noun string) string {
	if n != 1 {
		noun += "s"
	}
	return fmt.Sprintf("%d %s", n, noun)
}

// Moment says a time, to the second.
func Moment(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05 UTC") }

// Short cuts the SHA of a commit. Other names stay as they are.
func Short[T ~string](name T) string {
	if s := string(name); len(s) != 40 || strings.Trim(s, "0123456789abcdef") != "" {
		return s
	}
	return string(name[:10])
}
