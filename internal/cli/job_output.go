package cli

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/readmodel"
)

type jobOutputCmd struct {
	Job  events.JobID `arg:"" help:"Id of the job, or its beginning."`
	Name string       `arg:"" help:"Name of the output or of the upload: tacho job show lists them."`
	To   string       `help:"File to write; - for the standard output. Default: JOB-NAME.tar in the present directory." placeholder:"FILE"`
}

// Help is shown by --help.
func (*jobOutputCmd) Help() string {
	return "Fetches what a job stored, as a tar file: an output that other jobs use, or an upload that it keeps for people. " +
		"A file that exists is not overwritten. What no job needs any more makes room for newer outputs after some time.\n\n" +
		"Example:\n\n  tacho job output j81d6e6aac3174af toolchain --to - | tar -x"
}

// Run fetches it.
func (c *jobOutputCmd) Run(ctx context.Context, p *Program) error {
	cl, err := p.client()
	if err != nil {
		return err
	}
	fetch := func(w io.Writer) error {
		return next(cl.JobOutput(ctx, c.Job, c.Name, w), fmt.Sprintf("see `tacho job show %s`", c.Job))
	}
	if c.To == "-" {
		return fetch(p.exactly(p.Stdout))
	}
	to := c.To
	if to == "" {
		to = filepath.Base(string(c.Job) + "-" + c.Name + ".tar")
	}
	if err := create(to, fetch); err != nil {
		return err
	}
	_, err = fmt.Fprintf(p.Stdout, "%s of job %s is in %s\n", c.Name, c.Job, to)
	return err
}

// create makes a file that is there whole or not at all.
func create(name string, write func(io.Writer) error) error {
	part, err := os.CreateTemp(filepath.Dir(name), ".tacho-*")
	if err != nil {
		return err
	}
	defer os.Remove(part.Name())
	err = write(part)
	if closed := part.Close(); err == nil {
		err = closed
	}
	if err != nil {
		return err
	}
	if err := os.Link(part.Name(), name); err != nil {
		return fmt.Errorf("%w: name another file with --to", err)
	}
	return nil
}

// tokensOf says how many CPUs a job uses at once; "" if it does not say so.
func tokensOf(b *readmodel.JobBuilt) string {
	if b == nil || b.Tokens == nil {
		return ""
	}
	t := b.Tokens
	words := fmt.Sprintf("%d", t.Min)
	if t.Max > t.Min {
		words += fmt.Sprintf(" to %d", t.Max)
	}
	return words + " CPUs" + when(t.Got > 0, fmt.Sprintf(", has %d", t.Got))
}

// storedTables shows what a job uses of others, and what it stored.
func (p *Program) storedTables(j readmodel.JobHistory) error {
	if j.Built != nil && len(j.Built.Inputs) > 0 {
		var rows [][]string
		for _, in := range j.Built.Inputs {
			rows = append(rows, []string{in.Name, string(in.Kind), string(in.JobID), short(in.Digest), fmt.Sprint(in.Bytes)})
		}
		fmt.Fprintln(p.Stdout)
		if err := table(p.Stdout, []string{"INPUT", "KIND", "JOB", "DIGEST", "BYTES"}, rows); err != nil {
			return err
		}
	}
	if len(j.OutputList) == 0 {
		return nil
	}
	var rows [][]string
	for _, o := range j.OutputList {
		rows = append(rows, []string{o.Name, when(o.Upload, "upload") + when(!o.Upload, "output"), short(o.Digest), fmt.Sprint(o.Bytes), fmt.Sprint(o.Attempt)})
	}
	fmt.Fprintln(p.Stdout)
	return table(p.Stdout, []string{"STORED", "AS", "DIGEST", "BYTES", "ATTEMPT"}, rows)
}
