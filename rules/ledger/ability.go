package ledger

import (
	"maps"
	"slices"

	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/rules/suite"
)

// CannotRead returns the active collectors that could get jobs of definitions and have not said that they read their version,
// by name. A collector that never ran is none of them: what it will run is unknown.
func (l *Ledger) CannotRead(d suite.Definitions) []events.CollectorName {
	if d.Version < 2 {
		return nil
	}
	var out []events.CollectorName
	for _, name := range slices.Sorted(maps.Keys(l.Collectors)) {
		c := l.Collectors[name]
		if c.Met && !c.Suite2 && c.Takes() && serves(c.Lane(), d) {
			out = append(out, name)
		}
	}
	return out
}

// serves reports whether a lane could have jobs of definitions.
func serves(lane events.Lane, d suite.Definitions) bool {
	if _, pool := lane.Pool(); pool {
		return slices.ContainsFunc(d.Kinds, suite.Kind.Matched)
	}
	return slices.ContainsFunc(d.Targets, func(t suite.Target) bool { return t.Name == lane.Target && int(lane.Set) < t.Sets })
}
