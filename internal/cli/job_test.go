package cli

import (
	"testing"
	"time"

	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/readmodel"
)

func TestWhyAJobWaits(t *testing.T) {
	at := time.Date(2026, 11, 22, 9, 0, 0, 0, time.Local)
	answers := map[string]any{
		"jobs/j1/why": readmodel.Why{
			JobID: "j1", State: events.JobQueued, Waits: true, Since: at, Reason: readmodel.WaitOwn, Words: "2 jobs are before it for lane x/0", Ahead: 2,
		},
		"jobs/j2/why": readmodel.Why{JobID: "j2", State: events.JobSuccess, Since: at, Words: "it does not wait: it has ended"},
		"requests/r1": readmodel.RequestJobs{
			Request: readmodel.Request{ID: "r1", State: events.StateArtifactsReady, Queue: "night"},
			Why:     &readmodel.RequestWhy{Reason: readmodel.StartPaused, Words: "queue night is paused"},
		},
		"outbox": []readmodel.Comment{},
	}
	for line, parts := range map[string][]string{
		"job why j1":        {"job j1: waits since 2026-11-22 09:00:00 (behind_own)", "\n  2 jobs are before it for lane x/0\n"},
		"job why j2":        {"job j2: success", "it does not wait"},
		"job why j1 --json": {`"reason": "behind_own"`, `"ahead": 2`},
		"request show r1":   {"waits    queue night is paused"},
	} {
		out, errs, code := answering(t, answers, line)
		if code != ExitDone {
			t.Errorf("tacho %s: exit code %d: %s", line, code, errs)
		}
		contains(t, "tacho "+line, out, parts...)
	}
	_, errs, code := answering(t, answers, "job why j9")
	if code != ExitRefused {
		t.Errorf("exit code %d", code)
	}
	contains(t, "tacho job why j9", errs, "tacho jobs")
}
