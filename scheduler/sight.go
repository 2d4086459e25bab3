package scheduler

import (
	"maps"
	"slices"
	"time"

	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/rules/ledger"
)

// lookAgain is how often all lanes are looked at: what only time changes, such as silence, no event touches.
const lookAgain = 250 * time.Millisecond

// sight knows which lanes a scheduler has to look at: those that an event touched since it looked last, and those that could do
// more than they did. A scheduler that is new, or whose ledger is another one, looks at all.
type sight struct {
	ledger *ledger.Ledger
	mark   ledger.Touch
	at     time.Time
	// open are lanes at which something was decided, or that could take a job and got none: what they wait for may be elsewhere.
	open map[events.Lane]bool
}

// look returns the lanes to look at now, in their order. all says that these are all lanes.
func (v *sight) look(l *ledger.Ledger, now time.Time) (lanes []events.Lane, all bool) {
	if v.ledger != l || now.Sub(v.at).Abs() >= lookAgain {
		*v = sight{ledger: l, at: now, open: map[events.Lane]bool{}}
		_, v.mark, _ = l.Touched(0)
		return l.LaneOrder, true
	}
	lanes, v.mark, all = l.Touched(v.mark)
	if all {
		clear(v.open)
		return lanes, true
	}
	if len(v.open) > 0 {
		lanes = ledger.SortLanes(slices.AppendSeq(lanes, maps.Keys(v.open)))
	}
	return lanes, false
}

// note remembers which of the lanes that were looked at stay open.
func (v *sight) note(s *state, lanes []events.Lane, decided []decision) {
	for _, name := range lanes {
		if s.open(s.Lanes[name]) {
			v.open[name] = true
		} else {
			delete(v.open, name)
		}
	}
	for _, d := range decided {
		for _, f := range d.facts {
			// The others are about no lane, or about one that is open.
			//exhaustive:ignore
			switch f := f.(type) {
			case events.WorkFact:
				v.open[f.Where()] = true
			case events.AssignmentFact:
				v.open[f.Where()] = true
			}
		}
	}
}

// open reports whether a lane could do more than it does: end jobs that must not run, or take one that waits.
func (s *state) open(lane *ledger.Lane) bool {
	return lane.Stopping || lane.Machine == "" && len(lane.Queued) > 0 && s.free(lane)
}

// free reports whether a lane of a target may get a job. It keeps only one job ahead of the running one, so that a change of the
// order still has an effect; on a shared farm none, so that a more urgent job waits for the running one alone.
func (s *state) free(lane *ledger.Lane) bool {
	if s.Shared {
		return len(lane.Work.Dispatched) == 0 && s.takesJobs(lane)
	}
	return lane.Work.Ahead() == 0 && s.takesJobs(lane)
}
