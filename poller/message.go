package poller

import (
	"regexp"
	"strconv"
	"strings"
)

// The forms in which the first line of a commit names the pull request that it merged.
var mergeForms = []*regexp.Regexp{
	regexp.MustCompile(`^Auto merge of #([0-9]+)\b`),           // bors, homu
	regexp.MustCompile(`^Merge pull request #([0-9]+) from\b`), // the merge button
	regexp.MustCompile(`\(#([0-9]+)\)$`),                       // squash, and merge queues
}

// pullRequest returns the number of the pull request that a commit merged, by its message; 0 for none.
func pullRequest(message string) int {
	line, _, _ := strings.Cut(strings.TrimLeft(message, "\r\n"), "\n")
	line = strings.TrimSpace(line)
	for _, form := range mergeForms {
		if m := form.FindStringSubmatch(line); m != nil {
			n, err := strconv.ParseInt(m[1], 10, 32)
			if err != nil {
				return 0
			}
			return int(n)
		}
	}
	return 0
}
