package watchdog

import (
	"context"
	"time"

	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/internal/retry"
)

// probeLog asks the log for its head, again and again.
func (w *Watchdog) probeLog(ctx context.Context) error {
	for {
		asked := w.Clock()
		asking, cancel := context.WithTimeout(ctx, askTimeout)
		head, err := w.Log.Head(asking)
		cancel()
		if ctx.Err() != nil {
			return nil
		}
		w.mu.Lock()
		w.complain(ctx, "log", w.view.log.silent, err)
		if err == nil {
			w.view.log.head, w.view.log.answered = head.Last, true
		}
		w.noteLog(&w.view.log.silent, asked, err)
		w.mu.Unlock()
		if !retry.Sleep(ctx, w.Tick) {
			return nil
		}
	}
}

// noteLog takes the result of a question to the log. The caller holds mu.
func (w *Watchdog) noteLog(since *time.Time, asked time.Time, err error) {
	w.view.log.note(since, asked, w.Clock(), err, unreachableAfter)
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
		if !retry.Sleep(ctx, w.Tick) {
			return nil
		}
	}
}

func (w *Watchdog) askTables(ctx context.Context, head events.Seq) {
	asked := w.Clock()
	asking, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	cursor, err := w.Tables.Cursor(asking)
	if ctx.Err() != nil {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.complain(ctx, "tables", w.view.tables.failing, err)
	w.view.tables.note(asked, head, cursor.Seq, err, w.Limits.LagEvents)
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
