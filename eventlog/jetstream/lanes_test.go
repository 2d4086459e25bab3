package jetstream_test

import (
	"context"
	"errors"
	"testing"
	"time"

	natsjs "github.com/nats-io/nats.go/jetstream"

	"github.com/tachobench/tacho/eventlog"
	"github.com/tachobench/tacho/eventlog/jetstream"
	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/internal/natsserver"
)

// Versions before kept the consumer of a lane in a file, from the first job of the lane on. It is replaced, and the job that it had
// delivered comes again.
func TestALaneOfAnEarlierVersion(t *testing.T) {
	nc := connect(t, start(t, natsserver.Config{Dir: t.TempDir()}))
	l := open(t, nc, jetstream.Config{})
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	defer cancel()
	js := streams(t, nc)
	_, err := js.CreateConsumer(ctx, "EVENTS", natsjs.ConsumerConfig{
		Durable: jetstream.LaneConsumer(lane), Description: "Tacho: jobs of lane linux-x86/1",
		FilterSubject: string(events.LaneSubject(lane)), DeliverPolicy: natsjs.DeliverAllPolicy,
		AckPolicy: natsjs.AckExplicitPolicy, AckWait: 15 * time.Second, MaxDeliver: -1, MaxAckPending: 1,
	})
	if err != nil {
		t.Fatal(err)
	}
	var seqs [3]events.Seq
	var version events.Seq
	for i := range seqs {
		if version, err = l.Append(ctx, eventlog.Append{Subject: events.LaneSubject(lane), Expected: version, Events: []events.Event{dispatched(uint64(i))}}); err != nil {
			t.Fatal(err)
		}
		seqs[i] = version
	}
	old, err := l.NextJob(ctx, lane)
	if err != nil {
		t.Fatal(err)
	}
	if err := l.EnsureLane(ctx, lane, seqs[1]); err != nil {
		t.Fatal(err)
	}
	there, err := js.Consumer(ctx, "EVENTS", jetstream.LaneConsumer(lane))
	if err != nil {
		t.Fatal(err)
	}
	if c := there.CachedInfo().Config; !c.MemoryStorage || c.OptStartSeq != uint64(seqs[1]) || c.MaxAckPending != 1 {
		t.Errorf("%+v", c)
	}
	if err := old.Ack(ctx); err != nil {
		t.Error(err)
	}
	for _, seq := range seqs[1:] {
		d, err := l.NextJob(ctx, lane)
		if err != nil || d.Stored().Seq != seq || d.Ack(ctx) != nil {
			t.Fatalf("%+v, %v: want job event %d", d, err, seq)
		}
	}
}

// Another wait than the one that the consumer has is written into it; where it stands stays.
func TestALaneGetsANewWait(t *testing.T) {
	nc := connect(t, start(t, natsserver.Config{Dir: t.TempDir()}))
	if err := open(t, nc, jetstream.Config{AckWait: 10 * time.Second}).EnsureLane(t.Context(), lane, 7); err != nil {
		t.Fatal(err)
	}
	if err := open(t, nc, jetstream.Config{AckWait: 20 * time.Second}).EnsureLane(t.Context(), lane, 9); err != nil {
		t.Fatal(err)
	}
	js := streams(t, nc)
	there, err := js.Consumer(t.Context(), "EVENTS", jetstream.LaneConsumer(lane))
	if err != nil {
		t.Fatal(err)
	}
	if c := there.CachedInfo().Config; c.AckWait != 20*time.Second || c.OptStartSeq != 7 {
		t.Errorf("%+v", c)
	}
}

// All nodes of a cluster end, and with them what the consumer knew. The lane goes on: jobs come again from where it began, and who has
// taken one that has ended gets the next.
func TestALaneOutlivesItsCluster(t *testing.T) {
	c, nc := cluster(t, true)
	l := open(t, nc, jetstream.Config{Replicas: 3})
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	defer cancel()
	dispatch := func(version events.Seq, place uint64) events.Seq {
		t.Helper()
		seq, err := l.Append(ctx, eventlog.Append{Subject: events.LaneSubject(lane), Expected: version, Events: []events.Event{dispatched(place)}})
		if err != nil {
			t.Fatal(err)
		}
		return seq
	}
	take := func(want events.Seq) eventlog.Delivery {
		t.Helper()
		for {
			d, err := l.NextJob(ctx, lane)
			switch {
			case errors.Is(err, eventlog.ErrNoLane):
				if err := l.EnsureLane(ctx, lane, want); err != nil {
					t.Fatal(err)
				}
			case err != nil:
				t.Fatal(err)
			case d.Stored().Seq == want:
				return d
			case d.Stored().Seq > want:
				t.Fatalf("job event %d comes, want %d", d.Stored().Seq, want)
			default: // it has ended
				if err := d.Ack(ctx); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	first := dispatch(0, 1)
	if err := take(first).Ack(ctx); err != nil {
		t.Fatal(err)
	}
	second := dispatch(first, 2)
	running := take(second)
	third := dispatch(second, 3)
	if err := c.Restart(ctx); err != nil {
		t.Fatal(err)
	}
	if err := running.InProgress(ctx); err != nil {
		t.Error(err)
	}
	if err := take(second).Ack(ctx); err != nil {
		t.Fatal(err)
	}
	if err := take(third).Ack(ctx); err != nil {
		t.Fatal(err)
	}
}
