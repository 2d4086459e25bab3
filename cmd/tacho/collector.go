package main

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"github.com/google/uuid"
	"github.com/nats-io/nats.go"

	"github.com/tachobench/tacho/artifact"
	"github.com/tachobench/tacho/collector"
	"github.com/tachobench/tacho/collector/measure"
	"github.com/tachobench/tacho/collector/runner"
	"github.com/tachobench/tacho/collector/supervisor"
	"github.com/tachobench/tacho/control"
	"github.com/tachobench/tacho/eventlog"
	"github.com/tachobench/tacho/eventlog/door"
	"github.com/tachobench/tacho/eventlog/jetstream"
	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/website/client"
)

type collectorCmd struct {
	Add        collectorAddCmd        `cmd:"" help:"Register a collector for one set of a target."`
	List       collectorListCmd       `cmd:"" help:"List collectors with what they do."`
	Run        collectorRunCmd        `cmd:"" help:"Run a registered collector on this machine."`
	Supervise  collectorSuperviseCmd  `cmd:"" help:"Keep a collector running on this machine, at the wanted version."`
	Want       collectorWantCmd       `cmd:"" help:"Say, or show, which version supervised collectors should run."`
	Drain      collectorDrainCmd      `cmd:"" help:"Have a collector finish its job and leave."`
	Activate   collectorActivateCmd   `cmd:"" help:"Let a collector take jobs again; ends a drain and a quarantine."`
	Deactivate collectorDeactivateCmd `cmd:"" help:"Stop the dispatch to a collector; its history stays."`
	Takeover   collectorTakeoverCmd   `cmd:"" help:"Have a collector serve its lane instead of the one that does."`
	Rotate     collectorRotateCmd     `cmd:"" help:"Give a collector another key; the one before is refused."`
	Remove     collectorRemoveCmd     `cmd:"" help:"Take a collector out for good; its name is never used again."`
}

type collectorAddCmd struct {
	Name    events.CollectorName `arg:"" help:"Its name, unique for ever."`
	Target  events.Target        `required:"" help:"The target that it measures."`
	Set     events.Set           `help:"The set of benchmarks that it measures." default:"0"`
	Standby bool                 `help:"Stand by for the collector of a lane, and take over when it is gone."`
	JSON    bool                 `help:"Print JSON." name:"json"`
}

// Run registers the collector and keeps its credentials in the data directory.
func (c *collectorAddCmd) Run(ctx context.Context, p *program) error {
	cl, err := p.client()
	if err != nil {
		return err
	}
	d := directory(p.config.Data)
	creds, public, err := d.newCredentials(c.Name, c.Target, c.Set)
	if err != nil {
		return err
	}
	if r, ok := d.find(); ok {
		// Only the place: a user that the core has there is not the collector's.
		creds.NATSURL = hostsOf(r.NATSURL)
		err = creds.trust(r.NATSCA, r.NATSServerName)
	} else {
		err = creds.trust(p.config.NATS.CA, p.config.NATS.ServerName)
	}
	if err != nil {
		return err
	}
	file := d.path(credentialsFile(c.Name))
	answer, err := c.add(ctx, cl, d, creds, public)
	if err != nil {
		return err
	}
	lane := events.Lane{Target: c.Target, Set: c.Set}
	if c.JSON {
		return p.json(map[string]any{
			"name": c.Name, "target": c.Target, "set": c.Set, "standby": c.Standby, "seq": answer.Seq, "existed": answer.Existed, "credentials": file, "nkey": public,
		})
	}
	fmt.Fprintf(p.stdout, "collector %s is registered for lane %s\ncredentials: %s\n", c.Name, lane, file)
	fmt.Fprintf(p.stdout, "run it here with `tacho collector run %s`, or copy the credentials to its machine and run `tacho collector run %s --credentials FILE`\n", c.Name, c.Name)
	if p.config.NATS.URL != "" {
		p.tellAccount(c.Name, public)
	}
	return nil
}

// tellAccount says what the configuration of an external cluster needs for a collector's key.
func (p *program) tellAccount(name events.CollectorName, public string) {
	fmt.Fprintf(p.stdout, "the NATS cluster must know the key. In the block \"accounts\" of its configuration, in place of an entry of that name, "+
		"with the name of the core's account for CORE:\n%sand once, in the core's account:\n%s"+
		"Then have each node read its configuration twice (`nats-server --signal reload`, two times): after the first time a new account does not reach the core yet.\n",
		door.Conf(name, public, "CORE"), door.CoreExports())
}

// add registers the collector. A new key is kept before the log knows it, for the log never forgets it.
func (c *collectorAddCmd) add(ctx context.Context, cl *client.Client, d directory, creds credentials, public string) (control.Answer, error) {
	file := d.path(credentialsFile(c.Name))
	_, err := os.Stat(file)
	made := errors.Is(err, os.ErrNotExist)
	if made {
		if err := d.keep(creds); err != nil {
			return control.Answer{}, err
		}
	}
	answer, err := cl.AddCollector(ctx, control.NewCollector{Name: c.Name, Target: c.Target, Set: c.Set, Standby: c.Standby, NKey: public})
	var refused *client.Error
	switch {
	case made && errors.As(err, &refused):
		return answer, errors.Join(err, os.Remove(file))
	case made && err == nil && answer.Existed:
		return answer, errors.Join(&control.RefusedError{Kind: control.Conflict, Reason: fmt.Sprintf(
			"collector %s is registered already, and its key is not in %s: bring the credentials that were made when it was registered, or choose another name", c.Name, d)}, os.Remove(file))
	case err != nil:
		return answer, err
	}
	return answer, d.keep(creds)
}

type collectorListCmd struct {
	All  bool `help:"Also those that were removed."`
	JSON bool `help:"Print JSON." name:"json"`
}

// Run lists the collectors.
func (c *collectorListCmd) Run(ctx context.Context, p *program) error {
	cl, err := p.client()
	if err != nil {
		return err
	}
	list, err := cl.Collectors(ctx, c.All)
	if err != nil {
		return err
	}
	if c.JSON {
		return p.json(list)
	}
	wanted, err := cl.WantedVersion(ctx)
	if err != nil {
		return err
	}
	if err := p.collectorTable(list, true); err != nil {
		return err
	}
	p.tellVersions(list, wanted)
	return nil
}

// collectorTable shows collectors, with the ages of their keys if they are asked for.
func (p *program) collectorTable(list []client.Collector, keys bool) error {
	var rows [][]string
	for _, c := range list {
		doing, beat := "-", "-"
		if c.CurrentJob != nil {
			doing = fmt.Sprintf("%s %s/%s", short(c.CurrentJob.Tag), c.CurrentJob.Backend, c.CurrentJob.Profile)
		}
		if h := c.Heartbeat; h != nil {
			beat = fmt.Sprintf("%s ago", duration(h.AgeMS))
			if c.CurrentJob != nil && h.JobID == c.CurrentJob.ID {
				doing += fmt.Sprintf(" %s %d/%d", h.Benchmark, h.Done, h.Total)
			}
		}
		state := string(c.State)
		if c.Active && !c.Serving {
			state += ", stands by"
		}
		row := []string{string(c.Name), c.Lane().String(), state, beat, doing, c.Version}
		if keys {
			row = append(row, days(p.clock().Sub(c.KeySince)))
		}
		rows = append(rows, row)
	}
	if len(rows) == 0 {
		fmt.Fprintln(p.stdout, "No collector is registered: register one with `tacho collector add`.")
		return nil
	}
	columns := []string{"COLLECTOR", "LANE", "STATE", "HEARTBEAT", "DOING", "VERSION"}
	if keys {
		columns = append(columns, "KEY")
	}
	return table(p.stdout, columns, rows)
}

type collectorName struct {
	Name events.CollectorName `arg:"" help:"Name of the collector."`
	JSON bool                 `help:"Print JSON." name:"json"`
}

type because struct {
	Reason string `help:"Why; kept in the log." placeholder:"TEXT"`
}

func (c collectorName) run(p *program, what string, call func(*client.Client) (control.Answer, error)) error {
	cl, err := p.client()
	if err != nil {
		return err
	}
	answer, err := call(cl)
	if err != nil {
		return err
	}
	if c.JSON {
		return p.json(answer)
	}
	if answer.Existed {
		what += " already"
	}
	fmt.Fprintf(p.stdout, "collector %s is %s\n", c.Name, what)
	return nil
}

type collectorDrainCmd struct {
	collectorName
	because
}

// Run drains the collector.
func (c *collectorDrainCmd) Run(ctx context.Context, p *program) error {
	return c.run(p, "draining", func(cl *client.Client) (control.Answer, error) { return cl.DrainCollector(ctx, c.Name, c.Reason) })
}

type collectorActivateCmd struct{ collectorName }

// Run activates the collector.
func (c *collectorActivateCmd) Run(ctx context.Context, p *program) error {
	return c.run(p, "active", func(cl *client.Client) (control.Answer, error) { return cl.ActivateCollector(ctx, c.Name) })
}

type collectorDeactivateCmd struct {
	collectorName
	because
	Now bool `help:"Give its job back at once, instead of finishing it first."`
}

// Run deactivates the collector.
func (c *collectorDeactivateCmd) Run(ctx context.Context, p *program) error {
	return c.run(p, "inactive", func(cl *client.Client) (control.Answer, error) {
		return cl.DeactivateCollector(ctx, c.Name, control.Deactivation{Reason: c.Reason, Now: c.Now})
	})
}

type collectorTakeoverCmd struct {
	collectorName
	because
}

// Help is shown by --help.
func (c *collectorTakeoverCmd) Help() string {
	return "A lane that a standby took over stays with it when the first collector returns, so that series change their machine " +
		"as rarely as can be. This gives the lane back, or to any other collector of it. A running job is finished first."
}

// Run has the collector take its lane over.
func (c *collectorTakeoverCmd) Run(ctx context.Context, p *program) error {
	var before []client.Collector
	err := c.run(p, "serving its lane", func(cl *client.Client) (answer control.Answer, err error) {
		if before, err = cl.Collectors(ctx, false); err != nil {
			return answer, err
		}
		return cl.TakeLaneOver(ctx, c.Name, c.Reason)
	})
	if err == nil && !c.JSON {
		c.tellAbsent(p, before)
	}
	return err
}

// tellAbsent says what comes next when the lane was given to a collector that is not there, or taken from one.
func (c *collectorTakeoverCmd) tellAbsent(p *program, before []client.Collector) {
	var lane events.Lane
	for _, known := range before {
		if known.Name == c.Name {
			lane = known.Lane()
		}
	}
	for _, known := range before {
		switch {
		case known.State != client.CollectorOffline || known.Lane() != lane:
		case known.Name == c.Name:
			p.say("collector %s is offline: start it with `tacho collector run %s` on its machine; until then jobs wait, unless another collector takes the lane over", c.Name, c.Name)
		case known.Serving && known.CurrentJob != nil:
			p.say("collector %s is offline: its job goes on with %s once it was silent for scheduler.takeover_after; when it returns, it stands by", known.Name, c.Name)
		case known.Serving:
			p.say("collector %s is offline: when it returns it stands by, until `tacho collector takeover %s`", known.Name, known.Name)
		}
	}
}

type collectorRunCmd struct {
	Name        events.CollectorName `arg:"" help:"Name of the collector."`
	Credentials string               `help:"Its credentials; default: those in the data directory." type:"path" placeholder:"FILE"`
	NATSURL     string               `help:"Where the log is; default: what the credentials say." name:"nats-url" placeholder:"URL"`
	Cache       string               `help:"Directory of fetched artifacts." type:"path" placeholder:"DIR"`
	TLS         natsClientTLS        `embed:""`
}

// Help is shown by --help.
func (c *collectorRunCmd) Help() string {
	return "A collector needs the log (NATS) and nothing else: no database, no other port. It ends softly on Ctrl-C and gives its job back; " +
		"killed, it continues where it was at the next start. It should have the machine for itself."
}

// access returns the credentials of the collector, and where the log is.
func (c *collectorRunCmd) access(p *program) (creds credentials, url string, err error) {
	if err := c.TLS.apply(&p.config); err != nil {
		return creds, "", err
	}
	d := directory(p.config.Data)
	file := c.Credentials
	if file == "" {
		file = d.path(credentialsFile(c.Name))
	}
	creds, err = readCredentials(file)
	if errors.Is(err, os.ErrNotExist) {
		return creds, "", &control.RefusedError{Kind: control.NotFound, Reason: fmt.Sprintf(
			"no credentials of collector %s in %s: register it with `tacho collector add %s --target … --set …`, or name the file with --credentials", c.Name, file, c.Name)}
	}
	if err != nil {
		return creds, "", err
	}
	if creds.Name != c.Name {
		return creds, "", usagef("the credentials in %s are those of collector %s", file, creds.Name)
	}
	url = creds.NATSURL
	for _, u := range []string{p.config.NATS.URL, c.NATSURL} {
		if u != "" {
			url = u
		}
	}
	if url == "" {
		return creds, "", usagef("where the log is, is not known: name it with --nats-url or TACHO_NATS_URL")
	}
	return creds, url, nil
}

// Run executes jobs until ctx ends.
func (c *collectorRunCmd) Run(ctx context.Context, p *program) error {
	d := directory(p.config.Data)
	creds, url, err := c.access(p)
	if err != nil {
		return err
	}
	orders, err := supervisor.ReadOrders(p.getenv(supervisor.Variable))
	if err != nil {
		return usageError{err}
	}
	lane := events.Lane{Target: creds.Target, Set: creds.Set}
	log, err := c.open(ctx, p)
	if err != nil {
		return err
	}
	defer log.Close()
	if err := fastEnough(p.config.Collector.BeatEvery.Std(), log.BeatTTL()); err != nil {
		return err
	}
	machine, err := p.machine(c.Name, c.Cache)
	if err != nil {
		return err
	}
	unlock, err := lockInstance(d, c.Name)
	if err != nil {
		return err
	}
	defer unlock()
	host, err := os.Hostname()
	if err != nil {
		return err
	}
	instance := uuid.Must(uuid.NewV7()).String()
	last := d.read(instanceFile(c.Name))
	if err := d.write(instanceFile(c.Name), instance); err != nil {
		return err
	}
	if p.screen != nil {
		p.say("collector  %s waits for jobs of lane %s at %s, until Ctrl-C", c.Name, lane, hostsOf(url))
	}
	conf := p.config.Collector
	err = collector.New(collector.Config{
		Name: c.Name, Lane: lane, Instance: instance, Replaces: last, Host: host, PID: os.Getpid(), Version: programVersion(),
		OS: runtime.GOOS, Arch: runtime.GOARCH, Load: load, Environment: measure.Environment(ctx),
		Log: log, Jobs: log, Presence: log, JobLogs: log, Bench: machine, Supervised: supervised(orders),
		BeatEvery: conf.BeatEvery.Std(), ProgressEvery: conf.AckWait.Std() / 3, FlushEvery: flushEvery,
		MaxAttempts: conf.MaxAttempts, TransientDeadline: conf.TransientDeadline.Std(),
		Clock: p.clock, Logger: p.logger().With("collector", string(c.Name)),
	}).Run(ctx)
	if errors.Is(err, collector.ErrLeave) {
		p.say("collector %s has left as it was asked to", c.Name)
		return nil
	}
	return err
}

// connect connects as the collector. A user in the URL stands for the key of the credentials, and a key in a file
// that the configuration names stands over both.
func (c *collectorRunCmd) connect(ctx context.Context, p *program, url string, creds credentials) (*nats.Conn, error) {
	a := access{servers: url, seed: creds.Seed, beat: p.config.Collector.BeatEvery.Std(), wait: p.config.StartWait.Std(), say: p.say}
	a.refused = fmt.Sprintf("the log at %s does not know this collector's key: if it was rotated, bring the new credentials; if the collector was never registered there, "+
		"do that with `tacho collector add %s --target %s --set %d`, and bring the credentials that it makes",
		hostsOf(url), c.Name, creds.Target, creds.Set)
	var err error
	if a.look, err = p.natsClient(creds); err != nil {
		return nil, err
	}
	switch {
	case p.config.NATS.Creds != "":
		if a.seed, err = readSeed(p.config.NATS.Creds); err != nil {
			return nil, err
		}
		a.refused = fmt.Sprintf("the log at %s does not know the key in %s: put it into the configuration of the NATS server, as `tacho collector add` prints it", hostsOf(url), p.config.NATS.Creds)
	case hasUser(url):
		a.seed = ""
		a.refused = fmt.Sprintf("the NATS server at %s refuses the user of the URL: check its name and password", hostsOf(url))
	}
	logger := p.logger().With("collector", string(c.Name))
	// It comes back soon: with a key that was rotated meanwhile it has to be closed and made anew before its silence counts.
	return a.connect(ctx, nats.Name("tacho collector "+string(c.Name)), nats.MaxReconnects(-1),
		nats.ReconnectWait(250*time.Millisecond), nats.ReconnectJitter(250*time.Millisecond, time.Second),
		nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) { logger.Debug("NATS connection", "error", err) }))
}

// open opens the log. It may not be there yet when its server is, nor the core that answers collectors. The
// credentials are read anew whenever the server closes the connection: the key may have been rotated.
func (c *collectorRunCmd) open(ctx context.Context, p *program) (*door.Client, error) {
	creds, url, err := c.access(p)
	if err != nil {
		return nil, err
	}
	lane := events.Lane{Target: creds.Target, Set: creds.Set}
	dial := func(ctx context.Context) (*nats.Conn, error) {
		creds, url, err := c.access(p)
		if err != nil {
			return nil, err
		}
		return c.connectRotated(ctx, p, url, creds)
	}
	w := newWaiting(p.config.StartWait.Std(), p.say)
	for {
		try, cancel := context.WithTimeout(ctx, p.config.StartWait.Std()+sayEvery)
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
			w.answered("the core at " + hostsOf(url) + " answers, and is not ready to let collectors in")
		case !errors.Is(err, eventlog.ErrUnavailable):
			return nil, err
		case !w.goesOn("NATS answers, and the core on it does not"):
			return nil, fmt.Errorf("NATS answers at %s, and the core on it does not: start `tacho up` or `tacho serve`, and check that the server has the account of collector %s that `tacho collector add` prints",
				hostsOf(url), c.Name)
		}
	}
}

func (c *collectorRunCmd) openOnce(ctx context.Context, dial door.Dial, lane events.Lane) (*door.Client, error) {
	log, err := door.Open(ctx, dial, c.Name, lane)
	if err != nil {
		return nil, err
	}
	// With this answer the core says how long a heartbeat lives.
	if _, err := log.Read(ctx, events.RegistrySubject(c.Name)); err != nil {
		log.Close()
		return nil, err
	}
	return log, nil
}

// fastEnough refuses a pace of heartbeats at which the core would take the collector for dead between two of them.
func fastEnough(pace, lives time.Duration) error {
	if lives == 0 || pace < lives {
		return nil
	}
	return usagef("collector.beat_every is %s, and the core takes a collector for dead after %s without a heartbeat (scheduler.offline_after): set beat_every here to %s or less",
		pace, lives, max(lives/3, time.Millisecond))
}

// machine returns what measures on this machine.
func (p *program) machine(name events.CollectorName, cache string) (*collector.Machine, error) {
	d, conf := directory(p.config.Data), p.config.Collector
	for _, dir := range []string{conf.Cache, d.path("cache")} {
		if cache == "" {
			cache = dir
		}
	}
	store, err := artifact.Open(artifact.Config{Dir: filepath.Join(cache, "artifacts"), MaxBytes: conf.CacheBytes, Progress: func(text string) {
		p.say("collector %s: %s", name, text)
	}})
	if err != nil {
		return nil, err
	}
	sources, err := suiteSources(p.config.Suites, p.config.Sources)
	if err != nil {
		return nil, err
	}
	// The path of the slot gets into what compilers make: it has the same length for every collector.
	sum := fnv.New32a()
	sum.Write([]byte(name))
	return &collector.Machine{
		Artifacts: store, Runner: runner.New(runner.Settings{CPUs: conf.CPUs, Nice: conf.Nice, DisableASLR: true, CountInstructions: conf.CountInstructions}),
		Slot: filepath.Join(cache, "slots", fmt.Sprintf("%08x", sum.Sum32())), Cache: filepath.Join(cache, "build"), Sources: sources,
	}, nil
}

func instanceFile(name events.CollectorName) string {
	return filepath.Join("credentials", string(name)+".instance")
}

// flushEvery bounds how long measured test cases are kept before they are recorded.
const flushEvery = 500 * time.Millisecond
