package phrase

import "testing"

func TestMessagesThatDifferByChanceAreEqual(t *testing.T) {
	for _, test := range []struct {
		a, b string
		same bool
	}{
		{"at 0x7ffe12", "at 0xdeadBEEF", true},
		{"a.c:12:5: unused", "a.c:900:1: unused", true},
		{"a.c(12): unused", "a.c(13): unused", true},
		{"a.c(12,1): unused", "a.c(13,40): unused", true},
		{"on line 12", "on line 1", true},
		{"after 1.5 s", "after 203ms", true},
		{"2026-11-23T19:00:01.5Z x", "2025-01-02 03:04 x", true},
		{"19:00:01 x", "1:02:03.123 x", true},
		{"a.c:1 unused", "b.c:1 unused", false},
		{"3 arguments", "4 arguments", false},
		{"exit status 1", "exit status 2", false},
		{"x1", "x2", false},
	} {
		if same := WithoutChance(test.a) == WithoutChance(test.b); same != test.same {
			t.Errorf("%q is %q, %q is %q", test.a, WithoutChance(test.a), test.b, WithoutChance(test.b))
		}
	}
}
