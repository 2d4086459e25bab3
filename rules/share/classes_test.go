package share_test

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/tachobench/tacho/rules/share"
)

// Whatever classes come and go, and whatever queue is paused meanwhile: there is a job for each class that has work, and for no other.
func TestClassesComeAndGo(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		tree, l, item := share.New(), in("q", "a"), share.Item{ID: "r"}
		have, paused := [10]bool{}, false
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			c := rapid.IntRange(0, len(have)-1).Draw(t, "class")
			switch kind := rapid.IntRange(0, 9).Draw(t, "kind"); {
			case kind == 0:
				paused = !paused
				tree.SetQueue("q", share.Queue{Paused: paused})
			case have[c]:
				tree.Remove(l, share.Class(c), item)
				have[c] = false
			default:
				tree.Add(l, share.Class(c), item)
				have[c] = true
			}
			for c, want := range have {
				if _, got := tree.Pick(expectMinute, share.Class(c)); got != (want && !paused) {
					t.Fatalf("class %d has work: %t; the queue is paused: %t; a job is there: %t", c, want, paused, got)
				}
			}
		}
	})
}
