package jetstream

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	natsjs "github.com/nats-io/nats.go/jetstream"

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

// A cluster that has just come up refuses a stream until its leader has heard of every node.
func TestARefusalOfAClusterThatIsComingUpIsTriedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		refusal := &natsjs.APIError{Code: 400, ErrorCode: codeNoPeers, Description: "no suitable peers for placement, peer offline"}
		tries := 0
		err := Persist(t.Context(), "make a stream", func(context.Context) error {
			if tries++; tries < 5 {
				return refusal
			}
			return nil
		})
		if err != nil || tries != 5 {
			t.Errorf("after %d tries: %v", tries, err)
		}
		err = Persist(t.Context(), "make a stream", func(context.Context) error { return refusal })
		if !errors.Is(err, eventlog.ErrUnavailable) || !errors.Is(err, refusal) {
			t.Errorf("a refusal that lasts: %v", err)
		}
		tries = 0
		full := &natsjs.APIError{Code: 400, ErrorCode: codeNoPeers, Description: "no suitable peers for placement, insufficient storage"}
		err = Persist(t.Context(), "make a stream", func(context.Context) error { tries++; return full })
		if errors.Is(err, eventlog.ErrUnavailable) || !errors.Is(err, full) || tries != 1 {
			t.Errorf("a refusal that no node can end, after %d tries: %v", tries, err)
		}
	})
}
