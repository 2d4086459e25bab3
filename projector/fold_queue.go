package projector

import (
	"time"

	"github.com/tachobench/tacho/queue"
)

// orderQueue computes the places and estimates as they are after the newest event that could change them,
// and returns the rows that differ from before and the number of rows there are now. It is called once per
// batch: the rows depend on the state alone and not on where batches end.
func (s *state) orderQueue() (changed []queueRow, length int) {
	entries := make([]queue.Entry, 0, len(s.requests))
	for _, r := range s.requests {
		if !r.State.Terminal() {
			entries = append(entries, entry(r))
		}
	}
	places := queue.Order(entries, s.tags.Done)
	plans, left := s.plans()
	forecasts := queue.Estimate(places, plans, queue.Farm{Now: s.asOf, MaxInProgress: s.maxInProgress, Left: left})

	rows := make([]queueRow, len(places))
	for i, p := range places {
		rows[i] = queueRow{
			Position: p.Position, RequestID: p.ID, Level: p.Level, Reason: p.Reason, Startable: p.Startable,
			EstimatedStart: cut(forecasts[i].Start), EstimatedEnd: cut(forecasts[i].End),
			Overrun: forecasts[i].Overrun, Guessed: forecasts[i].Guessed, NoEnd: cleanText(forecasts[i].NoEnd),
		}
		rows[i].StartEarliest, rows[i].StartLatest = cutBoth(forecasts[i].StartEarliest, forecasts[i].StartLatest)
		rows[i].EndEarliest, rows[i].EndLatest = cutBoth(forecasts[i].EndEarliest, forecasts[i].EndLatest)
		if i >= len(s.queue) || !rows[i].equal(s.queue[i]) {
			changed = append(changed, rows[i])
		}
	}
	s.queue = rows
	return changed, len(rows)
}

func entry(r *requestRow) queue.Entry {
	e := queue.Entry{
		ID: r.ID, Kind: r.Kind, State: r.State, Suite: r.Suite, Tag: r.Tag, Parent: r.Parent, CreatedAt: r.CreatedAt,
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

func (q queueRow) equal(o queueRow) bool {
	return q.Position == o.Position && q.RequestID == o.RequestID && q.Level == o.Level && q.Reason == o.Reason &&
		q.Startable == o.Startable && q.Overrun == o.Overrun && q.Guessed == o.Guessed && q.NoEnd == o.NoEnd &&
		same(q.EstimatedStart, o.EstimatedStart) && same(q.EstimatedEnd, o.EstimatedEnd) &&
		same(q.StartEarliest, o.StartEarliest) && same(q.StartLatest, o.StartLatest) &&
		same(q.EndEarliest, o.EndEarliest) && same(q.EndLatest, o.EndLatest)
}

func same(a, b *time.Time) bool { return a == b || a != nil && b != nil && a.Equal(*b) }

// cut returns a time as the tables have it. What lies beyond their calendar, because of a clock or a duration that
// is absurd, is as good as unknown.
func cut(t *time.Time) *time.Time {
	if t == nil || t.UTC().Year() > 9999 {
		return nil
	}
	return pointer(t.UTC().Truncate(time.Microsecond))
}

// cutBoth returns both bounds of a range, or none.
func cutBoth(earliest, latest *time.Time) (*time.Time, *time.Time) {
	if low, high := cut(earliest), cut(latest); low != nil && high != nil {
		return low, high
	}
	return nil, nil
}
