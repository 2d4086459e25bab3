package jetstream

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tachobench/tacho/eventlog"
)

// The server asked to try again, and the time ended while the next answer was waited for: the error says both.
func TestACutOffTryKeepsWhatWasHeardBefore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		tries := 0
		err := Persist(ctx, "ask", func(ctx context.Context) error {
			if tries++; tries < 3 {
				return ErrAgain
			}
			<-ctx.Done()
			return ctx.Err()
		})
		for _, want := range []error{eventlog.ErrUnavailable, ErrAgain, context.DeadlineExceeded} {
			if !errors.Is(err, want) {
				t.Errorf("%q is not %q", err, want)
			}
		}
	})
}
