package projector_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/projector"
	"github.com/tachobench/tacho/readmodel"
)

// contents returns all rows of all live tables as text, in the order of their keys.
func contents(t testing.TB, url string) map[string][]string {
	t.Helper()
	ctx := context.WithoutCancel(t.Context())
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(ctx)
	tables := map[string][]string{}
	for _, table := range readmodel.Tables() {
		rows, err := conn.Query(ctx, fmt.Sprintf(`SELECT t::text FROM tacho.%s t ORDER BY t::text COLLATE "C"`, table.Name))
		if err != nil {
			t.Fatal(err)
		}
		list, err := pgx.CollectRows(rows, pgx.RowTo[string])
		if err != nil {
			t.Fatal(err)
		}
		tables[table.Name] = list
	}
	return tables
}

func TestTablesAreTheSameAtEveryBatchSize(t *testing.T) {
	for seed := range uint64(4) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			log := walk(t, seed, 300)
			want := contents(t, project(t, log, 1))
			for _, size := range []int{7, 1000} {
				if diff := cmp.Diff(want, contents(t, project(t, log, size))); diff != "" {
					t.Fatalf("batch size 1 (-) and %d (+):\n%s", size, diff)
				}
			}
		})
	}
}

// TestWalkReachesEveryTable makes sure that the property above is tested on rows of every table.
func TestWalkReachesEveryTable(t *testing.T) {
	rows := map[string]int{}
	for seed := range uint64(4) {
		for table, list := range contents(t, project(t, walk(t, seed, 900), 1000)) {
			rows[table] += len(list)
		}
	}
	for _, table := range readmodel.Tables() {
		if rows[table.Name] == 0 {
			t.Errorf("no walk left a row in %s: %v", table.Name, rows)
		}
	}
}

func TestReplayGivesTheSameRows(t *testing.T) {
	log := walk(t, 42, 500)
	url := project(t, log, 5)
	report, err := projector.Replay(t.Context(), newFeed("log", log...), url, projector.ReplayOptions{Verify: true})
	if err != nil {
		t.Fatal(err)
	}
	if !report.Identical() || report.Seq != events.Seq(len(log)) || len(report.Tables) != len(readmodel.Tables()) {
		t.Errorf("report: %+v", report)
	}
}
