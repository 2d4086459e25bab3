package control

import (
	"context"

	"github.com/tachobench/tacho/eventlog"
	"github.com/tachobench/tacho/events"
)

// freeLanes finds the lanes of a pool that were never assigned. A decision gets each of them once.
type freeLanes struct {
	tx   *eventlog.Tx
	pool events.PoolName
	// from is the number of the first lane to look at, once the search has begun.
	from  int
	begun bool
}

// next returns the next free lane.
func (l *freeLanes) next(ctx context.Context) (events.Lane, error) {
	if !l.begun {
		var err error
		if l.from, err = l.first(ctx); err != nil {
			return events.Lane{}, err
		}
		l.begun = true
	}
	for {
		taken, err := l.taken(ctx, l.from)
		l.from++
		if err != nil || !taken {
			return events.PoolLane(l.pool, l.from-1), err
		}
	}
}

// first returns the number of the first lane that was never assigned. The lanes of a pool are assigned in order, so
// halving finds it.
func (l *freeLanes) first(ctx context.Context) (int, error) {
	low, high := 0, 1 // all lanes below low are taken
	for {
		taken, err := l.taken(ctx, high-1)
		if err != nil {
			return 0, err
		}
		if !taken {
			break
		}
		low, high = high, 2*high
	}
	for low < high-1 { // lane high-1 is free
		middle := (low + high - 1) / 2
		taken, err := l.taken(ctx, middle)
		if err != nil {
			return 0, err
		}
		if taken {
			low = middle + 1
		} else {
			high = middle + 1
		}
	}
	return low, nil
}

func (l *freeLanes) taken(ctx context.Context, n int) (bool, error) {
	_, found, err := l.tx.Last(ctx, events.AssignmentSubject(events.PoolLane(l.pool, n)))
	return found, err
}
