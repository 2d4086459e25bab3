package readmodel

import (
	"context"
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/tachobench/tacho/events"
)

// Collectors returns all collectors that were ever registered, by name, with their current job and their
// last attempts.
func (r *Reader) Collectors(ctx context.Context) ([]Collector, error) {
	var list []Collector
	err := r.snapshot(ctx, func(tx pgx.Tx) (err error) {
		list, err = collectors(ctx, tx)
		return err
	})
	return list, err
}

// collectors must be called in a snapshot: it reads three tables.
func collectors(ctx context.Context, tx pgx.Tx) ([]Collector, error) {
	list, err := all[Collector](ctx, tx, "collectors")
	if err != nil {
		return nil, err
	}
	attempts, err := all[Attempt](ctx, tx, "last_attempts")
	if err != nil {
		return nil, err
	}
	open, err := jobs(ctx, tx, JobFilter{State: events.JobInProgress, Limit: everything})
	if err != nil {
		return nil, err
	}
	byName := make(map[events.CollectorName]*Collector, len(list))
	for i := range list {
		list[i].LastAttempts = []Attempt{}
		byName[list[i].Name] = &list[i]
	}
	for _, a := range attempts {
		if c := byName[a.Collector]; c != nil {
			c.LastAttempts = append(c.LastAttempts, a)
		}
	}
	for i := range open {
		if c := byName[open[i].Collector]; c != nil {
			c.CurrentJob = &open[i]
		}
	}
	for i := range list {
		list[i].MedianJobMS = medianDuration(list[i].LastAttempts)
	}
	return list, nil
}

// medianDuration returns the median of the attempts that finished their jobs, 0 without any.
func medianDuration(attempts []Attempt) int64 {
	var durations []int64
	for _, a := range attempts {
		if a.State == AttemptFinished {
			durations = append(durations, a.DurationMS)
		}
	}
	if len(durations) == 0 {
		return 0
	}
	slices.Sort(durations)
	low, high := durations[(len(durations)-1)/2], durations[len(durations)/2]
	return low + (high-low)/2
}
