package projector

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/tachobench/tacho/internal/retry"
	"github.com/tachobench/tacho/readmodel"
)

// Keep runs projectors until ctx ends, and mends by itself what Run leaves to an operator:
//
//   - An upgrade that folds the log in another way finds the tables outdated. Keep fills them anew from the log; pages
//     show the old tables until the new ones are complete.
//   - A park of an event that the tables hold, and the end of one, give other tables. They are filled anew in the same way.
//   - With Config.Shared another process may project into the same tables. Keep waits until that one has ended.
//
// Every other error of Run is returned. If ctx ends while Keep waits for its turn, the error is that of ctx.
func (p *Projector) Keep(ctx context.Context) error {
	if !p.config.Shared {
		return p.renew(ctx)
	}
	return p.inTurn(ctx)
}

// renew runs the projector, and fills the tables anew where that is what it needs.
func (p *Projector) renew(ctx context.Context) error {
	for {
		err := p.Run(ctx)
		if !anew(err) {
			return err
		}
		p.config.Logger.WarnContext(ctx, "the tables are filled anew from the log", "why", err)
		for err = p.refill(ctx); anew(err) || p.stays(ctx, err); err = p.refill(ctx) {
			if ctx.Err() != nil {
				return nil
			}
		}
		if err != nil || ctx.Err() != nil {
			return err
		}
	}
}

// anew reports whether tables must be filled anew: folds of another version filled them, or other events are parked now.
func anew(err error) bool { return errors.Is(err, ErrTablesOutdated) || errors.Is(err, ErrParks) }

// refill fills the tables anew.
func (p *Projector) refill(ctx context.Context) error {
	began := time.Now()
	report, err := Replay(ctx, p.config.Log, p.config.URL, ReplayOptions{MaxInProgress: p.config.MaxInProgress, Logger: p.config.Logger})
	switch {
	case ctx.Err() != nil:
		return nil
	case err != nil:
		return fmt.Errorf("fill the tables anew: %w; try `tacho replay`", err)
	}
	p.wentOn(report.Seq)
	p.config.Logger.WarnContext(ctx, "the tables are filled anew", "events", report.Seq, "took", time.Since(began).Round(time.Millisecond))
	return nil
}

// turnPause is the pause between two looks whether the lock of the projectors is free.
const turnPause = time.Second

// inTurn runs the projector while it holds the lock. The lock ends with its connection, so after a fault two projectors may
// run for a moment. The tables let only one of them write (ErrFenced); the other one waits for its turn again.
func (p *Projector) inTurn(ctx context.Context) error {
	for told := false; ; {
		unlock, err := takeTurn(ctx, p.config.URL)
		switch {
		case err != nil:
			p.config.Logger.WarnContext(ctx, "the lock of the projectors cannot be taken, trying again", "error", err)
		case unlock != nil:
			err = p.renew(ctx)
			unlock()
			if told = false; !errors.Is(err, ErrFenced) {
				return err
			}
		case !told:
			p.config.Logger.WarnContext(ctx, "another projector writes the tables: this one waits for its turn")
			told = true
		}
		if !retry.Sleep(ctx, turnPause) {
			return ctx.Err()
		}
	}
}

// turnLock is the advisory lock that the projectors of one database share; the number means nothing.
const turnLock int64 = 0x7461_6368_6f02

// takeTurn takes the lock if it is free; unlock is nil when it is not.
func takeTurn(ctx context.Context, url string) (unlock func(), err error) {
	conn, err := readmodel.Connect(ctx, url)
	if err != nil {
		return nil, err
	}
	free := false
	err = conn.QueryRow(ctx, `SELECT pg_try_advisory_lock($1)`, turnLock).Scan(&free)
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
