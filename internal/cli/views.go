package cli

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/internal/phrase"
	"github.com/tachobench/tacho/readmodel"
	"github.com/tachobench/tacho/website/client"
)

type queueCmd struct {
	Show   queueShowCmd   `cmd:"" default:"withargs" hidden:"" help:"Show the queue."`
	List   queueListCmd   `cmd:"" help:"List the configured queues."`
	Set    queueSetCmd    `cmd:"" help:"Make a queue beside the main one, or change its settings."`
	Pause  queuePauseCmd  `cmd:"" help:"Let no job of a queue start."`
	Resume queueResumeCmd `cmd:"" help:"Let the jobs of a queue start again."`
	Close  queueCloseCmd  `cmd:"" help:"Close a queue that is not needed any more."`
}

// Help is shown by --help.
func (*queueCmd) Help() string {
	return "Without a command it shows the queue, with --json as JSON. With --queue Q it shows the requests of another queue."
}

type queueShowCmd struct {
	Queue events.QueueName `help:"Show the requests of this queue." placeholder:"Q"`
	JSON  bool             `help:"Print JSON." name:"json"`
}

// Run shows the queue.
func (c *queueShowCmd) Run(ctx context.Context, p *Program) error {
	cl, err := p.client()
	if err != nil {
		return err
	}
	if c.Queue != "" && c.Queue != events.MainQueue {
		return p.showQueue(ctx, cl, c.Queue, c.JSON)
	}
	places, err := cl.Queue(ctx)
	if err != nil {
		return err
	}
	if c.JSON {
		return p.json(places)
	}
	var others []readmodel.Request
	if len(places) == 0 {
		status, err := cl.Status(ctx)
		if err != nil {
			return err
		}
		others = status.OtherQueues
	}
	return p.queueTable(places, others)
}

// emptyQueue says that nothing is in the main queue, and what is in the others.
func (p *Program) emptyQueue(others []readmodel.Request) {
	if len(others) == 0 {
		fmt.Fprintln(p.Stdout, "The queue is empty.")
		return
	}
	running, jobs, first := 0, 0, ""
	for _, r := range others {
		jobs += r.Jobs.Queued
		if r.State == events.StateInProgress {
			running++
		}
	}
	if len(others) == readmodel.OthersShown {
		first = fmt.Sprintf(" (the first %d)", len(others))
	}
	fmt.Fprintf(p.Stdout, "The main queue is empty. Requests of other queues%s: %d in progress, %d not started; their jobs that wait: %d. See `tacho share`.\n",
		first, running, len(others)-running, jobs)
}

// queueTable shows the main queue. others are the requests of other queues.
func (p *Program) queueTable(places []client.QueuePlace, others []readmodel.Request) error {
	if len(places) == 0 {
		p.emptyQueue(others)
		return nil
	}
	var rows [][]string
	for _, q := range places {
		pr := "-"
		if q.PR != nil {
			pr = fmt.Sprint(*q.PR)
		}
		state, end := string(q.State), moment(q.EstimatedEnd)
		if q.Overrun {
			state += ", longer than expected"
		}
		if q.Guessed {
			end += " (guessed)"
		}
		reason := q.Reason
		if q.NoEnd != "" {
			reason += "; no end: " + q.NoEnd
		}
		rows = append(rows, []string{
			fmt.Sprint(q.Position), askedFor(q.Tag, q.Key), string(q.Kind), pr, state, moment(q.EstimatedStart), end, window(q.EndEarliest, q.EndLatest), reason,
		})
	}
	return table(p.Stdout, []string{"", "TAG", "KIND", "PR", "STATE", "START (EST.)", "END (EST.)", "END BETWEEN", "REASON"}, rows)
}

type statusCmd struct {
	JSON bool `help:"Print JSON." name:"json"`
}

// Run shows everything at a glance.
func (c *statusCmd) Run(ctx context.Context, p *Program) error {
	cl, err := p.client()
	if err != nil {
		return err
	}
	s, err := cl.Status(ctx)
	if err != nil {
		return err
	}
	if c.JSON {
		return p.json(s)
	}
	places := make([]client.QueuePlace, len(s.Queue))
	for i, q := range s.Queue {
		places[i] = client.PlaceOf(q)
	}
	if len(s.Alerts) > 0 {
		fmt.Fprintln(p.Stdout, "Needs a person")
		p.alertList(s.Alerts)
		fmt.Fprintln(p.Stdout)
	}
	fmt.Fprintf(p.Stdout, "Queue (log at event %d)\n", s.Cursor.Seq)
	if err := p.queueTable(places, s.OtherQueues); err != nil {
		return err
	}
	if more := s.QueueTotal - len(places); more > 0 {
		fmt.Fprintf(p.Stdout, "%d more follow: see `tacho queue`.\n", more)
	}
	for _, r := range s.InProgress {
		fmt.Fprintf(p.Stdout, "\nIn progress: %s request %s for %s, %d of %d jobs ended%s\n", r.Kind, r.ID, short(r.Tag),
			r.Jobs.Success+r.Jobs.Failure+r.Jobs.Cancelled, r.Jobs.Total, overrun(places, r.ID))
		if err := p.jobTable(r.JobList); err != nil {
			return err
		}
	}
	fmt.Fprintln(p.Stdout, "\nCollectors")
	if err := p.collectorTable(s.Collectors, false); err != nil {
		return err
	}
	if len(s.Room) > 0 {
		fmt.Fprintln(p.Stdout, "\nRoom")
		if err := p.roomTable(s.Room); err != nil {
			return err
		}
	}
	if o := s.Outputs; o != nil {
		fmt.Fprintf(p.Stdout, "\nOutputs: %s, %s of %s, %s of it needed; uploads: %s\n", phrase.Count(o.Outputs, "output"), phrase.Bytes(o.Bytes),
			phrase.Bytes(o.LimitBytes), phrase.Bytes(o.NeededBytes), phrase.Bytes(o.UploadBytes))
	}
	if s.Scrub != nil {
		fmt.Fprintln(p.Stdout, "\n"+scrubLine(*s.Scrub))
	}
	if len(s.Completed) == 0 {
		return nil
	}
	fmt.Fprintln(p.Stdout, "\nLast ended")
	var rows [][]string
	for _, r := range s.Completed {
		took := "-"
		if r.DurationMS != nil {
			took = duration(*r.DurationMS)
		}
		rows = append(rows, []string{short(r.Tag), string(r.Kind), string(r.State), moment(r.EndedAt), took, fmt.Sprint(len(r.ErrorList)), r.Reason})
	}
	return table(p.Stdout, []string{"TAG", "KIND", "STATE", "ENDED", "TOOK", "ERRORS", "REASON"}, rows)
}

type jobsCmd struct {
	Request events.RequestID `help:"Only those of a request: its id, tag or key." placeholder:"ID"`
	State   events.JobState  `help:"Only those in this state: queued, blocked, skipped, in_progress, success, failure or cancelled." placeholder:"STATE"`
	Limit   int              `help:"Show at most this many." default:"100"`
	JSON    bool             `help:"Print JSON." name:"json"`
}

// Run lists jobs.
func (c *jobsCmd) Run(ctx context.Context, p *Program) error {
	cl, err := p.client()
	if err != nil {
		return err
	}
	jobs, err := cl.Jobs(ctx, client.JobQuery{Request: c.Request, State: c.State, Limit: c.Limit})
	if err != nil {
		return err
	}
	if c.JSON {
		return p.json(jobs)
	}
	if len(jobs) == 0 {
		return p.noJobs(ctx, cl, string(c.Request))
	}
	return p.jobTable(jobs)
}

// noJobs says why the list is empty: the jobs of an old request have left the tables.
func (p *Program) noJobs(ctx context.Context, cl *client.Client, request string) error {
	if request != "" {
		r, err := cl.Request(ctx, request)
		if err != nil {
			return next(err, "see `tacho request list`")
		}
		if p.tellRetired(r.Request) {
			return nil
		}
	}
	fmt.Fprintln(p.Stdout, "There is no such job.")
	return nil
}

// tellRetired says how many jobs of a request have left the tables, and whether there are any.
func (p *Program) tellRetired(r readmodel.Request) bool {
	if r.Jobs.Retired > 0 {
		fmt.Fprintf(p.Stdout, "%d of %d jobs of request %s ended long ago and left the tables; `tacho trace %s` shows their events.\n",
			r.Jobs.Retired, r.Jobs.Total, r.ID, r.ID)
	}
	return r.Jobs.Retired > 0
}

// overrun returns the words for a request that runs longer than expected, else "".
func overrun(places []client.QueuePlace, id events.RequestID) string {
	for _, q := range places {
		if q.RequestID == id && q.Overrun {
			return ", running longer than expected"
		}
	}
	return ""
}

type logsCmd struct {
	Job    events.JobID `arg:"" help:"Id of the job, or its beginning."`
	Follow bool         `help:"Keep showing new output until the job ends." short:"f"`
	JSON   bool         `help:"Print JSON; with -f, when the job has ended." name:"json"`
}

// Help is shown by --help.
func (c *logsCmd) Help() string {
	return "On a terminal, control characters are shown as escapes, such as \\x1b. Redirected to a file or another program, the output comes byte for byte."
}

// Run shows the output of a job.
func (c *logsCmd) Run(ctx context.Context, p *Program) error {
	cl, err := p.client()
	if err != nil {
		return err
	}
	if !c.JSON {
		state, err := cl.JobLog(ctx, c.Job, c.Follow, p.exactly(p.Stdout))
		if state == client.OutputComplete {
			fmt.Fprintln(p.Stderr, "the output is complete") // what is missing stands where it is missing
		}
		return next(err, "see `tacho jobs`")
	}
	var text strings.Builder
	state, err := cl.JobLog(ctx, c.Job, c.Follow, &text)
	if err != nil {
		return next(err, "see `tacho jobs`")
	}
	return p.json(struct {
		JobID events.JobID       `json:"job_id"`
		Log   string             `json:"log"`
		State client.OutputState `json:"output,omitempty"`
	}{c.Job, text.String(), state})
}

type compareCmd struct {
	A      events.Tag       `arg:"" help:"Tag of the artifact to compare with."`
	B      events.Tag       `arg:"" help:"Tag of the artifact that is judged."`
	Suite  events.SuiteName `help:"Suite, if both have results of more than one." placeholder:"NAME"`
	Metric events.Metric    `help:"Show only this metric." placeholder:"NAME"`
	All    bool             `help:"Show the test cases of every metric, not only of the headline metric; as Markdown, also the unchanged ones."`
	Format string           `help:"How to print: ${enum}." enum:"text,markdown,csv,samples,json" default:"text"`
	JSON   bool             `help:"The same as --format json." name:"json"`
}

// Run compares two artifacts.
func (c *compareCmd) Run(ctx context.Context, p *Program) error {
	cl, err := p.client()
	if err != nil {
		return err
	}
	q := client.CompareQuery{A: c.A, B: c.B, Suite: c.Suite, Metric: c.Metric, All: c.All}
	if !c.JSON && c.Format != "json" {
		return cl.CompareAs(ctx, q, c.Format, p.Stdout)
	}
	comparison, err := cl.Compare(ctx, q)
	if err != nil {
		return err
	}
	return p.json(comparison)
}

func sortedKeys[K cmp.Ordered, V any](m map[K]V) []K { return slices.Sorted(maps.Keys(m)) }

// shortType returns the name of a type for people: without the version.
func shortType(name string) string {
	if i := strings.LastIndex(name, ".v"); i >= 0 {
		return name[:i]
	}
	return name
}
