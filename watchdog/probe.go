package watchdog

import (
	"context"
	"errors"
	"time"

	"github.com/tachobench/tacho/eventlog"
	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/internal/retry"
	"github.com/tachobench/tacho/readmodel"
)

// probeLog asks the log whether it takes appends, again and again.
func (w *Watchdog) probeLog(ctx context.Context) error {
	for {
		asked := w.Clock()
		asking, cancel := context.WithTimeout(ctx, logWithin)
		head, err := w.Log.Takes(asking)
		cancel()
		quorum := new(eventlog.QuorumError)
		alone := errors.As(err, &quorum)
		asked = asked.Add(-quorum.Quiet)
		if ctx.Err() != nil {
			return nil
		}
		w.mu.Lock()
		w.complain(ctx, "log", w.view.log.silent, err)
		w.view.log.alone = alone
		if err == nil {
			w.view.log.head, w.view.log.answered = head.Last, true
		}
		w.noteLog(&w.view.log.silent, asked, err)
		w.speak(w.Clock())
		w.mu.Unlock()
		if !retry.Together(ctx, w.Tick) {
			return nil
		}
	}
}

// noteLog takes the result of a question to the log. The caller holds mu.
func (w *Watchdog) noteLog(since *time.Time, asked time.Time, err error) {
	now := w.Clock()
	w.view.look(now, w.Tick)
	w.view.log.note(since, later(asked, w.view.woke), now, err, unreachableAfter)
}

// probeTables asks the tables for their place, again and again.
func (w *Watchdog) probeTables(ctx context.Context) error {
	for {
		w.mu.Lock()
		head, known := w.view.log.head, w.view.log.answered
		w.mu.Unlock()
		if known {
			w.askTables(ctx, head)
		}
		if !retry.Together(ctx, w.Tick) {
			return nil
		}
	}
}

func (w *Watchdog) askTables(ctx context.Context, head events.Seq) {
	asked := w.Clock()
	asking, cancel := context.WithTimeout(ctx, tablesWithin)
	defer cancel()
	cursor, err := w.Tables.Cursor(asking)
	if ctx.Err() != nil {
		return
	}
	if errors.Is(err, readmodel.ErrNotFound) {
		err = nil // Postgres answers: no projector has begun yet, so the tables are behind
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.complain(ctx, "tables", w.view.tables.failing, err)
	w.view.look(w.Clock(), w.Tick)
	w.view.tables.note(later(asked, w.view.woke), head, cursor.Seq, err, w.Limits.LagEvents)
}

// complain counts a failed probe, and logs it if the one before did not fail.
func (w *Watchdog) complain(ctx context.Context, probe string, since time.Time, err error) {
	if err == nil {
		return
	}
	w.Metrics.failures.WithLabelValues(probe).Inc()
	if since.IsZero() {
		w.Logger.WarnContext(ctx, "a probe is not answered", "probe", probe, "error", err)
	}
}
