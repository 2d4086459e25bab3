package suite

import (
	"fmt"
	"strings"
)

// Problem is one problem of a suite file.
type Problem struct {
	File string
	// Line and Column count from 1; both are 0 when the problem concerns the file as a whole.
	Line, Column int
	// Message is a clear sentence with the key, the value and what would be right.
	Message string
}

// String returns the problem the way compilers do: "go.toml:12:3: message".
func (p Problem) String() string {
	if p.Line == 0 {
		return fmt.Sprintf("%s: %s", p.File, p.Message)
	}
	return fmt.Sprintf("%s:%d:%d: %s", p.File, p.Line, p.Column, p.Message)
}

// Problems are all problems of a suite file, in the order of its lines.
type Problems []Problem

// Error implements error: one problem a line.
func (p Problems) Error() string {
	lines := make([]string, len(p))
	for i, one := range p {
		lines[i] = one.String()
	}
	return strings.Join(lines, "\n")
}
