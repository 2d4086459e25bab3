package job

import (
	"maps"
	"slices"

	"github.com/tachobench/tacho/events"
)

// Assignment says which collectors share a lane and which of them serves it. That one executes the jobs; the others
// stand by. The zero value is a lane without collectors.
//
// A collector serves until another one takes the lane over or until it is unassigned. After an unassignment the
// collector that is not a standby serves. So a machine that comes back changes nothing.
type Assignment struct {
	// Collectors maps each assigned collector to whether it is a standby.
	Collectors map[events.CollectorName]bool
	// Serving is empty when no collector serves.
	Serving events.CollectorName
}

// Assign returns the assignment after f. Facts of other families change nothing. a itself is not changed.
func Assign(a Assignment, f events.Fact) Assignment {
	a.Collectors = maps.Clone(a.Collectors)
	if a.Collectors == nil {
		a.Collectors = map[events.CollectorName]bool{}
	}
	// Only these three are events of an assignment.
	//exhaustive:ignore
	switch f := f.(type) {
	case events.LaneAssigned:
		a.Collectors[f.Name] = f.Standby
		if a.Serving == "" && !f.Standby {
			a.Serving = f.Name
		}
	case events.LaneUnassigned:
		delete(a.Collectors, f.Name)
		if a.Serving == f.Name {
			a.Serving, _ = a.Regular()
		}
	case events.LaneTakenOver:
		if _, assigned := a.Collectors[f.Name]; assigned {
			a.Serving = f.Name
		}
	}
	return a
}

// Regular returns the collector that is not a standby; a lane has at most one.
func (a Assignment) Regular() (events.CollectorName, bool) {
	for _, name := range slices.Sorted(maps.Keys(a.Collectors)) {
		if !a.Collectors[name] {
			return name, true
		}
	}
	return "", false
}
