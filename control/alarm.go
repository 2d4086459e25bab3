package control

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/tachobench/tacho/events"
)

const (
	// alarmAfter is how many failures in a row need a person.
	alarmAfter = 5
	// alarmWait bounds the recording of an alert.
	alarmWait = 5 * time.Second
)

// Alarm raises an alert when something keeps failing, and clears it when it works again. One goroutine uses it.
type Alarm struct {
	Control *Control
	// Kind and About make the key of the alert; Action says what a person can do.
	Kind          events.AlertKind
	About, Action string
	Logger        *slog.Logger

	// failures counts those in a row. fine is set once a success was recorded: a process before may have left the alert.
	failures int
	fine     bool
}

// Note takes the outcome of one attempt; nil is a success. An attempt that was interrupted says nothing.
func (a *Alarm) Note(ctx context.Context, outcome error) {
	if errors.Is(outcome, context.Canceled) || outcome == nil && a.fine {
		return
	}
	bounded, cancel := context.WithTimeout(ctx, alarmWait)
	defer cancel()
	by, key := By{Actor: "tacho", Source: string(a.Kind), Root: "alarm:" + a.About}, events.NewAlertKey(a.Kind, a.About)
	var err error
	if a.fine = outcome == nil; a.fine {
		a.failures = 0
		_, err = a.Control.ClearAlert(bounded, by, key, "it works again")
	} else if a.failures++; a.failures >= alarmAfter {
		_, err = a.Control.RaiseAlert(bounded, by, events.AlertRaised{Key: key, Kind: a.Kind, About: a.About, Message: outcome.Error(), Action: a.Action})
	}
	if err != nil && ctx.Err() == nil {
		a.Logger.Warn("an alert could not be recorded", "kind", a.Kind, "about", a.About, "error", err)
	}
}
