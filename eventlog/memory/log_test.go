package memory_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/tachobench/tacho/eventlog"
	"github.com/tachobench/tacho/eventlog/eventlogtest"
	"github.com/tachobench/tacho/eventlog/memory"
	"github.com/tachobench/tacho/events"
)

func TestConformance(t *testing.T) {
	eventlogtest.RunIn(t, synctest.Test, func(*testing.T) eventlogtest.Subject {
		cfg := memory.Config{AckWait: 400 * time.Millisecond, BeatTTL: 500 * time.Millisecond}
		l := memory.New(cfg)
		return eventlogtest.Subject{
			Log: l, Dispatch: l, Presence: l, Heartbeats: l, JobLogs: l, Snapshots: l, AckWait: cfg.AckWait, BeatTTL: cfg.BeatTTL,
			LoseLane: func(_ *testing.T, lane events.Lane) { l.ForgetLane(lane) },
		}
	})
}

// TestSimulatedTime shows that all waiting is simulated inside a bubble.
func TestSimulatedTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := memory.New(memory.Config{AckWait: time.Hour})
		lane := events.Lane{Target: "t", Set: 1}
		if err := l.EnsureLane(t.Context(), lane, 0); err != nil {
			t.Fatal(err)
		}
		begun := time.Now()
		go func() {
			<-time.After(24 * time.Hour) // simulated
			e := eventlog.NewEvent(events.JobDispatched{Job: events.JobSpec{Target: "t", Set: 1}}, eventlog.Meta{Actor: "test"}, time.Now())
			if _, err := l.Append(t.Context(), eventlog.Append{Subject: events.LaneSubject(lane), Events: []events.Event{e}}); err != nil {
				t.Error(err)
			}
		}()
		for range 2 { // the second is the redelivery
			if _, err := l.NextJob(t.Context(), lane); err != nil {
				t.Fatal(err)
			}
		}
		if got, want := time.Since(begun), 25*time.Hour; got != want {
			t.Fatalf("took %s, want %s", got, want)
		}
	})
}
