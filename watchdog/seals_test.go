package watchdog

import (
	"strings"
	"testing"
	"time"

	"github.com/tachobench/tacho/events"
)

// A collector that refuses jobs because of their seals is said once, with the first job, for a day after the last of them.
func TestRefusedSealsAreSaid(t *testing.T) {
	w := newWorld(t)
	w.tell(registered(), online(), requested())
	w.beat("", 0)
	w.tell(started(spec("j1"), spec("j2"), spec("j3"), spec("j4"))...)
	refuse := func(id events.JobID, reason string) {
		w.tell(dispatched(id), dequeued(id))
		end := finished(id, time.Second)
		end.Outcome, end.Fault, end.Reason = events.Failure, events.ErrorSeal, reason
		w.tell(end)
		w.beat("", 0)
	}
	const key = "seal-eider"
	refuse("j1", "its dispatch has no seal")
	w.says(key, "Collector eider refused job j1", "its dispatch has no seal")
	first := w.message(key)
	w.pass(20 * time.Hour)
	refuse("j2", "its dispatch has no seal")
	if again := w.message(key); again != first {
		t.Errorf("%q became %q", first, again)
	}
	w.pass(20 * time.Hour)
	w.says(key, "j1")
	refuse("j3", "its definitions have no seal")
	w.says(key, "j3", "its definitions have no seal")
	if w.state.Collectors["eider"].Failed != nil {
		t.Error("the collector is blamed")
	}
	w.pass(24*time.Hour + time.Second)
	w.beat("", 0)
	for _, k := range w.wanted() {
		if strings.HasPrefix(k, "seal") {
			t.Errorf("after a day %s stands", k)
		}
	}
	a := events.AlertRaised{Key: key, Kind: events.AlertSeal, About: "eider"}
	if got := w.why(a); got != "it refused no further job because of seals for a day" {
		t.Errorf("over because %q", got)
	}
	refuse("j4", "its dispatch has no seal")
	w.says(key, "j4")
	w.tell(events.CollectorRemoved{Name: "eider"})
	if got := w.why(a); got != "it was removed" {
		t.Errorf("over because %q", got)
	}
}
