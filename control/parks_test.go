package control_test

import (
	"errors"
	"testing"
	"time"

	"github.com/tachobench/tacho/control"
	"github.com/tachobench/tacho/eventlog/memory"
	"github.com/tachobench/tacho/events"
)

func TestOnlyWhatIsNotUnderstoodIsParked(t *testing.T) {
	log := memory.New(memory.Config{})
	c := &control.Control{Log: log, Clock: time.Now}
	by := control.By{Actor: "test", Source: "test"}
	put := func(on events.Subject, name, batch string) events.Seq {
		header := map[string]string{events.HeaderID: "id-" + name, events.HeaderType: events.TypePrefix + name, events.HeaderTime: "2026-11-23T09:00:00Z", events.HeaderCause: "0"}
		if batch != "" {
			header[events.HeaderBatch] = batch
		}
		return log.Put(events.Stored{Subject: on, Header: header, Data: []byte("{}")})
	}
	known := put(events.VersionSubject(), "version.wanted.v1", "1/3")
	strange := put(events.RequestSubject("r1"), "request.teleported.v1", "2/3")
	put(events.VersionSubject(), "version.wanted.v1", "3/3")
	foreign := put(events.CollectorSubject("a"), "collector.dreamt.v1", "")
	torn := put(events.ShareSubject(), "share.dreamt.v1", "2/4") // what is around it was not stored with it
	malformed := log.Put(events.Stored{Subject: events.ShareSubject(), Header: map[string]string{events.HeaderType: events.TypePrefix + "share.policy_set.v1"}, Data: []byte("{")})
	refused := func(what string, err error, kind control.RefusalKind) {
		t.Helper()
		var no *control.RefusedError
		if !errors.As(err, &no) || no.Kind != kind {
			t.Errorf("%s: %v", what, err)
		}
	}
	park := func(seq events.Seq, reason string) error {
		_, err := c.Park(t.Context(), by, seq, reason)
		return err
	}
	unpark := func(seq events.Seq) error {
		_, err := c.Unpark(t.Context(), by, seq, "why")
		return err
	}
	refused("no reason", park(strange, " "), control.Invalid)
	refused("nothing there", park(99, "why"), control.NotFound)
	refused("zero", park(0, "why"), control.NotFound)
	refused("understood", park(known, "why"), control.Conflict)
	refused("of a collector", park(foreign, "why"), control.Conflict)
	refused("malformed", park(malformed, "why"), control.Conflict)
	refused("not parked", unpark(strange), control.NotFound)
	if head, _ := log.Head(t.Context()); head.Last != malformed {
		t.Errorf("a refusal was recorded: the log ends at %d", head.Last)
	}
	answer, err := c.Park(t.Context(), by, strange, "why")
	if err != nil || answer.First != known || answer.Last != known+2 || answer.Type != "request.teleported.v1" || answer.Existed {
		t.Errorf("%+v, %v", answer, err)
	}
	for _, again := range []events.Seq{strange, known} {
		if twice, err := c.Park(t.Context(), by, again, "other"); err != nil || !twice.Existed || twice.Seq != answer.Seq || twice.First != known {
			t.Errorf("again: %+v, %v", twice, err)
		}
	}
	if alone, err := c.Park(t.Context(), by, torn, "why"); err != nil || alone.First != torn || alone.Last != torn {
		t.Errorf("torn: %+v, %v", alone, err)
	}
	if list, err := c.Parked(t.Context()); err != nil || len(list) != 2 || list[0].Reason != "why" || list[0].Actor != "test" {
		t.Errorf("%+v, %v", list, err)
	}
	// A parked event of an aggregate counts only for its version: commands go on.
	if _, err := c.WantVersion(t.Context(), by, events.VersionWanted{Version: "2"}); err != nil {
		t.Error(err)
	}
	if answer, err := c.Unpark(t.Context(), by, known+2, "why"); err != nil || answer.First != known || answer.Last != known+2 {
		t.Errorf("%+v, %v", answer, err)
	}
	refused("twice", unpark(strange), control.NotFound)
	if _, err := log.Read(t.Context(), events.RequestSubject("r1")); !errors.Is(err, events.ErrUnknownType) {
		t.Errorf("read: %v", err)
	}
	put(events.ParkSubject(), "events.dreamt.v1", "")
	if err := park(strange, "why"); !errors.Is(err, events.ErrUnknownType) {
		t.Errorf("with a strange event on the subject park: %v", err)
	}
}
