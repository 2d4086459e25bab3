package watchdog

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/internal/phrase"
	"github.com/tachobench/tacho/rules/ledger"
)

// unserved judges lanes where jobs are queued and no collector takes them.
func (j *judgement) unserved() {
	j.unmatched()
	for l, lane := range j.Lanes {
		if lane.Unserved.IsZero() {
			continue
		}
		if !j.passed(j.since("unserved "+l.String(), lane.Unserved), unservedAfter) {
			j.doubt(events.AlertUnserved, l.String())
			continue
		}
		message := fmt.Sprintf("Jobs are queued on lane %s, and %s", l, j.whyUnserved(l))
		if !slices.ContainsFunc(j.Queued(lane), func(job *ledger.Job) bool { return !job.Spec().Optional }) {
			message += " All of them are optional: no request waits for them."
		}
		j.want(lane.UnservedBy, events.AlertRaised{
			Kind: events.AlertUnserved, About: l.String(), Message: message,
			Action: fmt.Sprintf("Register a collector with `tacho collector add NAME --target %s --set %d`, activate the one that is there with "+
				"`tacho collector activate NAME`, or cancel the requests.", l.Target, l.Set),
		})
	}
}

// whyUnserved returns in words why no collector takes the jobs of a lane.
func (j *judgement) whyUnserved(l events.Lane) string {
	var why []string
	for _, name := range slices.Sorted(maps.Keys(j.Collectors)) {
		c := j.Collectors[name]
		switch {
		case c.Lane() != l:
		case !c.Active:
			why = append(why, string(name)+" is not active")
		case c.Quarantined:
			why = append(why, string(name)+" is quarantined")
		case c.Draining:
			why = append(why, string(name)+" was asked to take no more jobs")
		}
	}
	if len(why) == 0 {
		return "no collector is registered for it."
	}
	return "no collector takes them: " + strings.Join(why, ", ") + "."
}

func (j *judgement) unservedOver(about string) string {
	for l, lane := range j.Lanes {
		if l.String() == about && lane.Takers > 0 {
			return "the lane has a collector"
		}
	}
	if j.isClass(about) {
		return "a machine can run them"
	}
	return "no job is queued there any more"
}

// lacking judges requests that wait because the farm lacks something to start them. It is not their fault, and none
// of them fails.
func (j *judgement) lacking() {
	for _, id := range slices.Sorted(maps.Keys(j.Pending)) {
		r := j.Pending[id]
		if r.Troubles().WaitsFor == "" {
			continue
		}
		if _, said := j.wanted[events.NewAlertKey(events.AlertLacking, string(r.Artifact.Suite))]; said {
			continue
		}
		j.want(j.Versions[events.RequestSubject(id)], events.AlertRaised{
			Kind: events.AlertLacking, About: string(r.Artifact.Suite),
			Message: fmt.Sprintf("Requests of suite %s wait and cannot be turned into jobs: %s", r.Artifact.Suite, sentence(r.Troubles().WaitsFor)),
			Action:  "Publish definitions that this version reads with `tacho suite publish`, or update the core. Then the requests start by themselves.",
		})
	}
}

// overrun judges jobs that take much longer than jobs like them took. If no job like it has ended, nothing is known and
// there is no alert.
func (j *judgement) overrun() {
	for _, lane := range j.Lanes {
		job := j.Executed(lane)
		if job == nil {
			continue
		}
		since, expected := j.since("job "+string(job.ID), job.Since), j.Lengths.Expect(job.Sort())
		if !expected.Known || !j.passed(since, max(overrunTimes*expected.Length, overrunAfter)) {
			continue
		}
		j.want(job.Token, events.AlertRaised{
			Kind: events.AlertOverrun, About: string(job.ID),
			Message: fmt.Sprintf("Job %s has run on collector %s since %s, more than %d times as long as the last jobs like it (%s).",
				j.describe(job), job.Collector, phrase.Moment(job.Since), overrunTimes, phrase.Duration(expected.Length)),
			Action: fmt.Sprintf("See what it does with `tacho logs %s -f`. If it hangs, stop its collector, which gives the job back, or cancel the "+
				"request with `tacho request cancel %s`.", job.ID, job.Spec().RequestID),
		})
	}
}

// stalled judges whether there is work and nothing has moved for too long.
func (j *judgement) stalled() {
	moved := j.since("moved", later(j.Moved, j.Idle))
	if !j.Able() {
		return
	}
	if !j.hears() {
		j.unsureKinds[events.AlertStalled] = true
		return
	}
	moved = later(moved, j.view.grew)
	// A job that is seen for the first time may have moved just before. That is known only after it was watched.
	if !j.passed(later(moved, j.view.sighted), j.limits.StalledAfter) {
		if a, stands := j.Alerts[events.NewAlertKey(events.AlertStalled, "")]; stands && !moved.After(a.At) {
			j.doubt(events.AlertStalled, "")
		}
		return
	}
	j.want(0, events.AlertRaised{
		Kind:    events.AlertStalled,
		Message: fmt.Sprintf("Nothing has moved since %s, and there is work: %s.", phrase.Moment(moved), strings.Join(j.waits(), "; ")),
		Action:  "See what it waits for with `tacho status` and in the output of the part or collector that is named. Then start, activate or replace that one.",
	})
}

func (j *judgement) stalledOver() string {
	if !j.Able() {
		return "there is no work left"
	}
	return "work goes on"
}

// waits returns in words what each request in progress waits for. If there is none, it returns what the first ready
// request waits for.
func (j *judgement) waits() []string {
	open := map[events.RequestID][]*ledger.Job{}
	for _, lane := range j.Lanes {
		jobs := j.Queued(lane)
		if executed := j.Executed(lane); executed != nil {
			jobs = append(jobs, executed)
		}
		for _, job := range jobs {
			open[job.Spec().RequestID] = append(open[job.Spec().RequestID], job)
		}
	}
	for _, job := range j.Unbound() {
		open[job.Spec().RequestID] = append(open[job.Spec().RequestID], job)
	}
	var out, ready []string
	for _, id := range slices.Sorted(maps.Keys(j.Pending)) {
		r := j.Pending[id]
		// The other states are not startable, or have ended.
		//exhaustive:ignore
		switch r.State {
		case events.StateInProgress:
			out = append(out, fmt.Sprintf("request %s waits for %s", named(id, r.Artifact.Tag), j.hindrance(open[id])))
		case events.StateArtifactsReady:
			if r.Troubles().WaitsFor != "" {
				ready = append(ready, fmt.Sprintf("request %s is ready and waits, as %s", named(id, r.Artifact.Tag), r.Troubles().WaitsFor))
				continue
			}
			ready = append(ready, fmt.Sprintf("request %s is ready and waits for a scheduler to start it", named(id, r.Artifact.Tag)))
		}
	}
	if len(out) == 0 && len(ready) > 0 {
		return ready[:1]
	}
	return out
}

// hindrance returns in words what the jobs of a request wait for, lane by lane.
func (j *judgement) hindrance(jobs []*ledger.Job) string {
	if len(jobs) == 0 {
		return "a scheduler to end it, as all its jobs have ended, or for jobs that it shares with another request"
	}
	slices.SortFunc(jobs, func(a, b *ledger.Job) int {
		return cmp.Or(cmp.Compare(a.Lane().String(), b.Lane().String()), cmp.Compare(executor(b), executor(a)), cmp.Compare(a.ID, b.ID))
	})
	var out []string
	var last events.Lane
	for i, job := range jobs {
		if l := job.Lane(); i == 0 || l != last {
			last = l
			out = append(out, j.holdup(l, job))
		}
	}
	return strings.Join(out, ", for ")
}

// executor returns the collector that executes the job now; empty if there is none.
func executor(job *ledger.Job) events.CollectorName {
	if job.State != events.JobInProgress {
		return ""
	}
	return job.Collector
}

// holdup returns in words what a lane waits for. first is its running job, or else any of its jobs.
func (j *judgement) holdup(l events.Lane, first *ledger.Job) string {
	if first.State == events.JobInProgress {
		if !j.view.there(first.Collector, j.limits.OfflineAfter) {
			return fmt.Sprintf("collector %s, which has job %s and is not heard", first.Collector, first.ID)
		}
		return fmt.Sprintf("job %s on collector %s, which is heard and makes no progress", first.ID, first.Collector)
	}
	if l == (events.Lane{}) {
		return j.awaited(first)
	}
	if lane, ok := j.Lanes[l]; !ok || lane.Takers == 0 {
		return fmt.Sprintf("a collector of lane %s: %s", l, strings.TrimSuffix(j.whyUnserved(l), "."))
	}
	for _, name := range slices.Sorted(maps.Keys(j.Collectors)) {
		c := j.Collectors[name]
		if c.Lane() != l || !c.Takes() || !j.view.there(name, j.limits.OfflineAfter) {
			continue
		}
		if first.Place == 0 {
			return fmt.Sprintf("a scheduler to dispatch its jobs to lane %s", l)
		}
		return fmt.Sprintf("collector %s, which is heard and takes no job", name)
	}
	return fmt.Sprintf("the collector of lane %s, which is offline", l)
}

// describe names a job so that a person knows which one it is.
func (j *judgement) describe(job *ledger.Job) string {
	spec := job.Spec()
	return fmt.Sprintf("%s (%s %s/%s of %s)", spec.ID, spec.Kind, spec.Backend, spec.Profile, phrase.Short(spec.Artifact.Tag))
}

// named names a request, with its tag if it has one.
func named(id events.RequestID, tag events.Tag) string {
	if tag == "" {
		return string(id)
	}
	return fmt.Sprintf("%s for %s", id, phrase.Short(tag))
}

// sentence returns the first line of a reason as a sentence, cut if it is too long to read.
func sentence(reason string) string {
	const enough = 300
	reason, _, _ = strings.Cut(strings.TrimSpace(reason), "\n")
	if r := []rune(reason); len(r) > enough {
		reason = string(r[:enough]) + "…"
	}
	if strings.HasSuffix(reason, ".") || strings.HasSuffix(reason, "…") {
		return reason
	}
	return reason + "."
}
