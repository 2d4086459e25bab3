package projector

import (
	"context"
	"fmt"
	"math"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/internal/pgtest"
	"github.com/tachobench/tacho/readmodel"
	"github.com/tachobench/tacho/rules/queue"
)

// tables is a connection to empty tables.
func tables(t *testing.T) *pgx.Conn {
	conn, err := connect(t.Context(), pgtest.New(t, "migrated", readmodel.Migrate), "tacho_g1")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close(context.Background()) })
	return conn
}

// TestEveryStatementFitsTheTables lets Postgres parse each statement.
func TestEveryStatementFitsTheTables(t *testing.T) {
	conn := tables(t)
	for name, text := range statements() {
		if _, err := conn.Prepare(t.Context(), name, text); err != nil {
			t.Errorf("%s: %v\n%s", name, err, text)
		}
	}
}

// awkward is part of every text: it has the characters that need quoting.
const awkward = `a "b" \c\\ {d,e} NULL é` + "\n"

// filled sets a field to a value that is not its zero value, and is different for each n.
func filled(v reflect.Value, n int, kind string) {
	switch {
	case v.Type() == reflect.TypeFor[time.Time]():
		v.Set(reflect.ValueOf(time.Date(2026, 11, 22, 9, 0, n, 123_456_000, time.UTC)))
		return
	case v.Type() == reflect.TypeFor[events.RawJSON](), kind == "json" && v.Kind() == reflect.String:
		v.Set(reflect.ValueOf(fmt.Sprintf(`{"n": [%d, null, "é\\"]}`, n)).Convert(v.Type()))
		return
	}
	switch v.Kind() {
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		filled(v.Elem(), n, kind)
	case reflect.String:
		v.SetString(fmt.Sprint(awkward, n))
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int64:
		v.SetInt(int64(-n))
	case reflect.Float64:
		v.SetFloat(float64(n) / 8)
	case reflect.Uint8:
		v.SetUint(uint64(n % 256))
	case reflect.Uint64:
		v.SetUint(uint64(n))
		if kind == "numeric" {
			v.SetUint(math.MaxUint64 - uint64(n))
		}
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 3, 3))
		for i := range 3 {
			filled(v.Index(i), n+i, "")
		}
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
		key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
		filled(key, n, "")
		filled(value, n, "")
		v.SetMapIndex(key, value)
	case reflect.Struct:
		for i := range v.NumField() {
			filled(v.Field(i), n+i, "")
		}
	default:
		panic(fmt.Sprintf("a row has a field of type %s", v.Type()))
	}
}

// written writes rows into a table without constraints, three at once and two alone, and reads them.
func written[T any](t *testing.T, conn *pgx.Conn, table string, queue func(*pgx.Batch, string, []T) error) {
	t.Helper()
	var want []T
	for n := range 5 {
		row := new(T)
		for i, c := range readmodel.Columns(table) {
			if v := reflect.ValueOf(row).Elem().Field(c.Field); n != 2 && n != 4 || !c.Nullable { // these have all NULLs
				filled(v, 100*n+i+1, c.Type)
			}
		}
		want = append(want, *row)
	}
	if _, err := conn.Exec(t.Context(), fmt.Sprintf("CREATE TEMP TABLE %[1]s (LIKE tacho_g1.%[1]s)", table)); err != nil {
		t.Fatal(err)
	}
	b := &pgx.Batch{}
	for _, rows := range [][]T{want[:3], want[3:4], want[4:]} {
		if err := queue(b, table, rows); err != nil {
			t.Fatal(err)
		}
	}
	if err := conn.SendBatch(t.Context(), b).Close(); err != nil {
		t.Fatalf("%s: %v", table, err)
	}
	var got []T
	if err := each(t.Context(), conn, "load "+table, table, func(row *T) { got = append(got, *row) }); err != nil {
		t.Fatalf("%s: %v", table, err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-written +read):\n%s", table, diff)
	}
}

// named adds rows by a statement.
func named[T any](name string) func(*pgx.Batch, string, []T) error {
	return func(b *pgx.Batch, table string, rows []T) error {
		return batchRows(b, name, table, rows)
	}
}

// TestEveryRowIsReadAsItWasWritten checks what the folds rely on: a loaded state is the one that was stored. The
// cursor is left out: it has statements of its own.
func TestEveryRowIsReadAsItWasWritten(t *testing.T) {
	conn := tables(t)
	written(t, conn, "benchmark_request", add[requestRow])
	written(t, conn, "job_queue", add[jobRow])
	written(t, conn, "attempt", add[attemptRow])
	written(t, conn, "queue", add[queueRow])
	written(t, conn, "result", named[resultRow]("put_results"))
	written(t, conn, "block", named[blockRow]("put_blocks"))
	written(t, conn, "error", add[errorRow])
	written(t, conn, "diagnostic", add[diagnosticRow])
	written(t, conn, "collector_config", add[collectorRow])
	written(t, conn, "assignment", add[assignmentRow])
	written(t, conn, "lane", add[laneRow])
	written(t, conn, "definition", add[definitionRow])
	written(t, conn, "job_duration", add[durationsRow])
	written(t, conn, "expected_jobs", add[expectedRow])
	written(t, conn, "retired_job", add[readmodel.RetiredError])
	written(t, conn, "alert", add[alertRow])
	written(t, conn, "delivery", add[deliveryRow])
	written(t, conn, "outbox", add[outboxRow])
	written(t, conn, "account", add[accountRow])
	written(t, conn, "named_queue", add[namedQueueRow])
	written(t, conn, "share_policy", add[readmodel.SharePolicy])
	written(t, conn, "share", add[shareRow])
	written(t, conn, "usage", add[usageRow])
	written(t, conn, "graph", add[graphRow])
	written(t, conn, "graph_job", add[graphJobRow])
	written(t, conn, "machine", add[machineRow])
	written(t, conn, "job_use", add[useRow])
	written(t, conn, "event", add[eventRow])
}

// TestOtherColumnsAreRefused reads a result that has other columns than the table, and rows into another table's struct.
func TestOtherColumnsAreRefused(t *testing.T) {
	conn := tables(t)
	if _, err := conn.Exec(t.Context(), `INSERT INTO retired_job VALUES ('j', 'r', 'success', now(), 1)`); err != nil {
		t.Fatal(err)
	}
	err := each(t.Context(), conn, "load retired_job", "alert", func(*alertRow) {})
	if err == nil || !strings.Contains(err.Error(), "no row of table alert, readmodel.Alert") {
		t.Errorf("got %v", err)
	}
	defer func() {
		if recover() == nil {
			t.Error("an attempt was taken for a retired job")
		}
	}()
	_ = each(t.Context(), conn, "load retired_job", "retired_job", func(*attemptRow) {})
}

// TestARowTakesThePlaceOfAnother replaces definitions: their first content stays.
func TestARowTakesThePlaceOfAnother(t *testing.T) {
	conn, b := tables(t), &pgx.Batch{}
	for n, content := range []string{`{"n": 1}`, `{"n": 2}`} {
		d := definitionRow{Suite: "go", Digest: "d", Content: events.RawJSON(content), Current: n == 1, Seq: events.Seq(n + 1)}
		if err := put(b, "definition", []definitionRow{d}); err != nil {
			t.Fatal(err)
		}
	}
	if err := conn.SendBatch(t.Context(), b).Close(); err != nil {
		t.Fatal(err)
	}
	var got []definitionRow
	err := each(t.Context(), conn, "load definition", "definition", func(d *definitionRow) { got = append(got, *d) })
	want := []definitionRow{{Suite: "go", Digest: "d", Content: events.RawJSON(`{"n": 1}`), Current: true, Seq: 2}}
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("%v\n%s", err, diff)
	}
}

// A place of the queue that differs in any column counts as changed.
func TestEveryColumnOfThePlaceCounts(t *testing.T) {
	at := func(n int) *time.Time {
		return pointer(time.Date(2026, 3, 1, 12, 0, n, 1700, time.FixedZone("", 3600)))
	}
	p := queue.Place{Entry: queue.Entry{ID: "r"}, Position: 7, Level: 2, Reason: "why", Startable: true}
	f := queue.Forecast{
		Start: at(2), End: at(5), StartEarliest: at(1), StartLatest: at(3), EndEarliest: at(4), EndLatest: at(6), Overrun: true, Guessed: true,
	}
	row := newQueueRow(&p, &f)
	if !shows(&row, &p, &f) {
		t.Errorf("it does not show what it was made of: %+v", row)
	}
	for i, c := range readmodel.Columns("queue") {
		other := row
		filled(reflect.ValueOf(&other).Elem().Field(c.Field), i+1, c.Type)
		if c.Type == "boolean" {
			reflect.ValueOf(&other).Elem().Field(c.Field).SetBool(false)
		}
		if shows(&other, &p, &f) {
			t.Errorf("column %s", c.Name)
		}
		if c.Nullable {
			reflect.ValueOf(&other).Elem().Field(c.Field).SetZero()
			if shows(&other, &p, &f) {
				t.Errorf("column %s without a value", c.Name)
			}
		}
	}
	for _, absurd := range []*time.Time{nil, pointer(time.Date(10_000, 1, 1, 0, 0, 0, 0, time.UTC))} {
		f.Start, f.End, f.StartLatest, f.EndEarliest = absurd, absurd, absurd, absurd
		if shows(&row, &p, &f) {
			t.Errorf("it shows %v", absurd)
		}
		if row := newQueueRow(&p, &f); !shows(&row, &p, &f) || row.StartEarliest != nil || row.EndLatest != nil {
			t.Errorf("%v gives %+v", absurd, row)
		}
	}
}
