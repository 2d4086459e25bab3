package readmodel

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"sync"
	"time"

	"github.com/cenkalti/backoff/v4"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/internal/retry"
)

// ErrNotFound is returned by the queries for one thing if nothing has that name.
var ErrNotFound = errors.New("not found")

// Reader reads the tables. Its methods are safe for concurrent use.
type Reader struct {
	// pool is for the reads of this Reader, long for those of the Reader that Long returns.
	pool, long *pgxpool.Pool
	line       *Line
	// news is how far the tables are; a Reader and its Long share it.
	news *news
	// needs are shared by both too.
	needs *knownNeeds

	stop   context.CancelFunc
	listen *sync.WaitGroup
}

// news is how far the tables are known to be.
type news struct {
	mu sync.Mutex
	// seq is the last cursor that was heard; moved is closed and made anew when seq grows. mu guards both.
	seq   events.Seq
	moved chan struct{}
}

// check fails if the database does not answer or has no tables; its errors differ.
func check(ctx context.Context, pool *pgxpool.Pool) error {
	if err := pool.Ping(ctx); err != nil {
		return unreachable(err)
	}
	_, err := Live(ctx, pool)
	return err
}

// InUTC makes a connection return all times in UTC.
func InUTC(conn *pgx.Conn) {
	conn.TypeMap().RegisterType(&pgtype.Type{
		Name: "timestamptz", OID: pgtype.TimestamptzOID, Codec: &pgtype.TimestamptzCodec{ScanLocation: time.UTC},
	})
}

// prepare makes a session fit for a reader: times in UTC and, if the role exists, only the right to read.
func prepare(ctx context.Context, conn *pgx.Conn, s Schema) error {
	InUTC(conn)
	if s != viewSchema {
		return nil
	}
	_, err := conn.Exec(ctx, query("become_reader"))
	return err
}

// Close ends the listening and all connections, and waits for their end.
func (r *Reader) Close() {
	r.stop()
	r.listen.Wait()
	r.pool.Close()
	r.long.Close()
	r.line.Close()
}

// Away returns since when the database does not answer; nil while it does.
func (r *Reader) Away() *AwayError { return r.line.Away() }

// Cursor returns how far the tables are.
func (r *Reader) Cursor(ctx context.Context) (Cursor, error) {
	return one[Cursor](ctx, r.pool, "cursor")
}

// WaitFor returns as soon as the tables hold everything up to seq, or with the error of ctx. A caller that
// appended an event waits with its sequence before it reads what it wrote.
func (r *Reader) WaitFor(ctx context.Context, seq events.Seq) error {
	for {
		at, moved := r.news.heard()
		if at >= seq {
			return nil
		}
		select {
		case <-moved:
		case <-ctx.Done():
			return fmt.Errorf("wait until the tables hold event %d (they are at %d): %w", seq, at, context.Cause(ctx))
		}
	}
}

// Changed returns a channel that is closed when the tables move beyond seq. It is closed at once if they are beyond it
// already. Pages that follow the tables wait on it.
func (r *Reader) Changed(seq events.Seq) <-chan struct{} {
	r.news.mu.Lock()
	defer r.news.mu.Unlock()
	if r.news.seq > seq {
		closed := make(chan struct{})
		close(closed)
		return closed
	}
	return r.news.moved
}

// Heard returns how far the tables are, as far as the listener knows. Changed uses the same. It is 0 until the listener
// has read the cursor for the first time.
func (r *Reader) Heard() events.Seq {
	at, _ := r.news.heard()
	return at
}

func (n *news) heard() (events.Seq, <-chan struct{}) {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.seq, n.moved
}

// hear notes the cursor, and wakes all waiting calls if it has grown. A rebuild may set it back; this wakes none.
func (n *news) hear(seq events.Seq) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if seq > n.seq {
		close(n.moved)
		n.moved = make(chan struct{})
	}
	n.seq = seq
}

// follow listens until ctx ends. It makes a new connection whenever one breaks.
func (r *Reader) follow(ctx context.Context) {
	wait := retry.Pauses(50*time.Millisecond, 5*time.Second)
	// The error is that of ctx: nothing else ends the retries.
	_ = backoff.Retry(func() error { return r.hearAll(ctx, wait.Reset) }, backoff.WithContext(wait, ctx))
}

// hearAll listens on one connection until it breaks. It reads the cursor after it began to listen, so that
// it misses no change between the two.
func (r *Reader) hearAll(ctx context.Context, connected func()) error {
	conn, err := pgx.ConnectConfig(ctx, r.pool.Config().ConnConfig)
	if err != nil {
		return err
	}
	defer conn.Close(context.WithoutCancel(ctx))
	if _, err := conn.Exec(ctx, "LISTEN "+Channel); err != nil {
		return err
	}
	pause := retry.Pauses(50*time.Millisecond, 5*time.Second)
	c, err := one[Cursor](ctx, conn, "cursor")
	for err != nil && !conn.IsClosed() { // no projector has begun yet
		if !retry.Sleep(ctx, pause.NextBackOff()) {
			return ctx.Err()
		}
		c, err = one[Cursor](ctx, conn, "cursor")
	}
	if err != nil {
		return err
	}
	connected()
	r.news.hear(c.Seq)
	for {
		n, err := conn.WaitForNotification(ctx)
		if err != nil {
			return err
		}
		seq, err := strconv.ParseUint(n.Payload, 10, 64)
		if err != nil {
			continue // not from a projector: any user may notify
		}
		r.news.hear(events.Seq(seq))
	}
}

// querier is a pool, a connection or a transaction.
type querier interface {
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
}

// snapshot runs f on one state of the tables.
func (r *Reader) snapshot(ctx context.Context, f func(pgx.Tx) error) error {
	return pgx.BeginTxFunc(ctx, r.pool, pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly}, f)
}

// all returns the rows of the named query as structs. Without rows the list is empty, not nil.
func all[T any](ctx context.Context, q querier, name string, args ...any) ([]T, error) {
	rows, err := q.Query(ctx, query(name), args...)
	if err != nil {
		return nil, fmt.Errorf("query %s: %w", name, tooLong(name, err))
	}
	return collect[T](rows, name)
}

// values returns the only column of the named query.
func values[T any](ctx context.Context, q querier, name string, args ...any) ([]T, error) {
	rows, err := q.Query(ctx, query(name), args...)
	if err != nil {
		return nil, fmt.Errorf("query %s: %w", name, tooLong(name, err))
	}
	list, err := pgx.CollectRows(rows, pgx.RowTo[T])
	if err != nil {
		return nil, fmt.Errorf("query %s: %w", name, tooLong(name, err))
	}
	return list, nil
}

// collect returns the rows of the named query as structs. Each column must have a field, and each field a column.
func collect[T any](rows pgx.Rows, name string) ([]T, error) {
	list, err := pgx.CollectRows(rows, pgx.RowToStructByName[T])
	if err != nil {
		return nil, fmt.Errorf("query %s as %s: %w", name, reflect.TypeFor[T](), tooLong(name, err))
	}
	return list, nil
}

// one returns the only row of the named query, or ErrNotFound.
func one[T any](ctx context.Context, q querier, name string, args ...any) (T, error) {
	list, err := all[T](ctx, q, name, args...)
	var zero T
	if err != nil {
		return zero, err
	}
	if len(list) == 0 {
		return zero, ErrNotFound
	}
	return list[0], nil
}
