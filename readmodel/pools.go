package readmodel

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strconv"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
)

// ErrTooLong is returned by a Reader for long reads when a query was ended because it took too long.
var ErrTooLong = errors.New("the read took too long")

// Pools says how many connections a Reader may hold.
type Pools struct {
	// Long is for the Reader that Long returns; 0 is 4. All other reads have as many as the URL says
	// (pool_max_conns), or one for each processor and at least 4.
	Long int
}

const (
	// queryCanceled is what Postgres calls the end of a query that took too long, or that its client gave up.
	queryCanceled = "57014"
	// longConnections is how many connections long reads have unless Pools says otherwise.
	longConnections = 4
	// longWithin is how long one query of a long read may take. Without it four of them that look through a huge
	// archive would keep all others out.
	longWithin = 10 * time.Second
)

// Open returns a Reader of the live tables at the database URL. ctx bounds the opening only; Close must be
// called. Errors: ErrNotMigrated when no projector ever ran there.
func Open(ctx context.Context, url string) (*Reader, error) { return OpenPools(ctx, url, Pools{}) }

// OpenPools is Open with so many connections.
func OpenPools(ctx context.Context, url string, p Pools) (*Reader, error) {
	return open(ctx, url, viewSchema, p)
}

// OpenSchema is Open for one generation, such as a rebuild that ends in the past. It reads with the rights
// of the URL, for the readers' role sees the live tables only.
func OpenSchema(ctx context.Context, url string, s Schema) (*Reader, error) {
	return open(ctx, url, s, Pools{})
}

func open(ctx context.Context, url string, s Schema, p Pools) (*Reader, error) {
	config, err := pgxpool.ParseConfig(url)
	if err != nil {
		return nil, fmt.Errorf("database URL: %w", err)
	}
	config.ConnConfig.RuntimeParams["search_path"] = string(s)
	config.ConnConfig.RuntimeParams["default_transaction_read_only"] = "on"
	// Most queries have filters that are usually empty. A plan for any value of them reads all rows; a plan for the
	// values that are there uses an index, and is made in less than a millisecond.
	config.ConnConfig.RuntimeParams["plan_cache_mode"] = "force_custom_plan"
	config.AfterConnect = func(ctx context.Context, conn *pgx.Conn) error { return prepare(ctx, conn, s) }
	pool, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		return nil, unreachable(err)
	}
	if err := check(ctx, pool); err != nil {
		pool.Close()
		return nil, err
	}
	apart := config.Copy()
	apart.MinConns, apart.MinIdleConns, apart.MaxConns = 0, 0, longConnections
	if p.Long > 0 {
		apart.MaxConns = int32(min(p.Long, math.MaxInt32))
	}
	apart.ConnConfig.RuntimeParams["max_parallel_workers_per_gather"] = "0" // one connection, one processor
	apart.ConnConfig.RuntimeParams["statement_timeout"] = strconv.FormatInt(longWithin.Milliseconds(), 10)
	long, err := pgxpool.NewWithConfig(ctx, apart)
	if err != nil {
		pool.Close()
		return nil, unreachable(err)
	}
	listening, stop := context.WithCancel(context.WithoutCancel(ctx))
	r := &Reader{pool: pool, long: long, news: &news{moved: make(chan struct{})}, stop: stop, listen: &sync.WaitGroup{}}
	r.listen.Go(func() { r.follow(listening) })
	return r, nil
}

// Long returns a Reader of the same tables for reads that take long, or that come in great numbers. It has
// connections of its own, so that such reads never take one that a page waits for, and each of its queries ends
// after 10 s with ErrTooLong. It is closed with r.
func (r *Reader) Long() *Reader {
	apart := *r
	apart.pool = r.long
	return &apart
}

// Connections returns how many reads can be under way at once.
func (r *Reader) Connections() int { return int(r.pool.Config().MaxConns) }

// tooLong makes of the end of a query by its time-out an ErrTooLong.
func tooLong(err error) error {
	var said *pgconn.PgError
	if errors.As(err, &said) && said.Code == queryCanceled {
		return fmt.Errorf("%w (%w)", ErrTooLong, err)
	}
	return err
}
