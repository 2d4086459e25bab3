package projector

import (
	"testing"
	"time"
)

// TestRest: the projector rests only when several events come at once and take long, and never when a full batch waits.
func TestRest(t *testing.T) {
	for _, c := range []struct {
		n, size    int
		took, want time.Duration
	}{
		{1, 1000, time.Second, 0},
		{20, 1000, 9 * time.Millisecond, 0},
		{20, 1000, 15 * time.Millisecond, 30 * time.Millisecond},
		{20, 1000, time.Second, 100 * time.Millisecond},
		{1000, 1000, time.Second, 0},
		{3, 3, time.Second, 0},
	} {
		if got := restAfter(c.n, c.size, c.took); got != c.want {
			t.Errorf("after %d of %d events in %v: %v, want %v", c.n, c.size, c.took, got, c.want)
		}
	}
}
