package readmodel_test

import (
	"context"
	"errors"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/internal/pgtest"
	"github.com/tachobench/tacho/readmodel"
)

func TestMain(m *testing.M) { os.Exit(pgtest.Main(m)) }

func connect(t *testing.T, url string) *pgx.Conn {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close(context.Background()) })
	return conn
}

func migrated(t *testing.T) string {
	t.Helper()
	return pgtest.New(t, "migrated", readmodel.Migrate)
}

// begun is a migrated database with the cursor that a projector makes first.
func begun(t *testing.T) (string, *pgx.Conn) {
	t.Helper()
	url := migrated(t)
	conn := connect(t, url)
	beginTables(t, conn, 0)
	return url, conn
}

// beginTables writes the cursor that a projector writes with its first events.
func beginTables(t *testing.T, conn *pgx.Conn, seq events.Seq) {
	t.Helper()
	_, err := conn.Exec(t.Context(), `INSERT INTO tacho_g1.projection_cursor
		(version, seq, event_id, chain, identity, duplicate_results, stale_reports, parked_events)
		VALUES (1, $1, '', sha256(''), '', 0, 0, 0)`, seq)
	if err != nil {
		t.Fatal(err)
	}
}

func open(t *testing.T, url string) *readmodel.Reader {
	t.Helper()
	r, err := readmodel.OpenPools(t.Context(), url, readmodel.Patient(10*time.Minute))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.Close)
	return r
}

func TestMigrateByManyAtOnce(t *testing.T) {
	url := pgtest.New(t, "empty", nil)
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			if err := readmodel.Migrate(t.Context(), url); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if schema, err := readmodel.Live(t.Context(), connect(t, url)); err != nil || schema != "tacho_g1" {
		t.Errorf("live: %q, %v", schema, err)
	}
}

// A reader in the middle of its transaction holds one view and wants another, while a migration takes all views. Neither
// may fail: the migration waits. A migration that has nothing to change does not wait.
func TestMigrateLetsReadersEnd(t *testing.T) {
	url, watch := begun(t)
	reader := connect(t, url)
	tables := readmodel.Tables()
	tx, err := reader.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tx.Exec(t.Context(), "SELECT FROM tacho."+tables[len(tables)-1].Name); err != nil {
		t.Fatal(err)
	}
	// The views are right already, so this does not wait.
	if err := readmodel.Migrate(t.Context(), url); err != nil {
		t.Fatal(err)
	}
	if _, err := watch.Exec(t.Context(), "ALTER TABLE tacho_g1.alert ADD COLUMN newer bigint"); err != nil {
		t.Fatal(err)
	}
	migrated := make(chan error, 1)
	go func() { migrated <- readmodel.Migrate(t.Context(), url) }()
	for waits := false; !waits; {
		if err := watch.QueryRow(t.Context(), `SELECT EXISTS (SELECT FROM pg_locks WHERE NOT granted AND locktype = 'relation')`).Scan(&waits); err != nil {
			t.Fatal(err)
		}
	}
	for _, table := range tables {
		if _, err := tx.Exec(t.Context(), "SELECT FROM tacho."+table.Name); err != nil {
			t.Fatalf("the reader reads %s: %v", table.Name, err)
		}
	}
	select {
	case err := <-migrated:
		t.Fatalf("the migration ended, %v, and a reader held a view", err)
	default:
	}
	if err := tx.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := <-migrated; err != nil {
		t.Fatal(err)
	}
	if _, err := watch.Exec(t.Context(), "SELECT newer FROM tacho.alert"); err != nil {
		t.Errorf("the new column is not shown: %v", err)
	}
}

func TestOpenSaysWhatIsMissing(t *testing.T) {
	if _, err := readmodel.Open(t.Context(), pgtest.New(t, "empty", nil)); !errors.Is(err, readmodel.ErrNotMigrated) {
		t.Errorf("without tables: %v", err)
	}
	_, err := readmodel.Open(t.Context(), "postgres://nobody@127.0.0.1:1/none?connect_timeout=1")
	if err == nil || !strings.Contains(err.Error(), "check that it runs") {
		t.Errorf("without server: %v", err)
	}
	if _, err := readmodel.Open(t.Context(), "postgres://%zz"); err == nil {
		t.Error("a broken URL was taken")
	}
}

// TestReaderCannotWrite tries to write in the session of a reader, which has the role tacho_reader and may
// read only the live tables.
func TestReaderCannotWrite(t *testing.T) {
	_, conn := begun(t)
	if _, err := conn.Exec(t.Context(), `SET ROLE tacho_reader`); err != nil {
		t.Fatal(err)
	}
	if _, err := conn.Exec(t.Context(), `SELECT * FROM tacho.queue`); err != nil {
		t.Errorf("a reader cannot read: %v", err)
	}
	for _, table := range readmodel.Tables() {
		for _, sql := range []string{"DELETE FROM tacho.", "DELETE FROM tacho_g1.", "TRUNCATE tacho_g1.", "DROP VIEW tacho."} {
			_, err := conn.Exec(t.Context(), sql+table.Name)
			var answer *pgconn.PgError
			if !errors.As(err, &answer) || answer.Code != "42501" {
				t.Errorf("%s%s: %v", sql, table.Name, err)
			}
		}
	}
}

// Long reads that all wait for Postgres leave the connections of the pages free.
func TestLongReadsHaveConnectionsOfTheirOwn(t *testing.T) {
	url, other := begun(t)
	pools := readmodel.Patient(10 * time.Minute)
	pools.Long = 2
	r, err := readmodel.OpenPools(t.Context(), url, pools)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if n := r.Long().Connections(); n != 2 || r.Connections() < 4 {
		t.Errorf("%d and %d connections", r.Connections(), n)
	}
	lock, err := other.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := lock.Exec(t.Context(), "LOCK TABLE tacho_g1.event"); err != nil {
		t.Fatal(err)
	}
	var long sync.WaitGroup
	for range 50 {
		long.Go(func() {
			if _, err := r.Long().Events(t.Context(), readmodel.EventFilter{}); err != nil {
				t.Error(err)
			}
		})
	}
	for waiting := 0; waiting < 2; {
		if err := lock.QueryRow(t.Context(), `SELECT count(*) FROM pg_locks WHERE NOT granted`).Scan(&waiting); err != nil {
			t.Fatal(err)
		}
	}
	for range 20 {
		if _, err := r.Status(t.Context(), time.Now()); err != nil {
			t.Error(err)
		}
	}
	if err := lock.Rollback(t.Context()); err != nil {
		t.Fatal(err)
	}
	long.Wait()
}

func TestEveryQueryOnEmptyTables(t *testing.T) {
	url, _ := begun(t)
	r, ctx := open(t, url), t.Context()
	lane := events.Lane{Target: "t", Set: 1}
	for name, run := range map[string]func() (int, error){
		"queue": func() (int, error) { l, err := r.Queue(ctx); return len(l), err },
		"requests": func() (int, error) {
			l, err := r.Requests(ctx, readmodel.RequestFilter{PR: 3, Before: 9})
			return len(l), err
		},
		"jobs":         func() (int, error) { l, err := r.Jobs(ctx, readmodel.JobFilter{Lane: &lane}); return len(l), err },
		"graphs":       func() (int, error) { l, err := r.Graphs(ctx, "r1"); return len(l), err },
		"graphs shown": func() (int, error) { l, more, err := r.GraphsShown(ctx, "r1", 0); return len(l) + more, err },
		"neighbours":   func() (int, error) { l, err := r.Neighbours(ctx, "j1", 5); return len(l), err },
		"folded jobs": func() (int, error) {
			l, err := r.FoldedJobs(ctx, "r1", readmodel.JobFold{Limit: 5})
			return len(l), err
		},
		"skips":                 func() (int, error) { l, err := r.SkippedBecause(ctx, "r1", []events.JobID{"j"}); return len(l), err },
		"first errors":          func() (int, error) { l, err := r.FirstErrors(ctx, "r1", 5); return len(l), err },
		"errors":                func() (int, error) { l, err := r.Errors(ctx, "r1"); return len(l), err },
		"diagnostics":           func() (int, error) { l, err := r.Diagnostics(ctx, "r1"); return len(l), err },
		"errors of an artifact": func() (int, error) { l, err := r.ErrorsOf(ctx, "go", "x"); return len(l), err },
		"collectors":            func() (int, error) { l, err := r.Collectors(ctx); return len(l), err },
		"key holder":            func() (int, error) { name, err := r.KeyHolder(ctx, "U1"); return len(name), err },
		"results":               func() (int, error) { l, err := r.Results(ctx, "go", "x"); return len(l), err },
		"measured":              func() (int, error) { l, err := r.Measured(ctx, "go", 3); return len(l), err },
		"durations":             func() (int, error) { l, err := r.Durations(ctx, "go", "t"); return len(l), err },
		"history":               func() (int, error) { l, err := r.History(ctx, "go", "x", 30, ""); return len(l), err },
		"events": func() (int, error) {
			l, err := r.Events(ctx, readmodel.EventFilter{Root: "x", Cause: 1})
			return len(l), err
		},
		"events after": func() (int, error) {
			l, err := r.Events(ctx, readmodel.EventFilter{After: 1, Before: 9})
			return len(l), err
		},
		"deliveries": func() (int, error) {
			l, err := r.Deliveries(ctx, readmodel.DeliveryFilter{Outcome: events.DeliveryRefused, Waiting: true, PR: 3, Before: 9})
			return len(l), err
		},
		"comments": func() (int, error) {
			l, err := r.Comments(ctx, readmodel.CommentFilter{State: readmodel.CommentPosted, PR: 3, Request: "r", Before: 9})
			return len(l), err
		},
		"body":           func() (int, error) { b, err := r.DeliveryBody(ctx, "7", "d"); return len(b), err },
		"token holder":   func() (int, error) { name, err := r.TokenHolder(ctx, "d"); return len(name), err },
		"pending of":     func() (int, error) { return r.PendingOf(ctx, "a") },
		"pending in":     func() (int, error) { return r.PendingIn(ctx, "q") },
		"pending":        func() (int, error) { return r.PendingAll(ctx) },
		"accounts":       func() (int, error) { l, err := r.Accounts(ctx, "a", 3); return len(l), err },
		"named queues":   func() (int, error) { l, err := r.NamedQueues(ctx, "q", 3); return len(l), err },
		"offers":         func() (int, error) { l, err := r.Offers(ctx); return len(l), err },
		"requirements":   func() (int, error) { n, _, err := r.Requirements(ctx, []string{"memory=8g"}); return n, err },
		"lines in force": func() (int, error) { l, err := r.LinesInForce(ctx, "go", "main", 3); return len(l), err },
		"digests":        func() (int, error) { l, err := r.DigestsInForce(ctx); return len(l), err },
		"added jobs":     func() (int, error) { l, err := r.AddedJobs(ctx, "r"); return len(l), err },
		"definitions":    func() (int, error) { l, err := r.Definitions(ctx, readmodel.DefinitionFilter{}); return len(l), err },
		"status":         func() (int, error) { s, err := r.Status(ctx, time.Now()); return len(s.Queue), err },
	} {
		if n, err := run(); n != 0 || err != nil {
			t.Errorf("%s: %d rows, %v", name, n, err)
		}
	}
	if shared, err := r.Shared(ctx); shared || err != nil {
		t.Errorf("a farm about which nothing was said is shared: %v", err)
	}
	for name, err := range map[string]error{
		"event":              second(r.Event(ctx, 1)),
		"definition":         second(r.Definition(ctx, "d")),
		"current definition": second(r.CurrentDefinition(ctx, "go")),
		"job":                second(r.Job(ctx, "j")),
		"account":            second(r.Account(ctx, "a")),
		"named queue":        second(r.NamedQueue(ctx, "q")),
		"delivery":           second(r.Delivery(ctx, "7", "d")),
		"comment":            second(r.Comment(ctx, "k")),
		"request":            second(r.Request(ctx, "r")),
		"request or tag":     second(r.FindRequest(ctx, "r")),
	} {
		if !errors.Is(err, readmodel.ErrNotFound) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func second[T any](_ T, err error) error { return err }

func TestWaitForWakesWithTheNotification(t *testing.T) {
	url, conn := begun(t)
	r := open(t, url)
	done := make(chan error, 1)
	go func() { done <- r.WaitFor(t.Context(), 5) }()
	changed := r.Changed(0)
	for _, seq := range []string{"4", "nonsense", "5"} {
		if _, err := conn.Exec(t.Context(), `SELECT pg_notify($1, $2)`, readmodel.Channel, seq); err != nil {
			t.Fatal(err)
		}
	}
	// The listener may begin after these writes. Then it reads the cursor, which must say the same.
	if _, err := conn.Exec(t.Context(), `UPDATE tacho_g1.projection_cursor SET seq = 5`); err != nil {
		t.Fatal(err)
	}
	if _, err := conn.Exec(t.Context(), `SELECT pg_notify($1, '5')`, readmodel.Channel); err != nil {
		t.Fatal(err)
	}
	if err := <-done; err != nil {
		t.Error(err)
	}
	<-changed
	<-r.Changed(4)

	ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	if err := r.WaitFor(ctx, 6); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v", err)
	}
}

// TestListenerWaitsForTheFirstProjector: while no projector has begun, the listener asks again on the connection that it has. It hears
// of the cursor also if nobody notifies.
func TestListenerWaitsForTheFirstProjector(t *testing.T) {
	url := migrated(t)
	conn := connect(t, url)
	listening := func() (pids []int32) {
		t.Helper()
		rows, err := conn.Query(t.Context(), `SELECT pid FROM pg_stat_activity
			WHERE datname = current_database() AND pid <> pg_backend_pid() AND state = 'idle' AND query LIKE '%FROM projection_cursor%'`)
		if err != nil {
			t.Fatal(err)
		}
		if pids, err = pgx.CollectRows(rows, pgx.RowTo[int32]); err != nil {
			t.Fatal(err)
		}
		return pids
	}
	r := open(t, url)
	var first []int32
	for len(first) == 0 {
		first = listening()
	}
	beginTables(t, conn, 7)
	if err := r.WaitFor(t.Context(), 7); err != nil {
		t.Error(err)
	}
	if now := listening(); !slices.Equal(first, now) {
		t.Errorf("the listener was %v and is %v", first, now)
	}
}

// TestListenerComesBack: the connection that listens is cut, and waiting callers are woken nevertheless.
func TestListenerComesBack(t *testing.T) {
	url, conn := begun(t)
	r := open(t, url)
	done := make(chan error, 1)
	go func() { done <- r.WaitFor(t.Context(), 7) }()
	if _, err := conn.Exec(t.Context(), `UPDATE tacho_g1.projection_cursor SET seq = 7`); err != nil {
		t.Fatal(err)
	}
	if _, err := conn.Exec(t.Context(), `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
		WHERE datname = current_database() AND pid <> pg_backend_pid()`); err != nil {
		t.Fatal(err)
	}
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// TestInvariantsOfTheTables writes what no fold would write, and checks that the constraints refuse it.
func TestInvariantsOfTheTables(t *testing.T) {
	_, conn := begun(t)
	if _, err := conn.Exec(t.Context(), `SET search_path TO tacho_g1`); err != nil {
		t.Fatal(err)
	}
	job := func(id, state string) string {
		return `INSERT INTO job_queue (job_id, request_id, suite, tag, artifact_kind, kind, target, "set", backend, profile,
			benchmarks, optional, backfill, definitions, state, created_at, created_seq, ordinal)
			VALUES ('` + id + `', 'r', 'go', 'x', 'master', 'compile', 't', 0, 'gc', 'opt', '{}', false, false, 'd', '` + state +
			`', now(), length('` + id + `'), 0);`
	}
	attempt := func(token string) string {
		return `INSERT INTO attempt (token, job_id, request_id, target, "set", collector, instance, attempt, lost, version,
			environment, state, started_at) VALUES (` + token + `, 'j', 'r', 't', 0, 'c', 'i', 1, 0, 'v', 'e', 'running', now());`
	}
	for name, sql := range map[string]string{
		"a job that is made twice":          job("j", "queued") + job("j", "queued"),
		"a state that does not exist":       job("j", "sleeping"),
		"an ended job without end":          job("j", "success"),
		"a running job without attempt":     job("j", "in_progress"),
		"a held job that runs":              job("j", "queued") + `UPDATE job_queue SET state = 'success', finished_at = now(), held = 'blocked'`,
		"a held job with a place":           job("j", "queued") + `UPDATE job_queue SET held = 'skipped', place = 1`,
		"an ended graph without outcome":    `INSERT INTO graph VALUES ('r', 0, 'initial', '', 1, 0, true, 0, '', 0, 0, now(), 1, now())`,
		"a sealed graph with needs to come": `INSERT INTO graph VALUES ('r', 0, 'initial', '', 1, 1, true, 1, '', 0, 0, now(), 1)`,
		"a blocked job with a cause":        `INSERT INTO graph_job VALUES ('r', 0, 0, 'j', false, 'blocked', 1, '[]')`,
		"two current attempts":              attempt("1") + attempt("2"),
		"two cursors":                       `INSERT INTO projection_cursor SELECT false, version, seq, event_id, event_time, chain, identity, 0, 0, 0 FROM projection_cursor`,
		"position 0":                        `INSERT INTO queue VALUES (0, 'r', 0, 'first', true)`,
		"a place without reason":            `INSERT INTO queue VALUES (1, 'r', 0, '', true)`,
		"a delivery handled before it came": `INSERT INTO delivery VALUES ('7', 'd', 'e', 1, now(), 5, now(), 4, 'ignored', '', '', NULL, NULL, '', 0, '', '{}')`,
		"a delivery with half an outcome":   `INSERT INTO delivery VALUES ('7', 'd', 'e', 1, now(), 5, NULL, NULL, 'ignored', '', '', NULL, NULL, '', 0, '', '{}')`,
		"a posted comment without number": `INSERT INTO outbox VALUES ('k', 1, 'report', 'o/n', 3, '', '', false, '{}', '{}', 'posted', 1, '', NULL,
			NULL, '', 1, 0, now(), 1, now(), now(), 2)`,
		"a charge below 0":            `INSERT INTO share VALUES ('vip', '', '', 0, 1, -1)`,
		"a tier that does not exist":  `INSERT INTO usage VALUES ('2026-11-22', 'first', '', '', 1, 1)`,
		"a closed account with token": `INSERT INTO account VALUES ('a', 10, 'high', 0, 0, 0, 3, 'd', now(), now(), '', now(), now(), 1)`,
		"two places of one request":   `INSERT INTO queue VALUES (1, 'r', 0, 'first', true), (2, 'r', 0, 'second', true)`,
	} {
		var answer *pgconn.PgError
		if _, err := conn.Exec(t.Context(), sql); !errors.As(err, &answer) || answer.Code[:2] != "23" {
			t.Errorf("%s: %v", name, err)
		}
	}
}
