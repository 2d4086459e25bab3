package main

import (
	"slices"
	"strings"
	"testing"

	"github.com/tachobench/tacho/events"
)

// A collector may write about itself, so it may write that it was registered for another lane.
func TestACollectorCannotGiveItselfAnotherLane(t *testing.T) {
	k := newKeyring()
	k.admit(events.CollectorRegistered{Name: "a", Target: "here", NKey: "KEY-A"})
	k.admit(events.CollectorRegistered{Name: "b", Target: "there", NKey: "KEY-B"})
	k.admit(events.CollectorRegistered{Name: "a", Target: "there", NKey: "KEY-A"})
	k.admit(events.CollectorRegistered{Name: "a", Target: "there", NKey: "KEY-B"})
	for key, subject := range map[string]string{"KEY-A": ".here.", "KEY-B": ".there."} {
		p, ok := k.Permissions(key)
		if !ok || !slices.ContainsFunc(p.Publish, func(s string) bool { return strings.Contains(s, "work"+subject) }) {
			t.Errorf("%s may not write to its lane any more: %+v", key, p)
		}
	}
}
