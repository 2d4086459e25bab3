package cli

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"slices"

	"github.com/tachobench/tacho/config"
	"github.com/tachobench/tacho/control"
	"github.com/tachobench/tacho/internal/datadir"
	"github.com/tachobench/tacho/website/client"
)

type collectorRotateCmd struct {
	collectorName
	because
}

// Help is shown by --help.
func (c *collectorRotateCmd) Help() string {
	return "The log takes the new key at once and refuses the old one, so a collector on another machine stands still until it has the new credentials. " +
		"A job that it has in hand is not lost: it goes on once the collector is back, or counts as lost after scheduler.offline_after."
}

// Run makes a new key, keeps it beside the old one, tells the log, and puts it into the place of the old one. Killed at
// any step, the next rotation goes on with the key that was kept, and so does a collector that finds its old key
// refused.
func (c *collectorRotateCmd) Run(ctx context.Context, p *Program) error {
	cl, err := p.client()
	if err != nil {
		return err
	}
	d := datadir.Dir(p.config.Data)
	file := d.CredentialsFile(c.Name)
	creds, err := datadir.ReadCredentials(datadir.NextFile(file))
	left := err == nil
	if !left {
		if creds, err = c.makeNext(ctx, cl, d); err != nil {
			return err
		}
	}
	answer, public, err := c.rotate(ctx, cl, creds)
	if left && isConflict(err) {
		// What an earlier run left was used and replaced since.
		if creds, err = c.makeNext(ctx, cl, d); err != nil {
			return err
		}
		left = false
		answer, public, err = c.rotate(ctx, cl, creds)
	}
	var refused *client.Error
	switch {
	case errors.As(err, &refused) && refused.Status < http.StatusInternalServerError && !left:
		return errors.Join(err, os.Remove(datadir.NextFile(file)))
	case err != nil:
		return fmt.Errorf("%w; whether the log has the new key is not known: it is kept in %s, and `tacho collector rotate %s` goes on with it", err, datadir.NextFile(file), c.Name)
	}
	if err := os.Rename(datadir.NextFile(file), file); err != nil {
		return fmt.Errorf("the log has the new key, and the credentials are in %s: %w", datadir.NextFile(file), err)
	}
	if c.JSON {
		return p.json(map[string]any{"name": c.Name, "seq": answer.Seq, "existed": answer.Existed, "credentials": file, "nkey": public})
	}
	fmt.Fprintf(p.Stdout, "collector %s has a new key; the one before is refused from now on\ncredentials: %s\n", c.Name, file)
	fmt.Fprintf(p.Stdout, "copy the file to the collector's machine, over the one that it has there; a collector that runs on this data directory takes it by itself\n")
	if p.config.NATS.URL != "" {
		p.tellAccount(c.Name, public)
	}
	return nil
}

func (c *collectorRotateCmd) rotate(ctx context.Context, cl *client.Client, creds datadir.Credentials) (control.Answer, string, error) {
	public, err := creds.PublicKey()
	if err != nil {
		return control.Answer{}, "", err
	}
	answer, err := cl.RotateKey(ctx, c.Name, client.NewKey{NKey: public, Reason: c.Reason})
	return answer, public, err
}

// makeNext makes the credentials with the new key and keeps them beside the old ones, before anybody knows the key.
func (c *collectorRotateCmd) makeNext(ctx context.Context, cl *client.Client, d datadir.Dir) (datadir.Credentials, error) {
	file := d.CredentialsFile(c.Name)
	creds, err := datadir.ReadCredentials(file)
	if errors.Is(err, os.ErrNotExist) { // it runs elsewhere
		creds, err = c.known(ctx, cl, d)
	}
	if err != nil {
		return creds, err
	}
	if err := creds.NewKey(); err != nil {
		return creds, err
	}
	return creds, d.KeepNext(creds)
}

// known returns what the tables say of a collector whose credentials are not here.
func (c *collectorRotateCmd) known(ctx context.Context, cl *client.Client, d datadir.Dir) (datadir.Credentials, error) {
	list, err := cl.Collectors(ctx, true)
	if err != nil {
		return datadir.Credentials{}, err
	}
	i := slices.IndexFunc(list, func(known client.Collector) bool { return known.Name == c.Name })
	if i < 0 {
		return datadir.Credentials{}, &control.RefusedError{Kind: control.NotFound, Reason: fmt.Sprintf("there is no collector %s: see `tacho collector list`", c.Name)}
	}
	creds := datadir.Credentials{Name: c.Name, Target: list[i].Target, Set: list[i].Set}
	if r, ok := d.Find(); ok {
		creds.NATSURL = config.NATSHosts(r.NATSURL)
	}
	return creds, nil
}

func isConflict(err error) bool {
	var refused *client.Error
	return errors.As(err, &refused) && refused.Status == http.StatusConflict
}

type collectorRemoveCmd struct {
	collectorName
	because
}

// Help is shown by --help.
func (c *collectorRemoveCmd) Help() string {
	return "Its key is refused at once, a job that it has in hand is given back and spends no attempt, and its lane is free. " +
		"Its results and its history stay. The name is never used again: to take a machine out for a while, deactivate it."
}

// Run removes the collector.
func (c *collectorRemoveCmd) Run(ctx context.Context, p *Program) error {
	return c.run(p, "removed", func(cl *client.Client) (control.Answer, error) { return cl.RemoveCollector(ctx, c.Name, c.Reason) })
}
