package website

import (
	"fmt"
	"math/rand/v2"
	"testing"
)

// What is kept never exceeds its bounds, is what was put, and leaves in the order of its last use.
func TestWhatIsKeptHasBounds(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	k := newKept[int](5, 100)
	var used []int // the last used first
	size := map[int]int{}
	note := func(n int) {
		at := 0
		for i, u := range used {
			if u == n {
				at = i
				used = append(used[:at:at], used[at+1:]...)
				break
			}
		}
		used = append([]int{n}, used...)
	}
	for range 20_000 {
		n := random.IntN(12)
		if value, ok := k.get(fmt.Sprint(n)); ok {
			if value != n {
				t.Fatalf("%d instead of %d", value, n)
			}
			if _, known := size[n]; !known {
				t.Fatalf("%d should have left", n)
			}
			note(n)
			continue
		} else if _, known := size[n]; known {
			t.Fatalf("%d left too early", n)
		}
		bytes := 1 + random.IntN(60)
		k.put(fmt.Sprint(n), n, bytes)
		if bytes > 50 {
			continue
		}
		size[n] = bytes
		note(n)
		sum := 0
		for _, b := range size {
			sum += b
		}
		for sum > 100 || len(size) > 5 {
			last := used[len(used)-1]
			used = used[:len(used)-1]
			sum -= size[last]
			delete(size, last)
		}
		if k.size != sum || len(k.by) != len(size) || k.order.Len() != len(size) {
			t.Fatalf("%d bytes in %d entries, want %d in %d", k.size, len(k.by), sum, len(size))
		}
	}
}
