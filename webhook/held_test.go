package webhook

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/tachobench/tacho/events"
)

// However many deliveries wait, few of their bodies are kept; the others are read from the log.
func TestFewBodiesAreKept(t *testing.T) {
	s := newState()
	const size, n = 256 << 10, 3 * maxHeld / (256 << 10)
	fact := func(i int) events.DeliveryReceived {
		return events.DeliveryReceived{Hook: "7", Delivery: events.DeliveryID(fmt.Sprint("d", i)), Raw: bytes.Repeat([]byte("x"), size)}
	}
	for i := range n {
		s.fold(events.Recorded{Event: events.Event{Fact: fact(i)}, Seq: events.Seq(i + 1)})
	}
	kept := 0
	for _, p := range s.received {
		kept += len(p.body)
	}
	if kept == 0 || kept > maxHeld || kept != s.held {
		t.Errorf("%d bytes are kept and %d counted, of at most %d", kept, s.held, maxHeld)
	}
	for i := range n {
		s.fold(events.Recorded{Event: events.Event{Fact: events.DeliveryHandled{Hook: "7", Delivery: fact(i).Delivery}}, Seq: events.Seq(n + i + 1)})
	}
	if s.held != 0 || len(s.received) != 0 {
		t.Errorf("%d bytes of %d deliveries are kept", s.held, len(s.received))
	}
}

// What is read from the log is handled as what was kept.
func TestWhatWasNotKeptIsHandled(t *testing.T) {
	inRig(t, func(t *testing.T, r *rig) {
		var all []string
		for i := range maxHeld/inline + 3 {
			c := from(int64(100+i), alice, "@tacho build "+merged+strings.Repeat(" ", inline-2000))
			c.pr = 1000 + i
			all = append(all, r.post("issue_comment", c.payload()))
		}
		r.run()
		pass(time.Minute)
		for _, id := range all {
			if h := r.handled(id); h.Outcome != events.DeliveryAccepted {
				t.Fatalf("%+v", h)
			}
		}
	})
}
