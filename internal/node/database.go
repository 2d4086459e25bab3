package node

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/tachobench/tacho/internal/retry"
	"github.com/tachobench/tacho/internal/usage"
	"github.com/tachobench/tacho/readmodel"
)

// migrate prepares the database at url for this program. It waits for a configured server that does not answer yet.
func (h *Host) migrate(ctx context.Context, url string) error {
	if h.Config.Database.URL != "" {
		if err := h.awaitDatabase(ctx); err != nil {
			return err
		}
	}
	if err := readmodel.Migrate(ctx, url); err != nil {
		return fmt.Errorf("prepare the database: %w", err)
	}
	return nil
}

// awaitDatabase waits for the Postgres that the configuration names. It returns an error of the server itself, such as a
// wrong password, at once.
func (h *Host) awaitDatabase(ctx context.Context) error {
	c, err := pgx.ParseConfig(h.Config.Database.URL)
	if err != nil {
		return usage.Errorf("database.url (TACHO_DATABASE_URL) is not the address of a Postgres: use the form postgres://user:password@host:port/database")
	}
	if c.ConnectTimeout == 0 || c.ConnectTimeout > tryTimeout {
		c.ConnectTimeout = tryTimeout
	}
	where := fmt.Sprintf("%s:%d", c.Host, c.Port)
	w := newWaiting(h.Config.StartWait.Std(), h.Say)
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

// innermost returns the first cause of an error, without the texts around it.
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
