package projector

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strconv"

	"github.com/jackc/pgx/v5"

	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/readmodel"
)

// ReplayOptions say what a replay is for.
type ReplayOptions struct {
	// Verify compares the rebuilt tables with the live ones. It changes nothing and drops the rebuilt tables.
	Verify bool
	// To ends the replay at this event; 0 is the end of the log. Without Verify the copy is kept beside the
	// live tables, which stay as they are. The copy shows the past (readmodel.OpenSchema); the caller
	// drops it (readmodel.Drop). With Verify the live tables must be at this event.
	To events.Seq
	// MaxInProgress must be the same as the projector's (see Config).
	MaxInProgress int
	// BatchSize bounds the events of one transaction; 0 means 1,000.
	BatchSize int
	// Logger may be nil.
	Logger *slog.Logger
	// Progress is called with the event that the replay has reached and the one it ends at; it may be nil.
	Progress func(at, of events.Seq)
}

// Report says what a replay did.
type Report struct {
	// Seq is the last event in the rebuilt tables.
	Seq events.Seq `json:"seq"`
	// Schema holds the rebuilt tables; empty if they were dropped after the comparison.
	Schema readmodel.Schema `json:"schema,omitempty"`
	// Live says that readers see the rebuilt tables now.
	Live bool `json:"live"`
	// Tables has the comparison of each table if the replay verifies.
	Tables []TableReport `json:"tables,omitempty"`
}

// Identical reports whether all tables that were compared are the same row for row.
func (r Report) Identical() bool {
	for _, t := range r.Tables {
		if !t.Identical() {
			return false
		}
	}
	return true
}

// ErrElsewhere means that the live tables are not at the event at which they should be compared.
var ErrElsewhere = errors.New("the live tables can be compared only at the event they have reached; leave the sequence out")

// Replay rebuilds all tables from the log, in a generation beside the live one. Then it compares the two
// (Verify), or keeps the new one beside the live one (To), or makes it the live one: one transaction changes the views
// and drops the old generation. A projector that runs meanwhile continues with the new tables by itself.
func Replay(ctx context.Context, log Source, url string, o ReplayOptions) (Report, error) {
	r, err := newReplay(ctx, log, url, o)
	if err != nil {
		return Report{}, fmt.Errorf("replay: %w", err)
	}
	report, err := r.run(ctx)
	if err == nil && report.Schema != "" {
		return report, nil
	}
	live, dropErr := r.drop(context.WithoutCancel(ctx))
	if live {
		// The swap was committed, and only the answer to it was lost.
		return Report{Seq: r.at, Schema: r.scratch, Live: true}, nil
	}
	if err = errors.Join(err, dropErr); err != nil {
		return Report{}, fmt.Errorf("replay: %w", err)
	}
	return report, nil
}

// replay is one rebuild.
type replay struct {
	source  Source
	url     string
	options ReplayOptions
	live    readmodel.Schema
	scratch readmodel.Schema
	at      events.Seq
}

func newReplay(ctx context.Context, log Source, url string, o ReplayOptions) (*replay, error) {
	if o.BatchSize <= 0 {
		o.BatchSize = maxBatch
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Progress == nil {
		o.Progress = func(events.Seq, events.Seq) {}
	}
	if err := readmodel.Migrate(ctx, url); err != nil {
		return nil, err
	}
	scratch, err := readmodel.CreateNext(ctx, url)
	if err != nil {
		return nil, err
	}
	return &replay{source: log, url: url, options: o, scratch: scratch}, nil
}

func (r *replay) run(ctx context.Context) (Report, error) {
	conn, err := connect(ctx, r.url, "public")
	if err != nil {
		return Report{}, err
	}
	defer conn.Close(context.WithoutCancel(ctx))
	if r.live, err = readmodel.Live(ctx, conn); err != nil {
		return Report{}, err
	}
	if r.options.Verify {
		return r.verify(ctx, conn)
	}
	head, err := r.source.Head(ctx)
	if err != nil {
		return Report{}, fmt.Errorf("ask for the extent of the log: %w", err)
	}
	if to := r.options.To; to > 0 {
		if to > head.Last {
			return Report{}, fmt.Errorf("the log ends at event %d: choose that or an earlier one", head.Last)
		}
		return Report{Seq: to, Schema: r.scratch}, r.build(ctx, to)
	}
	if err := r.build(ctx, head.Last); err != nil {
		return Report{}, err
	}
	for {
		swapped, behind, err := r.swap(ctx, conn)
		if err != nil {
			return Report{}, err
		}
		if swapped {
			return Report{Seq: r.at, Schema: r.scratch, Live: true}, nil
		}
		if err := r.build(ctx, behind); err != nil {
			return Report{}, err
		}
	}
}

// build continues the rebuilt tables up to the event to.
func (r *replay) build(ctx context.Context, to events.Seq) error {
	conn, err := connect(ctx, r.url, r.scratch)
	if err != nil {
		return err
	}
	defer conn.Close(context.WithoutCancel(ctx))
	s := &session{
		source: r.source, conn: conn, schema: r.scratch, size: r.options.BatchSize, metrics: NewMetrics(nil),
		log: r.options.Logger, progress: func(at events.Seq) { r.options.Progress(at, to) },
	}
	if err := s.run(ctx, r.options.MaxInProgress, to); err != nil {
		return fmt.Errorf("fill schema %s: %w", r.scratch, err)
	}
	r.at = to
	return nil
}

// swap makes the rebuilt tables the live ones. If the live ones are ahead, it changes nothing and returns in behind how
// far they are. Events after the end of the log were in another one: nothing waits for them. The lock lets a running projector end its transaction; its next one finds the old tables gone.
func (r *replay) swap(ctx context.Context, conn *pgx.Conn) (swapped bool, behind events.Seq, err error) {
	err = readmodel.Exclusively(ctx, conn, func(tx pgx.Tx) error {
		cursor := pgx.Identifier{string(r.live), "projection_cursor"}.Sanitize()
		if _, err := tx.Exec(ctx, "LOCK TABLE "+cursor+" IN ACCESS EXCLUSIVE MODE"); err != nil {
			return fmt.Errorf("hold the live tables: %w", err)
		}
		var at events.Seq
		if err := tx.QueryRow(ctx, "SELECT coalesce(max(seq), 0) FROM "+cursor).Scan(&at); err != nil {
			return fmt.Errorf("read the live cursor: %w", err)
		}
		if at > r.at {
			head, err := r.source.Head(ctx)
			if err != nil {
				return fmt.Errorf("ask for the extent of the log: %w", err)
			}
			if behind = min(at, head.Last); behind > r.at {
				return nil
			}
		}
		if err := readmodel.Publish(ctx, tx, r.scratch); err != nil {
			return err
		}
		if err := readmodel.Drop(ctx, tx, r.live); err != nil {
			return err
		}
		swapped = true
		_, err := tx.Exec(ctx, `SELECT pg_notify($1, $2)`, readmodel.Channel, strconv.FormatUint(uint64(r.at), 10))
		return wrap("notify the readers", err)
	})
	return swapped && err == nil, behind, err
}

// drop removes the rebuilt tables, unless they are the live ones by now.
func (r *replay) drop(ctx context.Context) (live bool, err error) {
	conn, err := connect(ctx, r.url, "public")
	if err != nil {
		return false, err
	}
	defer conn.Close(ctx)
	err = pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error {
		now, err := readmodel.HoldLive(ctx, tx)
		if live = now == r.scratch; live || err != nil {
			return err
		}
		return readmodel.Drop(ctx, tx, r.scratch)
	})
	return live, err
}
