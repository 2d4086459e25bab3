package main

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

// Reference does what the reference does with its tables, by statements of the same shape with the same indexes. Everything
// that the reference does around them is left out.
type Reference struct {
	database *Database
	requests int
}

//go:embed reference.sql
var referenceTables string

// referenceJobs is how many jobs a request of the reference has.
const referenceJobs = 100

// reference makes the tables, with a collector for each set.
func (b *Bed) reference(unsynced bool, collectors int) (*Reference, error) {
	database, err := b.postgres(unsynced, collectors+2)
	if err != nil {
		return nil, err
	}
	if _, err := database.Exec(b.ctx, referenceTables); err != nil {
		return nil, err
	}
	for i := range collectors {
		_, err := database.Exec(b.ctx, `INSERT INTO ref_collector (name, target, benchmark_set, is_active) VALUES ($1, 'here', $2, true)`, fmt.Sprintf("c%d", i), i)
		if err != nil {
			return nil, err
		}
	}
	return &Reference{database: database}, nil
}

// add adds requests in a state, each but the first with the one before as its parent.
func (r *Reference) add(ctx context.Context, n int, state string) error {
	var rows [][]any
	for range n {
		r.requests++
		rows = append(rows, []any{refTag(r.requests), refTag(r.requests - 1), "master", r.requests, state, time.Now()})
	}
	_, err := r.database.CopyFrom(ctx, pgx.Identifier{"ref_request"}, []string{"tag", "parent_sha", "commit_type", "pr", "status", "created_at"}, pgx.CopyFromRows(rows))
	return err
}

func refTag(n int) string { return fmt.Sprintf("%040d", n) }

// enqueue adds jobs in a state over all sets, to requests in progress that it makes.
func (r *Reference) enqueue(ctx context.Context, jobs, collectors int, state string) error {
	for first := 0; first < jobs; first += referenceJobs {
		if err := r.add(ctx, 1, "in_progress"); err != nil {
			return err
		}
		var rows [][]any
		for i := first; i < min(jobs, first+referenceJobs); i++ {
			rows = append(rows, []any{refTag(r.requests), "here", "any", fmt.Sprintf("p%d", i/collectors), i % collectors, state})
		}
		_, err := r.database.CopyFrom(ctx, pgx.Identifier{"ref_job"}, []string{"request_tag", "target", "backend", "profile", "benchmark_set", "status"}, pgx.CopyFromRows(rows))
		if err != nil {
			return err
		}
	}
	_, err := r.database.Exec(ctx, "ANALYZE")
	return err
}

// settle lets Postgres do at once what its upkeep would do during the turns of others.
func (r *Reference) settle(ctx context.Context) error {
	_, err := r.database.Exec(ctx, "VACUUM ANALYZE")
	if err == nil {
		_, err = r.database.Exec(ctx, "CHECKPOINT")
	}
	return err
}

// take takes the first job of a set and marks it as in progress. Jobs in progress come before queued ones.
const takeJob = `
WITH first AS (
	SELECT id FROM ref_job
	WHERE status IN ('queued', 'in_progress') AND target = 'here' AND benchmark_set = $1
	ORDER BY CASE status WHEN 'in_progress' THEN 0 ELSE 1 END, request_tag, created_at
	LIMIT 1 FOR UPDATE SKIP LOCKED
), taken AS (
	UPDATE ref_job SET collector_name = $2, started_at = now(), status = 'in_progress', retry = retry + 1
	FROM first WHERE ref_job.id = first.id
	RETURNING ref_job.id, ref_job.backend, ref_job.profile, ref_job.request_tag, ref_job.created_at, ref_job.started_at, ref_job.retry
)
SELECT taken.id FROM taken JOIN ref_request ON ref_request.tag = taken.request_tag`

// work lets each collector take and complete jobs, one after another, without the pause of its polling.
func (r *Reference) work(ctx context.Context, collectors, n int) ([]float64, error) {
	took, err := together(ctx, collectors, n, func(ctx context.Context, w, _ int) error {
		var id int
		if err := r.database.QueryRow(ctx, takeJob, w, fmt.Sprintf("c%d", w)).Scan(&id); err != nil {
			return fmt.Errorf("take a job: %w", err)
		}
		_, err := r.database.Exec(ctx, `UPDATE ref_job SET status = 'success', completed_at = now() WHERE id = $1`, id)
		return err
	})
	return []float64{perSecond(n, took)}, err
}

// status reads what the status page of the reference shows.
func (r *Reference) status(ctx context.Context) error {
	for _, query := range []string{
		`SELECT name, target, benchmark_set, is_active, last_heartbeat_at FROM ref_collector`,
		`WITH pending AS (SELECT * FROM ref_request WHERE status IN ('artifacts_ready', 'in_progress'))
			SELECT (parent.status = 'completed') AS parent_done, pending.* FROM pending LEFT JOIN ref_request AS parent ON parent.tag = pending.parent_sha`,
		`WITH done AS (SELECT * FROM ref_request WHERE status = 'completed' ORDER BY completed_at DESC LIMIT 10)
			SELECT done.*, ref_error.context, ref_error.message FROM done LEFT JOIN ref_error ON ref_error.tag = done.tag ORDER BY done.completed_at DESC`,
		`WITH running AS (SELECT tag, parent_sha FROM ref_request WHERE status = 'in_progress'),
			wanted AS (SELECT tag FROM running UNION SELECT parent_sha FROM running WHERE parent_sha IS NOT NULL)
			SELECT ref_job.* FROM ref_job JOIN wanted ON ref_job.request_tag = wanted.tag ORDER BY created_at`,
	} {
		rows, err := r.database.Query(ctx, query)
		if err != nil {
			return err
		}
		for rows.Next() {
			if _, err := rows.Values(); err != nil {
				return errors.Join(err, rows.Err())
			}
		}
		if err := rows.Err(); err != nil {
			return err
		}
	}
	return nil
}
