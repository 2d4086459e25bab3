package projector_test

import (
	"errors"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/projector"
	"github.com/tachobench/tacho/readmodel"
)

// verify fails the test unless a replay gives the live tables.
func verify(t testing.TB, log *feed, url string) {
	t.Helper()
	report, err := projector.Replay(t.Context(), log, url, projector.ReplayOptions{Verify: true})
	if err != nil {
		t.Fatal(err)
	}
	for _, table := range report.Tables {
		if !table.Identical() {
			t.Errorf("table %s: %+v", table.Name, table)
		}
	}
	if len(report.Tables) != len(readmodel.Tables()) {
		t.Errorf("compared %d tables", len(report.Tables))
	}
}

func checkSeq(t testing.TB, r *readmodel.Reader, want events.Seq) {
	t.Helper()
	c, err := r.Cursor(t.Context())
	if err != nil || c.Seq != want {
		t.Errorf("the tables are at event %d (%v), want %d", c.Seq, err, want)
	}
}

func execute(t testing.TB, url, sql string) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	if _, err := conn.Exec(t.Context(), sql); err != nil {
		t.Fatal(err)
	}
}

func schemas(t testing.TB, url string) int {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	var n int
	if err := conn.QueryRow(t.Context(), `SELECT count(*) FROM pg_namespace WHERE nspname LIKE 'tacho\_g%'`).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

func TestVerifyFindsEachChangedRow(t *testing.T) {
	log := walk(t, 3, 200)
	url := project(t, log, 1000)
	execute(t, url, `UPDATE tacho_g1.benchmark_request SET reason = 'forged' WHERE tag = 'sha1';
		DELETE FROM tacho_g1.event WHERE seq = 17;
		INSERT INTO tacho_g1.assignment VALUES ('moon', 0, 'nobody', false, '2026-01-01', 9, false)`)
	report, err := projector.Replay(t.Context(), newFeed("log", log...), url, projector.ReplayOptions{Verify: true})
	if err != nil {
		t.Fatal(err)
	}
	if report.Identical() {
		t.Error("the replay found nothing")
	}
	for _, table := range report.Tables {
		want := 0
		switch table.Name {
		case "benchmark_request", "event", "assignment":
			want = 1
		}
		if table.Differing != want || len(table.Differences) != want || (table.Live.Digest == table.Rebuilt.Digest) != (want == 0) {
			t.Errorf("%s: %+v", table.Name, table)
		}
	}
	if n := schemas(t, url); n != 1 {
		t.Errorf("%d generations are left", n)
	}
}

// TestReplaySwapsUnderARunningProjector: readers keep reading, and the projector continues with the new tables.
func TestReplaySwapsUnderARunningProjector(t *testing.T) {
	all := walk(t, 4, 400)
	url := database(t)
	r := open(t, url)
	log := newFeed("log", all[:300]...)
	p := start(t, projector.Config{Log: log, URL: url})
	p.await(t, r, 300)
	execute(t, url, `DELETE FROM tacho_g1.job_queue`)

	report, err := projector.Replay(t.Context(), log, url, projector.ReplayOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if !report.Live || report.Seq != 300 || report.Schema != "tacho_g2" {
		t.Errorf("report: %+v", report)
	}
	jobs, err := r.Jobs(t.Context(), readmodel.JobFilter{})
	if err != nil || len(jobs) == 0 {
		t.Errorf("%d jobs after the replay, %v", len(jobs), err)
	}
	log.add(all[300:]...)
	p.await(t, r, 400)
	verify(t, log, url)
	if n := schemas(t, url); n != 1 {
		t.Errorf("%d generations are left", n)
	}
}

func TestReplayToThePast(t *testing.T) {
	log := walk(t, 4, 400)
	url := project(t, log, 1000)
	feed := newFeed("log", log...)
	report, err := projector.Replay(t.Context(), feed, url, projector.ReplayOptions{To: 150})
	if err != nil {
		t.Fatal(err)
	}
	past, err := readmodel.OpenSchema(t.Context(), url, report.Schema)
	if err != nil {
		t.Fatal(err)
	}
	defer past.Close()
	checkSeq(t, past, 150)
	checkSeq(t, open(t, url), 400)

	if _, err := projector.Replay(t.Context(), feed, url, projector.ReplayOptions{To: 401}); err == nil {
		t.Error("a replay went beyond the end of the log")
	}
	_, err = projector.Replay(t.Context(), feed, url, projector.ReplayOptions{To: 150, Verify: true})
	if !errors.Is(err, projector.ErrElsewhere) {
		t.Errorf("compared tables of different events: %v", err)
	}
}

// Nobody reads the tables of a replay before its end: the queue, which each event may move as a whole, is written once.
func TestReplayOrdersTheQueueOnce(t *testing.T) {
	log := walk(t, 4, 400)
	url := project(t, log, 1000)
	report, err := projector.Replay(t.Context(), newFeed("log", log...), url, projector.ReplayOptions{To: 150, BatchSize: 7})
	if err != nil {
		t.Fatal(err)
	}
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	// Each writing of a row takes a place of its own on the page.
	var rows, last int
	err = conn.QueryRow(t.Context(), "SELECT count(*), coalesce(max((ctid::text::point)[1]), 0)::int FROM "+pgx.Identifier{string(report.Schema), "queue"}.Sanitize()).Scan(&rows, &last)
	if err != nil || rows < 2 || last != rows {
		t.Errorf("the queue has %d rows, and the last one is at place %d (%v): want some that were written once", rows, last, err)
	}
}
