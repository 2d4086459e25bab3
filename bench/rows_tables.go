package main

import (
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/nats-io/nats.go"
	natsjs "github.com/nats-io/nats.go/jetstream"

	"github.com/tachobench/tacho/eventlog/jetstream"
	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/internal/natsserver"
	"github.com/tachobench/tacho/projector"
	"github.com/tachobench/tacho/readmodel"
)

const (
	decodedRead = "decoded read of the log"
	rawCopy     = "COPY of the same rows"
	rawBoth     = "decoded read, then COPY"
	rawRows     = "SELECT of the same rows"
	rawHeard    = "raw publish → received → INSERT → heard"
	unread      = "the same statements, rows unread"
)

// rowsOfTables are about writing and reading the tables.
func rowsOfTables() []Row {
	return []Row{
		{
			Name: "rebuild", Work: "all tables rebuilt from a log of 27,000 events with results, synced", Run: rebuild,
			Figures: []Figure{
				{Name: "events", Unit: "/s", Better: higher, Goals: []Goal{{decodedRead, 0.7}, {rawCopy, 0.25}, {rawBoth, 0.65}}},
				{Name: "on disk per event", Unit: "B", Better: lower, Goals: []Goal{{decodedRead, 1.5}, {rawCopy, 1.2}}},
				{Name: "CPU per event", Unit: "µs", Better: lower},
			},
		},
		{
			Name: "visible", Work: "an event is appended → its row is visible to readers, synced", Run: visible,
			Figures: []Figure{
				{Name: "p50", Unit: "ms", Better: lower, Goals: []Goal{{"", 1}, {rawHeard, 5}}},
				{Name: "p99", Unit: "ms", Better: lower, Goals: []Goal{{"", 5}, {rawHeard, 4}}},
			},
		},
		{
			Name: "status", Work: "the queries of the status page", Run: status,
			Figures: []Figure{
				{Name: "150 pending", Unit: "ms", Better: lower, Goals: []Goal{{referenceSQL, 1}, {unread, 2}}},
				{Name: "5,000 pending", Unit: "ms", Better: lower, Goals: []Goal{{referenceSQL, 1}}},
				{Name: "growth", Unit: "×", Better: lower, Goals: []Goal{{"", 2}}},
			},
		},
		{
			Name: "durations", Work: "durations of test cases by HTTP, 500,000 results",
			Figures: []Figure{
				{Name: "answer", Unit: "ms", Better: lower, Goals: []Goal{{"", 50}, {rawRows, 1.5}}},
				{Name: "size", Unit: "kB", Better: lower},
				{Name: "packed", Unit: "kB", Better: lower},
			},
			Run: func(ctx context.Context, b *Bed) ([]Side, error) {
				return list(ctx, b, 42, 0, "durations?suite="+string(storySuite)+"&target="+string(storyLane(0).Target), readResults)
			},
		},
		{
			Name: "queue", Work: "the queue by HTTP, 10,000 pending",
			Figures: []Figure{{Name: "answer", Unit: "ms", Better: lower, Goals: []Goal{{"", 50}}}, {Name: "size", Unit: "kB", Better: lower}, {Name: "packed", Unit: "kB", Better: lower, Goals: []Goal{{"", 500}}}},
			Run:     func(ctx context.Context, b *Bed) ([]Side, error) { return list(ctx, b, 1, 10_000, "queue", nil) },
		},
	}
}

// project keeps the tables of a migrated database up to date with a log until the bed is closed.
func (b *Bed) project(log projector.Source, database *Database) {
	b.run("projector", projector.New(projector.Config{Log: log, URL: database.URL}).Run)
}

// projected fills a database from a log and returns how long that took, without the migrations.
func projected(ctx context.Context, log projector.Source, at string, until events.Seq) (time.Duration, error) {
	if err := readmodel.Migrate(ctx, at); err != nil {
		return 0, err
	}
	reader, err := readmodel.Open(ctx, at)
	if err != nil {
		return 0, err
	}
	defer reader.Close()
	projecting, stop := context.WithCancelCause(ctx)
	ended := make(chan struct{})
	began := time.Now()
	go func() {
		defer close(ended)
		stop(projector.New(projector.Config{Log: log, URL: at}).Run(projecting))
	}()
	err = reader.WaitFor(projecting, until)
	took := time.Since(began)
	if cause := context.Cause(projecting); err != nil && cause != nil {
		err = fmt.Errorf("the projector ended: %w", cause)
	}
	stop(nil)
	<-ended
	return took, err
}

// filled fills a database from a log as a replay does, which orders the queue once.
func filled(ctx context.Context, log projector.Source, at string) error {
	if err := readmodel.Migrate(ctx, at); err != nil {
		return err
	}
	_, err := projector.Replay(ctx, log, at, projector.ReplayOptions{})
	return err
}

// another makes an empty database beside the first one, and drop removes it.
func (d *Database) another(ctx context.Context, name string) (at string, drop func() error, err error) {
	u, err := url.Parse(d.URL)
	if err != nil {
		return "", nil, err
	}
	u.Path = "/" + name
	quoted := pgx.Identifier{name}.Sanitize()
	_, err = d.Exec(ctx, "CREATE DATABASE "+quoted)
	return u.String(), func() error {
		_, err := d.Exec(ctx, "DROP DATABASE "+quoted+" WITH (FORCE)")
		return err
	}, err
}

func rebuild(ctx context.Context, b *Bed) ([]Side, error) {
	_, nc, err := b.nats(natsserver.Config{Unsynced: true})
	if err != nil {
		return nil, err
	}
	log, err := jetstream.Open(ctx, nc, jetstream.Config{MaxBytes: 64 << 30})
	if err != nil {
		return nil, err
	}
	s := &Story{Tell: onto(ctx, log), Reports: 9, Cases: 2}
	s.begin()
	for range 200 * b.Scale {
		s.finish()
	}
	if s.err != nil {
		return nil, s.err
	}
	head, err := log.Head(ctx)
	if err != nil {
		return nil, err
	}
	logBytes, err := bytesOf(ctx, nc)
	if err != nil {
		return nil, err
	}
	database, err := b.postgres(false, 4)
	if err != nil {
		return nil, err
	}
	// The rows that the copies write are those of a rebuild.
	if _, err := projected(ctx, log, database.URL, head.Last); err != nil {
		return nil, err
	}
	rows, err := database.copyOut(ctx)
	if err != nil {
		return nil, err
	}
	_, copySize, err := database.copyIn(ctx, rows)
	if err != nil {
		return nil, err
	}
	n, round := int(head.Last), 0
	side := func(name string, bytes float64, work func(context.Context) (time.Duration, error)) Side {
		return Side{name, func(ctx context.Context) ([]float64, error) {
			found, err := costs(n, func() (time.Duration, error) { return work(ctx) }, database)
			if err != nil {
				return nil, err
			}
			return []float64{found[0], bytes / float64(n), found[1]}, nil
		}}
	}
	read := func(ctx context.Context) (time.Duration, error) { return decodeAll(ctx, log, n) }
	write := func(ctx context.Context) (time.Duration, error) {
		took, _, err := database.copyIn(ctx, rows)
		return took, err
	}
	return []Side{
		{"tacho", func(ctx context.Context) ([]float64, error) {
			round++
			at, drop, err := database.another(ctx, fmt.Sprintf("rebuilt_%d", round))
			if err == nil {
				err = readmodel.Migrate(ctx, at)
			}
			if err != nil {
				return nil, err
			}
			empty, err := liveSize(ctx, at)
			if err != nil {
				return nil, err
			}
			found, err := costs(n, func() (time.Duration, error) { return projected(ctx, log, at, head.Last) }, database)
			if err != nil {
				return nil, err
			}
			size, err := liveSize(ctx, at)
			if err != nil {
				return nil, err
			}
			return []float64{found[0], (size - empty) / float64(n), found[1]}, drop()
		}},
		side(decodedRead, logBytes, read),
		side(rawCopy, copySize, write),
		side(rawBoth, 0, func(ctx context.Context) (time.Duration, error) {
			reading, err := read(ctx)
			if err != nil {
				return 0, err
			}
			writing, err := write(ctx)
			return reading + writing, err
		}),
	}, nil
}

// bytesOf returns the size of the log.
func bytesOf(ctx context.Context, nc *nats.Conn) (float64, error) {
	js, err := natsjs.New(nc)
	if err != nil {
		return 0, err
	}
	stream, err := js.Stream(ctx, "EVENTS")
	if err != nil {
		return 0, err
	}
	info, err := stream.Info(ctx)
	if err != nil {
		return 0, err
	}
	return float64(info.State.Bytes), nil
}

func decodeAll(ctx context.Context, log *jetstream.Log, n int) (time.Duration, error) {
	began := time.Now()
	cursor, err := log.Follow(ctx, 0)
	if err != nil {
		return 0, err
	}
	defer cursor.Close()
	for read := 0; read < n; {
		batch, err := cursor.Next(ctx, 1000)
		if err != nil {
			return 0, err
		}
		for _, stored := range batch {
			if _, err := events.Decode(stored); err != nil {
				return 0, err
			}
		}
		read += len(batch)
	}
	return time.Since(began), nil
}

// liveSize is how many bytes the live tables of a database and their indexes take.
func liveSize(ctx context.Context, at string) (float64, error) {
	conn, err := pgx.Connect(ctx, at)
	if err != nil {
		return 0, err
	}
	defer conn.Close(ctx)
	live, err := readmodel.Live(ctx, conn)
	if err != nil {
		return 0, err
	}
	return tablesSize(ctx, conn, string(live))
}

// asked is a connection or a pool.
type asked interface {
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
}

// tablesSize is how many bytes the tables of a schema and their indexes take.
func tablesSize(ctx context.Context, db asked, schema string) (size float64, err error) {
	err = db.QueryRow(ctx, `SELECT sum(pg_total_relation_size(c.oid))::float8 FROM pg_class c WHERE c.relkind = 'r' AND c.relnamespace = $1::text::regnamespace`, schema).Scan(&size)
	return size, err
}

// copied are the rows of one table.
type copied struct {
	table string
	rows  []byte
}

// copyOut reads all rows of the live tables.
func (d *Database) copyOut(ctx context.Context) (all []copied, err error) {
	live, err := readmodel.Live(ctx, d)
	if err != nil {
		return nil, err
	}
	rows, err := d.Query(ctx, `SELECT tablename FROM pg_tables WHERE schemaname = $1 ORDER BY 1`, string(live))
	if err != nil {
		return nil, err
	}
	tables, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return nil, err
	}
	conn, err := d.Acquire(ctx)
	if err != nil {
		return nil, err
	}
	defer conn.Release()
	for _, table := range tables {
		var out bytes.Buffer
		name := pgx.Identifier{string(live), table}.Sanitize()
		if _, err := conn.Conn().PgConn().CopyTo(ctx, &out, "COPY "+name+" TO STDOUT (FORMAT binary)"); err != nil {
			return nil, fmt.Errorf("copy %s: %w", name, err)
		}
		all = append(all, copied{table, out.Bytes()})
	}
	return all, nil
}

// copyIn writes the rows into empty tables with the same indexes, in one transaction, and drops the tables. It says how
// many bytes they took.
func (d *Database) copyIn(ctx context.Context, all []copied) (took time.Duration, size float64, err error) {
	live, err := readmodel.Live(ctx, d)
	if err != nil {
		return 0, 0, err
	}
	if _, err := d.Exec(ctx, "CREATE SCHEMA copied"); err != nil {
		return 0, 0, err
	}
	for _, c := range all {
		made := fmt.Sprintf("CREATE TABLE %s (LIKE %s INCLUDING ALL)", pgx.Identifier{"copied", c.table}.Sanitize(), pgx.Identifier{string(live), c.table}.Sanitize())
		if _, err := d.Exec(ctx, made); err != nil {
			return 0, 0, err
		}
	}
	empty, err := tablesSize(ctx, d, "copied")
	if err != nil {
		return 0, 0, err
	}
	began := time.Now()
	err = pgx.BeginFunc(ctx, d, func(tx pgx.Tx) error {
		for _, c := range all {
			name := pgx.Identifier{"copied", c.table}.Sanitize()
			if _, err := tx.Conn().PgConn().CopyFrom(ctx, bytes.NewReader(c.rows), "COPY "+name+" FROM STDIN (FORMAT binary)"); err != nil {
				return fmt.Errorf("copy %s: %w", name, err)
			}
		}
		return nil
	})
	took = time.Since(began)
	if err != nil {
		return 0, 0, err
	}
	full, err := tablesSize(ctx, d, "copied")
	if err != nil {
		return 0, 0, err
	}
	_, err = d.Exec(ctx, "DROP SCHEMA copied CASCADE")
	return took, full - empty, err
}

func visible(ctx context.Context, b *Bed) ([]Side, error) {
	log, database, err := b.logAndTables()
	if err != nil {
		return nil, err
	}
	reader, err := readmodel.Open(ctx, database.URL)
	if err != nil {
		return nil, err
	}
	b.onEnd(func() error { reader.Close(); return nil })
	b.project(log, database)
	var took []time.Duration
	tell := onto(ctx, log)
	s := &Story{Reports: 9, Cases: 2, Tell: func(f events.Fact) (events.Seq, error) {
		began := time.Now()
		seq, err := tell(f)
		if err != nil {
			return 0, err
		}
		err = reader.WaitFor(ctx, seq)
		took = append(took, time.Since(began))
		return seq, err
	}}
	s.begin()
	row, err := b.rawRow(ctx, database.URL)
	if err != nil {
		return nil, err
	}
	raw, err := b.rawTrips(200*b.Scale, row)
	if err != nil {
		return nil, err
	}
	return []Side{{"tacho", func(context.Context) ([]float64, error) {
		took = nil
		for range 2 * b.Scale {
			s.finish()
		}
		return []float64{quantile(took, 0.5), quantile(took, 0.99)}, s.err
	}}, {rawHeard, func(ctx context.Context) ([]float64, error) {
		trips, err := raw(ctx)
		if err != nil {
			return nil, err
		}
		return []float64{quantile(trips, 0.5), quantile(trips, 0.99)}, nil
	}}}, s.err
}

func status(ctx context.Context, b *Bed) ([]Side, error) {
	const ended, turns = 30, 30
	counts := [...]int{150 * b.Scale, 5000 * b.Scale}
	database, err := b.postgres(true, 4)
	if err != nil {
		return nil, err
	}
	var ours, least, theirs []func(context.Context) error
	for _, pending := range counts {
		at, _, err := database.another(ctx, fmt.Sprintf("pending_%d", pending))
		if err != nil {
			return nil, err
		}
		log, err := told(ctx, 1, 2, func(s *Story) {
			for range ended {
				s.finish()
			}
			s.start()
			for range pending {
				s.ask()
			}
		})
		if err == nil {
			err = filled(ctx, log, at)
		}
		if err != nil {
			return nil, err
		}
		var sent Statements
		reader, err := readmodel.OpenPools(ctx, at, readmodel.Pools{Tracer: &sent})
		if err == nil {
			err = analyze(ctx, at)
		}
		if err != nil {
			return nil, err
		}
		b.onEnd(func() error { reader.Close(); return nil })
		page := func(ctx context.Context) error { _, err := reader.Status(ctx, time.Now()); return err }
		if err := page(ctx); err != nil {
			return nil, err
		}
		conn, again, err := sent.connect(ctx)
		if err != nil {
			return nil, err
		}
		b.onEnd(func() error { return conn.Close(context.WithoutCancel(ctx)) })
		ours, least = append(ours, page), append(least, again)

		r, err := b.reference(true, 2)
		if err == nil {
			err = r.prepare(ctx, ended, pending)
		}
		if err != nil {
			return nil, err
		}
		theirs = append(theirs, r.status)
	}
	side := func(name string, reads []func(context.Context) error) Side {
		return Side{name, func(ctx context.Context) (found []float64, err error) {
			for _, read := range reads {
				var took []time.Duration
				for range turns {
					began := time.Now()
					if err := read(ctx); err != nil {
						return nil, err
					}
					took = append(took, time.Since(began))
				}
				found = append(found, quantile(took, 0.5))
			}
			return append(found, found[1]/found[0]), nil
		}}
	}
	return []Side{side("tacho", ours), side(unread, least), side(referenceSQL, theirs)}, nil
}

// analyze lets Postgres look at the tables of a database, as autovacuum does where it is on.
func analyze(ctx context.Context, at string) error {
	conn, err := pgx.Connect(ctx, at)
	if err != nil {
		return err
	}
	defer conn.Close(ctx)
	_, err = conn.Exec(ctx, "ANALYZE")
	return err
}

// prepare makes as many requests as a story: some that have ended, with 12 jobs each, one in progress, and pending ones.
func (r *Reference) prepare(ctx context.Context, ended, pending int) error {
	for range ended {
		if err := r.enqueue(ctx, 12, 2, "success"); err != nil {
			return err
		}
	}
	if _, err := r.database.Exec(ctx, `UPDATE ref_request SET status = 'completed', completed_at = created_at + interval '1 minute'`); err != nil {
		return err
	}
	if err := r.enqueue(ctx, 12, 2, "queued"); err != nil {
		return err
	}
	if err := r.add(ctx, pending, "artifacts_ready"); err != nil {
		return err
	}
	_, err := r.database.Exec(ctx, "ANALYZE")
	return err
}

// readResults reads what durations are made of, the results of the last ten artifacts, and does nothing with them.
func readResults(ctx context.Context, d *Database) error {
	live, err := readmodel.Live(ctx, d)
	if err != nil {
		return err
	}
	in := func(table string) string { return pgx.Identifier{string(live), table}.Sanitize() }
	rows, err := d.Query(ctx, `SELECT benchmark, profile, scenario, backend, environment, seq, statistics ->> 'wall-time' FROM `+in("result")+`
		WHERE suite = $1 AND tag = ANY (ARRAY(SELECT tag FROM `+in("benchmark_request")+` ORDER BY started_seq DESC NULLS LAST LIMIT 10)) AND target = $2 AND sample = '' AND reused_from = ''`,
		string(storySuite), string(storyLane(0).Target))
	if err != nil {
		return err
	}
	rows.Close() // which reads all of them
	return rows.Err()
}

// list asks for a list while some requests have ended, with 12,000 results each, and others are pending. raw reads the same rows
// for nothing; nil for no such peer.
func list(ctx context.Context, b *Bed, ended, pending int, path string, raw func(context.Context, *Database) error) ([]Side, error) {
	database, err := b.postgres(true, 4)
	if err != nil {
		return nil, err
	}
	log, err := told(ctx, 10, 100, func(s *Story) {
		s.Light = true
		for range ended * b.Scale {
			s.finish()
		}
		for range pending * b.Scale {
			s.ask()
		}
	})
	if err == nil {
		err = filled(ctx, log, database.URL)
	}
	if err != nil {
		return nil, err
	}
	if _, err := database.Exec(ctx, "ANALYZE"); err != nil {
		return nil, err
	}
	site, err := b.site(log, database)
	if err != nil {
		return nil, err
	}
	c := b.client()
	sides := []Side{{"tacho", func(ctx context.Context) ([]float64, error) {
		r, err := http.NewRequestWithContext(ctx, http.MethodGet, site+"/api/v1/"+path, nil)
		if err != nil {
			return nil, err
		}
		// With this header of ours the transport leaves the answer as it came.
		r.Header.Set("Accept-Encoding", "gzip")
		began := time.Now()
		packed, err := send(c, r, http.StatusOK)
		if err != nil {
			return nil, err
		}
		unpacked, err := gzip.NewReader(bytes.NewReader(packed))
		if err != nil {
			return nil, err
		}
		text, err := io.ReadAll(unpacked)
		return []float64{milliseconds(time.Since(began)), float64(len(text)) / 1000, float64(len(packed)) / 1000}, err
	}}}
	if raw != nil {
		sides = append(sides, Side{rawRows, func(ctx context.Context) ([]float64, error) {
			began := time.Now()
			err := raw(ctx, database)
			return []float64{milliseconds(time.Since(began)), 0, 0}, err
		}})
	}
	return sides, nil
}
