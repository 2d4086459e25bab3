package farm

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/tachobench/tacho/collector"
	"github.com/tachobench/tacho/events"
)

// missing is the error of a job whose artifact is not on the server.
func missing(spec events.JobSpec) error {
	return &collector.PermanentError{Kind: events.ErrorArtifact, Err: fmt.Errorf("%s is not on the server", spec.Artifact.Tag)}
}

// down makes the artifact server unreachable for a while from now on.
func down(d time.Duration) func(events.JobSpec) error {
	since := time.Now()
	return func(events.JobSpec) error {
		if time.Since(since) < d {
			return errors.New("503")
		}
		return nil
	}
}

// crash starts a process that is killed before it has measured anything.
func (s *story) crash(instance string) {
	p := s.Start("c0", laneHere, instance, s.bench)
	s.Pass(30 * time.Second)
	p.Kill()
	s.Pass(2 * time.Minute)
}

// Domain 5: what an attempt costs, and how a job ends.
func TestRulesOfAttempts(t *testing.T) {
	runRules(t, []rule{
		{
			name: "after three crashes the job fails without running",
			play: func(s *story) {
				id := s.master("c1", "")
				for _, instance := range []string{"p1", "p2", "p3"} {
					s.crash(instance)
				}
				s.Start("c0", laneHere, "p4", s.bench)
				s.until(id)
			},
			of: "dequeued lost finished failed",
			log: `dequeued c1/a, attempt 1
				lost attempt 1, 1 lost
				dequeued c1/a, attempt 2
				lost attempt 2, 2 lost
				dequeued c1/a, attempt 3
				lost attempt 3, 3 lost
				finished attempt 3: failure exhausted
				failed c1: 1 of 1 required jobs failed`,
			end: `c1 failed
				c1/a failure`,
		},
		{
			name: "a collector that comes back continues its job, and measures nothing again",
			play: func(s *story) {
				d := s.Suite
				d.Benchmarks = append(d.Benchmarks[:1:1], d.Benchmarks[0])
				d.Benchmarks[1].Name = "b9"
				if _, err := s.Control.Publish(s.ctx, By, d); err != nil {
					s.T.Fatal(err)
				}
				id := s.master("c1", "")
				p := s.work(90 * time.Second)
				p.Kill()
				s.Pass(2 * time.Minute)
				s.Start("c0", laneHere, "p2", s.bench)
				s.until(id)
			},
			of: "dequeued measured lost finished completed",
			log: `dequeued c1/a, attempt 1
				measured b0 of c1, attempt 1
				lost attempt 1, 1 lost
				dequeued c1/a, attempt 2
				measured b9 of c1, attempt 2
				finished attempt 2: success
				completed c1`,
		},
		{
			name: "an artifact server that is down for 90 seconds costs nobody a job",
			play: func(s *story) {
				s.bench.Err = down(90 * time.Second)
				s.work(0)
				id := s.master("c1", "")
				s.until(id)
			},
			of:  "lost completed failed",
			log: `completed c1`,
			end: `c1 completed
				c1/a success`,
		},
		{
			name: "transient errors are tried again for two hours and not longer",
			play: func(s *story) {
				s.bench.Err = down(24 * time.Hour)
				s.work(0)
				id := s.master("c1", "")
				s.until(id)
				if r := s.folded(id); r.EndedAt.Sub(r.StartedAt) < 2*time.Hour || r.EndedAt.Sub(r.StartedAt) > 2*time.Hour+2*time.Minute {
					s.T.Errorf("it took %s", r.EndedAt.Sub(r.StartedAt))
				}
			},
			of:  "lost failed",
			log: `failed c1: 1 of 1 required jobs failed`,
			end: `c1 failed
				c1/a failure`,
		},
		{
			name: "crashes and transient errors are counted apart",
			play: func(s *story) {
				id := s.master("c1", "")
				s.crash("p1")
				s.crash("p2")
				errs := 0
				s.bench.Err = func(events.JobSpec) error {
					if errs++; errs <= 4 {
						return errors.New("503")
					}
					return nil
				}
				s.Start("c0", laneHere, "p3", s.bench)
				s.until(id)
			},
			of: "dequeued lost transient finished completed",
			log: `dequeued c1/a, attempt 1
				lost attempt 1, 1 lost
				dequeued c1/a, attempt 2
				lost attempt 2, 2 lost
				dequeued c1/a, attempt 3
				transient attempt 3, 2 lost
				dequeued c1/a, attempt 4
				transient attempt 4, 2 lost
				dequeued c1/a, attempt 5
				transient attempt 5, 2 lost
				dequeued c1/a, attempt 6
				transient attempt 6, 2 lost
				dequeued c1/a, attempt 7
				finished attempt 7: success
				completed c1`,
		},
		{
			name: "an artifact that is not there ends the job at once",
			play: func(s *story) {
				s.bench.Err = missing
				s.work(0)
				s.until(s.master("c1", ""))
			},
			of: "dequeued finished failed",
			log: `dequeued c1/a, attempt 1
				finished attempt 1: failure artifact
				failed c1: 1 of 1 required jobs failed`,
		},
		{
			name: "a stop spends no attempt, however often",
			play: func(s *story) {
				id := s.master("c1", "")
				for i := range 5 {
					p := s.Start("c0", laneHere, fmt.Sprintf("p%d", i), s.bench)
					s.Pass(30 * time.Second)
					p.Stop()
					<-p.Ended
				}
				s.Start("c0", laneHere, "last", s.bench)
				s.until(id)
			},
			of: "released lost finished",
			log: `released attempt 1, 0 lost
				released attempt 2, 0 lost
				released attempt 3, 0 lost
				released attempt 4, 0 lost
				released attempt 5, 0 lost
				finished attempt 6: success`,
		},
		{
			name: "results and the end of a lost attempt come too late and change nothing",
			play: func(s *story) {
				s.bench.Each = 10 * time.Minute
				id := s.master("c1", "")
				p := s.work(time.Minute)
				p.Pause()
				s.Pass(2 * time.Minute)
				s.Start("c0", laneHere, "p2", &Bench{Each: time.Minute})
				s.until(id)
				p.Wake()
				s.Pass(time.Hour)
			},
			of: "online dequeued measured lost finished completed",
			log: `online p0
				dequeued c1/a, attempt 1
				lost attempt 1, 1 lost
				online p2
				dequeued c1/a, attempt 2
				measured b0 of c1, attempt 2
				finished attempt 2: success
				completed c1`,
			end: `c1 completed
				c1/a success`,
		},
		{
			name: "a failing benchmark fails its job, and the others are measured",
			sets: 2,
			play: func(s *story) {
				s.Start("c1", laneOther, "p1", &Bench{Each: time.Hour})
				s.bench.Fails = func(c events.TestCase) bool { return c.Benchmark == "b0" }
				s.work(0)
				s.until(s.master("c1", ""))
			},
			of: "measured finished failed",
			log: `finished attempt 1: failure
				measured b1 of c1, attempt 1
				finished attempt 1: success
				failed c1: 1 of 2 required jobs failed`,
		},
	})
}
