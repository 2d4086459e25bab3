package scheduler

import (
	"fmt"
	"iter"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/rules/ledger"
	"github.com/tachobench/tacho/rules/queue"
)

// decideAll decides on all lanes.
func decideAll(s *state, p Policy, now time.Time) []decision {
	return decide(s, p, now, s.LaneOrder)
}

// differs says how a scheduler that looks only at what events touched decides otherwise than one that looks at all lanes; empty if
// it does not. The random worlds ask it after their events.
func (v *sight) differs(s *state, p Policy, now time.Time) string {
	if s.halved() {
		return ""
	}
	if v.ledger == s.Ledger {
		v.at = now // that time has passed must not be why it looks
	}
	heard := func(events.CollectorName) time.Duration { return 0 }
	l := limits{takeover: time.Minute, offline: time.Minute}
	lanes, _ := v.look(s.Ledger, now)
	got := append(decide(s, p, now, lanes), decideTakeovers(s, l, heard, lanes)...)
	want := append(decideAll(s, p, now), decideTakeovers(s, l, heard, s.LaneOrder)...)
	if !reflect.DeepEqual(facts(got), facts(want)) {
		return fmt.Sprintf("at event %d it looks at the lanes %v of %v and decides\n%+v\non all it decides\n%+v", s.Seq, lanes, s.LaneOrder, facts(got), facts(want))
	}
	v.note(s, lanes, got)
	if front, all := starts(s.startable("")), starts(slices.Values(s.inOrder(""))); !slices.Equal(front, all) {
		return fmt.Sprintf("at event %d the front of the queue is\n%q\nand its order begins with\n%q", s.Seq, front, all)
	}
	return ""
}

func starts(places iter.Seq[queue.Place]) (out []string) {
	for p := range places {
		out = append(out, fmt.Sprint(p.ID, p.CountsAs, p.Reason))
	}
	return out
}

// After its first look a scheduler looks at the lanes that events touch, at those that stay open, and at all lanes when time has
// passed or its ledger is another one.
func TestASchedulerLooksAtWhatEventsTouch(t *testing.T) {
	c := newCrowd(20, 10, 0)
	now := noon
	looks := func(want int) {
		t.Helper()
		lanes, _ := c.s.sight.look(c.state.Ledger, now)
		c.s.sight.note(c.state, lanes, nil)
		if len(lanes) != want {
			t.Errorf("it looks at %d lanes, want %d: %v", len(lanes), want, lanes)
		}
	}
	looks(20)
	looks(0)
	work := c.state.Lanes[c.lanes[7]].Work
	c.fold(events.JobFinished{Lane: c.lanes[7], Place: work.Place, JobID: work.JobID, RequestID: "r1", Collector: work.Collector, Token: work.Token, Outcome: events.Success})
	looks(1)
	c.dequeue(7, work.Place+1)
	looks(1)
	looks(1) // it is free until it gets the next job
	c.decide()
	looks(1)
	looks(0)
	c.fold(events.CollectorDraining{Name: "c3"})
	looks(20)
	now = now.Add(lookAgain)
	looks(20)
	looks(0)
	c.state = &state{ledger.New()}
	c.fold(events.LaneAssigned{Lane: c.lanes[0], Name: "c0"})
	looks(1)
}
