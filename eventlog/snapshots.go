package eventlog

import (
	"context"
	"fmt"

	"github.com/tachobench/tacho/events"
)

// Snapshot is the state of a fold after one event. A fold that starts from it need not read the log from the first
// event.
type Snapshot struct {
	// Fold names the fold. Shape names the form of the data and the version of the fold: a program with another shape
	// cannot read it. Both are tokens of a subject.
	Fold, Shape string
	// Identity is that of the log. Seq is the last event in the snapshot, EventID its id.
	Identity string
	Seq      events.Seq
	EventID  string
	Data     []byte
}

// Snapshots keeps the two newest snapshots of each fold and shape, beside the log. They are no part of the truth: if
// they are lost, a start takes longer, because it reads the whole log.
type Snapshots interface {
	// KeepSnapshot stores a snapshot in place of the oldest one. A snapshot that was stored only in part does not
	// count.
	KeepSnapshot(ctx context.Context, s Snapshot) error
	// ReadSnapshots returns the snapshots of a fold and shape, newest first. Damaged ones are left out; damaged has an
	// error for each.
	ReadSnapshots(ctx context.Context, fold, shape string) (whole []Snapshot, damaged []error, err error)
}

// CheckSnapshot returns an error for a snapshot that no adapter can keep.
func CheckSnapshot(s Snapshot) error {
	for what, token := range map[string]string{"fold": s.Fold, "shape": s.Shape} {
		if err := events.CheckToken(what, token); err != nil {
			return fmt.Errorf("keep a snapshot: %w", err)
		}
	}
	return nil
}
