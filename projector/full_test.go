package projector_test

import (
	"testing"
	"time"

	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/projector"
	"github.com/tachobench/tacho/readmodel"
	"github.com/tachobench/tacho/rules/match"
)

// TestTheTablesKnowFullMachines: the mark is that of the ledger (rules/match), wherever batches end.
func TestTheTablesKnowFullMachines(t *testing.T) {
	s := newStory(t)
	s.staff()
	j := matchedJob("sha1", "", "memory=8g")
	s.begin(created("sha1", "", 0), j)
	on := j.Bound(builders[0])
	var last events.Seq
	try := func() events.Seq {
		s.tell(events.JobDispatched{Job: on, Share: turnOf("alice")})
		begins := dequeued(on, 1, 0)
		begins.Place = uint64(len(s.lane(on.Lane()).places))
		return s.tell(begins)
	}
	for range 2 {
		token := try()
		last = s.tell(events.AttemptReleased{
			Lane: on.Lane(), JobID: j.ID, Token: token, Attempt: 1, HostFull: &events.HostFull{ReservedMiB: 8192, FreeMiB: 100},
		})
		s.tell(events.JobMoved{Lane: on.Lane(), JobID: j.ID, Reason: "full"})
	}
	full := func() *match.Full {
		t.Helper()
		var found *match.Full
		for _, size := range []int{1, 7, 1000} {
			url := project(t, s.stored, size)
			var rows []readmodel.MachineRow
			query(t, url, `SELECT * FROM tacho.machine ORDER BY name`, &rows)
			found = rows[0].Full
			report, err := projector.Replay(t.Context(), newFeed("log", s.stored...), url, projector.ReplayOptions{Verify: true})
			if err != nil || !report.Identical() {
				t.Errorf("batch size %d: %+v %v", size, report, err)
			}
		}
		return found
	}
	if f := full(); f == nil || f.Times != 2 || f.Seq != last || f.HostFull != (events.HostFull{ReservedMiB: 8192, FreeMiB: 100}) {
		t.Fatalf("%+v", f)
	}
	token := try()
	s.at = s.at.Add(time.Minute)
	s.tell(events.AttemptReleased{Lane: on.Lane(), JobID: j.ID, Token: token, Attempt: 1, Reason: "drain"})
	if f := full(); f != nil {
		t.Errorf("after a job that ran: %+v", f)
	}
}
