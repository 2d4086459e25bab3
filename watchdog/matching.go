package watchdog

import (
	"fmt"
	"maps"
	"slices"

	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/internal/phrase"
	"github.com/tachobench/tacho/rules/ledger"
	"github.com/tachobench/tacho/rules/match"
)

// unmatched judges matched jobs that no machine can run.
func (j *judgement) unmatched() {
	for _, key := range slices.Sorted(maps.Keys(j.Classes)) {
		c := j.Classes[key]
		if c.Unserved.IsZero() {
			continue
		}
		about := aboutClass(c)
		if !j.passed(j.since("unserved "+about, c.Unserved), unservedAfter) {
			j.doubt(events.AlertUnserved, about)
			continue
		}
		jobs := 0
		for _, ids := range c.Queued {
			jobs += len(ids)
		}
		j.want(c.UnservedBy, events.AlertRaised{
			Kind: events.AlertUnserved, About: about, Message: fmt.Sprintf("%s of %s requests cannot run: %v.", phrase.Count(jobs, "job"), c.Kind, j.Lacking(c)),
			Action: "Add a machine that has what they need with `tacho machine add`, change one with `tacho machine set`, activate its collectors " +
				"with `tacho collector activate NAME`, or cancel the requests.",
		})
	}
}

// aboutClass names a class of jobs, whatever machines lost them.
func aboutClass(c *ledger.Class) string {
	about := "matched " + string(c.Kind)
	for _, term := range c.Requires {
		about += " " + term
	}
	return about
}

// isClass returns the class that an alert is about, if there still is one.
func (j *judgement) isClass(about string) bool {
	for _, c := range j.Classes {
		if aboutClass(c) == about {
			return true
		}
	}
	return false
}

// awaited returns in words what matched jobs that are on no lane wait for.
func (j *judgement) awaited(first *ledger.Job) string {
	c, ok := j.ClassOf(first)
	switch {
	case !ok:
		return "a scheduler to dispatch its jobs"
	case !c.Unserved.IsZero():
		return "a machine: " + j.Lacking(c).Error()
	}
	return "a free place on a machine that can run its jobs"
}

// full judges machines on which jobs found less free memory than they reserve, several in a row.
func (j *judgement) full() {
	for _, name := range slices.Sorted(maps.Keys(j.Machines)) {
		f := j.FullOf(name, j.now)
		if f == nil || f.Times < match.FullAlarm {
			continue
		}
		j.want(f.AlarmBy, events.AlertRaised{
			Kind: events.AlertHostFull, About: string(name),
			Message: fmt.Sprintf("Machine %s had less free memory than jobs reserve, %d times in a row: a job reserves %d MiB, and %d MiB were free. "+
				"Such jobs go to other machines, or wait; this one is tried again at most every few minutes.", name, match.FullAlarm, f.Alarm.ReservedMiB, f.Alarm.FreeMiB),
			Action: fmt.Sprintf("See what else runs on the host and end it, or offer less with `tacho machine set %s --memory …`.", name),
		})
	}
}

func (j *judgement) fullOver(name events.MachineName) string {
	switch m, ok := j.Machines[name]; {
	case !ok || m.Removed:
		return "the machine was removed"
	case m.Full == nil:
		return "a job ran there, or the offer of the machine was changed"
	}
	return "a job that reserves more runs there"
}
