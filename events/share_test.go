package events

import (
	"math"
	"testing"
)

// TestAChargeIsTheTimeTimesThePart: a charge never overflows, and a part that nobody says is the whole.
func TestAChargeIsTheTimeTimesThePart(t *testing.T) {
	for _, c := range []struct {
		part       int
		time, want int64
	}{
		{0, 61_500, 61_500},
		{1024, 61_500, 61_500},
		{4096, 7, 7},
		{-1, 7, 7},
		{512, 61_501, 30_750},
		{256, 1000, 250},
		{1, 1023, 0},
		{1, 1024, 1},
		{256, -1000, -250},
		{1023, math.MaxInt64, math.MaxInt64/1024*1023 + 1022},
	} {
		if got := (Share{Part: c.part}).Charge(c.time); got != c.want {
			t.Errorf("part %d of %d: %d, want %d", c.part, c.time, got, c.want)
		}
	}
}
