// Package watchdog tells people what stands still, is gone or is late, and when that is over.
//
//	log ────────▶ fold (state.go, fold.go) ─┐
//	presence ───▶ view (view.go) ───────────┼─▶ judge, a pure decision ─▶ AlertRaised, AlertCleared ─▶ log
//	log's head, tables' cursor: probes ─────┘        once a tick                                        │
//	                                                                            webhook (hook.go) ◀─────┘
//
// # Raising and clearing
//
// The judgement names the alerts that should stand now, and those of which it cannot be told yet; all others of
// its kinds should not stand. What the log has otherwise is put right. To raise what stands and to clear what
// does not records nothing, so any number of watchdogs may run, and one that is started finds its own alerts in the
// log, keeps those that go on and clears those that are over.
//
// Two watchdogs may see a thing differently for a moment, and say it in other words. So an alert that stands is
// raised in other words only when this watchdog itself says it otherwise than a moment ago, and is cleared only
// after it stood for a few seconds.
//
// Who is silent package presence tells. Nobody is called silent while the log is being read or is away, and before
// everybody was heard for OfflineAfter. What is unknown (the length of a job the
// like of which never ended, the tables where there is no way to ask them) is compared with nothing.
//
// # When the log itself is away
//
// Then nothing can be recorded. The alert stands in memory, where pages and metrics of the same process see it
// (Local), and the webhook hears of it at once, with sequence 0. When the log is back, both its events are
// recorded, with the true times in their words.
package watchdog

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/tachobench/tacho/control"
	"github.com/tachobench/tacho/eventlog"
	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/internal/retry"
	"github.com/tachobench/tacho/ledger"
	"github.com/tachobench/tacho/presence"
	"github.com/tachobench/tacho/readmodel"
)

const (
	source = "watchdog"
	// askWithin bounds each question to the log or the tables, and each append.
	askWithin = 5 * time.Second
	// settle is how long an alert stands at least: two watchdogs do not see everything at the same moment.
	settle = 5 * time.Second
)

// Tables are asked how far they are.
type Tables interface {
	Cursor(ctx context.Context) (readmodel.Cursor, error)
}

// Config is what a Watchdog needs.
type Config struct {
	Log eventlog.Log
	// Hearing tells who is silent; nil calls nobody silent.
	Hearing presence.Hearing
	// Tables may be nil: then nothing is said of them.
	Tables Tables
	// Control records the alerts.
	Control *control.Control
	Limits  Limits
	// Hook is told of every alert, whoever raised it; nil tells nobody.
	Hook *Hook
	// Tick is how often everything is looked at. 0 is one second.
	Tick    time.Duration
	Clock   func() time.Time
	Logger  *slog.Logger
	Metrics *Metrics
}

// Watchdog is one watchdog. Run it once.
type Watchdog struct {
	Config
	// mu guards everything below: the decisions and the probes come from goroutines of their own.
	mu   sync.Mutex
	view *view
	// standing are the alerts that the log said last, up to the event at; counted is set once they were looked at.
	standing []ledger.Alert
	at       events.Seq
	counted  bool
	// said are the words of the alerts that this watchdog wants.
	said map[events.AlertKey]string
	// local are the alerts that tables may not show.
	local []readmodel.Alert
}

// New returns a watchdog; it does nothing before Run.
func New(c Config) *Watchdog {
	if c.Tick == 0 {
		c.Tick = time.Second
	}
	if c.Hearing == nil {
		c.Hearing = presence.Deaf{}
	}
	if c.Metrics == nil {
		c.Metrics = NewMetrics(nil)
	}
	w := &Watchdog{Config: c, view: newView(), said: map[events.AlertKey]string{}}
	c.Metrics.standing.of(w.shown)
	return w
}

// Run asks whether log and tables answer, and tells the webhook, until ctx ends. The shell has the watchdog judge.
func (w *Watchdog) Run(ctx context.Context) error {
	g, running := errgroup.WithContext(ctx)
	g.Go(func() error { return w.probeLog(running) })
	g.Go(func() error { return w.tick(running) })
	if w.Tables != nil {
		g.Go(func() error { return w.probeTables(running) })
	}
	if w.Hook != nil {
		g.Go(func() error { return w.Hook.run(running, w.Log, w.Logger, w.Metrics) })
	}
	if err := g.Wait(); err != nil && ctx.Err() == nil {
		return fmt.Errorf("watchdog: %w", err)
	}
	return nil
}

// Local returns the alerts that stand and that tables may not show: that they are late, and that the log is away.
func (w *Watchdog) Local() []readmodel.Alert {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.local)
}

// shown returns all alerts that stand, in the log or in memory.
func (w *Watchdog) shown() []readmodel.Alert {
	w.mu.Lock()
	defer w.mu.Unlock()
	list := slices.Clone(w.local)
	for _, a := range w.standing {
		if !slices.ContainsFunc(list, func(l readmodel.Alert) bool { return l.Key == a.Key }) {
			list = append(list, row(a))
		}
	}
	return list
}

func row(a ledger.Alert) readmodel.Alert {
	return readmodel.Alert{
		Key: a.Key, Kind: a.Kind, About: a.About, Message: a.Message, Action: a.Action,
		RaisedAt: a.At, RaisedSeq: a.Seq, ChangedAt: a.At, ChangedSeq: a.Seq,
	}
}

// tick tells of a log that is away where it can be told.
func (w *Watchdog) tick(ctx context.Context) error {
	for retry.Sleep(ctx, w.Tick) {
		w.mu.Lock()
		w.speak(w.Clock())
		w.mu.Unlock()
	}
	return nil
}
