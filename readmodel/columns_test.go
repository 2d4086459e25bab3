package readmodel_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"github.com/tachobench/tacho/readmodel"
)

// TestEveryRowIsItsTable compares each struct with the migrated table: names, types, and what may be NULL.
func TestEveryRowIsItsTable(t *testing.T) {
	url, conn := begun(t)
	schema, err := readmodel.CreateNext(t.Context(), url) // without views: a view keeps columns from being changed
	if err != nil {
		t.Fatal(err)
	}
	if _, err := conn.Exec(t.Context(), "SET search_path TO "+string(schema)); err != nil {
		t.Fatal(err)
	}
	if err := readmodel.Check(t.Context(), conn); err != nil {
		t.Fatal(err)
	}
	var known []string
	for _, table := range readmodel.Tables() {
		known = append(known, table.Name)
	}
	rows, err := conn.Query(t.Context(), `SELECT tablename FROM pg_tables WHERE schemaname = current_schema()
		AND tablename <> 'goose_db_version' AND tablename <> ALL ($1)`, known)
	if err != nil {
		t.Fatal(err)
	}
	if others, err := pgx.CollectRows(rows, pgx.RowTo[string]); err != nil || len(others) > 0 {
		t.Errorf("tables without a struct: %v, %v", others, err)
	}
	for change, want := range map[string]string{
		`ALTER TABLE alert ADD COLUMN newer bigint`:          "column newer of table alert has no field in readmodel.Alert",
		`ALTER TABLE job_queue RENAME fault TO faults`:       "column faults of table job_queue has no field in readmodel.Job; field fault of readmodel.Job has no column in table job_queue",
		`ALTER TABLE lane ALTER COLUMN token TYPE text`:      "column token of table lane is text, and its field in readmodel.LaneRow is for bigint",
		`ALTER TABLE alert ALTER COLUMN about DROP NOT NULL`: "column about of table alert is text or NULL, and its field in readmodel.Alert is for text",
		`ALTER TABLE outbox ALTER COLUMN until SET NOT NULL`: "column until of table outbox is timestamp with time zone, and its field in readmodel.Comment is for timestamptz or NULL",
		`DROP TABLE attempt`:                                 "field token of readmodel.Attempt has no column in table attempt",
	} {
		err := pgx.BeginFunc(t.Context(), conn, func(tx pgx.Tx) error {
			if _, err := tx.Exec(t.Context(), change); err != nil {
				t.Fatalf("%s: %v", change, err)
			}
			return readmodel.Check(t.Context(), tx.Conn())
		})
		if !errors.Is(err, readmodel.ErrOtherTables) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v\nwant %s", change, err, want)
		}
	}
}

func TestFill(t *testing.T) {
	for statement, want := range map[string]string{
		`SELECT {retired_job}`:               `SELECT "job_id", "request_id", "state", "ended_before", "seq", "sample"`,
		`SELECT {retired_job r} FROM x AS r`: `SELECT r."job_id", r."request_id", r."state", r."ended_before", r."seq", r."sample" FROM x AS r`,
		`SELECT {retired_job but state}, 1`:  `SELECT "job_id", "request_id", "ended_before", "seq", "sample", 1`,
		`SELECT '{}', '[0-9]{1,9}'`:          `SELECT '{}', '[0-9]{1,9}'`,
		`SELECT * FROM {error[]} AS e`: `SELECT * FROM (SELECT "seq", "job_id", "request_id", "suite", "tag", "collector", "token", "attempt", ` +
			`"kind", "context", "test_case"::json AS "test_case", "message", "stale", "time", "sample" FROM unnest($1::bigint[], $2::text[], $3::text[], ` +
			`$4::text[], $5::text[], $6::text[], $7::bigint[], $8::bigint[], $9::text[], $10::text[], $11::text[], $12::text[], $13::boolean[], ` +
			`$14::timestamptz[], $15::text[]) AS came ("seq", "job_id", "request_id", "suite", "tag", "collector", "token", "attempt", "kind", "context", ` +
			`"test_case", "message", "stale", "time", "sample")) AS e`,
	} {
		if diff := cmp.Diff(want, readmodel.Fill(statement)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", statement, diff)
		}
	}
}
