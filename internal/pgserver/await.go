package pgserver

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

const (
	// PostgreSQL's own error codes.
	codeStarting   = "57P03" // cannot_connect_now
	codeNoDatabase = "3D000" // invalid_catalog_name
	codeDuplicate  = "42P04" // duplicate_database

	askEvery     = 10 * time.Millisecond
	explainAfter = 3 * time.Second
)

// await waits until the database takes connections. It makes the database if there is none, so the next start
// also repairs a crash before the first one made it.
func (s *Server) await(ctx context.Context, progress func(string)) error {
	tick := time.NewTicker(askEvery)
	defer tick.Stop()
	explain := time.After(explainAfter)
	for {
		err := s.openDatabase(ctx)
		if err == nil {
			return nil
		}
		if permanent(err) {
			return fmt.Errorf("open the database of the new PostgreSQL: %w", err)
		}
		select {
		case <-s.done:
			return s.err
		case <-ctx.Done():
			return fmt.Errorf("PostgreSQL did not get ready (%w); its log %s says: %s", context.Cause(ctx), s.log.path(), s.log.tail())
		case <-explain:
			progress("PostgreSQL is not ready yet; after a crash it replays its own log first")
		case <-tick.C:
		}
	}
}

// openDatabase tries once to connect. It makes the database if the server answers that there is none.
func (s *Server) openDatabase(ctx context.Context) error {
	conn, err := pgx.Connect(ctx, s.URL())
	if code(err) == codeNoDatabase {
		return s.createDatabase(ctx)
	}
	if err != nil {
		return err
	}
	return conn.Close(ctx)
}

func (s *Server) createDatabase(ctx context.Context) error {
	conn, err := pgx.Connect(ctx, s.url("postgres"))
	if err != nil {
		return err
	}
	_, err = conn.Exec(ctx, "CREATE DATABASE "+pgx.Identifier{database}.Sanitize())
	if code(err) == codeDuplicate {
		err = nil
	}
	return errors.Join(err, conn.Close(ctx))
}

// permanent reports whether err is an answer that will not change. A server that is still starting first gives no
// answer, because its socket does not exist, and then one with its own code.
func permanent(err error) bool {
	c := code(err)
	return c != "" && c != codeStarting
}

// code returns the code of PostgreSQL's answer; "" if PostgreSQL did not answer.
func code(err error) string {
	if pg, ok := errors.AsType[*pgconn.PgError](err); ok {
		return pg.Code
	}
	return ""
}
