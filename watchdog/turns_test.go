package watchdog

import (
	"strings"
	"testing"
	"time"

	"github.com/tachobench/tacho/eventlog"
	"github.com/tachobench/tacho/events"
)

// waitsFor lets eider wait for the turn of its machine since a time.
func (w *world) waitsFor(since time.Time, holders ...eventlog.TurnHolder) {
	w.ears.hear(eventlog.Beat{
		Name: "eider", Instance: "i1", Host: "rack7", JobID: "j1", Time: w.now, Waits: "its turn on the machine", Turn: &eventlog.TurnWait{Since: since, Holders: holders},
	}, false)
}

// A collector that waits too long for the turn of its machine is named, with who has it and what to do. What was expected to take long
// is waited for longer.
func TestATurnThatIsKeptTooLong(t *testing.T) {
	w := newWorld(t)
	w.tell(registered(), events.CollectorActivated{Name: "eider"}, online(), events.CollectorRegistered{Name: "teal", Target: "linux-amd64", Set: 2})
	key, since := "turn-rack7", w.now
	teal := eventlog.TurnHolder{Name: "teal", PID: 77, JobID: "j0", Since: since.Add(-time.Minute)}
	w.waitsFor(since, teal)
	w.expect("it begins to wait", "offline-teal?")
	w.pass(limits.TurnAfter - time.Second)
	w.waitsFor(since, teal)
	w.expect("it has not waited for long", "offline-teal")
	w.pass(time.Second)
	w.waitsFor(since, teal)
	w.expect("it waits too long", "offline-teal", key)
	w.says(key, "machine rack7", "eider (job j1)", "since 2026-11-21 09:00:00 UTC", "collector teal (process 77) has had the turn for job j0 since 2026-11-21 08:59:00 UTC, and sends no heartbeat")
	do := func(words ...string) {
		t.Helper()
		for _, word := range words {
			if action := w.judge().wanted[events.AlertKey(key)].Action; !strings.Contains(action, word) {
				t.Errorf("what to do does not say %q: %s", word, action)
			}
		}
	}
	do("On rack7", "ps -o pid,stat,etime,args -p 77", "kill -CONT 77", "kill 77")
	w.tell(events.CollectorRemoved{Name: "teal"})
	w.says(key, "teal (process 77)", "and was removed")
	teal.Gone = true
	w.waitsFor(since, teal)
	w.says(key, "and its process has ended")
	do("fuser -v builds measures", "collector.turns")
	w.waitsFor(since)
	w.says(key, "it is not known who has the turn")
	do("fuser -v builds measures", "collector.turns")
	w.ears.hear(eventlog.Beat{Name: "eider", Instance: "i1", Host: "rack7", JobID: "j1", Time: w.now}, false)
	w.expect("it has its turn")

	w.waitsFor(w.now.Add(-limits.TurnAfter), teal)
	w.expect("another one waits", key)
	w.silence()
	for _, stands := range w.wanted() {
		if strings.HasPrefix(stands, "turn") {
			t.Errorf("it is not there, and stands for %s", stands)
		}
	}
	w.ears.since = time.Time{}
	if j := w.judge(); !j.unsureKinds[events.AlertTurn] {
		t.Error("it decides about a turn while it hears nothing")
	}
}
