package farm

import (
	"errors"
	"testing"
	"time"

	"github.com/tachobench/tacho/collector"
	"github.com/tachobench/tacho/control"
	"github.com/tachobench/tacho/eventlog"
	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/rules/queue"
)

// Domain 8: which collectors take jobs, which are there, and how processes are told apart.
func TestRulesOfCollectors(t *testing.T) {
	runRules(t, []rule{
		{
			name: "heartbeats go on during a job of six hours: nobody is offline, nothing is lost",
			play: func(s *story) {
				s.bench.Each = 6 * time.Hour
				s.work(0)
				s.until(s.master("c1", ""))
			},
			of: "online offline dequeued lost finished",
			log: `online p0
				dequeued c1/a, attempt 1
				finished attempt 1: success`,
			end: `c1 completed
				c1/a success`,
		},
		{
			name: "a collector that hangs is offline and loses its attempt, and the next process goes on",
			play: func(s *story) {
				s.bench.Each = 6 * time.Hour
				id := s.master("c1", "")
				p := s.work(time.Minute)
				p.Pause()
				s.Pass(2 * time.Minute)
				s.Start("c0", laneHere, "p2", &Bench{Each: time.Minute})
				s.until(id)
				p.Wake()
				<-p.Ended
				if !errors.Is(p.Err, eventlog.ErrNameHeld) {
					s.T.Errorf("the one that hung ended with %v, want that its name is held", p.Err)
				}
			},
			of:     "online silent lost finished completed",
			either: [2]string{"silent p0", "lost attempt 1, 1 lost"},
			log: `online p0
				silent p0
				lost attempt 1, 1 lost
				online p2
				finished attempt 2: success
				completed c1`,
		},
		{
			name: "a drain waits for the job in hand and spends no attempt",
			play: func(s *story) {
				s.bench.Each = 10 * time.Minute
				s.create(control.NewRequest{Tag: "c1", Parameters: events.Parameters{Profiles: []events.Profile{"a", "x"}}})
				p := s.work(time.Minute)
				if _, err := s.Control.DrainCollector(s.ctx, By, "c0", "new disk"); err != nil {
					s.T.Fatal(err)
				}
				<-p.Ended
				if !errors.Is(p.Err, collector.ErrLeave) {
					s.T.Errorf("it ended with %v, want that it was asked to leave", p.Err)
				}
				s.Pass(time.Hour)
			},
			of: "draining dequeued released lost finished offline",
			log: `dequeued c1/a, attempt 1
				draining c0
				finished attempt 1: success
				offline p0`,
			end: `c1 in_progress
				c1/a success
				c1/x queued`,
		},
		{
			name: "a deactivated collector gets no job until it is activated again",
			play: func(s *story) {
				p := s.work(time.Minute)
				if _, err := s.Control.DeactivateCollector(s.ctx, By, "c0", control.Deactivation{Reason: "broken fan"}); err != nil {
					s.T.Fatal(err)
				}
				<-p.Ended
				id := s.master("c1", "")
				s.Pass(time.Hour)
				refused := s.Start("c0", laneHere, "p1", s.bench)
				<-refused.Ended
				if refused.Err == nil {
					s.T.Error("a process of a collector that is not active was let in")
				}
				if _, err := s.Control.ActivateCollector(s.ctx, By, "c0"); err != nil {
					s.T.Fatal(err)
				}
				s.Start("c0", laneHere, "p2", s.bench)
				s.until(id)
			},
			of: "online offline deactivated activated dequeued completed",
			log: `online p0
				deactivated c0
				offline p0
				activated c0
				online p2
				dequeued c1/a, attempt 1
				completed c1`,
		},
		{
			name: "a second process of a name that is held is refused, and the first goes on",
			play: func(s *story) {
				s.bench.Each = 10 * time.Minute
				id := s.master("c1", "")
				s.work(time.Minute)
				second := s.Start("c0", laneHere, "p1", s.bench)
				<-second.Ended
				if !errors.Is(second.Err, eventlog.ErrNameHeld) {
					s.T.Errorf("the second ended with %v", second.Err)
				}
				s.until(id)
			},
			of: "online offline dequeued lost finished",
			log: `online p0
				dequeued c1/a, attempt 1
				finished attempt 1: success`,
		},
		{
			name: "a collector for another lane is refused",
			sets: 2,
			play: func(s *story) {
				p := s.Start("c0", laneOther, "p0", s.bench)
				<-p.Ended
				var refused *collector.RegistrationError
				if !errors.As(p.Err, &refused) {
					s.T.Errorf("it ended with %v", p.Err)
				}
			},
		},
		{
			name: "a job that never ran has no duration, and an estimate without history is a guess",
			play: func(s *story) {
				id := s.master("c1", "")
				s.Pass(time.Second)
				s.cancel(id)
				s.Pass(time.Second)
				for _, e := range s.Events() {
					if f, ok := e.Fact.(events.JobFinished); ok && f.DurationMS != 0 {
						s.T.Errorf("it took %d ms", f.DurationMS)
					}
				}
				places := queue.Order([]queue.Entry{{ID: id, Kind: events.Master, State: events.StateArtifactsReady, Suite: "rules", Tag: "c1"}}, nil)
				for _, f := range queue.Estimate(places, nil, queue.Farm{Now: time.Now(), MaxInProgress: 1}) {
					if !f.Guessed || f.End == nil {
						s.T.Errorf("got %+v, want a guess", f)
					}
				}
			},
			of:  "finished",
			log: `finished attempt 0: cancelled`,
			end: `c1 cancelled
				c1/a cancelled`,
		},
	})
}
