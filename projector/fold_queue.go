package projector

import (
	"reflect"
	"time"

	"github.com/tachobench/tacho/readmodel"
	"github.com/tachobench/tacho/rules/queue"
)

// orderQueue computes the places and estimates in the main queue as they are after the newest event that could change them.
// It returns the rows that differ from before, and the number of rows now. It is called once per
// batch: the rows depend on the state alone and not on where batches end.
func (s *state) orderQueue() (changed []queueRow, length int) {
	entries := make([]queue.Entry, 0, len(s.requests))
	for _, r := range s.requests {
		if !r.State.Terminal() && r.Queue == "" {
			entries = append(entries, entry(r))
		}
	}
	places := queue.Order(entries, s.tags.Done)
	plans, left := s.plans()
	forecasts := queue.Estimate(places, plans, queue.Farm{Now: s.asOf, MaxInProgress: s.maxInProgress, Left: left})

	rows, columns := make([]queueRow, len(places)), readmodel.Columns("queue")
	for i, p := range places {
		rows[i] = queueRow{
			Position: p.Position, RequestID: p.ID, Level: p.Level, Reason: p.Reason, Startable: p.Startable,
			EstimatedStart: cut(forecasts[i].Start), EstimatedEnd: cut(forecasts[i].End),
			Overrun: forecasts[i].Overrun, Guessed: forecasts[i].Guessed, NoEnd: cleanText(forecasts[i].NoEnd),
		}
		rows[i].StartEarliest, rows[i].StartLatest = cutBoth(forecasts[i].StartEarliest, forecasts[i].StartLatest)
		rows[i].EndEarliest, rows[i].EndLatest = cutBoth(forecasts[i].EndEarliest, forecasts[i].EndLatest)
		if i >= len(s.queue) || !equal(columns, &rows[i], &s.queue[i]) {
			changed = append(changed, rows[i])
		}
	}
	s.queue = rows
	return changed, len(rows)
}

func entry(r *requestRow) queue.Entry {
	e := queue.Entry{
		ID: r.ID, Kind: r.Kind, State: r.State, Suite: r.Suite, Tag: r.Tag, Parent: r.ParentTag, CreatedAt: r.CreatedAt,
		Priority: r.Priority,
	}
	if r.PR != nil {
		e.PR = *r.PR
	}
	if r.StartedAt != nil {
		e.StartedAt = *r.StartedAt
	}
	if on, err := time.Parse(time.DateOnly, r.ReleasedOn); err == nil {
		e.ReleasedOn = on
	}
	return e
}

// equal compares two rows column by column.
func equal[T any](columns []readmodel.Column, a, b *T) bool {
	v, w := reflect.ValueOf(a).Elem(), reflect.ValueOf(b).Elem()
	for _, c := range columns {
		switch one, other := v.Field(c.Field), w.Field(c.Field); one.Type() {
		case reflect.TypeFor[*time.Time]():
			if !same(*one.Addr().Interface().(**time.Time), *other.Addr().Interface().(**time.Time)) {
				return false
			}
		default:
			if !one.Equal(other) {
				return false
			}
		}
	}
	return true
}

func same(a, b *time.Time) bool { return a == b || a != nil && b != nil && a.Equal(*b) }

// cut returns a time as the tables hold it. It returns nil, unknown, for a time after the year 9999, which an absurd
// clock or duration can give.
func cut(t *time.Time) *time.Time {
	if t == nil || t.UTC().Year() > 9999 {
		return nil
	}
	return pointer(t.UTC().Truncate(time.Microsecond))
}

// cutBoth cuts both bounds of a range. It returns both or neither.
func cutBoth(earliest, latest *time.Time) (*time.Time, *time.Time) {
	if low, high := cut(earliest), cut(latest); low != nil && high != nil {
		return low, high
	}
	return nil, nil
}
