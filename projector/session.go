package projector

import (
	"context"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"golang.org/x/sync/errgroup"

	"github.com/tachobench/tacho/eventlog"
	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/internal/retry"
	"github.com/tachobench/tacho/readmodel"
)

// session is one connection that writes one generation of the tables. Any error ends it and its
// state. The next session begins from what was committed.
type session struct {
	source   Source
	conn     *pgx.Conn
	schema   readmodel.Schema
	size     int
	channel  string // told of each transaction; empty for none
	metrics  *Metrics
	log      *slog.Logger
	started  func()           // called when the following begins; may be nil
	progress func(events.Seq) // called after each transaction; may be nil

	at       position
	until    events.Seq // the last event. Before it nobody reads the tables, unless there is none (forever)
	identity string
	state    *state
	// passes is for how many batches results pass over those that are there (see addResults).
	passes int
}

// hungAfter is how long Postgres may give no sign of life before the projector gives its connection up. A server that only stood
// still goes on with the same transaction before that; after it the machine may be gone, and the connection with it.
const hungAfter = 20 * time.Second

// connect opens a connection whose tables are those of the schema.
func connect(ctx context.Context, url string, schema readmodel.Schema) (*pgx.Conn, error) {
	config, err := pgx.ParseConfig(url)
	if err != nil {
		return nil, fmt.Errorf("database URL: %w", err)
	}
	return connectTo(ctx, config, schema)
}

func connectTo(ctx context.Context, config *pgx.ConnConfig, schema readmodel.Schema) (*pgx.Conn, error) {
	config.RuntimeParams["search_path"] = string(schema)
	config.RuntimeParams["timezone"] = "UTC"
	// Statements are planned once, when the tables are empty and a scan of all rows looks cheapest. All of them
	// look up rows by key, so the planner must use the indexes from the start. It must not compile statements either,
	// which then look expensive to it.
	for _, way := range []string{"enable_seqscan", "enable_hashjoin", "enable_mergejoin", "jit"} {
		config.RuntimeParams[way] = "off"
	}
	// The plan for one length of an array is the plan for all. Postgres would make some anew each time, which takes as long as the work.
	config.RuntimeParams["plan_cache_mode"] = "force_generic_plan"
	conn, err := pgx.ConnectConfig(ctx, config)
	if err != nil {
		return nil, fmt.Errorf("connect to Postgres: %w", err)
	}
	readmodel.InUTC(conn)
	return conn, nil
}

// run follows the log up to the event until. It returns early if something fails or ctx ends.
//
// Its transactions are visible before they are on the disk. If Postgres dies, it may forget the last of them, but never an
// earlier one alone, and each holds its own cursor. So the next session folds them again: the log holds each event synced.
func (s *session) run(ctx context.Context, maxInProgress int, until events.Seq) error {
	s.until = until
	err := readmodel.Check(ctx, s.conn)
	if err != nil {
		return err
	}
	if _, err := s.conn.Exec(ctx, "SET synchronous_commit = off"); err != nil {
		return fmt.Errorf("commit without the disk: %w", err)
	}
	if s.at, err = loadPosition(ctx, s.conn); err != nil {
		return err
	}
	head, err := eventlog.HeadAt(ctx, s.source, s.at.seq)
	if err != nil {
		return fmt.Errorf("ask for the extent of the log: %w", err)
	}
	if err := check(head, s.at); err != nil {
		return err
	}
	s.identity = head.Identity
	parks, err := s.source.Parks(ctx)
	if err != nil {
		return fmt.Errorf("ask which events are parked: %w", err)
	}
	if err := obeys(s.at, parks); err != nil {
		return err
	}
	understands, err := loadReader(ctx, s.conn, s.at)
	if err != nil {
		return err
	}
	understands.Obey(parks)
	r := &reader{events: understands, size: s.size, at: s.at.seq, chain: s.at.chain, until: until}
	if err := s.open(ctx, r); err != nil {
		return err
	}
	defer r.cursor.Close()
	if s.state, err = loadState(ctx, s.conn, s.at, maxInProgress); err != nil {
		return err
	}
	s.log.InfoContext(ctx, "following the log", "after", s.at.seq, "log_ends_at", head.Last, "schema", s.schema)
	if s.started != nil {
		s.started()
	}
	if s.at.seq >= until {
		return nil
	}
	return s.follow(ctx, r)
}

// open places the reader behind the cursor. It reads the event at the cursor on the way: this must be the archived one.
func (s *session) open(ctx context.Context, r *reader) (err error) {
	if s.at.seq == 0 {
		r.cursor, err = s.source.Follow(ctx, 0)
		return wrap("follow the log", err)
	}
	var before Hash
	if s.at.seq > 1 {
		var link []byte
		if err := s.conn.QueryRow(ctx, statement("load_link"), s.at.seq-1).Scan(&link); err != nil {
			return fmt.Errorf("read the link of event %d: %w", s.at.seq-1, err)
		}
		copy(before[:], link)
	}
	if r.cursor, err = s.source.Follow(ctx, s.at.seq-1); err != nil {
		return fmt.Errorf("follow the log: %w", err)
	}
	last, err := r.cursor.Next(ctx, 1)
	if err == nil {
		err = checkEvent(last[0], s.at, before)
	}
	if err != nil {
		r.cursor.Close()
		return fmt.Errorf("read event %d again: %w", s.at.seq, err)
	}
	return nil
}

// follow folds and writes batches, and reads one batch ahead. The reading and the writing stop together.
func (s *session) follow(ctx context.Context, r *reader) error {
	batches := make(chan batch, 1)
	var rest atomic.Int64 // the pause that the last batch asks for before more is read, in nanoseconds
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error {
		defer close(batches)
		for {
			if pause := time.Duration(rest.Swap(0)); pause > 0 {
				retry.Sleep(ctx, pause)
			}
			b := r.next(ctx)
			select {
			case batches <- b:
			case <-ctx.Done():
				return context.Cause(ctx)
			}
			if b.err != nil || r.at >= r.until {
				return nil
			}
		}
	})
	group.Go(func() error {
		for b := range batches {
			if !b.empty() {
				began := time.Now()
				if err := s.apply(ctx, b); err != nil {
					return err
				}
				rest.Store(int64(restAfter(len(b.events), s.size, time.Since(began))))
			}
			if b.err != nil {
				return b.err
			}
		}
		return nil
	})
	return group.Wait()
}

// restAfter returns how long to wait before more is read, after a batch of n events took so long. The order of a long queue is the
// same work for one event as for many, so it pays to let some come together: a projector that keeps up leaves the processors to those
// whose events they are. It rests only while several come at once, and never when a whole batch or more waits.
func restAfter(n, size int, took time.Duration) time.Duration {
	const several, long, most = 4, 10 * time.Millisecond, 100 * time.Millisecond
	if n < several || n >= size || took < long {
		return 0
	}
	return min(2*took, most)
}

// apply folds one batch and writes it.
func (s *session) apply(ctx context.Context, b batch) error {
	began := time.Now()
	s.state.begin()
	if err := s.state.prefetch(ctx, s.conn, b.facts); err != nil {
		return err
	}
	for _, e := range b.facts {
		s.state.fold(e)
	}
	if err := s.write(ctx, b); err != nil {
		return err
	}
	if stale, refused := s.state.stale, s.state.refused+b.parked; stale+refused > 0 {
		s.log.WarnContext(ctx, "events that no table took", "stale", stale, "refused", refused, "up_to", b.head.Seq)
	}
	s.state.forget()
	s.at.seq, s.at.chain, s.at.parks = b.head.Seq, b.chain, b.parks
	s.metrics.applied(len(b.events), b.head, time.Since(began))
	if s.progress != nil {
		s.progress(b.head.Seq)
	}
	return nil
}

func wrap(operation string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", operation, err)
}
