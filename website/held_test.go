package website

import (
	"testing"

	"github.com/tachobench/tacho/eventlog"
	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/readmodel"
	"github.com/tachobench/tacho/website/client"
)

// The page of a running job says what its collector waits for.
func TestARunningJobSaysWhatItWaitsFor(t *testing.T) {
	job := readmodel.Job{ID: "j1", State: events.JobInProgress, Collector: "eider"}
	beat := eventlog.Beat{Name: "eider", JobID: "j1", Waits: "its turn on the machine"}
	machines := []client.Collector{{Collector: readmodel.Collector{Name: "eider"}, Heartbeat: &client.Heartbeat{Beat: beat}}}
	if v := newJobView(job, machines); v.Held != beat.Waits || v.Progress == nil {
		t.Errorf("got %+v", v)
	}
	machines[0].Heartbeat.JobID = "j2"
	if v := newJobView(job, machines); v.Held != "" {
		t.Errorf("it says %q of another job", v.Held)
	}
}
