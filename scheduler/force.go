package scheduler

import (
	"fmt"
	"slices"

	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/rules/graph"
	"github.com/tachobench/tacho/rules/request"
)

// decideForce answers a wish to let a job run although its needs are not met. It is a wish so that the one who knows the
// states of the graphs decides it, and a request does not end before the answer.
func decideForce(s *state, r *request.Request, wish events.GraphWanted) decision {
	d := decision{cause: s.Versions[events.RequestSubject(r.ID)], request: r.ID, what: "force job"}
	id := slices.Concat(wish.Select, []events.JobID{""})[0]
	var command request.Command = request.Force{Key: wish.Key, Job: id, Reason: wish.Reason}
	if why := s.whyNotForced(r, id); why != "" {
		d.what, command = "refuse force", request.Refuse{Key: wish.Key, Reason: why}
	}
	d.facts, _ = request.Decide(*r, command)
	return d
}

// whyNotForced says why a job of a request cannot be forced; empty if it can, or is forced already.
func (s *state) whyNotForced(r *request.Request, id events.JobID) string {
	if !s.Made(id) {
		return fmt.Sprintf("there is no job %s: `tacho request show %s` lists the jobs of the request", id, r.ID)
	}
	if !slices.Contains(r.Jobs, id) && !slices.Contains(r.Shared, id) {
		return fmt.Sprintf("job %s is no job of request %s: `tacho request show %s` lists its jobs", id, r.ID, r.ID)
	}
	g, number, ok := s.NumberOf(r.ID, id)
	j := s.Jobs[id]
	switch {
	case ok && g.Cancelled:
		return fmt.Sprintf("graph %d of request %s is cancelled: `tacho request repair %s` makes jobs again that did not succeed", g.Number, r.ID, r.ID)
	case r.State.Terminal() && (!ok || g.Kind == events.GraphInitial || g.Kind == events.GraphBackfill):
		return fmt.Sprintf("request %s is %s: `tacho request repair %s` runs again what did not succeed", r.ID, r.State, r.ID)
	case !ok && j != nil && !j.State.Terminal():
		return fmt.Sprintf("job %s waits for no other job: `tacho job why %s` says what it waits for", id, id)
	case !ok || j == nil || j.State.Terminal():
		return fmt.Sprintf("job %s has ended, or has a newer round: `tacho job rerun %s` runs it again if it did not succeed", id, id)
	case g.States.Forced(number):
		return ""
	}
	switch g.States.State(number) {
	case graph.Blocked, graph.Skipped:
		return s.whyNotWithout(g.Jobs, g.States, number)
	case graph.Ready, graph.Succeeded, graph.Failed, graph.Cancelled:
	}
	if j.State == events.JobInProgress {
		return fmt.Sprintf("job %s runs already, and nothing that it needs is missing: `tacho logs %s` shows its output", id, id)
	}
	return fmt.Sprintf("job %s is %s, and nothing that it needs is missing: `tacho job why %s` says what it waits for", id, j.State, id)
}
