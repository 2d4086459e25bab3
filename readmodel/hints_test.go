package readmodel

import (
	"strings"
	"testing"

	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/rules/match"
	"github.com/tachobench/tacho/rules/suite"
)

func TestHintsAboutMemory(t *testing.T) {
	matched := func(shared bool, requires ...string) suite.Kind {
		return suite.Kind{Name: "build", Lanes: suite.LanesAny, Shared: shared, Requires: requires}
	}
	used := func(mib ...int64) []UseRow {
		row := UseRow{Suite: "linux", Kind: "build"}
		for _, n := range mib {
			row.Uses = append(row.Uses, JobUse{JobID: "j", State: events.JobSuccess, PeakMemoryBytes: n << 20, MemoryMiB: 2048})
		}
		return []UseRow{row}
	}
	failed := func(mib, reserved int64) []UseRow {
		rows := used(100, 100)
		rows[0].Uses = append(rows[0].Uses, JobUse{JobID: "f", State: events.JobFailure, PeakMemoryBytes: mib<<20 - 1, MemoryMiB: reserved})
		return rows
	}
	for name, tc := range map[string]struct {
		kind suite.Kind
		uses []UseRow
		want string // the end of the sentence; empty for no hint
	}{
		"below the peak":             {matched(false, "memory=1g"), used(900, 1400, 800), "requires memory=1g; one of its last 3 jobs had 1400 MiB: write memory=1792m"},
		"as much as the peak":        {matched(false, "memory=1400m"), used(900, 1400, 800), ""},
		"twice the peak":             {matched(false, "memory=2800m"), used(900, 1400, 800), ""},
		"over twice":                 {matched(false, "memory=8g"), used(900, 1229, 800), "requires memory=8g; its last 3 jobs had at most 1229 MiB, less than half of that: write memory=1536m"},
		"over twice very little":     {matched(false, "memory=64m"), used(5, 5, 5), ""},
		"two jobs":                   {matched(false, "memory=1g"), used(900, 1400), ""},
		"three, but two unknown":     {matched(false, "memory=1g"), used(1400, 0, 0), ""},
		"no job":                     {matched(false, "memory=1g"), nil, ""},
		"nothing, beside others":     {matched(true), used(900, 7000, 800), "requires no memory; one of its last 3 jobs had 7000 MiB: write memory=9g"},
		"nothing, alone":             {matched(false), used(900, 7000, 800), ""},
		"nothing, alone by itself":   {matched(true, "exclusive"), used(900, 7000, 800), ""},
		"lanes of its own":           {suite.Kind{Name: "build", Requires: []string{"memory=1g"}}, used(900, 1400, 800), ""},
		"another kind":               {suite.Kind{Name: "test", Lanes: suite.LanesAny, Requires: []string{"memory=1g"}}, used(900, 1400, 800), ""},
		"failed at the limit":        {matched(false, "memory=1g"), failed(1024, 1024), "one of its last 3 jobs failed with all of the 1g that it had reserved: write memory=2g"},
		"failed at a smaller limit":  {matched(false, "memory=2g"), failed(1024, 1024), ""},
		"failed below the limit":     {matched(false, "memory=1g"), failed(600, 1024), ""},
		"the limit hid what it took": {matched(false, "memory=8g"), failed(1024, 1024), ""},
		"terms of a newer program":   {matched(false, "memory=1g", "phase=moon"), used(900, 1400, 800), ""},
	} {
		t.Run(name, func(t *testing.T) {
			hints := MemoryHints(suite.Definitions{Name: "linux", Kinds: []suite.Kind{tc.kind}}, tc.uses)
			if tc.want == "" {
				if len(hints) > 0 {
					t.Errorf("said %q", hints[0].Words)
				}
				return
			}
			if len(hints) != 1 || !strings.HasPrefix(hints[0].Words, "kind build of suite linux ") || !strings.HasSuffix(hints[0].Words, tc.want) {
				t.Errorf("said %+v", hints)
			}
		})
	}
}

// Who follows a hint gets no other one.
func TestHintsAreFollowedOnce(t *testing.T) {
	for peak := int64(1); peak < 100<<10; peak += 1 + peak/7 {
		row := UseRow{Suite: "linux", Kind: "build"}
		for range enough {
			row.Uses = append(row.Uses, JobUse{State: events.JobSuccess, PeakMemoryBytes: peak << 20})
		}
		kind := suite.Kind{Name: "build", Lanes: suite.LanesAny, Requires: []string{"memory=" + match.FormatMemory(proposed(peak))}}
		if hints := MemoryHints(suite.Definitions{Name: "linux", Kinds: []suite.Kind{kind}}, []UseRow{row}); len(hints) > 0 {
			t.Errorf("peak %d MiB: %s", peak, hints[0].Words)
		}
	}
}
