package cli

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/tachobench/tacho/control"
	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/internal/usage"
	"github.com/tachobench/tacho/website/client"
)

type accountCmd struct {
	List  accountListCmd  `cmd:"" help:"List the configured accounts."`
	Show  accountShowCmd  `cmd:"" help:"Show an account."`
	Set   accountSetCmd   `cmd:"" help:"Make an account, or change its settings."`
	Token accountTokenCmd `cmd:"" help:"Give an account a new token, and print it once."`
	Close accountCloseCmd `cmd:"" help:"Close an account; its requests go on."`
}

type shareCmd struct {
	Show   shareShowCmd   `cmd:"" default:"withargs" hidden:"" help:"Show how the farm is shared."`
	Policy sharePolicyCmd `cmd:"" help:"Change the rules by which the farm is shared."`
}

// limits are the settings that accounts and queues have alike. What is not given stays as it is.
type limits struct {
	Weight     *control.Weight `help:"Part among the neighbours, 1 to 1000." placeholder:"N"`
	MaxRunning *int            `help:"Jobs that may run at once; 0: no limit." placeholder:"N"`
	MaxQueued  *int            `help:"Jobs that may wait; further requests start later; 0: no limit." placeholder:"N"`
	MaxPending *int            `help:"Requests that have not ended; further ones are refused; 0: no limit." placeholder:"N"`
}

type accountName struct {
	Name events.AccountName `arg:"" help:"Name of the account."`
	JSON bool               `help:"Print JSON." name:"json"`
}

type accountSetCmd struct {
	accountName
	limits
	MaxPriority *events.Priority `help:"Most urgent priority that it may ask for: vip, high, normal, low or idle." placeholder:"P"`
	MaxVIP      *int             `help:"Requests of priority vip that may be in progress at once." name:"max-vip" placeholder:"N"`
	May         []events.Right   `help:"What it may do: some of request, rerun, retrigger, cancel, prioritise, force, customise, promote, publish; or none alone, or usual alone." placeholder:"RIGHT,…"`
	Branch      []string         `help:"Pattern of the branches that it may ask for, such as try/*; give it once for each." sep:"none" placeholder:"PATTERN" xor:"branches"`
	AnyBranch   bool             `help:"Remove all patterns of branches, so that it may ask for any, or for none." xor:"branches"`
}

// Help is shown by --help.
func (*accountSetCmd) Help() string {
	return "What is not given stays as it is; a new account has weight 10, max-priority high, max-vip 3 and no limits. " +
		"Each account has a queue of its own name, with the same weight. " +
		"Rights and branches that are given replace those before. The usual rights are " + commas(events.UsualRights) + ", each for its own requests. " +
		"An account with branches must name one that matches whenever it asks, publishes or promotes."
}

// Run makes or changes the account.
func (c *accountSetCmd) Run(ctx context.Context, p *Program) error {
	change := control.AccountChange{
		Weight: c.Weight, MaxPriority: c.MaxPriority, MaxRunning: c.MaxRunning, MaxQueued: c.MaxQueued, MaxPending: c.MaxPending, MaxVIP: c.MaxVIP,
	}
	if c.May != nil && len(c.May) == 0 {
		return usage.Errorf("--may names no right: name some of %s, or none, or usual", commas(events.Rights))
	}
	if c.May != nil {
		change.May = &c.May
	}
	if len(c.Branch) > 0 || c.AnyBranch {
		branches := append([]string{}, c.Branch...)
		change.Branches = &branches
	}
	return p.settled(c.JSON, "account", c.Name, "is set", func(cl *client.Client) (control.Answer, error) {
		return cl.ConfigureAccount(ctx, c.Name, change)
	})
}

type accountTokenCmd struct {
	accountName
	Revoke bool `help:"Only end the token that the account has."`
}

// Help is shown by --help.
func (*accountTokenCmd) Help() string {
	return "Who has the token asks as this account: give it to them as TACHO_TOKEN. Tacho keeps only its digest, so nothing shows it again. The token before ends at once."
}

// Run makes or revokes the token.
func (c *accountTokenCmd) Run(ctx context.Context, p *Program) error {
	if c.Revoke {
		return p.settled(c.JSON, "account", c.Name, "has no token", func(cl *client.Client) (control.Answer, error) { return cl.RevokeToken(ctx, c.Name) })
	}
	cl, err := p.client()
	if err != nil {
		return err
	}
	answer, err := cl.IssueToken(ctx, c.Name)
	if err != nil {
		return err
	}
	if c.JSON {
		return p.json(answer)
	}
	p.say("the token of account %s; it is shown only this once:", c.Name)
	fmt.Fprintln(p.Stdout, answer.Token)
	return nil
}

type accountCloseCmd struct {
	accountName
	because
}

// Help is shown by --help.
func (*accountCloseCmd) Help() string {
	return "Its token ends at once, and it asks for nothing any more. Its requests go on. `tacho account set` opens it again."
}

// Run closes the account.
func (c *accountCloseCmd) Run(ctx context.Context, p *Program) error {
	return p.settled(c.JSON, "account", c.Name, "is closed", func(cl *client.Client) (control.Answer, error) {
		return cl.CloseAccount(ctx, c.Name, c.Reason)
	})
}

type queueName struct {
	Name events.QueueName `arg:"" help:"Name of the queue."`
	JSON bool             `help:"Print JSON." name:"json"`
}

type queueSetCmd struct {
	queueName
	limits
	Parent     *events.QueueName    `help:"Queue that it is a part of; empty: none." placeholder:"Q"`
	InProgress *int                 `help:"Requests in progress at once in each tier; 0: no limit." placeholder:"N"`
	Order      *events.QueueOrder   `help:"Order of the requests of one account: fifo, by creation, or levels, as in the main queue." placeholder:"ORDER"`
	Member     []events.AccountName `help:"Account that may use it; give it once for each. Without members everyone may." sep:"none" placeholder:"A" xor:"members"`
	Everyone   bool                 `help:"Remove all members, so that everyone may use it." xor:"members"`
	Require    []string             `help:"What the machines of its matched jobs must have, such as memory=8g or pool=linux; give it once for each." sep:"none" placeholder:"TERM" xor:"requires"`
	AnyMachine bool                 `help:"Remove all requirements." xor:"requires"`
}

// Help is shown by --help.
func (*queueSetCmd) Help() string {
	return "What is not given stays as it is; a new queue has weight 10, order fifo, no members and no limits. " +
		"Members and requirements that are given replace those before. The queue of an account's own name has the account's settings: use `tacho account set`."
}

// Run makes or changes the queue.
func (c *queueSetCmd) Run(ctx context.Context, p *Program) error {
	change := control.QueueChange{
		Parent: c.Parent, Weight: c.Weight, Order: c.Order, InProgress: c.InProgress,
		MaxRunning: c.MaxRunning, MaxQueued: c.MaxQueued, MaxPending: c.MaxPending,
	}
	if len(c.Member) > 0 || c.Everyone {
		members := append([]events.AccountName{}, c.Member...)
		change.Members = &members
	}
	if len(c.Require) > 0 || c.AnyMachine {
		requires := append([]string{}, c.Require...)
		change.Requires = &requires
	}
	return p.settled(c.JSON, "queue", c.Name, "is set", func(cl *client.Client) (control.Answer, error) {
		return cl.ConfigureQueue(ctx, c.Name, change)
	})
}

type queuePauseCmd struct{ queueName }

// Run pauses the queue.
func (c *queuePauseCmd) Run(ctx context.Context, p *Program) error {
	return p.settled(c.JSON, "queue", c.Name, "is paused", func(cl *client.Client) (control.Answer, error) { return cl.PauseQueue(ctx, c.Name) })
}

type queueResumeCmd struct{ queueName }

// Run resumes the queue.
func (c *queueResumeCmd) Run(ctx context.Context, p *Program) error {
	return p.settled(c.JSON, "queue", c.Name, "is resumed", func(cl *client.Client) (control.Answer, error) { return cl.ResumeQueue(ctx, c.Name) })
}

type queueCloseCmd struct {
	queueName
	because
}

// Help is shown by --help.
func (*queueCloseCmd) Help() string {
	return "It must have no parts, and no requests that have not ended. `tacho queue set` opens it again."
}

// Run closes the queue.
func (c *queueCloseCmd) Run(ctx context.Context, p *Program) error {
	return p.settled(c.JSON, "queue", c.Name, "is closed", func(cl *client.Client) (control.Answer, error) {
		return cl.CloseQueue(ctx, c.Name, c.Reason)
	})
}

type sharePolicyCmd struct {
	Floor map[string]string `help:"Part of the machine time that a tier has at least while more urgent ones have work: default=10%, or idle=0.5%; 0: none." mapsep:"," placeholder:"TIER=PERCENT"`
	Lag   *time.Duration    `help:"Machine time that an account or queue may catch up if it could not use its part." placeholder:"TIME"`
	JSON  bool              `help:"Print JSON." name:"json"`
}

// Help is shown by --help.
func (*sharePolicyCmd) Help() string {
	return "What is not given stays as it is; at first default has 10 %, idle 0.5 %, and the lag is 1h. " +
		"A floor is at most 50 %, both together 90 %. A lag is at most 168h. Without floors the less urgent tiers may wait for ever."
}

// Run changes the policy.
func (c *sharePolicyCmd) Run(ctx context.Context, p *Program) error {
	var change control.PolicyChange
	for tier, text := range c.Floor {
		floor, err := thousandths(text)
		if err != nil {
			return usage.Errorf("--floor %s=%s: %w", tier, text, err)
		}
		switch events.Tier(tier) {
		case events.TierDefault:
			change.FloorDefault = &floor
		case events.TierIdle:
			change.FloorIdle = &floor
		case events.TierVIP:
			return usage.Errorf("--floor %s: tier vip comes first and needs no floor; use default or idle", tier)
		default:
			return usage.Errorf("--floor %s: unknown tier: use default or idle", tier)
		}
	}
	if c.Lag != nil {
		ms := c.Lag.Milliseconds()
		change.LagMS = &ms
	}
	return p.settled(c.JSON, "the policy", "of shares", "is set", func(cl *client.Client) (control.Answer, error) { return cl.SetSharePolicy(ctx, change) })
}

// thousandths reads a part in percent, such as "0.5%".
func thousandths(text string) (int, error) {
	percent, err := strconv.ParseFloat(strings.TrimSpace(strings.TrimSuffix(text, "%")), 64)
	part := math.Round(percent * 10)
	if err != nil || math.IsNaN(percent) || math.Abs(part) > 1000 || math.Abs(percent*10-part) > 1e-6 {
		return 0, fmt.Errorf("use a part in percent, in steps of 0.1, from 0%% to 50%%")
	}
	return int(part), nil
}

// settled carries out a command on something that has a name, and says how that is afterwards.
func (p *Program) settled(asJSON bool, what, name any, state string, call func(*client.Client) (control.Answer, error)) error {
	cl, err := p.client()
	if err != nil {
		return err
	}
	answer, err := call(cl)
	if err != nil {
		return err
	}
	if asJSON {
		return p.json(answer)
	}
	if answer.Existed {
		state += " already"
	}
	fmt.Fprintf(p.Stdout, "%v %v %s\n", what, name, state)
	return nil
}

type requestPriorityCmd struct {
	ID       events.RequestID `arg:"" help:"Id, tag or key of the request, or the beginning of its id or tag; with /N behind it, its graph N." placeholder:"REQUEST[/N]"`
	Priority events.Priority  `arg:"" help:"vip, high, normal, low or idle."`
	because
	JSON bool `help:"Print JSON." name:"json"`
}

// Help is shown by --help.
func (*requestPriorityCmd) Help() string {
	return "high, normal and low order the requests of one account. vip comes before all others, idle after them; vip needs the right to it.\n\n" +
		"REQUEST/N is a graph of samples, as tacho graph list numbers them. Its samples are never more urgent than their request.\n\n" +
		"Examples:\n\n  tacho request priority 1a2b3c4d high\n  tacho request priority 1a2b3c4d/2 normal"
}

// Run changes the priority.
func (c *requestPriorityCmd) Run(ctx context.Context, p *Program) error {
	cl, err := p.client()
	if err != nil {
		return err
	}
	to := client.NewPriority{Priority: c.Priority, Reason: c.Reason}
	answer, err := cl.PrioritiseRequest(ctx, c.ID, to)
	var no *client.Error
	if id, number, wrong := graphNamed(string(c.ID)); wrong == nil && errors.As(err, &no) && no.Status == http.StatusNotFound { // a key may have a slash, too
		return c.graph(ctx, p, cl, id, number, to)
	}
	if err != nil {
		return err
	}
	if c.JSON {
		return p.json(answer)
	}
	fmt.Fprintf(p.Stdout, "request %s for %s has priority %s%s\n", answer.RequestID, short(answer.Tag), answer.Priority, when(answer.Existed, " already"))
	return nil
}

// graph changes the priority of a graph.
func (c *requestPriorityCmd) graph(ctx context.Context, p *Program, cl *client.Client, id events.RequestID, number int, to client.NewPriority) error {
	answer, err := cl.PrioritiseGraph(ctx, id, number, to)
	switch {
	case err != nil:
		return err
	case c.JSON:
		return p.json(answer)
	}
	_, err = fmt.Fprintf(p.Stdout, "graph %s/%d has priority %s%s\n", answer.RequestID, number, to.Priority, when(answer.Existed, " already"))
	return err
}
