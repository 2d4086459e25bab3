package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/tachobench/tacho/internal/datadir"
	"github.com/tachobench/tacho/internal/node"
	"github.com/tachobench/tacho/internal/phrase"
	"github.com/tachobench/tacho/website/client"
)

type logCmd struct {
	Check  logCheckCmd  `cmd:"" help:"Read the whole log, and compare it with the archive in the database."`
	Repair logRepairCmd `cmd:"" help:"Restore the log of a data directory from the archive in the database."`
}

type logCheckCmd struct {
	JSON bool `help:"Print JSON." name:"json"`
}

// Help is shown by --help.
func (c *logCheckCmd) Help() string {
	return "Every event must be there, whole, and the one that the archive in the database has: their hashes are compared. A running Tacho does the " +
		"work, if there is one; else the files of the data directory are read, or the log of the cluster that nats.url names. Nothing is changed. " +
		"The exit code is 1 if anything is wrong."
}

// errLogDamaged ends a check that found something.
var errLogDamaged = errors.New("the log is damaged: stop Tacho and run `tacho log repair`; docs/repair.md tells more")

// Run checks the log.
func (c *logCheckCmd) Run(ctx context.Context, p *Program) error {
	var report node.LogReport
	cl, err := p.runningOrNone()
	if err != nil {
		return err
	}
	if cl == nil {
		report, err = p.host().CheckLog(ctx)
	} else {
		var raw json.RawMessage
		if raw, err = cl.CheckLog(ctx); err == nil {
			err = json.Unmarshal(raw, &report)
		}
	}
	if err != nil {
		return err
	}
	if c.JSON {
		if err := p.json(report); err != nil {
			return err
		}
	} else {
		p.logReport(report)
	}
	if !report.Whole() {
		return errLogDamaged
	}
	return nil
}

// runningOrNone returns a client of the Tacho that runs on the data directory, or of the one that is named; nil if none runs.
func (p *Program) runningOrNone() (*client.Client, error) {
	_, runs := datadir.Dir(p.config.Data).Find()
	if !runs && p.config.Server == "" {
		return nil, nil
	}
	cl, err := p.client()
	if err != nil {
		return nil, err
	}
	_, err = cl.Status(context.Background())
	var gone *client.UnreachableError
	if p.config.Server == "" && errors.As(err, &gone) {
		return nil, nil // it was killed, so its directory is free
	}
	return cl, nil
}

func (p *Program) logReport(r node.LogReport) {
	for _, d := range r.Damage {
		fmt.Fprintln(p.Stdout, d)
	}
	fmt.Fprintf(p.Stdout, "log %s\n%s up to event %d", r.Identity, phrase.Count(r.FromFiles, "whole event"), r.Last)
	if r.FromArchive > 0 {
		fmt.Fprintf(p.Stdout, ", and %s that only the archive has", phrase.Count(r.FromArchive, "event"))
	}
	fmt.Fprintf(p.Stdout, "; the archive ends at event %d\nchain %s\n", r.Archive, r.Chain)
	if r.Lost != nil {
		fmt.Fprintf(p.Stdout, "lost: events %d to %d, which are neither whole in the files nor in the archive\n", r.Lost.First, r.Lost.Last)
	}
	if r.Whole() && !r.Repaired {
		fmt.Fprintln(p.Stdout, "Nothing is wrong.")
	}
}

type logRepairCmd struct {
	JSON bool `help:"Print JSON." name:"json"`
}

// Help is shown by --help.
func (c *logRepairCmd) Help() string {
	return "Stop `tacho up` first. The new log has each event from the old files if it is whole there, and else from the archive in the database; " +
		"its sequences, times and hashes are the same. It is verified before it is put in place. The old files are left in a directory beside it. " +
		"A repair that was interrupted is ended by running it again. A log that is whole is left as it is."
}

// Run repairs the log.
func (c *logRepairCmd) Run(ctx context.Context, p *Program) error {
	report, err := p.host().RepairLog(ctx)
	if err != nil {
		return err
	}
	if c.JSON {
		return p.json(report)
	}
	p.logReport(report)
	if !report.Repaired {
		fmt.Fprintln(p.Stdout, "The log was left as it is.")
		return nil
	}
	fmt.Fprintln(p.Stdout, "The log was repaired and verified: start `tacho up` again.")
	if report.Aside != "" {
		fmt.Fprintf(p.Stdout, "The old files are in %s; remove them when you do not need them any more.\n", report.Aside)
	}
	return nil
}

type backupCmd struct {
	Dir  string `arg:"" help:"Directory to make; it must be empty." type:"path"`
	JSON bool   `help:"Print JSON." name:"json"`
}

// Help is shown by --help.
func (c *backupCmd) Help() string {
	return "The backup holds every event with its hash, as the log was when the backup began; from a data directory also its token and the keys of its " +
		"collectors, so keep it secret. A running Tacho is not disturbed. The tables are not in it: they are made from the log. Configuration " +
		"and the keys of seals are files of yours, and are not in it either."
}

// Run makes a backup.
func (c *backupCmd) Run(ctx context.Context, p *Program) error {
	cl, err := p.runningOrNone()
	if err != nil {
		return err
	}
	var running func(context.Context, io.Writer) error
	if cl != nil {
		running = cl.Backup
	}
	b, err := p.host().Backup(ctx, c.Dir, running)
	if err != nil {
		return err
	}
	if c.JSON {
		return p.json(b)
	}
	fmt.Fprintf(p.Stdout, "backup of %s in %s\nlog %s\nchain %s\n", phrase.Count(int(b.Events), "event"), b.Dir, b.Identity, b.Chain)
	if len(b.Files) > 0 {
		fmt.Fprintf(p.Stdout, "secret files: %s\n", strings.Join(b.Files, ", "))
	}
	return nil
}

type restoreCmd struct {
	Dir  string `arg:"" help:"Directory of a backup." type:"existingdir"`
	JSON bool   `help:"Print JSON." name:"json"`
}

// Help is shown by --help.
func (c *restoreCmd) Help() string {
	return "Name an empty data directory with --data. Every event of the backup is checked by its hash, and the new log is verified before it is put in " +
		"place. Then start `tacho up`, which makes the tables. A restore that was interrupted is ended by running it again."
}

// Run restores a backup.
func (c *restoreCmd) Run(ctx context.Context, p *Program) error {
	b, err := p.host().Restore(ctx, c.Dir)
	if err != nil {
		return err
	}
	if c.JSON {
		return p.json(b)
	}
	fmt.Fprintf(p.Stdout, "restored %s into %s\nlog %s\nStart `tacho up`, which makes the tables.\n", phrase.Count(int(b.Events), "event"), b.Dir, b.Identity)
	return nil
}

// scrubLine says how far the log is read in the background.
func scrubLine(s client.Scrub) string {
	line := fmt.Sprintf("Log: read again up to event %d of %d", s.At, s.Of)
	if at, err := time.Parse(time.RFC3339, s.Passed); err == nil {
		line += ", all of it by " + at.Local().Format("2006-01-02 15:04")
	}
	if s.Found != "" {
		line += "; DAMAGED: " + s.Found
	}
	return line
}
