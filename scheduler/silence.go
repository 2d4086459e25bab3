package scheduler

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/job"
)

// silent returns what follows from collectors that are said to be online and are not heard: they are
// offline, and the attempt that such a process holds is lost. The caller holds mu.
func (s *Scheduler) silent(now time.Time) []decision {
	if !s.heard || now.Sub(s.started) < s.OfflineAfter {
		return nil
	}
	var out []decision
	reason := fmt.Sprintf("no heartbeat for %s", s.OfflineAfter)
	for _, name := range slices.Sorted(maps.Keys(s.state.collectors)) {
		c := s.state.collectors[name]
		// A process that has just said that it is there may be heard a moment later.
		if _, alive := s.beats[name]; alive || now.Sub(c.onlineAt) < s.OfflineAfter {
			continue
		}
		if c.online {
			out = append(out, decision{
				cause: s.state.versions[events.CollectorSubject(name)], what: "collector offline",
				facts: []events.Fact{events.CollectorOffline{Name: name, Instance: c.instance, Reason: reason}},
			})
		}
		lane, ok := s.state.lanes[c.lane]
		if !ok || lane.work.Phase != job.Current || lane.work.Collector != name {
			continue
		}
		facts, err := job.Decide(lane.work, c.lane, job.Lose{Token: lane.work.Token, Reason: reason})
		if err == nil {
			out = append(out, decision{
				cause: lane.work.Token, request: lane.work.Job.RequestID, what: "attempt lost", facts: facts,
			})
		}
	}
	return out
}
