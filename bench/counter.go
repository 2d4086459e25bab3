package main

import (
	"context"
	"slices"
	"sync"
	"time"
)

// counter counts, and wakes the one who waits for a number.
type counter struct {
	mu      sync.Mutex
	n, want int
	reached chan struct{}
}

func (c *counter) add(n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.n += n
	if c.reached != nil && c.n >= c.want {
		close(c.reached)
		c.reached = nil
	}
}

func (c *counter) now() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.n
}

// await waits until the count is at least n. Only one goroutine may wait.
func (c *counter) await(ctx context.Context, n int) error {
	reached := make(chan struct{})
	c.mu.Lock()
	c.want, c.reached = n, reached
	c.mu.Unlock()
	c.add(0)
	select {
	case <-reached:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// quantile returns the time that a share of all is not above, in milliseconds.
func quantile(all []time.Duration, share float64) float64 {
	sorted := slices.Sorted(slices.Values(all))
	return milliseconds(sorted[min(int(float64(len(sorted))*share), len(sorted)-1)])
}

func milliseconds(d time.Duration) float64 { return float64(d.Nanoseconds()) / 1e6 }

func perSecond(n int, took time.Duration) float64 { return float64(n) / took.Seconds() }

// together does n things by some workers and returns how long that took.
func together(ctx context.Context, workers, n int, do func(ctx context.Context, worker, i int) error) (time.Duration, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var all sync.WaitGroup
	var next counter
	began := time.Now()
	for w := range workers {
		all.Go(func() {
			for ctx.Err() == nil {
				i := next.take()
				if i >= n {
					return
				}
				if err := do(ctx, w, i); err != nil {
					cancel(err)
				}
			}
		})
	}
	all.Wait()
	return time.Since(began), context.Cause(ctx)
}

// take returns the count and adds one.
func (c *counter) take() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.n++
	return c.n - 1
}
