package control

import (
	"strings"
	"testing"

	"github.com/tachobench/tacho/events"
)

// An older program could not read a file and refused it. This one can.
func TestWhatWasRejectedCanBePublished(t *testing.T) {
	c, _ := start(t)
	d := definitions()
	d.Name = "mine"
	from := Origin{Branch: "main", Revision: "r1", File: "f1"}
	for i, existed := range []bool{false, true} {
		answer, err := c.Reject(t.Context(), by, d.Name, from, []string{"f.toml:1:1: version is 9"})
		if err != nil || answer.Existed != existed {
			t.Fatalf("rejection %d: %+v %v", i, answer, err)
		}
	}
	_, err := c.Definitions(t.Context(), d.Name, "")
	refused(t, err, NotFound, "those in its repository were refused")
	for i, existed := range []bool{false, true} {
		answer, err := c.PublishFrom(t.Context(), by, d, from)
		if err != nil || answer.Existed != existed {
			t.Fatalf("publication %d: %+v %v", i, answer, err)
		}
	}
	// The older one, which is still running, changes nothing.
	if answer, err := c.Reject(t.Context(), by, d.Name, from, []string{"f.toml:1:1: version is 9"}); err != nil || !answer.Existed {
		t.Errorf("%+v %v", answer, err)
	}
	lines, err := c.Lines(t.Context(), d.Name)
	if err != nil || lines["main"].Problems != nil || lines["main"].Digest != d.Digest() || lines["main"].File != "f1" {
		t.Errorf("%+v %v", lines["main"], err)
	}
	_, err = c.Definitions(t.Context(), d.Name, "")
	refused(t, err, NotFound, "for main alone")
}

func TestManyProblemsAreBounded(t *testing.T) {
	c, log := start(t)
	problems := make([]string, 1000)
	for i := range problems {
		problems[i] = strings.Repeat("é", 1000)
	}
	if _, err := c.Reject(t.Context(), by, "mine", Origin{Revision: "r", File: "f"}, problems); err != nil {
		t.Fatal(err)
	}
	last, _, err := log.Last(t.Context(), events.SuiteSubject("mine"))
	if err != nil {
		t.Fatal(err)
	}
	f := last.Fact.(events.DefinitionsRejected)
	if len(f.Problems) != maxProblems || f.Problems[maxProblems-1] != "and 981 more" || len(f.Problems[0]) > maxProblem+3 {
		t.Errorf("%d problems, the first of %d bytes, the last %q", len(f.Problems), len(f.Problems[0]), f.Problems[len(f.Problems)-1])
	}
}
