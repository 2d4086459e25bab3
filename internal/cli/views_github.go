package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/internal/usage"
	"github.com/tachobench/tacho/internal/visible"
	"github.com/tachobench/tacho/readmodel"
	"github.com/tachobench/tacho/website/client"
)

type githubCmd struct {
	Deliveries githubDeliveriesCmd `cmd:"" help:"List what GitHub delivered and what came of it, newest first."`
	Delivery   githubDeliveryCmd   `cmd:"" help:"Show a delivery with its body."`
	Outbox     githubOutboxCmd     `cmd:"" help:"List the comments for GitHub and their state, newest first."`
	Comment    githubCommentCmd    `cmd:"" help:"Show a comment with its text."`
}

type githubDeliveriesCmd struct {
	Outcome events.DeliveryOutcome `help:"Only those with this outcome: accepted, refused, forbidden, ignored or malformed." placeholder:"OUTCOME"`
	Waiting bool                   `help:"Only those that are not handled yet."`
	PR      int                    `help:"Only those about a pull request." placeholder:"N" name:"pr"`
	Limit   int                    `help:"Show at most this many." default:"30"`
	JSON    bool                   `help:"Print JSON." name:"json"`
}

// Run lists deliveries.
func (c *githubDeliveriesCmd) Run(ctx context.Context, p *Program) error {
	cl, err := p.client()
	if err != nil {
		return err
	}
	list, err := cl.Deliveries(ctx, client.DeliveryQuery{Outcome: c.Outcome, Waiting: c.Waiting, PR: c.PR, Limit: c.Limit})
	if err != nil {
		return err
	}
	if c.JSON {
		return p.json(list)
	}
	if len(list) == 0 {
		p.nothing(*c == githubDeliveriesCmd{Limit: c.Limit}, "GitHub has delivered nothing yet.", "There is no such delivery.")
		return nil
	}
	var rows [][]string
	for _, d := range list {
		pr := "-"
		if d.PR != nil {
			pr = fmt.Sprint(*d.PR)
		}
		rows = append(rows, []string{
			string(d.ID), orDash(d.Event), moment(&d.ReceivedAt), orDash(d.Sender), pr, outcome(d), orDash(d.Command), firstLine(d.Reason),
		})
	}
	return table(p.Stdout, []string{"DELIVERY", "EVENT", "RECEIVED", "FROM", "PR", "OUTCOME", "COMMAND", "REASON"}, rows)
}

// nothing says why a list is empty: there is nothing at all, or nothing of what was asked for.
func (p *Program) nothing(everything bool, none, noSuch string) {
	if everything {
		noSuch = none
	}
	fmt.Fprintln(p.Stdout, noSuch)
}

func outcome(d readmodel.Delivery) string {
	if !d.Handled() {
		return "waiting"
	}
	return string(d.Outcome)
}

func orDash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}

type githubDeliveryCmd struct {
	ID   string `arg:"" help:"Id of the delivery, or HOOK/ID if two webhooks have the same id."`
	JSON bool   `help:"Print JSON." name:"json"`
}

// Run shows the delivery.
func (c *githubDeliveryCmd) Run(ctx context.Context, p *Program) error {
	cl, err := p.client()
	if err != nil {
		return err
	}
	hook, id, err := c.find(ctx, cl)
	if err != nil {
		return err
	}
	d, err := cl.Delivery(ctx, hook, id)
	if err != nil {
		return next(err, "see `tacho github deliveries`")
	}
	if c.JSON {
		return p.json(d)
	}
	p.heading("delivery %s of webhook %s: %s, %s", d.ID, d.Hook, d.Event, outcome(d.Delivery))
	pr, from := "", d.Sender
	if d.PR != nil {
		pr = fmt.Sprintf("%s#%d", d.Repo, *d.PR)
	}
	if from != "" {
		from = fmt.Sprintf("%s (account %d)", from, d.SenderID)
	}
	p.facts([][2]string{
		{"received", moment(&d.ReceivedAt)},
		{"handled", moment(d.HandledAt)},
		{"from", from},
		{"pr", pr},
		{"command", d.Command},
		{"reason", d.Reason},
		{"requests", joinIDs(d.Requests)},
	})
	text := d.Text
	if d.Body != nil {
		var lines bytes.Buffer
		if err := json.Indent(&lines, d.Body, "", "  "); err != nil {
			return fmt.Errorf("body of delivery %s: %w", d.ID, err)
		}
		text = lines.String()
	}
	fmt.Fprintf(p.Stdout, "\n%s\n", unixLines(text))
	return nil
}

// find returns the webhook and the id of a delivery. It looks the webhook up if the person did not name it, which is usual.
func (c *githubDeliveryCmd) find(ctx context.Context, cl *client.Client) (events.HookID, events.DeliveryID, error) {
	if hook, id, ok := strings.Cut(c.ID, "/"); ok {
		return events.HookID(hook), events.DeliveryID(id), nil
	}
	list, err := cl.Deliveries(ctx, client.DeliveryQuery{ID: events.DeliveryID(c.ID)})
	switch {
	case err != nil:
		return "", "", err
	case len(list) == 0:
		return "", "", &client.Error{Status: http.StatusNotFound, Message: fmt.Sprintf("delivery %s: not found", c.ID), Next: "see `tacho github deliveries`"}
	case len(list) > 1:
		return "", "", usage.Errorf("%d webhooks have a delivery %s: name the webhook, too, as in %s/%s", len(list), c.ID, list[0].Hook, c.ID)
	}
	return list[0].Hook, list[0].ID, nil
}

type githubOutboxCmd struct {
	State   readmodel.CommentState `help:"Only those in this state: wanted, postponed, posted, refused or minimised." placeholder:"STATE"`
	PR      int                    `help:"Only those on a pull request." placeholder:"N" name:"pr"`
	Request events.RequestID       `help:"Only those about a request." placeholder:"ID"`
	Limit   int                    `help:"Show at most this many." default:"30"`
	JSON    bool                   `help:"Print JSON." name:"json"`
}

// Run lists comments.
func (c *githubOutboxCmd) Run(ctx context.Context, p *Program) error {
	cl, err := p.client()
	if err != nil {
		return err
	}
	list, err := cl.Outbox(ctx, client.CommentQuery{State: c.State, PR: c.PR, Request: c.Request, Limit: c.Limit})
	if err != nil {
		return err
	}
	if c.JSON {
		return p.json(list)
	}
	if len(list) == 0 {
		p.nothing(*c == githubOutboxCmd{Limit: c.Limit}, "There is no comment for GitHub yet.", "There is no such comment.")
		return nil
	}
	return p.commentTable(list)
}

func (p *Program) commentTable(list []readmodel.Comment) error {
	var rows [][]string
	for _, c := range list {
		rows = append(rows, []string{
			string(c.Key), string(c.Purpose), fmt.Sprintf("%s#%d", c.Repo, c.PR), string(c.State), moment(&c.RevisedAt), fmt.Sprint(c.Attempts),
			orDash(c.URL), firstLine(c.Reason),
		})
	}
	return table(p.Stdout, []string{"COMMENT", "PURPOSE", "PULL REQUEST", "STATE", "WANTED", "ATTEMPTS", "URL", "REASON"}, rows)
}

type githubCommentCmd struct {
	Key  events.OutboxKey `arg:"" help:"Key of the comment."`
	JSON bool             `help:"Print JSON." name:"json"`
}

// Run shows the comment.
func (c *githubCommentCmd) Run(ctx context.Context, p *Program) error {
	cl, err := p.client()
	if err != nil {
		return err
	}
	shown, err := cl.Comment(ctx, c.Key)
	if err != nil {
		return next(err, "see `tacho github outbox`")
	}
	if c.JSON {
		return p.json(shown)
	}
	p.heading("%s on %s#%d: %s", shown.Purpose, shown.Repo, shown.PR, shown.State)
	until := ""
	if shown.Until != nil {
		until = moment(shown.Until)
	}
	p.facts([][2]string{
		{"request", string(shown.RequestID)},
		{"text", fmt.Sprintf("number %d, wanted %s", shown.Revision, moment(&shown.RevisedAt))},
		{"attempts", fmt.Sprint(shown.Attempts)},
		{"written", moment(shown.PostedAt)},
		{"url", shown.URL},
		{"reason", shown.Reason},
		{"retry at", until},
		{"labels", labels(shown)},
	})
	fmt.Fprintf(p.Stdout, "\n%s\n", unixLines(shown.Body))
	return nil
}

func labels(c readmodel.Comment) string {
	var all []string
	for _, l := range c.AddLabels {
		all = append(all, "+"+l)
	}
	for _, l := range c.RemoveLabels {
		all = append(all, "-"+l)
	}
	return strings.Join(all, " ")
}

func joinIDs(ids []events.RequestID) string {
	all := make([]string, len(ids))
	for i, id := range ids {
		all[i] = string(id)
	}
	return strings.Join(all, ", ")
}

func (p *Program) heading(format string, args ...any) {
	fmt.Fprintln(p.Stdout, visible.Line(fmt.Sprintf(format, args...)))
}

// unixLines replaces the ends of lines that web forms send by those of a terminal.
func unixLines(text string) string { return strings.ReplaceAll(text, "\r\n", "\n") }

// facts prints one line for each fact, and leaves out those that are not known.
func (p *Program) facts(lines [][2]string) {
	for _, line := range lines {
		if line[1] != "" && line[1] != "-" {
			fmt.Fprintf(p.Stdout, "  %-8s %s\n", line[0], visible.Line(line[1]))
		}
	}
}
