package job

import (
	"maps"
	"slices"

	"github.com/tachobench/tacho/events"
)

// Assignment says which collectors share a lane and which of them serves it: executes its jobs, while the
// others stand by. The zero value is a lane without any.
//
// Whoever serves goes on serving until another takes the lane over or it is unassigned; then the one that is
// no standby serves. So a machine that comes back changes nothing.
type Assignment struct {
	// Collectors maps each assigned collector to whether it is a standby.
	Collectors map[events.CollectorName]bool
	// Serving is empty when nobody does.
	Serving events.CollectorName
}

// Assign returns the assignment after one event of it; others change nothing. The given one stays as it is.
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

// Regular returns the collector that is no standby, of which a lane has at most one.
func (a Assignment) Regular() (events.CollectorName, bool) {
	for _, name := range slices.Sorted(maps.Keys(a.Collectors)) {
		if !a.Collectors[name] {
			return name, true
		}
	}
	return "", false
}
