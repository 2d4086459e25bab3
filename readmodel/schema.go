package readmodel

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"reflect"
	"strings"
	"time"

	"github.com/cenkalti/backoff/v4"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/pressly/goose/v3"

	"github.com/tachobench/tacho/internal/retry"
)

const (
	// Channel is notified with the sequence of the cursor after each transaction of the projector.
	Channel = "tacho_cursor"

	viewSchema = "tacho"
	readerRole = "tacho_reader"
	// migrationLock is the lock that lets only one program migrate at a time; the number means nothing.
	migrationLock = 0x7461_6368_6f01
)

// Table is one table of a generation.
type Table struct {
	Name string
	// Row is the struct of its rows, with a field for each column (see Columns).
	Row reflect.Type
	// Key are the columns of the primary key.
	Key []string
	// Numbered tables have one number as key.
	Numbered bool
}

// Tables returns all tables of a generation.
func Tables() []Table {
	return []Table{
		{"benchmark_request", reflect.TypeFor[Request](), []string{"request_id"}, false},
		{"job_queue", reflect.TypeFor[Job](), []string{"job_id"}, false},
		{"attempt", reflect.TypeFor[Attempt](), []string{"token"}, true},
		{"queue", reflect.TypeFor[QueueEntry](), []string{"position"}, true},
		{"result", reflect.TypeFor[ResultRow](), []string{"suite", "tag", "benchmark", "profile", "scenario", "backend", "target", "env", "sample"}, false},
		{"block", reflect.TypeFor[BlockRow](), []string{"suite", "tag", "beside", "benchmark", "profile", "scenario", "backend", "target", "environment"}, false},
		{"error", reflect.TypeFor[JobError](), []string{"seq"}, true},
		{"diagnostic", reflect.TypeFor[DiagnosticRow](), []string{"token", "place"}, false},
		{"collector_config", reflect.TypeFor[Collector](), []string{"name"}, false},
		{"assignment", reflect.TypeFor[AssignmentRow](), []string{"target", "set", "name"}, false},
		{"lane", reflect.TypeFor[LaneRow](), []string{"target", "set"}, false},
		{"definition", reflect.TypeFor[Definition](), []string{"suite", "digest"}, false},
		{"definition_line", reflect.TypeFor[DefinitionLine](), []string{"suite", "branch"}, false},
		{"job_duration", reflect.TypeFor[DurationsRow](), []string{"suite", "target", "set", "kind", "backend", "profile"}, false},
		{"job_use", reflect.TypeFor[UseRow](), []string{"suite", "target", "set", "kind", "backend", "profile"}, false},
		{"expected_jobs", reflect.TypeFor[ExpectedRow](), []string{"suite", "kind", "parameters"}, false},
		{"retired_job", reflect.TypeFor[RetiredError](), []string{"job_id"}, false},
		{"alert", reflect.TypeFor[Alert](), []string{"key"}, false},
		{"delivery", reflect.TypeFor[Delivery](), []string{"hook", "delivery"}, false},
		{"outbox", reflect.TypeFor[Comment](), []string{"key"}, false},
		{"machine", reflect.TypeFor[MachineRow](), []string{"name"}, false},
		{"machine_warm", reflect.TypeFor[WarmRow](), []string{"machine", "name"}, false},
		{"account", reflect.TypeFor[Account](), []string{"name"}, false},
		{"named_queue", reflect.TypeFor[NamedQueue](), []string{"name"}, false},
		{"share_policy", reflect.TypeFor[SharePolicy](), []string{"one"}, false},
		{"share", reflect.TypeFor[ShareRow](), []string{"tier", "queue", "account"}, false},
		{"usage", reflect.TypeFor[UsageRow](), []string{"day", "tier", "queue", "account"}, false},
		{"graph", reflect.TypeFor[Graph](), []string{"request_id", "number"}, false},
		{"graph_job", reflect.TypeFor[GraphJobRow](), []string{"request_id", "graph", "number"}, false},
		{"output", reflect.TypeFor[JobOutput](), []string{"job_id", "name"}, false},
		{"noise", reflect.TypeFor[NoiseRow](), []string{"suite", "environment", "benchmark", "profile", "scenario", "backend", "target", "metric", "tag", "request_id", "graph"}, false},
		{"event", reflect.TypeFor[EventRow](), []string{"seq"}, true},
		{"projection_cursor", reflect.TypeFor[Cursor](), []string{"one"}, false},
	}
}

// Schema names one generation of the tables, such as "tacho_g1".
type Schema string

func generation(number int64) Schema { return Schema(fmt.Sprintf("%s_g%d", viewSchema, number)) }

// ErrNotMigrated means that the database holds no tables of Tacho yet.
var ErrNotMigrated = errors.New("the database has no tables of Tacho yet: start the projector once, it makes them")

// Migrate makes or upgrades the live generation, its views and the role of the readers. Any number of
// programs may call it at once. It waits for no reader if the views are right already.
func Migrate(ctx context.Context, url string) error {
	return locked(ctx, url, func(conn *pgx.Conn) error {
		if _, err := conn.Exec(ctx, query("control")); err != nil {
			return fmt.Errorf("make schema %s: %w", viewSchema, err)
		}
		if _, err := conn.Exec(ctx, `INSERT INTO tacho.generation (number) VALUES (1) ON CONFLICT DO NOTHING`); err != nil {
			return fmt.Errorf("name the live generation: %w", err)
		}
		live, err := Live(ctx, conn)
		if err != nil {
			return err
		}
		if err := migrate(ctx, url, conn, live); err != nil {
			return err
		}
		tables := Tables()
		names := make([]string, len(tables))
		for i, t := range tables {
			names[i] = t.Name
		}
		var differ bool
		if err := conn.QueryRow(ctx, query("views_differ"), string(live), names).Scan(&differ); err != nil {
			return fmt.Errorf("compare the views with %s: %w", live, err)
		}
		if !differ {
			return grant(ctx, conn)
		}
		return Exclusively(ctx, conn, func(tx pgx.Tx) error { return Publish(ctx, tx, live) })
	})
}

// rowQuerier is a connection or a transaction.
type rowQuerier interface {
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
}

// Live returns the schema that the views show, or ErrNotMigrated.
func Live(ctx context.Context, db rowQuerier) (Schema, error) { return live(ctx, db, "") }

// HoldLive is Live, and no other schema is published until the transaction ends. It waits for a publication that is under
// way.
func HoldLive(ctx context.Context, tx pgx.Tx) (Schema, error) { return live(ctx, tx, " FOR UPDATE") }

func live(ctx context.Context, db rowQuerier, lock string) (Schema, error) {
	var exists bool
	if err := db.QueryRow(ctx, `SELECT to_regclass('tacho.generation') IS NOT NULL`).Scan(&exists); err != nil {
		return "", fmt.Errorf("find the live generation: %w", err)
	}
	if !exists {
		return "", ErrNotMigrated
	}
	var number int64
	err := db.QueryRow(ctx, `SELECT number FROM tacho.generation`+lock).Scan(&number)
	if errors.Is(err, pgx.ErrNoRows) {
		return "", ErrNotMigrated
	}
	if err != nil {
		return "", fmt.Errorf("find the live generation: %w", err)
	}
	return generation(number), nil
}

// CreateNext makes an empty generation beside all others and returns its name. Readers do not see it.
func CreateNext(ctx context.Context, url string) (Schema, error) {
	var next Schema
	err := locked(ctx, url, func(conn *pgx.Conn) error {
		if _, err := Live(ctx, conn); err != nil {
			return err
		}
		var number int64
		if err := conn.QueryRow(ctx, query("next_generation")).Scan(&number); err != nil {
			return fmt.Errorf("number the next generation: %w", err)
		}
		next = generation(number)
		return migrate(ctx, url, conn, next)
	})
	return next, err
}

// Exclusively runs f in a transaction that takes tables and views away from their readers for a moment. A reader that
// holds one view and wants another must not wait for f while f waits for the reader. If they do, f gives up what it has
// and runs again, until ctx ends. Otherwise Postgres would find the deadlock after a second and end one of them with an
// error.
func Exclusively(ctx context.Context, conn *pgx.Conn, f func(pgx.Tx) error) error {
	again := backoff.WithContext(retry.Pauses(20*time.Millisecond, 200*time.Millisecond), ctx)
	return backoff.Retry(func() error {
		err := pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error {
			if _, err := tx.Exec(ctx, "SET LOCAL lock_timeout = '300ms'"); err != nil {
				return fmt.Errorf("limit the wait for locks: %w", err)
			}
			return f(tx)
		})
		var answer *pgconn.PgError
		if err == nil || errors.As(err, &answer) && (answer.Code == "55P03" || answer.Code == "40P01") { // no lock in time; a deadlock
			return err
		}
		return backoff.Permanent(err)
	}, again)
}

// Publish makes the views show the schema, in the caller's transaction. The generation that was live before
// stays; the caller drops it.
func Publish(ctx context.Context, tx pgx.Tx, s Schema) error {
	var number int64
	if _, err := fmt.Sscanf(string(s), viewSchema+"_g%d", &number); err != nil {
		return fmt.Errorf("publish schema %q: not a generation", string(s))
	}
	var b strings.Builder
	for _, t := range Tables() {
		view, table := pgx.Identifier{viewSchema, t.Name}.Sanitize(), pgx.Identifier{string(s), t.Name}.Sanitize()
		fmt.Fprintf(&b, "DROP VIEW IF EXISTS %s; CREATE VIEW %s AS SELECT * FROM %s;\n", view, view, table)
	}
	fmt.Fprintf(&b, "UPDATE tacho.generation SET number = %d;\n", number)
	if _, err := tx.Exec(ctx, b.String()); err != nil {
		return fmt.Errorf("point the views to %s: %w", s, err)
	}
	return grant(ctx, tx)
}

// execer is a connection or a transaction.
type execer interface {
	Exec(ctx context.Context, sql string, args ...any) (pgconn.CommandTag, error)
}

// grant lets the readers read the views.
func grant(ctx context.Context, db execer) error {
	if _, err := db.Exec(ctx, query("roles")); err != nil {
		return fmt.Errorf("grant the views to %s: %w", readerRole, err)
	}
	return nil
}

// Drop removes a generation with all its rows. It is no error if the generation does not exist.
func Drop(ctx context.Context, tx execer, s Schema) error {
	if _, err := tx.Exec(ctx, "DROP SCHEMA IF EXISTS "+pgx.Identifier{string(s)}.Sanitize()+" CASCADE"); err != nil {
		return fmt.Errorf("drop schema %s: %w", s, err)
	}
	return nil
}

// locked runs f on a connection that holds the lock of migrations.
func locked(ctx context.Context, url string, f func(*pgx.Conn) error) error {
	conn, err := Connect(ctx, url)
	if err != nil {
		return unreachable(err)
	}
	defer conn.Close(context.WithoutCancel(ctx)) // gives the lock back in any case
	if _, err := conn.Exec(ctx, `SET client_min_messages = warning`); err != nil {
		return fmt.Errorf("prepare the migration: %w", err)
	}
	if _, err := conn.Exec(ctx, `SELECT pg_advisory_lock($1)`, int64(migrationLock)); err != nil {
		return fmt.Errorf("wait for other migrations: %w", err)
	}
	return f(conn)
}

// migrate makes the schema if it is missing and brings its tables up to date.
func migrate(ctx context.Context, url string, conn *pgx.Conn, s Schema) error {
	if _, err := conn.Exec(ctx, "CREATE SCHEMA IF NOT EXISTS "+pgx.Identifier{string(s)}.Sanitize()); err != nil {
		return fmt.Errorf("make schema %s: %w", s, err)
	}
	config, err := pgx.ParseConfig(url)
	if err != nil {
		return fmt.Errorf("database URL: %w", err)
	}
	config.RuntimeParams["search_path"] = string(s)
	db := stdlib.OpenDB(*config)
	defer db.Close()
	files, err := fs.Sub(migrations, "migrations")
	if err != nil {
		return fmt.Errorf("read the migrations: %w", err)
	}
	provider, err := goose.NewProvider(goose.DialectPostgres, db, files, goose.WithSlog(slog.New(slog.DiscardHandler)))
	if err != nil {
		return fmt.Errorf("read the migrations: %w", err)
	}
	if _, err := provider.Up(ctx); err != nil {
		return fmt.Errorf("migrate schema %s: %w", s, err)
	}
	return nil
}

// unreachable adds to an error what to do if the database does not answer.
func unreachable(err error) error {
	return fmt.Errorf("reach Postgres: check that it runs and that the database URL is right: %w", err)
}
