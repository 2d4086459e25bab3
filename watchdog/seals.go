package watchdog

import (
	"fmt"
	"maps"
	"slices"

	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/rules/ledger"
)

// unsealed judges collectors that lately refused jobs because of their seals.
func (j *judgement) unsealed() {
	for _, name := range slices.Sorted(maps.Keys(j.Collectors)) {
		c := j.Collectors[name]
		if c.Unsealed == nil || c.Removed || j.passed(c.Unsealed.Last, ledger.UnsealedFor) {
			continue
		}
		j.want(c.Unsealed.By, events.AlertRaised{
			Kind: events.AlertSeal, About: string(name),
			Message: fmt.Sprintf("Collector %s refused job %s, and perhaps later ones: %s", name, c.Unsealed.Job, sentence(c.Unsealed.Reason)),
			Action: fmt.Sprintf("See `tacho job show %s`. If a key was changed or is missing, docs/seals.md says what to do. If not, somebody else writes into the log: find out who has access to NATS.",
				c.Unsealed.Job),
		})
	}
}

func (j *judgement) unsealedOver(name events.CollectorName) string {
	if c, ok := j.Collectors[name]; ok && c.Removed {
		return "it was removed"
	}
	return "it refused no further job because of seals for a day"
}
