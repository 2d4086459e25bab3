package node

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/rules/ledger"
	"github.com/tachobench/tacho/shell"
)

// errEmptyLog says that no snapshot can be made.
var errEmptyLog = errors.New("the log is empty, so there is nothing to make a snapshot of")

// Snapshot describes a snapshot that was made.
type Snapshot struct {
	// Seq is the last event in the snapshot. Shape is the shape of the snapshots that this program can read.
	Seq   events.Seq `json:"seq"`
	Shape string     `json:"shape"`
	// Took is how long it took to make, in milliseconds.
	Took int64 `json:"took_ms"`
}

// Snapshot reads the log as a start does, and makes a snapshot.
func (h *Host) Snapshot(ctx context.Context) (answer Snapshot, err error) {
	began := time.Now()
	k, done, err := h.ownLog(ctx, false)
	if err != nil {
		return answer, err
	}
	defer done()
	s := shell.New(shell.Config{Log: k.log, Clock: h.Clock, Snapshots: k.log, Logger: h.Logger})
	reading, stop := context.WithCancel(ctx)
	defer stop()
	ended := make(chan error, 1)
	go func() { ended <- s.Run(reading) }()
	if err := h.awaitLedger(ctx, k, s, ended); err != nil {
		return answer, err
	}
	stop()
	if err := <-ended; err != nil {
		return answer, err
	}
	answer = Snapshot{Shape: ledger.Shape(), Took: time.Since(began).Milliseconds()}
	whole, _, err := k.log.ReadSnapshots(ctx, shell.Fold, answer.Shape)
	if err != nil {
		return answer, err
	}
	at, _ := s.Position()
	if at == 0 {
		return answer, errEmptyLog
	}
	if len(whole) > 0 {
		answer.Seq = whole[0].Seq
	}
	if answer.Seq < at {
		return answer, fmt.Errorf("the snapshot at event %d was not kept: see the warnings above, and run the command again", at)
	}
	return answer, nil
}

// awaitLedger waits until the log is read, and says every 2 s how much of it is read.
func (h *Host) awaitLedger(ctx context.Context, k *core, s *shell.Shell, ended <-chan error) error {
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
			if newer := s.Newer(); newer != nil {
				return fmt.Errorf("%w: a newer version of Tacho wrote it; %s", newer, newer.Next())
			}
			at, _ := s.Position()
			h.Say("snapshot   %d of %d events", at, head.Last)
		}
	}
}
