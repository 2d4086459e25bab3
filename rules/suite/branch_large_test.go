package suite

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// ambiguousBranches returns as many branches as a file may have, with the longest patterns. No one of them is more specific than
// another, and what two of them have in common shows at the end only.
func ambiguousBranches(t testing.TB, count int, common bool) []byte {
	var b strings.Builder
	b.WriteString(strings.Replace(small(t), "version = 1", "version = 2", 1))
	for i := range count {
		pattern := strings.Repeat("*a", 61) + fmt.Sprintf("*%04d", i)
		if common {
			pattern = strings.Repeat("*a", 61) + fmt.Sprintf("*%04d*", i)
		}
		fmt.Fprintf(&b, "\n[[branch]]\nmatch = %q\n", pattern)
	}
	return []byte(b.String())
}

// A file with more branches than are allowed is refused soon: the time grows as the file does, not with the pairs of its branches.
func TestTooManyBranchesAreRefusedQuickly(t *testing.T) {
	load := func(count int) time.Duration {
		text := ambiguousBranches(t, count, false)
		best := time.Hour // another process may take the core meanwhile
		for range 3 {
			began := time.Now()
			_, err := LoadBounded("small.toml", text, nil)
			if err == nil || !strings.Contains(err.Error(), "at most 64 are possible") {
				t.Fatal(err)
			}
			best = min(best, time.Since(began))
		}
		return best
	}
	if few, many := load(200), load(2000); many > 30*few {
		t.Errorf("200 branches are refused in %s, and 2000 in %s", few, many)
	}
}

// BenchmarkBranches checks branches with the longest patterns: the most that are allowed, and more.
func BenchmarkBranches(b *testing.B) {
	for _, count := range []int{maxBranches, 6000} {
		for _, common := range []bool{false, true} {
			b.Run(fmt.Sprintf("%d,common=%v", count, common), func(b *testing.B) {
				text := ambiguousBranches(b, count, common)
				for b.Loop() {
					_, err := LoadBounded("small.toml", text, nil)
					if (err != nil) != (common || count > maxBranches) {
						b.Fatal(err)
					}
				}
			})
		}
	}
}
