package cli

import (
	"context"
	"fmt"

	"github.com/tachobench/tacho/collector/measure"
)

type doctorCmd struct {
	JSON bool `help:"Print JSON." name:"json"`
}

// Run looks at everything that Tacho needs on this machine, and at the running farm.
func (c *doctorCmd) Run(ctx context.Context, p *Program) error {
	findings := append(p.host().Examine(ctx), p.doctorFarm(ctx)...)
	bad := 0
	for _, f := range findings {
		if f.Verdict == "bad" {
			bad++
		}
	}
	if c.JSON {
		if err := p.json(map[string]any{"findings": findings, "environment": measure.Environment(ctx)}); err != nil {
			return err
		}
	} else {
		var rows [][]string
		for _, f := range findings {
			detail := f.Detail
			if f.Next != "" {
				detail += "; " + f.Next
			}
			rows = append(rows, []string{f.Verdict, f.What, detail})
		}
		if err := table(p.Stdout, []string{"", "WHAT", ""}, rows); err != nil {
			return err
		}
	}
	if bad > 0 {
		return fmt.Errorf("something that Tacho needs is missing or wrong on this machine: see what is marked as bad above (%d)", bad)
	}
	return nil
}
