package scheduler

import (
	"fmt"
	"strings"

	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/rules/ledger"
	"github.com/tachobench/tacho/rules/request"
)

// asked names a job as a person asked for it. If it has run again since, it also names the newest round.
func asked(id events.JobID, j *ledger.Job) string {
	if id == j.ID {
		return "job " + string(id)
	}
	return fmt.Sprintf("job %s (round %d: job %s)", id, j.Round+1, j.ID)
}

// notOf says that a request has no such job.
func notOf(r *request.Request, id events.JobID) string {
	return fmt.Sprintf("job %s is none of the request, or a sample: `tacho request show %s` lists its jobs", id, r.ID)
}

// flags writes a flag once for each job.
func flags(name string, jobs []events.JobID) string {
	var b strings.Builder
	for _, id := range jobs {
		fmt.Fprintf(&b, " --%s %s", name, id)
	}
	return b.String()
}

// whyNot says why a job of a request, asked for by the id of any of its rounds, does not run again now.
func (s *state) whyNot(r *request.Request, id events.JobID, j *ledger.Job) string {
	cause, skipped := s.Skips(r.ID, j)
	name := asked(id, j)
	switch {
	case j.State == events.JobSuccess && r.State.Terminal():
		return fmt.Sprintf("%s succeeded: what it measured stands; `tacho graph retrigger %s --job %s` measures it once more", name, r.ID, id)
	case j.State == events.JobSuccess:
		return fmt.Sprintf("%s succeeded: what it measured stands; `tacho graph retrigger %s --job %s` measures it once more; "+
			"its next round measures only what has no results, and is made while the request is in progress with `tacho job rerun %s --force --reason TEXT`", name, r.ID, id, id)
	case skipped:
		return fmt.Sprintf("%s is skipped because job %s did not succeed: name that one, and it runs after it", name, cause)
	case j.State == events.JobInProgress:
		return fmt.Sprintf("%s is in progress: ask again when it has ended (`tacho job show %s`)", name, j.ID)
	case s.Held(j):
		return fmt.Sprintf("%s is blocked: it runs when the jobs that it needs have ended (`tacho job why %s`)", name, j.ID)
	}
	return fmt.Sprintf("%s is %s and has not run yet: `tacho job why %s` says what it waits for", name, j.State, j.ID)
}

// tooLate says what runs the jobs of a request again that has ended. known has the newest rounds of its jobs.
func (s *state) tooLate(r *request.Request, wish events.GraphWanted, known map[events.JobID]*ledger.Job) string {
	var undone, succeeded []events.JobID
	for _, id := range wish.Select {
		j, ok := known[id]
		switch {
		case !ok:
			return notOf(r, id)
		case s.undone(r, j):
			undone = append(undone, id)
		case j.State == events.JobSuccess:
			succeeded = append(succeeded, id)
		default:
			return s.whyNot(r, id, j)
		}
	}
	var use []string
	if len(undone) > 0 || len(succeeded) == 0 {
		use = append(use, fmt.Sprintf("`tacho request repair %s%s`", r.ID, flags("select", undone)))
	}
	if len(succeeded) > 0 || wish.Force && len(wish.Select) == 0 {
		use = append(use, fmt.Sprintf("`tacho graph retrigger %s%s` to measure once more what has succeeded", r.ID, flags("job", succeeded)))
	}
	return fmt.Sprintf("request %s is %s, and its jobs run again only while it is in progress: use %s", r.ID, r.State, strings.Join(use, ", and "))
}
