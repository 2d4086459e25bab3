package compare

import (
	"regexp"
	"slices"
	"strings"
)

// telling matches a line that says why a program failed, in the words of compilers and runtimes.
var telling = regexp.MustCompile(`(?i)(^|[^a-z])(panic|fatal|error( ?\[[a-z0-9]+\]| [a-z]+[0-9]+)?|[a-z]+(error|exception)):( |$)|` +
	`panicked at |assertion|segmentation fault|out of memory|undefined reference|no space left on device|(?-i:^[A-Z][A-Za-z]*(Error|Exception)$)`)

const (
	// maxCommand is how many characters of the line about the failed command are shown, maxCause how many of its
	// output. Together they are the limit for any foreign text.
	maxCommand = 60
	maxCause   = maxName - maxCommand - 1
	// lastLines is how many of the last lines are shown when no line says why.
	lastLines = 2
)

// cause cuts a message of many lines to one line that says why something failed. It has the first line, which says
// which command failed and how, and the first line of the command's output that says why, or else its last lines.
func cause(message string) string {
	lines := slices.DeleteFunc(strings.FieldsFunc(message, func(r rune) bool { return r == '\n' || r == '\r' }), func(line string) bool {
		return strings.TrimSpace(line) == ""
	})
	for i, line := range lines {
		lines[i] = strings.TrimSpace(line)
	}
	switch {
	case len(lines) == 0:
		return ""
	case len(lines) == 1:
		return middle(lines[0], maxName)
	case telling.MatchString(lines[0]) && !strings.HasSuffix(lines[0], ":"):
		return middle(lines[0], maxName)
	}
	printed := lines[1:]
	at := slices.IndexFunc(printed, telling.MatchString)
	switch {
	case at < 0:
		printed = printed[max(0, len(printed)-lastLines):]
	case strings.HasSuffix(printed[at], ":"): // Rust says on the next line why it panicked
		printed = printed[at:min(at+2, len(printed))]
	default:
		printed = printed[at : at+1]
	}
	return middle(lines[0], maxCommand) + " " + middle(strings.Join(printed, " "), maxCause)
}

// middle leaves out the middle of a text that has more characters than limit.
func middle(text string, limit int) string {
	runes := []rune(text)
	if len(runes) <= limit {
		return text
	}
	head := limit / 2
	return string(runes[:head]) + "…" + string(runes[len(runes)-(limit-head-1):])
}
