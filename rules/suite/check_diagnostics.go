package suite

import (
	"regexp"
	"regexp/syntax"
	"slices"
	"strconv"
	"strings"
)

const (
	// maxLevel bounds what a file can write as a level or a code, in bytes.
	maxLevel = 200
	// maxGroups bounds how many groups a level is made of whose levels are looked at.
	maxGroups = 3
)

var anything = regexp.MustCompile("")

// groupReference is a group that a level or a code refers to, as regexp.Expand reads it.
var groupReference = regexp.MustCompile(`\$(?:\$|(\w+)|\{(\w+)\})`)

// diagnostics checks which lines of the commands of a kind are worth to be shown.
func (c *checker) diagnostics(path string, k Kind) {
	at := join(path, "diagnostics")
	if len(k.Diagnostics) > maxPatterns {
		c.report(at, "diagnostics has %d patterns: use at most %d", len(k.Diagnostics), maxPatterns)
	}
	var levels []*regexp.Regexp
	known := true
	for i, p := range k.Diagnostics {
		parsed := c.diagnosticPattern(index(at, i), p)
		if parsed == nil {
			known = false
			continue
		}
		if len(k.Deny) > 0 {
			levels = append(levels, levelsOf(p.Level, parsed))
		}
	}
	for i, level := range k.Deny {
		here := index(join(path, "deny"), i)
		switch {
		case slices.Index(k.Deny, level) < i:
			c.report(here, "deny has %q twice", level)
		case len(k.Diagnostics) == 0:
			c.report(here, "deny names %q, and kind %q recognises no lines: write which ones, such as diagnostics = [{ pattern = '^warning:', level = \"warning\" }]", level, k.Name)
		case known && !slices.ContainsFunc(levels, func(l *regexp.Regexp) bool { return l.MatchString(level) }):
			c.report(here, "deny names %q, and no pattern of kind %q gives a line this level: name a level of diagnostics", level, k.Name)
		}
	}
}

// diagnosticPattern checks one pattern, and returns it; nil if something is wrong with it.
func (c *checker) diagnosticPattern(at string, p DiagnosticPattern) *syntax.Regexp {
	parsed, err := syntax.Parse(p.Pattern, syntax.Perl)
	switch {
	case err != nil:
		c.report(join(at, "pattern"), "pattern %q is no regular expression (RE2): %v", p.Pattern, err)
		return nil
	case p.Pattern == "":
		c.report(at, "a pattern of diagnostics is empty, and every line matches it: write which lines it recognises")
		return nil
	case len(p.Pattern) > maxPattern:
		c.report(join(at, "pattern"), "diagnostics has a pattern of %d bytes: use at most %d", len(p.Pattern), maxPattern)
		return nil
	case p.Level == "":
		c.report(at, "pattern %q has no level: write one, such as level = \"warning\", or the group that has it, such as level = \"$1\"", p.Pattern)
		return nil
	}
	whole := true
	for _, f := range []struct{ key, text string }{{"level", p.Level}, {"code", p.Code}} {
		if len(f.text) > maxLevel {
			c.report(join(at, f.key), "%s has %d bytes: use at most %d", f.key, len(f.text), maxLevel)
			whole = false
		}
		for _, found := range groupReference.FindAllStringSubmatch(f.text, -1) {
			name := found[1] + found[2]
			if name != "" && group(parsed, name) == nil {
				c.report(join(at, f.key), "%s %q refers to the group %s, which pattern %q does not have: write ${1} for its first group, and $$ for a $", f.key, f.text, name, p.Pattern)
				whole = false
			}
		}
	}
	if !whole {
		return nil
	}
	return parsed
}

// group returns the group of an expression with the name or the number; nil if it has none.
func group(e *syntax.Regexp, name string) *syntax.Regexp {
	number, err := strconv.Atoi(name)
	if err == nil && number == 0 {
		return e
	}
	if e.Op == syntax.OpCapture && (e.Name == name || err == nil && e.Cap == number) {
		return e
	}
	for _, part := range e.Sub {
		if found := group(part, name); found != nil {
			return found
		}
	}
	return nil
}

// levelsOf returns what matches the levels that a pattern can give, and maybe some more: everything where to know it would
// cost much.
func levelsOf(level string, pattern *syntax.Regexp) *regexp.Regexp {
	var text strings.Builder
	text.WriteString(`^(?s:`)
	last := 0
	groups := groupReference.FindAllStringSubmatchIndex(level, -1)
	if len(groups) > maxGroups {
		return anything
	}
	for _, at := range groups {
		text.WriteString(regexp.QuoteMeta(level[last:at[0]]))
		last = at[1]
		switch {
		case at[2] >= 0:
			text.WriteString("(?:" + unanchored(group(pattern, level[at[2]:at[3]])) + ")?")
		case at[4] >= 0:
			text.WriteString("(?:" + unanchored(group(pattern, level[at[4]:at[5]])) + ")?")
		default:
			text.WriteString(`\$`)
		}
	}
	text.WriteString(regexp.QuoteMeta(level[last:]) + `)$`)
	e, err := regexp.Compile(text.String())
	if err != nil { // too large together
		return anything
	}
	return e
}

// unanchored returns a part of an expression as it matches on its own: what it says about its surroundings is left out.
func unanchored(e *syntax.Regexp) string {
	return loose(e).String()
}

func loose(e *syntax.Regexp) *syntax.Regexp {
	// The others stay as they are.
	//exhaustive:ignore
	switch e.Op {
	case syntax.OpBeginLine, syntax.OpEndLine, syntax.OpBeginText, syntax.OpEndText, syntax.OpWordBoundary, syntax.OpNoWordBoundary:
		return &syntax.Regexp{Op: syntax.OpEmptyMatch}
	}
	free := *e
	if e.Op == syntax.OpCapture {
		free = syntax.Regexp{Op: syntax.OpConcat, Flags: e.Flags}
	}
	free.Sub = make([]*syntax.Regexp, len(e.Sub))
	for i, part := range e.Sub {
		free.Sub[i] = loose(part)
	}
	return &free
}
