package control

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tachobench/tacho/events"
)

// What a process before left behind is cleared by the first success, and only failures in a row call a person.
func TestAnAlarmFollowsTheOutcomes(t *testing.T) {
	c, log := start(t)
	if _, err := c.RaiseAlert(t.Context(), by, events.AlertRaised{Kind: events.AlertSource, About: "webhook", Message: "left behind"}); err != nil {
		t.Fatal(err)
	}
	alarm := &Alarm{Control: c, Kind: events.AlertSource, About: "webhook", Action: "look at it", Logger: slog.New(slog.DiscardHandler)}
	key := events.NewAlertKey(events.AlertSource, "webhook")
	note := func(outcome error) string {
		alarm.Note(t.Context(), outcome)
		now, err := fold(t.Context(), log, events.AlertSubject(key), evolveAlert)
		if err != nil {
			t.Fatal(err)
		}
		if now.state == nil {
			return "-"
		}
		return now.state.Message
	}
	var got []string
	failure := func(n int) error { return fmt.Errorf("failure %d", n) }
	for _, outcome := range []error{
		nil, failure(1), failure(2), failure(3), failure(4), nil, // too few in a row
		failure(1), failure(2), fmt.Errorf("stop: %w", context.Canceled), failure(3), failure(4), failure(5), failure(6), nil, nil,
	} {
		got = append(got, note(outcome))
	}
	want := []string{"-", "-", "-", "-", "-", "-", "-", "-", "-", "-", "-", "failure 5", "failure 6", "-", "-"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the alert that stands after each outcome (-want +got):\n%s", diff)
	}
}

// An alert that could not be recorded is recorded at the next failure.
func TestAnAlarmOutlivesTheLog(t *testing.T) {
	c, log := start(t)
	alarm := &Alarm{Control: c, Kind: events.AlertReport, About: "a/b", Logger: slog.New(slog.DiscardHandler)}
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	before := last(t, log)
	for range alarmAfter {
		alarm.Note(gone, errors.New("refused"))
	}
	if got := last(t, log); got != before {
		t.Fatalf("%d events although the log is away", got-before)
	}
	alarm.Note(t.Context(), errors.New("refused"))
	if got := last(t, log); got != before+1 {
		t.Errorf("%d events, want the alert", got-before)
	}
}
