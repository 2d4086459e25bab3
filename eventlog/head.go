package eventlog

import (
	"context"
	"fmt"
	"time"

	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/internal/retry"
)

const (
	// doubts is how often a log of several servers must say that it ends early before that is believed, and doubtPause is
	// the pause between two questions. Together they are longer than a new leader is behind the one before. They are
	// counted and not timed: a process that stood still has asked nobody meanwhile.
	doubts     = 20
	doubtPause = 250 * time.Millisecond
)

// HeadAt returns the head of the log, which should reach seq: somebody saw that event. If several servers keep the log, one that
// was away may answer with an older end. So HeadAt asks again for some seconds before it returns a head below seq.
func HeadAt(ctx context.Context, log interface {
	Head(context.Context) (Head, error)
}, seq events.Seq,
) (Head, error) {
	for asked := 1; ; asked++ {
		head, err := log.Head(ctx)
		if err != nil || head.Last >= seq || head.Sole || asked == doubts {
			return head, err
		}
		if !retry.Sleep(ctx, doubtPause) {
			return head, fmt.Errorf("%w: it said that it ends at event %d, which is not certain: event %d was there: %w", ErrUnavailable, head.Last, seq, ctx.Err())
		}
	}
}

// QuorumError says that the server that answers has not heard the majority of the log's servers for a while. It may be
// cut off from them, or may have stood still: then another server leads the log by now.
type QuorumError struct {
	// Quiet is how long it has heard no majority.
	Quiet time.Duration
}

func (e *QuorumError) Error() string {
	return fmt.Sprintf("the server that leads the log has not heard the majority of the others for %s", e.Quiet.Round(100*time.Millisecond))
}

// Unwrap makes it an ErrUnavailable.
func (e *QuorumError) Unwrap() error { return ErrUnavailable }
