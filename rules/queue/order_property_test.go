package queue

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/tachobench/tacho/events"
)

// farm is a random input of Order: few tags and parents, so that chains, cycles, unknown parents and
// several requests for one tag are all common.
type farm struct {
	entries []Entry
	ended   []events.Tag
}

func (f farm) done(suite events.SuiteName, tag events.Tag) bool { return over(f.ended...)(suite, tag) }

func farms() *rapid.Generator[farm] {
	tags := func(n int) *rapid.Generator[events.Tag] {
		return rapid.Map(rapid.IntRange(0, n), func(i int) events.Tag {
			if i == 0 {
				return ""
			}
			return events.Tag(fmt.Sprint("t", i))
		})
	}
	return rapid.Custom(func(t *rapid.T) farm {
		n := rapid.IntRange(0, 14).Draw(t, "n")
		f := farm{ended: rapid.SliceOfN(tags(20), 0, 3).Draw(t, "ended")}
		for i := range n {
			e := Entry{
				ID: events.RequestID(fmt.Sprintf("r%02d", i)),
				Kind: rapid.SampledFrom([]events.RequestKind{
					events.Master, events.Master, events.Master, events.Try, events.Release,
				}).Draw(t, "kind"),
				State: rapid.SampledFrom([]events.RequestState{
					events.StateArtifactsReady, events.StateArtifactsReady, events.StateArtifactsReady, events.StateArtifactsReady,
					events.StateArtifactsReady, events.StateInProgress, events.StateWaitingForArtifacts, events.StateCompleted,
				}).Draw(t, "state"),
				Suite:     rapid.SampledFrom([]events.SuiteName{"s", "s", "s", "other"}).Draw(t, "suite"),
				Tag:       tags(n).Draw(t, "tag"),
				Parent:    tags(n+2).Draw(t, "parent"),
				PR:        rapid.IntRange(0, 3).Draw(t, "pr"),
				CreatedAt: epoch.Add(time.Duration(rapid.IntRange(0, 3).Draw(t, "created"))),
			}
			if rapid.IntRange(0, 3).Draw(t, "twin") > 0 { // mostly one request per tag
				e.Tag = events.Tag(fmt.Sprint("t", i+1))
			}
			if e.State == events.StateInProgress {
				e.StartedAt = epoch.Add(time.Duration(rapid.IntRange(0, 2).Draw(t, "started")))
			}
			f.entries = append(f.entries, e)
		}
		return f
	})
}

func TestOrderIgnoresTheOrderOfItsInput(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := farms().Draw(t, "farm")
		shuffled := rapid.Permutation(f.entries).Draw(t, "shuffled")
		if diff := gocmp.Diff(Order(f.entries, f.done), Order(shuffled, f.done)); diff != "" {
			t.Fatalf("places differ (-drawn +shuffled):\n%s", diff)
		}
	})
}

func TestOrderHoldsEveryPendingRequestOnce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := farms().Draw(t, "farm")
		want := []events.RequestID{}
		for _, e := range f.entries {
			if !e.State.Terminal() {
				want = append(want, e.ID)
			}
		}
		got := ids(Order(f.entries, f.done))
		slices.Sort(got)
		if diff := gocmp.Diff(want, got); diff != "" {
			t.Fatalf("requests (-pending +placed):\n%s", diff)
		}
	})
}

// The groups follow one another, every place has its reason, and the first ready request can start.
func TestOrderGroups(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := farms().Draw(t, "farm")
		group := func(p Place) int {
			switch {
			case p.State == events.StateInProgress:
				return 0
			case p.State == events.StateWaitingForArtifacts:
				return 3
			case p.Kind == events.Release:
				return 1
			}
			return 2
		}
		places := Order(f.entries, f.done)
		if !slices.IsSortedFunc(places, func(a, b Place) int { return group(a) - group(b) }) {
			t.Fatalf("groups are mixed: %v", ids(places))
		}
		seen := false
		for _, p := range places {
			if p.Reason == "" {
				t.Errorf("%s has no reason", p.ID)
			}
			isReady := p.State == events.StateArtifactsReady
			if p.Startable && (!isReady || p.Level > 0) {
				t.Errorf("%s is startable in state %s at level %d", p.ID, p.State, p.Level)
			}
			if isReady && !seen && !p.Startable {
				t.Errorf("%s is the first that is ready, and not startable", p.ID)
			}
			seen = seen || isReady
		}
	})
}

// A request never comes before the ready request that it waits for, unless both are in the same cycle.
func TestOrderPutsParentsFirst(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := farms().Draw(t, "farm")
		for i := range f.entries { // one request per tag: of several, the first would be enough
			f.entries[i].Tag = events.Tag(fmt.Sprint("t", i+1))
		}
		places := Order(f.entries, f.done)
		at := make(map[tagKey]int)
		for i, p := range places {
			at[tagKey{p.Suite, p.Tag}] = i
		}
		inCycle := func(i int) bool {
			p := places[i]
			for range places {
				next, ok := at[tagKey{p.Suite, p.Parent}]
				if !ok {
					return false
				}
				if next == i {
					return true
				}
				p = places[next]
			}
			return false
		}
		for i, p := range places {
			j, ok := at[tagKey{p.Suite, p.Parent}]
			if !ok || p.State != events.StateArtifactsReady || p.Kind == events.Release ||
				places[j].State != events.StateArtifactsReady || f.done(p.Suite, p.Parent) {
				continue
			}
			if i <= j && !inCycle(i) {
				t.Errorf("%s comes before its parent %s: %v", p.ID, places[j].ID, ids(places))
			}
		}
	})
}

// When a request in progress ends, in any state, the others keep their order.
func TestOrderStaysWhenARequestEnds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := farms().Draw(t, "farm")
		before := Order(f.entries, f.done)
		i := slices.IndexFunc(f.entries, func(e Entry) bool { return e.State == events.StateInProgress })
		if i < 0 {
			return
		}
		ending := f.entries[i].ID
		want := slices.DeleteFunc(ids(before), func(id events.RequestID) bool { return id == ending })
		f.entries[i].State = rapid.SampledFrom([]events.RequestState{
			events.StateCompleted, events.StateFailed, events.StateCancelled,
		}).Draw(t, "end")
		if diff := gocmp.Diff(want, ids(Order(f.entries, f.done))); diff != "" {
			t.Fatalf("the others (-before +after):\n%s", diff)
		}
	})
}

// Order agrees with a literal, quadratic implementation of the rules, level after level.
func TestOrderFollowsTheRules(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := farms().Draw(t, "farm")
		var got []events.RequestID
		for _, p := range Order(f.entries, f.done) {
			if p.State == events.StateArtifactsReady && p.Kind != events.Release {
				got = append(got, p.ID)
			}
		}
		if diff := gocmp.Diff(byTheRules(f), got); diff != "" {
			t.Fatalf("master and try requests (-rules +Order):\n%s", diff)
		}
	})
}

// byTheRules carries out rules 3 and 4. Releases take part, because their tags may be parents, but are not in the
// result.
func byTheRules(f farm) []events.RequestID {
	var order []events.RequestID
	var rest []Entry
	taken, known := make(map[tagKey]bool), make(map[tagKey]bool)
	for _, e := range f.entries {
		known[tagOf(e)] = true
		if e.State == events.StateInProgress || e.State.Terminal() {
			taken[tagOf(e)] = true
		}
		if e.State == events.StateArtifactsReady {
			rest = append(rest, e)
		}
	}
	take := func(compare func(a, b Entry) int, which func(Entry) bool) bool {
		var level, others []Entry
		for _, e := range rest {
			if which(e) {
				level = append(level, e)
			} else {
				others = append(others, e)
			}
		}
		slices.SortFunc(level, compare)
		for _, e := range level {
			taken[tagOf(e)] = true
			if e.Kind != events.Release {
				order = append(order, e.ID)
			}
		}
		rest = others
		return len(level) > 0
	}
	startable := func(e Entry) bool {
		return e.Kind == events.Release || e.Parent == "" || taken[parentOf(e)] || f.done(e.Suite, e.Parent)
	}
	orphaned := func(e Entry) bool { return !known[parentOf(e)] }
	for len(rest) > 0 {
		if take(byPR, startable) || take(byPR, orphaned) {
			continue
		}
		knots := knotsOf(rest)
		take(byAge, func(e Entry) bool { return slices.Contains(knots, e.ID) })
	}
	return order
}

// knotsOf returns the requests that all others in rest wait for: those whose parent is not in rest, and the members of
// cycles that are not below those.
func knotsOf(rest []Entry) []events.RequestID {
	var knots []events.RequestID
	below := make(map[events.RequestID]bool)
	find := func(k tagKey, among func(Entry) bool) (Entry, bool) { // the oldest
		var list []Entry
		for _, e := range rest {
			if tagOf(e) == k && among(e) {
				list = append(list, e)
			}
		}
		slices.SortFunc(list, byAge)
		return append(list, Entry{})[0], len(list) > 0
	}
	for range rest {
		for _, e := range rest {
			_, stuck := find(parentOf(e), func(Entry) bool { return true })
			_, hangs := find(parentOf(e), func(p Entry) bool { return below[p.ID] })
			if !stuck && !below[e.ID] {
				knots = append(knots, e.ID)
			}
			below[e.ID] = below[e.ID] || !stuck || hangs
		}
	}
	for _, e := range rest {
		p := e
		for range rest {
			if below[p.ID] {
				break
			}
			p, _ = find(parentOf(p), func(Entry) bool { return true })
			if p.ID == e.ID {
				knots = append(knots, e.ID)
				break
			}
		}
	}
	return knots
}

// tagKey is a tag within its suite.
type tagKey struct {
	suite events.SuiteName
	tag   events.Tag
}

func tagOf(e Entry) tagKey    { return tagKey{e.Suite, e.Tag} }
func parentOf(e Entry) tagKey { return tagKey{e.Suite, e.Parent} }

func byPR(a, b Entry) int {
	try := func(e Entry) int { return strings.Compare(string(e.Kind), string(events.Master)) }
	return cmp.Or(a.PR-b.PR, try(a)-try(b), byAge(a, b))
}

func byAge(a, b Entry) int {
	return cmp.Or(a.CreatedAt.Compare(b.CreatedAt), strings.Compare(string(a.ID), string(b.ID)))
}
