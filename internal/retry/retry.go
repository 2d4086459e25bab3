// Package retry says how long to wait before another try, and waits.
//
// The pauses come from the library that also runs the loops (backoff.Retry). Each is half as long again as the one
// before, with jitter, so that many processes that failed together do not try again together.
package retry

import (
	"context"
	"time"

	"github.com/cenkalti/backoff/v4"
)

// Pauses returns pauses without end that grow from first up to most.
func Pauses(first, most time.Duration) *backoff.ExponentialBackOff {
	return backoff.NewExponentialBackOff(backoff.WithInitialInterval(first), backoff.WithMaxInterval(most), backoff.WithMaxElapsedTime(0))
}

// PauseAfter returns the pause after so many failed tries, for callers that keep only their number.
func PauseAfter(tries int, first, most time.Duration) time.Duration {
	pauses := Pauses(first, most)
	pause := pauses.NextBackOff()
	for range min(tries, 100) - 1 {
		pause = pauses.NextBackOff()
	}
	return pause
}

// Sleep waits for d. It returns false if ctx ended first.
func Sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}

// Together waits until the next multiple of a pace, by the clock of the machine. It returns false if ctx ended first. Loops of one
// pace that look for something wake at the same moments: so an idle process wakes once for all of them. Loops of many machines
// should use Sleep.
func Together(ctx context.Context, pace time.Duration) bool { return Sleep(ctx, Next(pace)) }

// Next returns how long it is until the next multiple of a pace.
func Next(pace time.Duration) time.Duration {
	return pace - time.Duration(time.Now().UnixNano()%int64(pace))
}
