package readmodel

import (
	"cmp"
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/rules/graph"
)

// WhyNeed is a job that another one waits for, or is skipped for. RequestID has the graph.
type WhyNeed struct {
	RequestID events.RequestID `db:"request_id" json:"request_id"`
	JobID     events.JobID     `db:"job_id" json:"job_id"`
	Kind      events.JobKind   `db:"kind" json:"kind"`
	Target    events.Target    `db:"target" json:"target"`
	Set       events.Set       `db:"set" json:"set"`
	Backend   events.Backend   `db:"backend" json:"backend"`
	Profile   events.Profile   `db:"profile" json:"profile"`
	// Maker is the request that had the job made, RequestState the state of the one that has the graph.
	Maker        events.RequestID    `db:"maker" json:"-"`
	RequestState events.RequestState `db:"request_state" json:"-"`
	// State is one as people see it (see Job.Shown).
	State string `db:"state" json:"state"`
}

// needsNamed bounds how many needs an answer names.
const needsNamed = 20

// readNeeds fills in what the reason of a job depends on that waits for others.
func (r *whyRows) readNeeds(ctx context.Context, tx pgx.Tx) error {
	var found []Request
	var b pgx.Batch
	also(&b, &found, "requests", RequestFilter{ID: r.job.RequestID}.args())
	also(&b, &r.needs, "why_needs", r.job.ID, string(r.job.Held), r.job.RequestID)
	if err := tx.SendBatch(ctx, &b).Close(); err != nil {
		return fmt.Errorf("query what job %s needs: %w", r.job.ID, tooLong("why_needs", err))
	}
	for _, f := range found {
		r.request = f
	}
	return nil
}

// held returns the reason of a job that waits for others, and fills in which.
func (r whyRows) held(w *Why) WaitReason {
	if r.job.Held == graph.Skipped {
		if len(r.needs) > 0 {
			w.SkippedBy = &r.needs[0]
		}
		return WaitSkipped
	}
	w.NeedsCount = len(r.needs)
	w.Needs = r.needs[:min(w.NeedsCount, needsNamed)]
	return WaitNeeds
}

// heldWords says what a job waits for; "" for a job that no other one holds.
func (w Why) heldWords() string {
	//exhaustive:ignore
	switch w.Reason {
	case WaitNeeds:
		switch len(w.Needs) {
		case 0:
			return "it waits until all jobs of its graph are made"
		case 1:
			return fmt.Sprintf("it needs %s, which is %s", w.Needs[0].name(), w.Needs[0].stateWords())
		}
		names := make([]string, len(w.Needs))
		for i, n := range w.Needs {
			names[i] = fmt.Sprintf("%s (%s)", n.name(), n.stateWords())
		}
		return "it needs " + someOf(names, w.NeedsCount)
	case WaitSkipped:
		if w.SkippedBy == nil {
			return "it is skipped: a job that it needs did not succeed"
		}
		became := "failed"
		if w.SkippedBy.State == string(graph.Cancelled) {
			became = "was cancelled"
		}
		return fmt.Sprintf("it is skipped: %s %s; `%s` runs that one again", w.SkippedBy.name(), became, w.SkippedBy.command())
	}
	return ""
}

// command returns what a person types to run the job again.
func (n WhyNeed) command() string {
	switch {
	case n.RequestState != events.StateInProgress:
		return fmt.Sprintf("tacho request repair %s --select %s", n.RequestID, n.JobID)
	case n.Maker != n.RequestID:
		return fmt.Sprintf("tacho job rerun %s --request %s", n.JobID, n.RequestID)
	}
	return "tacho job rerun " + string(n.JobID)
}

// name returns what people call the job: kind, target, set, backend and profile.
func (n WhyNeed) name() string {
	if n.Kind == "" { // it has left the tables
		return string(n.JobID)
	}
	name := fmt.Sprintf("%s/%s/%d", n.Kind, n.Target, n.Set)
	for _, part := range []string{string(n.Backend), string(n.Profile)} {
		if part != "" {
			name += "/" + part
		}
	}
	return name
}

func (n WhyNeed) stateWords() string {
	if n.State == string(events.JobInProgress) {
		return "in progress"
	}
	return cmp.Or(n.State, string(graph.Blocked))
}
