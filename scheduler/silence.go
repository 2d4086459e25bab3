package scheduler

import (
	"fmt"
	"slices"
	"time"

	"github.com/tachobench/tacho/events"
)

// silent returns the decisions about silent collectors: they are offline, other collectors take over their lanes, and
// their attempts are lost. While the listener does not hear, it decides nothing.
func (s *Scheduler) silent(st *state) []decision {
	if s.Hearing.Hears() == 0 {
		return nil
	}
	silence := func(name events.CollectorName) time.Duration { return s.Hearing.Of(name).Silence }
	return append(decideOffline(st, s.OfflineAfter, silence), decideTakeovers(st, limits{
		takeover: s.TakeoverAfter, offline: s.OfflineAfter,
	}, silence)...)
}

// decideOffline records that collectors are silent that the log has as online.
func decideOffline(s *state, after time.Duration, silence func(events.CollectorName) time.Duration) []decision {
	var gone []events.CollectorName
	for name, c := range s.Collectors {
		if c.Online && silence(name) >= after {
			gone = append(gone, name)
		}
	}
	slices.Sort(gone)
	var out []decision
	for _, name := range gone {
		c := s.Collectors[name]
		out = append(out, decision{
			cause: s.LastAbout(name), what: "collector silent",
			facts: []events.Fact{events.CollectorSilent{Name: name, Instance: c.Instance, Reason: fmt.Sprintf("no heartbeat for %s", after)}},
		})
	}
	return out
}
