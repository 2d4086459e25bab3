package suite

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/tachobench/tacho/events"
)

// For any bytes, Load returns problems or definitions that every other function can use. LoadBounded returns the same, or that
// the file exceeds a bound.
func FuzzLoad(f *testing.F) {
	text := small(f)
	f.Add([]byte(text))
	f.Add([]byte(choices(f)))
	f.Add([]byte(strings.ReplaceAll(text, "= [", "= [{},")))
	f.Add([]byte(strings.ReplaceAll(strings.Replace(text, "version = 1", "version = 2", 1), "iterations = 3", "iterations = "+fiveToThirty)))
	f.Add([]byte(strings.ReplaceAll(text, "[[", "[")))
	f.Add([]byte("a = {b.c = [[[{d = 1}]]]}\n[[x.y]]\n[x.y.z]\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		d, err := Load("f.toml", data, anyDigest)
		bounded, inBounds := LoadBounded("f.toml", data, anyDigest)
		said := fmt.Sprint(inBounds)
		exceeds := strings.Contains(said, "too large for definitions") || strings.Contains(said, "can be made") || strings.Contains(said, "…")
		if fmt.Sprint(err) != said && !exceeds {
			t.Fatalf("got %v, within bounds %v", err, said)
		}
		if err == nil && inBounds == nil && d.Digest() != bounded.Digest() {
			t.Fatal("within bounds they are other definitions")
		}
		if err != nil {
			var problems Problems
			if !errors.As(err, &problems) || len(problems) == 0 {
				t.Fatalf("no problems: %v", err)
			}
			return
		}
		if err := use(t, d); err != nil {
			t.Fatalf("what was checked cannot be planned: %v", err)
		}
	})
}

// Definitions that Parse accepts have one canonical form, and no job of theirs makes the program panic.
func FuzzParse(f *testing.F) {
	golden, err := os.ReadFile("testdata/small.canonical.json")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(golden)
	f.Add(load(f, "testdata/choices.toml").Canonical())
	f.Add(bytes.ReplaceAll(golden, []byte(`"iterations":3`), []byte(`"iterations":{"max":30,"min":5,"until":"0.5 %"}`)))
	f.Add([]byte(`{"version":1,"benchmarks":[{}],"kinds":[{"primary":true}],"targets":[{"sets":-3}]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		d, err := Parse(data)
		if err != nil {
			return
		}
		// Parse does not check: an expansion or a plan may fail, if it returns an error.
		err = use(t, d)
		if err != nil && !strings.HasPrefix(err.Error(), "plan job") && !d.HasChoices() && !strings.Contains(err.Error(), ": when, at character") {
			t.Fatal(err)
		}
	})
}

// use calls every function that takes definitions and returns the error of the first job that cannot be planned.
func use(t *testing.T, d Definitions) error {
	t.Helper()
	canonical := d.Canonical()
	again, err := Parse(canonical)
	if err != nil {
		t.Fatalf("the canonical form is not read: %v", err)
	}
	if !bytes.Equal(canonical, again.Canonical()) {
		t.Fatalf("two canonical forms:\n%s\n%s", canonical, again.Canonical())
	}
	if diff := Diff(d, again); len(diff) != 0 {
		t.Fatalf("differs from itself: %v", diff)
	}
	own, backfill, err := d.Expand(request(d, events.Try, events.Parameters{}))
	if err != nil {
		return err
	}
	if _, err := d.Sizes(); err != nil {
		return err
	}
	for _, j := range append(own, backfill...) {
		if _, err := d.Plan(j); err != nil {
			return err
		}
	}
	return nil
}
