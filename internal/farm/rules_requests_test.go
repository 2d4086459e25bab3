package farm

import (
	"testing"
	"time"

	"github.com/tachobench/tacho/control"
	"github.com/tachobench/tacho/events"
)

// Domain 2: requests are created, wait, start, end, and then never change.
func TestRulesOfRequests(t *testing.T) {
	runRules(t, []rule{
		{
			name: "a master request is ready at once, runs and completes",
			play: func(s *story) {
				id := s.master("c1", "")
				s.Pass(time.Second)
				s.work(0)
				s.until(id)
			},
			log: `created c1
				started c1: 1 own, 0 of its parent, 0 shared
				online p0
				dequeued c1/a, attempt 1
				measured b0 of c1, attempt 1
				finished attempt 1: success
				completed c1`,
			end: `c1 completed
				c1/a success`,
		},
		{
			name: "a request is created once, however often it is asked for",
			play: func(s *story) {
				for range 3 {
					s.master("c1", "")
					s.try("k1", 7, "", "")
				}
				s.Pass(time.Second)
			},
			of: "created",
			log: `created c1
				created k1`,
			end: `c1 in_progress
				k1 waiting_for_artifacts
				c1/a queued`,
		},
		{
			name: "a try without a tag has an id, waits, and starts when its artifact is ready",
			play: func(s *story) {
				id := s.try("k1", 7, "", "")
				if id == "" {
					s.T.Error("the request has no id")
				}
				s.work(time.Hour)
				s.ready(id, "t1", "")
				s.ready(id, "t1", "")
				s.until(id)
			},
			of: "created ready started completed",
			log: `created k1
				ready k1 as t1
				started k1: 1 own, 0 of its parent, 0 shared
				completed k1`,
			end: `k1 completed
				t1/a success`,
		},
		{
			name: "a try whose artifact does not come expires, and a late artifact changes nothing",
			play: func(s *story) {
				id := s.try("k1", 7, "", "")
				s.Pass(artifactsDue + time.Minute)
				_, _, err := s.Control.ArtifactsReady(s.ctx, By, id, "t1", "")
				s.refused(err)
				s.Pass(time.Hour)
			},
			log: `created k1
				expired k1`,
			end: `k1 expired`,
		},
		{
			name: "several tries of a pull request over time are several requests",
			play: func(s *story) {
				s.work(0)
				s.until(s.try("k1", 7, "t1", ""))
				s.until(s.try("k2", 7, "t2", ""))
			},
			of: "created superseded completed",
			log: `created k1
				completed k1
				created k2
				completed k2`,
			end: `k1 completed
				k2 completed
				t1/a success
				t2/a success`,
		},
		{
			name: "a newer try of a pull request supersedes the one that waits, whose artifact comes too late",
			play: func(s *story) {
				older := s.try("k1", 7, "", "")
				s.Pass(time.Minute)
				newer := s.try("k2", 7, "", "")
				_, _, err := s.Control.ArtifactsReady(s.ctx, By, older, "t1", "")
				s.refused(err)
				s.ready(newer, "t2", "")
				s.work(0)
				s.until(newer)
			},
			of: "created superseded ready completed",
			log: `created k1
				created k2
				superseded k1 by k2
				ready k2 as t2
				completed k2`,
			end: `k1 superseded
				k2 completed
				t2/a success`,
		},
		{
			name: "a newer try supersedes one that is ready and has not started",
			play: func(s *story) {
				s.master("c1", "")
				s.Pass(time.Second)
				s.try("k1", 7, "t1", "")
				s.Pass(time.Second)
				s.try("k2", 7, "t2", "")
			},
			of: "created superseded",
			log: `created c1
				created k1
				created k2
				superseded k1 by k2`,
			end: `c1 in_progress
				k1 superseded
				k2 artifacts_ready
				c1/a queued`,
		},
		{
			name: "a newer try leaves the one alone that has started",
			play: func(s *story) {
				s.try("k1", 7, "t1", "")
				s.Pass(time.Second)
				second := s.try("k2", 7, "", "")
				s.work(time.Hour)
				s.ready(second, "t2", "")
				s.until(second)
			},
			of: "created superseded completed",
			log: `created k1
				created k2
				completed k1
				completed k2`,
			end: `k1 completed
				k2 completed
				t1/a success
				t2/a success`,
		},
		{
			name: "no pull request is no pull request: tries without one leave each other alone",
			play: func(s *story) {
				first, second := s.try("k1", 0, "", ""), s.try("k2", 0, "", "")
				s.ready(second, "t2", "")
				s.Pass(time.Second)
				s.ready(first, "t1", "")
				s.work(0)
				s.until(first)
				s.until(second)
			},
			of: "created superseded completed",
			log: `created k1
				created k2
				completed k2
				completed k1`,
			end: `k1 completed
				k2 completed
				t2/a success
				t1/a success`,
		},
		{
			name: "a request that cannot be expanded fails after three times, while the next one goes on",
			play: func(s *story) {
				s.work(0)
				poison := s.poison()
				good := s.master("c1", "")
				s.until(good)
				s.until(poison)
			},
			of: "created unexpandable started completed failed",
			log: `created k1
				unexpandable k1 1
				created c1
				started c1: 1 own, 0 of its parent, 0 shared
				completed c1
				unexpandable k1 2
				unexpandable k1 3
				failed k1: quarantined: 3 times it could not be tur`,
			end: `k1 failed
				c1 completed
				c1/a success`,
		},
		{
			name: "a request that cannot be expanded starts once the definitions know its words again",
			play: func(s *story) {
				s.work(0)
				id := s.poison()
				if _, err := s.Control.Publish(s.ctx, By, s.Suite); err != nil {
					s.T.Fatal(err)
				}
				s.until(id)
			},
			of: "unexpandable started completed failed",
			log: `unexpandable k1 1
				started k1: 1 own, 0 of its parent, 0 shared
				completed k1`,
			end: `k1 completed
				t1/a on maybe/0 queued`,
		},
		{
			name: "whose required jobs all failed is failed, with a duration",
			play: func(s *story) {
				s.bench.Fails = func(events.TestCase) bool { return true }
				s.work(0)
				id := s.master("c1", "")
				s.until(id)
				if r := s.folded(id); r.EndedAt.Sub(r.StartedAt) != minute {
					s.T.Errorf("it took %s, want a minute", r.EndedAt.Sub(r.StartedAt))
				}
			},
			of: "started finished failed",
			log: `started c1: 1 own, 0 of its parent, 0 shared
				finished attempt 1: failure
				failed c1: 1 of 1 required jobs failed`,
			end: `c1 failed
				c1/a failure`,
		},
	})
}

// poison asks for a try on a target that has vanished from the definitions when it is ready.
func (s *story) poison() events.RequestID {
	s.T.Helper()
	id := s.create(control.NewRequest{Kind: events.Try, Key: "k1", Parameters: events.Parameters{Targets: []events.Target{"maybe"}}})
	d := s.Suite
	d.Targets = d.Targets[:1]
	if _, err := s.Control.Publish(s.ctx, By, d); err != nil {
		s.T.Fatal(err)
	}
	s.ready(id, "t1", "")
	s.Pass(time.Second)
	return id
}

// Domain 2 again: a request can be cancelled in every state but its end.
func TestRulesOfCancelling(t *testing.T) {
	runRules(t, []rule{
		{
			name: "a request that waits for its artifact is cancelled, and the artifact comes too late",
			play: func(s *story) {
				id := s.try("k1", 7, "", "")
				s.cancel(id)
				_, _, err := s.Control.ArtifactsReady(s.ctx, By, id, "t1", "")
				s.refused(err)
			},
			log: `created k1
				cancelled k1`,
			end: `k1 cancelled`,
		},
		{
			name: "a request that is ready is cancelled and never starts",
			play: func(s *story) {
				first := s.master("c1", "")
				s.Pass(time.Second)
				s.cancel(s.master("c2", ""))
				s.work(0)
				s.until(first)
				s.Pass(time.Hour)
			},
			of: "started cancelled completed",
			log: `started c1: 1 own, 0 of its parent, 0 shared
				cancelled c2
				completed c1`,
			end: `c1 completed
				c2 cancelled
				c1/a success`,
		},
		{
			name: "a job that nobody runs yet is cancelled with its request, and the next request starts",
			play: func(s *story) {
				first := s.master("c1", "")
				s.Pass(time.Second)
				second := s.master("c2", "")
				s.cancel(first)
				s.cancel(first)
				s.Pass(time.Second)
				s.work(0)
				s.until(second)
			},
			of: "started cancelled finished dequeued completed",
			log: `started c1: 1 own, 0 of its parent, 0 shared
				cancelled c1
				started c2: 1 own, 0 of its parent, 0 shared
				finished attempt 0: cancelled
				dequeued c2/a, attempt 1
				finished attempt 1: success
				completed c2`,
			end: `c1 cancelled
				c2 completed
				c1/a cancelled
				c2/a success`,
		},
		{
			name: "a job that runs is stopped, and what its collector reports later changes nothing",
			play: func(s *story) {
				s.bench.Each = time.Hour
				first := s.master("c1", "")
				p := s.work(time.Minute)
				second := s.master("c2", "")
				p.Pause()
				s.cancel(first)
				s.Pass(2 * time.Minute)
				p.Wake()
				s.until(second)
			},
			of: "started cancelled finished dequeued measured completed",
			log: `started c1: 1 own, 0 of its parent, 0 shared
				dequeued c1/a, attempt 1
				cancelled c1
				started c2: 1 own, 0 of its parent, 0 shared
				finished attempt 1: cancelled
				dequeued c2/a, attempt 1
				measured b0 of c2, attempt 1
				finished attempt 1: success
				completed c2`,
			end: `c1 cancelled
				c2 completed
				c1/a cancelled
				c2/a success`,
		},
		{
			name: "what was cancelled is measured after all when another request asks for it",
			play: func(s *story) {
				s.bench.Each = time.Hour
				first := s.try("k1", 0, "t1", "")
				s.work(time.Minute)
				s.cancel(first)
				s.Pass(time.Second)
				second := s.try("k2", 0, "t1", "")
				s.until(second)
				s.until(s.try("k3", 0, "t1", ""))
			},
			of: "started cancelled finished dequeued completed",
			log: `started k1: 1 own, 0 of its parent, 0 shared
				dequeued t1/a, attempt 1
				cancelled k1
				finished attempt 1: cancelled
				started k2: 1 own, 0 of its parent, 0 shared
				dequeued t1/a again, attempt 1
				finished attempt 1: success
				completed k2
				started k3: 0 own, 0 of its parent, 1 shared
				completed k3`,
			end: `k1 cancelled
				k2 completed
				k3 completed
				t1/a cancelled
				t1/a again success`,
		},
		{
			name: "jobs of a parent that went with a cancelled child are made again for the next child",
			play: func(s *story) {
				s.work(0)
				s.until(s.master("c1", ""))
				x := events.Parameters{Profiles: []events.Profile{"x"}}
				s.bench.Each = time.Hour
				first := s.create(control.NewRequest{Kind: events.Try, Key: "k1", Tag: "t1", Parent: "c1", Parameters: x})
				s.Pass(time.Minute)
				s.cancel(first)
				s.Pass(time.Second)
				s.until(s.create(control.NewRequest{Kind: events.Try, Key: "k2", Tag: "t2", Parent: "c1", Parameters: x}))
			},
			of: "started cancelled finished dequeued completed",
			log: `started c1: 1 own, 0 of its parent, 0 shared
				dequeued c1/a, attempt 1
				finished attempt 1: success
				completed c1
				started k1: 1 own, 1 of its parent, 0 shared
				dequeued c1/x, attempt 1
				cancelled k1
				finished attempt 1: cancelled
				finished attempt 0: cancelled
				started k2: 1 own, 1 of its parent, 0 shared
				dequeued c1/x again, attempt 1
				finished attempt 1: success
				dequeued t2/x, attempt 1
				finished attempt 1: success
				completed k2`,
			end: `c1 completed
				k1 cancelled
				k2 completed
				c1/a success
				c1/x cancelled
				t1/x cancelled
				c1/x again success
				t2/x success`,
		},
		{
			name: "a request that has ended cannot be cancelled, expired or made ready: terminal is final",
			play: func(s *story) {
				s.work(0)
				id := s.master("c1", "")
				s.until(id)
				_, _, err := s.Control.CancelRequest(s.ctx, By, id, "too late")
				s.refused(err)
				_, _, err = s.Control.ArtifactsReady(s.ctx, By, id, "other", "")
				s.refused(err)
				s.master("c1", "")
				s.Pass(2 * artifactsDue)
			},
			of: "created cancelled ready expired completed",
			log: `created c1
				completed c1`,
			end: `c1 completed
				c1/a success`,
		},
	})
}
