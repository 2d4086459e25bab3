package projector

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/readmodel"
)

// position is the row of projection_cursor.
type position struct {
	version  int
	seq      events.Seq
	eventID  string
	chain    Hash
	identity string
	asOf     *time.Time
	// parks is the last event of the subject park that the tables obey.
	parks events.Seq
}

// loadPosition returns the cursor of the tables. It makes one if there is none.
func loadPosition(ctx context.Context, conn *pgx.Conn) (position, error) {
	var zero Hash
	if _, err := conn.Exec(ctx, statement("begin_cursor"), Version, zero[:]); err != nil {
		return position{}, fmt.Errorf("begin the cursor: %w", err)
	}
	var p position
	err := each(ctx, conn, "load projection_cursor", "projection_cursor", func(c *readmodel.Cursor) {
		p = position{version: c.Version, seq: c.Seq, eventID: c.EventID, identity: c.Identity, asOf: c.QueueAsOf, parks: c.Parks}
		copy(p.chain[:], c.Chain)
	})
	return p, wrap("load the cursor", err)
}

// loadReader returns a reader of events that continues behind the position. The archive tells whether the registry was
// opened before it, and which collectors were copied.
func loadReader(ctx context.Context, conn *pgx.Conn, p position) (*events.Reader, error) {
	var opened events.Seq
	var copied []events.CollectorName
	err := conn.QueryRow(ctx, statement("load_opened"), p.seq, string(events.RegistryOpenedSubject()),
		events.TypeOf(events.RegistryOpened{}), events.TypeOf(events.RegistryCopied{})).Scan(&opened, &copied)
	if err != nil {
		return nil, fmt.Errorf("load where the registry was opened: %w", err)
	}
	return events.ReadFrom(opened, copied...), nil
}

// loadState fills a state from the tables.
func loadState(ctx context.Context, conn *pgx.Conn, p position, maxInProgress int) (*state, error) {
	s := newState(maxInProgress)
	if p.asOf != nil {
		s.asOf = p.asOf.UTC()
	}
	steps := []struct {
		name string
		load func() error
	}{
		{"requests", func() error { return each(ctx, conn, "load_requests", "benchmark_request", s.addRequest) }},
		{"jobs", func() error { return each(ctx, conn, "load_jobs", "job_queue", s.addJob) }},
		{"graphs", func() error { return s.loadGraphs(ctx, conn) }},
		{"attempts", func() error {
			return each(ctx, conn, "load_attempts", "attempt", func(a *attemptRow) { s.lanes[a.lane()] = a })
		}},
		{"lanes", func() error {
			return each(ctx, conn, "load lane", "lane", func(l *laneRow) { s.works[l.lane()] = l })
		}},
		{"collectors", func() error {
			return each(ctx, conn, "load collector_config", "collector_config", func(c *collectorRow) { s.collectors[c.Name] = c })
		}},
		{"assignments", func() error {
			return each(ctx, conn, "load assignment", "assignment", func(a *assignmentRow) { s.assignments[a.key()] = *a })
		}},
		{"alerts", func() error {
			return each(ctx, conn, "load_alerts", "alert", func(a *alertRow) { s.alerts[a.Key] = a })
		}},
		{"accounts", func() error {
			return each(ctx, conn, "load account", "account", func(a *accountRow) { s.accounts[a.Name] = a })
		}},
		{"definitions of branches", func() error {
			return each(ctx, conn, "load definition_line", "definition_line", func(l *lineRow) { s.lines[keyOfLine(l)] = l })
		}},
		{"machines", func() error {
			return each(ctx, conn, "load machine", "machine", func(m *machineRow) { s.machines[m.Name] = m })
		}},
		{"caches of machines", func() error { return each(ctx, conn, "load machine_warm", "machine_warm", s.addWarm) }},
		{"the policy of shares", func() error {
			return each(ctx, conn, "load share_policy", "share_policy", func(p *readmodel.SharePolicy) { s.policy = p })
		}},
		{"named queues", func() error {
			return each(ctx, conn, "load named_queue", "named_queue", func(q *namedQueueRow) { s.namedQueues[q.Name] = q })
		}},
		{"queue", func() error {
			return each(ctx, conn, "load_queue", "queue", func(q *queueRow) { s.queue = append(s.queue, *q) })
		}},
		{"durations", func() error {
			var rows []*durationsRow
			err := each(ctx, conn, "load job_duration", "job_duration", func(d *durationsRow) { rows = append(rows, d) })
			s.addDurations(rows)
			return err
		}},
		{"what jobs used", func() error {
			return each(ctx, conn, "load job_use", "job_use", func(r *useRow) { s.uses[r.sort()] = r })
		}},
		{"ended requests", func() error { return s.loadTags(ctx, conn) }},
		{"templates", func() error {
			return each(ctx, conn, "load expected_jobs", "expected_jobs", func(r *expectedRow) { s.templates[r.key()] = r.made() })
		}},
	}
	for _, step := range steps {
		if err := step.load(); err != nil {
			return nil, fmt.Errorf("load %s: %w", step.name, err)
		}
	}
	return s, nil
}

// each calls f with every row of a statement that returns the columns of a table.
func each[T any](ctx context.Context, conn *pgx.Conn, name, table string, f func(*T)) error {
	rows, err := conn.Query(ctx, statement(name))
	if err != nil {
		return err
	}
	return collect(rows, table, f)
}

// collect calls f with every row of a result, which must have the columns of the table in the order of the fields.
func collect[T any](rows pgx.Rows, table string, f func(*T)) error {
	defer rows.Close()
	columns := readmodel.ColumnsOf(table, reflect.TypeFor[T]())
	var fields []any
	for rows.Next() {
		if came := rows.FieldDescriptions(); fields == nil {
			if !slices.EqualFunc(columns, came, func(c readmodel.Column, f pgconn.FieldDescription) bool { return c.Name == f.Name }) {
				return fmt.Errorf("a result that is no row of table %s, %T: it has %v", table, *new(T), came)
			}
			fields = make([]any, len(columns))
		}
		row := new(T)
		v := reflect.ValueOf(row).Elem()
		for i, c := range columns {
			fields[i] = v.Field(c.Field).Addr().Interface()
		}
		if err := rows.Scan(fields...); err != nil {
			return err
		}
		f(row)
	}
	return rows.Err()
}

// loadTags fills in which artifacts are done: from the loaded requests, which have not ended, and from the rows of those
// that have.
func (s *state) loadTags(ctx context.Context, conn *pgx.Conn) error {
	for _, r := range s.requests {
		s.tags.Enter(r.Suite, r.Tag, r.State)
	}
	rows, err := conn.Query(ctx, statement("load_ended"))
	if err != nil {
		return err
	}
	var suite events.SuiteName
	var tag events.Tag
	var state events.RequestState
	_, err = pgx.ForEachRow(rows, []any{&suite, &tag, &state}, func() error {
		s.tags.Enter(suite, tag, state)
		return nil
	})
	return err
}
