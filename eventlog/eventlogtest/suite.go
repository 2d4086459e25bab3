// Package eventlogtest holds the one suite that every adapter of the event log passes.
//
// Its tests check what the rest of Tacho relies on: of two writers one wins; a batch is stored whole or not at all; a
// cursor sees every event once and in order; a lane gives one job at a time, and the same job again until it is
// acknowledged.
package eventlogtest

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/tachobench/tacho/eventlog"
	"github.com/tachobench/tacho/events"
)

// Subject is what is tested: the six ports on one empty log.
type Subject struct {
	Log        eventlog.Log
	Dispatch   eventlog.Dispatch
	Presence   eventlog.Presence
	Heartbeats eventlog.Heartbeats
	JobLogs    eventlog.JobLogs
	Snapshots  eventlog.Snapshots
	// LoseLane loses the consumer of a lane, as a server does that starts anew.
	LoseLane func(t *testing.T, lane events.Lane)
	// AckWait and BeatTTL are what the adapter was configured with; tests wait for them.
	AckWait, BeatTTL time.Duration
}

// Run runs the suite. open returns a new subject for each test, or one that all tests share: each test uses its own
// names.
func Run(t *testing.T, open func(t *testing.T) Subject) {
	RunIn(t, func(t *testing.T, test func(*testing.T)) { test(t) }, open)
}

// RunIn is Run with each test inside a bubble, as synctest.Test makes it: then no test depends on how busy the host is.
// The test with the model stays outside, because rapid asks for the test's deadline, which a bubble does not have.
func RunIn(t *testing.T, bubble func(*testing.T, func(*testing.T)), open func(t *testing.T) Subject) {
	t.Run("behaves like the model", func(t *testing.T) { likeTheModel(t, open(t)) })
	tests := []struct {
		name string
		test func(t *testing.T, s Subject)
	}{
		{"stores and reads", storesAndReads},
		{"creates once", createsOnce},
		{"refuses a stale or future version", refusesOtherVersions},
		{"refuses malformed appends", refusesMalformed},
		{"stores a batch as a whole or not at all", allOrNothing},
		{"stores the largest batch", largestBatch},
		{"lets one of racing writers win", oneWinner},
		{"lets one of racing batches win", oneWinningBatch},
		{"decides again after a conflict", decidesAgain},
		{"replays in order", replaysInOrder},
		{"follows live", followsLive},
		{"refuses a cursor beyond the head", refusesBeyondHead},
		{"gives jobs in strict order", jobsInOrder},
		{"gives one job at a time", oneJobAtATime},
		{"gives an unacknowledged job again", redelivers},
		{"gives a returned job first", returnedFirst},
		{"keeps a job that makes progress", keepsInProgress},
		{"loses no job to a taker that left", leavesNoHole},
		{"begins a lane where it is asked to", beginsWhereAsked},
		{"gives a job again whose lane was lost", outlivesLoss},
		{"keeps one holder of a name", oneHolder},
		{"forgets beats", forgetsBeats},
		{"tells beats before the probe that follows them", tellsInOrder},
		{"keeps the output of jobs", keepsOutput},
		{"keeps the two newest snapshots", keepsSnapshots},
		{"obeys parks", obeysParks},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			bubble(t, func(t *testing.T) { tt.test(t, open(t)) })
		})
	}
}

// limit bounds each wait, so that a fault makes a test fail instead of hang.
const limit = 10 * time.Minute

// bounded returns the test's context with the limit.
func bounded(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	t.Cleanup(cancel)
	return ctx
}

// name returns a token that no other test on the same log uses.
func name(t *testing.T, prefix string) string {
	t.Helper()
	return prefix + eventlog.NewEvent(nil, eventlog.Meta{}, time.Now()).ID
}

// activated is an event of one collector; tests tell events apart by their ids.
func activated(n events.CollectorName) events.Event {
	return stamp(events.CollectorActivated{Name: n})
}

func stamp(f events.Fact) events.Event {
	return eventlog.NewEvent(f, eventlog.Meta{Source: "test", Actor: "test", Cause: 7, Root: "root"}, time.Now())
}

// one is an append of one event to a collector's aggregate.
func one(n events.CollectorName, expected events.Seq) eventlog.Append {
	return eventlog.Append{Subject: events.RegistrySubject(n), Expected: expected, Events: []events.Event{activated(n)}}
}

func mustAppend(t *testing.T, s Subject, parts ...eventlog.Append) events.Seq {
	t.Helper()
	seq, err := s.Log.Append(bounded(t), parts...)
	if err != nil {
		t.Fatalf("append: %v", err)
	}
	return seq
}

func mustRead(t *testing.T, s Subject, subject events.Subject) []events.Recorded {
	t.Helper()
	got, err := s.Log.Read(bounded(t), subject)
	if err != nil {
		t.Fatalf("read %s: %v", subject, err)
	}
	return got
}

func wantConflict(t *testing.T, err error, subject events.Subject, expected, actual events.Seq) {
	t.Helper()
	var conflict *eventlog.ConflictError
	if !errors.As(err, &conflict) {
		t.Fatalf("got error %v, want a conflict on %s", err, subject)
	}
	if conflict.Subject != subject || conflict.Expected != expected || conflict.Actual != actual {
		t.Fatalf("got %v, want %s: expected %d, found %d", conflict, subject, expected, actual)
	}
}

// ids lists the ids of events, for comparisons.
func ids(recorded []events.Recorded) []string {
	out := make([]string, len(recorded))
	for i, r := range recorded {
		out[i] = r.ID
	}
	return out
}

func idsOf(list []events.Event) []string {
	out := make([]string, len(list))
	for i, e := range list {
		out[i] = e.ID
	}
	return out
}

func many(n events.CollectorName, count int) []events.Event {
	out := make([]events.Event, count)
	for i := range out {
		out[i] = stamp(events.CollectorDeactivated{Name: n, Reason: fmt.Sprint(i)})
	}
	return out
}
