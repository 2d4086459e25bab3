package readmodel

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/tachobench/tacho/events"
)

// Collectors returns all collectors that were ever registered, by name, with their current job and their
// last attempts.
func (r *Reader) Collectors(ctx context.Context) ([]Collector, error) {
	var list []Collector
	err := r.snapshot(ctx, func(tx pgx.Tx) error {
		var f farm
		var b pgx.Batch
		f.also(&b)
		if err := tx.SendBatch(ctx, &b).Close(); err != nil {
			return fmt.Errorf("query the collectors: %w", err)
		}
		list = f.collectors()
		return nil
	})
	return list, err
}

// KeyHolder returns the collector that has this public key; empty if none has it.
func (r *Reader) KeyHolder(ctx context.Context, key string) (events.CollectorName, error) {
	list, err := r.Collectors(ctx)
	i := slices.IndexFunc(list, func(c Collector) bool { return c.NKey == key })
	if err != nil || i < 0 {
		return "", err
	}
	return list[i].Name, nil
}

// farm is what is read about all collectors. Read it in one snapshot: it comes from three tables.
type farm struct {
	rows     []Collector
	attempts []Attempt
	// open are the jobs in progress.
	open []Job
}

// also adds the queries to a batch.
func (f *farm) also(b *pgx.Batch) {
	also(b, &f.rows, "collectors")
	also(b, &f.attempts, "last_attempts")
	also(b, &f.open, "jobs_running")
}

// collectors joins what was read.
func (f *farm) collectors() []Collector {
	list := f.rows
	byName := make(map[events.CollectorName]*Collector, len(list))
	for i := range list {
		list[i].LastAttempts = []Attempt{}
		byName[list[i].Name] = &list[i]
	}
	for _, a := range f.attempts {
		if c := byName[a.Collector]; c != nil {
			c.LastAttempts = append(c.LastAttempts, a)
		}
	}
	for i := range f.open {
		if c := byName[f.open[i].Collector]; c != nil {
			c.CurrentJob = &f.open[i]
		}
	}
	for i := range list {
		c := &list[i]
		c.Online, c.Reason, c.MedianJobMS = c.Presence == PresenceOnline, c.reason(), medianDuration(c.LastAttempts)
	}
	return list
}

// reason returns why the collector is in its state.
func (c Collector) reason() string {
	if c.RemovedAt != nil || !c.Active || c.Quarantined || c.Draining && c.Presence == PresenceOnline {
		return c.Reason
	}
	return c.PresenceReason
}

// medianDuration returns the median of the attempts that finished their jobs; 0 if there are none.
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

// Enforced reports whether the machine of the collector enforces what jobs reserve, and if not, why. known is false for a
// collector of no machine, and before it says so.
func (c Collector) Enforced() (enforced bool, why string, known bool) {
	if c.Machine == "" || c.Environment == nil {
		return false, "", false
	}
	said := c.Environment.Settings["limits"]
	why, loose := strings.CutPrefix(said, "not enforced: ")
	if !loose {
		why = ""
	}
	return said == "enforced", cmp.Or(why, "it is not known why"), loose || said == "enforced"
}
