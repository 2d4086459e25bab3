package suite

import (
	"regexp"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestAPatternMatchesAsItsExpressionDoes(t *testing.T) {
	patterns := rapid.StringOfN(rapid.RuneFrom([]rune("ab/*?")), 0, 8, -1)
	branches := rapid.StringOfN(rapid.RuneFrom([]rune("ab/")), 0, 8, -1)
	rapid.Check(t, func(t *rapid.T) {
		a, b, name := patterns.Draw(t, "a"), patterns.Draw(t, "b"), branches.Draw(t, "name")
		expression := regexp.MustCompile("^" + strings.NewReplacer("*", ".*", "?", ".").Replace(a) + "$")
		if want := expression.MatchString(name); branchMatches(a, name) != want {
			t.Fatalf("%q matches %q: want %v", a, name, want)
		}
		common, both := commonName(a, b)
		if both && (!branchMatches(a, common) || !branchMatches(b, common)) {
			t.Fatalf("%q and %q do not both match %q", a, b, common)
		}
		if !both && branchMatches(a, name) && branchMatches(b, name) {
			t.Fatalf("%q and %q both match %q", a, b, name)
		}
		if moreSpecific(a, b) && moreSpecific(b, a) {
			t.Fatalf("%q and %q are each more specific", a, b)
		}
	})
}

// The time to tell whether two patterns can match the same name does not grow with the number of their wildcards.
func TestLongPatternsAreComparedFast(t *testing.T) {
	a, b := strings.Repeat("*a", 64), strings.Repeat("*b", 64)
	if name, ok := commonName(a, b); ok {
		t.Errorf("both match %q", name)
	}
	if name, ok := commonName(a, strings.Repeat("?", 126)+"*"); !ok || !branchMatches(a, name) {
		t.Errorf("%v %q", ok, name)
	}
	if branchMatches(a, strings.Repeat("a", 4000)+"b") {
		t.Error("it matches")
	}
}
