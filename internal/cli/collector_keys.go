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
	return "The log accepts the new key at once and refuses the old one, so a collector on another machine cannot work until it has the new credentials. " +
		"It continues its job when it is back; if that takes longer than scheduler.offline_after, the attempt counts as lost."
}

// Run makes a new key, keeps it beside the old one, tells the log, and replaces the old one. If Run is killed at any step,
// the next rotation continues with the key that was kept, and so does a collector whose old key is refused.
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
		// The key that an earlier run left was used, and has been replaced since.
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
		return fmt.Errorf("%w; it is not known whether the log has the new key: the key is kept in %s, so run `tacho collector rotate %s` again to continue with it", err, datadir.NextFile(file), c.Name)
	}
	if err := os.Rename(datadir.NextFile(file), file); err != nil {
		return fmt.Errorf("the log has the new key, but its credentials could not be moved from %s to their place: %w", datadir.NextFile(file), err)
	}
	if c.JSON {
		return p.json(map[string]any{"name": c.Name, "seq": answer.Seq, "existed": answer.Existed, "credentials": file, "nkey": public})
	}
	fmt.Fprintf(p.Stdout, "collector %s has a new key; the old one is refused from now on\ncredentials: %s\n", c.Name, file)
	fmt.Fprintf(p.Stdout, "copy the file over the one on the collector's machine; a collector that runs on this data directory reads it by itself\n")
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

// makeNext makes the credentials with the new key and keeps them beside the old ones, before the log knows the key.
func (c *collectorRotateCmd) makeNext(ctx context.Context, cl *client.Client, d datadir.Dir) (datadir.Credentials, error) {
	file := d.CredentialsFile(c.Name)
	creds, err := datadir.ReadCredentials(file)
	if errors.Is(err, os.ErrNotExist) { // the collector runs elsewhere
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

// known returns credentials without a key, from what the tables say about a collector whose credentials are not here.
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
	return "Its key is refused at once. Its job, if it has one, is given back and spends no attempt. Its lane becomes free. " +
		"Its results and its history stay. The name is never used again: to stop a collector only for a while, deactivate it."
}

// Run removes the collector.
func (c *collectorRemoveCmd) Run(ctx context.Context, p *Program) error {
	return c.run(p, "removed", func(cl *client.Client) (control.Answer, error) { return cl.RemoveCollector(ctx, c.Name, c.Reason) })
}
