package cli

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/readmodel"
	"github.com/tachobench/tacho/website/client"
)

type shareShowCmd struct {
	JSON bool `help:"Print JSON." name:"json"`
}

// Run shows the tree of shares.
func (c *shareShowCmd) Run(ctx context.Context, p *Program) error {
	cl, err := p.client()
	if err != nil {
		return err
	}
	shares, err := cl.Shares(ctx)
	if err != nil {
		return err
	}
	if c.JSON {
		return p.json(shares)
	}
	fmt.Fprintf(p.Stdout, "Floors: default %s, idle %s; lag %s. Had and machine time are since %s.\n\n", parts(shares.FloorDefault), parts(shares.FloorIdle),
		duration(shares.LagMS), moment(&shares.ChargedSince))
	rows := shareRows(nil, "", shares.Tiers)
	if len(rows) == 0 {
		fmt.Fprintln(p.Stdout, "No one has work, and no one had machine time.")
		return nil
	}
	return table(p.Stdout, []string{"SHARE", "WEIGHT", "DUE", "HAD", "MACHINE TIME", "WAITING", "RUNNING", "REQUESTS", "OLDEST"}, rows)
}

// parts returns thousandths in percent.
func parts(thousandths int) string { return fmt.Sprintf("%g %%", float64(thousandths)/10) }

// shareRows adds a row for each node, and indents what is below another one.
func shareRows(rows [][]string, indent string, nodes []readmodel.ShareNode) [][]string {
	part := func(percent *float64) string {
		if percent == nil {
			return "-"
		}
		return fmt.Sprintf("%g %%", *percent)
	}
	for _, n := range nodes {
		weight, had := "-", "-"
		if n.Weight > 0 {
			weight = fmt.Sprint(n.Weight)
		}
		if n.ChargedMS > 0 {
			had = duration(n.ChargedMS)
		}
		rows = append(rows, []string{
			indent + string(n.Kind) + " " + cmp.Or(n.Name, "(none)") + when(n.Paused, " (paused)"), weight, part(n.Due), part(n.Had), had,
			fmt.Sprint(n.Waiting), fmt.Sprint(n.Running), fmt.Sprint(n.Requests), moment(n.OldestAt),
		})
		rows = shareRows(rows, indent+"  ", n.Nodes)
	}
	return rows
}

// after are the flags of lists that are read in pages.
type after struct {
	After string `help:"Show only names after this one." placeholder:"NAME"`
	Limit int    `help:"Show at most this many." default:"100"`
	JSON  bool   `help:"Print JSON." name:"json"`
}

type accountListCmd struct{ after }

// Run lists accounts.
func (c *accountListCmd) Run(ctx context.Context, p *Program) error {
	cl, err := p.client()
	if err != nil {
		return err
	}
	list, err := cl.Accounts(ctx, events.AccountName(c.After), c.Limit)
	if err != nil {
		return err
	}
	if c.JSON {
		return p.json(list)
	}
	heads := []string{"ACCOUNT", "WEIGHT", "MAX PRIORITY", "MAX RUNNING", "MAX QUEUED", "MAX PENDING", "MAX VIP", "TOKEN SINCE", "STATE"}
	limited := slices.ContainsFunc(list, func(a readmodel.Account) bool { return len(a.May)+len(a.Branches) > 0 })
	if limited {
		heads = append(heads, "MAY", "BRANCHES")
	}
	var rows [][]string
	for _, a := range list {
		state := "open"
		if a.ClosedAt != nil {
			state = "closed"
		}
		row := []string{
			string(a.Name), fmt.Sprint(a.Weight), string(a.MaxPriority), bound(a.MaxRunning), bound(a.MaxQueued), bound(a.MaxPending), fmt.Sprint(a.MaxVIP),
			moment(a.TokenSince), state,
		}
		if limited {
			row = append(row, cmp.Or(commas(a.May), "usual"), cmp.Or(strings.Join(a.Branches, ", "), "-"))
		}
		rows = append(rows, row)
	}
	if len(rows) == 0 {
		fmt.Fprintln(p.Stdout, "There is no such account.")
		return nil
	}
	return table(p.Stdout, heads, rows)
}

// commas returns words with commas.
func commas[T ~string](list []T) string { return names(list, func(w T) string { return string(w) }) }

// bound returns a limit in words.
func bound(n int) string {
	if n == 0 {
		return "-"
	}
	return fmt.Sprint(n)
}

type accountShowCmd struct{ accountName }

// Run shows one account.
func (c *accountShowCmd) Run(ctx context.Context, p *Program) error {
	cl, err := p.client()
	if err != nil {
		return err
	}
	a, err := cl.Account(ctx, c.Name)
	if err != nil {
		return next(err, "see `tacho account list`")
	}
	if c.JSON {
		return p.json(a)
	}
	p.heading("account %s%s", a.Name, when(a.ClosedAt != nil, ": closed"))
	p.facts([][2]string{
		{"weight", fmt.Sprint(a.Weight)},
		{"may ask", "up to priority " + string(a.MaxPriority) + ", " + fmt.Sprint(a.MaxVIP) + " of vip at once"},
		{"rights", cmp.Or(commas(a.May), "the usual ones: "+commas(events.UsualRights))},
		{"branches", strings.Join(a.Branches, ", ")},
		{"running", bound(a.MaxRunning)},
		{"queued", bound(a.MaxQueued)},
		{"pending", fmt.Sprint(a.Pending) + when(a.MaxPending > 0, fmt.Sprintf(" of at most %d", a.MaxPending))},
		{"token", when(a.TokenSince != nil, "since "+moment(a.TokenSince))},
		{"closed", strings.TrimSuffix(moment(a.ClosedAt)+": "+a.ClosedReason, ": ")},
		{"since", moment(&a.CreatedAt)},
	})
	return nil
}

type queueListCmd struct{ after }

// Run lists queues.
func (c *queueListCmd) Run(ctx context.Context, p *Program) error {
	cl, err := p.client()
	if err != nil {
		return err
	}
	list, err := cl.Queues(ctx, events.QueueName(c.After), c.Limit)
	if err != nil {
		return err
	}
	if c.JSON {
		return p.json(list)
	}
	heads := []string{"QUEUE", "PARENT", "WEIGHT", "ORDER", "IN PROGRESS", "MAX RUNNING", "MAX QUEUED", "MAX PENDING", "STATE", "MEMBERS"}
	require := slices.ContainsFunc(list, func(q readmodel.NamedQueue) bool { return len(q.Requires) > 0 })
	if require {
		heads = append(heads, "REQUIRES")
	}
	var rows [][]string
	for _, q := range list {
		state := "open"
		switch {
		case q.ClosedAt != nil:
			state = "closed"
		case q.Paused:
			state = "paused"
		}
		members := make([]string, len(q.Members))
		for i, m := range q.Members {
			members[i] = string(m)
		}
		row := []string{
			string(q.Name), cmp.Or(string(q.Parent), "-"), fmt.Sprint(q.Weight), string(q.Order), bound(q.InProgress), bound(q.MaxRunning), bound(q.MaxQueued),
			bound(q.MaxPending), state, cmp.Or(strings.Join(members, ", "), "everyone"),
		}
		if require {
			row = append(row, cmp.Or(strings.Join(q.Requires, " "), "-"))
		}
		rows = append(rows, row)
	}
	if len(rows) == 0 {
		fmt.Fprintln(p.Stdout, "No such queue was configured.")
		return nil
	}
	return table(p.Stdout, heads, rows)
}

// showQueue shows the requests of one queue.
func (p *Program) showQueue(ctx context.Context, cl *client.Client, name events.QueueName, asJSON bool) error {
	q, err := cl.OneQueue(ctx, name, 0)
	if err != nil {
		return next(err, "see `tacho queue list`")
	}
	if asJSON {
		return p.json(q)
	}
	if len(q.Requests) == 0 {
		fmt.Fprintln(p.Stdout, "The queue is empty.")
		return nil
	}
	if err := p.requestTable(q.Requests); err != nil {
		return err
	}
	if more := q.Pending - len(q.Requests); more > 0 {
		fmt.Fprintf(p.Stdout, "%d more follow.\n", more)
	}
	return nil
}

type usageCmd struct {
	Account events.AccountName `help:"Only this account." placeholder:"A"`
	Queue   events.QueueName   `help:"Only this queue; main is the main queue." placeholder:"Q"`
	From    string             `help:"First day, in UTC." placeholder:"YYYY-MM-DD"`
	To      string             `help:"Last day, in UTC." placeholder:"YYYY-MM-DD"`
	Offset  int                `help:"Leave out this many." placeholder:"N"`
	Limit   int                `help:"Show at most this many." default:"100"`
	JSON    bool               `help:"Print JSON." name:"json"`
}

// Help is shown by --help.
func (*usageCmd) Help() string {
	return "A job counts on the day on which it was dispatched. While it runs, it counts with what it is expected to take."
}

// Run shows what accounts had by day.
func (c *usageCmd) Run(ctx context.Context, p *Program) error {
	cl, err := p.client()
	if err != nil {
		return err
	}
	list, err := cl.Usage(ctx, readmodel.UsageFilter{Account: c.Account, Queue: c.Queue, From: c.From, To: c.To, Offset: c.Offset, Limit: c.Limit})
	if err != nil {
		return err
	}
	if c.JSON {
		return p.json(list)
	}
	var rows [][]string
	for _, u := range list {
		rows = append(rows, []string{
			u.Day, cmp.Or(string(u.Account), "(none)"), string(cmp.Or(u.Queue, events.MainQueue)), fmt.Sprint(u.Jobs), duration(u.ChargedMS),
		})
	}
	if len(rows) == 0 {
		fmt.Fprintln(p.Stdout, "No one had machine time by shares.")
		return nil
	}
	return table(p.Stdout, []string{"DAY", "ACCOUNT", "QUEUE", "JOBS", "MACHINE TIME"}, rows)
}
