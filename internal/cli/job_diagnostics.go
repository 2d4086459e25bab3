package cli

import (
	"context"
	"fmt"

	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/internal/phrase"
	"github.com/tachobench/tacho/readmodel"
)

type jobDiagnosticsCmd struct {
	Job  events.JobID `arg:"" help:"Id of the job, or its beginning."`
	All  bool         `help:"Show also what a job before it in its graph had said."`
	JSON bool         `help:"Print JSON; null if the job had nothing to say." name:"json"`
}

// Help is shown by --help.
func (*jobDiagnosticsCmd) Help() string {
	return "The suite file says which lines are diagnostics. Each text is shown once, with the number of lines that equal it but for addresses, times and places in files. " +
		"In a graph the job with the lowest number shows a text; the others count it as a duplicate. A job keeps 200 different texts, and counts the rest."
}

// Run shows the diagnostics.
func (c *jobDiagnosticsCmd) Run(ctx context.Context, p *Program) error {
	cl, err := p.client()
	if err != nil {
		return err
	}
	j, err := cl.Job(ctx, c.Job)
	switch {
	case err != nil:
		return next(err, "see `tacho jobs`")
	case c.JSON:
		return p.json(j.Diagnostics)
	case j.Diagnostics == nil:
		_, err = fmt.Fprintf(p.Stdout, "The commands of job %s had nothing to say that its definitions recognise.\n", j.ID)
		return err
	}
	return p.diagnostics(*j.Diagnostics, c.All)
}

// diagnostics prints what a job had to say; with all also what others show.
func (p *Program) diagnostics(d readmodel.JobDiagnostics, all bool) error {
	p.heading("job %s: %s%s", d.JobID, d.Words(), when(d.Of != "", fmt.Sprintf(" (said by job %s, whose outcome it took over)", d.Of)))
	shown := d.Fresh()
	if all {
		shown = d.Items
	}
	var rows [][]string
	for _, i := range shown {
		rows = append(rows, []string{fmt.Sprint(i.Count), i.Level, i.Code, firstLine(i.Text), string(i.SaidBy)})
	}
	if len(rows) > 0 {
		err := table(p.Stdout, []string{"LINES", "LEVEL", "CODE", "TEXT", "SAID BY"}, rows)
		if err != nil {
			return err
		}
	}
	if n, by := d.Duplicates(); n > 0 && !all {
		fmt.Fprintf(p.Stdout, "(%s: see `tacho job diagnostics %s`, or --all)\n", phrase.Count(n, "duplicate"), by)
	}
	if d.More > 0 {
		fmt.Fprintf(p.Stdout, "and %d more\n", d.More)
	}
	return nil
}
