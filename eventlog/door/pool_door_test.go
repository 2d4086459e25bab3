package door_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/tachobench/tacho/eventlog/door"
	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/rules/job"
)

// A collector of a pool executes a job that was on another machine before, measures both sides of the pair, and learns
// that the job was moved away.
func TestAPoolsCollectorWorks(t *testing.T) {
	k := newCore(t, door.DefaultBounds())
	k.open()
	lane := events.PoolLane("builders", 3)
	key, public := newKey(t)
	k.append(events.MachineDescribed{Machine: "eider", Pool: "builders", MemoryMiB: 1024, CPUs: 2, Slots: 1})
	k.append(events.CollectorRegistered{Name: "eider-1", Target: lane.Target, Set: lane.Set, NKey: public, Machine: "eider"})
	k.reach(k.append(events.LaneAssigned{Lane: lane, Name: "eider-1"}))
	c := k.client(collector{name: "eider-1", lane: lane, key: key})
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()

	offer, ok, err := c.Last(ctx, events.MachineSubject("eider"))
	must(t, "read the offer", err)
	if f, is := offer.Fact.(events.MachineDescribed); !ok || !is || f.MemoryMiB != 1024 {
		t.Fatalf("the offer is %+v", offer)
	}
	if _, _, err := c.Last(ctx, events.MachineSubject("teal")); !errors.Is(err, door.ErrNotPermitted) {
		t.Errorf("it read the offer of another machine: %v", err)
	}

	parent := events.Artifact{Suite: "go", Tag: "w", Kind: events.Master}
	spec := events.JobSpec{
		ID: "j1", Artifact: events.Artifact{Suite: "go", Tag: "x", Kind: events.Master}, Kind: "compile", Target: "linux", Backend: "gc", Profile: "opt",
		Definitions: "d1", RequestID: "r1", Matched: true, Requires: []string{"memory=1g"}, Against: &parent,
	}.Bound(lane)
	k.reach(k.append(events.JobDispatched{Place: 1, Job: spec, Closes: true, Attempt: 2, Lost: 1}))
	d, err := c.NextJob(ctx, lane)
	must(t, "next job", err)
	begin := func(attempt, lost int) (events.Seq, error) {
		return c.Append(ctx, appendOf(0, events.JobDequeued{Lane: lane, Place: 1, Job: spec, Collector: "eider-1", Instance: "1", Attempt: attempt, Lost: lost}))
	}
	if _, err := begin(1, 0); err == nil {
		t.Fatal("an attempt began that forgets those on other machines")
	}
	token, err := begin(3, 1)
	must(t, "begin", err)
	side := func(of events.Artifact) events.Fact {
		return events.TestCasesMeasured{
			Lane: lane, JobID: "j1", Artifact: of, Collector: "eider-1", Token: token, Attempt: 3, Definitions: "d1",
			Cases: []events.MeasuredCase{{TestCase: events.TestCase{Benchmark: "hello"}}},
		}
	}
	at, err := c.Append(ctx, appendOf(0, side(parent), side(spec.Artifact)))
	must(t, "results of both sides", err)
	if _, err := c.Append(ctx, appendOf(at, side(events.Artifact{Suite: "go", Tag: "v", Kind: events.Master}))); !errors.Is(err, door.ErrNotPermitted) {
		t.Errorf("results of a third artifact: %v", err)
	}

	k.append(events.AttemptLost{Lane: lane, Place: 1, JobID: "j1", Collector: "eider-1", Token: token, Attempt: 3, Lost: 2, Reason: "silent"})
	k.append(events.ResultsClosed{Lane: lane, JobID: "j1", Attempt: 3, Token: token})
	moved := k.append(events.JobMoved{Lane: lane, Place: 1, JobID: "j1", Collector: "eider-1", Token: token, Attempt: 3, Lost: 2, Reason: "silent"})
	k.reach(moved)
	var notNow *job.Refusal
	if _, err := c.Append(ctx, appendOf(at, side(spec.Artifact))); !errors.As(err, &notNow) {
		t.Errorf("late results: %v", err)
	}
	if e, _, err := c.Last(ctx, events.WorkSubject(lane)); err != nil || e.Seq != moved || job.Evolve(job.Lane{}, e.Fact, e.Seq, e.Time).Phase != job.Ended {
		t.Errorf("the last of the work is %+v, %v", e, err)
	}
	must(t, "take the moved job off the lane", d.Ack(ctx))
	k.reach(k.append(events.JobDispatched{Place: 2, Job: spec, Closes: true, Attempt: 3, Lost: 2}))
	d, err = c.NextJob(ctx, lane)
	must(t, "the same job again", err)
	if got, err := events.Decode(d.Stored()); err != nil || got.Fact.(events.JobDispatched).Place != 2 {
		t.Errorf("the job is %+v, %v", got, err)
	}
}
