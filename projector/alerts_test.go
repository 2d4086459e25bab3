package projector_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/projector"
)

func TestAlertsStandUntilTheyAreCleared(t *testing.T) {
	const offline, lag = events.AlertKey("offline-eider-0"), events.AlertKey("lag")
	raised := func(key events.AlertKey, message string) events.AlertRaised {
		return events.AlertRaised{Key: key, Kind: events.AlertOffline, About: "eider-0", Message: message, Action: "look"}
	}
	s := newStory(t)
	s.tell(raised(offline, "it is offline"))
	s.tell(raised(offline, "it is offline")) // the same words again
	s.tell(raised(offline, "it is still offline"))
	s.tell(raised(lag, "the tables are late"))
	s.tell(events.AlertCleared{Key: offline, Reason: "it is back"})
	s.tell(events.AlertCleared{Key: offline, Reason: "again"}) // does not stand
	s.tell(raised(offline, "gone once more"))
	s.tell(events.AlertCleared{Key: lag, Reason: "caught up"})

	type row struct {
		Key             events.AlertKey
		Message, Reason string
		Raised, Changed events.Seq
		Cleared         events.Seq
	}
	for end, want := range map[int][]row{
		3: {{offline, "it is still offline", "", 1, 3, 0}},
		6: {{lag, "the tables are late", "", 4, 4, 0}, {offline, "it is still offline", "it is back", 1, 3, 5}},
		8: {{offline, "gone once more", "", 7, 7, 0}, {lag, "the tables are late", "caught up", 4, 4, 8}},
	} {
		for _, size := range []int{1, 7} {
			list, err := open(t, project(t, s.stored[:end], size)).Alerts(t.Context(), 10)
			if err != nil {
				t.Fatal(err)
			}
			var got []row
			for _, a := range list {
				r := row{a.Key, a.Message, a.ClearedReason, a.RaisedSeq, a.ChangedSeq, 0}
				if !a.Standing() {
					r.Cleared = *a.ClearedSeq
				}
				got = append(got, r)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("after event %d, batches of %d (-want +got):\n%s", end, size, diff)
			}
		}
	}
	report, err := projector.Replay(t.Context(), newFeed("log", s.stored...), project(t, s.stored, 2), projector.ReplayOptions{Verify: true})
	if err != nil || !report.Identical() {
		t.Errorf("replay: %+v, %v", report, err)
	}
}
