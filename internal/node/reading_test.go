package node

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/tachobench/tacho/config"
	"github.com/tachobench/tacho/control"
	"github.com/tachobench/tacho/eventlog"
	"github.com/tachobench/tacho/eventlog/door"
	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/internal/retry"
	"github.com/tachobench/tacho/internal/transcript"
	"github.com/tachobench/tacho/shell"
)

// longLog is slow: followers get its first events at once, and the others only after it is freed.
type longLog struct {
	eventlog.Log
	first int
	free  chan struct{}
}

func (l longLog) Follow(ctx context.Context, after events.Seq) (eventlog.Cursor, error) {
	c, err := l.Log.Follow(ctx, after)
	return &longCursor{Cursor: c, longLog: l}, err
}

type longCursor struct {
	eventlog.Cursor
	longLog
	given int
}

func (c *longCursor) Next(ctx context.Context, most int) ([]events.Stored, error) {
	if c.given < c.first {
		c.given++
		return c.Cursor.Next(ctx, 1)
	}
	select {
	case <-c.free:
		return c.Cursor.Next(ctx, most)
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// opened is the outcome of a collector that opened the log.
type opened struct {
	log *door.Client
	err error
}

// readingCore is a core that does not reach the end of its log.
type readingCore struct {
	*Host
	t     *testing.T
	core  *core
	parts *parts
	said  transcript.Buffer
	log   transcript.Buffer
	free  chan struct{}
}

// newReadingCore starts a core that has read so many events. The log has two collectors: near in events 2 and 3, far in 4
// and 5.
func newReadingCore(t *testing.T, first int) *readingCore {
	t.Helper()
	c := &readingCore{t: t, free: make(chan struct{})}
	logger := slog.New(slog.NewTextHandler(&c.log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	c.Host = &Host{
		Config: config.Default(t.TempDir()), Clock: time.Now, Logger: logger, Stderr: &c.said,
		Say: func(format string, args ...any) { fmt.Fprintf(&c.said, format+"\n", args...) },
	}
	c.Config.NATS.Listen, c.Config.StartWait = "127.0.0.1:0", config.Duration(10*time.Millisecond)
	if err := c.data().Make(); err != nil {
		t.Fatal(err)
	}
	var err error
	if c.core, err = c.openLog(t.Context(), false); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.core.close)
	if err := c.openRegistry(t.Context(), c.core); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	c.parts = newParts(ctx, c.Host, c.core, "")
	t.Cleanup(func() {
		stop()
		if err := c.parts.group.Wait(); err != nil {
			t.Error(err)
		}
	})
	for set, name := range []events.CollectorName{"near", "far"} {
		by := control.By{Actor: "test", Source: "test"}
		add := control.NewCollector{Name: name, Target: "here", Set: events.Set(set), NKey: c.key(name, events.Set(set))}
		if _, err := c.parts.control(nil).AddCollector(ctx, by, add); err != nil {
			t.Fatal(err)
		}
	}
	c.parts.shell = shell.New(shell.Config{Log: longLog{c.core.log, first, c.free}, Clock: c.Clock, Logger: logger})
	c.parts.background()
	for at, _ := c.parts.shell.Position(); at < events.Seq(first); at, _ = c.parts.shell.Position() { // there is no signal for it
		retry.Sleep(t.Context(), time.Millisecond)
	}
	return c
}

// key makes a key and keeps it where the collector looks for it.
func (c *readingCore) key(name events.CollectorName, set events.Set) string {
	c.t.Helper()
	d := c.data()
	creds, public, err := d.NewCredentials(name, "here", set)
	if err != nil {
		c.t.Fatal(err)
	}
	creds.NATSURL = c.core.natsURL
	if err := d.Keep(creds); err != nil {
		c.t.Fatal(err)
	}
	return public
}

// comes makes a collector open the log.
func (c *readingCore) comes(name events.CollectorName) <-chan opened {
	came := make(chan opened, 1)
	go func() {
		log, err := (&Collector{Host: c.Host, Name: name}).open(c.t.Context())
		if err == nil {
			log.Close()
		}
		came <- opened{log, err}
	}()
	return came
}

// waits waits until the core or a collector has said word so many times. It fails if a collector is let in or gives up
// before.
func (c *readingCore) waits(word string, times int, came ...<-chan opened) {
	c.t.Helper()
	deadline := time.After(2 * time.Minute)
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for strings.Count(c.log.String()+c.said.String(), word) < times {
		select {
		case <-tick.C:
		case <-deadline:
			c.t.Fatalf("not %d times %q:\n%s%s", times, word, c.said.String(), c.log.String())
		}
		for _, one := range came {
			select {
			case o := <-one:
				c.t.Fatalf("while the core was reading a collector did not wait: %v\n%s", o.err, c.log.String())
			default:
			}
		}
	}
}

func (c *readingCore) came(name string, came <-chan opened) error {
	c.t.Helper()
	select {
	case o := <-came:
		return o.err
	case <-time.After(2 * time.Minute):
		return fmt.Errorf("%s still waits:\n%s%s", name, c.said.String(), c.log.String())
	}
}

// A collector whose key the core has not read yet waits as long as that takes, and is then let in. An unknown key is refused
// only after the whole log is read.
func TestACollectorWaitsWhileTheLogIsRead(t *testing.T) {
	t.Parallel()
	c := newReadingCore(t, 1)
	c.key("stranger", 2)
	near, stranger := c.comes("near"), c.comes("stranger")
	c.waits("Problem registering with account", 5, near, stranger) // one of them was there three times
	c.waits("is still reading the log and does not know this key yet", 1, near, stranger)
	if _, current := c.parts.shell.Position(); current {
		t.Error("the core has read to the end")
	}
	contains(t, "the core", c.log.String(), "NATS clients have to wait", "still reading the log, it is at event 1")
	contains(t, "the collector", c.said.String(), "waiting    the core at nats://127.0.0.1:")
	if n := strings.Count(c.log.String(), "level=ERROR"); n > 0 {
		t.Errorf("%d errors:\n%s", n, c.log.String())
	}
	close(c.free)
	if err := c.came("near", near); err != nil {
		t.Error(err)
	}
	if err := c.came("the stranger", stranger); err == nil || !strings.Contains(err.Error(), "tacho collector add stranger") {
		t.Errorf("the stranger: %v", err)
	}
}

// A collector whose key has been read is let in, and then waits for answers as long.
func TestAKnownCollectorWaitsWhileTheLogIsRead(t *testing.T) {
	t.Parallel()
	c := newReadingCore(t, 3)
	near := c.comes("near")
	c.waits("is not ready for collectors yet", 1, near)
	close(c.free)
	if err := c.came("near", near); err != nil {
		t.Error(err)
	}
}

func contains(t *testing.T, what, text string, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if !strings.Contains(text, part) {
			t.Errorf("%s lacks %q:\n%s", what, part, text)
		}
	}
}
