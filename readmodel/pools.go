package readmodel

import (
	"cmp"
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

	"github.com/tachobench/tacho/rules/graph"
)

// TooLongError is returned by a Reader for long reads if Postgres ended a query because it took too long.
type TooLongError struct {
	// Query is the name of the query, such as graph_facts. It says what was to be read.
	Query string
	cause error
}

func (e *TooLongError) Error() string { return fmt.Sprintf("the read took too long (%v)", e.cause) }
func (e *TooLongError) Unwrap() error { return e.cause }

// Pools says how many connections a Reader may hold.
type Pools struct {
	// Long is for the Reader that Long returns; 0 means 4. All other reads have as many connections as the URL says
	// (pool_max_conns), by default one for each processor and at least 4.
	Long int
	// Tracer is told of each statement; nil for none.
	Tracer pgx.QueryTracer

	// What follows is how long a read waits. The values for 0 are those of people who wait for a page.

	// Patience is for a sign of life of Postgres; 0 means 2 s.
	Patience time.Duration
	// LockWithin is for a table that somebody has locked; 0 means half a second.
	LockWithin time.Duration
	// LongWithin is for one query of a long read; 0 means 10 s.
	LongWithin time.Duration
}

// Patient returns Pools whose reads wait that long for everything. It is for tests that are not about these bounds: on a machine
// that has much else to do nothing keeps a bound of seconds.
func Patient(within time.Duration) Pools {
	return Pools{Patience: within, LockWithin: within, LongWithin: within}
}

// withDefaults fills in the times that are not set.
func (p Pools) withDefaults() Pools {
	p.Patience = cmp.Or(p.Patience, quickPatience)
	p.LockWithin = cmp.Or(p.LockWithin, lockWithin)
	p.LongWithin = cmp.Or(p.LongWithin, longWithin)
	return p
}

// milliseconds is a time as Postgres takes it. It takes 0 for no bound at all.
func milliseconds(d time.Duration) string { return strconv.FormatInt(max(1, d.Milliseconds()), 10) }

const (
	// queryCanceled is the code of Postgres for a query that took too long or was cancelled by its client.
	queryCanceled = "57014"
	// lockedOut is the code of Postgres for a wait for a lock that took too long.
	lockedOut = "55P03"
	// longConnections is how many connections long reads have unless Pools says otherwise.
	longConnections = 4
	// longWithin is how long one query of a long read may take. Without this bound four queries that search a huge
	// archive would keep all others out.
	longWithin = 10 * time.Second
	// quickPatience is how long pages wait for a sign of life. With the pause before they wait at most 2.5 s.
	quickPatience = 2 * time.Second
	// lockWithin bounds how long a read waits for a table that somebody has locked.
	lockWithin = 500 * time.Millisecond
)

// Open returns a Reader of the live tables at the database URL. ctx bounds only the opening. Call Close at the
// end. Errors: ErrNotMigrated if no projector ever ran there.
func Open(ctx context.Context, url string) (*Reader, error) { return OpenPools(ctx, url, Pools{}) }

// OpenPools is Open with the given numbers of connections and bounds.
func OpenPools(ctx context.Context, url string, p Pools) (*Reader, error) {
	return open(ctx, url, viewSchema, p)
}

// OpenSchema is Open for one generation, such as a rebuild that ends in the past. It reads with the rights
// of the URL's user, because the readers' role sees only the live tables.
func OpenSchema(ctx context.Context, url string, s Schema) (*Reader, error) {
	return open(ctx, url, s, Pools{})
}

func open(ctx context.Context, url string, s Schema, p Pools) (*Reader, error) {
	config, err := pgxpool.ParseConfig(url)
	if err != nil {
		return nil, fmt.Errorf("database URL: %w", err)
	}
	p = p.withDefaults()
	config.ConnConfig.Tracer = p.Tracer
	config.ConnConfig.RuntimeParams["search_path"] = string(s)
	config.ConnConfig.RuntimeParams["default_transaction_read_only"] = "on"
	// Most queries have filters that are usually empty. A generic plan reads all rows. A plan for the
	// actual values uses an index, and Postgres makes it in less than a millisecond.
	config.ConnConfig.RuntimeParams["plan_cache_mode"] = "force_custom_plan"
	config.ConnConfig.RuntimeParams["lock_timeout"] = milliseconds(p.LockWithin)
	line := NewLine(config.ConnConfig, p.Patience)
	opened := false
	defer func() {
		if !opened {
			line.Close()
		}
	}()
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
	apart.ConnConfig.RuntimeParams["statement_timeout"] = milliseconds(p.LongWithin)
	long, err := pgxpool.NewWithConfig(ctx, apart)
	if err != nil {
		pool.Close()
		return nil, unreachable(err)
	}
	listening, stop := context.WithCancel(context.WithoutCancel(ctx))
	opened = true
	r := &Reader{line: line, pool: pool, long: long, news: &news{moved: make(chan struct{})}, needs: &knownNeeds{of: map[needsKey][]graph.Between{}}, stop: stop, listen: &sync.WaitGroup{}}
	r.listen.Go(func() { r.follow(listening) })
	return r, nil
}

// Long returns a Reader of the same tables for reads that take long or are very many. It has
// connections of its own, so such reads never take one that a page needs. Each of its queries ends
// after 10 s (Pools.LongWithin) with a *TooLongError. Closing r closes it.
func (r *Reader) Long() *Reader {
	apart := *r
	apart.pool = r.long
	return &apart
}

// Connections returns how many reads can be under way at once.
func (r *Reader) Connections() int { return int(r.pool.Config().MaxConns) }

// ErrLocked is returned by a Reader if somebody has locked a table.
var ErrLocked = errors.New("a table is locked")

// tooLong wraps err in a TooLongError or ErrLocked if one of their time-outs ended the query of a name.
func tooLong(query string, err error) error {
	var said *pgconn.PgError
	if errors.As(err, &said) && said.Code == queryCanceled {
		return &TooLongError{Query: query, cause: err}
	}
	if said != nil && said.Code == lockedOut {
		return fmt.Errorf("%w (%w)", ErrLocked, err)
	}
	return err
}
