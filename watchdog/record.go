package watchdog

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/tachobench/tacho/control"
	"github.com/tachobench/tacho/eventlog"
	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/readmodel"
	"github.com/tachobench/tacho/rules/ledger"
	"github.com/tachobench/tacho/shell"
)

// what returns a deed in words.
func (d deed) what() string {
	if d.clear != "" {
		return "clear " + string(d.clear)
	}
	return "raise " + string(d.raise.Key)
}

// deed is something to tell the log: an alert to raise, or one to clear for a reason.
type deed struct {
	raise  events.AlertRaised
	clear  events.AlertKey
	reason string
	cause  events.Seq
	// done is called, with mu held, once the log has it.
	done func()
}

// Told implements shell.Decider. Alerts can wait for the next tick.
func (w *Watchdog) Told(events.Fact) bool { return false }

// Decide implements shell.Decider.
func (w *Watchdog) Decide(l *ledger.Ledger, now time.Time) []shell.Step {
	var steps []shell.Step
	for _, d := range w.decide(l, now) {
		steps = append(steps, shell.Step{What: d.what(), Do: func(ctx context.Context) (events.Seq, error) {
			asked := w.Clock()
			seq, err := w.carryOut(ctx, d)
			w.mu.Lock()
			defer w.mu.Unlock()
			if ctx.Err() == nil {
				w.noteAppend(asked, err)
			}
			if err == nil {
				d.done()
			}
			return seq, err
		}})
	}
	return steps
}

// look keeps the alerts that stand, for the metrics, and counts the new ones.
func (w *Watchdog) look(l *ledger.Ledger) {
	w.standing = w.standing[:0:0]
	for _, key := range slices.Sorted(maps.Keys(l.Alerts)) {
		a := l.Alerts[key]
		w.standing = append(w.standing, a)
		if w.counted && a.Seq > w.at {
			w.Metrics.raised.Inc()
		}
	}
	w.at, w.counted = l.Seq, true
}

// noteAppend takes the result of an append. A conflict or a refusal is the answer of a log that works; that it is full has
// an alert of its own. The caller holds mu.
func (w *Watchdog) noteAppend(asked time.Time, err error) {
	var conflict *eventlog.ConflictError
	var refused *control.RefusedError
	if errors.As(err, &conflict) || errors.As(err, &refused) || errors.Is(err, eventlog.ErrFull) {
		err = nil
	}
	if err != nil {
		w.view.log.why = err.Error()
	}
	w.noteLog(&w.view.log.refusing, asked, err)
}

func (w *Watchdog) carryOut(ctx context.Context, d deed) (events.Seq, error) {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	by := control.By{Actor: source, Source: source, Root: source, Cause: d.cause}
	if d.clear != "" {
		answer, err := w.Control.ClearAlert(ctx, by, d.clear, d.reason)
		if err != nil {
			err = fmt.Errorf("clear %s: %w", d.clear, err)
		}
		return answer.Seq, err
	}
	answer, err := w.Control.RaiseAlert(ctx, by, d.raise)
	if err != nil {
		err = fmt.Errorf("raise %s: %w", d.raise.Key, err)
	}
	return answer.Seq, err
}

// decide judges, and returns what must be recorded.
func (w *Watchdog) decide(l *ledger.Ledger, now time.Time) []deed {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.look(l)
	w.view.look(now, w.Tick)
	if !w.view.log.silent.IsZero() || w.view.room.full("log") {
		return nil // nothing can be recorded
	}
	w.view.listen(w.Hearing, l.Collectors, now)
	j := judge(l, w.view, w.Limits, now)
	deeds := w.outages(l)
	for _, key := range slices.Sorted(maps.Keys(j.wanted)) {
		f := j.wanted[key]
		words := f.Message + "\n" + f.Action
		last, before := w.said[key]
		a, stands := l.Alerts[key]
		if stands && (a.AlertRaised == f.AlertRaised || !before && !f.anew || last == words) {
			w.said[key] = words
			continue
		}
		deeds = append(deeds, deed{raise: f.AlertRaised, cause: f.cause, done: func() { w.said[key] = words }})
	}
	maps.DeleteFunc(w.said, func(key events.AlertKey, _ string) bool { _, wanted := j.wanted[key]; return !wanted && !j.unsure[key] })
	for _, key := range slices.Sorted(maps.Keys(l.Alerts)) {
		a := l.Alerts[key]
		if reason, over := j.over(a); over && now.Sub(a.At) >= settle {
			deeds = append(deeds, deed{clear: key, reason: reason, cause: a.Seq, done: func() {}})
		}
	}
	w.local = w.localOf(j, now)
	if len(deeds) == 0 { // nothing must be written, so no write is known to fail
		w.noteLog(&w.view.log.refusing, now, nil)
	}
	return deeds
}

// outages returns what to record about outages that are over, unless another watchdog did. The caller holds mu.
func (w *Watchdog) outages(l *ledger.Ledger) (deeds []deed) {
	for _, o := range w.view.log.outages {
		forget := func() {
			w.view.log.outages = slices.DeleteFunc(w.view.log.outages, func(p outage) bool { return p == o })
		}
		if !l.Unreachable.Before(o.from) {
			forget()
			continue
		}
		raise, reason := o.recorded()
		deeds = append(deeds, deed{raise: raise, done: func() {}}, deed{clear: raise.Key, reason: reason, done: forget})
	}
	return deeds
}

// passOn tells the webhook once of each alert that other parts keep in memory. The caller holds mu.
func (w *Watchdog) passOn() {
	others := w.others()
	for _, a := range others {
		if !w.passedOn[a.Key] {
			w.passedOn[a.Key] = true
			w.Hook.tell(newNotice(events.AlertRaised{Key: a.Key, Kind: a.Kind, About: a.About, Message: a.Message, Action: a.Action}, a.RaisedAt))
		}
	}
	maps.DeleteFunc(w.passedOn, func(key events.AlertKey, _ bool) bool {
		return !slices.ContainsFunc(others, func(a readmodel.Alert) bool { return a.Key == key })
	})
}

// speak says that the log is away, or what is full: in memory, and once to the webhook. The caller holds mu.
func (w *Watchdog) speak(now time.Time) {
	w.view.look(now, w.Tick)
	w.speakOfRoom()
	w.passOn()
	alert, since, away := w.view.unreachable(now)
	w.local = slices.DeleteFunc(w.local, func(a readmodel.Alert) bool { return a.Kind == events.AlertUnreachable })
	if !away {
		return
	}
	w.local = append(w.local, row(ledger.Alert{AlertRaised: alert, At: since}))
	if !w.view.log.told && now.Sub(since) >= unreachableAfter {
		w.view.log.told = true
		w.Hook.tell(newNotice(alert, since))
	}
}

// localOf returns the alerts that the tables may not show. The caller holds mu.
func (w *Watchdog) localOf(j *judgement, now time.Time) []readmodel.Alert {
	list := w.local
	list = slices.DeleteFunc(list, func(a readmodel.Alert) bool { return fromTables(a.Kind) })
	for key, f := range j.wanted {
		if !fromTables(f.Kind) {
			continue
		}
		a, stands := j.Alerts[key]
		if !stands {
			a = ledger.Alert{AlertRaised: f.AlertRaised, At: now}
		}
		list = append(list, row(a))
	}
	return list
}

// fromTables reports whether the tables cannot show alerts of a kind in time: such an alert says that they are late or away.
func fromTables(k events.AlertKind) bool { return k == events.AlertLag || k == events.AlertDatabase }
