package door_test

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	natsjs "github.com/nats-io/nats.go/jetstream"

	"github.com/tachobench/tacho/eventlog"
	"github.com/tachobench/tacho/eventlog/door"
	"github.com/tachobench/tacho/eventlog/jetstream"
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

// onLane starts a core with a collector of one lane, and with what administers the lane's consumer.
func onLane(t *testing.T) (*core, collector, *door.Client, natsjs.JetStream) {
	t.Helper()
	k := newCore(t, door.DefaultBounds())
	k.open()
	eider := k.register("eider", 1)
	js, err := natsjs.New(k.nc)
	must(t, "administer", err)
	return k, eider, k.client(eider), js
}

// A lane loses its consumer at each moment in the life of a job, and once begins from its first job. No job is lost, and none that has
// ended comes again.
func TestALaneThatLosesItsConsumer(t *testing.T) {
	k, eider, c, js := onLane(t)
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	defer cancel()
	lose := func() { must(t, "lose the lane", js.DeleteConsumer(ctx, "EVENTS", jetstream.LaneConsumer(eider.lane))) }
	var version events.Seq
	end := func(id events.JobID, place uint64) {
		k.finish(eider, c, id, place, version)
		last, _, err := c.Last(ctx, events.WorkSubject(eider.lane))
		must(t, "last", err)
		version = last.Seq
	}
	begin := func(spec events.JobSpec, place uint64) {
		var err error
		version, err = c.Append(ctx, appendOf(version, events.JobDequeued{Lane: eider.lane, Place: place, Job: spec, Collector: "eider", Instance: "1", Attempt: 1}))
		must(t, "begin", err)
	}
	type wait struct {
		d   eventlog.Delivery
		err error
	}
	ask := func() chan wait {
		got := make(chan wait, 1)
		go func() {
			d, err := c.NextJob(ctx, eider.lane)
			got <- wait{d, err}
		}()
		return got
	}
	comes := func(got chan wait, id events.JobID) eventlog.Delivery {
		t.Helper()
		w := <-got
		must(t, "next job", w.err)
		e, err := events.Decode(w.d.Stored())
		must(t, "decode", err)
		if f := e.Fact.(events.JobDispatched); f.Job.ID != id {
			t.Fatalf("job %s comes, want %s", f.Job.ID, id)
		}
		return w.d
	}

	waits := ask()
	await(t, "the making of the lane", func() bool {
		_, err := js.Consumer(ctx, "EVENTS", jetstream.LaneConsumer(eider.lane))
		return err == nil
	})
	lose() // while a collector waits
	one := k.dispatch(eider.lane, 1, "j1")
	comes(waits, "j1")
	lose() // with a job that nobody has begun
	first := comes(ask(), "j1")
	begin(one, 1)
	two := k.dispatch(eider.lane, 2, "j2")
	lose() // with a job that runs, and one behind it
	must(t, "prolong", first.InProgress(ctx))
	end("j1", 1)
	must(t, "end", first.Ack(ctx))
	second := comes(ask(), "j2")
	begin(two, 2)
	end("j2", 2)
	must(t, "end", second.Ack(ctx))
	lose() // with nothing to do
	must(t, "make the lane from its first job on", k.log.EnsureLane(ctx, eider.lane, 0))
	waits = ask()
	k.dispatch(eider.lane, 3, "j3")
	comes(waits, "j3")
}

// reluctant is a dispatch that cannot make lanes a few times.
type reluctant struct {
	*jetstream.Log
	times atomic.Int32
}

func (r *reluctant) EnsureLane(ctx context.Context, lane events.Lane, from events.Seq) error {
	if r.times.Add(-1) >= 0 {
		return errors.New("the stream has as many consumers as it takes")
	}
	return r.Log.EnsureLane(ctx, lane, from)
}

// A lane whose consumer cannot be made gets its jobs as soon as it can.
func TestALaneThatCannotBeMade(t *testing.T) {
	k := newCore(t, door.DefaultBounds())
	hinders := &reluctant{Log: k.log}
	hinders.times.Store(3)
	k.jobs = hinders
	k.open()
	eider := k.register("eider", 1)
	c := k.client(eider)
	k.dispatch(eider.lane, 1, "j1")
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	defer cancel()
	_, err := c.NextJob(ctx, eider.lane)
	must(t, "next job", err)
	if left := hinders.times.Load(); left >= 0 {
		t.Errorf("%d tries were left", left+1)
	}
}

// The log goes far while a collector has a job in hand. If that was long ago, its lane gets a consumer that begins with the next job.
func TestALaneBehindALongJob(t *testing.T) {
	k, eider, c, js := onLane(t)
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	defer cancel()
	// An alert says nothing to the ledger.
	alert, err := events.Encode(eventlog.NewEvent(events.AlertCleared{Key: "a"}, eventlog.Meta{Source: "test", Actor: "test"}, time.Now()))
	must(t, "encode", err)
	m := nats.NewMsg(string(alert.Subject))
	m.Data = alert.Data
	for name, value := range alert.Header {
		m.Header.Set(name, value)
	}
	var version events.Seq
	begins := func() uint64 {
		there, err := js.Consumer(ctx, "EVENTS", jetstream.LaneConsumer(eider.lane))
		must(t, "look at the consumer", err)
		return there.CachedInfo().Config.OptStartSeq
	}
	place, given := uint64(0), uint64(0)
	var spec events.JobSpec
	give := func() {
		given++
		spec = k.dispatch(eider.lane, given, events.JobID(fmt.Sprint("j", given)))
	}
	work := func(during func()) (job events.Seq) {
		t.Helper()
		if place++; given < place {
			give()
		}
		spec, id := spec, events.JobID(fmt.Sprint("j", place))
		d, err := c.NextJob(ctx, eider.lane)
		must(t, "next job", err)
		version, err = c.Append(ctx, appendOf(version, events.JobDequeued{Lane: eider.lane, Place: place, Job: spec, Collector: "eider", Instance: "1", Attempt: 1}))
		must(t, "begin", err)
		during()
		k.finish(eider, c, id, place, version)
		last, _, err := c.Last(ctx, events.WorkSubject(eider.lane))
		must(t, "last", err)
		version = last.Seq
		must(t, "end", d.Ack(ctx))
		k.reach(version)
		return d.Stored().Seq
	}
	for _, meanwhile := range []struct {
		others int
		took   time.Duration
		// waits says that another job waits behind the long one, and does not take long.
		waits, anew bool
	}{
		{others: 10, took: time.Hour},
		{others: eventlog.FarBehind + 10, took: time.Second},
		{others: eventlog.FarBehind + 10, took: time.Hour, anew: true},
		{others: eventlog.FarBehind + 10, took: time.Hour, waits: true, anew: true},
		{others: 10, took: time.Second},
	} {
		work(func() {
			if meanwhile.waits {
				give()
			}
			for range meanwhile.others {
				_, err := js.PublishMsgAsync(m, natsjs.WithStallWait(5*time.Minute))
				must(t, "publish", err)
			}
			<-js.PublishAsyncComplete()
			k.ahead.Store(int64(meanwhile.took))
		})
		if meanwhile.waits {
			work(func() {})
		}
		before := begins()
		job := work(func() { k.ahead.Store(0) })
		switch now := begins(); {
		case meanwhile.anew && now != uint64(job):
			t.Errorf("%+v: the consumer begins at %d, the job is event %d", meanwhile, now, job)
		case !meanwhile.anew && now != before:
			t.Errorf("%+v: the consumer begins at %d and not at %d", meanwhile, now, before)
		}
	}
}
