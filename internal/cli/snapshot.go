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
	return "A start reads the newest snapshot, and then only the events after it. A new program that folds the log in another way cannot " +
		"read the snapshots of the old one: make a snapshot with the new program before you start it. With your own NATS, do that while the old " +
		"program runs; otherwise after you have stopped `tacho up`. Without a snapshot a start reads the whole log; nothing else depends on it."
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
