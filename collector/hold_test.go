package collector

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tachobench/tacho/eventlog"
	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/rules/suite"
)

// What a command of the machine's own configuration breaks is given back, spends no attempt and no time of the job, and
// comes again.
func TestAJobOfAMachineThatIsNotReadyIsGivenBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		onStage(t, func(s *stage) {
			broken, rests := true, 0
			bench := &slow{refuse: func(events.JobSpec) error {
				if broken {
					broken = false
					return &unreadyError{"collector.before failed on this machine: no governor"}
				}
				return nil
			}}
			p := s.start("c0", pool0, "i1", bench, func(c *Config) {
				c.Rest = func(context.Context) error { rests++; return nil }
			})
			began := time.Now()
			s.dispatch(pool0, 1, s.matched("j1"), 0, 0)
			f := await(s, events.WorkSubject(pool0), func(events.AttemptReleased) bool { return true })
			if !f.Unready || f.Transient || f.Lost != 0 || f.Reason != "collector.before failed on this machine: no governor" {
				t.Errorf("given back as %+v", f)
			}
			if f := s.finished(pool0, "j1"); f.Outcome != events.Success || f.Attempt != 2 || time.Since(began) < unreadyPause {
				t.Errorf("it ended as %+v after %s", f, time.Since(began))
			}
			if rests != 2 {
				t.Errorf("the machine was given back %d times", rests)
			}
			if err := p.end(); err != nil {
				t.Error(err)
			}
		})
	})
}

// If the machine is not ready after all is measured, the results stay, and the job ends at its next attempt.
func TestAMachineThatIsNotReadyAfterwards(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		onStage(t, func(s *stage) {
			rests := 0
			p := s.start("c0", pool0, "i1", &slow{}, func(c *Config) {
				c.Rest = func(context.Context) error {
					if rests++; rests == 1 {
						return &unreadyError{"collector.after failed"}
					}
					return nil
				}
			})
			s.dispatch(pool0, 1, s.matched("j1"), 0, 0)
			if f := s.finished(pool0, "j1"); f.Outcome != events.Success || f.Measured != 0 || f.Skipped == 0 {
				t.Errorf("it ended as %+v", f)
			}
			if err := p.end(); err != nil {
				t.Error(err)
			}
		})
	})
}

// waiting waits for its turn for ever, and says so.
type waiting struct{}

func (waiting) Run(ctx context.Context, _ events.JobSpec, _ suite.Definitions, _ func(events.TestCase) bool, sink Sink) error {
	sink.Waits("its turn on the machine")
	<-ctx.Done()
	return ctx.Err()
}

func (w waiting) RunPair(ctx context.Context, _, own Half, d suite.Definitions, sink PairSink) error {
	return w.Run(ctx, own.Spec, d, own.Done, sink)
}

// A collector that drains finishes the job in hand, but not one that has only waited.
func TestADrainEndsAWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		onStage(t, func(s *stage) {
			holder := eventlog.TurnHolder{Name: "c9", PID: 7, JobID: "j0"}
			p := s.start("c0", pool0, "i1", waiting{}, func(c *Config) { c.Holders = func() []eventlog.TurnHolder { return []eventlog.TurnHolder{holder} } })
			if b := p.collector.beat(); b.Turn != nil {
				t.Errorf("it waits for %+v before it has a job", b.Turn)
			}
			s.dispatch(pool0, 1, s.matched("j1"), 0, 0)
			await(s, events.WorkSubject(pool0), func(events.JobDequeued) bool { return true })
			synctest.Wait()
			if b := p.collector.beat(); b.Turn == nil || b.Turn.Since.IsZero() || len(b.Turn.Holders) != 1 || b.Turn.Holders[0] != holder {
				t.Errorf("its heartbeat says %+v", b.Turn)
			}
			s.tell(events.CollectorDraining{Name: "c0", Reason: "new disks"})
			f := await(s, events.WorkSubject(pool0), func(events.AttemptReleased) bool { return true })
			if f.Reason != "drain" || f.Transient || f.Unready {
				t.Errorf("given back as %+v", f)
			}
			if err := <-p.ended; !errors.Is(err, ErrLeave) {
				t.Errorf("it ended with %v", err)
			}
		})
	})
}
