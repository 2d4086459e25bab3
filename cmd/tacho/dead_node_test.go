package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	natsjs "github.com/nats-io/nats.go/jetstream"

	"github.com/tachobench/tacho/control"
	"github.com/tachobench/tacho/eventlog"
	"github.com/tachobench/tacho/eventlog/jetstream"
	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/internal/natsserver"
	"github.com/tachobench/tacho/watchdog"
)

// core is what each process of the core has of the log: one that appends, one that follows, and one that asks for its end.
type core struct {
	t   *testing.T
	ctx context.Context
	log *jetstream.Log
	js  natsjs.JetStream
	dog *watchdog.Watchdog
	// stored is the last event that was appended, read the last one that the cursor gave. regressed counts the heads that were
	// below an event that was stored before they were asked for.
	stored, read, regressed atomic.Uint64
	// wrote says how the last append ended that was not stored.
	wrote atomic.Value
}

func newCore(t *testing.T, n *nodes) *core {
	t.Helper()
	nc, err := nats.Connect(n.url("core", "s3cret"), append(natsserver.NoticeDead(), nats.MaxReconnects(-1), nats.ReconnectWait(250*time.Millisecond))...)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	c := &core{t: t, ctx: ctx}
	if c.js, err = natsjs.New(nc); err != nil {
		t.Fatal(err)
	}
	if c.log, err = jetstream.Open(ctx, nc, jetstream.Config{Replicas: 3, MaxBytes: 1 << 30}); err != nil {
		t.Fatal(err)
	}
	// A new cluster may let nobody follow at once: the nodes still tell each other what there is.
	cursor, err := c.log.Follow(ctx, 0)
	for until := time.Now().Add(3 * time.Minute); err != nil && time.Now().Before(until); cursor, err = c.log.Follow(ctx, 0) {
		pass(250 * time.Millisecond)
	}
	if err != nil {
		t.Fatal(err)
	}
	c.dog = watchdog.New(watchdog.Config{
		Log: c.log, Control: &control.Control{Log: c.log, Clock: time.Now}, Clock: time.Now, Logger: slog.New(slog.NewTextHandler(io.Discard, nil)),
	})
	var tasks sync.WaitGroup
	for _, task := range []func(){c.write, func() { c.follow(cursor) }, c.ask, func() {
		if err := c.dog.Run(ctx); err != nil {
			t.Error(err)
		}
	}} {
		tasks.Go(task)
	}
	t.Cleanup(func() { stop(); nc.Close(); tasks.Wait(); cursor.Close() })
	return c
}

// write appends with the version that its last append gave. So the loss of an event that was stored shows: every later append is
// a conflict. An append that ended without an answer may be stored, now or later. After one it reads the version until an append is
// stored.
func (c *core) write() {
	at, doubt := events.Seq(0), false
	for ; c.ctx.Err() == nil; pass(20 * time.Millisecond) {
		f := events.CollectorActivated{Name: "eider"}
		if doubt {
			last, _, err := c.log.Last(c.ctx, f.Subject())
			if err != nil {
				c.wrote.Store(fmt.Sprintf("in doubt about %d: %v", at, err))
				continue
			}
			at = max(at, last.Seq) // what was stored before is never in doubt
		}
		e := eventlog.NewEvent(f, eventlog.Meta{Source: "test", Actor: "test"}, time.Now())
		seq, err := c.log.Append(c.ctx, eventlog.Append{Subject: f.Subject(), Expected: at, Events: []events.Event{e}})
		switch {
		case err == nil:
			at, doubt = seq, false
			c.stored.Store(uint64(seq))
		case errors.Is(err, eventlog.ErrUnavailable):
			doubt = true
		}
		if err != nil {
			c.wrote.Store(fmt.Sprintf("after %d, in doubt %t: %v", at, doubt, err))
		}
	}
}

func (c *core) follow(cursor eventlog.Cursor) {
	for c.ctx.Err() == nil {
		got, err := cursor.Next(c.ctx, 100)
		if err != nil && c.ctx.Err() == nil {
			c.t.Errorf("the cursor ended: %v", err)
			return
		}
		for _, s := range got {
			c.read.Store(uint64(s.Seq))
		}
	}
}

func (c *core) ask() {
	for c.ctx.Err() == nil {
		// A node that wakes may answer before it hears that it leads no more: who knows of a later event doubts it.
		before := events.Seq(c.stored.Load())
		if head, err := eventlog.HeadAt(c.ctx, c.log, before); err == nil && head.Last < before {
			c.regressed.Add(1)
		}
		pass(5 * time.Millisecond)
	}
}

// allowed is how long something may take that takes within at most on a machine that does nothing else, as that of `make chaos`.
func allowed(within time.Duration) time.Duration {
	if chaosInFull() {
		return within
	}
	return slack * within
}

// until waits for something and returns how long that took.
func (c *core) until(what string, holds func() bool) time.Duration {
	c.t.Helper()
	began, within := time.Now(), allowed(time.Minute)
	for !holds() {
		if time.Since(began) > within {
			c.t.Fatalf("not within %s: %s; the last append that was not stored: %v", within, what, c.wrote.Load())
		}
		pass(10 * time.Millisecond)
	}
	return time.Since(began)
}

func (c *core) leader() int {
	c.t.Helper()
	s, err := c.js.Stream(c.ctx, "EVENTS")
	if err != nil {
		c.t.Fatal(err)
	}
	i, err := strconv.Atoi(strings.TrimPrefix(s.CachedInfo().Cluster.Leader, "n"))
	if err != nil {
		c.t.Fatal(err)
	}
	return i
}

// goesOn waits until what is appended from now on is stored and read again.
func (c *core) goesOn() (stored, read time.Duration) {
	c.t.Helper()
	began, from := time.Now(), c.stored.Load()
	c.until("appends are stored again", func() bool { return c.stored.Load() > from+1 })
	stored, from = time.Since(began), c.stored.Load()
	c.until("they are read again", func() bool { return c.read.Load() >= from })
	return stored, time.Since(began)
}

func (c *core) takes() bool {
	ctx, cancel := context.WithTimeout(c.ctx, 2*time.Second)
	defer cancel()
	_, err := c.log.Takes(ctx)
	return err == nil
}

// The node that leads the log stands still with all its connections open: the farm goes on with the two others, and does not
// believe what the node says of the end of the log when it wakes. Then two nodes stand still: readiness and the watchdog say so
// within 5 s, and no more once they are back. The check, beside which other tests run, allows three times as long.
func TestANodeThatStandsStillIsLeft(t *testing.T) {
	t.Parallel() // it waits more than it works
	n := newNodes(t)
	c := newCore(t, n)
	c.goesOn()

	leader := c.leader()
	n.signal(leader, syscall.SIGSTOP)
	stored, read := c.goesOn()
	n.signal(leader, syscall.SIGCONT)
	t.Logf("the leader stood still: appends go on after %s, they are read after %s", stored.Round(10*time.Millisecond), read.Round(10*time.Millisecond))
	if read > allowed(20*time.Second) {
		t.Errorf("the farm went on after %s", read)
	}
	c.until("no alert", func() bool { return len(c.dog.Local()) == 0 && c.takes() })
	c.goesOn()

	// The leader and another one: the rest is a follower. Then the two followers: the rest is a leader that is alone.
	for _, last := range []string{"a follower", "the leader"} {
		leader, down := c.leader(), []int{0, 1, 2}
		keep := leader
		if last == "a follower" {
			keep = (leader + 1) % 3
		}
		down = append(down[:keep:keep], down[keep+1:]...)
		for _, i := range down {
			n.signal(i, syscall.SIGSTOP)
		}
		gone := time.Now()
		ready := c.until("it is not ready", func() bool { return !c.takes() })
		c.until("the alert stands", func() bool { return len(c.dog.Local()) > 0 })
		said := time.Since(gone)
		for _, i := range down {
			n.signal(i, syscall.SIGCONT)
		}
		back := c.until("the alert is over", func() bool { return c.takes() && len(c.dog.Local()) == 0 })
		_, read := c.goesOn()
		t.Logf("%s is alone: not ready after %s, alert after %s; back after %s", last, ready.Round(10*time.Millisecond), said.Round(10*time.Millisecond), (back + read).Round(10*time.Millisecond))
		if within := allowed(5 * time.Second); ready > within || said > within {
			t.Errorf("%s is alone: not ready after %s, alert after %s", last, ready, said)
		}
	}
	if r := c.regressed.Load(); r > 0 {
		t.Errorf("%d heads were below what was stored", r)
	}
}
