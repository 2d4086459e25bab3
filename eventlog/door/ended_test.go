package door_test

import (
	"context"
	"testing"
	"time"

	"github.com/tachobench/tacho/eventlog/door"
	"github.com/tachobench/tacho/events"
)

// The door ends the delivery of a job when it stores the job's end: the next job comes although nobody has acknowledged.
func TestTheEndOfAJobEndsItsDelivery(t *testing.T) {
	k := newCore(t, door.DefaultBounds())
	k.open()
	eider := k.register("eider", 1)
	c := k.client(eider)
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	spec := k.dispatch(eider.lane, 1, "j1")
	one, err := c.NextJob(ctx, eider.lane)
	must(t, "the first job", err)
	begun, err := c.Append(ctx, appendOf(0, events.JobDequeued{Lane: eider.lane, Place: 1, Job: spec, Collector: "eider", Instance: "1", Attempt: 1}))
	must(t, "begin", err)
	k.finish(eider, c, "j1", 1, begun)

	k.dispatch(eider.lane, 2, "j2")
	two, err := c.NextJob(ctx, eider.lane)
	must(t, "the second job", err)
	if two.Stored().Seq <= one.Stored().Seq {
		t.Fatalf("event %d is delivered again", two.Stored().Seq)
	}
	must(t, "acknowledge what is over", one.Ack(ctx))
	if err := two.Ack(ctx); err == nil {
		t.Error("the delivery of a job that has not ended was acknowledged")
	}
}
