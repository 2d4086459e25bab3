package watchdog

import (
	"fmt"

	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/internal/phrase"
	"github.com/tachobench/tacho/rules/graph"
	"github.com/tachobench/tacho/rules/ledger"
)

// stuck judges open graphs in which nothing can happen any more.
func (j *judgement) stuck() {
	for _, s := range j.Stuck() {
		r := j.Requests[s.Request]
		cancel := fmt.Sprintf("cancel graph %d with `tacho graph cancel %s/%d`", s.Number, r.ID, s.Number)
		if s.Kind == events.GraphInitial || s.Kind == events.GraphBackfill {
			cancel = fmt.Sprintf("cancel the request with `tacho request cancel %s`", r.ID)
		}
		a := events.AlertRaised{
			Kind: events.AlertStuck, About: fmt.Sprintf("%s/%d", r.ID, s.Number),
			Message: fmt.Sprintf("Graph %d of request %s is open, and no job of it can run: %s.", s.Number, named(r.ID, r.Artifact.Tag), j.unmet(s)),
			Action:  fmt.Sprintf("To end it, %s and ask again. No log should hold such a graph: please report it, with `tacho trace %s`.", cancel, r.ID),
		}
		if s.Job != s.On {
			a.Action = fmt.Sprintf("Let the job run all the same with `tacho job force %s --request %s --reason TEXT`. ", s.Jobs[s.Job], r.ID) + a.Action
		}
		j.want(j.Versions[events.RequestSubject(r.ID)], a)
	}
}

// overdue judges graphs of masters and releases whose deadline has passed. Those of tries end by themselves.
func (j *judgement) overdue() {
	for _, g := range j.Overdue(j.now) {
		r := j.Requests[g.Request]
		if r.Kind == events.Try {
			continue
		}
		j.want(j.Versions[events.RequestSubject(r.ID)], events.AlertRaised{
			Kind: events.AlertOverdue, About: fmt.Sprintf("%s/%d", r.ID, g.Number),
			Message: fmt.Sprintf("Graph %d of request %s was to be done by %s, and jobs of it have not ended. They go on.", g.Number, named(r.ID, r.Artifact.Tag), phrase.Moment(g.Deadline)),
			Action:  fmt.Sprintf("See which jobs with `tacho graph show %s/%d`, and why one waits with `tacho job why JOB`. To give it up: `tacho request cancel %s`.", r.ID, g.Number, r.ID),
		})
	}
}

// unmet says in words which need of a stuck graph cannot be met.
func (j *judgement) unmet(s ledger.Stuck) string {
	if s.Job < 0 {
		return "its jobs were not all named when it was made"
	}
	if s.Job == s.On {
		return j.inGraph(s, s.Job)
	}
	return j.inGraph(s, s.Job) + ", and needs " + j.inGraph(s, s.On)
}

// inGraph describes a job of a graph with its state there.
func (j *judgement) inGraph(s ledger.Stuck, number int) string {
	job, ok := j.Jobs[s.Jobs[number]]
	if !ok {
		return fmt.Sprintf("job %s, which was never made", s.Jobs[number])
	}
	return fmt.Sprintf("job %s (%s), which is %s", job.ID, graph.LabelOf(job.Spec()), s.States.State(number))
}
