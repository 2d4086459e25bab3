package door_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/tachobench/tacho/eventlog"
	"github.com/tachobench/tacho/eventlog/door"
	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/internal/natsserver"
)

// flood publishes as fast as it can until the server cuts the connection.
func flood(t *testing.T, k *core, who collector, subject string, data []byte) {
	t.Helper()
	closed := make(chan struct{})
	nc, err := nats.Connect(k.server.URL(), natsserver.KeyOption(who.key), nats.NoReconnect(), nats.ClosedHandler(func(*nats.Conn) { close(closed) }))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	deadline := time.After(2 * time.Minute)
	for {
		for range 100 {
			_ = nc.PublishRequest(subject, "_INBOX.nobody", data) // the cut ends it
		}
		select {
		case <-closed:
			return
		case <-deadline:
			t.Fatalf("a flood on %s was not cut", subject)
		default:
		}
	}
}

// Whatever one collector sends, the core and the other collectors keep working. The sender is named and cut off, each
// time for longer.
func TestAFloodIsCutAndHurtsNobody(t *testing.T) {
	bounds := door.DefaultBounds()
	bounds.CutFor, bounds.CutAtMost, bounds.Quiet = 300*time.Millisecond, 15*time.Second, 2*time.Second
	k := newCore(t, bounds)
	k.open()
	eider, teal := k.register("eider", 1), k.register("teal", 2)
	other := k.client(teal)
	k.client(eider).Close()

	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	waited := make(chan []time.Duration, 1)
	go func() {
		var at events.Seq
		var waits []time.Duration
		for i := 0; ctx.Err() == nil; i++ {
			began := time.Now()
			seq, err := other.Append(ctx, appendOf(at, events.CollectorOnline{Name: "teal", Instance: "1", PID: i}))
			if ctx.Err() != nil {
				break
			}
			if err != nil {
				t.Errorf("the other collector: %v", err)
				break
			}
			at, waits = seq, append(waits, time.Since(began))
			select {
			case <-ctx.Done():
			case <-time.After(20 * time.Millisecond):
			}
		}
		waited <- waits
	}()
	garbage := []byte(strings.Repeat("x", 2000))
	var away []time.Duration
	for _, subject := range []string{door.Prefix + ".eider.append", door.Prefix + ".eider.next", door.ReadPrefix + ".eider.read", "nobody.listens"} {
		flood(t, k, eider, subject, garbage)
		began := time.Now()
		await(t, "the return", func() bool {
			nc, err := nats.Connect(k.server.URL(), natsserver.KeyOption(eider.key))
			if err != nil {
				if !errors.Is(err, nats.ErrAuthorization) {
					t.Errorf("refused with %v", err)
				}
				return false
			}
			nc.Close()
			return true
		})
		away = append(away, time.Since(began))
	}
	stop()
	waits := <-waited
	slices.Sort(waits)
	if len(waits) == 0 {
		t.Fatal("the other collector has recorded nothing")
	}
	usual, longest := waits[len(waits)*9/10], waits[len(waits)-1]
	t.Logf("the other collector waited %s at most, nine times of ten less than %s; the flooding one was cut off for %v", longest, usual, away)
	// An append that takes longer than askAgain was lost or left lying.
	const askAgain = 4 * time.Second
	if usual > 500*time.Millisecond || longest > askAgain {
		t.Errorf("the other collector waited %s, nine times of ten less than %s", longest, usual)
	}
	for i, long := range away {
		if least := bounds.CutFor << i / 2; long < least { // the end of the connection may be seen late
			t.Errorf("cut off for %v: the one of place %d must be longer than %s", away, i, least)
		}
	}
	k.mu.Lock()
	if said := k.alerts["eider"]; !strings.Contains(said, "cut off") || k.alerts["teal"] != "" {
		t.Errorf("alerts %q", k.alerts)
	}
	k.mu.Unlock()
	if head, err := k.log.Head(t.Context()); err != nil || head.Last > 5000 {
		t.Errorf("the log is at %d, %v", head.Last, err)
	}
}

// A collector that has more output than the door takes is slowed. Nothing is lost or mixed, it is not cut off, and what it
// records meanwhile does not wait for its output.
func TestOutputIsOnlySlowed(t *testing.T) {
	bounds := door.DefaultBounds()
	bounds.OutputBytes, bounds.OutputBurst = 2<<20, 1<<20
	k := newCore(t, bounds)
	k.open()
	eider := k.register("eider", 1)
	c := k.client(eider)
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	const chunks = 32
	text := strings.Repeat("x", 128<<10)
	sent := make(chan error, 2)
	begin := time.Now()
	for _, id := range []events.JobID{"j1", "j2"} { // the job in hand, and the one before
		go func() {
			var err error
			for i := 0; i < chunks && err == nil; i++ {
				err = c.WriteLog(ctx, eider.lane, eventlog.LogChunk{JobID: id, Attempt: 1, Number: i + 1, Text: text})
			}
			sent <- err
		}()
	}
	var at events.Seq
	var longest time.Duration
	for left := 2; left > 0; {
		began := time.Now()
		seq, err := c.Append(ctx, appendOf(at, events.CollectorOnline{Name: "eider", Instance: "1", PID: int(at)}))
		if err != nil {
			t.Fatal(err)
		}
		at, longest = seq, max(longest, time.Since(began))
		select {
		case err := <-sent:
			if left--; err != nil {
				t.Error(err)
			}
		case <-time.After(20 * time.Millisecond):
		}
	}
	t.Logf("%d MiB of output in %v; an append beside it took %v at most", 2*chunks*len(text)>>20, time.Since(begin), longest)
	if time.Since(begin) < time.Second || longest > 4*time.Second {
		t.Errorf("all output took %v, and an append %v", time.Since(begin), longest)
	}
	for _, id := range []events.JobID{"j1", "j2"} {
		next := 1
		err := k.log.ReadLog(ctx, eider.lane, id, false, func(c eventlog.LogChunk) error {
			if c.Number == next {
				next++
			} else if c.Number != next-1 {
				t.Errorf("%s: chunk %d, want %d", id, c.Number, next)
			}
			return nil
		})
		if err != nil || next != chunks+1 {
			t.Errorf("%s ends before chunk %d, %v", id, next, err)
		}
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.alerts["eider"] != "" {
		t.Errorf("alert %q", k.alerts["eider"])
	}
}

// A collector that waits when told to loses nothing, and raises no alert.
func TestACollectorThatObeysIsOnlySlowed(t *testing.T) {
	bounds := door.DefaultBounds()
	bounds.Requests, bounds.Burst = 200, 5
	k := newCore(t, bounds)
	k.open()
	c := k.client(k.register("eider", 1))
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	var at events.Seq
	for i := range 100 {
		seq, err := c.Append(ctx, appendOf(at, events.CollectorOnline{Name: "eider", Instance: "1", PID: i}))
		if err != nil {
			t.Fatal(err)
		}
		at = seq
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if len(k.alerts) > 0 {
		t.Errorf("alerts %q", k.alerts)
	}
}

// Besides the number of requests, the bytes that a collector reads and the events that it writes are bounded.
func TestReadsAndEventsAreBoundedByTheirSize(t *testing.T) {
	bounds := door.DefaultBounds()
	bounds.ReadBytes, bounds.ReadBurst, bounds.EventBytes, bounds.EventBurst = 8<<10, 8<<10, 20<<10, 40<<10
	k := newCore(t, bounds)
	k.open()
	c := k.client(k.register("eider", 1))
	k.append(events.DefinitionsPublished{Suite: "go", Content: []byte(`"` + strings.Repeat("x", 12<<10) + `"`)})
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	var facts []events.Fact
	for range 40 {
		facts = append(facts, events.CollectorOnline{Name: "eider", Instance: "1"})
	}
	var at events.Seq
	for what, do := range map[string]func() error{
		"read": func() error { _, err := c.Read(ctx, events.SuiteSubject("go")); return err },
		"append": func() (err error) {
			at, err = c.Append(ctx, appendOf(at, facts...))
			return err
		},
	} {
		began := time.Now()
		for range 3 {
			if err := do(); err != nil {
				t.Fatalf("%s: %v", what, err)
			}
		}
		if took := time.Since(began); took < 400*time.Millisecond {
			t.Errorf("three times %s took %s: its size costs nothing", what, took)
		}
	}
}

// The alert about a collector is cleared when it keeps the rules, also if another door raised the alert.
func TestAnAlertEndsWhenTheCollectorKeepsToTheRules(t *testing.T) {
	bounds := door.DefaultBounds()
	bounds.Quiet = 1500 * time.Millisecond
	k := newCore(t, bounds)
	k.register("eider", 1)
	k.append(events.AlertRaised{Key: events.NewAlertKey(events.AlertRefused, "eider"), Kind: events.AlertRefused, About: "eider", Message: "m"})
	k.mu.Lock()
	k.alerts["eider"] = "m"
	k.mu.Unlock()
	k.open()
	await(t, "the all-clear", func() bool {
		k.mu.Lock()
		defer k.mu.Unlock()
		return k.alerts["eider"] == ""
	})
}
