// Package retry says how long to wait before something is tried again, and waits.
//
// The pauses are those of the library that also runs the loops (backoff.Retry): each is half as long again as the one
// before, with jitter, so that many who failed together do not come back together.
package retry

import (
	"context"
	"time"

	"github.com/cenkalti/backoff/v4"
)

// Pauses returns pauses that grow from first up to most, and never end.
func Pauses(first, most time.Duration) *backoff.ExponentialBackOff {
	return backoff.NewExponentialBackOff(backoff.WithInitialInterval(first), backoff.WithMaxInterval(most), backoff.WithMaxElapsedTime(0))
}

// PauseAfter returns the pause after so many tries that failed, for whoever keeps nothing but their number.
func PauseAfter(tries int, first, most time.Duration) time.Duration {
	pauses := Pauses(first, most)
	pause := pauses.NextBackOff()
	for range min(tries, 100) - 1 {
		pause = pauses.NextBackOff()
	}
	return pause
}

// Sleep waits, and reports false when ctx ended first.
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
