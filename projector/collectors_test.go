package projector_test

import (
	"testing"

	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/readmodel"
)

// A lane is served by one of its collectors. A collector that is taken out shows the reason until a person ends that
// state.
func TestWhoServesALaneAndWhoIsOut(t *testing.T) {
	f := newFarm(t)
	lane, regular := lanes[0], collectorOf(lanes[0])
	f.tell(events.CollectorRegistered{Name: "spare", Target: lane.Target, Set: lane.Set, Standby: true})
	f.tell(events.LaneAssigned{Lane: lane, Name: "spare", Standby: true})
	f.tell(events.CollectorOnline{Name: "spare", Instance: "s1", Version: "v1"})
	for _, step := range []struct {
		fact events.Fact
		// serving is who serves the lane afterwards; state and reason are those of the regular one.
		serving events.CollectorName
		state   readmodel.CollectorState
		reason  string
	}{
		{events.CollectorDraining{Name: regular, Reason: "kernel"}, regular, readmodel.CollectorDraining, "kernel"},
		{events.CollectorSilent{Name: regular, Instance: "i1", Reason: "no heartbeat"}, regular, readmodel.CollectorOffline, "no heartbeat"},
		{events.CollectorOnline{Name: regular, Instance: "i1", Version: "v1"}, regular, readmodel.CollectorDraining, "kernel"},
		{events.CollectorActivated{Name: regular}, regular, readmodel.CollectorBenchmarking, ""},
		{events.LaneTakenOver{Lane: lane, Name: "spare", From: regular}, "spare", readmodel.CollectorBenchmarking, ""},
		{events.CollectorQuarantined{Name: regular, Reason: "3 jobs failed"}, "spare", readmodel.CollectorQuarantined, "3 jobs failed"},
		{events.CollectorOffline{Name: regular, Instance: "i1", Reason: "asked to leave"}, "spare", readmodel.CollectorQuarantined, "3 jobs failed"},
		{events.CollectorActivated{Name: regular}, "spare", readmodel.CollectorOffline, "asked to leave"},
		{events.LaneUnassigned{Lane: lane, Name: "spare"}, regular, readmodel.CollectorOffline, "asked to leave"},
		{events.CollectorUpdating{Name: regular, Instance: "i1", Version: "v1", Wanted: "v2"}, regular, readmodel.CollectorUpdating, "left version v1 for version v2"},
		{events.LaneUnassigned{Lane: lane, Name: regular}, "", readmodel.CollectorUpdating, "left version v1 for version v2"},
	} {
		f.tell(step.fact)
		r, _ := read(t, f)
		list, err := r.Collectors(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		serving := events.CollectorName("")
		for _, c := range list {
			if c.Serving && c.Lane() == lane {
				serving += c.Name
			}
			if c.Name == regular && (c.State != step.state || c.Reason != step.reason) {
				t.Errorf("after %T: %s because %q, want %s because %q", step.fact, c.State, c.Reason, step.state, step.reason)
			}
		}
		if serving != step.serving {
			t.Errorf("after %T %q serves, want %q", step.fact, serving, step.serving)
		}
	}
}
