package jetstream_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	natsjs "github.com/nats-io/nats.go/jetstream"
	"golang.org/x/sync/errgroup"

	"github.com/tachobench/tacho/eventlog"
	"github.com/tachobench/tacho/eventlog/jetstream"
	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/internal/natsserver"
)

// cluster starts three servers, and a client of them.
func cluster(t *testing.T, unsynced bool) (*natsserver.Cluster, *nats.Conn) {
	t.Helper()
	c, err := natsserver.StartCluster(t.Context(), [3]string{t.TempDir(), t.TempDir(), t.TempDir()}, unsynced)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Shutdown)
	nc, err := c.Connect()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	return c, nc
}

// TestLeaderIsLost stops the member that leads the log while writers compete for one aggregate and a cursor follows.
// Every answered append is stored once and in order, and the cursor sees all of them.
func TestLeaderIsLost(t *testing.T) {
	t.Parallel()
	const writers, each = 4, 60
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	defer cancel()
	c, nc := cluster(t, true)
	l := open(t, nc, jetstream.Config{Replicas: 3})
	cursor, err := l.Follow(ctx, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer cursor.Close()

	var group errgroup.Group
	won := make([][]string, writers)
	half := make(chan struct{}, writers)
	for w := range writers {
		group.Go(func() error {
			count := func(n int, _ events.Recorded) int { return n + 1 }
			for len(won[w]) < each {
				var e events.Event
				_, err := eventlog.Decide(ctx, l, appendOf("a", 0, 1).Subject, count, func(int) ([]events.Event, error) {
					e = event("a")
					return []events.Event{e}, nil
				})
				if conflict := new(eventlog.ConflictError); errors.As(err, &conflict) {
					continue
				}
				if err != nil {
					return err
				}
				if won[w] = append(won[w], e.ID); len(won[w]) == each/3 {
					half <- struct{}{}
				}
			}
			return nil
		})
	}
	<-half
	stopLeader(t, ctx, c, nc.ConnectedServerName())
	if err := group.Wait(); err != nil {
		t.Fatal(err)
	}
	var seen []string
	for len(seen) < writers*each {
		got, err := cursor.Next(ctx, 1000)
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range got {
			seen = append(seen, s.Header[events.HeaderID])
		}
	}
	answered := map[string]bool{}
	for _, ids := range won {
		for _, id := range ids {
			answered[id] = true
		}
	}
	for _, id := range seen {
		if !answered[id] {
			t.Fatalf("event %s is stored and nobody was told", id)
		}
		delete(answered, id)
	}
	if len(answered) > 0 || len(seen) != writers*each {
		t.Fatalf("%d events are stored, %d of the answered are missing", len(seen), len(answered))
	}
	if err := l.Verify(ctx); err != nil {
		t.Fatal(err)
	}
}

// stopLeader stops the member that leads the log.
func stopLeader(t *testing.T, ctx context.Context, c *natsserver.Cluster, connected string) {
	t.Helper()
	nc, err := c.Connect()
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	js, err := natsjs.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	s, err := js.Stream(ctx, "EVENTS")
	if err != nil {
		t.Fatal(err)
	}
	leader := s.CachedInfo().Cluster.Leader
	for i := range c.Servers {
		if fmt.Sprintf("n%d", i+1) == leader {
			t.Logf("the leader %s is stopped, the client is on %s", leader, connected)
			c.Servers[i].Shutdown()
			return
		}
	}
	t.Fatalf("no member is the leader %q", leader)
}
