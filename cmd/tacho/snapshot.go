package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/rules/ledger"
	"github.com/tachobench/tacho/shell"
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

// errEmptyLog says that there is nothing to keep.
var errEmptyLog = errors.New("the log is empty: there is nothing to keep")

// snapshotAnswer is what the command came to.
type snapshotAnswer struct {
	// Seq is the last event in the snapshot, Shape that of this program.
	Seq   events.Seq `json:"seq"`
	Shape string     `json:"shape"`
	// Took is in milliseconds.
	Took int64 `json:"took_ms"`
}

// Run reads the log as a start does, and keeps what it says.
func (c *snapshotCmd) Run(ctx context.Context, p *program) error {
	began := time.Now()
	k, done, err := p.ownLog(ctx)
	if err != nil {
		return err
	}
	defer done()
	s := shell.New(shell.Config{Log: k.log, Clock: p.clock, Snapshots: k.log, Logger: p.logger()})
	reading, stop := context.WithCancel(ctx)
	defer stop()
	ended := make(chan error, 1)
	go func() { ended <- s.Run(reading) }()
	if err := p.awaitLedger(ctx, k, s, ended); err != nil {
		return err
	}
	stop()
	if err := <-ended; err != nil {
		return err
	}
	answer := snapshotAnswer{Shape: ledger.Shape(), Took: time.Since(began).Milliseconds()}
	whole, _, err := k.log.ReadSnapshots(ctx, shell.Fold, answer.Shape)
	if err != nil {
		return err
	}
	at, _ := s.Position()
	if at == 0 {
		return errEmptyLog
	}
	if len(whole) > 0 {
		answer.Seq = whole[0].Seq
	}
	if answer.Seq < at {
		return fmt.Errorf("the snapshot at event %d was not kept: see the warnings above, and ask again", at)
	}
	if c.JSON {
		return p.json(answer)
	}
	fmt.Fprintf(p.stdout, "snapshot at event %d, for programs of shape %s\n", answer.Seq, answer.Shape)
	return nil
}

// awaitLedger waits until the log is read, and says how far it is.
func (p *program) awaitLedger(ctx context.Context, k *core, s *shell.Shell, ended <-chan error) error {
	head, err := k.log.Head(ctx)
	if err != nil {
		return err
	}
	read := make(chan error, 1)
	go func() { read <- s.Wait(ctx, head.Last) }()
	tick := time.NewTicker(2 * time.Second)
	defer tick.Stop()
	for {
		select {
		case err := <-read:
			return err
		case err := <-ended:
			if err == nil {
				err = ctx.Err()
			}
			return err
		case <-tick.C:
			at, _ := s.Position()
			p.say("snapshot   %d of %d events", at, head.Last)
		}
	}
}

// ownLog opens the log for a command that needs no running Tacho: the one of a cluster, or that of a data directory that
// nobody uses. Call done at the end.
func (p *program) ownLog(ctx context.Context) (k *core, done func(), err error) {
	unlock := func() {}
	if p.config.NATS.URL == "" {
		if unlock, err = directory(p.config.Data).own(); err != nil {
			return nil, nil, err
		}
	}
	if k, err = p.openLog(ctx, p.logger()); err != nil {
		unlock()
		return nil, nil, err
	}
	return k, func() { k.close(); unlock() }, nil
}
