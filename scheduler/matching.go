package scheduler

import (
	"fmt"
	"time"

	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/rules/job"
	"github.com/tachobench/tacho/rules/ledger"
	"github.com/tachobench/tacho/rules/match"
)

// tries is how many lanes decideMatched looks at for a job that can be dispatched, in case that the first decision
// cannot be carried out.
const tries = 3

// decideMatched dispatches a matched job to a lane of a machine. A lane gets one only when nothing is open on it: so
// which machine executes a job is decided as late as possible.
func decideMatched(s *state, w match.Waits) (out []decision) {
	for _, l := range s.FreeLanes() {
		d, ok := decideDispatch(s, l, w)
		if !ok {
			continue
		}
		if out = append(out, d); len(out) == tries {
			break
		}
	}
	return out
}

// decideMove gives a matched job back that its lane cannot begin: it waits for another machine. Of a collector that was
// removed, it also takes back the job in hand.
func decideMove(s *state, l events.Lane) []decision {
	lane := s.Lanes[l]
	place, id, open := openPlace(lane)
	if !open {
		return nil
	}
	executed := lane.Work.Phase == job.Current && lane.Work.Place == place
	name := lane.Assignment.Serving
	if executed {
		name = lane.Work.Collector
	} else if name == "" {
		name = lane.Served
	}
	c := s.Collector(name)
	var reason string
	switch full := lane.Work.Full; {
	case c.Removed:
		reason = fmt.Sprintf("collector %s was removed", name)
	case executed:
		return nil
	case full != nil:
		reason = fmt.Sprintf("machine %s had %d MiB of memory free, and the job reserves %d MiB", lane.Machine, full.FreeMiB, full.ReservedMiB)
	case c.Quarantined:
		reason = fmt.Sprintf("collector %s is quarantined", name)
	case c.Draining:
		reason = fmt.Sprintf("collector %s drains", name)
	case !c.Active:
		reason = fmt.Sprintf("collector %s was deactivated", name)
	case !c.Online:
		reason = fmt.Sprintf("collector %s went offline", name)
	default:
		return nil
	}
	return s.move(l, id, job.Move{Place: place, Reason: reason})
}

// decideLost gives the job of a machine back whose collector was not heard for too long. If it was being executed, its
// attempt is lost.
func decideLost(s *state, l events.Lane, after time.Duration, silence func(events.CollectorName) time.Duration) []decision {
	lane := s.Lanes[l]
	place, id, open := openPlace(lane)
	name := lane.Assignment.Serving
	if lane.Work.Phase == job.Current && lane.Work.Place == place {
		name = lane.Work.Collector
	}
	if !open || name == "" || s.Collector(name).Removed || silence(name) < after {
		return nil
	}
	reason := fmt.Sprintf("collector %s was not heard for %s", name, after)
	return s.move(l, id, job.Move{Place: place, Reason: reason, Lost: true})
}

// openPlace returns the oldest open place of a lane of a machine, and its job. Such a lane has at most one, except after
// a conflict.
func openPlace(lane *ledger.Lane) (place uint64, id events.JobID, open bool) {
	for at, job := range lane.Work.Dispatched {
		if !open || at < place {
			place, id, open = at, job, true
		}
	}
	return place, id, open
}

// move takes a job from its lane. The cause is its attempt, or else its dispatch: so the history of the job shows it.
func (s *state) move(l events.Lane, id events.JobID, m job.Move) []decision {
	lane, j := s.Lanes[l], s.Jobs[id]
	m.JobID = id
	d := decision{cause: lane.Dispatches[m.Place].Seq, what: "move job"}
	if lane.Work.Place == m.Place && lane.Work.Token > 0 {
		d.cause = lane.Work.Token
	}
	if j != nil {
		d.request, m.Attempt, m.Losses = j.Spec().RequestID, j.Attempt, j.Lost
	}
	facts, err := job.Decide(lane.Work.Lane, l, m)
	if err != nil || len(facts) == 0 {
		return nil
	}
	d.facts = facts
	return []decision{d}
}
