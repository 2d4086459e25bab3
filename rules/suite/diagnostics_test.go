package suite

import (
	"strings"
	"testing"
	"time"
)

func TestLinesAreRecognised(t *testing.T) {
	patterns := []DiagnosticPattern{
		{Pattern: `^(warning|error)(?:\[(?P<code>E\d+)\])?: `, Level: "$1", Code: "$code"},
		{Pattern: `^.*: (?i:note): `, Level: "note"},
		{Pattern: `^(maybe)?$`, Level: "$1"},
		{Pattern: `^$`, Level: "empty-$$"},
	}
	d, err := NewDiagnostics(patterns, []string{"error"})
	if err != nil {
		t.Fatal(err)
	}
	for line, want := range map[string]string{
		"warning: unused":       "warning/",
		"error[E0382]: moved":   "error/E0382",
		"a.c:1: Note: see here": "note/",
		"":                      "empty-$/",
		"compiling":             "none",
	} {
		got := "none"
		if level, code, ok := d.Recognise([]byte(line)); ok {
			got = level + "/" + code
		}
		if got != want {
			t.Errorf("%q is %s, want %s", line, got, want)
		}
	}
	if !d.Denies("error") || d.Denies("warning") {
		t.Error("it denies other levels")
	}
}

// Programs that try one alternative after the other need for ever for this line: 2 to the power of its length steps.
func TestNoPatternTakesExponentialTime(t *testing.T) {
	line := []byte(strings.Repeat("a", 4<<10) + "b")
	for _, pattern := range []string{`^(a+)+$`, `^(a|aa)+$`, `^(a*)*c`, `(.*)*=(.*)*x`} {
		d, err := NewDiagnostics([]DiagnosticPattern{{Pattern: pattern, Level: "x"}}, nil)
		if err != nil {
			t.Fatal(err)
		}
		begun := time.Now()
		if _, _, ok := d.Recognise(line); ok {
			t.Errorf("%s matches", pattern)
		}
		if took := time.Since(begun); took > 10*time.Second {
			t.Errorf("%s took %v", pattern, took)
		}
	}
}

func TestWrongDiagnosticsAreRefused(t *testing.T) {
	const steps = "steps = [[\"true\"]]\n"
	for _, test := range []struct{ kind, want string }{
		{`diagnostics = [{ pattern = "(", level = "x" }]`, `pattern "(" is no regular expression`},
		{`diagnostics = [{ pattern = "(?<=a)b", level = "x" }]`, "is no regular expression (RE2)"},
		{`diagnostics = [{ pattern = "", level = "x" }]`, "every line matches it: write which lines"},
		{`diagnostics = [{ pattern = "^w:" }]`, `pattern "^w:" has no level: write one`},
		{`diagnostics = [{ pattern = "` + strings.Repeat("a", 1001) + `", level = "x" }]`, "a pattern of 1001 bytes: use at most 1000"},
		{`diagnostics = [{ pattern = "a", level = "` + strings.Repeat("x", 201) + `" }]`, "level has 201 bytes: use at most 200"},
		{`diagnostics = [{ pattern = "(a)", level = "$2" }]`, `level "$2" refers to the group 2, which pattern "(a)" does not have`},
		{`diagnostics = [{ pattern = "(a)", level = "$1x" }]`, "refers to the group 1x"},
		{`diagnostics = [{ pattern = "(?P<l>a)", level = "$l", code = "${c}" }]`, `code "${c}" refers to the group c`},
		{`diagnostics = [` + strings.Repeat(`{ pattern = "a", level = "x" },`, 65) + `]`, "diagnostics has 65 patterns: use at most 64"},
		{`diagnostics = [{ pattern = "a", level = "x", severity = 1 }]`, `unknown key`},
		{`deny = ["warning"]`, `deny names "warning", and kind "lint" recognises no lines: write which ones`},
		{"diagnostics = [{ pattern = '^(warning|error): ', level = '$1' }]\ndeny = ['warnings']", `deny names "warnings", and no pattern of kind "lint" gives a line this level`},
		{"diagnostics = [{ pattern = 'a', level = 'warning' }]\ndeny = ['']", `deny names "", and no pattern`},
		{"diagnostics = [{ pattern = 'a', level = 'x' }]\ndeny = ['x', 'x']", `deny has "x" twice`},
	} {
		t.Run(test.want, func(t *testing.T) {
			_, err := Load("small.toml", []byte(commanding(t, steps+test.kind+"\n")), nil)
			if err == nil || !strings.Contains(err.Error(), test.want) || !strings.HasPrefix(err.Error(), "small.toml:") {
				t.Errorf("got %v", err)
			}
		})
	}
	for _, kind := range []string{
		"diagnostics = [{ pattern = '^(warning|error): ', level = '$1' }]\ndeny = ['warning', 'error']",
		"diagnostics = [{ pattern = '^(?i)(?P<l>warning): ', level = 'x-${l}', code = '$$' }]\ndeny = ['x-Warning']",
		"diagnostics = [{ pattern = '^(\\bwarn\\b)(.*)(.*)(.*)', level = '$1$2$3$4' }]\ndeny = ['anything']",
		"diagnostics = [{ pattern = '(^a$)', level = '$1' }]\ndeny = ['a']",
		"diagnostics = [{ pattern = 'a+', level = '$0' }]\ndeny = ['aaa']",
	} {
		if _, err := Load("small.toml", []byte(commanding(t, steps+kind+"\n")), nil); err != nil {
			t.Errorf("%s: %v", kind, err)
		}
	}
	for _, key := range []string{`diagnostics = [{ pattern = "a", level = "x" }]`, `deny = ["x"]`} {
		text := strings.Replace(commanding(t, key+"\n"), `does = "command"`, `does = "measure"`, 1)
		if _, err := Load("small.toml", []byte(text), nil); err == nil || !strings.Contains(err.Error(), `only for kinds with does = "command"`) {
			t.Errorf("of a kind that measures: %v", err)
		}
	}
}
