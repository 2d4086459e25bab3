package farm

import (
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tachobench/tacho/collector"
	"github.com/tachobench/tacho/control"
	"github.com/tachobench/tacho/eventlog"
	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/rules/suite"
)

// matchedSuite has two benchmarks of a kind whose jobs run on any machine with a fast disk.
func matchedSuite() suite.Definitions {
	d := ruleSuite(1)
	d.Targets[0].OS, d.Targets[0].Arch = "linux", "amd64"
	d.Kinds[0].Lanes, d.Kinds[0].Requires = suite.LanesAny, []string{"trait=nvme"}
	d.Benchmarks = append(d.Benchmarks, d.Benchmarks[0])
	d.Benchmarks[1].Name = "b9"
	return d
}

// machine adds a machine of the pool builders with one collector, m0 for the first, and returns the collector's lane.
func (f *Farm) machine(n int) (events.CollectorName, events.Lane) {
	f.T.Helper()
	name, lane := fmt.Sprintf("m%d", n), events.PoolLane("builders", n)
	if err := f.Log.EnsureLane(f.ctx, lane, 0); err != nil {
		f.T.Fatal(err)
	}
	collector := events.CollectorName(name)
	for _, fact := range []events.Fact{
		events.MachineDescribed{
			Machine: events.MachineName(name), Pool: "builders", OS: "linux", Arch: "amd64", MemoryMiB: 1024, CPUs: 2, Traits: []string{"nvme"}, Slots: 1,
		},
		events.CollectorRegistered{Name: collector, Target: lane.Target, Set: lane.Set, Machine: events.MachineName(name)},
		events.LaneAssigned{Lane: lane, Name: collector},
	} {
		e := eventlog.NewEvent(fact, eventlog.Meta{Source: "test", Actor: "test"}, time.Now())
		if _, err := f.Log.Append(f.ctx, eventlog.Append{Subject: fact.Subject(), Events: []events.Event{e}}); err != nil {
			f.T.Fatal(err)
		}
	}
	return collector, lane
}

// inPool runs a story in a farm of two machines.
func inPool(t *testing.T, play func(s *story)) []string {
	var lines []string
	synctest.Test(t, func(t *testing.T) {
		s := &story{Farm: New(t, matchedSuite(), policy), bench: &Bench{Each: minute}, names: map[events.RequestID]string{}}
		defer s.Stop()
		s.machine(0)
		s.machine(1)
		play(s)
		recorded := s.Events()
		c := newChecker(t, policy.MaxInProgress)
		for _, e := range recorded {
			c.look(e)
			//exhaustive:ignore
			switch f := e.Fact.(type) {
			case events.JobDequeued:
				lines = append(lines, fmt.Sprintf("%s begins attempt %d on %s", f.Collector, f.Attempt, f.Job.Lane()))
			case events.TestCasesMeasured:
				line := fmt.Sprintf("%s measured %s of %s", f.Collector, f.Cases[0].Benchmark, f.Artifact.Tag)
				if f.Beside != nil {
					line += " beside " + string(f.Beside.Artifact.Tag)
				}
				lines = append(lines, line)
			case events.JobMoved:
				lines = append(lines, fmt.Sprintf("moved from %s after attempt %d, %d lost", f.Lane, f.Attempt, f.Lost))
			case events.JobFinished:
				lines = append(lines, fmt.Sprintf("%s ends it: %s", f.Collector, f.Outcome))
			}
		}
	})
	return lines
}

func (s *story) on(n int, bench collector.Bench) *Process {
	return s.Start(events.CollectorName(fmt.Sprintf("m%d", n)), events.PoolLane("builders", n), fmt.Sprintf("p%d", n), bench,
		func(c *collector.Config) { c.Environment.Fingerprint = events.Digest(fmt.Sprintf("env %d", n)) })
}

func TestAPairGoesToAnotherMachine(t *testing.T) {
	got := inPool(t, func(s *story) {
		p := s.on(0, s.bench)
		id := s.master("c2", "c1")
		s.Await("the first result", func(f events.Fact) bool { _, ok := f.(events.TestCasesMeasured); return ok })
		p.Kill()
		s.on(1, &Bench{Each: minute})
		s.until(id)
	})
	if diff := cmp.Diff([]string{
		"m0 begins attempt 1 on pool_builders/0", "m0 measured b0 of c2 beside c1", "moved from pool_builders/0 after attempt 1, 1 lost",
		"m1 begins attempt 2 on pool_builders/1", "m1 measured b0 of c2 beside c1", "m1 measured b9 of c2 beside c1",
		"m1 ends it: success",
	}, got); diff != "" {
		t.Errorf("the log (-want +got):\n%s", diff)
	}
}

// A process that was frozen while its job went to another machine records nothing more of it, and takes the next job.
func TestAFrozenMachineDoesNotDisturb(t *testing.T) {
	got := inPool(t, func(s *story) {
		p := s.on(0, s.bench)
		id := s.master("c2", "")
		s.Await("the beginning", func(f events.Fact) bool { _, ok := f.(events.JobDequeued); return ok })
		p.Pause()
		other := s.on(1, &Bench{Each: minute})
		s.until(id)
		p.Wake()
		s.Pass(time.Minute)
		other.Stop()
		<-other.Ended
		s.until(s.master("c3", ""))
	})
	if diff := cmp.Diff([]string{
		"m0 begins attempt 1 on pool_builders/0", "moved from pool_builders/0 after attempt 1, 1 lost", "m1 begins attempt 2 on pool_builders/1",
		"m1 measured b0 of c2", "m1 measured b9 of c2", "m1 ends it: success",
		"m0 begins attempt 1 on pool_builders/0", "m0 measured b0 of c3", "m0 measured b9 of c3", "m0 ends it: success",
	}, got); diff != "" {
		t.Errorf("the log (-want +got):\n%s", diff)
	}
}

// A machine that is drained ends its job. The next one goes to the other machine.
func TestADrainedMachineEndsItsJob(t *testing.T) {
	got := inPool(t, func(s *story) {
		p := s.on(0, s.bench)
		id := s.master("c2", "")
		s.Await("the beginning", func(f events.Fact) bool { _, ok := f.(events.JobDequeued); return ok })
		if _, err := s.Control.DrainCollector(s.ctx, By, "m0", "new disks"); err != nil {
			s.T.Fatal(err)
		}
		s.on(1, &Bench{Each: minute})
		s.until(id)
		<-p.Ended
		s.until(s.master("c3", ""))
	})
	if diff := cmp.Diff([]string{
		"m0 begins attempt 1 on pool_builders/0", "m0 measured b0 of c2", "m0 measured b9 of c2", "m0 ends it: success",
		"m1 begins attempt 1 on pool_builders/1", "m1 measured b0 of c3", "m1 measured b9 of c3", "m1 ends it: success",
	}, got); diff != "" {
		t.Errorf("the log (-want +got):\n%s", diff)
	}
}

// moves waits until jobs have moved n times.
func (s *story) moves(n int) {
	s.T.Helper()
	seen := 0
	s.Await(fmt.Sprintf("%d moves", n), func(f events.Fact) bool {
		if _, moved := f.(events.JobMoved); moved {
			seen++
		}
		return seen == n
	})
}

// A job whose machine has too little memory runs on another one; and on the same one, when that is the only one that is
// left and has memory again. It spends no attempt.
func TestAJobFindsTooLittleMemory(t *testing.T) {
	got := inPool(t, func(s *story) {
		s.Suite.Kinds[0].Requires = append(s.Suite.Kinds[0].Requires, "memory=512m")
		if _, err := s.Control.Publish(s.ctx, By, s.Suite); err != nil {
			s.T.Fatal(err)
		}
		var full atomic.Bool
		full.Store(true)
		s.Start("m0", events.PoolLane("builders", 0), "p0", &Bench{Each: minute}, func(c *collector.Config) {
			c.FreeMemory = func() (int64, bool) {
				if full.Load() {
					return 100 << 20, true
				}
				return 900 << 20, true
			}
		})
		id := s.master("c2", "")
		s.moves(1)
		other := s.on(1, &Bench{Each: minute})
		s.until(id)
		other.Stop()
		<-other.Ended
		id = s.master("c3", "")
		s.moves(5)
		full.Store(false)
		s.until(id)
	})
	if diff := cmp.Diff([]string{
		"m0 begins attempt 1 on pool_builders/0", "moved from pool_builders/0 after attempt 1, 0 lost", "m1 begins attempt 2 on pool_builders/1",
		"m1 measured b0 of c2", "m1 measured b9 of c2", "m1 ends it: success",
		"m0 begins attempt 1 on pool_builders/0", "moved from pool_builders/0 after attempt 1, 0 lost",
		"m0 begins attempt 2 on pool_builders/0", "moved from pool_builders/0 after attempt 2, 0 lost",
		"m0 begins attempt 3 on pool_builders/0", "moved from pool_builders/0 after attempt 3, 0 lost",
		"m0 begins attempt 4 on pool_builders/0", "moved from pool_builders/0 after attempt 4, 0 lost",
		"m0 begins attempt 5 on pool_builders/0", "m0 measured b0 of c3", "m0 measured b9 of c3", "m0 ends it: success",
	}, got); diff != "" {
		t.Errorf("the log (-want +got):\n%s", diff)
	}
}

// Four schedulers bind each job once at a time, also while collectors die and one of the schedulers starts late.
func TestFourSchedulersShareAPool(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &story{Farm: New(t, matchedSuite(), policy), bench: &Bench{Each: minute}, names: map[events.RequestID]string{}}
		defer s.Stop()
		for range 2 {
			s.Schedule(policy)
		}
		var processes []*Process
		for n := range 4 {
			s.machine(n)
			processes = append(processes, s.on(n, &Bench{Each: minute}))
		}
		var asked []events.RequestID
		for _, name := range []events.QueueName{"a", "b"} {
			if _, err := s.Control.ConfigureQueue(s.ctx, By, name, control.QueueChange{}); err != nil {
				t.Fatal(err)
			}
		}
		for i := range 12 {
			r, _, err := s.Control.CreateRequest(s.ctx, By, control.NewRequest{
				Suite: s.Suite.Name, Kind: events.Master, Tag: events.Tag(fmt.Sprintf("c%d", i)), Queue: events.QueueName([]string{"", "a", "b"}[i%3]),
			})
			if err != nil {
				t.Fatal(err)
			}
			asked = append(asked, r.ID)
		}
		s.Pass(90 * time.Second)
		processes[0].Kill()
		s.Schedule(policy)
		processes[1].Kill()
		s.Start("m1", events.PoolLane("builders", 1), "its successor", &Bench{Each: minute})
		for _, id := range asked {
			s.until(id)
		}
		open, ended := map[events.JobID]events.Lane{}, map[events.JobID]bool{}
		for _, e := range s.Events() {
			//exhaustive:ignore
			switch f := e.Fact.(type) {
			case events.JobDispatched:
				if on, bound := open[f.Job.ID]; bound || ended[f.Job.ID] {
					t.Errorf("event %d: job %s goes to %s and is on %s or has ended", e.Seq, f.Job.ID, f.Job.Lane(), on)
				}
				open[f.Job.ID] = f.Job.Lane()
			case events.JobMoved:
				delete(open, f.JobID)
			case events.JobFinished:
				if ended[f.JobID] || f.Outcome != events.Success {
					t.Errorf("event %d: job %s ends as %s", e.Seq, f.JobID, f.Outcome)
				}
				delete(open, f.JobID)
				ended[f.JobID] = true
			}
		}
		if len(ended) != len(asked) || len(open) > 0 {
			t.Errorf("%d of %d jobs have ended, %d are open", len(ended), len(asked), len(open))
		}
	})
}
