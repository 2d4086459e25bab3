package scheduler

import (
	"fmt"
	"slices"
	"time"

	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/rules/ledger"
)

// silent returns the decisions about silent collectors: they are offline, other collectors take over their lanes, and
// their attempts are lost. While the listener does not hear, it decides nothing. Collectors are asked for when all lanes are.
func (s *Scheduler) silent(st *state, lanes []events.Lane, all bool) []decision {
	if s.Hearing.Hears() == 0 {
		return nil
	}
	silence := func(name events.CollectorName) time.Duration { return s.Hearing.Of(name).Silence }
	l := limits{takeover: s.TakeoverAfter, offline: s.OfflineAfter}
	var out []decision
	if all {
		out = decideOffline(st, l, silence)
	}
	return append(out, decideTakeovers(st, l, silence, lanes)...)
}

// decideOffline records that collectors are silent that the log has as online. A collector of a machine counts as silent
// when its job moves: else it would get the next one at once.
func decideOffline(s *state, l limits, silence func(events.CollectorName) time.Duration) []decision {
	var gone []events.CollectorName
	after := func(c *ledger.Collector) time.Duration {
		if c.Registered != nil && c.Registered.Machine != "" {
			return l.takeover
		}
		return l.offline
	}
	for name, c := range s.Collectors {
		if c.Online && silence(name) >= after(c) {
			gone = append(gone, name)
		}
	}
	slices.Sort(gone)
	var out []decision
	for _, name := range gone {
		c := s.Collectors[name]
		out = append(out, decision{
			cause: s.LastAbout(name), what: "collector silent",
			facts: []events.Fact{events.CollectorSilent{Name: name, Instance: c.Instance, Reason: fmt.Sprintf("no heartbeat for %s", after(c))}},
		})
	}
	return out
}
