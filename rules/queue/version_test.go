package queue

import (
	"testing"

	"pgregory.net/rapid"
)

func TestCompareVersions(t *testing.T) {
	// Each name is older than the next.
	for _, list := range [][]string{
		{"1.9.0", "1.10.0", "1.10.1", "2.0.0", "10.0.0"},
		{"go1.9", "go1.25rc1", "go1.25rc2", "go1.25", "go1.25.0", "go1.25.3", "go1.25.10", "go1.26rc1"},
		{"v1.2.3-alpha", "v1.2.3-beta.2", "v1.2.3-beta.11", "v1.2.3", "v1.2.3+build", "v1.2.4"},
		{"beta-2024-12-31", "beta-2025-01-02", "beta-2025-02-01", "beta-2025-10-01"},
		{"1.1", "1.99999999999999999999998", "1.99999999999999999999999"},
		{"1.01", "1.1", "1.002"},
		{"", "1"},
	} {
		for i, a := range list {
			for j, b := range list {
				want := min(max(i-j, -1), 1)
				if got := compareVersions(a, b); got != want {
					t.Errorf("compareVersions(%q, %q) = %d, want %d", a, b, got, want)
				}
			}
		}
	}
}

func TestCompareVersionsIsTotal(t *testing.T) {
	name := rapid.StringMatching(`[a-c0-2.+~-]{0,6}`)
	rapid.Check(t, func(t *rapid.T) {
		a, b, c := name.Draw(t, "a"), name.Draw(t, "b"), name.Draw(t, "c")
		if x, y := compareVersions(a, b), compareVersions(b, a); x != -y {
			t.Errorf("%q against %q is %d, reversed %d", a, b, x, y)
		}
		if (compareVersions(a, b) == 0) != (a == b) {
			t.Errorf("%q and %q: equal in order and in name differ", a, b)
		}
		if compareVersions(a, b) < 0 && compareVersions(b, c) < 0 && compareVersions(a, c) >= 0 {
			t.Errorf("%q < %q < %q, but not %q < %q", a, b, c, a, c)
		}
	})
}
