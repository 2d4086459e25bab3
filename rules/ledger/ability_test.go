package ledger

import (
	"slices"
	"testing"
	"time"

	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/rules/suite"
)

// Only collectors that could get a job of definitions of version 2, and have not said that they read them, are named.
func TestCollectorsThatCannotReadVersion2(t *testing.T) {
	l := New()
	seq, day := events.Seq(0), time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)
	say := func(facts ...events.Fact) {
		t.Helper()
		for _, f := range facts {
			seq++
			stored, err := events.Encode(events.Event{ID: "e" + string(rune('a'+seq)), Time: day, Source: "test", Actor: "test", Root: "test", Fact: f})
			if err != nil {
				t.Fatal(err)
			}
			stored.Seq, stored.StoredAt = seq, day
			if _, err := l.Take(stored); err != nil {
				t.Fatal(err)
			}
		}
	}
	d := suite.Definitions{Version: 2, Name: "small", Targets: []suite.Target{{Name: "here", Sets: 2}}, Kinds: []suite.Kind{{Name: "compile"}}}
	add := func(name events.CollectorName, lane events.Lane, knows ...string) {
		say(events.CollectorRegistered{Name: name, Target: lane.Target, Set: lane.Set}, events.CollectorActivated{Name: name},
			events.CollectorOnline{Name: name, Instance: "i", Knows: knows})
	}
	add("new", events.Lane{Target: "here"}, events.KnowsSuite2)
	add("old", events.Lane{Target: "here", Set: 1})
	add("elsewhere", events.Lane{Target: "there"})
	add("beyond", events.Lane{Target: "here", Set: 2})
	add("pooled", events.PoolLane("p", 0), events.KnowsMatched)
	add("away", events.Lane{Target: "here"})
	say(events.CollectorDeactivated{Name: "away"})
	say(events.CollectorRegistered{Name: "never", Target: "here"}, events.CollectorActivated{Name: "never"})
	if got := l.CannotRead(d); !slices.Equal(got, []events.CollectorName{"old"}) {
		t.Errorf("%v", got)
	}
	d.Kinds[0].Lanes = suite.LanesAny
	if got := l.CannotRead(d); !slices.Equal(got, []events.CollectorName{"old", "pooled"}) {
		t.Errorf("%v", got)
	}
	say(events.CollectorOnline{Name: "old", Instance: "j", Knows: []string{events.KnowsSuite2}})
	if got := l.CannotRead(d); !slices.Equal(got, []events.CollectorName{"pooled"}) {
		t.Errorf("%v", got)
	}
	d.Version = 1
	if got := l.CannotRead(d); got != nil {
		t.Errorf("%v", got)
	}
}
