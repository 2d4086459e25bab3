package readmodel

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/tachobench/tacho/events"
)

// JobOutput is what a job stored under a name: an output for other jobs, or an upload for people. It is one row of output.
type JobOutput struct {
	JobID  events.JobID  `db:"job_id" json:"-"`
	Name   string        `db:"name" json:"name"`
	Digest events.Digest `db:"digest" json:"digest"`
	Bytes  int64         `db:"bytes" json:"bytes"`
	// Target and Set are the lane that stored it.
	Target  events.Target `db:"target" json:"target"`
	Set     events.Set    `db:"set" json:"set"`
	Attempt int           `db:"attempt" json:"attempt"`
	Upload  bool          `db:"upload" json:"upload,omitempty"`
	Seq     events.Seq    `db:"seq" json:"-"`
	At      time.Time     `db:"at" json:"stored_at"`
}

// Lane returns the lane that stored it.
func (o JobOutput) Lane() events.Lane { return events.Lane{Target: o.Target, Set: o.Set} }

// Output returns it as the store knows it.
func (o JobOutput) Output() events.Output {
	return events.Output{Name: o.Name, Digest: o.Digest, Bytes: o.Bytes}
}

// JobBuilt is what a job that builds is made of, and what a job uses of others.
type JobBuilt struct {
	Recipe    events.Digest     `json:"recipe,omitempty"`
	Tokens    *events.Tokens    `json:"tokens,omitempty"`
	Checkouts []events.Checkout `json:"checkouts,omitempty"`
	// Inputs are known from its dispatch on.
	Inputs []events.Input `json:"inputs,omitempty"`
}

// BuiltOf returns what a job is made of; nil for one that neither builds nor uses what others built.
func BuiltOf(j events.JobSpec) *JobBuilt {
	if j.Recipe == "" && j.Tokens == nil && len(j.Checkouts)+len(j.Inputs) == 0 {
		return nil
	}
	return &JobBuilt{Recipe: j.Recipe, Tokens: j.Tokens, Checkouts: j.Checkouts, Inputs: j.Inputs}
}

// Output returns what a job stored under a name. Errors: RetiredError, ErrNotFound.
func (r *Reader) Output(ctx context.Context, id events.JobID, name string) (JobOutput, error) {
	var found JobOutput
	err := r.snapshot(ctx, func(tx pgx.Tx) error {
		list, err := all[JobOutput](ctx, tx, "outputs", id)
		if err != nil {
			return err
		}
		for _, o := range list {
			if o.Name == name {
				found = o
				return nil
			}
		}
		if known, err := jobs(ctx, tx, JobFilter{ID: id}); err != nil || len(known) == 0 {
			if err == nil {
				err = missing(ctx, tx, id)
			}
			return err
		}
		return fmt.Errorf("output %.64q of job %s: %w", name, id, ErrNotFound)
	})
	return found, err
}
