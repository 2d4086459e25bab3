package job

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/tachobench/tacho/events"
)

func TestWhoServesALane(t *testing.T) {
	lane := events.Lane{Target: "here"}
	assigned := func(name events.CollectorName, standby bool) events.Fact {
		return events.LaneAssigned{Lane: lane, Name: name, Standby: standby}
	}
	gone := func(name events.CollectorName) events.Fact { return events.LaneUnassigned{Lane: lane, Name: name} }
	taken := func(name events.CollectorName) events.Fact { return events.LaneTakenOver{Lane: lane, Name: name} }
	for name, tc := range map[string]struct {
		history []events.Fact
		want    events.CollectorName
	}{
		"nobody is assigned":                   {nil, ""},
		"the one that is no standby":           {[]events.Fact{assigned("s", true), assigned("a", false)}, "a"},
		"a standby does not serve by itself":   {[]events.Fact{assigned("s", true)}, ""},
		"a standby that took over":             {[]events.Fact{assigned("a", false), assigned("s", true), taken("s")}, "s"},
		"the first returns to a lane taken":    {[]events.Fact{assigned("a", false), assigned("s", true), taken("s"), gone("a"), assigned("a", false)}, "s"},
		"the lane falls back to the regular":   {[]events.Fact{assigned("a", false), assigned("s", true), taken("s"), gone("s")}, "a"},
		"and stays there":                      {[]events.Fact{assigned("a", false), assigned("s", true), taken("s"), gone("s"), assigned("s", true)}, "a"},
		"a takeover by one that is not of it":  {[]events.Fact{assigned("a", false), taken("x")}, "a"},
		"nobody, once the regular one is gone": {[]events.Fact{assigned("a", false), assigned("s", true), gone("a")}, ""},
		"taken over and given back":            {[]events.Fact{assigned("a", false), assigned("s", true), taken("s"), taken("a")}, "a"},
	} {
		t.Run(name, func(t *testing.T) {
			var a Assignment
			for _, f := range tc.history {
				a = Assign(a, f)
			}
			if a.Serving != tc.want {
				t.Errorf("%q serves, want %q", a.Serving, tc.want)
			}
		})
	}
}

// The serving collector is an assigned one. It changes only when it is unassigned or another takes over. A lane with a
// regular collector is always served.
func TestServingIsNeverAmbiguous(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var a Assignment
		names := rapid.SampledFrom([]events.CollectorName{"a", "b", "c"})
		for range rapid.IntRange(1, 30).Draw(t, "events") {
			before, name := a, names.Draw(t, "name")
			switch rapid.IntRange(0, 2).Draw(t, "what") {
			case 0:
				// Only "a" is not a standby: the commands allow no second one.
				a = Assign(a, events.LaneAssigned{Name: name, Standby: name != "a"})
				if before.Serving != "" && a.Serving != before.Serving {
					t.Fatalf("%s is assigned and %s serves instead of %s", name, a.Serving, before.Serving)
				}
			case 1:
				a = Assign(a, events.LaneUnassigned{Name: name})
				if before.Serving != name && a.Serving != before.Serving {
					t.Fatalf("%s is gone and %s serves instead of %s", name, a.Serving, before.Serving)
				}
			case 2:
				a = Assign(a, events.LaneTakenOver{Name: name, From: a.Serving})
			}
			_, assigned := a.Collectors[a.Serving]
			_, regular := a.Regular()
			if a.Serving != "" && !assigned || a.Serving == "" && regular {
				t.Fatalf("%q serves of %v", a.Serving, a.Collectors)
			}
		}
	})
}
