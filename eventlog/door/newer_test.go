package door_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/tachobench/tacho/eventlog"
	"github.com/tachobench/tacho/eventlog/door"
	"github.com/tachobench/tacho/events"
)

// While the core stays at an event that it does not understand, a collector ends what it does and begins nothing. One that
// was removed behind that event is refused. All goes on when the event is parked.
func TestACollectorEndsItsJobWhileTheCoreStays(t *testing.T) {
	k := newCore(t, door.DefaultBounds())
	k.open()
	eider, teal := k.register("eider", 1), k.register("teal", 2)
	c, other := k.client(eider), k.client(teal)
	spec := k.dispatch(eider.lane, 1, "j1")
	next := k.dispatch(eider.lane, 2, "j2")
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	token, err := c.Append(ctx, appendOf(0, events.JobDequeued{Lane: eider.lane, Place: 1, Job: spec, Collector: "eider", Instance: "1", Attempt: 1}))
	must(t, "begin", err)
	k.reach(token)

	strange := nats.NewMsg(string(events.ShareSubject()))
	strange.Header.Set(events.HeaderType, events.TypePrefix+"share.dreamt.v1")
	_, err = k.nc.RequestMsg(strange, 5*time.Second)
	must(t, "a strange event", err)
	await(t, "the core stays", func() bool { _, err := k.guard.Account("unknown"); return errors.Is(err, door.ErrReading) })
	must(t, "the door is open", k.guard.Ready(ctx))
	k.append(events.CollectorRemoved{Name: "teal", Reason: "test"})

	news, err := c.Beat(ctx, eventlog.Beat{Name: "eider", Instance: "1"})
	must(t, "beat", err)
	if news != nil { // the ledger does not know it
		t.Errorf("a ledger that does not go on says what is new: %v", news)
	}
	measured := events.TestCasesMeasured{
		Lane: eider.lane, JobID: "j1", Artifact: spec.Artifact, Collector: "eider", Token: token, Attempt: 1, Definitions: "d1",
		Cases: []events.MeasuredCase{{TestCase: events.TestCase{Benchmark: "hello"}}},
	}
	at, err := c.Append(ctx, appendOf(0, measured))
	must(t, "results", err)
	_, err = c.Append(ctx, appendOf(at, measured))
	must(t, "more results", err)
	must(t, "output", c.WriteLog(ctx, eider.lane, eventlog.LogChunk{JobID: "j1", Text: "hello"}))
	end, err := c.Append(ctx, appendOf(token, events.JobFinished{
		Lane: eider.lane, Place: 1, JobID: "j1", RequestID: "r1", Collector: "eider", Token: token, Attempt: 1, Outcome: events.Success,
	}))
	must(t, "finish", err)

	dequeued := appendOf(end, events.JobDequeued{Lane: eider.lane, Place: 2, Job: next, Collector: "eider", Instance: "1", Attempt: 1})
	for what, ask := range map[string]func(context.Context) error{
		"takes a job":  func(ctx context.Context) error { _, err := c.NextJob(ctx, eider.lane); return err },
		"begins a job": func(ctx context.Context) error { _, err := c.Append(ctx, dequeued); return err },
		"speaks though it is removed": func(ctx context.Context) error {
			_, err := other.Beat(ctx, eventlog.Beat{Name: "teal", Instance: "1"})
			return err
		},
	} {
		soon, cancel := context.WithTimeout(ctx, 300*time.Millisecond)
		if err := ask(soon); err == nil || soon.Err() == nil {
			t.Errorf("a collector that %s is not told to wait: %v", what, err)
		}
		cancel()
	}
	k.append(events.EventsParked{First: token + 1, Last: token + 1, Reason: "test"})
	_, err = c.Append(ctx, dequeued)
	must(t, "begin the next job", err)
	k.mu.Lock()
	defer k.mu.Unlock()
	if why := k.alerts["eider"]; why != "" {
		t.Errorf("an alert about a collector that keeps the rules: %s", why)
	}
}
