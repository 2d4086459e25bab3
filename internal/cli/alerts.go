package cli

import (
	"context"
	"fmt"

	"github.com/tachobench/tacho/readmodel"
	"github.com/tachobench/tacho/website/client"
)

type alertsCmd struct {
	Past int  `help:"Also show this many alerts that are over." placeholder:"N"`
	JSON bool `help:"Print JSON." name:"json"`
}

// Run shows what needs a person.
func (c *alertsCmd) Run(ctx context.Context, p *Program) error {
	read := func(cl *client.Client) ([]readmodel.Alert, error) { return cl.Alerts(ctx, c.Past) }
	return show(p, c.JSON, read, "", func(list []readmodel.Alert) error {
		if len(list) == 0 {
			fmt.Fprintln(p.Stdout, "Nothing needs you.")
		}
		p.alertList(list)
		return nil
	})
}

// alertList prints alerts one below the other: their sentences are too long for a table.
func (p *Program) alertList(list []readmodel.Alert) {
	for _, a := range list {
		p.heading("%s  %s", a.Kind, a.Message)
		if !a.Standing() {
			p.heading("  over since %s: %s", moment(a.ClearedAt), a.ClearedReason)
			continue
		}
		p.heading("  since %s", moment(&a.RaisedAt))
		if a.Action != "" {
			p.heading("  to do: %s", a.Action)
		}
	}
}
