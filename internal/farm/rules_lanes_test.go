package farm

import (
	"testing"
	"time"

	"github.com/tachobench/tacho/control"
	"github.com/tachobench/tacho/eventlog"
	"github.com/tachobench/tacho/events"
)

// Domains 3 and 4: the order in the queue and on a lane.
func TestRulesOfTheOrder(t *testing.T) {
	runRules(t, []rule{
		{
			name: "a parent goes before its child, whoever was asked for first",
			play: func(s *story) {
				s.master("c0", "")
				s.Pass(time.Second)
				child := s.master("c2", "c1")
				s.master("c1", "")
				s.work(0)
				s.until(child)
			},
			of: "started",
			log: `started c0: 1 own, 0 of its parent, 0 shared
				started c1: 1 own, 0 of its parent, 0 shared
				started c2: 1 own, 0 of its parent, 0 shared`,
			end: `c0 completed
				c2 completed
				c1 completed
				c0/a success
				c1/a success
				c2/a success`,
		},
		{
			name: "a job for the parent goes before the child's job, inside a lane too",
			play: func(s *story) {
				s.work(0)
				s.until(s.master("c1", ""))
				s.until(s.create(control.NewRequest{
					Kind: events.Try, Key: "k1", Tag: "t1", Parent: "c1", Parameters: events.Parameters{Profiles: []events.Profile{"x"}},
				}))
			},
			of: "started dequeued",
			log: `started c1: 1 own, 0 of its parent, 0 shared
				dequeued c1/a, attempt 1
				started k1: 1 own, 1 of its parent, 0 shared
				dequeued c1/x, attempt 1
				dequeued t1/x, attempt 1`,
			end: `c1 completed
				k1 completed
				c1/a success
				c1/x success
				t1/x success`,
		},
		{
			name: "releases go first, by date and version",
			play: func(s *story) {
				s.master("c0", "")
				s.Pass(time.Second)
				last := s.master("c1", "")
				for tag, date := range map[events.Tag]string{"1.10.0": "2026-06-01", "1.9.0": "2026-06-01", "1.8.0": "2026-01-01"} {
					s.create(control.NewRequest{Kind: events.Release, Tag: tag, ReleasedOn: date})
				}
				s.work(0)
				s.until(last)
			},
			of: "started",
			log: `started c0: 1 own, 0 of its parent, 0 shared
				started 1.8.0: 1 own, 0 of its parent, 0 shared
				started 1.9.0: 1 own, 0 of its parent, 0 shared
				started 1.10.0: 1 own, 0 of its parent, 0 shared
				started c1: 1 own, 0 of its parent, 0 shared`,
		},
		{
			name: "a cycle of parents stops nobody",
			play: func(s *story) {
				s.master("c0", "")
				s.Pass(time.Second)
				s.master("c1", "c2")
				s.Pass(time.Second)
				last := s.master("c2", "c1")
				s.work(0)
				s.until(last)
			},
			of: "started completed",
			log: `started c0: 1 own, 0 of its parent, 0 shared
				completed c0
				started c1: 1 own, 1 of its parent, 0 shared
				completed c1
				started c2: 0 own, 0 of its parent, 1 shared
				completed c2`,
			end: `c0 completed
				c1 completed
				c2 completed
				c0/a success
				c2/a success
				c1/a success`,
		},
		{
			name: "an unknown parent stops nobody",
			play: func(s *story) { s.work(0); s.until(s.master("c2", "never-heard-of")) },
			of:   "started completed",
			log: `started c2: 1 own, 0 of its parent, 0 shared
				completed c2`,
			end: `c2 completed
				c2/a success`,
		},
		{
			name: "one request at a time: the next starts when the one in progress has ended",
			sets: 2,
			play: func(s *story) {
				s.Start("c1", laneOther, "p1", &Bench{Each: time.Hour})
				s.work(0)
				s.master("c1", "")
				s.Pass(time.Second)
				s.until(s.master("c2", ""))
			},
			of: "started completed",
			log: `started c1: 2 own, 0 of its parent, 0 shared
				completed c1
				started c2: 2 own, 0 of its parent, 0 shared
				completed c2`,
			end: `c1 completed
				c2 completed
				c1/a success
				c1/a on here/1 success
				c2/a success
				c2/a on here/1 success`,
		},
		{
			name: "two at a time: a lane with nothing left in the first takes from the next",
			sets: 2, atOnce: 2,
			play: func(s *story) {
				s.work(0)
				s.master("c1", "")
				s.Pass(time.Second)
				s.Start("c1", laneOther, "p1", &Bench{Each: time.Hour})
				s.Pass(time.Second)
				s.until(s.master("c2", ""))
			},
			of: "started dequeued",
			log: `started c1: 2 own, 0 of its parent, 0 shared
				dequeued c1/a, attempt 1
				dequeued c1/a on here/1, attempt 1
				started c2: 2 own, 0 of its parent, 0 shared
				dequeued c2/a, attempt 1
				dequeued c2/a on here/1, attempt 1`,
			end: `c1 completed
				c2 completed
				c1/a success
				c1/a on here/1 success
				c2/a success
				c2/a on here/1 success`,
		},
		{
			name:   "two at a time: a lane never takes from the second while the first has a job for it",
			atOnce: 2,
			play: func(s *story) {
				x := events.Parameters{Profiles: []events.Profile{"a", "x"}}
				s.create(control.NewRequest{Tag: "c1", Parameters: x})
				s.Pass(time.Second)
				last := s.create(control.NewRequest{Tag: "c2", Parameters: x})
				s.work(0)
				s.until(last)
			},
			of: "dequeued",
			log: `dequeued c1/a, attempt 1
				dequeued c1/x, attempt 1
				dequeued c2/a, attempt 1
				dequeued c2/x, attempt 1`,
		},
		{
			name:   "two at a time: never a third",
			atOnce: 2,
			play: func(s *story) {
				for _, tag := range []events.Tag{"c1", "c2", "c3"} {
					s.master(tag, "")
					s.Pass(time.Second)
				}
			},
			of: "started",
			log: `started c1: 1 own, 0 of its parent, 0 shared
				started c2: 1 own, 0 of its parent, 0 shared`,
			end: `c1 in_progress
				c2 in_progress
				c3 artifacts_ready
				c1/a queued
				c2/a queued`,
		},
	})
}

// Domains 6 and 7: when a request ends, and what it asks of its parent.
func TestRulesOfCompletionAndBackfill(t *testing.T) {
	x := events.Parameters{Profiles: []events.Profile{"x"}}
	both := events.Parameters{Targets: []events.Target{"here", "maybe"}}
	runRules(t, []rule{
		{
			name: "a child asks its parent for the same jobs, and the parent's state does not change",
			play: func(s *story) {
				s.work(0)
				parent := s.master("c1", "")
				s.until(parent)
				before := s.folded(parent)
				s.until(s.create(control.NewRequest{Kind: events.Try, Key: "k1", Tag: "t1", Parent: "c1", Parameters: x}))
				if after := s.folded(parent); !after.EndedAt.Equal(before.EndedAt) || after.State != before.State {
					s.T.Error("the parent changed")
				}
			},
			of: "started completed",
			log: `started c1: 1 own, 0 of its parent, 0 shared
				completed c1
				started k1: 1 own, 1 of its parent, 0 shared
				completed k1`,
		},
		{
			name: "what the parent has measured is not asked again",
			play: func(s *story) {
				s.work(0)
				s.until(s.master("c1", ""))
				s.until(s.master("c2", "c1"))
			},
			of: "started",
			log: `started c1: 1 own, 0 of its parent, 0 shared
				started c2: 1 own, 0 of its parent, 0 shared`,
		},
		{
			name: "a parent that appears after the start is caught up with before the child completes",
			play: func(s *story) {
				child := s.master("c2", "c1")
				s.work(30 * time.Second)
				s.master("c1", "")
				s.until(child)
				s.Pass(time.Minute)
			},
			of: "created started backfilled dequeued completed",
			log: `created c2
				started c2: 1 own, 0 of its parent, 0 shared
				dequeued c2/a, attempt 1
				created c1
				backfilled c2: 1 of c1
				dequeued c1/a, attempt 1
				completed c2
				started c1: 0 own, 0 of its parent, 1 shared
				completed c1`,
			end: `c2 completed
				c1 completed
				c2/a success
				c1/a success`,
		},
		{
			name: "new definitions that nobody can use do not concern a request that has started",
			play: func(s *story) {
				parent := s.try("k1", 7, "", "")
				child := s.master("c2", "t1")
				s.work(30 * time.Second)
				s.breakDefinitions()
				s.ready(parent, "t1", "")
				s.until(child)
			},
			of: "started ready backfilled completed",
			log: `started c2: 1 own, 0 of its parent, 0 shared
				ready k1 as t1
				backfilled c2: 1 of t1
				completed c2`,
		},
		{
			name: "a parent's job that fails ends the wait too, and is no failure of the child",
			play: func(s *story) {
				s.bench.Err = func(spec events.JobSpec) error {
					if spec.Backfill {
						return missing(spec)
					}
					return nil
				}
				child := s.master("c2", "c1")
				s.work(30 * time.Second)
				s.master("c1", "")
				s.until(child)
			},
			of: "backfilled finished completed failed",
			log: `backfilled c2: 1 of c1
				finished attempt 1: success
				finished attempt 1: failure artifact
				completed c2
				failed c1: 1 of 1 required jobs failed`,
		},
		{
			name: "the optional job blocks neither its request nor the child, and is done when somebody can",
			play: func(s *story) {
				s.work(0)
				s.until(s.create(control.NewRequest{Tag: "c1", Parameters: both}))
				s.until(s.create(control.NewRequest{Tag: "c2", Parent: "c1", Parameters: both}))
				s.Start("m0", laneMaybe, "p1", s.bench)
				s.Pass(time.Hour)
			},
			of: "started dequeued completed",
			log: `started c1: 2 own, 0 of its parent, 0 shared
				dequeued c1/a, attempt 1
				completed c1
				started c2: 2 own, 0 of its parent, 0 shared
				dequeued c2/a, attempt 1
				completed c2
				dequeued c1/a on maybe/0, attempt 1
				dequeued c2/a on maybe/0, attempt 1`,
			end: `c1 completed
				c2 completed
				c1/a success
				c1/a on maybe/0 success
				c2/a success
				c2/a on maybe/0 success`,
		},
		{
			name: "an optional job that fails is no failure of its request",
			play: func(s *story) {
				s.bench.Each = time.Hour
				s.Start("m0", laneMaybe, "p1", &Bench{Err: missing})
				s.work(0)
				s.until(s.create(control.NewRequest{Tag: "c1", Parameters: both}))
			},
			of: "finished completed failed",
			log: `finished attempt 1: failure artifact
				finished attempt 1: success
				completed c1`,
		},
		{
			name: "jobs that another request made are waited for and not made again",
			play: func(s *story) {
				s.work(0)
				s.master("c1", "")
				s.Pass(time.Second)
				s.until(s.try("k1", 7, "c1", ""))
			},
			of: "started dequeued completed",
			log: `started c1: 1 own, 0 of its parent, 0 shared
				dequeued c1/a, attempt 1
				completed c1
				started k1: 0 own, 0 of its parent, 1 shared
				completed k1`,
			end: `c1 completed
				k1 completed
				c1/a success`,
		},
	})
}

// breakDefinitions publishes definitions that this program cannot read.
func (s *story) breakDefinitions() {
	s.T.Helper()
	last, _, err := s.Log.Last(s.ctx, events.SuiteSubject(s.Suite.Name))
	if err != nil {
		s.T.Fatal(err)
	}
	broken := events.DefinitionsPublished{Suite: s.Suite.Name, Digest: "broken", Content: []byte(`{"from":"the future"}`)}
	if _, err := s.Log.Append(s.ctx, eventlog.Append{Subject: broken.Subject(), Expected: last.Seq, Events: []events.Event{
		eventlog.NewEvent(broken, eventlog.Meta{Source: "test", Actor: "test"}, time.Now()),
	}}); err != nil {
		s.T.Fatal(err)
	}
}
