package jetstream

import (
	"errors"
	"testing"
	"time"

	natsjs "github.com/nats-io/nats.go/jetstream"

	"github.com/tachobench/tacho/eventlog"
)

// Only a leader that has heard the majority lately is believed.
func TestWhoIsBelievedAboutTheEndOfTheLog(t *testing.T) {
	now, long := 900*time.Millisecond, 30*time.Second
	for name, tc := range map[string]struct {
		leader string
		quiet  []time.Duration
		want   time.Duration // since when it has no majority; -1 if it leads
	}{
		"all are there":                  {"n1", []time.Duration{now, now}, -1},
		"one of three is away":           {"n1", []time.Duration{long, now}, -1},
		"both others are away":           {"n1", []time.Duration{4 * time.Second, long}, 4 * time.Second},
		"it stood still":                 {"n1", []time.Duration{long, long}, long},
		"two of five are away":           {"n1", []time.Duration{long, now, long, now}, -1},
		"three of five are away":         {"n1", []time.Duration{long, now, long, long}, long},
		"a follower, there is no leader": {"", []time.Duration{now, now}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			c := &natsjs.ClusterInfo{Leader: tc.leader}
			for _, d := range tc.quiet {
				c.Replicas = append(c.Replicas, &natsjs.PeerInfo{Active: d})
			}
			err := led(c)
			quorum := new(eventlog.QuorumError)
			errors.As(err, &quorum)
			switch {
			case tc.want < 0 && err != nil, tc.want >= 0 && !errors.Is(err, ErrAgain), quorum.Quiet != max(tc.want, 0):
				t.Errorf("%v, quiet for %s", err, quorum.Quiet)
			}
		})
	}
}
