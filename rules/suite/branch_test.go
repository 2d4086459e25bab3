package suite

import (
	"regexp"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestAPatternMatchesAsItsExpressionDoes(t *testing.T) {
	patterns := rapid.StringOfN(rapid.RuneFrom([]rune("ab/*?")), 0, 8, -1)
	branches := rapid.StringOfN(rapid.RuneFrom([]rune("ab/")), 0, 4, -1)
	rapid.Check(t, func(t *rapid.T) {
		a, b := patterns.Draw(t, "a"), patterns.Draw(t, "b")
		name := strings.NewReplacer("*", branches.Draw(t, "star"), "?", "b").Replace(a)
		if rapid.Bool().Draw(t, "other") {
			name = branches.Draw(t, "name")
		}
		expression := regexp.MustCompile("^" + strings.NewReplacer("*", ".*", "?", ".").Replace(a) + "$")
		if want := expression.MatchString(name); BranchMatches(a, name) != want {
			t.Fatalf("%q matches %q: want %v", a, name, want)
		}
		common, both := commonName(a, b)
		if both && (!BranchMatches(a, common) || !BranchMatches(b, common)) {
			t.Fatalf("%q and %q do not both match %q", a, b, common)
		}
		if !both && BranchMatches(a, name) && BranchMatches(b, name) {
			t.Fatalf("%q and %q both match %q", a, b, name)
		}
		if moreSpecific(a, b) && moreSpecific(b, a) {
			t.Fatalf("%q and %q are each more specific", a, b)
		}
	})
}

func TestPatternsWithACommonName(t *testing.T) {
	for _, c := range []struct {
		a, b string
		both bool
	}{
		{"*", "aab", true},
		{"a*b", "*aab*", true},
		{"release/*", "*/1.2-stable", true},
		{"release/*", "feature/*", false},
		{"a?", "?b", true},
		{"a?", "?bc", false},
		{"", "*", true},
		{"", "?", false},
	} {
		for _, pair := range [][2]string{{c.a, c.b}, {c.b, c.a}} {
			if name, both := commonName(pair[0], pair[1]); both != c.both {
				t.Errorf("%q and %q: %q, %v", pair[0], pair[1], name, both)
			}
		}
	}
}

// The time to tell whether two patterns can match the same name does not grow with the number of their wildcards.
func TestLongPatternsAreComparedFast(t *testing.T) {
	a, b := strings.Repeat("*a", 64), strings.Repeat("*b", 64)
	if name, ok := commonName(a, b); ok {
		t.Errorf("both match %q", name)
	}
	if name, ok := commonName(a, strings.Repeat("?", 126)+"*"); !ok || !BranchMatches(a, name) {
		t.Errorf("%v %q", ok, name)
	}
	if BranchMatches(a, strings.Repeat("a", 4000)+"b") {
		t.Error("it matches")
	}
}
