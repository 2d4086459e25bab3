package sitetest

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/tachobench/tacho/internal/pgtest"
	"github.com/tachobench/tacho/internal/ratio"
	"github.com/tachobench/tacho/readmodel"
)

// peerTables are the tables and indexes of the reference that its status page reads, in our words.
const peerTables = `
CREATE TABLE benchmark_request (
    id serial PRIMARY KEY, tag text UNIQUE, parent_sha text, commit_type text NOT NULL, pr integer, created_at timestamptz NOT NULL,
    completed_at timestamptz, status text NOT NULL, backends text NOT NULL, profiles text NOT NULL, commit_date timestamptz,
    duration_ms integer, targets text NOT NULL DEFAULT ''
);
CREATE INDEX ON benchmark_request (status) WHERE status <> 'completed';
CREATE INDEX ON benchmark_request (completed_at);
CREATE TABLE collector_config (
    id serial PRIMARY KEY, target text NOT NULL, name text NOT NULL UNIQUE, date_added timestamptz NOT NULL DEFAULT now(),
    last_heartbeat_at timestamptz, benchmark_set integer NOT NULL, is_active boolean NOT NULL DEFAULT false, commit_sha text
);
CREATE TABLE job_queue (
    id serial PRIMARY KEY, request_tag text NOT NULL, target text NOT NULL, backend text NOT NULL, profile text NOT NULL, benchmark_set integer NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(), started_at timestamptz, completed_at timestamptz, status text NOT NULL, retry integer DEFAULT 0,
    collector_name text, kind text NOT NULL DEFAULT 'compiletime', is_optional boolean NOT NULL DEFAULT false,
    UNIQUE (request_tag, target, backend, profile, kind, benchmark_set)
);
CREATE INDEX ON job_queue (request_tag);
CREATE INDEX ON job_queue (status, target, benchmark_set);
CREATE TABLE artifact (id serial PRIMARY KEY, name text NOT NULL UNIQUE);
CREATE TABLE error (id serial PRIMARY KEY, aid integer NOT NULL, message text NOT NULL, context text NOT NULL, job_id integer);
CREATE INDEX ON error (aid);`

// peerRows fill them; $pending and $ended are how many requests there are.
const peerRows = `
INSERT INTO benchmark_request (tag, parent_sha, commit_type, pr, created_at, completed_at, status, backends, profiles, duration_ms)
SELECT lpad(i::text, 40, '0'), lpad((i - 1)::text, 40, '0'), 'master', i, now() - interval '1 day', now() - ($ended - i) * interval '1 min', 'completed', '', '', 60000
FROM generate_series(1, $ended) AS i;
INSERT INTO benchmark_request (tag, parent_sha, commit_type, pr, created_at, status, backends, profiles)
SELECT 'f' || lpad(i::text, 39, '0'), lpad($ended::text, 40, '0'), 'master', 100000 + i, now(), CASE i WHEN 1 THEN 'in_progress' ELSE 'artifacts_ready' END, '', ''
FROM generate_series(1, $pending) AS i;
INSERT INTO collector_config (target, name, benchmark_set, is_active) SELECT 'x86_64-unknown-linux-gnu', 'c' || i, i, true FROM generate_series(0, 2) AS i;
INSERT INTO job_queue (request_tag, target, backend, profile, benchmark_set, completed_at, status)
SELECT tag, 'x86_64-unknown-linux-gnu', 'llvm', 'opt', n, completed_at, CASE status WHEN 'completed' THEN 'success' ELSE 'in_progress' END
FROM benchmark_request, generate_series(0, 1) AS n WHERE status IN ('completed', 'in_progress');
INSERT INTO artifact (name) SELECT tag FROM benchmark_request WHERE status = 'completed';
INSERT INTO error (aid, message, context) SELECT id, 'it failed', 'a benchmark' FROM artifact WHERE id % 20 = 0;
VACUUM ANALYZE`

// peerAsks are what its status page asks, one after another: all that is pending, the last ten that ended with their errors, the jobs
// of what is in progress and of its parents, and the collectors.
var peerAsks = []string{
	`SELECT tag, parent_sha, pr, commit_type, status, created_at, completed_at, backends, profiles, commit_date, duration_ms, targets
		FROM benchmark_request WHERE status IN ('artifacts_ready', 'in_progress', 'waiting_for_artifacts')`,
	`WITH last AS (
			SELECT * FROM benchmark_request WHERE status = 'completed' ORDER BY completed_at DESC LIMIT 10
		), failed AS (
			SELECT a.name, e.context, e.message FROM artifact a JOIN error e ON e.aid = a.id WHERE a.name IN (SELECT tag FROM last)
		)
		SELECT last.*, failed.context, failed.message FROM last LEFT JOIN failed ON failed.name = last.tag ORDER BY completed_at DESC`,
	`WITH wanted AS (
			SELECT tag FROM benchmark_request WHERE status = 'in_progress'
			UNION
			SELECT parent_sha FROM benchmark_request WHERE status = 'in_progress'
		)
		SELECT * FROM job_queue WHERE request_tag IN (SELECT tag FROM wanted)`,
	`SELECT * FROM collector_config`,
}

// peer asks as the reference does: with prepared statements on one connection, and reads every row.
func peer(b *testing.B, pool *pgxpool.Pool) {
	for _, sql := range peerAsks {
		rows, err := pool.Query(b.Context(), sql)
		if err != nil {
			b.Fatal(err)
		}
		if _, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) ([]any, error) { return row.Values() }); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkStatusBesideThePeer compares what the status page asks the tables with what the one of the reference asks, in turns, in one
// Postgres, with the same numbers of requests: 150 and 5,000 that are pending.
func BenchmarkStatusBesideThePeer(b *testing.B) {
	var readers [2]*readmodel.Reader
	var pools [2]*pgxpool.Pool
	for i, times := range [2]int{3, 100} {
		st := open(b, nil).story()
		st.grow(times)
		var err error
		if readers[i], err = readmodel.OpenPools(b.Context(), st.url, readmodel.Patient(patience)); err != nil {
			b.Fatal(err)
		}
		b.Cleanup(readers[i].Close)
		url := pgtest.New(b, "peer"+strconv.Itoa(times), func(ctx context.Context, url string) error { return fillPeer(ctx, url, 50*times, 500*times) })
		if pools[i], err = pgxpool.New(b.Context(), url); err != nil {
			b.Fatal(err)
		}
		b.Cleanup(pools[i].Close)
	}
	var own, of [2][]time.Duration
	for b.Loop() {
		for i := range readers {
			began := time.Now()
			if _, err := readers[i].Status(b.Context(), began); err != nil {
				b.Fatal(err)
			}
			between := time.Now()
			peer(b, pools[i])
			own[i], of[i] = append(own[i], between.Sub(began)), append(of[i], time.Since(between))
		}
	}
	var ours, theirs [2]time.Duration
	for i := range own {
		slices.Sort(own[i])
		slices.Sort(of[i])
		ours[i], theirs[i] = own[i][len(own[i])/2], of[i][len(of[i])/2]
	}
	b.ReportMetric(ours[0].Seconds()*1e3, "ms-150")
	b.ReportMetric(ours[1].Seconds()*1e3, "ms-5000")
	b.ReportMetric(theirs[0].Seconds()*1e3, "peer-ms-150")
	b.ReportMetric(theirs[1].Seconds()*1e3, "peer-ms-5000")
	ratio.AtMost(b, "of-peer-150", ours[0].Seconds()/theirs[0].Seconds(), 1)
	ratio.AtMost(b, "of-peer-5000", ours[1].Seconds()/theirs[1].Seconds(), 1)
	ratio.AtMost(b, "growth", ours[1].Seconds()/ours[0].Seconds(), 2)
}

func fillPeer(ctx context.Context, url string, pending, ended int) error {
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		return err
	}
	defer conn.Close(ctx)
	fill := strings.NewReplacer("$pending", strconv.Itoa(pending), "$ended", strconv.Itoa(ended)).Replace(peerTables + peerRows)
	for _, sql := range strings.Split(fill, ";") { // VACUUM is none that runs with others
		if _, err := conn.Exec(ctx, sql); err != nil {
			return err
		}
	}
	return nil
}
