package watchdog

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/tachobench/tacho/eventlog"
	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/internal/phrase"
)

// turnWait is a collector that has waited too long for the turn of its machine.
type turnWait struct {
	name events.CollectorName
	job  events.JobID
	eventlog.TurnWait
}

// turns judges collectors that wait for the turn of their machine. Their heartbeats tell since when, and who has it. A process that
// was stopped keeps it, and so does one whose collector was removed: nothing else ends that.
func (j *judgement) turns() {
	if !j.hears() {
		j.unsureKinds[events.AlertTurn] = true
		return
	}
	waits := map[string][]turnWait{}
	for _, name := range slices.Sorted(maps.Keys(j.Collectors)) {
		beat := j.view.voices[name].Beat
		if !j.view.there(name, j.limits.OfflineAfter) || beat.Turn == nil {
			continue
		}
		if beat.Time.Sub(beat.Turn.Since) >= j.turnLimit(beat.Turn.Holders) { // both by its own clock
			waits[beat.Host] = append(waits[beat.Host], turnWait{name, beat.JobID, *beat.Turn})
		}
	}
	for host, list := range waits {
		message, action := j.turnWords(host, list)
		j.want(0, events.AlertRaised{Kind: events.AlertTurn, About: host, Message: message, Action: action})
	}
}

// turnLimit returns how long a collector may wait while others have the turn: a multiple of what their jobs are expected to take, and
// not less than the configured limit.
func (j *judgement) turnLimit(holders []eventlog.TurnHolder) time.Duration {
	limit := j.limits.TurnAfter
	for _, h := range holders {
		if job, ok := j.Jobs[h.JobID]; ok {
			limit = max(limit, overrunTimes*j.Expected(job))
		}
	}
	return limit
}

// turnWords says who waits for the turn of a machine, who has it, and what to do.
func (j *judgement) turnWords(host string, waits []turnWait) (message, action string) {
	longest := slices.MinFunc(waits, func(a, b turnWait) int { return a.Since.Compare(b.Since) })
	names := make([]string, len(waits))
	for i, w := range waits {
		names[i] = fmt.Sprintf("%s (job %s)", w.name, w.job)
	}
	message = fmt.Sprintf("Collectors of machine %s wait for its turn: %s. The first has waited since %s, and ", host, strings.Join(names, ", "), phrase.Moment(longest.Since))
	if len(longest.Holders) == 0 {
		return message + "it is not known who has the turn.",
			fmt.Sprintf("On %s, `fuser -v builds measures` in the directory of the turns (collector.turns; by default turns/%s in the data directory) names the "+
				"processes that have it. Continue one that was stopped with `kill -CONT PID`, or end it with `kill PID`.", host, host)
	}
	var held, steps []string
	for _, h := range longest.Holders {
		held = append(held, j.turnHeld(h))
		if h.Gone {
			steps = append(steps, fmt.Sprintf("A command of collector %s goes on without it: `fuser -v builds measures` in the directory of the turns (collector.turns; by default "+
				"turns/%s in the data directory) names it. End it with `kill PID`.", h.Name, host))
			continue
		}
		steps = append(steps, fmt.Sprintf("`ps -o pid,stat,etime,args -p %d` shows the process: state T means that it was stopped, and `kill -CONT %d` lets it go on. "+
			"Else end it with `kill %d`: its turn ends with it, and its job runs again.", h.PID, h.PID, h.PID))
	}
	return message + strings.Join(held, "; ") + ".", "On " + host + ": " + strings.Join(steps, " ")
}

// turnHeld says who has a turn, and what is known of it.
func (j *judgement) turnHeld(h eventlog.TurnHolder) string {
	text := fmt.Sprintf("collector %s (process %d) has had the turn for job %s since %s", h.Name, h.PID, h.JobID, phrase.Moment(h.Since))
	c, known := j.Collectors[h.Name]
	switch {
	case h.Gone:
		return text + ", and its process has ended"
	case known && c.Removed:
		return text + ", and was removed"
	case known && !j.view.there(h.Name, j.limits.OfflineAfter):
		return text + ", and sends no heartbeat"
	}
	return text
}
