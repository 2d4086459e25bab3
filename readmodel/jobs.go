package readmodel

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/tachobench/tacho/events"
)

// JobFilter selects jobs; a zero field selects all.
type JobFilter struct {
	ID      events.JobID
	Request events.RequestID
	// State is one as people see it (see Job.Shown).
	State events.JobState
	// Base leaves out the jobs that measure samples.
	Base bool
	// Open selects the jobs that have not ended.
	Open bool
	// Lane selects one lane; nil selects all.
	Lane *events.Lane
	// After selects the jobs behind a place in the list; the zero place selects all.
	After JobPlace
	// Limit bounds the list; 0 means 100.
	Limit int
}

// JobPlace is the place of a job in lists of jobs: the event that created it, and its number among those of the event.
type JobPlace struct {
	Seq     events.Seq
	Ordinal int
}

// everything is the limit for lists that must not be cut.
const everything = math.MaxInt32

// Jobs returns the jobs that the filter selects, in the order of their creation.
func (r *Reader) Jobs(ctx context.Context, f JobFilter) ([]Job, error) { return jobs(ctx, r.pool, f) }

func jobs(ctx context.Context, q querier, f JobFilter) ([]Job, error) {
	return all[Job](ctx, q, "jobs", jobArgs(f))
}

// jobArgs returns the arguments of the query for jobs.
func jobArgs(f JobFilter) pgx.NamedArgs {
	args := pgx.NamedArgs{
		"id": f.ID, "request": f.Request, "state": f.State, "open": f.Open, "base": f.Base, "target": "", "set": 0, "limit": limit(f.Limit),
		"after": f.After.Seq, "ordinal": f.After.Ordinal,
	}
	if f.Lane != nil {
		args["target"], args["set"] = f.Lane.Target, f.Lane.Set
	}
	return args
}

// RetiredError means that a job ended long ago and has left the tables. It is one row of retired_job, and an ErrNotFound.
type RetiredError struct {
	JobID     events.JobID     `db:"job_id"`
	RequestID events.RequestID `db:"request_id"`
	// State is how the job ended, at a time before EndedBefore.
	State       events.JobState `db:"state"`
	EndedBefore time.Time       `db:"ended_before"`
	// Seq is the event that took the job out of the tables.
	Seq events.Seq `db:"seq"`
	// Sample is that of the job; empty for the base series.
	Sample string `db:"sample"`
}

func (e *RetiredError) Error() string {
	return fmt.Sprintf("job %s of request %s ended before %s (%s) and left the tables",
		e.JobID, e.RequestID, e.EndedBefore.UTC().Format("2006-01-02 15:04 MST"), e.State)
}

// Is makes the error an ErrNotFound.
func (e *RetiredError) Is(target error) bool { return target == ErrNotFound }

// missing returns why the tables have no such job: RetiredError or ErrNotFound.
func missing(ctx context.Context, tx pgx.Tx, id events.JobID) error {
	retired, err := one[RetiredError](ctx, tx, "retired", id)
	switch {
	case errors.Is(err, ErrNotFound):
		return fmt.Errorf("job %s: %w", id, ErrNotFound)
	case err != nil:
		return err
	}
	return &retired
}

// Job returns one job with its attempts and errors. Errors: RetiredError, ErrNotFound.
func (r *Reader) Job(ctx context.Context, id events.JobID) (JobHistory, error) {
	var found JobHistory
	err := r.snapshot(ctx, func(tx pgx.Tx) error {
		list, err := jobs(ctx, tx, JobFilter{ID: id})
		if err != nil {
			return err
		}
		if len(list) == 0 {
			return missing(ctx, tx, id)
		}
		found.Job = list[0]
		if found.AttemptList, err = all[Attempt](ctx, tx, "attempts_of_job", id); err != nil {
			return err
		}
		if found.ErrorList, err = all[JobError](ctx, tx, "errors", pgx.NamedArgs{"job": id, "request": "", "limit": everything}); err != nil {
			return err
		}
		if found.SampleOf, err = sampleOf(ctx, tx, found.Job); err != nil {
			return err
		}
		if found.OutputList, err = all[JobOutput](ctx, tx, "outputs", id); err != nil {
			return err
		}
		if err := tx.QueryRow(ctx, query("stale"), id).Scan(&found.StaleInput); err != nil {
			return err
		}
		if found.Alike, err = alike(ctx, tx, found.Job); err != nil {
			return err
		}
		found.Diagnostics, err = jobDiagnostics(ctx, tx, found.Job)
		return err
	})
	return found, err
}

// Errors returns the errors of the jobs of one request, oldest first, without stale ones and those of
// samples.
func (r *Reader) Errors(ctx context.Context, request events.RequestID) ([]JobError, error) {
	return all[JobError](ctx, r.pool, "errors", pgx.NamedArgs{"job": "", "request": request, "limit": everything})
}

// FirstErrors returns the first ones of Errors.
func (r *Reader) FirstErrors(ctx context.Context, request events.RequestID, limit int) ([]JobError, error) {
	return all[JobError](ctx, r.pool, "errors", pgx.NamedArgs{"job": "", "request": request, "limit": limit})
}

// ErrorsOf returns the errors of all jobs that measured an artifact, of whatever request, oldest first, without stale
// ones and those of samples.
func (r *Reader) ErrorsOf(ctx context.Context, suite events.SuiteName, tag events.Tag) ([]JobError, error) {
	return all[JobError](ctx, r.pool, "errors_of_artifact", suite, tag)
}
