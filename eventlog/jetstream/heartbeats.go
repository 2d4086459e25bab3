package jetstream

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/nats-io/nats.go"
	natsjs "github.com/nats-io/nats.go/jetstream"

	"github.com/tachobench/tacho/eventlog"
	"github.com/tachobench/tacho/events"
)

// probePrefix begins the keys of probes. They have two tokens; names of collectors have one.
const probePrefix = "probe."

// Probe implements eventlog.Heartbeats. It does not retry: the next probe is as good.
func (l *Log) Probe(ctx context.Context, p eventlog.Probe) error {
	data, err := json.Marshal(p)
	if err == nil {
		_, err = ackOf(request(ctx, l.nc, &nats.Msg{Subject: beatsPrefix + probePrefix + p.From, Data: data}))
	}
	if err != nil {
		return fmt.Errorf("probe where heartbeats go: %w", err)
	}
	return nil
}

// Watch implements eventlog.Heartbeats.
//
// It may fall silent for ever: on a cluster the bucket is in memory, and when all nodes have restarted its sequences
// begin at 1 again. The client then makes its consumer again after the last sequence that it saw, and waits there for
// as long as the cluster had been up. The server reports no error.
func (l *Log) Watch(ctx context.Context, f func(eventlog.Sound)) error {
	kv, err := l.js.KeyValue(ctx, beatsBucket)
	if err != nil {
		return fmt.Errorf("watch the heartbeats: %w", err)
	}
	watcher, err := kv.WatchAll(ctx)
	if err != nil {
		return fmt.Errorf("watch the heartbeats: %w", err)
	}
	defer func() { _ = watcher.Stop() }() // fails only on a closed connection
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case entry, open := <-watcher.Updates():
			switch {
			case !open && ctx.Err() != nil: // the end of the context closes the watcher too
				return ctx.Err()
			case !open:
				return fmt.Errorf("watch the heartbeats: %w", eventlog.ErrUnavailable)
			case entry == nil: // all stored beats have been reported
			default:
				if s, ok := soundOf(entry); ok {
					f(s)
				}
			}
		}
	}
}

// soundOf reads the value of a key. It ignores unreadable values: a hostile or newer collector wrote them. It also
// ignores the markers that the bucket leaves for expired beats: the server makes them by a clock that may jump.
func soundOf(entry natsjs.KeyValueEntry) (s eventlog.Sound, ok bool) {
	key, probe := strings.CutPrefix(entry.Key(), probePrefix)
	switch op := entry.Operation(); {
	case op == natsjs.KeyValuePurge:
		return s, false
	case op == natsjs.KeyValueDelete:
		s.Left = events.CollectorName(key)
		return s, !probe
	case probe:
		return s, json.Unmarshal(entry.Value(), &s.Probe) == nil && s.Probe != nil && s.Probe.From == key
	}
	return s, json.Unmarshal(entry.Value(), &s.Beat) == nil && s.Beat != nil && string(s.Beat.Name) == key
}
