package farm

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/tachobench/tacho/eventlog"
	"github.com/tachobench/tacho/eventlog/memory"
	"github.com/tachobench/tacho/events"
)

// errKilled is what a killed process gets from the log.
var errKilled = errors.New("this process is dead")

// gate is the log as one process sees it. Once it is shut, every call fails, so a process can be killed
// between any two steps. While it is paused, every call waits.
type gate struct {
	*memory.Log
	// mu guards the rest.
	mu   sync.Mutex
	dead bool
	// open is closed unless the process is paused.
	open chan struct{}
}

func newGate(log *memory.Log) *gate {
	g := &gate{Log: log, open: make(chan struct{})}
	close(g.open)
	return g
}

func (g *gate) shut() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.dead = true
}

func (g *gate) pause() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.open = make(chan struct{})
}

func (g *gate) wake() {
	g.mu.Lock()
	defer g.mu.Unlock()
	close(g.open)
}

// pass waits while the process is paused. It fails if the process is dead.
func (g *gate) pass(ctx context.Context) error {
	g.mu.Lock()
	open := g.open
	g.mu.Unlock()
	select {
	case <-open:
	case <-ctx.Done():
		return ctx.Err()
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.dead {
		return fmt.Errorf("reach the log: %w", errKilled)
	}
	return nil
}

// Append implements eventlog.Log.
func (g *gate) Append(ctx context.Context, parts ...eventlog.Append) (events.Seq, error) {
	if err := g.pass(ctx); err != nil {
		return 0, err
	}
	return g.Log.Append(ctx, parts...)
}

// Read implements eventlog.Log.
func (g *gate) Read(ctx context.Context, subject events.Subject) ([]events.Recorded, error) {
	if err := g.pass(ctx); err != nil {
		return nil, err
	}
	return g.Log.Read(ctx, subject)
}

// Last implements eventlog.Log.
func (g *gate) Last(ctx context.Context, subject events.Subject) (events.Recorded, bool, error) {
	if err := g.pass(ctx); err != nil {
		return events.Recorded{}, false, err
	}
	return g.Log.Last(ctx, subject)
}

// Beat implements eventlog.Presence.
func (g *gate) Beat(ctx context.Context, b eventlog.Beat) (eventlog.News, error) {
	if err := g.pass(ctx); err != nil {
		return nil, err
	}
	return g.Log.Beat(ctx, b)
}

// Release implements eventlog.Presence.
func (g *gate) Release(ctx context.Context, b eventlog.Beat) error {
	if err := g.pass(ctx); err != nil {
		return err
	}
	return g.Log.Release(ctx, b)
}

// NextJob implements eventlog.Dispatch. There is no door here, which would make the lane.
func (g *gate) NextJob(ctx context.Context, lane events.Lane) (eventlog.Delivery, error) {
	if err := g.pass(ctx); err != nil {
		return nil, err
	}
	if err := g.EnsureLane(ctx, lane, 0); err != nil {
		return nil, err
	}
	d, err := g.Log.NextJob(ctx, lane)
	if err != nil {
		return nil, err
	}
	return &gatedDelivery{Delivery: d, gate: g}, nil
}

// gatedDelivery is a delivery that one process has.
type gatedDelivery struct {
	eventlog.Delivery
	gate *gate
}

// InProgress implements eventlog.Delivery.
func (d *gatedDelivery) InProgress(ctx context.Context) error {
	if err := d.gate.pass(ctx); err != nil {
		return err
	}
	return d.Delivery.InProgress(ctx)
}

// Ack implements eventlog.Delivery.
func (d *gatedDelivery) Ack(ctx context.Context) error {
	if err := d.gate.pass(ctx); err != nil {
		return err
	}
	return d.Delivery.Ack(ctx)
}

// Nak implements eventlog.Delivery.
func (d *gatedDelivery) Nak(ctx context.Context, delay time.Duration) error {
	if err := d.gate.pass(ctx); err != nil {
		return err
	}
	return d.Delivery.Nak(ctx, delay)
}
