package node

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/nats-io/nats.go"

	"github.com/tachobench/tacho/artifact"
	"github.com/tachobench/tacho/collector"
	"github.com/tachobench/tacho/collector/measure"
	"github.com/tachobench/tacho/collector/runner"
	"github.com/tachobench/tacho/collector/supervisor"
	"github.com/tachobench/tacho/config"
	"github.com/tachobench/tacho/control"
	"github.com/tachobench/tacho/eventlog"
	"github.com/tachobench/tacho/eventlog/door"
	"github.com/tachobench/tacho/eventlog/jetstream"
	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/internal/datadir"
	"github.com/tachobench/tacho/internal/jobserver"
	"github.com/tachobench/tacho/internal/turns"
	"github.com/tachobench/tacho/internal/usage"
)

// Collector is a collector that runs on this machine.
type Collector struct {
	*Host
	Name events.CollectorName
	// Credentials is the file of the credentials, NATSURL is the URL of the log, Cache is the directory for fetched
	// artifacts. Empty fields are taken from the configuration, the credentials and the data directory.
	Credentials, NATSURL, Cache string
	// Orders are the encoded orders of a supervisor; empty without one.
	Orders string
	// Watched is set if a person reads what Say prints.
	Watched bool
}

// Run executes jobs until ctx ends.
func (c *Collector) Run(ctx context.Context) error {
	creds, url, err := c.access()
	if err != nil {
		return err
	}
	orders, err := supervisor.ReadOrders(c.Orders)
	if err != nil {
		return usage.Error{Err: err}
	}
	lane := events.Lane{Target: creds.Target, Set: creds.Set}
	log, err := c.open(ctx)
	if err != nil {
		return err
	}
	defer log.Close()
	if err := fastEnough(c.Config.Collector.BeatEvery.Std(), log.BeatTTL()); err != nil {
		return err
	}
	machine, err := c.machine()
	if err != nil {
		return err
	}
	machine.Lane = lane
	if names := jobserver.Inherited(os.Environ()); len(names) > 0 {
		c.Logger.Warn("variables of make from outside are not passed on to jobs, nor is a jobserver that they name: builds have one of their own",
			"collector", c.Name, "variables", strings.Join(names, ", "))
	}
	seals, err := sealsOf(c.Config.Collector.Seals)
	if err != nil {
		return err
	}
	machine.Blobs = log
	instance := uuid.Must(uuid.NewV7()).String()
	last, unlock, err := c.data().OwnCollector(c.Name, instance)
	if err != nil {
		return err
	}
	defer unlock()
	host, err := os.Hostname()
	if err != nil {
		return err
	}
	if c.Watched {
		c.Say("collector  %s waits for jobs of lane %s at %s, until Ctrl-C", c.Name, lane, config.NATSHosts(url))
	}
	leave, err := c.join(machine.Turns)
	if err != nil {
		return err
	}
	defer leave()
	conf := c.Config.Collector
	environment := measure.EnvironmentWith(ctx, besides(conf))
	if _, pool := lane.Pool(); pool {
		environment.Settings = c.limits(environment.Settings, orders != nil)
	}
	err = collector.New(collector.Config{
		Name: c.Name, Lane: lane, Instance: instance, Replaces: last, Host: host, PID: os.Getpid(), Version: c.Version,
		OS: runtime.GOOS, Arch: runtime.GOARCH, Load: measure.Load, FreeMemory: measure.FreeMemory, Environment: environment,
		Log: log, Jobs: log, Presence: log, JobLogs: log, Runs: log, Bench: machine, SpoolDir: filepath.Dir(machine.Cache), Evicted: machine.Artifacts.Evicted, Rest: machine.Rest, Holders: machine.Holders, Supervised: supervised(orders), Seals: seals,
		BeatEvery: conf.BeatEvery.Std(), ProgressEvery: conf.AckWait.Std() / 3, FlushEvery: flushEvery,
		MaxAttempts: conf.MaxAttempts, TransientDeadline: conf.TransientDeadline.Std(),
		Clock: c.Clock, Logger: c.Logger.With("collector", string(c.Name)),
	}).Run(ctx)
	if errors.Is(err, collector.ErrLeave) {
		c.Say("collector %s has left as it was asked to", c.Name)
		return nil
	}
	return err
}

// limits lets the collector limit its commands to what their jobs reserve. It returns the settings of the machine, with
// whether that works.
func (c *Collector) limits(settings map[string]string, supervised bool) map[string]string {
	supervisor := 0
	if supervised {
		supervisor = os.Getppid()
	}
	settings = maps.Clone(settings)
	if settings == nil {
		settings = map[string]string{}
	}
	settings["limits"] = "enforced"
	if err := measure.EnableLimits(supervisor); err != nil {
		settings["limits"] = "not enforced: " + err.Error()
		c.Logger.Warn("what jobs reserve on this machine is not enforced: they can use more", "collector", c.Name, "reason", err)
	}
	return settings
}

func (c *Collector) file() string { return cmp.Or(c.Credentials, c.data().CredentialsFile(c.Name)) }

// access returns the credentials of the collector, and where the log is.
func (c *Collector) access() (creds datadir.Credentials, url string, err error) {
	file := c.file()
	creds, err = datadir.ReadCredentials(file)
	if errors.Is(err, os.ErrNotExist) {
		return creds, "", &control.RefusedError{Kind: control.NotFound, Reason: fmt.Sprintf(
			"no credentials of collector %s in %s: register it with `tacho collector add %s --target … --set …`, or name the file with --credentials", c.Name, file, c.Name)}
	}
	if err != nil {
		return creds, "", err
	}
	if creds.Name != c.Name {
		return creds, "", usage.Errorf("the credentials in %s are those of collector %s: name the right file with --credentials", file, creds.Name)
	}
	url = cmp.Or(c.NATSURL, c.Config.NATS.URL, creds.NATSURL)
	if url == "" {
		return creds, "", usage.Errorf("the credentials do not say where the log is: name its URL with --nats-url or TACHO_NATS_URL")
	}
	return creds, url, nil
}

// connect connects as the collector. A user in the URL replaces the key of the credentials, and a key in a file that the
// configuration names replaces both.
func (c *Collector) connect(ctx context.Context, url string, creds datadir.Credentials) (*nats.Conn, error) {
	a := access{servers: url, seed: creds.Seed, wait: c.Config.StartWait.Std(), say: c.Say}
	a.refused = fmt.Sprintf("the log at %s does not know this collector's key: if the key was rotated, copy the new credentials to this machine; if the collector was never registered there, "+
		"register it with `tacho collector add %s --target %s --set %d`, and copy the credentials that this makes",
		config.NATSHosts(url), c.Name, creds.Target, creds.Set)
	var err error
	if a.look, err = c.natsClient(creds); err != nil {
		return nil, err
	}
	switch {
	case c.Config.NATS.Creds != "":
		if a.seed, err = readSeed(c.Config.NATS.Creds); err != nil {
			return nil, err
		}
		a.refused = fmt.Sprintf("the log at %s does not know the key in %s: put it into the configuration of the NATS server, as `tacho collector add` prints it", config.NATSHosts(url), c.Config.NATS.Creds)
	case config.NATSHasUser(url):
		a.seed = ""
		a.refused = fmt.Sprintf("the NATS server at %s refuses the user of the URL: check its name and password", config.NATSHosts(url))
	}
	logger := c.Logger.With("collector", string(c.Name))
	// Reconnect soon: after a rotation of its key, the connection must be closed and made anew before the collector counts
	// as silent. The connection keeps nothing while it is away: who asked asks again, and output waits in its spool. Else the
	// server would get each chunk and heartbeat as often as it was tried, up to 8 MiB at once.
	return a.connect(ctx, nats.Name("tacho collector "+string(c.Name)), nats.MaxReconnects(-1), nats.ReconnectBufSize(-1),
		nats.ReconnectWait(250*time.Millisecond), nats.ReconnectJitter(250*time.Millisecond, time.Second),
		nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) { logger.Debug("NATS connection", "error", err) }))
}

// connectRotated connects as the collector. If its key is refused and a killed rotation left a new key beside it,
// connectRotated tries the new key and, if that works, puts it in the place of the old one.
func (c *Collector) connectRotated(ctx context.Context, url string, creds datadir.Credentials) (*nats.Conn, error) {
	nc, err := c.connect(ctx, url, creds)
	var refused *control.RefusedError
	if !errors.As(err, &refused) {
		return nc, err
	}
	file := c.file()
	next, readErr := datadir.ReadCredentials(datadir.NextFile(file))
	if readErr != nil || next.Name != c.Name {
		return nil, err
	}
	if nc, err = c.connect(ctx, url, next); err != nil {
		return nil, err
	}
	if err := os.Rename(datadir.NextFile(file), file); err != nil {
		nc.Close()
		return nil, fmt.Errorf("put the rotated key of collector %s into its place: %w", c.Name, err)
	}
	return nc, nil
}

// open opens the log. It waits if the server runs before the log exists, or before the core answers collectors. It reads the
// credentials anew after each connection that the server closes: the key may have been rotated.
func (c *Collector) open(ctx context.Context) (*door.Client, error) {
	creds, url, err := c.access()
	if err != nil {
		return nil, err
	}
	lane := events.Lane{Target: creds.Target, Set: creds.Set}
	dial := func(ctx context.Context) (*nats.Conn, error) {
		creds, url, err := c.access()
		if err != nil {
			return nil, err
		}
		return c.connectRotated(ctx, url, creds)
	}
	w := newWaiting(c.Config.StartWait.Std(), c.Say)
	for {
		try, cancel := context.WithTimeout(ctx, c.Config.StartWait.Std()+sayEvery)
		log, err := c.openOnce(try, dial, lane)
		cancel()
		switch {
		case ctx.Err() != nil:
			if err == nil {
				log.Close()
			}
			return nil, ctx.Err()
		case err == nil:
			return log, nil
		case errors.Is(err, door.ErrOutdated), errors.Is(err, door.ErrRevoked):
			return nil, &control.RefusedError{Kind: control.Conflict, Reason: err.Error()}
		case errors.Is(err, door.ErrReading), errors.Is(err, jetstream.ErrAgain):
			w.answered("the core at " + config.NATSHosts(url) + " answers, but it is not ready for collectors yet")
		case !errors.Is(err, eventlog.ErrUnavailable):
			return nil, err
		case !w.goesOn("NATS answers, but the core does not"):
			return nil, fmt.Errorf("NATS answers at %s, but the core does not: start `tacho up` or `tacho serve`, and check that the server has the account of collector %s that `tacho collector add` prints",
				config.NATSHosts(url), c.Name)
		}
	}
}

func (c *Collector) openOnce(ctx context.Context, dial door.Dial, lane events.Lane) (*door.Client, error) {
	log, err := door.Open(ctx, dial, c.Name, lane)
	if err != nil {
		return nil, err
	}
	// With its answer the core says how long a heartbeat lives.
	if _, err := log.Read(ctx, events.RegistrySubject(c.Name)); err != nil {
		log.Close()
		return nil, err
	}
	return log, nil
}

// fastEnough refuses heartbeats so slow that the core would take the collector for dead between two of them.
func fastEnough(pace, lives time.Duration) error {
	if lives == 0 || pace < lives {
		return nil
	}
	return usage.Errorf("collector.beat_every is %s, but the core takes a collector for dead after %s without a heartbeat (scheduler.offline_after): set beat_every here to %s or less",
		pace, lives, max(lives/3, time.Millisecond))
}

// machine returns what measures on this machine.
func (c *Collector) machine() (*collector.Machine, error) {
	conf := c.Config.Collector
	cache := cmp.Or(c.Cache, conf.Cache, c.data().Path("cache"))
	store, err := artifact.Open(artifact.Config{Dir: filepath.Join(cache, "artifacts"), MaxBytes: conf.CacheBytes, Progress: func(text string) {
		c.Say("collector %s: %s", c.Name, text)
	}})
	if err != nil {
		return nil, err
	}
	sources, err := suiteSources(c.Config.Suites, c.Config.Sources)
	if err != nil {
		return nil, err
	}
	// The path of the slot gets into what compilers make, so it has the same length for every collector.
	sum := fnv.New32a()
	sum.Write([]byte(c.Name))
	shared, err := turns.Open(c.turns())
	if err != nil {
		return nil, err
	}
	counting, err := measure.ParseCounting(conf.Instructions)
	if err != nil {
		return nil, err
	}
	return &collector.Machine{
		Turns: shared, MeasureShared: conf.Measure == config.MeasureShared, Before: conf.Before, After: conf.After,
		Artifacts: store, Runner: runner.New(runner.Settings{CPUs: conf.CPUs, Nice: conf.Nice, DisableASLR: true, Counting: counting}),
		Slot: filepath.Join(cache, "slots", fmt.Sprintf("%08x", sum.Sum32())), Cache: filepath.Join(cache, "build"), Sources: sources,
	}, nil
}

// flushEvery bounds how long measured test cases wait until they are recorded.
const flushEvery = 500 * time.Millisecond

// supervised returns the orders of the supervisor for the collector; nil without a supervisor.
func supervised(o *supervisor.Orders) *collector.Supervised {
	if o == nil {
		return nil
	}
	return &collector.Supervised{Hold: o.Hold, Until: o.Until, Failed: o.Failed}
}
