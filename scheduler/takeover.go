package scheduler

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/rules/job"
	"github.com/tachobench/tacho/rules/ledger"
)

// limits says how long a collector may be silent before another one takes over its lane, and before its attempt is lost
// if no other can.
type limits struct{ takeover, offline time.Duration }

// updateTime is how long a collector may be away to update. Fetching and building a version takes minutes, and a lane
// that changed its machine for that would break its series of results twice.
const updateTime = 10 * time.Minute

// decideTakeovers decides for each of the lanes whether another collector takes it over, and whether its current attempt is
// lost.
//
// A lane gets another collector at once if a person or the farm took its collector out (deactivated, removed, drained
// and gone, quarantined). If the collector is only silent, the lane changes only when there is work: results are
// compared with those of the same machine, so a lane keeps its machine if possible. If the old collector is still
// there, it finishes its job; only the attempt of a collector that is gone is lost.
func decideTakeovers(s *state, l limits, silence func(events.CollectorName) time.Duration, lanes []events.Lane) []decision {
	var out []decision
	for _, lane := range lanes {
		if s.Lanes[lane].Machine != "" {
			out = append(out, decideLost(s, lane, l.takeover, silence)...)
		} else if d, ok := decideTakeover(s, lane, l, silence); ok {
			out = append(out, d)
		}
	}
	return out
}

func decideTakeover(s *state, name events.Lane, l limits, silence func(events.CollectorName) time.Duration) (decision, bool) {
	lane := s.Lanes[name]
	fit := func(c events.CollectorName) bool {
		known, ok := s.Collectors[c]
		return ok && known.Takes() && known.Online && silence(c) < l.takeover
	}
	d := decision{what: "take lane over"}
	serving := lane.Assignment.Serving
	if reason, out := s.out(lane, l.takeover, silence); out {
		if next, ok := successor(lane, fit); ok {
			from := serving
			if from == "" {
				from = lane.Served
			}
			d.cause = s.LastAbout(from)
			d.facts = append(d.facts, events.LaneTakenOver{Lane: name, Name: next, From: from, Reason: reason})
			serving = next
		}
	}
	if reason, lost := s.lostBy(lane, serving, l, silence, fit); lost {
		facts, err := job.Decide(lane.Work.Lane, name, job.Lose{Token: lane.Work.Token, Reason: reason})
		if err == nil {
			d.request, d.facts = lane.Work.Job.RequestID, append(d.facts, facts...)
		}
		if d.cause == 0 {
			d.cause, d.what = lane.Work.Token, "attempt lost"
		}
	}
	return d, len(d.facts) > 0
}

// out reports whether the lane has lost its serving collector, and why.
func (s *state) out(lane *ledger.Lane, after time.Duration, silence func(events.CollectorName) time.Duration) (string, bool) {
	name := lane.Assignment.Serving
	if name == "" {
		how := "deactivated"
		if s.Collector(lane.Served).Removed {
			how = "removed"
		}
		return "the collector of the lane was " + how, len(lane.Assignment.Collectors) > 0
	}
	c := s.Collector(name)
	switch {
	case c.Quarantined:
		return fmt.Sprintf("collector %s is quarantined", name), true
	case c.Draining && !c.Online:
		return fmt.Sprintf("collector %s was drained", name), true
	case !c.Updating.IsZero():
		after = max(after, updateTime)
	}
	if !lane.HasWork() || silence(name) < after {
		return "", false
	}
	return fmt.Sprintf("collector %s was not heard for %s", name, after), true
}

// successor returns the collector that takes the lane over: among the fit ones the one that is not a standby, else the
// first by name.
func successor(l *ledger.Lane, fit func(events.CollectorName) bool) (events.CollectorName, bool) {
	var best events.CollectorName
	for _, name := range slices.Sorted(maps.Keys(l.Assignment.Collectors)) {
		standby := l.Assignment.Collectors[name]
		if name != l.Assignment.Serving && fit(name) && (best == "" || !standby) {
			best = name
		}
	}
	return best, best != ""
}

// lostBy reports whether the current attempt of the lane is lost, and why: its collector is gone and another one serves
// now, or it has been silent for so long that it counts as dead.
func (s *state) lostBy(lane *ledger.Lane, serving events.CollectorName, l limits, silence func(events.CollectorName) time.Duration,
	fit func(events.CollectorName) bool,
) (string, bool) {
	holder := lane.Work.Collector
	if lane.Work.Phase != job.Current || s.Collector(holder).Removed { // then decideRelease gives the job back
		return "", false
	}
	if silence(holder) >= l.offline {
		return fmt.Sprintf("no heartbeat for %s", l.offline), true
	}
	if serving == holder || !fit(serving) {
		return "", false
	}
	if !s.Collector(holder).Online {
		return fmt.Sprintf("its process is gone and collector %s serves the lane", serving), true
	}
	return fmt.Sprintf("no heartbeat for %s, and collector %s serves the lane", l.takeover, serving), silence(holder) >= l.takeover
}

// decideRelease gives back the job that a removed collector has in hand, because the door refuses that collector. An
// event that the door had already let in comes before this one, or is refused for its version. The job is not to
// blame, so this spends no attempt.
func decideRelease(s *state, name events.Lane) (decision, bool) {
	lane := s.Lanes[name]
	holder := lane.Work.Collector
	if c, ok := s.Collectors[holder]; !ok || lane.Work.Phase != job.Current || !c.Removed {
		return decision{}, false
	}
	facts, err := job.Decide(lane.Work.Lane, name, job.Release{Token: lane.Work.Token, Reason: "the collector was removed", Taken: true})
	return decision{
		cause: s.Versions[events.RegistrySubject(holder)], request: lane.Work.Job.RequestID, what: "give job back", facts: facts,
	}, err == nil
}
