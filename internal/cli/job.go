package cli

import (
	"context"
	"fmt"

	"github.com/tachobench/tacho/control"
	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/website/client"
)

type jobCmd struct {
	Show        jobShowCmd        `cmd:"" help:"Show a job with its attempts, and what jobs like it used."`
	Why         jobWhyCmd         `cmd:"" help:"Say why a job waits."`
	Diagnostics jobDiagnosticsCmd `cmd:"" help:"Show what the commands of a job had to say: warnings and the like."`
	Output      jobOutputCmd      `cmd:"" help:"Fetch what a job stored: an output or an upload."`
	Rerun       jobRerunCmd       `cmd:"" help:"Run jobs of a request that is in progress again."`
	Force       jobForceCmd       `cmd:"" help:"Let a job run that is blocked or skipped, whatever became of the jobs that it needs."`
}

type jobForceCmd struct {
	Job     events.JobID     `arg:"" help:"Id of the job, or its beginning."`
	Request events.RequestID `help:"The request in whose graphs the job waits; default: the one that had it made." placeholder:"REQUEST"`
	Key     string           `help:"Name of the wish: the same command with the same key is carried out once." placeholder:"TEXT"`
	Reason  string           `help:"Reason; it is kept in the log, and shown with the job." required:"" placeholder:"TEXT"`
	JSON    bool             `help:"Print JSON." name:"json"`
}

// Help is shown by --help.
func (*jobForceCmd) Help() string {
	return "What the job needs counts as met in the open graphs of the request, also for later rounds of the job. The job is shown as forced. " +
		"Jobs that need it wait for it as before. A job of a request that has ended: see tacho request repair.\n\n" +
		"Example:\n\n  tacho job force j81d6e6aac3174af --reason 'the smoke test is broken, not the compiler'"
}

// Run asks for it.
func (c *jobForceCmd) Run(ctx context.Context, p *Program) error {
	cl, err := p.client()
	if err != nil {
		return err
	}
	answer, err := cl.ForceJob(ctx, c.Job, client.Force{Request: c.Request, Key: c.Key, Reason: c.Reason})
	switch {
	case err != nil:
		return next(err, "see `tacho jobs`")
	case c.JSON:
		return p.json(answer)
	case !answer.Answered:
		return p.unanswered(answer.RequestID)
	}
	_, err = fmt.Fprintf(p.Stdout, "job %s is forced: it does not wait for the jobs that it needs; request %s stays %s\n", answer.JobID, answer.RequestID, answer.State)
	return err
}

type jobRerunCmd struct {
	Jobs    []events.JobID   `arg:"" help:"Ids of jobs that did not succeed; with --force also of others that ended."`
	Request events.RequestID `help:"The request in which they run again; default: the one that had the first of them made." placeholder:"REQUEST"`
	Force   bool             `help:"Run jobs again that succeeded, too; say why with --reason. What has results is not measured again."`
	Reason  string           `help:"Reason; it is kept in the log." placeholder:"TEXT"`
	JSON    bool             `help:"Print JSON." name:"json"`
}

// Help is shown by --help.
func (*jobRerunCmd) Help() string {
	return "Each job gets another round, and jobs that were skipped because of it wait for it again. What has run does not run again. The jobs of a request " +
		"that has ended: see tacho request repair.\n\n" +
		"A job that succeeded runs again only with --force and a --reason. Its next round measures what has no results, and if it fails, so does the request; " +
		"jobs that needed it and have run stay as they are. To measure anew, see tacho graph retrigger.\n\n" +
		"Example:\n\n  tacho job rerun j81d6e6aac3174af --force --reason 'its artifact was replaced'"
}

// Run asks for the next rounds.
func (c *jobRerunCmd) Run(ctx context.Context, p *Program) error {
	cl, err := p.client()
	if err != nil {
		return err
	}
	if c.Request == "" {
		j, err := cl.Job(ctx, c.Jobs[0])
		if err != nil {
			return next(err, "see `tacho jobs`")
		}
		c.Request = j.RequestID
	}
	return p.repairAnswer(ctx, cl, c.Request, control.Repair{Jobs: c.Jobs, Reason: c.Reason, Rerun: true, Force: c.Force}, c.JSON)
}

type jobWhyCmd struct {
	Job  events.JobID `arg:"" help:"Id of the job, or its beginning."`
	JSON bool         `help:"Print JSON." name:"json"`
}

// Help is shown by --help.
func (*jobWhyCmd) Help() string {
	return "A job that waits has one reason: next, lane_busy, no_machine, no_online_machine, unable, affinity, no_room, paused, limit, tier, behind_in_share, behind_own, needs or skipped."
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
