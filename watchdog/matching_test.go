package watchdog

import (
	"testing"
	"time"

	"github.com/tachobench/tacho/events"
)

// A machine on which jobs find too little memory is said after the third of them, in words that stay, until a job runs
// there.
func TestAFullMachineIsSaid(t *testing.T) {
	w := newWorld(t)
	at := events.PoolLane("p", 0)
	described := events.MachineDescribed{Machine: "eider", Pool: "p", OS: "linux", Arch: "amd64", MemoryMiB: 65536, Slots: 1}
	w.tell(described, events.CollectorRegistered{Name: "eider", Target: at.Target, Set: at.Set, Machine: "eider"}, online())
	w.beat("", 0)
	j := spec("j1")
	j.Matched, j.Requires = true, []string{"memory=32g"}
	w.tell(requested())
	w.tell(started(j)...)
	full := func(free int64) {
		w.tell(events.JobDispatched{Job: j.Bound(at)})
		w.tell(events.JobDequeued{Lane: at, Job: j, Collector: "eider", Instance: "i1"})
		w.tell(events.AttemptReleased{Lane: at, JobID: j.ID, HostFull: &events.HostFull{ReservedMiB: 32768, FreeMiB: free}})
		w.tell(events.JobMoved{Lane: at, Place: w.state.Lanes[at].Work.Place, JobID: j.ID})
		w.pass(5 * time.Minute)
		w.beat("", 0)
	}
	full(100)
	full(200)
	w.expect("two in a row")
	full(300)
	const key = "host_full-eider"
	w.says(key, "3 times in a row", "reserves 32768 MiB", "300 MiB were free")
	full(400)
	w.says(key, "300 MiB were free")

	w.tell(events.JobDispatched{Job: j.Bound(at)})
	w.tell(events.JobDequeued{Lane: at, Job: j, Collector: "eider", Instance: "i1"})
	w.says(key)
	w.pass(time.Minute)
	w.beat("j1", 1)
	w.expect("a job runs there")
	a := events.AlertRaised{Key: key, Kind: events.AlertHostFull, About: "eider"}
	if got := w.why(a); got != "a job that reserves more runs there" {
		t.Errorf("over because %q", got)
	}
	end := finished("j1", time.Minute)
	end.Lane = at
	w.tell(end)
	w.expect("it has run")
	if got := w.why(a); got != "a job ran there, or the offer of the machine was changed" {
		t.Errorf("over because %q", got)
	}
	w.tell(events.MachineRemoved{Machine: "eider"})
	if got := w.why(a); got != "the machine was removed" {
		t.Errorf("over because %q", got)
	}
}
