package job

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/tachobench/tacho/events"
)

var registeredAt = time.Date(2026, 11, 20, 9, 0, 0, 0, time.UTC)

// aboutACollector draws one of the facts about a collector.
func aboutACollector() *rapid.Generator[events.Fact] {
	instance := rapid.SampledFrom([]string{"i1", "i2"})
	return rapid.Custom(func(t *rapid.T) events.Fact {
		switch rapid.IntRange(0, 11).Draw(t, "fact") {
		case 0:
			return events.CollectorRegistered{Name: "a", Target: "x", Set: events.Set(rapid.IntRange(0, 1).Draw(t, "set")), NKey: instance.Draw(t, "key")}
		case 1:
			return events.CollectorActivated{Name: "a"}
		case 2:
			return events.CollectorDeactivated{Name: "a", Reason: "new disk", Now: rapid.Bool().Draw(t, "now")}
		case 3:
			return events.CollectorDraining{Name: "a", Reason: "new kernel"}
		case 4:
			return events.CollectorQuarantined{Name: "a", Reason: "3 jobs failed"}
		case 5:
			return events.CollectorKeyRotated{Name: "a", NKey: instance.Draw(t, "key")}
		case 6:
			return events.CollectorSilent{Name: "a", Instance: instance.Draw(t, "instance")}
		case 7:
			return events.CollectorOnline{Name: "a", Instance: instance.Draw(t, "instance")}
		case 8:
			return events.CollectorOffline{Name: "a", Instance: instance.Draw(t, "instance")}
		case 9:
			return events.CollectorUpdating{Name: "a", Instance: instance.Draw(t, "instance")}
		case 10:
			return events.CollectorRemoved{Name: "a", Reason: "sold"}
		}
		return events.JobFinished{JobID: "j"}
	})
}

// stand folds facts that are one second apart.
func stand(s Standing, facts []events.Fact) Standing {
	for i, f := range facts {
		s = Stand(s, f, registeredAt.Add(time.Duration(i)*time.Second))
	}
	return s
}

func TestARemovedCollectorIsRemovedForEver(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		before := stand(Standing{}, rapid.SliceOfN(aboutACollector(), 0, 12).Draw(t, "before"))
		removed := Stand(before, events.CollectorRemoved{Name: "a", Reason: "sold"}, registeredAt)
		after := stand(removed, rapid.SliceOfN(aboutACollector(), 0, 12).Draw(t, "after"))
		if after.Takes() || !after.Removed || after.Active || after.Online {
			t.Fatalf("it came back: %+v", after)
		}
	})
}

func TestARegistrationChangesOnlyItsKeyByRotation(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := Stand(Standing{}, events.CollectorRegistered{Name: "a", Target: "x", NKey: "first"}, registeredAt)
		for i, f := range rapid.SliceOfN(aboutACollector(), 1, 20).Draw(t, "facts") {
			at := registeredAt.Add(time.Duration(i+1) * time.Second)
			next := Stand(s, f, at)
			if next.Registered.Lane() != s.Registered.Lane() || !next.Since.Equal(registeredAt) {
				t.Fatalf("%#v made %+v", f, next)
			}
			rotated, rotates := f.(events.CollectorKeyRotated)
			switch {
			case rotates && !s.Removed && (next.Registered.NKey != rotated.NKey || !next.KeySince.Equal(at)),
				!rotates && (next.Registered.NKey != s.Registered.NKey || !next.KeySince.Equal(s.KeySince)):
				t.Fatalf("%#v made the key %q since %s", f, next.Registered.NKey, next.KeySince)
			}
			s = next
		}
	})
}

// A copy holds the whole standing, whatever standing it is applied to.
func TestACopyGivesTheSameStanding(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		facts := append([]events.Fact{events.CollectorRegistered{Name: "a", Target: "x"}}, rapid.SliceOfN(aboutACollector(), 0, 20).Draw(t, "facts")...)
		want := stand(Standing{}, facts)
		if want.Removed { // a log that still has to be copied has no removals
			return
		}
		got := Stand(stand(Standing{}, rapid.SliceOfN(onItsOwn(), 0, 8).Draw(t, "over")), want.Copy(), registeredAt.Add(time.Hour))
		got.Instance, got.Online = want.Instance, want.Online
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("(-was +copied):\n%s", diff)
		}
	})
}

// onItsOwn draws a fact that a collector writes about itself.
func onItsOwn() *rapid.Generator[events.Fact] {
	return aboutACollector().Filter(func(f events.Fact) bool { return f.Subject().Family() == "collector" })
}
