package suite

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// profiles returns a suite file with so many more profiles.
func profiles(t testing.TB, n int) []byte {
	var b strings.Builder
	b.WriteString(small(t))
	for i := range n {
		fmt.Fprintf(&b, "\n[[profile]]\nname = \"p%d\"\n", i)
	}
	return []byte(b.String())
}

// The time to load a file grows as the file does: ten times as many profiles take about ten times as long.
func TestLargeFilesAreLoadedQuickly(t *testing.T) {
	load := func(text []byte) time.Duration {
		best := time.Hour // another process may take the core meanwhile
		for range 3 {
			began := time.Now()
			_, err := Load("small.toml", text, nil)
			if err != nil {
				t.Fatal(err)
			}
			best = min(best, time.Since(began))
		}
		return best
	}
	if few, many := load(profiles(t, 600)), load(profiles(t, 6000)); many > 30*few {
		t.Errorf("600 profiles are loaded in %s, and 6000 in %s", few, many)
	}
}

func BenchmarkLoad(b *testing.B) {
	for _, n := range []int{10, 1000, 10_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			text := profiles(b, n)
			for b.Loop() {
				if _, err := Load("small.toml", text, nil); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
