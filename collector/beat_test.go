package collector

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tachobench/tacho/eventlog"
	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/rules/job"
	"github.com/tachobench/tacho/rules/suite"
)

// teller is a log that answers a heartbeat as the door does, with what is new. It counts what it is asked besides.
type teller struct {
	cable
	lane  events.Lane
	asked atomic.Int64
	// untold is what it says nothing of, like a door that does not know that collectors follow it.
	untold events.Subject
}

// Beat implements eventlog.Presence.
func (l *teller) Beat(ctx context.Context, b eventlog.Beat) (eventlog.News, error) {
	if _, err := l.cable.Beat(ctx, b); err != nil {
		return nil, err
	}
	news := eventlog.News{}
	for _, s := range eventlog.Followed(b.Name, l.lane) {
		last, _, err := l.cable.Last(ctx, s)
		if err != nil {
			return nil, err
		}
		if s != l.untold {
			news[s] = last.Seq
		}
	}
	return news, nil
}

// Last implements eventlog.Log.
func (l *teller) Last(ctx context.Context, s events.Subject) (events.Recorded, bool, error) {
	l.asked.Add(1)
	return l.cable.Last(ctx, s)
}

// Read implements eventlog.Log.
func (l *teller) Read(ctx context.Context, s events.Subject) ([]events.Recorded, error) {
	l.asked.Add(1)
	return l.cable.Read(ctx, s)
}

// endless is a bench that measures until it is stopped, and says why.
type endless struct {
	slow
	stopped chan error
}

// Run implements Bench.
func (b *endless) Run(ctx context.Context, _ events.JobSpec, _ suite.Definitions, _ func(events.TestCase) bool, _ Sink) error {
	<-ctx.Done()
	b.stopped <- context.Cause(ctx)
	return ctx.Err()
}

// oneBeat waits until each process has sent a heartbeat and done what follows.
func oneBeat() {
	<-time.After(6 * time.Second)
	synctest.Wait()
}

// A process asks nothing while the answers to its heartbeats tell nothing new, and finds out within one heartbeat what is new.
func TestAHeartbeatTellsWhatIsNew(t *testing.T) {
	for what, tc := range map[string]struct {
		news events.Fact
		ends error // what the process ends with; nil when it stays
	}{
		"another version is wanted": {events.VersionWanted{Version: "v2"}, ErrUpdate},
		"this version is wanted":    {events.VersionWanted{Version: "v1"}, nil},
		"it is drained":             {events.CollectorDraining{Name: "c0", Reason: "test"}, ErrLeave},
		"it is quarantined":         {events.CollectorQuarantined{Name: "c0", Reason: "test"}, ErrLeave},
		"it is taken for dead":      {events.CollectorSilent{Name: "c0", Instance: "i1"}, nil},
		"another one has the lane":  {events.LaneTakenOver{Lane: pool0, Name: "c1"}, nil},
	} {
		t.Run(what, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				onStage(t, func(s *stage) {
					l := &teller{cable: cable{Log: s.log}, lane: pool0}
					s.tell(events.LaneAssigned{Lane: pool0, Name: "c1", Standby: true})
					p := s.start("c0", pool0, "i1", &slow{}, func(c *Config) { c.Log, c.Presence, c.Supervised = l, l, &Supervised{} })
					<-time.After(10 * time.Second)
					l.asked.Store(0)
					<-time.After(10 * time.Minute)
					if n := l.asked.Load(); n != 0 {
						t.Errorf("an idle process asked the log %d times", n)
					}
					s.tell(tc.news)
					oneBeat()
					if tc.ends != nil {
						if err := <-p.ended; !errors.Is(err, tc.ends) {
							t.Errorf("it ended with %v, want %v", err, tc.ends)
						}
						return
					}
					if n := l.asked.Load(); n == 0 {
						t.Error("it has not read what is new")
					}
					<-time.After(10 * time.Second) // it may have recorded something itself
					l.asked.Store(0)
					<-time.After(10 * time.Minute)
					if n := l.asked.Load(); n != 0 {
						t.Errorf("the same news made it ask %d times", n)
					}
					if may, _ := p.collector.turn.may(); may != (what != "another one has the lane") {
						t.Errorf("it may begin jobs: %t", may)
					}
					if err := p.end(); err != nil {
						t.Error(err)
					}
				})
			})
		})
	}
}

// A process asks for what the answer to its heartbeat does not tell of.
func TestAHeartbeatThatDoesNotTellAll(t *testing.T) {
	for _, untold := range eventlog.Followed("c0", pool0) {
		t.Run(string(untold), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				onStage(t, func(s *stage) {
					l := &teller{cable: cable{Log: s.log}, lane: pool0, untold: untold}
					s.tell(events.LaneAssigned{Lane: pool0, Name: "c1", Standby: true})
					bench := &endless{stopped: make(chan error, 1)}
					p := s.start("c0", pool0, "i1", bench, func(c *Config) { c.Log, c.Presence, c.Supervised = l, l, &Supervised{} })
					s.dispatch(pool0, 1, s.matched("j1"), 0, 0)
					await(s, events.WorkSubject(pool0), func(events.JobDequeued) bool { return true })
					<-time.After(time.Minute)
					stopped := func(want error) {
						select {
						case why := <-bench.stopped:
							if !errors.Is(why, want) {
								t.Errorf("stopped with %v, want %v", why, want)
							}
						case <-time.After(6 * time.Second): // one heartbeat
							t.Errorf("it was not stopped with %v", want)
						}
					}
					switch untold {
					case events.WorkSubject(pool0):
						s.move(pool0, job.Move{Place: 1, JobID: "j1", Reason: "test"})
						stopped(errLost)
					case events.RegistrySubject("c0"):
						s.tell(events.CollectorQuarantined{Name: "c0", Reason: "test"})
						stopped(errQuarantined)
					case events.AssignmentSubject(pool0):
						s.tell(events.LaneTakenOver{Lane: pool0, Name: "c1"})
						oneBeat()
						if may, _ := p.collector.turn.may(); may {
							t.Error("it does not know that another one has the lane")
						}
					case events.CollectorSubject("c0"):
						said := s.tell(events.CollectorOnline{Name: "c0", Instance: "i2"})
						oneBeat()
						if turn := p.collector.turn; turn.own != said {
							t.Errorf("it has read its events up to %d, want %d", turn.own, said)
						}
					case events.VersionSubject():
						s.tell(events.VersionWanted{Version: "v2"})
						oneBeat()
						if got := p.collector.wanted(); got != "v2" {
							t.Errorf("it wants version %q", got)
						}
					default:
						t.Error("no test of it")
					}
					p.stop()
					<-p.ended
				})
			})
		})
	}
}

// The answer to a heartbeat stops an attempt that was given to another process.
func TestAHeartbeatTellsThatAnAttemptIsLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		onStage(t, func(s *stage) {
			l, bench := &teller{cable: cable{Log: s.log}, lane: pool0}, &endless{stopped: make(chan error, 1)}
			p := s.start("c0", pool0, "i1", bench, func(c *Config) { c.Log, c.Presence = l, l })
			s.dispatch(pool0, 1, s.matched("j1"), 0, 0)
			await(s, events.WorkSubject(pool0), func(events.JobDequeued) bool { return true })
			last, _, err := s.log.Last(s.ctx, events.WorkSubject(pool0))
			if err != nil {
				t.Fatal(err)
			}
			<-time.After(time.Minute)
			s.decide(pool0, job.Lose{Token: last.Seq, Reason: "silent"})
			told := time.Now()
			if why := <-bench.stopped; !errors.Is(why, errLost) || time.Since(told) > 5*time.Second {
				t.Errorf("stopped after %s with %v", time.Since(told), why)
			}
			p.stop()
			<-p.ended
		})
	})
}
