package eventlogtest

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/tachobench/tacho/eventlog"
	"github.com/tachobench/tacho/events"
)

// newLane makes a lane of its own.
func newLane(t *testing.T, s Subject) events.Lane {
	t.Helper()
	lane := events.Lane{Target: events.Target(name(t, "t")), Set: 1}
	if err := s.Dispatch.EnsureLane(bounded(t), lane, 0); err != nil {
		t.Fatal(err)
	}
	if err := s.Dispatch.EnsureLane(bounded(t), lane, 0); err != nil {
		t.Fatalf("again: %v", err)
	}
	return lane
}

// dispatch appends jobs to a lane and returns the sequences.
func dispatch(t *testing.T, s Subject, lane events.Lane, version events.Seq, count int) []events.Seq {
	t.Helper()
	var out []events.Seq
	for i := range count {
		e := stamp(events.JobDispatched{Place: uint64(i), Job: events.JobSpec{ID: "j1", Target: lane.Target, Set: lane.Set}})
		version = mustAppend(t, s, eventlog.Append{Subject: events.LaneSubject(lane), Expected: version, Events: []events.Event{e}})
		out = append(out, version)
	}
	return out
}

func mustTake(t *testing.T, s Subject, lane events.Lane, want events.Seq) eventlog.Delivery {
	t.Helper()
	d, err := s.Dispatch.NextJob(bounded(t), lane)
	if err != nil {
		t.Fatalf("next job: %v", err)
	}
	if d.Stored().Seq != want {
		t.Fatalf("job event %d came, want %d", d.Stored().Seq, want)
	}
	if r, err := events.Decode(d.Stored()); err != nil || events.TypeOf(r.Fact) != "job.dispatched.v1" {
		t.Fatalf("job event: %+v, %v", r, err)
	}
	return d
}

// wantNone checks that no job comes for a moment. It only proves that none came early.
func wantNone(t *testing.T, s Subject, lane events.Lane) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), min(100*time.Millisecond, s.AckWait/4))
	defer cancel()
	if d, err := s.Dispatch.NextJob(ctx, lane); !errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("a job that is not due: %v, %v", d, err)
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func jobsInOrder(t *testing.T, s Subject) {
	lane, other := newLane(t, s), newLane(t, s)
	wantNone(t, s, lane)
	seqs := dispatch(t, s, lane, 0, 5)
	foreign := dispatch(t, s, other, 0, 1)
	for _, seq := range seqs {
		must(t, mustTake(t, s, lane, seq).Ack(bounded(t)))
	}
	wantNone(t, s, lane)
	must(t, mustTake(t, s, other, foreign[0]).Ack(bounded(t)))
	// A taker that is already waiting gets the job as soon as it is stored.
	type result struct {
		d   eventlog.Delivery
		err error
	}
	taken := make(chan result)
	go func() {
		d, err := s.Dispatch.NextJob(bounded(t), lane)
		taken <- result{d, err}
	}()
	seq := dispatch(t, s, lane, seqs[4], 1)[0]
	r := <-taken
	must(t, r.err)
	if r.d.Stored().Seq != seq {
		t.Fatalf("job event %d came, want %d", r.d.Stored().Seq, seq)
	}
	must(t, r.d.Ack(bounded(t)))
}

func oneJobAtATime(t *testing.T, s Subject) {
	lane := newLane(t, s)
	seqs := dispatch(t, s, lane, 0, 2)
	first := mustTake(t, s, lane, seqs[0])
	wantNone(t, s, lane)
	must(t, first.Ack(bounded(t)))
	must(t, mustTake(t, s, lane, seqs[1]).Ack(bounded(t)))
}

func redelivers(t *testing.T, s Subject) {
	lane := newLane(t, s)
	seqs := dispatch(t, s, lane, 0, 2)
	begun := time.Now()
	mustTake(t, s, lane, seqs[0])
	again := mustTake(t, s, lane, seqs[0])
	if took := time.Since(begun); took < s.AckWait*9/10 {
		t.Fatalf("delivered again after %s, want %s", took, s.AckWait)
	}
	must(t, again.Ack(bounded(t)))
	must(t, mustTake(t, s, lane, seqs[1]).Ack(bounded(t)))
}

func returnedFirst(t *testing.T, s Subject) {
	lane := newLane(t, s)
	seqs := dispatch(t, s, lane, 0, 2)
	must(t, mustTake(t, s, lane, seqs[0]).Nak(bounded(t), 0))
	delay := s.AckWait / 2
	begun := time.Now()
	must(t, mustTake(t, s, lane, seqs[0]).Nak(bounded(t), delay))
	d := mustTake(t, s, lane, seqs[0])
	if took := time.Since(begun); took < delay*9/10 {
		t.Fatalf("delivered again after %s, want %s", took, delay)
	}
	must(t, d.Ack(bounded(t)))
	must(t, mustTake(t, s, lane, seqs[1]).Ack(bounded(t)))
}

func keepsInProgress(t *testing.T, s Subject) {
	lane := newLane(t, s)
	seqs := dispatch(t, s, lane, 0, 1)
	d := mustTake(t, s, lane, seqs[0])
	tick := time.NewTicker(s.AckWait / 4)
	defer tick.Stop()
	for range 6 { // one and a half times the wait
		<-tick.C
		must(t, d.InProgress(bounded(t)))
	}
	wantNone(t, s, lane)
	must(t, d.Ack(bounded(t)))
}

// leavesNoHole lets takers leave at the moment when a job arrives: the next taker must get the job without waiting for
// its redelivery.
func leavesNoHole(t *testing.T, s Subject) {
	lane := newLane(t, s)
	var version events.Seq
	for range 20 {
		ctx, leave := context.WithCancel(bounded(t))
		took := make(chan eventlog.Delivery, 1)
		go func() {
			d, err := s.Dispatch.NextJob(ctx, lane)
			if err != nil {
				d = nil
			}
			took <- d
		}()
		go leave()
		version = dispatch(t, s, lane, version, 1)[0]
		d := <-took
		leave()
		begun := time.Now()
		if d == nil {
			d = mustTake(t, s, lane, version)
		}
		must(t, d.Ack(bounded(t)))
		if waited := time.Since(begun); waited > s.AckWait*9/10 {
			t.Fatalf("a job was lost for %s to a taker that left", waited)
		}
	}
}

func beginsWhereAsked(t *testing.T, s Subject) {
	lane := events.Lane{Target: events.Target(name(t, "t")), Set: 1}
	if d, err := s.Dispatch.NextJob(bounded(t), lane); !errors.Is(err, eventlog.ErrNoLane) {
		t.Fatalf("a job of a lane that nobody made: %v, %v", d, err)
	}
	seqs := dispatch(t, s, lane, 0, 3)
	must(t, s.Dispatch.EnsureLane(bounded(t), lane, seqs[1]))
	must(t, s.Dispatch.EnsureLane(bounded(t), lane, seqs[2])) // it is there
	for _, seq := range seqs[1:] {
		must(t, mustTake(t, s, lane, seq).Ack(bounded(t)))
	}
	wantNone(t, s, lane)
	seq := dispatch(t, s, lane, seqs[2], 1)[0]
	must(t, mustTake(t, s, lane, seq).Ack(bounded(t)))
}

// outlivesLoss loses a lane with a job in somebody's hands and one behind it. Answers to the lost delivery do no harm, and no job is
// lost.
func outlivesLoss(t *testing.T, s Subject) {
	for _, tc := range []struct {
		name   string
		answer func(eventlog.Delivery) error
		from   int // the first job that has not ended
	}{
		{"prolonged", func(d eventlog.Delivery) error { return d.InProgress(bounded(t)) }, 0},
		{"given back", func(d eventlog.Delivery) error { return d.Nak(bounded(t), 0) }, 0},
		{"ended", func(d eventlog.Delivery) error { return d.Ack(bounded(t)) }, 1},
	} {
		lane := newLane(t, s)
		seqs := dispatch(t, s, lane, 0, 2)
		lost := mustTake(t, s, lane, seqs[0])
		s.LoseLane(t, lane)
		if err := tc.answer(lost); err != nil {
			t.Fatalf("%s: %v", tc.name, err)
		}
		if d, err := s.Dispatch.NextJob(bounded(t), lane); !errors.Is(err, eventlog.ErrNoLane) {
			t.Fatalf("%s: a job of a lost lane: %v, %v", tc.name, d, err)
		}
		must(t, s.Dispatch.EnsureLane(bounded(t), lane, seqs[tc.from]))
		for _, seq := range seqs[tc.from:] {
			must(t, mustTake(t, s, lane, seq).Ack(bounded(t)))
		}
		wantNone(t, s, lane)
	}
	// Who waits at that moment learns it.
	lane := newLane(t, s)
	waited := make(chan error, 1)
	go func() {
		_, err := s.Dispatch.NextJob(bounded(t), lane)
		waited <- err
	}()
	s.LoseLane(t, lane)
	if err := <-waited; !errors.Is(err, eventlog.ErrNoLane) {
		t.Fatalf("a wait for a lost lane: %v", err)
	}
}
