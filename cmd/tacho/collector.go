package main

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"syscall"
	"time"

	"github.com/google/uuid"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nkeys"

	"github.com/tachobench/tacho/artifact"
	"github.com/tachobench/tacho/client"
	"github.com/tachobench/tacho/collector"
	"github.com/tachobench/tacho/control"
	"github.com/tachobench/tacho/eventlog/jetstream"
	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/internal/measure"
	"github.com/tachobench/tacho/internal/natsserver"
	"github.com/tachobench/tacho/runner"
)

type collectorCmd struct {
	Add        collectorAddCmd        `cmd:"" help:"Register a collector for one set of a target."`
	List       collectorListCmd       `cmd:"" help:"List collectors with what they do."`
	Run        collectorRunCmd        `cmd:"" help:"Run a registered collector on this machine."`
	Drain      collectorDrainCmd      `cmd:"" help:"Have a collector finish its job and leave."`
	Activate   collectorActivateCmd   `cmd:"" help:"Let a collector take jobs again."`
	Deactivate collectorDeactivateCmd `cmd:"" help:"Stop the dispatch to a collector; its history stays."`
}

type collectorAddCmd struct {
	Name    events.CollectorName `arg:"" help:"Its name, unique for ever."`
	Target  events.Target        `required:"" help:"The target that it measures."`
	Set     events.Set           `help:"The set of benchmarks that it measures." default:"0"`
	Standby bool                 `help:"Take the lane over when its collector is gone."`
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
		creds.NATSURL = r.NATSURL
	}
	answer, err := cl.AddCollector(ctx, control.NewCollector{Name: c.Name, Target: c.Target, Set: c.Set, Standby: c.Standby, NKey: public})
	if err != nil {
		return err
	}
	if err := d.keep(creds); err != nil {
		return err
	}
	file := d.path(credentialsFile(c.Name))
	lane := events.Lane{Target: c.Target, Set: c.Set}
	if c.JSON {
		return p.json(map[string]any{
			"name": c.Name, "target": c.Target, "set": c.Set, "standby": c.Standby, "seq": answer.Seq, "existed": answer.Existed, "credentials": file, "nkey": public,
		})
	}
	fmt.Fprintf(p.stdout, "collector %s is registered for lane %s\ncredentials: %s\n", c.Name, lane, file)
	fmt.Fprintf(p.stdout, "run it here with `tacho collector run %s`, or copy the credentials to its machine and run `tacho collector run %s --credentials FILE`\n", c.Name, c.Name)
	if p.config.NATS.URL != "" {
		fmt.Fprintf(p.stdout, "the NATS cluster must know it:\n%s", jetstream.CollectorPermissions(c.Name, lane).Conf(public))
	}
	return nil
}

type collectorListCmd struct {
	JSON bool `help:"Print JSON." name:"json"`
}

// Run lists the collectors.
func (c *collectorListCmd) Run(ctx context.Context, p *program) error {
	cl, err := p.client()
	if err != nil {
		return err
	}
	list, err := cl.Collectors(ctx)
	if err != nil {
		return err
	}
	if c.JSON {
		return p.json(list)
	}
	return p.collectorTable(list)
}

func (p *program) collectorTable(list []client.Collector) error {
	var rows [][]string
	for _, c := range list {
		doing, beat := "-", "-"
		if c.CurrentJob != nil {
			doing = fmt.Sprintf("%s %s/%s", short(c.CurrentJob.Tag), c.CurrentJob.Backend, c.CurrentJob.Profile)
		}
		if h := c.Heartbeat; h != nil {
			beat = fmt.Sprintf("%s ago", duration(h.AgeMS))
			if h.JobID != "" {
				doing += fmt.Sprintf(" %s %d/%d", h.Benchmark, h.Done, h.Total)
			}
		}
		rows = append(rows, []string{string(c.Name), c.Lane().String(), string(c.State), beat, doing, c.Version})
	}
	if len(rows) == 0 {
		fmt.Fprintln(p.stdout, "No collector is registered: register one with `tacho collector add`.")
		return nil
	}
	return table(p.stdout, []string{"COLLECTOR", "LANE", "STATE", "HEARTBEAT", "DOING", "VERSION"}, rows)
}

type collectorName struct {
	Name   events.CollectorName `arg:"" help:"Name of the collector."`
	Reason string               `help:"Why; kept in the log."`
	JSON   bool                 `help:"Print JSON." name:"json"`
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

type collectorDrainCmd struct{ collectorName }

// Run drains the collector.
func (c *collectorDrainCmd) Run(ctx context.Context, p *program) error {
	return c.run(p, "draining", func(cl *client.Client) (control.Answer, error) { return cl.DrainCollector(ctx, c.Name, c.Reason) })
}

type collectorActivateCmd struct{ collectorName }

// Run activates the collector.
func (c *collectorActivateCmd) Run(ctx context.Context, p *program) error {
	return c.run(p, "active", func(cl *client.Client) (control.Answer, error) { return cl.ActivateCollector(ctx, c.Name) })
}

type collectorDeactivateCmd struct{ collectorName }

// Run deactivates the collector.
func (c *collectorDeactivateCmd) Run(ctx context.Context, p *program) error {
	return c.run(p, "inactive", func(cl *client.Client) (control.Answer, error) { return cl.DeactivateCollector(ctx, c.Name, c.Reason) })
}

type collectorRunCmd struct {
	Name        events.CollectorName `arg:"" help:"Name of the collector."`
	Credentials string               `help:"Its credentials; default: those in the data directory." type:"path" placeholder:"FILE"`
	NATSURL     string               `help:"Where the log is; default: what the credentials say." name:"nats-url" placeholder:"URL"`
	Cache       string               `help:"Directory of fetched artifacts." type:"path" placeholder:"DIR"`
}

// Help is shown by --help.
func (c *collectorRunCmd) Help() string {
	return "A collector needs the log (NATS) and nothing else: no database, no other port. It ends softly on Ctrl-C and gives its job back; " +
		"killed, it continues where it was at the next start. It should have the machine for itself."
}

// Run executes jobs until ctx ends.
func (c *collectorRunCmd) Run(ctx context.Context, p *program) error {
	d := directory(p.config.Data)
	file := c.Credentials
	if file == "" {
		file = d.path(credentialsFile(c.Name))
	}
	creds, err := readCredentials(file)
	if errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("no credentials of collector %s in %s: register it with `tacho collector add %s --target … --set …`, or name the file with --credentials", c.Name, file, c.Name)
	}
	if err != nil {
		return err
	}
	if creds.Name != c.Name {
		return usagef("the credentials in %s are those of collector %s", file, creds.Name)
	}
	url := creds.NATSURL
	for _, u := range []string{p.config.NATS.URL, c.NATSURL} {
		if u != "" {
			url = u
		}
	}
	if url == "" {
		return usagef("where the log is, is not known: name it with --nats-url or TACHO_NATS_URL")
	}
	nc, err := c.connect(url, creds)
	if err != nil {
		return err
	}
	defer nc.Close()
	lane := events.Lane{Target: creds.Target, Set: creds.Set}
	log, err := jetstream.OpenCollector(ctx, nc, c.Name, lane)
	if err != nil {
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
	conf := p.config.Collector
	err = collector.New(collector.Config{
		Name: c.Name, Lane: lane, Instance: instance, Replaces: last, Host: host, PID: os.Getpid(), Version: programVersion(),
		OS: runtime.GOOS, Arch: runtime.GOARCH, Environment: measure.Environment(ctx),
		Log: log, Dispatch: log, Presence: log, JobLogs: log, Bench: machine,
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

func (c *collectorRunCmd) connect(url string, creds credentials) (*nats.Conn, error) {
	options := jetstream.CollectorOptions(c.Name)
	if creds.Seed != "" {
		key, err := nkeys.FromSeed([]byte(creds.Seed))
		if err != nil {
			return nil, fmt.Errorf("the key in the credentials of collector %s cannot be read: %w", c.Name, err)
		}
		options = append(options, natsserver.KeyOption(key))
	}
	return connect(url, "", options...)
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
		Artifacts: store, Runner: runner.New(runner.Settings{CPUs: conf.CPUs, Nice: conf.Nice, DisableASLR: true}),
		Slot: filepath.Join(cache, "slots", fmt.Sprintf("%08x", sum.Sum32())), Cache: filepath.Join(cache, "build"), Sources: sources,
	}, nil
}

func instanceFile(name events.CollectorName) string {
	return filepath.Join("credentials", string(name)+".instance")
}

// lockInstance makes sure that no other process on this machine runs the collector. The last instance is
// therefore known to be dead, and its name can be taken at once.
func lockInstance(d directory, name events.CollectorName) (unlock func(), err error) {
	path := d.path("credentials", string(name)+".lock")
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		holder := d.read(filepath.Join("credentials", string(name)+".lock"))
		return nil, errors.Join(&control.RefusedError{Kind: control.Conflict, Reason: fmt.Sprintf(
			"collector %s runs already on this machine, as process %s: a name belongs to one process at a time", name, holder)}, f.Close())
	}
	if err := f.Truncate(0); err == nil {
		_, err = f.WriteAt([]byte(strconv.Itoa(os.Getpid())), 0)
		if err != nil {
			return nil, errors.Join(err, f.Close())
		}
	}
	return func() {
		if err := f.Close(); err != nil {
			return
		}
	}, nil
}

// flushEvery bounds how long measured test cases are kept before they are recorded.
const flushEvery = 500 * time.Millisecond
