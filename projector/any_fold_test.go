package projector

import (
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/internal/hostile"
	"github.com/tachobench/tacho/rules/job"
	"github.com/tachobench/tacho/rules/ledger"
)

// Whatever stands in the log, in whatever order: the projector comes to the same jobs, lanes, requests and graphs as the ledger.
func TestAnyLogAgreesInBothFolds(t *testing.T) {
	shapes := hostile.ShapesIn(t, "../events/testdata")
	shapes.Hashed = true
	shapes.FoldAny(t, anyFolds, 150, func(log []events.Stored) (int, string) {
		l, s, reader := ledger.New(), newState(1), &events.Reader{}
		for i, m := range log {
			if _, err := l.Take(m); err != nil {
				return i + 1, err.Error()
			}
			e, parked, err := reader.Understand(m)
			if err != nil {
				return i + 1, err.Error()
			}
			if parked == "" {
				s.fold(newFact(e, m.StoredAt))
			}
			s.orderQueue()
			if why := s.differs(l); why != "" {
				return i + 1, why
			}
		}
		return len(log), ""
	})
}

// differs says in words where the ledger differs; empty if it does not.
func (s *state) differs(l *ledger.Ledger) string {
	for id, j := range s.jobs {
		if state := l.StateOf(id); state != j.State {
			return fmt.Sprintf("job %s is %s, and in the ledger %q", id, j.State, state)
		}
		// A table holds no larger place. No scheduler gives one.
		if known := l.Jobs[id]; known != nil && !j.State.Terminal() && (min(known.Place, math.MaxInt64) != j.Place || known.Lane() != j.lane()) {
			return fmt.Sprintf("job %s is at place %d of %s, and in the ledger at %d of %s", id, j.Place, j.lane(), known.Place, known.Lane())
		}
	}
	for lane, row := range s.works {
		work := l.Lanes[lane].Work
		if work.Place != row.Place || (work.Phase == job.Current) != (row.Phase == job.Current) || len(work.Dispatched) != len(row.Dispatched) {
			return fmt.Sprintf("lane %s is %+v, and in the ledger %+v", lane, row, work)
		}
	}
	for id, r := range s.requests {
		if known := l.Requests[id]; known == nil || known.State != r.State {
			return fmt.Sprintf("request %s is %s, and in the ledger %+v", id, r.State, known)
		}
	}
	return ""
}

func TestPlacesBeginAtOneAndAreGivenOnce(t *testing.T) {
	s, lane := newState(1), events.Lane{Target: "here"}
	a, b := events.JobSpec{ID: "j1", Target: "here", Profile: "p0"}, events.JobSpec{ID: "j2", Target: "here", Profile: "p1"}
	for i, f := range []events.Fact{
		events.JobsCreated{RequestID: "r1", Jobs: []events.JobSpec{a, b}},
		events.JobDispatched{Place: 0, Job: a},
		events.JobDequeued{Lane: lane, Place: 0, Job: a, Collector: "c", Attempt: 1},
		events.JobDispatched{Place: 1, Job: a},
		events.JobDispatched{Place: 1, Job: b},
	} {
		at := time.Unix(int64(i), 0)
		s.fold(newFact(events.Recorded{Seq: events.Seq(i + 1), Event: events.Event{Time: at, Fact: f}}, at))
	}
	if s.jobs["j1"].State != events.JobQueued || s.jobs["j1"].Place != 1 || s.jobs["j2"].Place != 0 || len(s.works[lane].Dispatched) != 1 || s.refused != 2 {
		t.Errorf("%+v, %+v on %+v", s.jobs["j1"], s.jobs["j2"], s.works[lane])
	}
}
