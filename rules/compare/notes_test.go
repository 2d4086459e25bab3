package compare

import (
	"strings"
	"testing"
)

// What is special about the definitions is one line of each report, and cannot break it.
func TestNotesOnDefinitionsAreLines(t *testing.T) {
	r := Report{A: "a", B: "b", Measured: 1, Notes: []string{"the definitions in commit b cannot be used: bench.toml:3:1: <b>@all"}}
	var text strings.Builder
	err := Text(&text, r, Options{})
	if err != nil || !strings.Contains(text.String(), "Definitions: the definitions in commit b cannot be used: bench.toml:3:1: <b>@all\n") {
		t.Errorf("%s %v", text.String(), err)
	}
	var said strings.Builder
	err = Markdown(&said, r, Options{})
	if err != nil || !strings.Contains(said.String(), "> **Definitions:** `the definitions in commit b cannot be used: bench.toml:3:1: <b>@all`\n") {
		t.Errorf("%s %v", said.String(), err)
	}
}
