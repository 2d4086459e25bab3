package queue

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/tachobench/tacho/events"
)

// Random lives of requests with parents, cycles and artifacts that several requests are for: after each change the front says the
// same as the order of all.
func TestTheFrontIsThatOfTheOrder(t *testing.T) {
	known, asked := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		all := map[events.RequestID]Entry{}
		var tags Tags
		front := NewFront()
		tag := rapid.SampledFrom([]events.Tag{"a", "b", "c", "d", "1.2.0", "1.10.0"})
		kind := rapid.SampledFrom([]events.RequestKind{events.Master, events.Master, events.Try, events.Release})
		states := []events.RequestState{
			events.StateWaitingForArtifacts, events.StateArtifactsReady, events.StateArtifactsReady, events.StateInProgress, events.StateCompleted, events.StateCancelled,
		}
		for range rapid.IntRange(1, 40).Draw(t, "changes") {
			id := events.RequestID(fmt.Sprint("r", rapid.IntRange(0, 9).Draw(t, "request")))
			e, exists := all[id]
			if !exists {
				e = Entry{ID: id, Kind: kind.Draw(t, "kind"), Suite: "s", PR: rapid.IntRange(0, 2).Draw(t, "pr"), CreatedAt: time.Unix(rapid.Int64Range(0, 5).Draw(t, "created"), 0)}
				e.Tag = tag.Draw(t, "tag")
				if rapid.Bool().Draw(t, "below") {
					e.Parent = tag.Draw(t, "parent")
				}
				if e.Kind == events.Release && rapid.Bool().Draw(t, "dated") {
					e.ReleasedOn = time.Date(2026, 1, rapid.IntRange(1, 2).Draw(t, "day"), 5, 0, 0, 0, time.UTC)
				}
			}
			tags.Leave(e.Suite, e.Tag, e.State)
			e.State = rapid.SampledFrom(states).Draw(t, "state")
			tags.Enter(e.Suite, e.Tag, e.State)
			all[id] = e
			if e.State == events.StateArtifactsReady {
				front.Put(e, &tags)
			} else {
				front.Remove(id)
			}
			front.Parent(e.Suite, e.Tag, &tags)

			var pending []Entry
			for _, e := range all {
				if !e.State.Terminal() {
					pending = append(pending, e)
				}
			}
			var want, got []string
			tangles := false
			for _, p := range Order(pending, tags.Done) {
				if p.Startable && p.State == events.StateArtifactsReady {
					want = append(want, fmt.Sprint(p.ID, p.Parent, p.CountsAs, p.Reason))
				}
			}
			tangles = len(want) > 0
			for p := range front.Each {
				got = append(got, fmt.Sprint(p.ID, p.Parent, p.CountsAs, p.Reason))
			}
			asked++
			switch {
			case front.Knows():
				known++
				if !slices.Equal(got, want) {
					t.Fatalf("the front is\n%q, the order begins with\n%q", got, want)
				}
			case len(got) > 0 || !tangles:
				t.Fatalf("the front does not know, and has %q; the order begins with %q", got, want)
			}
		}
	})
	if known == 0 || known == asked {
		t.Errorf("the front knew %d of %d times", known, asked)
	}
}
