package projector

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/cenkalti/backoff/v4"
	"github.com/jackc/pgx/v5"

	"github.com/tachobench/tacho/eventlog"
	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/internal/retry"
	"github.com/tachobench/tacho/readmodel"
)

// Version is the version of the folds. It grows when they give other rows for the same log. Tables of
// another version must be filled anew.
const Version = 16

// maxBatch is the default for the number of events in one transaction.
const maxBatch = 1000

// Source is what the projector needs of the log.
type Source interface {
	// Follow returns a cursor over all events after the given sequence.
	Follow(ctx context.Context, after events.Seq) (eventlog.Cursor, error)
	// Head returns the identity and the extent of the log.
	Head(ctx context.Context) (eventlog.Head, error)
	// Parks returns which events no fold takes.
	Parks(ctx context.Context) (events.Parks, error)
}

// Config says what the projector reads and writes.
type Config struct {
	// Log is followed; required.
	Log Source
	// URL is the URL of the database; required. Its user owns the tables.
	URL string
	// MaxInProgress is how many requests the scheduler keeps in progress at once; 0 means 1. The estimates
	// of the queue depend on it, so give a replay the same number.
	MaxInProgress int
	// BatchSize bounds the events of one transaction; 0 means 1,000.
	BatchSize int
	// Shared says that projectors of other processes may write the same tables: Keep waits for its turn.
	Shared bool
	// Full is called with what Postgres says when it has no room, and with "" when it takes rows again. It may be nil.
	Full func(why string)
	// Logger receives what an operator wants to know; nil discards it.
	Logger *slog.Logger
	// Metrics may be nil.
	Metrics *Metrics
	// Newer is told of the event of an unknown type before which the tables stay, and with nil that they go on. It may be nil.
	Newer func(*events.NewerError)
}

// Projector keeps the tables up to date with the log. Make it with New.
type Projector struct {
	config Config
	// newer is the event before which the tables stay; 0 for none. Only the goroutine of Run uses it.
	newer events.Seq
}

// New returns a projector. It does nothing before Run.
func New(c Config) *Projector {
	if c.BatchSize <= 0 {
		c.BatchSize = maxBatch
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	if c.Metrics == nil {
		c.Metrics = NewMetrics(nil)
	}
	if c.Newer == nil {
		c.Newer = func(*events.NewerError) {}
	}
	if c.Full == nil {
		c.Full = func(string) {}
	}
	return &Projector{config: c}
}

// Run migrates the tables and folds the log into them until ctx ends, which is no error. It waits for a database or a
// log that is away. Before an event of a type that this program does not know it waits until that is parked; the tables
// can be read meanwhile. It returns early, with an error that says why, if it would make wrong tables: see the errors of
// this package and eventlog.GapError.
func (p *Projector) Run(ctx context.Context) error {
	wait := retry.Pauses(50*time.Millisecond, 5*time.Second)
	away := false
	try := func() error {
		err := p.follow(ctx, func() {
			if away {
				p.config.Logger.InfoContext(ctx, "the projector is at work again")
				away = false
			}
			wait.Reset()
		})
		if err != nil && permanent(err) {
			return backoff.Permanent(err)
		}
		return err
	}
	err := backoff.RetryNotify(try, backoff.WithContext(wait, ctx), func(err error, pause time.Duration) {
		away = true
		p.config.Metrics.Retries.Inc()
		if full(err) {
			p.config.Full(err.Error())
		}
		p.config.Logger.WarnContext(ctx, "the projector lost Postgres or the log and tries again", "error", err, "pause", pause)
	})
	if ctx.Err() != nil {
		return nil
	}
	if err != nil {
		return fmt.Errorf("projector: %w", err)
	}
	return nil
}

// follow runs one session after another. It returns when one fails for another reason than a swap of the generations.
func (p *Projector) follow(ctx context.Context, started func()) error {
	if err := readmodel.Migrate(ctx, p.config.URL); err != nil {
		return err
	}
	for {
		schema, err := p.session(ctx, started)
		if err == nil || ctx.Err() != nil {
			return err
		}
		if p.stays(ctx, err) {
			continue
		}
		live, liveErr := p.live(ctx)
		switch {
		case liveErr != nil:
			return errors.Join(err, liveErr)
		case swapped(live, schema, err):
			p.config.Logger.InfoContext(ctx, "the tables were filled anew; going on with the new ones", "schema", live)
		case errors.Is(err, errFence):
			return ErrFenced
		default:
			return err
		}
	}
}

func (p *Projector) session(ctx context.Context, started func()) (readmodel.Schema, error) {
	schema, err := p.live(ctx)
	if err != nil {
		return "", err
	}
	conn, done, err := p.open(ctx, schema)
	if err != nil {
		return schema, err
	}
	defer done()
	s := &session{
		source: p.config.Log, conn: conn, schema: schema, size: p.config.BatchSize, channel: readmodel.Channel,
		metrics: p.config.Metrics, log: p.config.Logger, started: started, progress: p.wentOn,
	}
	return schema, s.run(ctx, p.config.MaxInProgress, forever)
}

func (p *Projector) live(ctx context.Context) (readmodel.Schema, error) {
	conn, done, err := p.open(ctx, "public")
	if err != nil {
		return "", err
	}
	defer done()
	return readmodel.Live(ctx, conn)
}

// open connects through a line. Call done at the end.
func (p *Projector) open(ctx context.Context, schema readmodel.Schema) (conn *pgx.Conn, done func(), err error) {
	config, err := pgx.ParseConfig(p.config.URL)
	if err != nil {
		return nil, nil, fmt.Errorf("database URL: %w", err)
	}
	line := readmodel.NewLine(config, hungAfter)
	if conn, err = connectTo(ctx, config, schema); err != nil {
		line.Close()
		return nil, nil, err
	}
	return conn, func() {
		_ = conn.Close(context.WithoutCancel(ctx)) // the server ends the session, or the line does
		line.Close()
	}, nil
}
