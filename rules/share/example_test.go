package share_test

import (
	"fmt"

	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/rules/share"
)

// Ada has a thousand jobs. Grace comes later with one, and does not wait for them.
func ExampleTree() {
	const minute = 60_000
	t := share.New()
	ada := share.Leaf{Tier: events.TierDefault, Queue: "ada", Account: "ada"}
	grace := share.Leaf{Tier: events.TierDefault, Queue: "grace", Account: "grace"}
	for range 1000 {
		t.Add(ada, 0, share.Item{ID: "sweep"})
	}
	for turn := range 3 {
		c, _ := t.Pick(func(share.Choice) int64 { return minute }, 0)
		fmt.Println(c.Item.ID, "-", c.Why)
		t.Serve(c.Leaf, minute, c.Waiting)
		t.Remove(c.Leaf, c.Class, c.Item)
		if turn == 0 {
			t.Add(grace, 0, share.Item{ID: "fix"})
		}
	}
	// Output:
	// sweep - default, no other one waits
	// fix - default, first of 2 queues
	// sweep - default, no other one waits
}
