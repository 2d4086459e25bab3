package share

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/tachobench/tacho/events"
)

func TestHeapFindsTheSmallest(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	var h heap
	var in []*node
	least := func() *node {
		return slices.MinFunc(in, func(a, b *node) int {
			if a.entry().before(b.entry()) {
				return -1
			}
			return 1
		})
	}
	for range 20_000 {
		switch k := random.IntN(3); {
		case k == 0 || len(in) < 30:
			n := &node{start: int64(random.IntN(1000)), rank: random.Int64()}
			in = append(in, n)
			h = h.push(n.entry(), idling)
		case k == 1:
			i := random.IntN(len(in))
			h = h.remove(int(in[i].idle), idling)
			in = slices.Delete(in, i, i+1)
		case k == 2:
			n := in[random.IntN(len(in))]
			n.start = int64(random.IntN(1000))
			h.fix(int(n.idle), n.entry(), idling)
		}
		if len(h) != len(in) || h[0].node != least() || h[0] != least().entry() {
			t.Fatal("the first entry is not the smallest")
		}
	}
	for len(h) > 1 {
		h = h.remove(len(h)-1, idling)
	}
	if cap(h) > 100 {
		t.Errorf("a heap of one has room for %d", cap(h))
	}
}

func TestItemsStayShallow(t *testing.T) {
	var root *item
	const count = 10_000
	for i := range count {
		w := Item{Keys: [3]int64{int64(i)}, ID: events.RequestID(fmt.Sprint("r", i))}
		root = root.with(&item{keys: w.Keys, id: w.ID, count: 1, height: heightOf(0, w)})
	}
	var depth func(*item) int
	depth = func(n *item) int {
		if n == nil {
			return 0
		}
		return 1 + max(depth(n.left), depth(n.right))
	}
	if d := depth(root); d > 60 {
		t.Errorf("%d items are %d deep", count, d)
	}
	for i := range count {
		first := root.first(0)
		if first.keys[0] != int64(i) {
			t.Fatalf("item %d comes at %d", first.keys[0], i)
		}
		root = root.without(first)
	}
	if root != nil {
		t.Error("something is left")
	}
}
