package eventlogtest

import (
	"testing"

	"github.com/tachobench/tacho/eventlog"
	"github.com/tachobench/tacho/events"
)

// obeysParks: each event says which append it belongs to, and a parked event counts only for the version.
func obeysParks(t *testing.T, s Subject) {
	one, two := events.CollectorName(name(t, "c")), events.CollectorName(name(t, "c"))
	last := mustAppend(t, s,
		eventlog.Append{Subject: events.RegistrySubject(one), Events: []events.Event{activated(one), activated(one)}},
		eventlog.Append{Subject: events.RegistrySubject(two), Events: []events.Event{activated(two)}})
	cursor, err := s.Log.Follow(bounded(t), last-3)
	if err != nil {
		t.Fatal(err)
	}
	defer cursor.Close()
	for at := last - 2; at <= last; {
		list, err := cursor.Next(bounded(t), int(last-at)+1)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range list {
			if first, end := m.Batch(); first != last-2 || end != last {
				t.Errorf("event %d says that it was stored with %d to %d, not with %d to %d", m.Seq, first, end, last-2, last)
			}
			at++
		}
	}
	park := func(f events.Fact) {
		_, err := eventlog.Transact(bounded(t), s.Log, func(tx *eventlog.Tx) ([]events.Event, error) {
			_, err := tx.Read(bounded(t), events.ParkSubject())
			return []events.Event{stamp(f)}, err
		})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := s.Log.Parks(bounded(t)); err != nil {
			t.Fatal(err)
		}
	}
	park(events.EventsParked{First: last - 1, Last: last, Reason: "test"})
	parks, err := s.Log.Parks(bounded(t))
	if _, parked := parks.Of(last); err != nil || !parked {
		t.Errorf("parks: %+v, %v", parks, err)
	}
	if got := mustRead(t, s, events.RegistrySubject(one)); len(got) != 2 || got[0].Fact == nil || got[1] != (events.Recorded{Seq: last - 1}) {
		t.Errorf("read: %+v", got)
	}
	if got, ok, err := s.Log.Last(bounded(t), events.RegistrySubject(two)); err != nil || !ok || got != (events.Recorded{Seq: last}) {
		t.Errorf("last: %+v, %v, %v", got, ok, err)
	}
	park(events.EventsUnparked{First: last - 1, Last: last, Reason: "test"})
	if got, ok, err := s.Log.Last(bounded(t), events.RegistrySubject(two)); err != nil || !ok || got.Fact == nil {
		t.Errorf("unparked: %+v, %v, %v", got, ok, err)
	}
}
