package eventlog

import (
	"context"
	"fmt"

	"github.com/tachobench/tacho/events"
)

// Snapshot is what a fold knew after one event, so that it need not begin at the first one.
type Snapshot struct {
	// Fold names the fold, Shape the form of the data and the version of the fold: who has another shape cannot read it.
	// Both are tokens of a subject.
	Fold, Shape string
	// Identity is that of the log. Seq is the last event in the snapshot, EventID its id.
	Identity string
	Seq      events.Seq
	EventID  string
	Data     []byte
}

// Snapshots keep the two newest snapshots of each fold and shape, beside the log. They are no part of the truth: to
// lose them costs the time to read the log.
type Snapshots interface {
	// KeepSnapshot stores a snapshot in place of the oldest one. One that was not stored to its end is none.
	KeepSnapshot(ctx context.Context, s Snapshot) error
	// ReadSnapshots returns the snapshots of a fold and shape, newest first. Those that are damaged are not among them;
	// damaged says why, one by one.
	ReadSnapshots(ctx context.Context, fold, shape string) (whole []Snapshot, damaged []error, err error)
}

// CheckSnapshot refuses what no adapter can keep.
func CheckSnapshot(s Snapshot) error {
	for what, token := range map[string]string{"fold": s.Fold, "shape": s.Shape} {
		if err := events.CheckToken(what, token); err != nil {
			return fmt.Errorf("keep a snapshot: %w", err)
		}
	}
	return nil
}
