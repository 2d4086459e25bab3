package suite

import (
	"fmt"
	"regexp"
	"slices"
)

// Diagnostics recognises lines that are worth to be shown. The zero value recognises none.
type Diagnostics struct {
	patterns []recognised
	deny     []string
}

// recognised is a pattern, ready for use.
type recognised struct {
	expression  *regexp.Regexp
	level, code string
}

// NewDiagnostics returns what recognises lines by the patterns, the first one that matches. The error names a pattern that is
// no regular expression.
func NewDiagnostics(patterns []DiagnosticPattern, deny []string) (Diagnostics, error) {
	d := Diagnostics{deny: deny}
	for _, p := range patterns {
		e, err := regexp.Compile(p.Pattern)
		if err != nil {
			return Diagnostics{}, fmt.Errorf("diagnostics: %w", err)
		}
		d.patterns = append(d.patterns, recognised{e, p.Level, p.Code})
	}
	return d, nil
}

// Any reports whether there are lines to recognise.
func (d Diagnostics) Any() bool { return len(d.patterns) > 0 }

// Recognise returns level and code of a line, by the first pattern that matches and gives it a level; ok is false if there is
// none. The expressions are RE2: the time that they take grows with the length of the line, and never faster.
func (d Diagnostics) Recognise(line []byte) (level, code string, ok bool) {
	for _, p := range d.patterns {
		at := p.expression.FindSubmatchIndex(line)
		if at == nil {
			continue
		}
		level = string(p.expression.Expand(nil, []byte(p.level), line, at))
		if level != "" {
			return level, string(p.expression.Expand(nil, []byte(p.code), line, at)), true
		}
	}
	return "", "", false
}

// Denies reports whether a job that printed a line of the level is no success.
func (d Diagnostics) Denies(level string) bool { return slices.Contains(d.deny, level) }

// Deny are the levels that Denies.
func (d Diagnostics) Deny() []string { return d.deny }
