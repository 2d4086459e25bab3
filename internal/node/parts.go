package node

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"runtime/debug"
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/sync/errgroup"

	"github.com/tachobench/tacho/artifact"
	"github.com/tachobench/tacho/blob"
	"github.com/tachobench/tacho/control"
	"github.com/tachobench/tacho/eventlog/door"
	"github.com/tachobench/tacho/eventlog/presence"
	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/internal/githubapi"
	"github.com/tachobench/tacho/internal/retry"
	"github.com/tachobench/tacho/internal/tlsfiles"
	"github.com/tachobench/tacho/projector"
	"github.com/tachobench/tacho/readmodel"
	"github.com/tachobench/tacho/rules/graph"
	"github.com/tachobench/tacho/rules/ledger"
	"github.com/tachobench/tacho/rules/suite"
	"github.com/tachobench/tacho/scheduler"
	"github.com/tachobench/tacho/shell"
	"github.com/tachobench/tacho/website"
)

// parts runs the parts of Tacho on a core. Only parts starts them and waits for them.
type parts struct {
	*Host
	core     *core
	token    string
	registry *prometheus.Registry
	// self is the account that comments are written as.
	self githubapi.Account
	// keys are the private keys of this process.
	keys sealKeys
	// suite is the suite that comments and polls ask for unless they name one.
	suite events.SuiteName
	// shell reads the log for all parts that decide on it.
	shell *shell.Shell
	// heard is the listener for heartbeats in this process. Get it with hearing.
	heard *presence.Listener
	// usage is how full the store of outputs is.
	usage *outputUsage
	// room is how full things are.
	room *roomWatch
	// stays are the parts that stay at an event that this program does not understand.
	stays *stays
	// alerts returns the alerts that this process knows and that the tables may not show.
	alerts func() []readmodel.Alert
	// scrub reads the log in the background; nil in a process without a projector.
	scrub *scrub
	// gate is the door of this process.
	gate *door.Door
	// checks are what else must be right before this process is ready.
	checks []func(context.Context) website.Check
	group  *errgroup.Group
	ctx    context.Context
	// outer is the parent of ctx, so it ends a moment earlier.
	outer context.Context
}

func newParts(ctx context.Context, h *Host, k *core, token string) *parts {
	group, inner := errgroup.WithContext(ctx)
	p := &parts{
		Host: h, outer: ctx, core: k, token: token, registry: prometheus.NewRegistry(), group: group, ctx: inner,
		shell: k.ledger(h.Clock, h.Logger), usage: &outputUsage{}, stays: &stays{clock: h.Clock},
	}
	p.room, p.alerts = newRoomWatch(p), p.newer
	p.checks = append(p.checks, p.room.check, p.understands)
	return p
}

// run starts f, which runs until everything ends. An error of f ends everything else, unless it says only that everything
// ends.
func (p *parts) run(f func(context.Context) error) {
	p.group.Go(func() error {
		err := f(p.ctx)
		if (p.ctx.Err() != nil || p.outer.Err() != nil) && errors.Is(err, context.Canceled) {
			return nil
		}
		return err
	})
}

// background runs what a core needs, whatever parts it has.
func (p *parts) background() {
	p.run(p.verifyLog)
	p.core.guard.Learn(p.shell)
	p.shell.Tell(p.core.guard.Told)
	p.run(p.shell.Run)
	if p.core.unopened {
		p.run(func(ctx context.Context) error {
			return p.patiently(ctx, p.stays, "the registry of collectors", func(ctx context.Context) error { return p.openRegistry(ctx, p.core) })
		})
	}
	p.run(p.tidy)
	p.keepOutputs()
	p.run(p.room.run)
	p.gate = p.door()
	p.run(p.gate.Run)
	if p.core.postgres != nil {
		p.run(p.core.postgres.Run)
	}
	if p.core.nats != nil {
		p.run(p.remember)
	}
}

// heapGrowth is how much the heap may grow before it is collected, in percent of itself. With Go's own 100, a core with a
// long log takes twice the memory that it needs. If the operator sets GOGC, that counts instead.
const heapGrowth = 50

// tidy returns memory to the system after the log has been read.
func (p *parts) tidy(ctx context.Context) error {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(heapGrowth)
	}
	if err := p.shell.Wait(ctx, 0); err != nil {
		return err
	}
	debug.FreeOSMemory()
	return nil
}

// door returns the door, which lets collectors in.
func (p *parts) door() *door.Door {
	p.registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "tacho_door_position", Help: "How far the door has read the log: what it knows of keys and lanes.",
	}, func() float64 { return float64(p.core.guard.At()) }))
	by, c := control.By{Actor: "door", Source: "door", Root: "door"}, p.control(nil)
	d := door.Config{
		NC: p.core.nc, Log: p.core.log, Jobs: p.core.log, Presence: p.core.log, JobLogs: p.core.log, Outputs: p.core.outputs, Guard: p.core.guard,
		Version: p.Version, BeatTTL: p.Config.Scheduler.OfflineAfter.Std(), Metrics: door.NewMetrics(p.registry), Logger: p.Logger.With("part", "door"),
		Alert: func(ctx context.Context, about events.CollectorName, message, action string) error {
			_, err := c.RaiseAlert(ctx, by, events.AlertRaised{Kind: events.AlertRefused, About: string(about), Message: message, Action: action})
			return err
		},
		AllClear: func(ctx context.Context, about events.CollectorName, reason string) error {
			_, err := c.ClearAlert(ctx, by, events.NewAlertKey(events.AlertRefused, string(about)), reason)
			return err
		},
	}
	switch {
	case p.core.nats != nil:
		d.Wall = p.core.nats
	case p.core.system != nil:
		d.Wall = door.SystemWall{NC: p.core.system}
	}
	return door.New(d)
}

// hearing returns the only listener for heartbeats in this process. The first call starts it; it runs until everything ends.
func (p *parts) hearing() presence.Hearing {
	if p.heard == nil {
		p.heard = presence.New(presence.Config{
			Heartbeats: p.core.log, Shortest: min(p.Config.Scheduler.OfflineAfter.Std(), p.Config.Scheduler.TakeoverAfter.Std()),
			Open: p.open, Logger: p.Logger.With("part", "presence"),
		})
		p.run(p.heard.Run)
	}
	return p.heard
}

// open returns nil if heartbeats of collectors can arrive: the log answers, and the door of this process, which may be the
// only one, has read it.
func (p *parts) open(ctx context.Context) error {
	if _, err := p.core.log.Head(ctx); err != nil {
		return err
	}
	return p.core.guard.Ready(ctx)
}

// verifyLog checks the log's configuration every minute, and logs an error if somebody made the log mutable.
func (p *parts) verifyLog(ctx context.Context) error {
	for ctx.Err() == nil {
		retry.Sleep(ctx, time.Minute)
		if ctx.Err() != nil {
			return nil
		}
		if err := p.core.log.Verify(ctx); err != nil && ctx.Err() == nil {
			p.Logger.Error("the log is not configured as it must be", "error", err)
		}
	}
	return nil
}

func (p *parts) scheduler() {
	p.shell.Seat(scheduler.New(scheduler.Config{
		Log: p.core.log, Hearing: p.hearing(), OfflineAfter: p.Config.Scheduler.OfflineAfter.Std(),
		TakeoverAfter: p.Config.Scheduler.TakeoverAfter.Std(),
		Policy:        p.policy(),
		Key:           p.keys.scheduler,
		Logger:        p.Logger.With("part", "scheduler"),
	}))
}

func (p *parts) policy() scheduler.Policy {
	c := p.Config.Scheduler
	return scheduler.Policy{
		MaxInProgress: c.MaxInProgress, ArtifactDeadline: c.ArtifactDeadline.Std(), ExpansionRetry: 30 * time.Second, QuarantineAfter: c.QuarantineAfter,
		Retention: c.Retention.Std(), MaxWaiting: c.MaxWaiting, AffinityWait: c.AffinityWait.Std(), RoomWait: c.RoomWait.Std(),
	}
}

// preview returns what the scheduler would make for a wish now. If the ledger stays at an event that is not understood, that
// is on the ledger before it.
func (p *parts) preview(ctx context.Context, id events.RequestID, wish events.GraphWanted, proposed ...events.GraphProposed) (found graph.Preview, err error) {
	head, err := p.core.log.Head(ctx)
	if err != nil {
		return found, err
	}
	if p.shell.Newer() == nil {
		if err := p.shell.Wait(ctx, head.Last); err != nil {
			return found, err
		}
	}
	p.shell.View(func(l *ledger.Ledger) { found = scheduler.Preview(l, id, wish, p.policy(), proposed...) })
	return found, nil
}

// cannotRead returns the collectors that must be updated before they can execute definitions.
func (p *parts) cannotRead(d suite.Definitions) (old []events.CollectorName) {
	p.shell.View(func(l *ledger.Ledger) { old = l.CannotRead(d) })
	return old
}

func (p *parts) projector() {
	p.run(projector.New(projector.Config{
		Log: p.core.log, URL: p.core.databaseURL, MaxInProgress: p.Config.Scheduler.MaxInProgress, Shared: p.Config.Database.URL != "",
		Logger: p.Logger.With("part", "projector"), Metrics: projector.NewMetrics(p.registry), Full: p.room.databaseFull,
		Newer: p.stays.of("the tables"),
	}).Keep)
	p.scrubs()
}

// control returns what carries out commands. suites returns the names of the known suites; it may be nil.
func (p *parts) control(suites func(context.Context) ([]events.SuiteName, error)) *control.Control {
	return &control.Control{
		Log: p.core.log, Clock: p.Clock, Suites: suites, KeepTries: !p.Config.Scheduler.Supersede,
		MaxPending: 2 * p.Config.Scheduler.MaxWaiting,
	}
}

// artifacts opens the cache of artifacts, to ask whether artifacts exist.
func (p *parts) artifacts() (*artifact.Store, error) {
	return artifact.Open(artifact.Config{Dir: p.data().Path("cache", "artifacts"), MaxBytes: p.Config.Collector.CacheBytes})
}

// reader opens the tables for reading, and closes them when everything ends.
func (p *parts) reader() (*readmodel.Reader, error) {
	reader, err := readmodel.OpenPools(p.ctx, p.core.databaseURL, readmodel.Pools{Long: p.Config.Readers.Connections})
	if err != nil {
		return nil, err
	}
	p.run(func(ctx context.Context) error {
		<-ctx.Done()
		reader.Close()
		return nil
	})
	return reader, nil
}

// website returns the pages and the API. Commands accept collectors for every published suite, and for the configured ones,
// whose publication may still be on its way to the tables.
func (p *parts) website(reader *readmodel.Reader, configured []events.SuiteName) http.Handler {
	suites := func(ctx context.Context) ([]events.SuiteName, error) {
		published, err := reader.Definitions(ctx, readmodel.DefinitionFilter{})
		if err != nil {
			return nil, err
		}
		names := slices.Clone(configured)
		for _, d := range published {
			if !slices.Contains(names, d.Suite) {
				names = append(names, d.Suite)
			}
		}
		return names, nil
	}
	commands := p.control(suites)
	website.Inform(commands, reader, p.core.log)
	site := website.New(website.Config{
		Reader: reader, Control: commands, Log: p.core.log, Hearing: p.hearing(), JobLogs: p.core.log, Token: p.token, Alerts: p.alerts, Ledger: p.position,
		Verify: p.verify, Version: p.Version, Clock: p.Clock, Logger: p.Logger.With("part", "website"), Registry: p.registry,
		Site: p.Config.GitHub.Site, Readers: p.Config.Readers, OfflineAfter: p.Config.Scheduler.OfflineAfter.Std(),
		AffinityWait: p.Config.Scheduler.AffinityWait.Std(), RoomWait: p.Config.Scheduler.RoomWait.Std(), Preview: p.preview, CannotRead: p.cannotRead,
		CheckLog: p.checkLog, Backup: p.backup, Scrub: p.scrubbed,
		SLA: p.Config.SLA, Outputs: p.usage.last, Room: p.room.places, Checks: append(p.ready(), p.checks...), Blobs: blob.Whole{Pieces: p.core.outputs},
	})
	p.run(site.Run)
	return site.Handler()
}

// serveHTTP serves until everything ends. Then requests under way have 3 s to finish.
func (p *parts) serveHTTP(l net.Listener, h http.Handler) {
	server := &http.Server{
		Handler: h, ReadHeaderTimeout: 10 * time.Second, IdleTimeout: 2 * time.Minute,
		ErrorLog: slog.NewLogLogger(p.Logger.With("part", "website").Handler(), slog.LevelWarn),
	}
	serve := func() error { return server.Serve(l) }
	if s, secure := l.(secureListener); secure {
		server.TLSConfig = tlsfiles.Server(s.pair, nil)
		serve = func() error { return server.ServeTLS(s.Listener, "", "") }
	}
	p.run(func(context.Context) error {
		if err := serve(); !errors.Is(err, http.ErrServerClosed) {
			return fmt.Errorf("serve HTTP: %w", err)
		}
		return nil
	})
	p.run(func(ctx context.Context) error {
		<-ctx.Done()
		soft, cancel := context.WithTimeout(context.WithoutCancel(ctx), 3*time.Second)
		defer cancel()
		err := server.Shutdown(soft)
		if errors.Is(err, context.DeadlineExceeded) {
			err = server.Close()
		}
		return err
	})
}

// verify checks whether the tables are what the log gives.
func (p *parts) verify(ctx context.Context) (any, error) {
	return projector.Replay(ctx, p.core.log, p.core.databaseURL, projector.ReplayOptions{
		Verify: true, MaxInProgress: p.Config.Scheduler.MaxInProgress, Logger: p.Logger.With("part", "replay"),
	})
}
