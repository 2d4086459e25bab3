package door_test

import (
	"context"
	"testing"
	"time"

	"github.com/tachobench/tacho/eventlog/door"
	"github.com/tachobench/tacho/events"
)

// The door says which run did the same, of the job in hand alone, and not of one that counts for nothing.
func TestACollectorAsksWhatWasDone(t *testing.T) {
	k := newCore(t, door.DefaultBounds())
	eider := k.register("eider", 1)
	k.open()
	c := k.client(eider)
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	create := func(id events.RequestID, spec events.JobSpec) {
		k.append(events.RequestCreated{RequestID: id, Kind: events.Master, Suite: "go", Tag: events.Tag(id), Key: string(id), State: events.StateArtifactsReady})
		k.append(events.RequestStarted{RequestID: id, Jobs: 1})
		k.append(events.JobsCreated{RequestID: id, Jobs: []events.JobSpec{spec}})
	}
	made := func(id events.JobID, request events.RequestID) events.JobSpec {
		return events.JobSpec{
			ID: id, RequestID: request, Kind: "compile", Target: eider.lane.Target, Set: eider.lane.Set, Definitions: "d",
			Artifact: events.Artifact{Suite: "go", Tag: events.Tag(request), Kind: events.Master},
		}
	}
	begin := func(place uint64, spec events.JobSpec) events.Seq {
		create(spec.RequestID, spec)
		k.append(events.JobDispatched{Place: place, Job: spec})
		return k.append(events.JobDequeued{Lane: eider.lane, Place: place, Job: spec, Collector: "eider", Instance: "1", Attempt: 1})
	}
	first := made("j1", "r1")
	token := begin(1, first)
	k.reach(token)
	from, counts, err := c.Same(ctx, "j1", "key")
	if err != nil || from != "" || !counts {
		t.Errorf("before anything was done: %q, %v, %v", from, counts, err)
	}
	k.append(events.JobFinished{
		Lane: eider.lane, Place: 1, JobID: "j1", RequestID: "r1", Collector: "eider", Token: token, Attempt: 1, Outcome: events.Success, Measured: 1, Key: "key",
	})
	token = begin(2, made("j2", "r2"))
	k.reach(token)
	_, _, err = c.Same(ctx, "j1", "key")
	if err == nil {
		t.Error("the door answers about a job that is not in hand")
	}
	from, counts, err = c.Same(ctx, "j2", "key")
	if err != nil || from != "" || !counts {
		// Its definitions are not known, so nobody knows what it should yield.
		t.Errorf("without definitions: %q, %v, %v", from, counts, err)
	}
}
