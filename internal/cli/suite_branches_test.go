package cli

import (
	"strings"
	"testing"
	"time"

	"github.com/tachobench/tacho/control"
	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/readmodel"
)

// A roll-back names definitions by the beginning of their digest, if it is long enough and means one thing.
func TestPromotionsNameDefinitions(t *testing.T) {
	digest := func(begin string) events.Digest { return events.Digest(begin + strings.Repeat("0", 64-len(begin))) }
	answers := map[string]any{
		"definitions":          []readmodel.Definition{{Suite: "naps", Digest: digest("abcd1")}, {Suite: "naps", Digest: digest("abcd2")}, {Suite: "go", Digest: digest("ffff")}},
		"suites/naps/promote":  control.Answer{},
		"suites/naps/branches": []readmodel.DefinitionLine{{Suite: "naps", Digest: digest("abcd1"), Revision: "0123456789abcdef", MovedAt: time.Date(2026, 3, 1, 10, 0, 0, 0, time.Local)}},
	}
	for line, want := range map[string]struct {
		code int
		says string
	}{
		"suite promote naps abcd1":     {ExitDone, "suite naps, all branches that have none of their own: abcd1"},
		"suite promote naps abcd":      {ExitRefused, "several definitions begin with abcd: "},
		"suite promote naps a":         {ExitUsage, "at least 4 characters; the newest of suite naps are abcd1"},
		"suite promote naps ffff":      {ExitRefused, "suite naps has no definitions ffff; it has abcd1"},
		"suite promote nothing abcd1":  {ExitRefused, "no definitions of suite nothing were published"},
		"suite promote naps":           {ExitUsage, "at least 4 characters; the newest of suite naps are abcd1"},
		"suite promote naps --inherit": {ExitUsage, "--inherit needs --branch"},
		"suite branches naps":          {ExitDone, "2026-03-01 10:00:00  0123456789"},
	} {
		out, errs, code := answering(t, answers, line)
		if code != want.code {
			t.Errorf("%s: exit code %d, want %d", line, code, want.code)
		}
		contains(t, line, out+errs, want.says)
	}
}
