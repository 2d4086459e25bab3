package cli

import (
	"context"
	"fmt"
)

type snapshotCmd struct {
	JSON bool `help:"Print JSON." name:"json"`
}

// Help is shown by --help.
func (c *snapshotCmd) Help() string {
	return "A start goes on from the newest snapshot of what the log says, and reads only the events after it. A program that folds the log in " +
		"another way cannot read the snapshots of the one before. Make one with the new program before you start it: beside the old one where both " +
		"reach a NATS of yours, else after `tacho up` was stopped. Without a snapshot a start reads the whole log; nothing else depends on it."
}

// Run makes a snapshot.
func (c *snapshotCmd) Run(ctx context.Context, p *Program) error {
	answer, err := p.host().Snapshot(ctx)
	if err != nil {
		return err
	}
	if c.JSON {
		return p.json(answer)
	}
	fmt.Fprintf(p.Stdout, "snapshot at event %d, for programs of shape %s\n", answer.Seq, answer.Shape)
	return nil
}
