package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"runtime"
	"slices"

	"github.com/tachobench/tacho/control"
	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/internal/datadir"
	"github.com/tachobench/tacho/internal/phrase"
	"github.com/tachobench/tacho/internal/usage"
	"github.com/tachobench/tacho/rules/match"
	"github.com/tachobench/tacho/website/client"
)

type machineCmd struct {
	List   machineListCmd   `cmd:"" help:"List the machines of pools: what is free, and what no machine can run."`
	Show   machineShowCmd   `cmd:"" help:"Show a machine with its collectors and their jobs."`
	Add    machineAddCmd    `cmd:"" help:"Register a machine of a pool, with a collector for each of its slots."`
	Set    machineSetCmd    `cmd:"" help:"Change what a machine offers."`
	Remove machineRemoveCmd `cmd:"" help:"Remove a machine that has no active collectors, for good."`
}

// offer are the flags that say what a machine offers. What is not given stays as it is.
type offer struct {
	Memory  string               `help:"Memory that its jobs may have together: 64g or 8192m; a number alone is in GiB." placeholder:"SIZE"`
	CPUs    *int                 `help:"CPUs that its jobs may have together." name:"cpus" placeholder:"N"`
	Device  []string             `help:"Device that it has, with their number if there are several: gpu or gpu:2; give it once for each name." sep:"none" placeholder:"NAME[:N]"`
	Trait   []string             `help:"Word that it has, such as nvme; give it once for each." sep:"none" placeholder:"T"`
	Only    []string             `help:"Trait that it has, and of which a job must require one to run here; give it once for each." sep:"none" placeholder:"T"`
	Accepts []events.RequestKind `help:"Kind of request whose jobs may run here: master, try or release; give it once for each. Without any all may." sep:"none" placeholder:"KIND"`
}

// change returns what the flags say.
func (o offer) change() (control.MachineChange, error) {
	change := control.MachineChange{CPUs: o.CPUs}
	if o.Memory != "" {
		mib, err := match.ParseMemory(o.Memory)
		if err != nil {
			return change, usage.Errorf("--memory %s: %w", o.Memory, err)
		}
		change.MemoryMiB = &mib
	}
	if len(o.Device) > 0 {
		devices := map[string]int{}
		for _, text := range o.Device {
			name, n, err := match.ParseDevice(text)
			if err != nil {
				return change, usage.Errorf("--device %s: %w", text, err)
			}
			if devices[name] > 0 {
				return change, usage.Errorf("--device %s is given twice: add the numbers", name)
			}
			devices[name] = n
		}
		change.Devices = &devices
	}
	change.Traits, change.Only, change.Accepts = given(o.Trait), given(o.Only), given(o.Accepts)
	return change, nil
}

// given returns a list of flags; nil if none was given.
func given[T any](list []T) *[]T {
	if len(list) == 0 {
		return nil
	}
	return &list
}

type machineName struct {
	Name events.MachineName `arg:"" help:"Name of the machine."`
	JSON bool               `help:"Print JSON." name:"json"`
}

type machineAddCmd struct {
	Name  events.MachineName `arg:"" help:"Name of the machine; it must never have been used before."`
	Pool  events.PoolName    `required:"" help:"Pool of machines that it is a part of." placeholder:"P"`
	Slots int                `help:"Jobs that it runs at once." default:"1"`
	OS    string             `help:"Operating system, as Go names it; default: that of this machine." name:"os" placeholder:"OS"`
	Arch  string             `help:"Architecture, as Go names it; default: that of this machine." placeholder:"ARCH"`
	offer
	JSON bool `help:"Print JSON." name:"json"`
}

// Help is shown by --help.
func (*machineAddCmd) Help() string {
	return "Each slot is a collector: NAME for one slot, NAME-1, NAME-2 and so on for several. Their keys are kept in the data directory. " +
		"Memory and CPUs that are not given are those of the host, once one of the collectors is online: before that, jobs that require some run elsewhere. " +
		"A collector refuses to start on a host that has less than its machine offers."
}

// slotShown is a collector of a machine, with its credentials.
type slotShown struct {
	control.SlotCollector
	Credentials string `json:"credentials"`
	NKey        string `json:"nkey"`
}

// Run registers the machine and keeps the credentials of its collectors in the data directory.
func (c *machineAddCmd) Run(ctx context.Context, p *Program) error {
	change, err := c.change()
	if err != nil {
		return err
	}
	if c.Slots < 1 || c.Slots > control.MaxSlots {
		return usage.Errorf("--slots %d: use a number from 1 to %d", c.Slots, control.MaxSlots)
	}
	cl, err := p.client()
	if err != nil {
		return err
	}
	n := control.NewMachine{
		Name: c.Name, Pool: c.Pool, OS: cmp.Or(c.OS, runtime.GOOS), Arch: cmp.Or(c.Arch, runtime.GOARCH), Slots: c.Slots, MachineChange: change,
	}
	keys, err := p.newKeys(control.SlotNames(c.Name, c.Slots))
	if err != nil {
		return err
	}
	n.NKeys = keys.public
	answer, err := keys.register(ctx, cl, n)
	if err != nil {
		return err
	}
	var slots []slotShown
	for i, made := range answer.Collectors {
		slots = append(slots, slotShown{made, keys.dir.CredentialsFile(made.Name), keys.public[i]})
	}
	if c.JSON {
		return p.json(map[string]any{"name": c.Name, "pool": c.Pool, "seq": answer.Seq, "existed": answer.Existed, "collectors": slots})
	}
	fmt.Fprintf(p.Stdout, "machine %s of pool %s is registered with %s\n", c.Name, c.Pool, phrase.Count(len(slots), "collector"))
	for _, s := range slots {
		fmt.Fprintf(p.Stdout, "run `tacho collector run %s` for lane %s; credentials: %s\n", s.Name, s.Lane, s.Credentials)
	}
	fmt.Fprintf(p.Stdout, "to run them on another machine, copy the credentials there and add --credentials FILE\n")
	if p.config.NATS.URL != "" {
		for _, s := range slots {
			p.tellAccount(s.Name, s.NKey)
		}
	}
	return nil
}

// slotKeys are the keys of the collectors of a machine.
type slotKeys struct {
	dir    datadir.Dir
	creds  []datadir.Credentials
	public []string
	// made are the files that were not there before.
	made []string
}

// newKeys returns the credentials of collectors that may not be registered yet, with new keys where none are kept.
func (p *Program) newKeys(names []events.CollectorName) (*slotKeys, error) {
	k := &slotKeys{dir: datadir.Dir(p.config.Data)}
	for _, name := range names {
		creds, public, err := k.dir.NewCredentials(name, "", 0)
		if err == nil {
			err = p.reach(k.dir, &creds)
		}
		if err != nil {
			return nil, err
		}
		k.creds, k.public = append(k.creds, creds), append(k.public, public)
	}
	return k, nil
}

// register registers the machine. It keeps new keys before the log knows them, because the log never forgets them.
func (k *slotKeys) register(ctx context.Context, cl *client.Client, n control.NewMachine) (control.MachineAnswer, error) {
	for _, c := range k.creds {
		file := k.dir.CredentialsFile(c.Name)
		_, err := os.Stat(file)
		if !errors.Is(err, os.ErrNotExist) {
			continue
		}
		k.made = append(k.made, file)
		if err := k.dir.Keep(c); err != nil {
			return control.MachineAnswer{}, errors.Join(err, k.forget())
		}
	}
	answer, err := cl.AddMachine(ctx, n)
	var refused *client.Error
	switch {
	case errors.As(err, &refused) && refused.Status < http.StatusInternalServerError:
		return answer, errors.Join(err, k.forget())
	case err == nil && answer.Existed && len(k.made) > 0:
		return answer, errors.Join(&control.RefusedError{Kind: control.Conflict, Reason: fmt.Sprintf(
			"machine %s is already registered, and not all of its keys are in %s: copy the credentials that were made when it was registered to this directory, or choose another name", n.Name, k.dir)}, k.forget())
	case err != nil:
		return answer, err
	}
	for _, made := range answer.Collectors {
		i := slices.IndexFunc(k.creds, func(c datadir.Credentials) bool { return c.Name == made.Name })
		if i < 0 {
			continue
		}
		k.creds[i].Target, k.creds[i].Set = made.Lane.Target, made.Lane.Set
		if err := k.dir.Keep(k.creds[i]); err != nil {
			return answer, err
		}
	}
	return answer, nil
}

// forget removes the files that were not there before.
func (k *slotKeys) forget() error {
	var all error
	for _, file := range k.made {
		all = errors.Join(all, os.Remove(file))
	}
	return all
}

type machineSetCmd struct {
	machineName
	offer
	Clear []string `help:"Remove all devices, traits, only or accepts; give it once for each." enum:"devices,traits,only,accepts" sep:"none" placeholder:"SETTING"`
}

// Help is shown by --help.
func (*machineSetCmd) Help() string {
	return "What is not given stays as it is. Devices, traits, only and accepts that are given replace those before. Running jobs go on. " +
		"Pool, operating system, architecture and slots never change: remove the machine, and add it under another name."
}

// Run changes the offer.
func (c *machineSetCmd) Run(ctx context.Context, p *Program) error {
	change, err := c.change()
	if err != nil {
		return err
	}
	for _, setting := range c.Clear {
		taken := false
		switch setting {
		case "devices":
			taken, change.Devices = change.Devices != nil, &map[string]int{}
		case "traits":
			taken, change.Traits = change.Traits != nil, &[]string{}
		case "only":
			taken, change.Only = change.Only != nil, &[]string{}
		case "accepts":
			taken, change.Accepts = change.Accepts != nil, &[]events.RequestKind{}
		}
		if taken {
			return usage.Errorf("--clear %s: what is given for it replaces what was there before, so leave --clear out", setting)
		}
	}
	return p.settled(c.JSON, "machine", c.Name, "is set", func(cl *client.Client) (control.Answer, error) { return cl.SetMachine(ctx, c.Name, change) })
}

type machineRemoveCmd struct {
	machineName
	because
}

// Help is shown by --help.
func (*machineRemoveCmd) Help() string {
	return "First deactivate its collectors; they are removed with it. Its name and theirs are never used again, and neither are its lanes."
}

// Run removes the machine.
func (c *machineRemoveCmd) Run(ctx context.Context, p *Program) error {
	return p.settled(c.JSON, "machine", c.Name, "is removed", func(cl *client.Client) (control.Answer, error) {
		return cl.RemoveMachine(ctx, c.Name, c.Reason)
	})
}
