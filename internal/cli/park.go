package cli

import (
	"context"
	"fmt"

	"github.com/tachobench/tacho/control"
	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/website/client"
)

type eventsParkCmd struct {
	because
	Seq  events.Seq `arg:"" help:"The number of the event."`
	JSON bool       `help:"Print JSON." name:"json"`
}

// Help is shown by --help.
func (c *eventsParkCmd) Help() string {
	return "A part that meets an event of a newer version decides nothing more. The better end of that is to update the part. If that cannot be, park the event: " +
		"then every part leaves it out, as if it were not in the log, and with it all events that were stored together with it. " +
		"Every version obeys that, also one that understands the event, until it is unparked. A reason is required."
}

// Run parks an event.
func (c *eventsParkCmd) Run(ctx context.Context, p *Program) error {
	return p.park(c.JSON, "parked", func(cl *client.Client) (control.ParkAnswer, error) { return cl.ParkEvent(ctx, c.Seq, c.Reason) })
}

type eventsUnparkCmd struct {
	because
	Seq  events.Seq `arg:"" help:"The number of a parked event."`
	JSON bool       `help:"Print JSON." name:"json"`
}

// Help is shown by --help.
func (c *eventsUnparkCmd) Help() string {
	return "Do it when every part has a version that understands the event: one that does not decides nothing more from then on. A reason is required."
}

// Run ends the park of an event.
func (c *eventsUnparkCmd) Run(ctx context.Context, p *Program) error {
	return p.park(c.JSON, "parked no more", func(cl *client.Client) (control.ParkAnswer, error) { return cl.UnparkEvent(ctx, c.Seq, c.Reason) })
}

// park carries out a command on parked events and prints what it was about.
func (p *Program) park(asJSON bool, what string, command func(*client.Client) (control.ParkAnswer, error)) error {
	cl, err := p.client()
	if err != nil {
		return err
	}
	answer, err := command(cl)
	if err != nil {
		return err
	}
	if asJSON {
		return p.json(answer)
	}
	already := ""
	if answer.Existed {
		already = " already"
	}
	fmt.Fprintf(p.Stdout, "%s %s%s: type %s\n", spanOf(answer.First, answer.Last), what, already, answer.Type)
	return nil
}

// spanOf names events with the right verb.
func spanOf(first, last events.Seq) string {
	if first == last {
		return fmt.Sprintf("event %d is", first)
	}
	return fmt.Sprintf("events %d to %d are", first, last)
}

type eventsParkedCmd struct {
	JSON bool `help:"Print JSON." name:"json"`
}

// Run lists the parked events.
func (c *eventsParkedCmd) Run(ctx context.Context, p *Program) error {
	read := func(cl *client.Client) ([]client.Park, error) { return cl.ParkedEvents(ctx) }
	return show(p, c.JSON, read, "", func(list []client.Park) error {
		if len(list) == 0 {
			fmt.Fprintln(p.Stdout, "No event is parked.")
		}
		for _, one := range list {
			p.heading("%s parked since %s, by %s: %s", spanOf(one.First, one.Last), moment(&one.Since), one.Actor, one.Reason)
			p.heading("  type %s, id %s", one.Type, one.ID)
		}
		return nil
	})
}
