package scheduler

import (
	"fmt"
	"slices"
	"time"

	"github.com/tachobench/tacho/events"
)

// silent returns what follows from collectors that are not heard: they are offline, other collectors take their
// lanes over, and attempts that such processes hold are lost. While nobody is heard nothing follows.
func (s *Scheduler) silent(st *state) []decision {
	if s.Hearing.Hears() == 0 {
		return nil
	}
	silence := func(name events.CollectorName) time.Duration { return s.Hearing.Of(name).Silence }
	return append(decideOffline(st, s.OfflineAfter, silence), decideTakeovers(st, limits{
		takeover: s.TakeoverAfter, offline: s.OfflineAfter,
	}, silence)...)
}

// decideOffline records that collectors are gone that are said to be online and are silent.
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
