package watchdog

import (
	"strings"
	"testing"

	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/internal/room"
	"github.com/tachobench/tacho/rules/ledger"
)

// fills notes how full the log is, in percent, and judges.
func (w *world) fills(percent int64, full string) {
	w.view.room.note([]room.Place{{About: "log", Bytes: percent, Limit: 100, Full: full, Next: "Raise nats.max_bytes."}}, []int{80, 90, 95}, w.now)
}

const roomKey = "room-log"

func TestALogThatFillsIsSaidAtEachMark(t *testing.T) {
	w := newWorld(t)
	w.expect("nothing is known")
	w.fills(79, "")
	w.expect("there is room")
	w.fills(80, "")
	w.says(roomKey, "The log is more than 80 % full", "80 B of 100 B")
	before := w.message(roomKey)
	w.fills(85, "")
	if got := w.message(roomKey); got != before {
		t.Errorf("between two marks the words change: %s", got)
	}
	w.fills(90, "")
	w.says(roomKey, "more than 90 % full", "90 B of 100 B")
	w.fills(99, "it has reached its limit")
	w.says(roomKey, "takes nothing more: it has reached its limit")
	w.fills(79, "")
	w.expect("there is room again")
	raised := events.AlertRaised{Key: roomKey, Kind: events.AlertRoom, About: "log"}
	if why := w.why(raised); why != "there is room again" {
		t.Errorf("it is over because %q", why)
	}
	w.view.room.note(nil, nil, w.now)
	w.state.Alerts[roomKey] = ledger.Alert{AlertRaised: raised}
	if why := w.why(raised); why != "" {
		t.Errorf("nobody knows how full it is, and it is over because %q", why)
	}
}

// A watchdog that starts corrects words that are about another mark, and leaves others alone.
func TestAWatchdogThatStartsCorrectsTheMark(t *testing.T) {
	w := newWorld(t)
	w.fills(91, "")
	for message, want := range map[string]bool{"The log is more than 80 % full: x": true, "The log is more than 90 % full: by other figures": false} {
		w.state.Alerts[roomKey] = ledger.Alert{AlertRaised: events.AlertRaised{Key: roomKey, Kind: events.AlertRoom, About: "log", Message: message}}
		if got := w.judge().wanted[roomKey].anew; got != want {
			t.Errorf("%s: %t", message, got)
		}
	}
}

// Nothing can be recorded while the log is full: the alert stands in memory, and nothing is tried again and again.
func TestAFullLogIsSaidInMemory(t *testing.T) {
	w := newWorld(t)
	w.fills(99, "it has reached its limit in bytes")
	dog := New(Config{Clock: nil, Limits: limits})
	dog.view = w.view
	dog.speak(w.now)
	local := dog.Local()
	if len(local) != 1 || local[0].Kind != events.AlertRoom || !strings.Contains(local[0].Message, "takes nothing more") || local[0].Action == "" {
		t.Fatalf("%+v", local)
	}
	if deeds := dog.decide(w.state, w.now); len(deeds) > 0 {
		t.Errorf("it tries to record %v", deeds)
	}
	w.fills(10, "")
	dog.speak(w.now)
	if local := dog.Local(); len(local) > 0 {
		t.Errorf("there is room, and it stands: %+v", local)
	}
}
