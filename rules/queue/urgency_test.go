package queue

import (
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/tachobench/tacho/events"
)

func urgent(e Entry, p events.Priority) Entry {
	e.Priority = p
	return e
}

func TestOrderOfPriorities(t *testing.T) {
	for _, tc := range []struct {
		name    string
		pending []Entry
		want    []events.RequestID
	}{
		{
			"vip, high, normal, low, idle",
			[]Entry{
				urgent(master("e", "", 1), events.PriorityIdle), urgent(master("d", "", 1), events.PriorityLow), master("c", "", 1),
				urgent(master("b", "", 1), events.PriorityHigh), urgent(master("a", "", 1), events.PriorityVIP),
			},
			[]events.RequestID{"a", "b", "c", "d", "e"},
		},
		{
			"what is in progress stays in front",
			[]Entry{urgent(master("a", "", 1), events.PriorityVIP), urgent(started(master("b", "", 2), 1), events.PriorityIdle)},
			[]events.RequestID{"b", "a"},
		},
		{
			"a parent is as urgent as its child's child",
			[]Entry{master("x", "", 1), urgent(master("a", "", 9), events.PriorityLow), master("b", "a", 8), urgent(master("c", "b", 7), events.PriorityVIP)},
			[]events.RequestID{"a", "b", "c", "x"},
		},
		{
			"a child does not gain by an urgent parent",
			[]Entry{urgent(master("a", "", 9), events.PriorityVIP), master("x", "", 1), urgent(master("b", "a", 2), events.PriorityLow)},
			[]events.RequestID{"a", "x", "b"},
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if diff := gocmp.Diff(tc.want, ids(Order(tc.pending, nil))); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestReasonsNameThePriority(t *testing.T) {
	places := Order([]Entry{urgent(master("b", "a", 1), events.PriorityVIP), master("a", "", 2), urgent(master("c", "", 3), events.PriorityLow)}, nil)
	for i, want := range []string{"vip, because a request that waits for it is: ready", "vip: level 1", "low: ready"} {
		if !strings.HasPrefix(places[i].Reason, want) {
			t.Errorf("place %d: %q, want %q…", i, places[i].Reason, want)
		}
	}
}

// An entry counts as the most urgent of itself and all that wait for it; then that decides, before anything else.
func TestUrgencyIsLentToParents(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := farms().Draw(t, "farm")
		plain := ids(Order(f.entries, f.done))
		one := rapid.SampledFrom(events.Priorities).Draw(t, "one")
		for i := range f.entries {
			f.entries[i].Priority = one
		}
		if diff := gocmp.Diff(plain, ids(Order(f.entries, f.done))); diff != "" {
			t.Fatalf("equal priorities change the order:\n%s", diff)
		}
		for i := range f.entries {
			f.entries[i].Priority = rapid.SampledFrom(events.Priorities).Draw(t, "priority")
		}
		level := map[events.RequestID]int{}
		var waits []Entry
		for _, e := range f.entries {
			level[e.ID] = e.Priority.Level()
			if e.State != events.StateInProgress && !e.State.Terminal() {
				waits = append(waits, e)
			}
		}
		for range waits {
			for _, child := range waits {
				for _, parent := range waits {
					if child.Parent != "" && parentOf(child) == tagOf(parent) {
						level[parent.ID] = min(level[parent.ID], level[child.ID])
					}
				}
			}
		}
		places := slices.DeleteFunc(Order(f.entries, f.done), func(p Place) bool { return p.State == events.StateInProgress })
		startable := slices.ContainsFunc(places, func(p Place) bool { return p.Startable })
		for i, p := range places {
			if p.CountsAs.Level() != level[p.ID] {
				t.Fatalf("%s counts as %s, want level %d", p.ID, p.CountsAs, level[p.ID])
			}
			if i > 0 && places[i-1].CountsAs.Level() > p.CountsAs.Level() {
				t.Fatalf("%s comes after a less urgent request", p.ID)
			}
			if p.State == events.StateArtifactsReady && !startable {
				t.Fatal("a request is ready, and none can start")
			}
		}
	})
}

func TestLine(t *testing.T) {
	places := Line([]Entry{
		made(master("late", "", 1), 9), made(master("child", "parent", 1), 1), made(master("parent", "", 9), 5),
		made(urgent(master("vip", "", 1), events.PriorityVIP), 8), made(unbuilt(try("unbuilt", "", 1)), 2),
		started(master("runs", "", 1), 3), made(master("orphan", "unknown", 1), 4), in(master("over", "", 1), events.StateCompleted),
	}, nil)
	if diff := gocmp.Diff([]events.RequestID{"runs", "vip", "unbuilt", "orphan", "parent", "late", "child"}, ids(places)); diff != "" {
		t.Error(diff)
	}
	for _, p := range places {
		if want := !slices.Contains([]events.RequestID{"runs", "unbuilt", "child"}, p.ID); p.Startable != want {
			t.Errorf("%s is startable: %v", p.ID, p.Startable)
		}
	}
}

// A line holds every pending request once, whatever its input is, and a ready request can start if there is any.
func TestLineHoldsEveryPendingRequestOnce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := farms().Draw(t, "farm")
		places := Line(f.entries, f.done)
		var want, got []events.RequestID
		ready, startable := false, false
		for _, e := range f.entries {
			if !e.State.Terminal() {
				want, ready = append(want, e.ID), ready || e.State == events.StateArtifactsReady
			}
		}
		for _, p := range places {
			got, startable = append(got, p.ID), startable || p.Startable
		}
		slices.Sort(got)
		if diff := gocmp.Diff(want, got); diff != "" || ready != startable {
			t.Fatalf("ready %v, startable %v\n%s", ready, startable, diff)
		}
	})
}
