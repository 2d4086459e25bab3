package readmodel_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/readmodel"
)

func TestTheQueueAsTimePasses(t *testing.T) {
	noon := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	at := func(minutes int) *time.Time {
		t := noon.Add(time.Duration(minutes) * time.Minute)
		return &t
	}
	queue := []readmodel.QueueEntry{
		{RequestID: "runs", State: events.StateInProgress, EstimatedStart: at(-5), EndEarliest: at(10), EstimatedEnd: at(20), EndLatest: at(30)},
		{
			RequestID: "next", State: events.StateArtifactsReady, StartEarliest: at(10), EstimatedStart: at(20), StartLatest: at(30),
			EndEarliest: at(35), EstimatedEnd: at(50), EndLatest: at(65),
		},
		{RequestID: "guessed", State: events.StateArtifactsReady, EstimatedStart: at(50), EstimatedEnd: at(110), Guessed: true},
		{RequestID: "endless", State: events.StateArtifactsReady, EstimatedStart: at(110), NoEnd: "no collector serves x/1"},
		{RequestID: "waits", State: events.StateWaitingForArtifacts},
	}
	endless := readmodel.Seen([]readmodel.QueueEntry{{State: events.StateInProgress, EstimatedStart: at(-5), NoEnd: "no collector serves x/1"}}, *at(60))
	if e := endless[0]; e.EstimatedEnd != nil || e.Overrun || !e.EstimatedStart.Equal(*at(-5)) {
		t.Errorf("what runs and has no end: %+v", e)
	}
	for _, test := range []struct {
		minute int
		want   []string
	}{
		{0, []string{"runs -5 10 20 30", "next 20 35 50 65", "guessed 50 - 110 -", "endless 110 - - -", "waits - - - -"}},
		{15, []string{"runs -5 15 20 30", "next 20 35 50 65", "guessed 50 - 110 -", "endless 110 - - -", "waits - - - -"}},
		{24, []string{"runs -5 24 24 30", "next 24 39 54 73", "guessed 54 - 114 -", "endless 114 - - -", "waits - - - -"}},
		{40, []string{"runs -5 40 40 60 overrun", "next 40 55 70 105", "guessed 70 - 130 -", "endless 130 - - -", "waits - - - -"}},
	} {
		var got []string
		for _, e := range readmodel.Seen(queue, *at(test.minute)) {
			text := string(e.RequestID)
			for _, x := range []*time.Time{e.EstimatedStart, e.EndEarliest, e.EstimatedEnd, e.EndLatest} {
				if x == nil {
					text += " -"
				} else {
					text += fmt.Sprintf(" %.0f", x.Sub(noon).Minutes())
				}
			}
			if e.Overrun {
				text += " overrun"
			}
			got = append(got, text)
		}
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("after %d minutes (-want +got):\n%s", test.minute, diff)
		}
	}
	if !queue[0].EstimatedEnd.Equal(*at(20)) {
		t.Error("what was read was changed")
	}
}
