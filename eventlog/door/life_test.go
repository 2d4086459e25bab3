package door_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/tachobench/tacho/eventlog"
	"github.com/tachobench/tacho/eventlog/door"
	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/internal/natsserver"
)

// A log that collectors of earlier versions wrote into holds litter: it must change nothing and stop nobody.
func TestLitterOnTheWorkOfALaneChangesNothing(t *testing.T) {
	k := newCore(t, door.DefaultBounds())
	eider := k.register("eider", 1)
	spec := k.dispatch(eider.lane, 1, "j1")
	work := events.WorkSubject(eider.lane)
	publish := func(m *nats.Msg) {
		t.Helper()
		if _, err := k.nc.RequestMsg(m, 5*time.Second); err != nil {
			t.Fatal(err)
		}
	}
	publish(&nats.Msg{Subject: string(work)})
	publish(&nats.Msg{Subject: string(work), Header: nats.Header{events.HeaderType: {"dev.tacho.nonsense.v1"}}, Data: []byte("{}")})
	// These are well formed, but do not fit the state of the lane.
	k.append(events.JobFinished{Lane: eider.lane, Place: 1, JobID: "j1", RequestID: "r1", Collector: "eider", Token: 3, Outcome: events.Success})
	forged := k.append(events.JobDequeued{Lane: eider.lane, Place: 9, Job: spec, Collector: "eider", Attempt: 1})

	k.open()
	c := k.client(eider)
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	last, ok, err := c.Last(ctx, work)
	if err != nil || !ok || last.Fact != nil || last.Seq != forged {
		t.Fatalf("the last of the work: %+v, %t, %v", last, ok, err)
	}
	all, err := c.Read(ctx, work)
	if err != nil || len(all) != 4 {
		t.Fatalf("the work: %+v, %v", all, err)
	}
	for _, e := range all {
		if e.Fact != nil {
			t.Errorf("event %d counts: %+v", e.Seq, e.Fact)
		}
	}
	if _, err := k.nc.Request("tacho.ev.collector.eider", nil, 5*time.Second); err != nil {
		t.Fatal(err)
	}
	begun, err := c.Append(ctx, appendOf(forged, events.JobDequeued{Lane: eider.lane, Place: 1, Job: spec, Collector: "eider", Instance: "1", Attempt: 1}),
		appendOf(0, events.AttemptBegan{Lane: eider.lane, JobID: "j1", Collector: "eider", Attempt: 1}))
	if err != nil {
		t.Fatalf("the job cannot begin behind the litter: %v", err)
	}
	if last, _, err := c.Last(ctx, work); err != nil || last.Seq != begun-1 || last.Fact == nil {
		t.Errorf("then the last of the work is %+v, %v", last, err)
	}
}

// A rotated key is refused within a second. Its process continues with the new key.
func TestARotatedKeyIsCutAndTheCollectorGoesOn(t *testing.T) {
	k := newCore(t, door.DefaultBounds())
	k.open()
	eider := k.register("eider", 1)
	old, first := k.dial(eider.key), eider.key
	fresh, public := newKey(t)
	var mu sync.Mutex
	key := first
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	c, err := door.Open(ctx, func(ctx context.Context) (*nats.Conn, error) {
		mu.Lock()
		now := key
		mu.Unlock()
		return nats.Connect(k.server.URL(), natsserver.KeyOption(now), nats.MaxReconnects(-1), nats.ReconnectWait(10*time.Millisecond))
	}, eider.name, eider.lane)
	must(t, "open", err)
	t.Cleanup(c.Close)
	closed := make(chan struct{})
	stolen, err := old(ctx)
	must(t, "connect with the old key", err)
	t.Cleanup(stolen.Close)
	stolen.SetClosedHandler(func(*nats.Conn) { close(closed) })
	stolen.SetReconnectHandler(func(*nats.Conn) { t.Error("the old key came back") })

	mu.Lock()
	key = fresh
	mu.Unlock()
	began := time.Now()
	k.append(events.CollectorKeyRotated{Name: "eider", NKey: public})
	<-closed
	if took := time.Since(began); took > time.Second {
		t.Errorf("the old key was cut after %s", took)
	}
	if _, err := c.Append(ctx, appendOf(0, events.CollectorOnline{Name: "eider", Instance: "1"})); err != nil {
		t.Errorf("the collector with the new key: %v", err)
	}
	if nc, err := nats.Connect(k.server.URL(), natsserver.KeyOption(first)); err == nil {
		nc.Close()
		t.Error("the old key opens still")
	}

	began = time.Now()
	k.append(events.CollectorRemoved{Name: "eider"})
	await(t, "the end of the connection", func() bool { all, err := k.server.Connections(); return err == nil && len(all) == 0 })
	if took := time.Since(began); took > time.Second {
		t.Errorf("the removed collector was cut after %s", took)
	}
	if nc, err := nats.Connect(k.server.URL(), natsserver.KeyOption(fresh)); err == nil {
		nc.Close()
		t.Error("the key of a removed collector opens still")
	}
}

// With an external server the door itself refuses a removed collector.
func TestARemovedCollectorIsRefusedByTheDoor(t *testing.T) {
	k := newCore(t, door.DefaultBounds())
	eider := k.register("eider", 1)
	d := k.door()
	d.Wall = nil
	k.run(d.Run)
	c := k.client(eider)
	k.append(events.CollectorRemoved{Name: "eider"})
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	await(t, "the refusal", func() bool {
		_, err := c.Append(ctx, appendOf(0, events.CollectorOnline{Name: "eider", Instance: "1"}))
		return errors.Is(err, door.ErrRevoked)
	})
	if _, err := c.NextJob(ctx, eider.lane); !errors.Is(err, door.ErrRevoked) {
		t.Errorf("next job: %v", err)
	}
	if _, err := c.Read(ctx, events.RegistrySubject("eider")); !errors.Is(err, door.ErrRevoked) {
		t.Errorf("read: %v", err)
	}
}

// A collector that leaves ends its wait for a job: the next collector gets the job at once.
func TestAWaitThatIsTakenBackLosesNoJob(t *testing.T) {
	k := newCore(t, door.DefaultBounds())
	k.open()
	k.open() // the wait may be at another door than the one that gets the request
	eider := k.register("eider", 1)
	c := k.client(eider)
	for place := range uint64(20) {
		ctx, leave := context.WithCancel(t.Context())
		gone := make(chan error, 1)
		go func() {
			d, err := c.NextJob(ctx, eider.lane)
			if d != nil {
				err = errors.Join(err, d.Nak(context.Background(), 0))
			}
			gone <- err
		}()
		if place%2 == 0 {
			leave()
		}
		k.dispatch(eider.lane, place+1, "j1")
		leave()
		if err := <-gone; err != nil && !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
		began := time.Now()
		bounded, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
		d, err := c.NextJob(bounded, eider.lane)
		must(t, "next job", err)
		if took := time.Since(began); took > 1500*time.Millisecond {
			t.Errorf("job %d came after %s", place+1, took)
		}
		// End it, so that the next one can come.
		last, _, err := k.log.Last(bounded, events.WorkSubject(eider.lane))
		must(t, "last", err)
		e, err := events.Decode(d.Stored())
		must(t, "read the job", err)
		f := e.Fact.(events.JobDispatched)
		_, err = k.log.Append(bounded, appendOf(last.Seq, events.JobFinished{Lane: eider.lane, Place: f.Place, JobID: f.Job.ID, RequestID: "r1", Outcome: events.Cancelled}))
		must(t, "end", err)
		await(t, "the end of the delivery", func() bool { return d.Ack(bounded) == nil })
		cancel()
	}
}

// One of two doors dies in the middle of appends: nothing is lost, and nothing is stored twice.
func TestADoorThatDiesLosesNothing(t *testing.T) {
	k := newCore(t, door.DefaultBounds())
	eider := k.register("eider", 1)
	k.open()
	c := k.client(eider)
	ctx, cancel := context.WithTimeout(t.Context(), 120*time.Second)
	defer cancel()
	const n = 300
	done := make(chan error, 1)
	said := make(chan struct{}, n)
	go func() {
		var at events.Seq
		for i := range n {
			seq, err := c.Append(ctx, appendOf(at, events.CollectorOnline{Name: "eider", Instance: "1", PID: i}))
			if err != nil {
				done <- err
				return
			}
			at = seq
			said <- struct{}{}
		}
		done <- nil
	}()
	for i := 0; i < n/2; i += 10 {
		// A second door on its own connection, which breaks in the middle of its work.
		nc, err := k.server.Connect()
		must(t, "connect", err)
		d := k.door()
		d.NC = nc
		ended := make(chan error, 1)
		go func() { ended <- d.Run(ctx) }()
		for range 10 {
			select {
			case <-said:
			case err := <-done:
				t.Fatal(err)
			}
		}
		nc.Close()
		if err := <-ended; !errors.Is(err, eventlog.ErrUnavailable) {
			t.Fatalf("the door ended with %v", err)
		}
	}
	must(t, "append", <-done)
	all, err := k.log.Read(ctx, events.CollectorSubject("eider"))
	must(t, "read", err)
	if len(all) != n {
		t.Fatalf("%d events of %d", len(all), n)
	}
	for i, e := range all {
		if e.Fact.(events.CollectorOnline).PID != i {
			t.Fatalf("event %d is %+v", i, e.Fact)
		}
	}
}

// A repeated append whose first answer was lost succeeds, even if its fact no longer fits the state.
func TestAnAppendWhoseAnswerWasLostIsSettled(t *testing.T) {
	k := newCore(t, door.DefaultBounds())
	k.open()
	eider := k.register("eider", 1)
	c := k.client(eider)
	spec := k.dispatch(eider.lane, 1, "j1")
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	begin := []eventlog.Append{
		appendOf(0, events.JobDequeued{Lane: eider.lane, Place: 1, Job: spec, Collector: "eider", Instance: "1", Attempt: 1}),
		appendOf(0, events.AttemptBegan{Lane: eider.lane, JobID: "j1", Collector: "eider", Attempt: 1}),
	}
	first, err := c.Append(ctx, begin...)
	must(t, "begin", err)
	again, err := c.Append(ctx, begin...)
	if err != nil || again != first {
		t.Errorf("begun at %d, and again at %d, %v", first, again, err)
	}
	end := appendOf(first-1, events.JobFinished{
		Lane: eider.lane, Place: 1, JobID: "j1", RequestID: "r1", Collector: "eider", Token: first - 1, Attempt: 1, Outcome: events.Success,
	})
	ended, err := c.Append(ctx, end)
	must(t, "end", err)
	for what, parts := range map[string][]eventlog.Append{"the end": {end}, "the begin": begin} {
		want := map[string]events.Seq{"the end": ended, "the begin": first}[what]
		if seq, err := c.Append(ctx, parts...); err != nil || seq != want {
			t.Errorf("%s again: %d, want %d, %v", what, seq, want, err)
		}
	}
}
