package cli

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/tachobench/tacho/control"
	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/internal/usage"
	"github.com/tachobench/tacho/readmodel"
	"github.com/tachobench/tacho/website/client"
)

type requestCmd struct {
	Master         requestMasterCmd         `cmd:"" help:"Request benchmarks of a merged commit."`
	Try            requestTryCmd            `cmd:"" help:"Request benchmarks of a try build."`
	Release        requestReleaseCmd        `cmd:"" help:"Request benchmarks of a release."`
	List           requestListCmd           `cmd:"" help:"List requests, newest first."`
	Show           requestShowCmd           `cmd:"" help:"Show a request with its jobs."`
	Cancel         requestCancelCmd         `cmd:"" help:"Withdraw a request."`
	Priority       requestPriorityCmd       `cmd:"" help:"Give a request another priority."`
	Submit         requestSubmitCmd         `cmd:"" help:"Make the requests of a file, all of them or none."`
	Repair         requestRepairCmd         `cmd:"" help:"Run the failed and cancelled jobs of a request again."`
	ArtifactsReady requestArtifactsReadyCmd `cmd:"" name:"artifacts-ready" help:"Tell Tacho that the artifact of a try request exists."`
}

type parameters struct {
	Suite      events.SuiteName   `help:"Suite to measure with; default: the only suite of the server." placeholder:"NAME"`
	Targets    []events.Target    `help:"Targets; default: those of the suite." sep:"," placeholder:"NAME,..."`
	Backends   []events.Backend   `help:"Backends; default: those of the suite." sep:"," placeholder:"NAME,..."`
	Profiles   []events.Profile   `help:"Profiles; default: those of the suite." sep:"," placeholder:"NAME,..."`
	Benchmarks []string           `help:"Benchmarks, as names or patterns with *; default: all." sep:"," placeholder:"NAME,..."`
	Account    events.AccountName `help:"Account that asks, if the operator asks for one; default: that of the token." placeholder:"A"`
	Queue      events.QueueName   `help:"Queue where it waits; default: the account's own, else main." placeholder:"Q"`
	Priority   events.Priority    `help:"vip, high, normal, low or idle; default: normal." placeholder:"P"`
	Require    []string           `help:"What the machines of its matched jobs must have, such as memory=8g or trait=nvme; give it once for each." sep:"none" placeholder:"TERM"`
	Branch     string             `help:"Branch that the artifact is on or, for a try, meant for; for suites that have something of their own for branches." placeholder:"B"`
	Graph      string             `help:"Graph of the suite; default: that of the branch, else the first." placeholder:"G"`
	Option     map[string]string  `help:"Value of an option of the suite; give it once for each." placeholder:"NAME=VALUE"`
	Definition events.Digest      `help:"Published definitions to measure with, whatever its branch uses, by their digest or its beginning (at least 4 characters)." name:"definitions" placeholder:"DIGEST"`
	Set        string             `help:"Name of a set that the request is in, such as that of a bisection." placeholder:"NAME"`
	Wait       bool               `help:"Wait until the request has ended, and show its progress."`
	JSON       bool               `help:"Print JSON." name:"json"`
}

func (c parameters) ask(ctx context.Context, p *Program, n control.NewRequest) error {
	cl, err := p.client()
	if err != nil {
		return err
	}
	n.Suite = c.Suite // if empty, the server takes its only suite
	n.Account, n.Queue, n.Priority, n.Requires = c.Account, c.Queue, c.Priority, c.Require
	n.Branch, n.Graph, n.Options, n.Named, n.Set = c.Branch, c.Graph, c.Option, c.Definition, c.Set
	n.Parameters = events.Parameters{Targets: c.Targets, Backends: c.Backends, Profiles: c.Profiles, Benchmarks: c.Benchmarks}
	answer, err := cl.CreateRequest(ctx, n)
	if err != nil {
		return err
	}
	if answer.Note != "" {
		p.say("%s", answer.Note)
	}
	if !c.JSON {
		known := ""
		if answer.Existed {
			known = " (already requested)"
		}
		p.say("request %s for %s: %s%s", answer.RequestID, askedFor(answer.Tag, n.Key), answer.State, known)
		if answer.Existed && answer.State == events.StateCancelled && n.Tag != "" {
			p.say("a cancelled request stays cancelled; to measure it after all, make a new one: tacho request try %s --key NAME", n.Tag)
		}
	}
	if c.Wait {
		if err := p.await(ctx, cl.After(answer.Seq), answer.RequestID); err != nil {
			return err
		}
		shown, err := cl.Request(ctx, string(answer.RequestID))
		if err != nil {
			return err
		}
		answer.State = shown.State
	}
	if c.JSON {
		if err := p.json(answer); err != nil {
			return err
		}
	}
	if c.Wait && answer.State != events.StateCompleted {
		return fmt.Errorf("request %s is %s: see `tacho request show %s`", answer.RequestID, answer.State, answer.RequestID)
	}
	return nil
}

type requestMasterCmd struct {
	Tag    events.Tag `arg:"" help:"SHA of the commit, or another name of the artifact."`
	Parent events.Tag `help:"Tag of the artifact to compare with." placeholder:"TAG"`
	PR     int        `help:"Pull request that brought the commit." placeholder:"N" name:"pr"`
	parameters
}

// Run asks for the commit.
func (c *requestMasterCmd) Run(ctx context.Context, p *Program) error {
	return c.ask(ctx, p, control.NewRequest{Kind: events.Master, Tag: c.Tag, Parent: c.Parent, PR: c.PR})
}

type requestTryCmd struct {
	Tag    events.Tag `arg:"" optional:"" help:"Tag of the artifact, if it already exists."`
	Key    string     `help:"Unique key of the request; default: the tag." placeholder:"TEXT"`
	Parent events.Tag `help:"Tag of the artifact to compare with." placeholder:"TAG"`
	PR     int        `help:"Pull request." placeholder:"N" name:"pr"`
	Keep   bool       `help:"Leave an older try of the pull request in the queue, instead of superseding it." name:"keep-older"`
	parameters
}

// Run asks for the try build.
func (c *requestTryCmd) Run(ctx context.Context, p *Program) error {
	if c.Tag == "" && c.Key == "" {
		return usage.Errorf("a try request without a tag needs --key, so that the same command twice makes one request")
	}
	return c.ask(ctx, p, control.NewRequest{Kind: events.Try, Key: c.Key, Tag: c.Tag, Parent: c.Parent, PR: c.PR, KeepOlder: c.Keep})
}

type requestReleaseCmd struct {
	Tag  events.Tag `arg:"" help:"Name of the release."`
	Date string     `help:"Date of the release." placeholder:"YYYY-MM-DD"`
	parameters
}

// Run asks for the release.
func (c *requestReleaseCmd) Run(ctx context.Context, p *Program) error {
	return c.ask(ctx, p, control.NewRequest{Kind: events.Release, Tag: c.Tag, ReleasedOn: c.Date})
}

// askedFor returns the tag of a request or, for a try that has none yet, its key.
func askedFor(tag events.Tag, key string) string {
	if tag == "" && key != "" {
		return "key " + key
	}
	return short(tag)
}

type requestListCmd struct {
	State    events.RequestState `help:"Only those in this state, such as in_progress, completed or failed." placeholder:"STATE"`
	Kind     events.RequestKind  `help:"Only those of this kind: master, try or release." placeholder:"KIND"`
	Account  events.AccountName  `help:"Only those of this account." placeholder:"A"`
	Queue    events.QueueName    `help:"Only those in this queue; main is the main queue." placeholder:"Q"`
	Priority events.Priority     `help:"Only those of this priority." placeholder:"P"`
	Set      string              `help:"Only those in this set." placeholder:"NAME"`
	Limit    int                 `help:"Show at most this many." default:"30"`
	JSON     bool                `help:"Print JSON." name:"json"`
}

// Run lists requests.
func (c *requestListCmd) Run(ctx context.Context, p *Program) error {
	cl, err := p.client()
	if err != nil {
		return err
	}
	list, err := cl.Requests(ctx, client.RequestQuery{
		State: c.State, Kind: c.Kind, Account: c.Account, Queue: c.Queue, Priority: c.Priority, Set: c.Set, Limit: c.Limit,
	})
	if err != nil {
		return err
	}
	if c.JSON {
		return p.json(list)
	}
	if len(list) == 0 {
		fmt.Fprintln(p.Stdout, "There is no such request.")
		return nil
	}
	return p.requestTable(list)
}

// requestTable prints requests. It says who asked, where and how urgently only if one of them has an account, another
// queue than the main one, or another priority than normal.
func (p *Program) requestTable(list []readmodel.Request) error {
	heads := []string{"REQUEST", "KIND", "TAG", "PARENT", "STATE", "CREATED", "TOOK", "REASON"}
	asked := slices.ContainsFunc(list, func(r readmodel.Request) bool { return r.Account != "" || r.Queue != "" || r.Priority != "" })
	if asked {
		heads = append(heads[:7:7], "ACCOUNT", "QUEUE", "PRIORITY", "REASON")
	}
	var rows [][]string
	for _, r := range list {
		took := "-"
		if r.DurationMS != nil {
			took = duration(*r.DurationMS)
		}
		row := []string{string(r.ID), string(r.Kind), askedFor(r.Tag, r.Key), short(r.ParentTag), string(r.State), moment(&r.CreatedAt), took}
		if asked {
			row = append(row, string(cmp.Or(r.Account, "-")), string(cmp.Or(r.Queue, events.MainQueue)), r.Priority.String())
		}
		rows = append(rows, append(row, r.Reason))
	}
	return table(p.Stdout, heads, rows)
}

// requestShown is a request with the comments about it.
type requestShown struct {
	readmodel.RequestJobs
	Comments []readmodel.Comment `json:"comments"`
}

type requestShowCmd struct {
	ID   string `arg:"" help:"Id, tag or key of the request, or the beginning of its id or tag."`
	JSON bool   `help:"Print JSON." name:"json"`
}

// Run shows the request.
func (c *requestShowCmd) Run(ctx context.Context, p *Program) error {
	cl, err := p.client()
	if err != nil {
		return err
	}
	r, err := cl.Request(ctx, c.ID)
	if err != nil {
		return next(err, "see `tacho request list`")
	}
	comments, err := cl.Outbox(ctx, client.CommentQuery{Request: r.ID})
	if err != nil {
		return err
	}
	if c.JSON {
		return p.json(requestShown{r, comments})
	}
	pr := ""
	if r.PR != nil {
		pr = fmt.Sprint(*r.PR)
	}
	waits := ""
	if r.Why != nil {
		waits = r.Why.Words
	}
	rest := ""
	if r.Rest != nil {
		rest = r.Rest.Words
	}
	takes := r.Takes()
	p.heading("%s request %s: %s", r.Kind, r.ID, r.State)
	p.facts([][2]string{
		{"tag", short(r.Tag)},
		{"key", r.Key},
		{"parent", short(r.ParentTag)},
		{"pr", pr},
		{"suite", string(r.Suite)},
		{"account", string(r.Account)},
		{"queue", string(r.Queue)},
		{"priority", string(r.Priority)},
		{"requires", strings.Join(r.Requires, " ")},
		{"branch", takes.Branch},
		{"graph", takes.Graph},
		{"options", takes.Settings()},
		{"uses", namedDefinitions(r.Request)},
		{"set", r.Together},
		{"reason", r.Reason},
		{"waits", waits},
		{"end", rest},
		{"created", moment(&r.CreatedAt) + " by " + string(r.CreatedBy)},
		{"started", moment(r.StartedAt)},
		{"ended", moment(r.EndedAt)},
		{"stages", stageWords(r.Stages)},
		{"newer", string(r.SupersededBy)},
	})
	p.tellRetired(r.Request)
	if len(comments) > 0 {
		fmt.Fprintln(p.Stdout)
		if err := p.commentTable(comments); err != nil {
			return err
		}
	}
	if len(r.JobList) == 0 {
		return nil
	}
	fmt.Fprintln(p.Stdout)
	return p.jobTable(r.JobList)
}

// namedDefinitions says which definitions a request names, or why those of its commit could not be used; empty if it takes
// those of its branch.
func namedDefinitions(r readmodel.Request) string {
	switch {
	case r.Customised:
		return "definitions " + string(r.Named) + ", which its branch had never used"
	case r.DefinitionsProblem != "":
		return "the definitions of its branch, because those in the commit cannot be used: " + r.DefinitionsProblem
	}
	if r.Named == "" {
		return ""
	}
	return "definitions " + string(r.Named)
}

func (p *Program) jobTable(jobs []readmodel.Job) error {
	var rows [][]string
	for _, j := range jobs {
		took := "-"
		if j.FinishedAt != nil {
			took = duration(j.DurationMS)
		}
		what := fmt.Sprintf("%s %s/%s", j.Kind, j.Backend, j.Profile)
		if j.Backfill {
			what += " (backfill)"
		}
		if j.Optional {
			what += " (optional)"
		}
		if j.Sample != "" {
			what += " (sample)"
		}
		if j.Round > 0 {
			what += fmt.Sprintf(" (round %d)", j.Round+1)
		}
		rows = append(rows, []string{
			string(j.ID), short(j.Tag), what, laneOf(j), j.Shown(), fmt.Sprint(j.Attempts),
			fmt.Sprintf("%d/%d", j.Measured+j.Skipped, j.Failed), took, firstLine(j.Reason),
		})
	}
	return table(p.Stdout, []string{"JOB", "TAG", "WHAT", "LANE", "STATE", "ATTEMPTS", "MEASURED/FAILED", "TOOK", "REASON"}, rows)
}

// laneOf returns the lane of a job. One that waits for a machine has none.
func laneOf(j readmodel.Job) string {
	if lane := j.Lane(); lane != (events.Lane{}) {
		return lane.String()
	}
	return "any"
}

type requestCancelCmd struct {
	ID     events.RequestID `arg:"" help:"Id, tag or key of the request, or the beginning of its id or tag; set:NAME for each request of a set that has not ended."`
	Yes    bool             `help:"Cancel the requests of a set; without it, they are shown and none is cancelled."`
	Reason string           `help:"Reason; it is kept in the log." placeholder:"TEXT"`
	JSON   bool             `help:"Print JSON." name:"json"`
}

// Run withdraws the request.
func (c *requestCancelCmd) Run(ctx context.Context, p *Program) error {
	cl, err := p.client()
	if err != nil {
		return err
	}
	if name, is := setOf(c.ID); is {
		return c.cancelSet(ctx, p, cl, name)
	}
	answer, err := cl.CancelRequest(ctx, c.ID, c.Reason)
	if err != nil {
		return err
	}
	return p.requestAnswer(answer, c.JSON)
}

type requestRepairCmd struct {
	ID     events.RequestID `arg:"" help:"Id, tag or key of the request, or the beginning of its id or tag."`
	Select []events.JobID   `help:"Only these jobs; default: all that did not succeed." sep:"," placeholder:"JOB,..."`
	Reason string           `help:"Reason; it is kept in the log." placeholder:"TEXT"`
	JSON   bool             `help:"Print JSON." name:"json"`
}

// Help is shown by --help.
func (*requestRepairCmd) Help() string {
	return "Each job gets another round, which measures what has no result yet. The request stays as it ended; its report is edited when the jobs have ended."
}

// Run asks for the jobs.
func (c *requestRepairCmd) Run(ctx context.Context, p *Program) error {
	cl, err := p.client()
	if err != nil {
		return err
	}
	return p.repairAnswer(ctx, cl, c.ID, control.Repair{Jobs: c.Select, Reason: c.Reason}, c.JSON)
}

type requestArtifactsReadyCmd struct {
	ID     events.RequestID `arg:"" help:"Id, tag or key of the request, or the beginning of its id or tag."`
	Tag    events.Tag       `required:"" help:"Tag of the artifact."`
	Parent events.Tag       `help:"Tag of the artifact to compare with." placeholder:"TAG"`
	JSON   bool             `help:"Print JSON." name:"json"`
}

// Run tells Tacho that the artifact exists.
func (c *requestArtifactsReadyCmd) Run(ctx context.Context, p *Program) error {
	cl, err := p.client()
	if err != nil {
		return err
	}
	answer, err := cl.ArtifactsReady(ctx, c.ID, client.Artifacts{Tag: c.Tag, ParentTag: c.Parent})
	if err != nil {
		return err
	}
	return p.requestAnswer(answer, c.JSON)
}

func (p *Program) requestAnswer(answer client.RequestAnswer, asJSON bool) error {
	if asJSON {
		return p.json(answer)
	}
	fmt.Fprintf(p.Stdout, "request %s for %s is %s\n", answer.RequestID, short(answer.Tag), answer.State)
	return nil
}
