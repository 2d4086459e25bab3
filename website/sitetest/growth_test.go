package sitetest

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"text/tabwriter"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/tachobench/tacho/internal/ratio"
)

// sizes are how old the two farms are that the benchmark compares. One that is 100 times as old has 5,000 pending requests, 50,000
// that have ended, and 500,000 results.
var sizes = [2]int{1, 100}

// grown are the statements that fill the tables; $1 is how many times as old the farm is. Sequences of what they make begin
// behind those of the story.
var grown = []string{
	// What has ended, and what is pending behind it.
	`INSERT INTO benchmark_request (request_id, kind, suite, tag, parent_tag, pr, released_on, key, parameters, state, created_by,
		created_at, created_seq, artifacts_ready_at, started_at, started_seq, ended_at, ended_seq, definitions, jobs, account, priority,
		log_created_at, log_started_at, log_ended_at)
	SELECT 'old' || lpad(i::text, 8, '0'), CASE i % 4 WHEN 0 THEN 'try' ELSE 'master' END, 'go', lpad(i::text, 40, '0'), lpad((i - 1)::text, 40, '0'),
		1 + i % 5000, '', 'key ' || i, '{}', CASE i % 20 WHEN 0 THEN 'failed' ELSE 'completed' END, 'cli:alice',
		at, 1000 + 10 * i, at, at, 1001 + 10 * i, at + interval '2 min', 1002 + 10 * i, repeat('d', 64), 2, '', '', at, at, at + interval '2 min'
	FROM generate_series(1, $1::bigint * 500) AS i, LATERAL (SELECT timestamptz '2026-11-20' + (i - $1 * 500) * interval '10 min') AS t (at)`,
	`INSERT INTO benchmark_request (request_id, kind, suite, tag, parent_tag, pr, released_on, key, parameters, state, created_by,
		created_at, created_seq, artifacts_ready_at, log_created_at)
	SELECT 'new' || lpad(i::text, 8, '0'), 'master', 'go', 'f' || lpad(i::text, 39, '0'), '', 1 + i, '', '', '{}', 'artifacts_ready', 'cli:alice',
		timestamptz '2026-11-21', 100000000 + i, timestamptz '2026-11-21', timestamptz '2026-11-21'
	FROM generate_series(1, $1::bigint * 50) AS i`,
	`INSERT INTO queue (position, request_id, level, reason, startable, estimated_start, estimated_end, estimated_start_earliest,
		estimated_start_latest, estimated_end_earliest, estimated_end_latest)
	SELECT 100 + i, 'new' || lpad(i::text, 8, '0'), 0, 'its parent is done; by its pull request', true, at, at, at, at, at, at
	FROM generate_series(1, $1::bigint * 50) AS i, LATERAL (SELECT timestamptz '2026-11-22' + i * interval '2 min') AS t (at)`,
	`INSERT INTO job_queue (job_id, request_id, suite, tag, artifact_kind, kind, target, "set", backend, profile, benchmarks, optional, backfill,
		definitions, state, created_at, created_seq, ordinal, dispatched_at, place, dequeued_at, collector, token, attempts, finished_at,
		finished_seq, measured, duration_ms, log_ready_at, log_begun_at, log_ended_at)
	SELECT 'job' || lpad((2 * i + n)::text, 8, '0'), request_id, suite, tag, kind, 'compile', 'linux-amd64', n, 'gc', 'opt', '{}', false, false,
		definitions, CASE WHEN state = 'failed' AND n = 0 THEN 'failure' ELSE 'success' END, created_at, created_seq, n, created_at, 1000 + i,
		created_at, 'amd-' || n, 1003 + 10 * i + n, 1, ended_at, 1005 + 10 * i + n, 4, 60000, created_at, created_at, ended_at
	FROM (SELECT *, (created_seq - 1000) / 10 AS i FROM benchmark_request WHERE request_id LIKE 'old%') AS r, generate_series(0, 1) AS n`,
	`INSERT INTO attempt (token, job_id, request_id, target, "set", collector, instance, attempt, lost, version, environment, state, outcome,
		started_at, ended_at, measured, duration_ms)
	SELECT token, job_id, request_id, target, "set", collector, 'i', 1, 0, 'v1', 'e', 'finished', state, dequeued_at, finished_at, 4, 60000
	FROM job_queue WHERE job_id LIKE 'job%'`,
	`INSERT INTO retired_job (job_id, request_id, state, ended_before, seq)
	SELECT 'gone' || i || '-' || n, 'old' || lpad(i::text, 8, '0'), 'success', timestamptz '2026-11-01', 1000 + 10 * i
	FROM generate_series(1, $1::bigint * 400) AS i, generate_series(0, 1) AS n`,
	`INSERT INTO error (seq, job_id, request_id, suite, tag, collector, token, attempt, kind, context, message, stale, time)
	SELECT 1009 + 10 * i, job_id, request_id, suite, tag, collector, token, 1, 'benchmark', 'running', 'it failed', false, finished_at
	FROM (SELECT *, (created_seq - 1000) / 10 AS i FROM job_queue WHERE job_id LIKE 'job%' AND state = 'failure') AS j`,
	`INSERT INTO result (suite, tag, benchmark, profile, scenario, backend, target, statistics, iterations, collector, environment, token,
		attempt, job_id, request_id, definitions, measured_at, seq)
	SELECT 'go', r.tag, 'benchmark-' || c / 5, 'opt', 'scenario-' || c % 5, 'gc', 'linux-amd64',
		(SELECT json_object_agg(m, json_build_array(1.0625e9 + c, 1.0635e9 + i, 1.0645e9)) FROM unnest(ARRAY['instructions:u', 'cycles:u',
			'branch-misses', 'cache-misses', 'task-clock', 'wall-time', 'max-rss', 'page-faults']) AS m),
		3, 'amd-0', repeat('1', 64), 1003 + 10 * i, 1, 'job' || lpad((2 * i)::text, 8, '0'), r.request_id, r.definitions, r.ended_at, 1004 + 10 * i
	FROM (SELECT *, (created_seq - 1000) / 10 AS i FROM benchmark_request WHERE request_id LIKE 'old%' ORDER BY created_seq DESC LIMIT $1 * 20) AS r,
		generate_series(0, 249) AS c`,
	`INSERT INTO event (seq, subject, type, event_id, source, time, actor, cause, root, stored_at, headers, data, chain, parked)
	SELECT 1000 + i, 'tacho.ev.request.old' || lpad((i / 10)::text, 8, '0'), 'dev.tacho.request.created.v1', 'e' || i, 's', at, 'cli:alice', 0,
		'root' || i / 10, at, '{}', '{"a":1}', decode(repeat('00', 32), 'hex'), ''
	FROM generate_series(1, $1::bigint * 2000) AS i, LATERAL (SELECT timestamptz '2026-11-20') AS t (at)`,
	`INSERT INTO delivery (hook, delivery, event, size, received_at, received_seq, handled_at, handled_seq, outcome, reason, repo, pr, sender,
		sender_id, command, requests)
	SELECT 'h', 'd' || i, 'issue_comment', 900, at, 1000 + 10 * i, at, 1001 + 10 * i, CASE i % 3 WHEN 0 THEN 'ignored' ELSE 'accepted' END, '', 'o/n',
		1 + i % 5000, 'alice', 9, 'queue', '{}'
	FROM generate_series(1, $1::bigint * 200) AS i, LATERAL (SELECT timestamptz '2026-11-20') AS t (at)`,
	`INSERT INTO outbox (key, revision, purpose, repo, pr, request_id, body, temporary, add_labels, remove_labels, state, attempts, reason,
		comment_id, url, posted_revision, labels_revision, wanted_at, wanted_seq, revised_at, posted_at, changed_seq)
	SELECT 'report/old' || i, 1, 'report', 'o/n', 1 + i % 5000, 'old' || lpad(i::text, 8, '0'), 'It is done.', false, '{}', '{}', 'posted', 1, '',
		i, '', 1, 1, at, 1000 + 10 * i, at, at, 1001 + 10 * i
	FROM generate_series(1, $1::bigint * 200) AS i, LATERAL (SELECT timestamptz '2026-11-20') AS t (at)`,
	`INSERT INTO alert (key, kind, about, message, action, raised_at, raised_seq, changed_at, changed_seq, cleared_at, cleared_seq, cleared_reason)
	SELECT 'k' || i, 'stuck', 'x' || i, 'm', 'a', at, 1000 + 10 * i, at, 1000 + 10 * i, at, 1001 + 10 * i, 'over'
	FROM generate_series(1, $1::bigint * 10) AS i, LATERAL (SELECT timestamptz '2026-11-01') AS t (at)`,
	`INSERT INTO usage (day, tier, queue, account, jobs, charged_ms)
	SELECT to_char(timestamptz '2026-11-20' - i * interval '1 day', 'YYYY-MM-DD'), 'default', '', '', 10, 1000 FROM generate_series(1, $1::bigint * 10) AS i`,
	`INSERT INTO definition (suite, digest, content, current, published_at, seq)
	SELECT 'go', lpad(i::text, 64, '0'), content, false, published_at, 1000 + i
	FROM (SELECT * FROM definition WHERE current LIMIT 1) AS d, generate_series(1, $1::bigint) AS i`,
	`VACUUM ANALYZE`,
}

// grow fills the tables like those of a farm that is so many times as old. The tables do not move afterwards.
func (st *story) grow(times int) {
	st.t.Helper()
	if _, err := st.now().Status(st.ctx); err != nil { // waits for the tables
		st.t.Fatal(err)
	}
	st.stopProjector()
	conn, err := pgx.Connect(st.ctx, st.url)
	if err != nil {
		st.t.Fatal(err)
	}
	defer conn.Close(st.ctx)
	if _, err := conn.Exec(st.ctx, `SET search_path TO tacho_g1`); err != nil {
		st.t.Fatal(err)
	}
	for _, sql := range grown {
		if _, err := conn.Exec(st.ctx, strings.ReplaceAll(sql, "$1", strconv.Itoa(times))); err != nil {
			st.t.Fatalf("%v in %s", err, sql)
		}
	}
}

// listed are the reads that list something or show a page, with the limits that keep both farms comparable: each has enough rows for
// a page of 20.
var listed = []string{
	"/", "/queue?limit=20", "/requests?limit=20", "/requests?state=superseded", "/requests/old00000500", "/requests/new00000040", "/jobs/job00001000",
	"/collectors", "/machines", "/shares", "/compare", "/github",
	"/api/v1/status", "/api/v1/queue?limit=20", "/api/v1/queue?after=20&limit=20", "/api/v1/requests?limit=20", "/api/v1/requests?state=failed&limit=20",
	"/api/v1/requests?state=superseded", "/api/v1/requests?state=in_progress", "/api/v1/requests?kind=release", "/api/v1/requests?kind=try&limit=20",
	"/api/v1/requests?pr=99999", "/api/v1/requests?priority=high", "/api/v1/requests?queue=other", "/api/v1/requests?account=x", "/api/v1/requests?set=x",
	"/api/v1/requests/old00000500", "/api/v1/jobs?limit=20", "/api/v1/jobs?request=old00000500", "/api/v1/jobs?state=in_progress", "/api/v1/jobs?state=queued",
	"/api/v1/jobs?state=failure&limit=20", "/api/v1/jobs?state=cancelled", "/api/v1/jobs?open=1", "/api/v1/jobs/job00001000", "/api/v1/accounts",
	"/api/v1/queues", "/api/v1/queues/main?limit=20", "/api/v1/shares", "/api/v1/machines", "/api/v1/usage?limit=10",
	"/api/v1/alerts?past=10", "/api/v1/collectors", "/api/v1/uses", "/api/v1/durations?target=linux-amd64", "/api/v1/durations?target=nowhere",
	"/api/v1/events?limit=20", "/api/v1/events?after=1500&limit=20", "/api/v1/events?subject=request.old00000100", "/api/v1/events?root=root77",
	"/api/v1/deliveries?limit=20", "/api/v1/deliveries?outcome=malformed", "/api/v1/deliveries?waiting=1", "/api/v1/deliveries?pr=77",
	"/api/v1/outbox?limit=20", "/api/v1/outbox?state=refused", "/api/v1/outbox?pr=77", "/api/v1/definitions?limit=2", "/api/v1/templates",
	"/api/v1/suites/go/branches",
}

// asked is what one read cost.
type asked struct {
	statements, rows int64
	bytes            int
	took             time.Duration
}

// price reads a path on both farms in turns, several times, and returns what it costs with the shortest time on each.
func price(farms [2]*story, path string) (cheapest [2]asked) {
	const tries = 15
	for i := range tries {
		for n, st := range farms {
			statements, rows := st.reads.statements.Load(), st.reads.rows.Load()
			begin := time.Now()
			resp, body := st.get(path)
			took := time.Since(begin)
			if resp.StatusCode != http.StatusOK {
				st.t.Fatalf("%s: %s: %s", path, resp.Status, body)
			}
			if i == 0 || took < cheapest[n].took {
				cheapest[n] = asked{st.reads.statements.Load() - statements, st.reads.rows.Load() - rows, len(body), took}
			}
		}
	}
	return cheapest
}

// BenchmarkReadsByHistory compares what each page and list costs on a farm and on one that is 100 times as old. It
// logs a line for each.
func BenchmarkReadsByHistory(b *testing.B) {
	var farms [2]*story
	for i, times := range sizes {
		farms[i] = open(b, nil).story()
		farms[i].grow(times)
	}
	costs := make([][2]asked, len(listed))
	for b.Loop() {
		for n, path := range listed {
			costs[n] = price(farms, path)
		}
	}
	var said strings.Builder
	table := tabwriter.NewWriter(&said, 2, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(table, "read\tstatements\trows\trows, old\tbytes, old\tms\tms, old\tgrowth\t")
	growths, worst, durations := []float64{}, "", 0.0
	for n, path := range listed {
		young, old := costs[n][0], costs[n][1]
		growth := old.took.Seconds() / young.took.Seconds()
		if len(growths) == 0 || growth > slices.Max(growths) {
			worst = path
		}
		growths = append(growths, growth)
		if strings.HasPrefix(path, "/api/v1/durations") {
			durations = max(durations, old.took.Seconds()*1e3)
		}
		fmt.Fprintf(table, "%s\t%d\t%d\t%d\t%d\t%.1f\t%.1f\t%.2f\t\n", path, old.statements, young.rows, old.rows, old.bytes, young.took.Seconds()*1e3, old.took.Seconds()*1e3, growth)
	}
	if err := table.Flush(); err != nil {
		b.Fatal(err)
	}
	slices.Sort(growths)
	b.Logf("a farm, and one that is 100 times as old; the growth is largest for %s\n%s", worst, said.String())
	ratio.AtMost(b, "median-growth", growths[len(growths)/2], 1.2)
	ratio.AtMost(b, "largest-growth", growths[len(growths)-1], 2)
	ratio.AtMost(b, "durations-ms", durations, 50)
}
