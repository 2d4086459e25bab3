package projector

import (
	"time"

	"github.com/tachobench/tacho/rules/queue"
)

// orderQueue computes the places and estimates in the main queue as they are after the newest event that could change them.
// It returns the rows that differ from before, and the number of rows now. It is called once per
// batch: the rows depend on the state alone and not on where batches end.
func (s *state) orderQueue() (changed []queueRow, length int) {
	entries := s.entries[:0]
	for _, r := range s.requests {
		if !r.State.Terminal() && r.Queue == "" {
			entries = append(entries, entry(r))
		}
	}
	s.entries = entries
	places := queue.Order(entries, s.tags.Done)
	plans, left := s.plans()
	forecasts := queue.Estimate(places, plans, queue.Farm{Now: s.asOf, MaxInProgress: s.maxInProgress, Left: left})

	s.queue = s.queue[:min(len(s.queue), len(places))]
	for i := range places {
		if i < len(s.queue) && shows(&s.queue[i], &places[i], &forecasts[i]) {
			continue
		}
		row := newQueueRow(&places[i], &forecasts[i])
		if changed = append(changed, row); i < len(s.queue) {
			s.queue[i] = row
		} else {
			s.queue = append(s.queue, row)
		}
	}
	return changed, len(places)
}

func newQueueRow(p *queue.Place, f *queue.Forecast) queueRow {
	row := queueRow{
		Position: p.Position, RequestID: p.ID, Level: p.Level, Reason: p.Reason, Startable: p.Startable,
		EstimatedStart: cut(f.Start), EstimatedEnd: cut(f.End), Overrun: f.Overrun, Guessed: f.Guessed, NoEnd: cleanText(f.NoEnd),
	}
	row.StartEarliest, row.StartLatest = cutBoth(f.StartEarliest, f.StartLatest)
	row.EndEarliest, row.EndLatest = cutBoth(f.EndEarliest, f.EndLatest)
	return row
}

// shows reports whether a row is the one that a place and its forecast give. In a deep queue nearly all are, so no rows are
// made to compare them.
func shows(row *queueRow, p *queue.Place, f *queue.Forecast) bool {
	return row.Position == p.Position && row.RequestID == p.ID && row.Level == p.Level && row.Startable == p.Startable &&
		row.Overrun == f.Overrun && row.Guessed == f.Guessed && row.Reason == p.Reason && row.NoEnd == cleanText(f.NoEnd) &&
		sameCut(row.EstimatedStart, f.Start) && sameCut(row.EstimatedEnd, f.End) &&
		sameRange(row.StartEarliest, row.StartLatest, f.StartEarliest, f.StartLatest) &&
		sameRange(row.EndEarliest, row.EndLatest, f.EndEarliest, f.EndLatest)
}

// sameCut reports whether a time of a row is what cut makes of another one.
func sameCut(has, t *time.Time) bool {
	if t == nil || !known(*t) {
		return has == nil
	}
	return has != nil && has.Equal(t.Truncate(time.Microsecond))
}

// sameRange is sameCut for what cutBoth makes.
func sameRange(low, high, earliest, latest *time.Time) bool {
	if earliest == nil || latest == nil || !known(*earliest) || !known(*latest) {
		return low == nil && high == nil
	}
	return sameCut(low, earliest) && sameCut(high, latest)
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
	if r.ReleasedOn != "" {
		if on, err := time.Parse(time.DateOnly, r.ReleasedOn); err == nil {
			e.ReleasedOn = on
		}
	}
	return e
}

// endOfTime is the first time that no table holds: an absurd clock or duration can give one after the year 9999.
var endOfTime = time.Date(10_000, 1, 1, 0, 0, 0, 0, time.UTC)

func known(t time.Time) bool { return t.Before(endOfTime) }

// cut returns a time as the tables hold it. It returns nil, unknown, for one that they do not hold.
func cut(t *time.Time) *time.Time {
	if t == nil || !known(*t) {
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
