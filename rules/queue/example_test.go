package queue_test

import (
	"fmt"
	"time"

	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/rules/queue"
)

// A commit waits for its parent, so that both are measured one after the other.
func ExampleOrder() {
	noon := time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
	entries := []queue.Entry{
		{ID: "r1", Kind: events.Master, State: events.StateArtifactsReady, Suite: "rustc", Tag: "child", Parent: "parent", CreatedAt: noon},
		{ID: "r2", Kind: events.Master, State: events.StateArtifactsReady, Suite: "rustc", Tag: "parent", CreatedAt: noon.Add(time.Hour)},
	}
	var done queue.Tags
	for _, place := range queue.Order(entries, done.Done) {
		fmt.Println(place.Tag, "-", place.Reason)
	}
	// Output:
	// parent - ready: it has no parent
	// child - level 1: waits for parent `parent`
}
