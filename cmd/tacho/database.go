package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/tachobench/tacho/internal/retry"
	"github.com/tachobench/tacho/projector"
	"github.com/tachobench/tacho/readmodel"
)

// migrate prepares the database at url for this program. A server of somebody else's that does not answer yet
// is waited for.
func (p *program) migrate(ctx context.Context, url string) error {
	if p.config.Database.URL != "" {
		if err := p.awaitDatabase(ctx); err != nil {
			return err
		}
	}
	if err := readmodel.Migrate(ctx, url); err != nil {
		return fmt.Errorf("prepare the database: %w", err)
	}
	return nil
}

// awaitDatabase waits for the Postgres that the configuration names. What it refuses by its own words, such as
// a password, is not tried again.
func (p *program) awaitDatabase(ctx context.Context) error {
	c, err := pgx.ParseConfig(p.config.Database.URL)
	if err != nil {
		return usagef("database.url (TACHO_DATABASE_URL) is no address of a Postgres: use the form postgres://user:password@host:port/database")
	}
	if c.ConnectTimeout == 0 || c.ConnectTimeout > tryTimeout {
		c.ConnectTimeout = tryTimeout
	}
	where := fmt.Sprintf("%s:%d", c.Host, c.Port)
	w := newWaiting(p.config.StartWait.Std(), p.say)
	for {
		conn, err := pgx.ConnectConfig(ctx, c)
		if err == nil {
			return conn.Close(ctx)
		}
		var said *pgconn.PgError
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case errors.As(err, &said) && said.Code != "57P03": // it is starting up
			return fmt.Errorf("the Postgres at %s refuses us (%s): check database.url (TACHO_DATABASE_URL)", where, said.Message)
		case !w.goesOn("no Postgres answers at " + where):
			return fmt.Errorf("no Postgres answers at %s (%w): check database.url (TACHO_DATABASE_URL), and that the server runs", where, innermost(err))
		}
		retry.Sleep(ctx, tryEvery)
	}
}

// tryTimeout bounds one try to connect to a Postgres, or to ask GitHub who we are.
const tryTimeout = 5 * time.Second

// innermost returns the first cause of an error, without all that was said around it.
func innermost(err error) error {
	for {
		switch e := err.(type) {
		case interface{ Unwrap() error }:
			if e.Unwrap() == nil {
				return err
			}
			err = e.Unwrap()
		case interface{ Unwrap() []error }:
			if len(e.Unwrap()) == 0 {
				return err
			}
			err = e.Unwrap()[0]
		default:
			return err
		}
	}
}

// projectorLock has the projectors of one database run one after another; the number means nothing.
const projectorLock = 0x7461_6368_6f02

// inTurn runs a projector when no other one does. The lock goes with its connection, so that two may run for a
// moment after a fault; the tables let one of them write, and the other waits for its turn again.
func inTurn(ctx context.Context, url string, logger *slog.Logger, project func(context.Context) error) error {
	for told := false; ; {
		unlock, err := takeTurn(ctx, url)
		switch {
		case err != nil:
			logger.Warn("the lock of the projectors cannot be taken, trying again", "error", err)
		case unlock != nil:
			err = project(ctx)
			unlock()
			if told = false; !errors.Is(err, projector.ErrFenced) {
				return err
			}
		case !told:
			logger.Warn("another projector writes the tables: this one waits for its turn")
			told = true
		}
		if !retry.Sleep(ctx, time.Second) {
			return ctx.Err()
		}
	}
}

// takeTurn takes the lock if it is free; unlock is nil when it is not.
func takeTurn(ctx context.Context, url string) (unlock func(), err error) {
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		return nil, err
	}
	free := false
	err = conn.QueryRow(ctx, `SELECT pg_try_advisory_lock($1)`, int64(projectorLock)).Scan(&free)
	end := func() {
		// The server frees the lock when the connection ends, however it does.
		_ = conn.Close(context.WithoutCancel(ctx))
	}
	if err != nil || !free {
		end()
		return nil, err
	}
	return end, nil
}
