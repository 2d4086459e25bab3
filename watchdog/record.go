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
)

// deed is something to tell the log: an alert to raise, or one to clear for a reason.
type deed struct {
	raise  events.AlertRaised
	clear  events.AlertKey
	reason string
	cause  events.Seq
	// done is called, with mu held, when the log has it.
	done func()
}

// step tells the log what has changed. It stops at the first fault and tries again at the next tick.
func (w *Watchdog) step(ctx context.Context) {
	for _, d := range w.decide() {
		asked := w.Clock()
		seq, err := w.carryOut(ctx, d)
		if ctx.Err() != nil {
			return
		}
		w.mu.Lock()
		failed := w.noteAppend(asked, err)
		if err == nil {
			w.wrote = max(w.wrote, seq)
			d.done()
		}
		w.mu.Unlock()
		if err != nil {
			w.Logger.WarnContext(ctx, "an alert could not be recorded, trying again", "error", err)
		}
		if failed {
			return
		}
	}
}

// noteAppend takes what came of an append. A conflict and a refusal are answers of a log that works. The caller
// holds mu.
func (w *Watchdog) noteAppend(asked time.Time, err error) (failed bool) {
	var conflict *eventlog.ConflictError
	var refused *control.RefusedError
	if errors.As(err, &conflict) || errors.As(err, &refused) {
		err = nil
	}
	if err != nil {
		w.view.log.why = err.Error()
	}
	w.noteLog(&w.view.log.refusing, asked, err)
	return err != nil
}

func (w *Watchdog) carryOut(ctx context.Context, d deed) (events.Seq, error) {
	ctx, cancel := context.WithTimeout(ctx, askWithin)
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

// decide judges and returns what the log has to be told.
func (w *Watchdog) decide() []deed {
	w.mu.Lock()
	defer w.mu.Unlock()
	now := w.Clock()
	w.speak(now)
	if !w.started || w.state.seq < max(w.begun, w.wrote) || !w.view.log.silent.IsZero() {
		return nil
	}
	w.view.listen(w.Hearing, w.state.collectors, now)
	j := judge(w.state, w.view, w.Limits, now)
	deeds := w.outages()
	for _, key := range slices.Sorted(maps.Keys(j.wanted)) {
		f := j.wanted[key]
		words := f.Message + "\n" + f.Action
		last, before := w.said[key]
		a, stands := w.state.standing[key]
		if stands && (a.AlertRaised == f.AlertRaised || !before || last == words) {
			w.said[key] = words
			continue
		}
		deeds = append(deeds, deed{raise: f.AlertRaised, cause: f.cause, done: func() { w.said[key] = words }})
	}
	maps.DeleteFunc(w.said, func(key events.AlertKey, _ string) bool { _, wanted := j.wanted[key]; return !wanted && !j.unsure[key] })
	for _, key := range slices.Sorted(maps.Keys(w.state.standing)) {
		a := w.state.standing[key]
		if reason, over := j.over(a); over && now.Sub(a.at) >= settle {
			deeds = append(deeds, deed{clear: key, reason: reason, cause: a.seq, done: func() {}})
		}
	}
	w.local = w.localOf(j, now)
	if len(deeds) == 0 { // nothing has to be written, so nothing is known to fail
		w.noteLog(&w.view.log.refusing, now, nil)
	}
	return deeds
}

// outages returns what to tell the log of those that are over, unless another watchdog did. The caller holds mu.
func (w *Watchdog) outages() (deeds []deed) {
	for _, o := range w.view.log.outages {
		forget := func() {
			w.view.log.outages = slices.DeleteFunc(w.view.log.outages, func(p outage) bool { return p == o })
		}
		if !w.state.unreachable.Before(o.from) {
			forget()
			continue
		}
		raise, reason := o.recorded()
		deeds = append(deeds, deed{raise: raise, done: func() {}}, deed{clear: raise.Key, reason: reason, done: forget})
	}
	return deeds
}

// speak tells of a log that is away where it can be told: in memory, and to the webhook once. The caller holds mu.
func (w *Watchdog) speak(now time.Time) {
	alert, since, away := w.view.unreachable(now)
	w.local = slices.DeleteFunc(w.local, func(a readmodel.Alert) bool { return a.Kind == events.AlertUnreachable })
	if !away {
		return
	}
	w.local = append(w.local, row(standing{AlertRaised: alert, at: since}))
	if !w.view.log.told {
		w.view.log.told = true
		w.Hook.tell(newNotice(alert, since))
	}
}

// localOf returns the alerts that the tables may not show. The caller holds mu.
func (w *Watchdog) localOf(j *judgement, now time.Time) []readmodel.Alert {
	list := w.local
	list = slices.DeleteFunc(list, func(a readmodel.Alert) bool { return a.Kind == events.AlertLag })
	for key, f := range j.wanted {
		if f.Kind != events.AlertLag {
			continue
		}
		a, stands := w.state.standing[key]
		if !stands {
			a = standing{AlertRaised: f.AlertRaised, at: now}
		}
		list = append(list, row(a))
	}
	return list
}
