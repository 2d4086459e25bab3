package compare

import (
	"fmt"
	"strings"

	"github.com/tachobench/tacho/internal/phrase"
)

// ForcedJob is a job that a person let run although its needs were not met.
type ForcedJob struct {
	Name string `json:"name"`
	// Reason is what that person said.
	Reason string `json:"reason"`
}

// forcedNamed is how many forced jobs a sentence names.
const forcedNamed = 10

// ForcedWords says in a sentence which jobs were forced; empty if none was.
func ForcedWords(jobs []ForcedJob) string {
	if len(jobs) == 0 {
		return ""
	}
	var names []string
	for _, j := range jobs[:min(len(jobs), forcedNamed)] {
		names = append(names, fmt.Sprintf("%s (%s)", j.Name, j.Reason))
	}
	if more := len(jobs) - len(names); more > 0 {
		names = append(names, fmt.Sprintf("and %d more", more))
	}
	return fmt.Sprintf("%s ran although not all that %s had succeeded: %s.",
		phrase.Count(len(jobs), "job"), phrase.Verb(len(jobs), "it needs", "they need"), strings.Join(names, ", "))
}
