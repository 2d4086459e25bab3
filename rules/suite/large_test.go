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

// The time to load a file grows as the file does: one with ten times as many profiles takes about as long as ten loads of the
// small one. Both have as much work, so that another process that takes the core hits both alike. It may hit one alone in a turn,
// but hardly in each of 50.
func TestLargeFilesAreLoadedQuickly(t *testing.T) {
	load := func(text []byte, times int) time.Duration {
		began := time.Now()
		for range times {
			if _, err := Load("small.toml", text, nil); err != nil {
				t.Fatal(err)
			}
		}
		return time.Since(began)
	}
	few, many := profiles(t, 600), profiles(t, 6000)
	ten, one := time.Hour, time.Hour
	for turn := 0; turn < 50 && (turn < 2 || one > 3*ten); turn++ {
		ten, one = min(ten, load(few, 10)), min(one, load(many, 1))
	}
	if one > 3*ten {
		t.Errorf("600 profiles are loaded ten times in %s, and 6000 in %s", ten, one)
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
