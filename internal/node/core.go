package node

import (
	"context"
	"errors"
	"log/slog"
	"net/url"
	"strings"
	"time"

	"github.com/nats-io/nats.go"

	blobjs "github.com/tachobench/tacho/blob/jetstream"
	"github.com/tachobench/tacho/eventlog/door"
	"github.com/tachobench/tacho/eventlog/jetstream"
	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/internal/datadir"
	"github.com/tachobench/tacho/internal/natsserver"
	"github.com/tachobench/tacho/internal/pgserver"
	"github.com/tachobench/tacho/internal/phrase"
	"github.com/tachobench/tacho/shell"
)

// core is the log and the database, of this process or of servers elsewhere.
type core struct {
	log *jetstream.Log
	// outputs is the store of outputs. It asks the shell what is needed.
	outputs *blobjs.Store
	// natsURL is where collectors connect.
	natsURL string
	// databaseURL is empty until the database runs.
	databaseURL string

	nats    *natsserver.Server
	secured *natsTLS
	nc      *nats.Conn
	// system is a connection of the cluster's system account; nil without one.
	system   *nats.Conn
	postgres *pgserver.Keeper
	// shell reads the log. Get it with ledger.
	shell *shell.Shell
	// unopened says that the registry of collectors could not be opened, because this program does not understand an event.
	unopened bool
	// guard knows which key opens which account, and what each collector may say.
	guard *door.Guard
}

// ledger returns the shell that reads the log for all parts of this process. The first call makes it.
func (k *core) ledger(clock func() time.Time, logger *slog.Logger) *shell.Shell {
	if k.shell == nil {
		k.shell = shell.New(shell.Config{Log: k.log, Clock: clock, Snapshots: k.log, Logger: logger.With("part", "shell")})
	}
	return k.shell
}

// openLog opens the log: in this process, or on the cluster that the configuration names. It refuses a log that is damaged; with
// accept, not one that is another than before, or shorter.
func (h *Host) openLog(ctx context.Context, accept bool) (*core, error) {
	k, c := &core{guard: door.NewGuard(door.DefaultBounds(), h.Clock)}, h.Config
	var err error
	if c.NATS.URL != "" {
		k.natsURL = c.NATS.URL
		if k.nc, err = h.connectCore(ctx, c.StartWait.Std()); err == nil && c.NATS.SystemURL != "" {
			k.system, err = h.connectSystem(ctx, c.StartWait.Std())
		}
	} else if err = h.checkFiles(ctx, accept); err == nil {
		if k.secured, err = secureNATS(c.NATS, h.data(), h.Logger); err == nil {
			err = k.startNATS(h.data(), c.NATS.Listen, h.Logger)
		}
	}
	if err == nil {
		conf := h.logConfig()
		if k.nats != nil {
			conf.Own, conf.Stopped = true, k.nats.Stopped
			conf.Limited = func(before, now int64) {
				h.Say("log        its limit is now %s and was %s (nats.max_bytes)", phrase.Bytes(now), phrase.Bytes(before))
			}
		}
		k.log, err = jetstream.Open(ctx, k.nc, conf)
		err = refused(err)
	}
	if err == nil {
		k.outputs, err = blobjs.Open(ctx, k.nc, blobjs.Config{
			Replicas: c.NATS.Replicas, MaxBytes: c.NATS.BlobBytes, UploadBytes: c.NATS.UploadBytes, UploadAge: c.NATS.UploadAge.Std(),
			Needs: k.neededOutputs, UnderWay: k.putsUnderWay, Clock: h.Clock,
		})
	}
	if err != nil {
		k.close()
		return nil, explainOpen(err)
	}
	return k, nil
}

// startNATS runs the server in this process. If possible, it takes the port of the last start, so that collectors find the
// log again.
func (k *core) startNATS(d datadir.Dir, listen string, logger *slog.Logger) (err error) {
	start := func(listen string) error {
		services, limits := natsserver.Door()
		k.nats, err = natsserver.Start(natsserver.Config{
			Dir: d.Path("log"), Listen: listen, TLS: k.secured.config(), Auth: k.guard, Services: services, Limits: limits, Log: logger,
		})
		return err
	}
	if last := d.Read(datadir.PortFile); strings.HasSuffix(listen, ":0") && last != "" && free("127.0.0.1:"+last) {
		listen = strings.TrimSuffix(listen, "0") + last
	}
	if err := start(listen); err != nil {
		return err
	}
	k.natsURL = k.nats.URL()
	if u, err := url.Parse(k.natsURL); err == nil {
		if err := d.Write(datadir.PortFile, u.Port()); err != nil {
			return err
		}
	}
	k.nc, err = k.nats.Connect()
	return err
}

// startDatabase sets databaseURL to the database that the configuration names, or else starts our own.
func (k *core) startDatabase(ctx context.Context, h *Host) error {
	c := h.Config
	if c.Database.URL != "" {
		k.databaseURL = c.Database.URL
		return nil
	}
	var err error
	k.postgres, err = pgserver.Keep(ctx, pgserver.Config{
		Dir: h.data().Path("postgres"), BinDir: c.Database.Bin, Cache: h.data().Path("cache"), Log: h.Logger,
		Progress: func(text string) { h.Say("database   %s", text) },
	})
	if err != nil {
		return err
	}
	k.databaseURL = k.postgres.URL()
	return nil
}

func (k *core) close() {
	if k.postgres != nil {
		k.postgres.Stop()
	}
	for _, nc := range []*nats.Conn{k.nc, k.system} {
		if nc != nil {
			nc.Close()
		}
	}
	if k.nats != nil {
		k.nats.Shutdown()
	}
}

// tryRegistry makes the registry of collectors, which logs of earlier versions do not have. It is the first that a start may
// write: the log must have been compared with the tables. At an event of a newer version the parts try it again.
func (h *Host) tryRegistry(ctx context.Context, k *core) error {
	err := h.openRegistry(ctx, k)
	if k.unopened = errors.Is(err, events.ErrUnknownType); !k.unopened {
		return err
	}
	return nil
}

// ownLog opens the log for a command that needs no running Tacho: the log of a cluster, or the log of a data directory that
// no other process uses. Call done at the end. See openLog for accept.
func (h *Host) ownLog(ctx context.Context, accept bool) (k *core, done func(), err error) {
	unlock := func() {}
	if h.Config.NATS.URL == "" {
		if unlock, err = h.data().Own(); err != nil {
			return nil, nil, err
		}
	}
	if k, err = h.openLog(ctx, accept); err != nil {
		unlock()
		return nil, nil, err
	}
	return k, func() { k.close(); unlock() }, nil
}
