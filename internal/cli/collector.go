package cli

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/tachobench/tacho/collector/supervisor"
	"github.com/tachobench/tacho/config"
	"github.com/tachobench/tacho/control"
	"github.com/tachobench/tacho/eventlog/door"
	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/internal/datadir"
	"github.com/tachobench/tacho/internal/node"
	"github.com/tachobench/tacho/internal/phrase"
	"github.com/tachobench/tacho/website/client"
)

type collectorCmd struct {
	Add        collectorAddCmd        `cmd:"" help:"Register a collector for one set of a target."`
	List       collectorListCmd       `cmd:"" help:"List collectors and what they are doing."`
	Run        collectorRunCmd        `cmd:"" help:"Run a registered collector on this machine."`
	Supervise  collectorSuperviseCmd  `cmd:"" help:"Keep a collector running on this machine, at the wanted version."`
	Want       collectorWantCmd       `cmd:"" help:"Set or show the version that supervised collectors should run."`
	Drain      collectorDrainCmd      `cmd:"" help:"Let a collector finish its job and then leave."`
	Activate   collectorActivateCmd   `cmd:"" help:"Let a collector take jobs again; ends a drain and a quarantine."`
	Deactivate collectorDeactivateCmd `cmd:"" help:"Give a collector no more jobs; its history stays."`
	Takeover   collectorTakeoverCmd   `cmd:"" help:"Let a collector serve its lane in place of the current one."`
	Rotate     collectorRotateCmd     `cmd:"" help:"Give a collector a new key; the old one is refused."`
	Remove     collectorRemoveCmd     `cmd:"" help:"Remove a collector for good; its name is never used again."`
}

type collectorAddCmd struct {
	Name     events.CollectorName `arg:"" help:"Name of the collector; it must never have been used before."`
	Target   events.Target        `required:"" help:"The target that it measures."`
	Set      events.Set           `help:"The set of benchmarks that it measures." default:"0"`
	Standby  bool                 `help:"Stand by for the collector of a lane, and take over when it is gone."`
	Password bool                 `help:"Make no key: a password at the NATS cluster proves who the collector is, as in docker-compose.yml."`
	JSON     bool                 `help:"Print JSON." name:"json"`
}

// Run registers the collector and keeps its credentials in the data directory.
func (c *collectorAddCmd) Run(ctx context.Context, p *Program) error {
	cl, err := p.client()
	if err != nil {
		return err
	}
	if c.Password {
		return c.withoutKey(ctx, p, cl)
	}
	d := datadir.Dir(p.config.Data)
	creds, public, err := d.NewCredentials(c.Name, c.Target, c.Set)
	if err != nil {
		return err
	}
	if err := p.reach(d, &creds); err != nil {
		return err
	}
	file := d.CredentialsFile(c.Name)
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
	fmt.Fprintf(p.Stdout, "collector %s is registered for lane %s\ncredentials: %s\n", c.Name, lane, file)
	fmt.Fprintf(p.Stdout, "run it here with `tacho collector run %s`, or copy the credentials to its machine and run `tacho collector run %s --credentials FILE`\n", c.Name, c.Name)
	if p.config.NATS.URL != "" {
		p.tellAccount(c.Name, public)
	}
	return nil
}

// withoutKey registers a collector that has a password at the NATS cluster. It keeps nothing on this machine. So it may be
// repeated from anywhere, and finds a collector that was registered with a key as well.
func (c *collectorAddCmd) withoutKey(ctx context.Context, p *Program, cl *client.Client) error {
	answer, err := cl.AddCollector(ctx, control.NewCollector{Name: c.Name, Target: c.Target, Set: c.Set, Standby: c.Standby})
	if err != nil {
		return err
	}
	if c.JSON {
		return p.json(map[string]any{
			"name": c.Name, "target": c.Target, "set": c.Set, "standby": c.Standby, "seq": answer.Seq, "existed": answer.Existed,
		})
	}
	already := ""
	if answer.Existed {
		already = " already"
	}
	fmt.Fprintf(p.Stdout, "collector %s is registered%s for lane %s; its password at the NATS cluster proves who it is\n", c.Name, already, events.Lane{Target: c.Target, Set: c.Set})
	return nil
}

// reach adds to credentials where the log is, and what its server is trusted by.
func (p *Program) reach(d datadir.Dir, creds *datadir.Credentials) error {
	r, ok := d.Find()
	if !ok {
		return creds.Trust(p.config.NATS.CA, p.config.NATS.ServerName)
	}
	// Keep only the hosts: a user in the core's URL is not the collector's.
	creds.NATSURL = config.NATSHosts(r.NATSURL)
	return creds.Trust(r.NATSCA, r.NATSServerName)
}

// tellAccount prints what the configuration of an external cluster needs for a collector's key.
func (p *Program) tellAccount(name events.CollectorName, public string) {
	fmt.Fprintf(p.Stdout, "the NATS cluster must know the key. Put this into the block \"accounts\" of its configuration, in place of an entry of the same name, "+
		"and replace CORE by the name of the core's account:\n%sPut this once into the core's account:\n%s"+
		"Then make each node read its configuration twice (`nats-server --signal reload`, two times): after the first time a new account does not reach the core yet.\n",
		door.Conf(name, public, "CORE"), door.CoreExports())
}

// add registers the collector. It keeps a new key before the log knows it, because the log never forgets it.
func (c *collectorAddCmd) add(ctx context.Context, cl *client.Client, d datadir.Dir, creds datadir.Credentials, public string) (control.Answer, error) {
	file := d.CredentialsFile(c.Name)
	_, err := os.Stat(file)
	made := errors.Is(err, os.ErrNotExist)
	if made {
		if err := d.Keep(creds); err != nil {
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
			"collector %s is already registered, and its key is not in %s: copy the credentials that were made when it was registered to this directory, or choose another name", c.Name, d)}, os.Remove(file))
	case err != nil:
		return answer, err
	}
	return answer, d.Keep(creds)
}

type collectorListCmd struct {
	All  bool `help:"Also list removed collectors."`
	JSON bool `help:"Print JSON." name:"json"`
}

// Run lists the collectors.
func (c *collectorListCmd) Run(ctx context.Context, p *Program) error {
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

// collectorTable prints collectors, and with keys also the ages of their keys.
func (p *Program) collectorTable(list []client.Collector, keys bool) error {
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
			row = append(row, phrase.Duration(max(p.Clock().Sub(c.KeySince), 0)))
		}
		rows = append(rows, row)
	}
	if len(rows) == 0 {
		fmt.Fprintln(p.Stdout, "No collector is registered: register one with `tacho collector add`.")
		return nil
	}
	columns := []string{"COLLECTOR", "LANE", "STATE", "HEARTBEAT", "DOING", "VERSION"}
	if keys {
		columns = append(columns, "KEY")
	}
	return table(p.Stdout, columns, rows)
}

type collectorName struct {
	Name events.CollectorName `arg:"" help:"Name of the collector."`
	JSON bool                 `help:"Print JSON." name:"json"`
}

type because struct {
	Reason string `help:"Reason; it is kept in the log." placeholder:"TEXT"`
}

func (c collectorName) run(p *Program, what string, call func(*client.Client) (control.Answer, error)) error {
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
	fmt.Fprintf(p.Stdout, "collector %s is %s\n", c.Name, what)
	return nil
}

type collectorDrainCmd struct {
	collectorName
	because
}

// Run drains the collector.
func (c *collectorDrainCmd) Run(ctx context.Context, p *Program) error {
	return c.run(p, "draining", func(cl *client.Client) (control.Answer, error) { return cl.DrainCollector(ctx, c.Name, c.Reason) })
}

type collectorActivateCmd struct{ collectorName }

// Run activates the collector.
func (c *collectorActivateCmd) Run(ctx context.Context, p *Program) error {
	return c.run(p, "active", func(cl *client.Client) (control.Answer, error) { return cl.ActivateCollector(ctx, c.Name) })
}

type collectorDeactivateCmd struct {
	collectorName
	because
	Now bool `help:"Give its job back at once, instead of finishing it first."`
}

// Run deactivates the collector.
func (c *collectorDeactivateCmd) Run(ctx context.Context, p *Program) error {
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
	return "A standby that took a lane over keeps it when the first collector returns, so that series change their machine " +
		"as rarely as possible. This command gives the lane to the collector that you name. A running job is finished first."
}

// Run lets the collector take its lane over.
func (c *collectorTakeoverCmd) Run(ctx context.Context, p *Program) error {
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

// tellAbsent says what happens next if the lane was given to a collector that is offline, or taken from one.
func (c *collectorTakeoverCmd) tellAbsent(p *Program, before []client.Collector) {
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
			p.say("collector %s is offline: its job continues on %s after a silence of scheduler.takeover_after; when it returns, it stands by", known.Name, c.Name)
		case known.Serving:
			p.say("collector %s is offline: when it returns, it stands by until you run `tacho collector takeover %s`", known.Name, known.Name)
		}
	}
}

type collectorRunCmd struct {
	Name        events.CollectorName `arg:"" help:"Name of the collector."`
	Credentials string               `help:"File with its credentials; default: the one in the data directory." type:"path" placeholder:"FILE"`
	NATSURL     string               `help:"URL of the log; default: nats.url, else the one in the credentials." name:"nats-url" placeholder:"URL"`
	Cache       string               `help:"Directory for fetched artifacts." type:"path" placeholder:"DIR"`
	TLS         natsClientTLS        `embed:""`
}

// Help is shown by --help.
func (c *collectorRunCmd) Help() string {
	return "A collector needs the log (NATS) and nothing else: no database, no other port. On Ctrl-C it gives its job back and ends. " +
		"If it is killed, its next start continues where it was. It should have the machine to itself."
}

// Run executes jobs until ctx ends.
func (c *collectorRunCmd) Run(ctx context.Context, p *Program) error {
	one, err := c.collector(p)
	if err != nil {
		return err
	}
	return one.Run(ctx)
}

// collector returns the collector that the flags describe.
func (c *collectorRunCmd) collector(p *Program) (*node.Collector, error) {
	if err := c.TLS.apply(&p.config); err != nil {
		return nil, err
	}
	return &node.Collector{
		Host: p.host(), Name: c.Name, Credentials: c.Credentials, NATSURL: c.NATSURL, Cache: c.Cache,
		Orders: p.Getenv(supervisor.Variable), Watched: p.screen != nil,
	}, nil
}
