package presence

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tachobench/tacho/eventlog"
	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/internal/retry"
)

// air holds the newest beat or probe of each sender. It fails in all the ways in which a cluster and a process fail.
type air struct {
	mu  sync.Mutex
	seq uint64
	// sounds are by sender, with their sequences.
	sounds map[string]placed
	moved  chan struct{}
	// away is set while the air takes no sounds. When that begins, watchers end or fall silent for ever.
	away bool
	// Watchers up to the number stuck report nothing any more. watchers counts all.
	stuck, watchers int
	// open is a closed channel unless the process of the listener stands still, with its door.
	open chan struct{}
	// lag delays the reports of watchers.
	lag time.Duration
}

type placed struct {
	eventlog.Sound
	at     uint64
	stored time.Time
}

func newAir() *air {
	a := &air{sounds: map[string]placed{}, moved: make(chan struct{}), open: make(chan struct{})}
	close(a.open)
	return a
}

var errAway = errors.New("nothing is taken")

// set changes something and wakes all watchers.
func (a *air) set(f func()) {
	a.mu.Lock()
	defer a.mu.Unlock()
	f()
	close(a.moved)
	a.moved = make(chan struct{})
}

// put stores a sound. Every sound passes through the process of the listener.
func (a *air) put(ctx context.Context, from string, s eventlog.Sound) error {
	if err := a.pass(ctx); err != nil {
		return err
	}
	err := errAway
	a.set(func() {
		if !a.away {
			a.seq++
			a.sounds[from], err = placed{s, a.seq, time.Now()}, nil
		}
	})
	return err
}

// pass waits while the process stands still.
func (a *air) pass(ctx context.Context) error {
	a.mu.Lock()
	open := a.open
	a.mu.Unlock()
	select {
	case <-open:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (a *air) Probe(ctx context.Context, p eventlog.Probe) error {
	return a.put(ctx, "probe of "+p.From, eventlog.Sound{Probe: &p})
}

func (a *air) Watch(ctx context.Context, f func(eventlog.Sound)) error {
	a.mu.Lock()
	a.watchers++
	me := a.watchers
	a.mu.Unlock()
	for told := uint64(0); ; {
		a.mu.Lock()
		var news []placed
		for _, s := range a.sounds {
			if s.at > told && me > a.stuck {
				news = append(news, s)
			}
		}
		away, moved, lag := a.away && me > a.stuck, a.moved, a.lag
		a.mu.Unlock()
		if away {
			return errAway
		}
		slices.SortFunc(news, func(x, y placed) int { return cmp.Compare(x.at, y.at) })
		if len(news) > 0 && lag > 0 {
			<-time.After(lag)
		}
		for _, s := range news {
			if err := a.pass(ctx); err != nil {
				return err
			}
			f(s.Sound)
			told = s.at
		}
		select {
		case <-moved:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// crew is a listener and collectors, some of which die.
type crew struct {
	r     *rand.Rand
	air   *air
	heard *Listener
	// limit is the silence that the test checks, beatEvery the time between heartbeats.
	limit, beatEvery time.Duration
	// dead says which collectors no longer beat. mu guards it.
	mu   sync.Mutex
	dead map[events.CollectorName]bool
}

// beat runs a collector from now on.
func (c *crew) beat(ctx context.Context, r *rand.Rand, name events.CollectorName) {
	for {
		c.mu.Lock()
		dead := c.dead[name]
		c.mu.Unlock()
		if dead {
			return
		}
		wait := c.beatEvery
		asking, cancel := context.WithTimeout(ctx, c.beatEvery/2)
		err := c.air.put(asking, string(name), eventlog.Sound{Beat: &eventlog.Beat{Name: name}})
		cancel()
		if err != nil { // a collector that could not get through needs a while to come back
			wait = time.Duration(r.Int64N(int64(c.beatEvery)))
		}
		if !retry.Sleep(ctx, wait) {
			return
		}
	}
}

// disturb makes the air fail in one way for a while.
func (c *crew) disturb(ctx context.Context) {
	long := time.Duration(c.r.Int64N(int64(90 * time.Second)))
	switch a := c.air; c.r.IntN(5) {
	case 0: // the process stands still
		a.set(func() { a.open = make(chan struct{}) })
		retry.Sleep(ctx, long)
		a.set(func() { close(a.open) })
	case 1: // all nodes restart, and the watcher knows
		a.set(func() { a.away = true })
		retry.Sleep(ctx, long)
		a.set(func() { a.away = false })
	case 2: // all nodes restart with what they had in memory, and the watcher does not know
		a.set(func() { a.stuck, a.away = a.watchers, true })
		retry.Sleep(ctx, long)
		a.set(func() { a.away, a.sounds = false, map[string]placed{} })
	case 3: // the watcher alone dies, and does not know
		a.set(func() { a.stuck = a.watchers })
	case 4:
		a.set(func() { a.lag = time.Duration(c.r.Int64N(int64(4 * time.Second))) })
		retry.Sleep(ctx, long)
		a.set(func() { a.lag = 0 })
	}
}

// check returns an error if a collector that is not silent is called silent.
func (c *crew) check() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	for name, dead := range c.dead {
		v := c.heard.Of(name)
		if v.Silence < c.limit {
			continue
		}
		if !dead {
			return fmt.Errorf("%s lives and is called silent for %s", name, v.Silence)
		}
		c.air.mu.Lock()
		last, ok := c.air.sounds[string(name)]
		c.air.mu.Unlock()
		if ok && time.Since(last.stored) < c.limit {
			return fmt.Errorf("%s is called silent for %s and beat %s ago", name, v.Silence, time.Since(last.stored))
		}
	}
	return nil
}

func (c *crew) live(t *testing.T) error {
	ctx, stop := context.WithCancel(t.Context())
	var tasks sync.WaitGroup
	defer tasks.Wait()
	defer stop()
	tasks.Go(func() { _ = c.heard.Run(ctx) }) // it ends with ctx
	for i := range c.r.IntN(4) {
		c.dead[events.CollectorName(fmt.Sprintf("c%d", i))] = false
	}
	names := slices.Sorted(maps.Keys(c.dead))
	for _, name := range names {
		r := rand.New(rand.NewPCG(c.r.Uint64(), 2))
		tasks.Go(func() { c.beat(ctx, r, name) })
	}
	over := make(chan struct{})
	tasks.Go(func() {
		defer close(over)
		for range c.r.IntN(8) {
			retry.Sleep(ctx, time.Duration(c.r.Int64N(int64(2*time.Minute))))
			c.disturb(ctx)
			if len(names) > 0 && c.r.IntN(4) == 0 {
				c.mu.Lock()
				c.dead[names[c.r.IntN(len(names))]] = true
				c.mu.Unlock()
			}
		}
	})
	for ended := false; !ended; {
		select {
		case <-over:
			ended = true
		case <-time.After(500 * time.Millisecond):
		}
		if err := c.check(); err != nil {
			return err
		}
	}
	// Every dead collector is found, once the listener has noticed a dead watcher.
	retry.Sleep(ctx, leastPatience+2*c.limit)
	for name, dead := range c.dead {
		if v := c.heard.Of(name); dead != (v.Silence >= c.limit) {
			return fmt.Errorf("%s: dead is %t, and its silence is %s", name, dead, v.Silence)
		}
	}
	return c.check()
}

// Whatever happens to the cluster, the watcher and the process: no collector is called silent that is alive, or whose
// newest beat was stored less than the limit ago; and every dead one is found. A failure names its seed; TACHO_SEED
// repeats it.
func TestNobodyIsSilentWhoSpeaks(t *testing.T) {
	first, count := uint64(time.Now().UnixNano()), uint64(200)
	if s := os.Getenv("TACHO_SEED"); s != "" {
		seed, err := strconv.ParseUint(s, 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		first, count = seed, 1
	}
	for i := range count {
		synctest.Test(t, func(t *testing.T) {
			c := &crew{r: rand.New(rand.NewPCG(first+i, 1)), air: newAir(), dead: map[events.CollectorName]bool{}}
			c.limit = []time.Duration{6 * time.Second, 30 * time.Second, time.Minute}[c.r.IntN(3)]
			c.beatEvery = c.limit / 6
			c.heard = New(Config{Heartbeats: c.air, Shortest: c.limit, Logger: slog.New(slog.DiscardHandler)})
			if err := c.live(t); err != nil {
				t.Fatalf("repeat with TACHO_SEED=%d: %v", first+i, err)
			}
		})
	}
}
