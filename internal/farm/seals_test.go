package farm

import (
	"testing"
	"testing/synctest"

	"github.com/tachobench/tacho/collector"
	"github.com/tachobench/tacho/control"
	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/rules/seal"
	"github.com/tachobench/tacho/rules/suite"
	"github.com/tachobench/tacho/scheduler"
	"github.com/tachobench/tacho/shell"
)

func sealKey(t *testing.T, name string) *seal.Private {
	t.Helper()
	var seed [32]byte
	copy(seed[:], name)
	k, err := seal.New(name, seed)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// sealed returns a farm whose scheduler seals, whose definitions are sealed, and the setting of a collector that enforces both.
func sealed(t *testing.T, d suite.Definitions) (*Farm, func(*collector.Config)) {
	t.Helper()
	publisher, dispatcher := sealKey(t, "alice"), sealKey(t, "sched")
	f := New(t, d, policy, func(_ *shell.Config, c *scheduler.Config) { c.Key = dispatcher })
	f.do(f.Control.PublishFrom(f.ctx, By, d, control.Origin{Seal: publisher.Definitions(d.Name, d.Digest())}))
	return f, func(c *collector.Config) {
		c.Seals = &collector.Seals{
			Enforce: true, Publishers: seal.Keys{publisher.Public().ID: publisher.Public()}, Dispatchers: seal.Keys{dispatcher.Public().ID: dispatcher.Public()},
		}
	}
}

// ends returns how the jobs of the farm ended, and how many attempts there were.
func (f *Farm) ends() (out []events.JobFinished, attempts int) {
	for _, e := range f.Events() {
		// The rest has no part in it.
		//exhaustive:ignore
		switch fact := e.Fact.(type) {
		case events.JobFinished:
			out = append(out, fact)
		case events.JobDequeued:
			attempts++
		}
	}
	return out, attempts
}

func (f *Farm) awaitCompleted(id events.RequestID) {
	f.T.Helper()
	f.Await("the request is completed", func(e events.Fact) bool {
		done, ok := e.(events.RequestCompleted)
		return ok && done.RequestID == id
	})
}

// A job keeps its seal when its process is killed, when a standby takes its lane over, and it gets a new one when it moves.
func TestSealsHoldWhateverHappensToAJob(t *testing.T) {
	t.Run("killed and taken over", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			d := ruleSuite(1)
			f, enforce := sealed(t, d)
			defer f.Stop()
			f.Register("first", here)
			f.RegisterStandby("spare", here)
			p := f.Start("first", here, "p1", &Bench{Each: minute}, enforce)
			id := f.ask("c1")
			f.awaitDequeued("first")
			p.Kill()
			p = f.Start("first", here, "p2", &Bench{Each: minute}, enforce, func(c *collector.Config) { c.Replaces = "p1" })
			f.awaitCompleted(id)
			id = f.ask("c2")
			f.Await("the second job", func(e events.Fact) bool {
				d, ok := e.(events.JobDequeued)
				return ok && d.Job.Artifact.Tag == "c2"
			})
			p.Kill()
			f.Start("spare", here, "p3", &Bench{Each: minute}, enforce)
			f.awaitTakeover("spare")
			f.awaitCompleted(id)
			ends, attempts := f.ends()
			if len(ends) != 2 || attempts != 4 || ends[0].Collector != "first" || ends[1].Collector != "spare" {
				t.Errorf("%d attempts, %+v", attempts, ends)
			}
		})
	})
	t.Run("moved", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			f, enforce := sealed(t, matchedSuite())
			defer f.Stop()
			m0, lane0 := f.machine(0)
			m1, lane1 := f.machine(1)
			p := f.Start(m0, lane0, "p0", &Bench{Each: minute}, enforce)
			id := f.ask("c1")
			f.awaitDequeued(m0)
			p.Kill()
			f.Start(m1, lane1, "p1", &Bench{Each: minute}, enforce)
			f.awaitCompleted(id)
			ends, attempts := f.ends()
			if len(ends) != 1 || attempts != 2 || ends[0].Collector != m1 || ends[0].Outcome != events.Success {
				t.Errorf("%d attempts, %+v", attempts, ends)
			}
		})
	})
}
