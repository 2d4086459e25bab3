package phrase

import (
	"regexp"
	"strings"
)

// chance is what differs between equal messages of programs: addresses, times, and places in files.
var chance = regexp.MustCompile(strings.Join([]string{
	`\b0[xX][0-9a-fA-F]+`,
	`\b\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:[.,]\d+)?)?(?:Z|[+-]\d\d:?\d\d)?)?`,
	`\b\d\d?:\d\d:\d\d(?:[.,]\d+)?`,
	`\b\d+(?:\.\d+)? ?(?:ns|µs|us|ms|s|sec|secs|seconds|min|minutes)\b`,
	`:\d+(?::\d+)*\b`,
	`\(\d+,\d+\)|\(\d+\) ?:`,
	`\b[Ll]ines? \d+(?:-\d+)?`,
}, "|"))

// WithoutChance returns a message of a program without what differs by chance. Two messages that are equal then say the same.
func WithoutChance(text string) string { return chance.ReplaceAllLiteralString(text, "#") }
