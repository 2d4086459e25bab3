// Package watchdog tells people what stands still, is gone or is late, and when that is over.
//
//	log ────────▶ ledger (of the shell) ────┐
//	presence ───▶ view (view.go) ───────────┼─▶ judge, a pure decision ─▶ AlertRaised, AlertCleared ─▶ log
//	log's head, tables' cursor: probes ─────┘        once a tick                                        │
//	                                                                            webhook (hook.go) ◀─────┘
//
// # Raising and clearing
//
// The judgement names the alerts that should stand now, and those that it cannot decide yet. All other alerts of
// its kinds should not stand. The watchdog raises and clears until the log says the same. Raising an alert that stands
// and clearing one that does not records nothing, so any number of watchdogs may run. A watchdog that starts finds its
// own alerts in the log, keeps those that still hold and clears those that are over.
//
// Two watchdogs may see a thing differently for a moment, and use other words for it. So a watchdog gives a standing
// alert other words only when its own words have changed, and clears an alert only after it stood for a few seconds.
//
// Package presence tells who is silent. No collector is called silent while the log is being read or is away, or before
// all were listened to for OfflineAfter. Unknown values are not judged: the length of a job if none like it has ended,
// and the tables if there is no way to ask them. Clocks of machines do not count: what is seen to begin lasts by the clock
// that never jumps (since.go).
//
// # When the log itself is away
//
// Nothing can be recorded then. The alert stands in memory, where pages and metrics of the same process see it
// (Local) after 3 s. A cluster that elects a leader is away for 4 to 9 s, and nobody has to come for that. So the webhook
// gets the alert after 10 s, with sequence 0. When a log that was away for so long is back, the watchdog records both
// events of the alert, with the true times in their words.
//
// A log that is full answers, and takes nothing either. That stands in memory in the same way (room.go).
//
// # When this process stood still
//
// A process that was stopped, or a machine that slept, asked nobody meanwhile. When the watchdog sees that it did not
// look for some seconds, it counts all that fails from that moment on.
package watchdog

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/tachobench/tacho/blob"
	"github.com/tachobench/tacho/control"
	"github.com/tachobench/tacho/eventlog"
	"github.com/tachobench/tacho/eventlog/presence"
	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/internal/retry"
	"github.com/tachobench/tacho/internal/room"
	"github.com/tachobench/tacho/readmodel"
	"github.com/tachobench/tacho/rules/ledger"
)

const (
	source = "watchdog"
	// askTimeout bounds each append, and each question that is not a probe of log or tables.
	askTimeout = 5 * time.Second
	// logWithin and tablesWithin bound a probe. They are short, so that an alert stands soon after the first one that fails.
	logWithin    = 1500 * time.Millisecond
	tablesWithin = 2 * time.Second
	// settle is the least time that an alert stands: two watchdogs do not see everything at the same moment.
	settle = 5 * time.Second
)

// Tables tell how far they are.
type Tables interface {
	Cursor(ctx context.Context) (readmodel.Cursor, error)
}

// Config is what a Watchdog needs.
type Config struct {
	Log eventlog.Log
	// Hearing tells who is silent; with nil no collector is called silent.
	Hearing presence.Hearing
	// Tables may be nil: then they are not judged.
	Tables Tables
	// Outputs tells how full the store of outputs is. It may be nil: then it is not judged.
	Outputs func(context.Context) (blob.Usage, error)
	// Room tells how full the log, its disk and the database are. It answers at once, and without a place that it does not
	// know now. It may be nil: then nothing of that is judged. Marks are the percents at which it needs a person.
	Room  func() []room.Place
	Marks []int
	// Control records the alerts.
	Control *control.Control
	Limits  Limits
	// Hook posts the alerts of all parts; nil posts none.
	Hook *Hook
	// Others returns alerts that other parts of this process keep in memory, because nothing can be decided on the ledger; it
	// may be nil.
	Others func() []readmodel.Alert
	// Newer is told of an event that the hook does not understand and waits at, and with nil that it goes on; it may be nil.
	Newer func(*events.NewerError)
	// Tick is the time between two probes, and between two looks at whether the log is away. 0 means one second.
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
	// standing are the alerts that stand according to the log, up to the event at. counted is set after the first look.
	standing []ledger.Alert
	at       events.Seq
	counted  bool
	// said holds the words of the alerts that this watchdog wants.
	said map[events.AlertKey]string
	// local are the alerts that the tables may not show.
	local []readmodel.Alert
	// passedOn are the alerts of other parts that the webhook was told of.
	passedOn map[events.AlertKey]bool
}

// New returns a watchdog. It does nothing before Run.
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
	w := &Watchdog{Config: c, view: newView(), said: map[events.AlertKey]string{}, passedOn: map[events.AlertKey]bool{}}
	c.Metrics.standing.of(w.shown)
	return w
}

// Run probes log and tables and posts to the webhook, until ctx ends. The judging is done by Decide, which the shell
// calls.
func (w *Watchdog) Run(ctx context.Context) error {
	g, running := errgroup.WithContext(ctx)
	g.Go(func() error { return w.probeLog(running) })
	g.Go(func() error { return w.tick(running) })
	if w.Tables != nil {
		g.Go(func() error { return w.probeTables(running) })
	}
	if w.Outputs != nil {
		g.Go(func() error { return w.probeOutputs(running) })
	}
	if w.Hook != nil {
		g.Go(func() error { return w.Hook.run(running, w.Log, w.Logger, w.Metrics, w.Newer) })
	}
	if err := g.Wait(); err != nil && ctx.Err() == nil {
		return fmt.Errorf("watchdog: %w", err)
	}
	return nil
}

// Local returns the standing alerts that the tables may not show: the tables are late, the log is away, or a part stays at
// an event that it does not understand.
func (w *Watchdog) Local() []readmodel.Alert {
	w.mu.Lock()
	defer w.mu.Unlock()
	return append(w.others(), w.local...)
}

// others returns the alerts that other parts keep in memory.
func (w *Watchdog) others() []readmodel.Alert {
	if w.Others == nil {
		return nil
	}
	return slices.Clone(w.Others())
}

// shown returns all alerts that stand, in the log or in memory.
func (w *Watchdog) shown() []readmodel.Alert {
	w.mu.Lock()
	defer w.mu.Unlock()
	list := append(w.others(), w.local...)
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

// tick looks again and again whether the log is away or full, and says so in memory and to the webhook.
func (w *Watchdog) tick(ctx context.Context) error {
	for pace := w.Tick; retry.Together(ctx, pace); {
		now := w.Clock()
		w.mu.Lock()
		if w.Room != nil {
			w.view.room.note(w.Room(), w.Marks, now)
		}
		w.speak(now)
		if pace = w.Tick; !w.view.log.silent.IsZero() {
			pace /= 2
		}
		w.mu.Unlock()
	}
	return nil
}
