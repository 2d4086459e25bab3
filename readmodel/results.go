package readmodel

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/tachobench/tacho/events"
)

// HistoryDepth is how many ancestors a comparison looks at.
const HistoryDepth = 30

// ResultRow is one row of table result. It has values by metric instead of by iteration.
type ResultRow struct {
	Suite     events.SuiteName `db:"suite"`
	Tag       events.Tag       `db:"tag"`
	Benchmark events.Benchmark `db:"benchmark"`
	Profile   events.Profile   `db:"profile"`
	Scenario  events.Scenario  `db:"scenario"`
	Backend   events.Backend   `db:"backend"`
	Target    events.Target    `db:"target"`
	// Statistics is JSON: the values of each metric, with null for an iteration without one.
	Statistics string `db:"statistics,json"`
	Iterations int    `db:"iterations"`
	// Interference is JSON: what disturbed an iteration, by its index; nil if all are clean.
	Interference *string              `db:"interference,json"`
	Collector    events.CollectorName `db:"collector"`
	Environment  events.Digest        `db:"environment"`
	Token        events.Seq           `db:"token"`
	Attempt      int                  `db:"attempt"`
	JobID        events.JobID         `db:"job_id"`
	RequestID    events.RequestID     `db:"request_id"`
	Definitions  events.Digest        `db:"definitions"`
	MeasuredAt   time.Time            `db:"measured_at"`
	Seq          events.Seq           `db:"seq"`
	// Env is Environment for a result of a matched job: such results are kept for each machine. It is empty for the others.
	Env events.Digest `db:"env"`
	// Sample is empty for the base series, of which each test case has one result for each Env.
	Sample string `db:"sample"`
	// ReusedFrom is the run that measured it, if the job took it over; empty for what it measured itself.
	ReusedFrom events.JobID `db:"reused_from"`
	// Machine is the name of that machine; empty if Env is.
	Machine string `db:"machine,query"`
}

// TestCase returns what was measured.
func (r ResultRow) TestCase() events.TestCase {
	return events.TestCase{Benchmark: r.Benchmark, Profile: r.Profile, Scenario: r.Scenario, Backend: r.Backend, Target: r.Target}
}

// result returns the row with its values by iteration, as they were measured.
func (r ResultRow) result() (Result, error) {
	list, err := iterations(r.Statistics, r.Interference, r.Iterations)
	if err != nil {
		return Result{}, fmt.Errorf("%s: %w", r.TestCase(), err)
	}
	return Result{
		Suite: r.Suite, Tag: r.Tag,
		MeasuredCase: events.MeasuredCase{TestCase: r.TestCase(), Iterations: list},
		Collector:    r.Collector, Environment: r.Environment, Token: r.Token, Attempt: r.Attempt, JobID: r.JobID,
		RequestID: r.RequestID, Definitions: r.Definitions, MeasuredAt: r.MeasuredAt, Seq: r.Seq, Machine: r.Machine, ReusedFrom: r.ReusedFrom,
	}, nil
}

// Results returns everything that was measured of one artifact, ordered by test case. A test case of matched jobs has a
// result for each machine that measured it.
func (r *Reader) Results(ctx context.Context, suite events.SuiteName, tag events.Tag) ([]Result, error) {
	rows, err := all[ResultRow](ctx, r.pool, "results", suite, tag)
	if err != nil {
		return nil, err
	}
	list := make([]Result, len(rows))
	for i, row := range rows {
		if list[i], err = row.result(); err != nil {
			return nil, err
		}
	}
	return list, nil
}

// Measured returns the newest artifacts of a suite that have results, newest first.
func (r *Reader) Measured(ctx context.Context, suite events.SuiteName, n int) ([]events.Tag, error) {
	return values[events.Tag](ctx, r.pool, "measured", pgx.NamedArgs{"suite": suite, "n": limit(n)})
}

// History returns, for each metric of each test case on each machine, the minima of the last n master
// artifacts before the tag, newest first. These are the parent of the tag, the parent of that, and so on, as far as they
// are known. n is at most HistoryDepth. If metric is not empty, only that one is read.
func (r *Reader) History(ctx context.Context, suite events.SuiteName, before events.Tag, n int, metric events.Metric) ([]Series, error) {
	list, err := all[Series](ctx, r.pool, "history", pgx.NamedArgs{
		"suite": suite, "before": before, "n": min(n, HistoryDepth), "metric": metric,
	})
	if err != nil {
		return nil, fmt.Errorf("history of %s before %s: %w", suite, before, err)
	}
	return list, nil
}
