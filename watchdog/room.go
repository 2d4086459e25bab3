package watchdog

import (
	"maps"
	"slices"
	"time"

	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/internal/room"
	"github.com/tachobench/tacho/readmodel"
	"github.com/tachobench/tacho/rules/ledger"
)

// roomView says how full things are. An alert gets its words when its mark is passed, and keeps them until the next one:
// they hold figures that change all the time.
type roomView struct {
	passed map[string]passed
}

// passed is a place, the mark that it has passed, and since when; the mark is 0 while there is room.
type passed struct {
	place room.Place
	mark  int
	since time.Time
	alert events.AlertRaised
	// told is set once the webhook was told that the place is full.
	told bool
}

// note takes how full everything is now. What is missing in places is not known now.
func (v *roomView) note(places []room.Place, marks []int, now time.Time) {
	before := v.passed
	v.passed = map[string]passed{}
	for _, p := range places {
		was := before[p.About]
		is := passed{place: p, mark: room.Mark(p, was.mark, marks), since: was.since, alert: was.alert, told: was.told}
		if is.mark != was.mark {
			is.since, is.told = now, false
			is.alert = events.AlertRaised{
				Key: events.NewAlertKey(events.AlertRoom, p.About), Kind: events.AlertRoom, About: p.About, Message: p.Message(is.mark), Action: p.Next,
			}
		}
		v.passed[p.About] = is
	}
}

// full reports whether a place takes nothing more.
func (v *roomView) full(about string) bool { return v.passed[about].mark == room.Full }

// rooms judges how full things are. It leaves alone what this process cannot see: other disks, and what does not answer.
func (j *judgement) rooms() {
	for _, a := range j.Alerts {
		if _, seen := j.view.room.passed[a.About]; a.Kind == events.AlertRoom && !seen {
			j.unsure[a.Key] = true
		}
	}
	for _, about := range slices.Sorted(maps.Keys(j.view.room.passed)) {
		p := j.view.room.passed[about]
		if p.mark == 0 {
			continue
		}
		j.want(0, p.alert)
		stands, ok := j.Alerts[p.alert.Key]
		f := j.wanted[p.alert.Key]
		f.anew = ok && !room.Same(stands.Message, p.place, p.mark)
		j.wanted[p.alert.Key] = f
	}
}

// speakOfRoom says what is full: in memory, because the log or the tables cannot show it, and once to the webhook. The
// caller holds mu.
func (w *Watchdog) speakOfRoom() {
	w.local = slices.DeleteFunc(w.local, func(a readmodel.Alert) bool { return a.Kind == events.AlertRoom })
	for _, about := range slices.Sorted(maps.Keys(w.view.room.passed)) {
		p := w.view.room.passed[about]
		if p.mark < room.Full {
			continue
		}
		w.local = append(w.local, row(ledger.Alert{AlertRaised: p.alert, At: p.since}))
		if !p.told && w.view.room.full("log") { // else the log tells the webhook
			p.told = true
			w.view.room.passed[about] = p
			w.Hook.tell(newNotice(p.alert, p.since))
		}
	}
}
