package eventlog

import (
	"context"
	"fmt"

	"github.com/tachobench/tacho/events"
)

// foldBatch is how many events are folded at once.
const foldBatch = 1000

// Fold gives take all events of the log, in order, and then those that come, until ctx ends. It says when they are
// current: nothing more was there when they were read, and all that was there in the beginning has been given. Of an
// empty log that is said once without events.
//
// Errors: nil when ctx ended; else those of the log that waiting does not mend, such as *GapError, and those of take.
func Fold(ctx context.Context, log Log, take func(stored []events.Stored, current bool) error) error {
	cursor, err := log.Follow(ctx, 0)
	if err != nil {
		return ended(ctx, fmt.Errorf("follow the log: %w", err))
	}
	defer cursor.Close()
	head, err := log.Head(ctx)
	if err != nil {
		return ended(ctx, fmt.Errorf("read the head of the log: %w", err))
	}
	if head.Last == 0 {
		if err := take(nil, true); err != nil {
			return err
		}
	}
	for {
		stored, err := cursor.Next(ctx, foldBatch)
		if err != nil {
			return ended(ctx, err)
		}
		if err := take(stored, len(stored) < foldBatch && stored[len(stored)-1].Seq >= head.Last); err != nil {
			return err
		}
	}
}

// ended returns err unless it only says that ctx ended.
func ended(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return nil
	}
	return err
}
