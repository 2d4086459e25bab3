package cli

import (
	"net/http"
	"testing"
	"time"

	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/readmodel"
	"github.com/tachobench/tacho/website/client"
)

// A command for a set goes to each request, prints each answer, and ends with the code of the worst.
func TestACommandForASetIsForEachRequest(t *testing.T) {
	ended := time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)
	answers := map[string]any{
		"requests": []readmodel.Request{{ID: "r3", Tag: "v3", Kind: events.Master}, {ID: "r2", Tag: "v2", EndedAt: &ended}, {ID: "r1", Tag: "v1"}},
		"requests/r1/graphs": client.GraphAnswer{
			RequestAnswer: client.RequestAnswer{RequestID: "r1"}, GraphKind: events.GraphRepair, Jobs: []client.GraphJob{{JobID: "j1", Label: "compile"}}, Answered: true,
		},
		"requests/r2/graphs": &client.Error{Status: http.StatusConflict, Message: "nothing of it failed"},
		"requests/r3/graphs": client.GraphAnswer{RequestAnswer: client.RequestAnswer{RequestID: "r3"}, GraphKind: events.GraphRepair},
		"requests/r1/cancel": client.RequestAnswer{RequestID: "r1", State: events.StateCancelled},
		"requests/r3/cancel": &client.Error{Status: http.StatusInternalServerError, Message: "broken"},
	}
	for line, want := range map[string]struct {
		code      int
		out, errs []string
	}{
		"graph repair set:odd":                 {ExitRefused, []string{"j1"}, []string{"request r1 stays", "request r2: nothing of it failed", "request r3: the wish is recorded", "1 of 3 requests said no"}},
		"graph retrigger set:odd --json":       {ExitRefused, []string{`"request_id": "r2",`, `"error": "nothing of it failed"`, `"job_id": "j1"`}, nil},
		"graph noise set:odd --expect 0a1b":    {ExitUsage, nil, []string{"--expect and --job are about one request"}},
		"graph noise set:odd --job j1":         {ExitUsage, nil, []string{"leave them out for set odd"}},
		"graph repair set:a/b":                 {ExitUsage, nil, []string{`set "a/b"`}},
		"request cancel set:odd":               {ExitUsage, []string{"r1 ", "r3 "}, []string{"nothing is cancelled yet: add --yes to cancel 2 requests of set odd"}},
		"request cancel set:odd --yes":         {ExitFailed, []string{"request r1 for - is cancelled"}, []string{"request r3: broken"}},
		"request cancel set:odd --yes --json":  {ExitFailed, []string{`"error": "broken"`, `"state": "cancelled"`}, nil},
		"request list --set odd":               {ExitDone, []string{"r1", "r2", "r3"}, nil},
		"graph repair r1 --key k --reason why": {ExitDone, []string{"j1"}, nil},
	} {
		out, errs, code := answering(t, answers, line)
		if code != want.code {
			t.Errorf("tacho %s: exit code %d, want %d: %s", line, code, want.code, errs)
		}
		contains(t, "tacho "+line, out, want.out...)
		contains(t, "tacho "+line, errs, want.errs...)
	}
	_, errs, code := answering(t, map[string]any{"requests": []readmodel.Request{}}, "request cancel set:none")
	if code != ExitRefused {
		t.Errorf("exit code %d", code)
	}
	contains(t, "an empty set", errs, "no request is in set none")
}

func TestPublishingAsideAndItsWarnings(t *testing.T) {
	answers := map[string]any{
		"definitions": client.DefinitionsAnswer{Suite: "shells", Digest: "0123456789abcdef", Warnings: []string{"collector c is too old"}},
	}
	out, errs, code := answering(t, answers, "suite publish go --aside")
	if code != ExitDone {
		t.Fatalf("exit code %d: %s", code, errs)
	}
	contains(t, "published aside", out, "--definitions 0123456789ab")
	contains(t, "warnings", errs, "warning: collector c is too old")
	_, errs, code = answering(t, answers, "suite publish go --aside --branch main")
	if code != ExitUsage {
		t.Errorf("exit code %d", code)
	}
	contains(t, "aside for a branch", errs, "--aside needs no --branch")
}
