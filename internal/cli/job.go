package cli

import (
	"context"
	"fmt"

	"github.com/tachobench/tacho/events"
)

type jobCmd struct {
	Why jobWhyCmd `cmd:"" help:"Say why a job waits."`
}

type jobWhyCmd struct {
	Job  events.JobID `arg:"" help:"Id of the job, or its beginning."`
	JSON bool         `help:"Print JSON." name:"json"`
}

// Help is shown by --help.
func (*jobWhyCmd) Help() string {
	return "A job that waits has one reason: next, lane_busy, no_machine, no_online_machine, paused, limit, tier, behind_in_share or behind_own."
}

// Run says why the job waits.
func (c *jobWhyCmd) Run(ctx context.Context, p *Program) error {
	cl, err := p.client()
	if err != nil {
		return err
	}
	why, err := cl.Why(ctx, c.Job)
	if err != nil {
		return next(err, "see `tacho jobs`")
	}
	if c.JSON {
		return p.json(why)
	}
	state := string(why.State)
	if why.Waits {
		state = fmt.Sprintf("waits since %s (%s)", moment(&why.Since), why.Reason)
	}
	p.heading("job %s: %s", why.JobID, state)
	p.heading("  %s", why.Words)
	return nil
}
