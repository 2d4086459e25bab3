package watchdog

import (
	"cmp"
	"fmt"

	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/rules/ledger"
	"github.com/tachobench/tacho/rules/request"
)

// offline judges collectors that should be there and are not heard.
func (j *judgement) offline() {
	if !j.hears() {
		j.unsureKinds[events.AlertOffline] = true
		return
	}
	for name, c := range j.Collectors {
		if j.view.there(name, j.limits.OfflineAfter) || !c.Takes() {
			continue
		}
		limit := j.limits.OfflineAfter
		if !c.Updating.IsZero() {
			limit = updateFor
		}
		if j.view.voices[name].Silence < limit {
			j.doubt(events.AlertOffline, string(name))
			continue
		}
		j.want(j.LastAbout(name), events.AlertRaised{
			Kind: events.AlertOffline, About: string(name), Message: absence(name, c),
			Action: fmt.Sprintf("Start it on its machine with `tacho collector run %s`. If it is not coming back, say so with "+
				"`tacho collector deactivate %s`.", name, name),
		})
	}
}

// absence returns in words that a collector is not there. It uses only what every watchdog knows, so all use the same
// words.
func absence(name events.CollectorName, c *ledger.Collector) string {
	role := "Collector"
	if c.Registered != nil && c.Registered.Standby {
		role = "Standby collector"
	}
	switch {
	case !c.Updating.IsZero():
		return fmt.Sprintf("%s %s of lane %s left to be updated to version %s and has not come back.", role, name, c.Lane(), c.Wanted)
	case !c.Met:
		return fmt.Sprintf("%s %s of lane %s is registered and was never online.", role, name, c.Lane())
	}
	return fmt.Sprintf("%s %s of lane %s is offline: it sends no heartbeat.", role, name, c.Lane())
}

func (j *judgement) offlineOver(name events.CollectorName) string {
	c, ok := j.Collectors[name]
	switch {
	case ok && c.Removed:
		return "it was removed"
	case !ok || !c.Active:
		return "it was deactivated"
	case c.Quarantined:
		return "it is quarantined"
	case c.Draining:
		return "it was drained on purpose"
	}
	return "it is online"
}

// quarantine judges collectors and requests that were taken out of service.
func (j *judgement) quarantine() {
	for name, c := range j.Collectors {
		if !c.Quarantined || !c.Active {
			continue
		}
		j.want(j.LastAbout(name), events.AlertRaised{
			Kind: events.AlertQuarantine, About: string(name),
			Message: fmt.Sprintf("Collector %s of lane %s is quarantined and takes no jobs: %s", name, c.Lane(), sentence(cmp.Or(c.Quarantine, "no reason was given"))),
			Action: fmt.Sprintf("Find the cause on its machine: `tacho doctor` there, and the output of the jobs that failed. "+
				"Then let it work again with `tacho collector activate %s`.", name),
		})
	}
	for id, p := range j.Poison {
		if p.Resolved || j.passed(p.At, poisonFor) {
			continue
		}
		j.want(p.Cause, events.AlertRaised{
			Kind: events.AlertQuarantine, About: string(id),
			Message: fmt.Sprintf("Request %s failed because it could not be turned into jobs %d times: %s", named(id, p.Tag), request.QuarantineAfter, sentence(p.Reason)),
			Action: fmt.Sprintf("Correct what the reason names and publish the definitions with `tacho suite publish`, then ask again. "+
				"Nothing else waits for it. This alert stands for a day, or until suite %s has new definitions.", p.Suite),
		})
	}
}

func (j *judgement) quarantineOver(about string) string {
	if p, ok := j.Poison[events.RequestID(about)]; ok {
		if p.Resolved {
			return "its suite has new definitions"
		}
		return "it was said for a day"
	}
	switch c, ok := j.Collectors[events.CollectorName(about)]; {
	case ok && c.Removed:
		return "it was removed"
	case !ok || !c.Active:
		return "it was deactivated"
	}
	return "it was activated"
}

// update judges collectors that started and said that they could not get the wanted version.
func (j *judgement) update() {
	for name, c := range j.Collectors {
		if c.Unfetched == "" || !c.Active {
			continue
		}
		j.want(j.LastAbout(name), events.AlertRaised{
			Kind: events.AlertUpdate, About: string(name),
			Message: fmt.Sprintf("Collector %s could not be updated and continues with the version that it has: %s", name, sentence(c.Unfetched)),
			Action:  "Look at the output of its supervisor on its machine. It tries again by itself, at least once an hour. `tacho collector want` names another version.",
		})
	}
}

func (j *judgement) updateOver(name events.CollectorName) string {
	if c, ok := j.Collectors[name]; ok && c.Removed {
		return "it was removed"
	}
	return "its newest process did not report a failed update"
}
