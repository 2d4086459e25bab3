package collector

import (
	"log/slog"
	"testing"
	"time"

	"github.com/tachobench/tacho/eventlog"
	"github.com/tachobench/tacho/eventlog/memory"
	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/rules/job"
)

// An unreadable event that a collector of an earlier version left at the end of a lane's work hides nothing of its
// state.
func TestTheStateOfALaneIsReadBehindLitter(t *testing.T) {
	lane := events.Lane{Target: "here"}
	log := memory.New(memory.Config{})
	dequeued := events.JobDequeued{Lane: lane, Place: 4, Job: events.JobSpec{ID: "j4", Target: lane.Target}, Collector: "a", Instance: "1", Attempt: 2, Lost: 1}
	e := eventlog.NewEvent(dequeued, eventlog.Meta{Source: "collector", Actor: "collector:a"}, time.Now())
	token, err := log.Append(t.Context(), eventlog.Append{Subject: events.WorkSubject(lane), Events: []events.Event{e}})
	if err != nil {
		t.Fatal(err)
	}
	c := New(Config{Name: "a", Lane: lane, Log: log, Clock: time.Now, Logger: slog.New(slog.DiscardHandler)})
	for _, litter := range []events.Stored{{}, {Header: map[string]string{events.HeaderType: "dev.tacho.nonsense.v1"}, Data: []byte("{}")}} {
		litter.Subject = events.WorkSubject(lane)
		at := log.Put(litter)
		state, version, err := c.laneState(t.Context())
		if err != nil || version != at {
			t.Fatalf("the version is %d, want %d, %v", version, at, err)
		}
		if state.Phase != job.Current || state.Token != token || state.Place != 4 || state.Attempt != 2 || state.Lost != 1 {
			t.Errorf("behind the litter the lane is %+v", state)
		}
	}
}
