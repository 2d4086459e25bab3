package subprocess

import (
	"bytes"
	"fmt"
	"testing"
)

func TestLinesOfProgramsStayWhole(t *testing.T) {
	var out bytes.Buffer
	a, b := &Lines{To: &out}, &Lines{To: &out}
	fmt.Fprint(a, "one ")
	fmt.Fprint(b, "three\nfo")
	fmt.Fprint(a, "two\n")
	a.End()
	b.End()
	if got, want := out.String(), "three\none two\nfo\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
