package runner

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/tachobench/tacho/rules/suite"
)

func FuzzDiagnose(f *testing.F) {
	f.Add([]byte("warning: x\nerror: y"))
	f.Add([]byte("\x1b[1mwarning\x1b[0m: \xff\x00 12:00:01 0x12"))
	f.Add([]byte("\x1b]0;t\x1b\\a: b\r\n\n"))
	rules, err := suite.NewDiagnostics([]suite.DiagnosticPattern{{Pattern: `^(\w*): `, Level: "$1", Code: "$0"}, {Pattern: ``, Level: "rest"}}, []string{"rest"})
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, printed []byte) {
		d := diagnose(Steps{Slot: "/slot", Plan: suite.StepsPlan{Diagnostics: rules}})
		d.lines(printed)
		lines, counted := 0, 0
		for level, n := range d.levels {
			lines += n
			if len(level) > wordBytes || !utf8.ValidString(level) {
				t.Errorf("level %q", level)
			}
		}
		for _, item := range d.items {
			counted += item.Count
			if len(item.Text) > diagnosticBytes || !utf8.ValidString(item.Text) || len(item.Code) > wordBytes || strings.ContainsFunc(item.Text, func(r rune) bool { return unicode.IsControl(r) && r != '\t' }) {
				t.Errorf("item %+v", item)
			}
		}
		encoded, err := json.Marshal(d.items)
		if err != nil || len(encoded) > mostDiagnosticBytes+mostDiagnostics || counted > lines || d.more == 0 && counted != lines || len(d.levels) > mostLevels+1 {
			t.Errorf("%d bytes, %d of %d lines, %d more, %d levels: %v", len(encoded), counted, lines, d.more, len(d.levels), err)
		}
	})
}
