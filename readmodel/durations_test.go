package readmodel_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/readmodel"
)

// begin stores that the requests for artifacts began one after the other.
func begin(t *testing.T, conn *pgx.Conn, tags ...string) {
	t.Helper()
	for i, tag := range tags {
		_, err := conn.Exec(t.Context(), `INSERT INTO tacho_g1.benchmark_request (request_id, kind, suite, tag, parent_tag, released_on, key, parameters,
			state, created_by, created_at, created_seq, started_at, started_seq)
			VALUES ('r' || $1, 'master', 'go', $1, '', '', '', '{}', 'in_progress', 'cli', now(), $2, now(), $2)`, tag, 1+i)
		if err != nil {
			t.Fatal(err)
		}
	}
}

// measure stores one result: a test case of an artifact, measured on a machine.
func measure(t *testing.T, conn *pgx.Conn, seq int, tag, benchmark, scenario, machine, statistics string) {
	t.Helper()
	_, err := conn.Exec(t.Context(), `INSERT INTO tacho_g1.result (suite, tag, benchmark, profile, scenario, backend, target, statistics,
		iterations, collector, environment, token, attempt, job_id, request_id, definitions, measured_at, seq)
		VALUES ('go', $1, $2, 'opt', $3, 'gc', 't', $4, 2, 'c', $5, 1, 1, 'j', 'r', 'd', now(), $6)`,
		tag, benchmark, scenario, statistics, machine, seq)
	if err != nil {
		t.Fatal(err)
	}
}

func TestDurationsAreMediansOfWhatTheIterationsTook(t *testing.T) {
	url, conn := begun(t)
	// Ten artifacts count. The eleventh does not, and neither does one that has no results on this target.
	begin(t, conn, "late", "0", "1", "2", "3", "4", "5", "6", "7", "8", "9", "elsewhere")
	measure(t, conn, 10, "late", "old", "full", "m1", `{"wall-time":[9999]}`)
	measure(t, conn, 11, "late", "gone", "full", "m1", `{"wall-time":[1]}`)
	for i := range 10 {
		measure(t, conn, 20+i, fmt.Sprint(i), "old", "full", "m1", `{"wall-time":[3]}`)
	}
	for i, sum := range []string{"[1,1]", "[2,2]", "[30,30]"} {
		measure(t, conn, 40+i, fmt.Sprint(i), "json", "full", "m1", `{"wall-time":`+sum+`,"max-rss":[5,5]}`)
	}
	// The machine changed after one artifact was measured.
	measure(t, conn, 50, "0", "sort", "full", "m1", `{"wall-time":[4,null]}`)
	measure(t, conn, 51, "1", "sort", "full", "m2", `{"wall-time":[6,0]}`)
	measure(t, conn, 52, "1", "sort", "incr", "m2", `{"latency":[1,1]}`)
	test := func(benchmark events.Benchmark, scenario events.Scenario) events.TestCase {
		return events.TestCase{Benchmark: benchmark, Profile: "opt", Scenario: scenario, Backend: "gc", Target: "t"}
	}
	seconds := func(s float64) *float64 { return &s }
	want := []readmodel.CaseDuration{
		{TestCase: test("json", "full"), Seconds: seconds(4), Artifacts: 3},
		{TestCase: test("old", "full"), Seconds: seconds(3), Artifacts: 10},
		{TestCase: test("sort", "full"), Seconds: seconds(5), Artifacts: 1},
		{TestCase: test("sort", "incr"), Artifacts: 1},
	}
	got, err := open(t, url).Durations(t.Context(), "go", "t")
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("%v\n%s", err, diff)
	}
}
