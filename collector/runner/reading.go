package runner

import (
	"bytes"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/tachobench/tacho/rules/suite"
)

// quotedLine bounds what a message quotes of a line, in bytes.
const quotedLine = 300

// reading reads what a command prints while it runs, whatever there is of it, and keeps what its patterns say. Patterns see
// the pieces of a line of more than 64 KiB as lines.
type reading struct {
	plan *suite.StepsPlan
	// to gets all that is read.
	to func(text []byte)
	// said recognises diagnostics; nil for none.
	said *diagnosis
	// failed says which line was the first that is a failure, as they came from both outputs; empty if there was none.
	failed string
	// required says which of the patterns to require were found.
	required []bool
}

// lines takes one or more lines.
func (r *reading) lines(text []byte) {
	r.to(text)
	r.said.lines(text)
	if len(r.plan.Fail) == 0 && len(r.required) == 0 {
		return
	}
	for line := range bytes.Lines(text) {
		line = bytes.TrimRight(line, "\r\n")
		if i := matching(r.plan.Fail, line); i >= 0 && r.failed == "" {
			r.failed = fmt.Sprintf("a line matches %q, which is a failure: %s", r.plan.Success.Fail[i], quoted(line))
		}
		for i, p := range r.plan.Require {
			r.required[i] = r.required[i] || p.Match(line)
		}
	}
}

func matching(patterns []*regexp.Regexp, line []byte) int {
	return slices.IndexFunc(patterns, func(p *regexp.Regexp) bool { return p.Match(line) })
}

// quoted returns a line as a message shows it.
func quoted(line []byte) string {
	text := strings.ToValidUTF8(string(line[:min(len(line), quotedLine)]), "\uFFFD")
	if len(line) > quotedLine {
		text += "…"
	}
	return text
}
