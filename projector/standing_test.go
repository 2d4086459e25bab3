package projector

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/readmodel"
	"github.com/tachobench/tacho/rules/job"
)

// aboutACollector draws one of the facts that can be said of a collector.
func aboutACollector() *rapid.Generator[events.Fact] {
	instance := rapid.SampledFrom([]string{"i1", "i2"})
	reason := rapid.SampledFrom([]string{"", "new disk", "new kernel"})
	return rapid.Custom(func(t *rapid.T) events.Fact {
		registered := events.CollectorRegistered{
			Name: "a", Target: "x", Set: events.Set(rapid.IntRange(0, 1).Draw(t, "set")), Standby: rapid.Bool().Draw(t, "standby"), NKey: instance.Draw(t, "key"),
		}
		switch rapid.IntRange(0, 12).Draw(t, "fact") {
		case 0:
			return registered
		case 1:
			return events.RegistryCopied{
				CollectorRegistered: registered, Active: rapid.Bool().Draw(t, "active"), Draining: rapid.Bool().Draw(t, "draining"),
				Quarantined: rapid.Bool().Draw(t, "quarantined"), Reason: reason.Draw(t, "reason"),
				RegisteredAt: "2026-11-20T09:00:00Z", KeySince: "2026-11-20T09:00:00Z",
			}
		case 2:
			return events.CollectorKeyRotated{Name: "a", NKey: instance.Draw(t, "key")}
		case 3:
			return events.CollectorRemoved{Name: "a", Reason: reason.Draw(t, "reason")}
		case 4:
			return events.CollectorActivated{Name: "a"}
		case 5:
			return events.CollectorDeactivated{Name: "a", Reason: reason.Draw(t, "reason"), Now: rapid.Bool().Draw(t, "now")}
		case 6:
			return events.CollectorDraining{Name: "a", Reason: reason.Draw(t, "reason")}
		case 7:
			return events.CollectorQuarantined{Name: "a", Reason: reason.Draw(t, "reason")}
		case 8:
			return events.CollectorOffline{Name: "a", Instance: instance.Draw(t, "instance"), Reason: "asked to leave"}
		case 9:
			return events.CollectorSilent{Name: "a", Instance: instance.Draw(t, "instance"), Reason: "no heartbeat"}
		case 10:
			return events.CollectorUpdating{Name: "a", Instance: instance.Draw(t, "instance")}
		}
		return events.CollectorOnline{Name: "a", Instance: instance.Draw(t, "instance")}
	})
}

// shownStanding is the part of a standing that its row must have too.
type shownStanding struct {
	Target                                         events.Target
	Set                                            events.Set
	Standby                                        bool
	NKey                                           string
	Active, Draining, Quarantined, Removed, Online bool
	Reason, Instance                               string
}

// TestTheRowOfACollectorIsItsStanding: whatever is told of a collector, its row says the same as job.Stand. This also holds
// for a projector that read the row from the tables.
func TestTheRowOfACollectorIsItsStanding(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s, want := newState(1), job.Standing{}
		told := append([]events.Fact{events.CollectorRegistered{Name: "a", Target: "x", NKey: "first"}}, rapid.SliceOfN(aboutACollector(), 0, 25).Draw(t, "facts")...)
		for i, f := range told {
			at := time.Date(2026, 11, 20, 9, 0, i, 123_456_000, time.UTC)
			s.fold(fact{Recorded: events.Recorded{Seq: events.Seq(i + 1), Event: events.Event{Time: at, Fact: f}}})
			want = job.Stand(want, f, at)
			row := s.collectors["a"]
			got := shownStanding{
				row.Target, row.Set, row.Standby, row.NKey, row.Active, row.Draining, row.Quarantined, row.RemovedAt != nil,
				row.Presence == readmodel.PresenceOnline, row.Reason, row.Instance,
			}
			r := want.Registered
			wanted := shownStanding{
				r.Target, r.Set, r.Standby, r.NKey, want.Active, want.Draining, want.Quarantined, want.Removed, want.Online, want.Reason, want.Instance,
			}
			if got != wanted {
				t.Fatalf("after event %d, %#v:\nthe row says     %+v\nits standing is %+v", i+1, f, got, wanted)
			}
			if rapid.Bool().Draw(t, "restart") {
				read := *row
				s = newState(1)
				s.collectors["a"] = &read
			}
		}
	})
}
