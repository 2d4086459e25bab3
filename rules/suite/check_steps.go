package suite

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// The bounds of what a kind runs.
const (
	maxCommands = 64
	maxPatterns = 64
	maxPattern  = 1000
)

// steps checks what the jobs of a kind run that are not measured.
func (c *checker) steps(path string, d Definitions, k Kind) {
	if k.Does != "" {
		c.reference(join(path, "does"), "does", k.Does, []string{DoesMeasure, DoesCommand, DoesBuild})
	}
	c.stored(path, d, k)
	c.reuse(join(path, "reuse"), d, k)
	if !k.RunsCommands() {
		c.noSteps(path, k)
		return
	}
	switch {
	case d.Version < 2:
		c.report(join(path, "does"), "kind %q has does = %q: write version = 2 at the head of the file, so that programs that do not know it refuse the file", k.Name, k.Does)
	case len(k.Steps) == 0:
		c.report(path, "kind %q has does = %q and no steps: write the commands that it runs, such as steps = [[\"./check.sh\", \"{artifact}\"]]", k.Name, k.Does)
	case len(k.Steps)+len(k.Always) > maxCommands:
		c.report(join(path, "steps"), "kind %q runs %d commands: use at most %d, or put them into a script", k.Name, len(k.Steps)+len(k.Always), maxCommands)
	}
	if k.PerSet {
		c.report(join(path, "per_set"), "kind %q has per_set and does = %q: sets part benchmarks, and it measures none; remove per_set", k.Name, k.Does)
	}
	c.build(path, d, k)
	c.commands(join(path, "steps"), d, k, k.Steps)
	c.commands(join(path, "always"), d, k, k.Always)
	for i, e := range k.Env {
		if name, _, ok := strings.Cut(e, "="); !ok || name == "" {
			c.report(index(join(path, "env"), i), "env %q: use NAME=value", e)
		}
	}
	if at := join(path, "timeout"); k.Timeout != "" || c.has(at) {
		c.timeout(at, k.Timeout)
	}
	if k.Source != "" {
		c.localPath(join(path, "source"), "source", k.Source)
	}
	c.success(join(path, "success"), k.Success)
	c.diagnostics(path, k)
}

// noSteps checks that a kind that measures has nothing that only commands have.
func (c *checker) noSteps(path string, k Kind) {
	for _, f := range []struct {
		key   string
		given bool
	}{
		{"steps", len(k.Steps) > 0},
		{"always", len(k.Always) > 0},
		{"source", k.Source != ""},
		{"env", len(k.Env) > 0},
		{"timeout", k.Timeout != ""},
		{"success", !k.Success.empty()},
		{"tokens", k.Tokens != Tokens{}},
		{"checkouts", len(k.Checkouts) > 0},
		{"retries", k.Retries != 0},
		{"diagnostics", len(k.Diagnostics) > 0},
		{"deny", len(k.Deny) > 0},
	} {
		if f.given {
			c.report(join(path, f.key), "%s is only for kinds with does = %q or %q: add it to kind %q, or remove %s", f.key, DoesCommand, DoesBuild, k.Name, f.key)
		}
	}
}

func (s Success) empty() bool {
	return len(s.Exit)+len(s.RetryExit)+len(s.Fail)+len(s.Require) == 0 && s.Metrics == ""
}

// commands checks the arguments of commands.
func (c *checker) commands(path string, d Definitions, k Kind, all [][]string) {
	known := k.fields(d)
	for i, argv := range all {
		at := index(path, i)
		if len(argv) == 0 || argv[0] == "" {
			c.report(at, "%s of kind %q has an empty command: remove it", path[strings.LastIndexByte(path, '.')+1:], k.Name)
			continue
		}
		c.cacheFields(at, argv, k)
		for j, argument := range argv {
			c.inputFields(index(at, j), argument, k)
			text := inputField.ReplaceAllString(cacheField.ReplaceAllString(argument, ""), "")
			for _, f := range field.FindAllString(text, -1) {
				if !slices.Contains(known, f) {
					c.report(index(at, j), "unknown field %s: use %s; a program with braces belongs into a script", f, either(known))
				}
			}
		}
	}
}

// success checks the rules for the end of the commands.
func (c *checker) success(path string, s Success) {
	for key, codes := range map[string][]int{"exit": s.Exit, "retry_exit": s.RetryExit} {
		for i, code := range codes {
			switch {
			case code < 0 || code > 255:
				c.report(index(join(path, key), i), "%s has %d: exit codes are 0 to 255", key, code)
			case slices.Index(codes, code) < i:
				c.report(index(join(path, key), i), "%s has %d twice", key, code)
			case key == "retry_exit" && (slices.Contains(s.Exit, code) || len(s.Exit) == 0 && code == 0):
				c.report(index(join(path, key), i), "%d is a success and asks for another try: take it out of exit or of retry_exit", code)
			}
		}
	}
	for key, patterns := range map[string][]string{"fail": s.Fail, "require": s.Require} {
		if len(patterns) > maxPatterns {
			c.report(join(path, key), "%s has %d patterns: use at most %d", key, len(patterns), maxPatterns)
		}
		for i, p := range patterns {
			at := index(join(path, key), i)
			_, err := regexp.Compile(p)
			switch {
			case err != nil:
				c.report(at, "%s %q is no regular expression (RE2): %v", key, p, err)
			case p == "":
				c.report(at, "%s has an empty pattern, which every line matches: remove it", key)
			case len(p) > maxPattern:
				c.report(at, "%s has a pattern of %d bytes: use at most %d", key, len(p), maxPattern)
			}
		}
	}
	if s.Metrics != "" {
		c.localPath(join(path, "metrics"), "metrics", s.Metrics)
	}
}

// measured checks that the kind of a benchmark measures at all.
func (c *checker) measured(path string, d Definitions, b BenchmarkDef) {
	if k, ok := d.Kind(b.Kind); ok && k.RunsCommands() {
		at := join(path, "kind")
		what := fmt.Sprintf("benchmark %q is of kind %q, which runs commands and measures no benchmarks: name another kind", b.Name, k.Name)
		if !c.has(at) {
			what += ", or put another kind first in the file"
		}
		c.report(at, "%s", what)
	}
}
