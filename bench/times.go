package main

import (
	"context"
	"sync"
	"time"
)

// Times are when the jobs of a queue were received, began and were measured, in the order in which that happened.
type Times struct {
	mu                        sync.Mutex
	received, begun, measured []time.Time
}

// note adds the time of this moment to one of the lists.
func (t *Times) note(list *[]time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	*list = append(*list, time.Now())
}

// forget makes room for the times of another turn.
func (t *Times) forget() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.received, t.begun, t.measured = nil, nil, nil
}

// finisher asks for a request, waits for its end, and returns how long that took.
type finisher func(context.Context) (time.Duration, error)

// trips asks for n requests of one job, each after the one before has ended. It returns how long after the request jobs were received,
// at p50 and p99, and how long after it they began, at p50, in milliseconds.
func (t *Times) trips(ctx context.Context, n int, finish finisher) ([]float64, error) {
	t.forget()
	var asked []time.Time
	for range n {
		asked = append(asked, time.Now())
		if _, err := finish(ctx); err != nil {
			return nil, err
		}
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	received, begun := since(t.received, asked), since(t.begun, asked)
	return []float64{quantile(received, 0.5), quantile(received, 0.99), quantile(begun, 0.5)}, nil
}

// gaps asks for a request. It returns how long after the end of each measurement the next job began, at p50 and p99, in milliseconds.
func (t *Times) gaps(ctx context.Context, finish finisher) ([]float64, error) {
	t.forget()
	if _, err := finish(ctx); err != nil {
		return nil, err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	found := since(t.begun[1:], t.measured[:len(t.begun)-1])
	return []float64{quantile(found, 0.5), quantile(found, 0.99)}, nil
}

// since returns how long after its beginning each thing happened.
func since(happened, began []time.Time) (all []time.Duration) {
	for i, at := range began {
		all = append(all, happened[i].Sub(at))
	}
	return all
}

// costs lets n things be done. It returns how many are done in a second, and the microseconds of CPU time that each takes, with that of
// the servers of the databases.
func costs(n int, do func() (time.Duration, error), databases ...*Database) ([]float64, error) {
	before, err := cpuOf(databases...)
	if err != nil {
		return nil, err
	}
	took, err := do()
	if err != nil {
		return nil, err
	}
	after, err := cpuOf(databases...)
	return []float64{perSecond(n, took), float64((after - before).Nanoseconds()) / 1e3 / float64(n)}, err
}
