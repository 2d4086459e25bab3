package projector

import (
	"context"
	"errors"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/tachobench/tacho/events"
)

// copied adds rows by COPY.
func copied[T any](conn *pgx.Conn) func(*pgx.Batch, string, []T) error {
	return func(_ *pgx.Batch, table string, rows []T) error {
		list, err := arrays(table, rows)
		return errors.Join(err, pgx.BeginFunc(context.Background(), conn, func(tx pgx.Tx) error {
			return copyRows(context.Background(), tx, table, copyForm(list, len(rows)))
		}))
	}
}

// TestCopiedRowsAreReadAsTheyWere is TestEveryRowIsReadAsItWasWritten for the tables that are copied.
func TestCopiedRowsAreReadAsTheyWere(t *testing.T) {
	conn := tables(t)
	written(t, conn, "event", copied[eventRow](conn))
	written(t, conn, "result", copied[resultRow](conn))
}

// A batch with a test case that is there, or that it has twice, gives the rows and the count that the statement gives.
func TestCopyPassesOverWhatIsThere(t *testing.T) {
	conn := tables(t)
	if _, err := conn.Exec(t.Context(), `INSERT INTO projection_cursor (version, seq, event_id, chain, identity, duplicate_results, stale_reports, parked_events)
		VALUES (1, 0, '', $1, '', 0, 0, 0)`, make([]byte, 32)); err != nil {
		t.Fatal(err)
	}
	one := func(benchmark, collector string) resultRow {
		return resultRow{Suite: "go", Benchmark: events.Benchmark(benchmark), Collector: events.CollectorName(collector), Statistics: "{}"}
	}
	for _, rows := range [][]resultRow{
		{one("a", "first"), one("b", "first")},
		{one("c", "second"), one("a", "second"), one("d", "second"), one("d", "third")},
	} {
		list, err := arrays("result", rows)
		if err != nil {
			t.Fatal(err)
		}
		s := &session{state: newState(1)}
		s.state.results = rows
		err = pgx.BeginFunc(t.Context(), conn, func(tx pgx.Tx) error { return s.copyResults(t.Context(), tx, list) })
		if err != nil {
			t.Fatal(err)
		}
	}
	var got string
	var duplicates int
	if err := conn.QueryRow(t.Context(), `SELECT string_agg(benchmark || ' ' || collector, ', ' ORDER BY benchmark) FROM result`).Scan(&got); err != nil {
		t.Fatal(err)
	}
	if err := conn.QueryRow(t.Context(), `SELECT duplicate_results FROM projection_cursor`).Scan(&duplicates); err != nil {
		t.Fatal(err)
	}
	if got != "a first, b first, c second, d second" || duplicates != 2 {
		t.Errorf("%s, and %d duplicates", got, duplicates)
	}
}
