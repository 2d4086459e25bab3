package watchdog

import (
	"cmp"
	"fmt"

	"github.com/tachobench/tacho/events"
)

// offline: a collector that should be there is not heard.
func (j *judgement) offline() {
	if !j.hears() {
		j.unsureKinds[events.AlertOffline] = true
		return
	}
	for name, c := range j.collectors {
		if j.view.there(name, j.limits.OfflineAfter) || !c.Takes() {
			continue
		}
		limit := j.limits.OfflineAfter
		if !c.updating.IsZero() {
			limit = updateFor
		}
		if j.view.voices[name].Silence < limit {
			j.doubt(events.AlertOffline, string(name))
			continue
		}
		j.want(c.cause, events.AlertRaised{
			Kind: events.AlertOffline, About: string(name), Message: c.absence(name),
			Action: fmt.Sprintf("Start it on its machine with `tacho collector run %s`, or say that it is not to be expected with "+
				"`tacho collector deactivate %s`.", name, name),
		})
	}
}

// absence says in words that a collector is not there. It holds nothing that one watchdog knows and another
// does not.
func (c *collectorState) absence(name events.CollectorName) string {
	role := "Collector"
	if c.Registered != nil && c.Registered.Standby {
		role = "Standby collector"
	}
	switch {
	case !c.updating.IsZero():
		return fmt.Sprintf("%s %s of lane %s left to be updated to version %s and has not come back.", role, name, c.lane(), c.wanted)
	case !c.met:
		return fmt.Sprintf("%s %s of lane %s is registered and was never online.", role, name, c.lane())
	}
	return fmt.Sprintf("%s %s of lane %s is offline: it sends no heartbeat.", role, name, c.lane())
}

func (j *judgement) offlineOver(name events.CollectorName) string {
	c, ok := j.collectors[name]
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

// quarantine: collectors and requests that were taken out of service.
func (j *judgement) quarantine() {
	for name, c := range j.collectors {
		if !c.Quarantined || !c.Active {
			continue
		}
		j.want(c.cause, events.AlertRaised{
			Kind: events.AlertQuarantine, About: string(name),
			Message: fmt.Sprintf("Collector %s of lane %s is quarantined and takes no jobs: %s", name, c.lane(), sentence(cmp.Or(c.quarantine, "no reason was given"))),
			Action: fmt.Sprintf("Find the cause on its machine: `tacho doctor` there, and the output of the jobs that failed. "+
				"Then let it work again with `tacho collector activate %s`.", name),
		})
	}
	for id, p := range j.poison {
		if p.resolved || j.passed(p.at, poisonFor) {
			continue
		}
		j.want(p.cause, events.AlertRaised{
			Kind: events.AlertQuarantine, About: string(id),
			Message: fmt.Sprintf("Request %s failed because it could not be turned into jobs %d times: %s", named(id, p.tag), quarantineAfter, sentence(p.reason)),
			Action: fmt.Sprintf("Correct what the reason names and publish the definitions with `tacho suite publish`, then ask again. "+
				"Nothing else waits for it; it is said for a day, or until suite %s has new definitions.", p.suite),
		})
	}
}

func (j *judgement) quarantineOver(about string) string {
	if p, ok := j.poison[events.RequestID(about)]; ok {
		if p.resolved {
			return "its suite has new definitions"
		}
		return "it was said for a day"
	}
	switch c, ok := j.collectors[events.CollectorName(about)]; {
	case ok && c.Removed:
		return "it was removed"
	case !ok || !c.Active:
		return "it was deactivated"
	}
	return "it was activated"
}

// update: a collector came up and said that it could not get the version that is wanted.
func (j *judgement) update() {
	for name, c := range j.collectors {
		if c.unfetched == "" || !c.Active {
			continue
		}
		j.want(c.cause, events.AlertRaised{
			Kind: events.AlertUpdate, About: string(name),
			Message: fmt.Sprintf("Collector %s could not be updated and works on with the version that it has: %s", name, sentence(c.unfetched)),
			Action:  "Look at the output of its supervisor on its machine; it tries again by itself, at least once an hour. `tacho collector want` names another version.",
		})
	}
}

func (j *judgement) updateOver(name events.CollectorName) string {
	if c, ok := j.collectors[name]; ok && c.Removed {
		return "it was removed"
	}
	return "its newest process did not report a failed update"
}
