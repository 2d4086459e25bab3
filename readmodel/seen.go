package readmodel

import (
	"time"

	"github.com/tachobench/tacho/events"
)

// Seen returns the queue as it looks at a later time, if nothing happened since. The projector computes estimates
// when something happens; between two events only time passes. A request that should have ended by now
// ends now at the earliest. One that should have started by now moves back, with all requests behind it.
// What is late by an hour may take another hour: queue.Estimate has the same rule.
func Seen(queue []QueueEntry, now time.Time) []QueueEntry {
	for _, e := range queue {
		if e.State != events.StateInProgress && e.EstimatedStart != nil {
			return seen(queue, now, max(now.Sub(*e.EstimatedStart), 0))
		}
	}
	return seen(queue, now, 0)
}

// seen is Seen for a part of the queue whose first request that waits is so late.
func seen(queue []QueueEntry, now time.Time, delay time.Duration) []QueueEntry {
	list := make([]QueueEntry, len(queue))
	for i, e := range queue {
		if e.State == events.StateInProgress {
			e.runs(now)
			list[i] = e
			continue
		}
		for _, at := range []**time.Time{&e.EstimatedStart, &e.StartEarliest, &e.EstimatedEnd, &e.EndEarliest} {
			*at = moved(*at, delay)
		}
		e.StartLatest, e.EndLatest = moved(e.StartLatest, 2*delay), moved(e.EndLatest, 2*delay)
		list[i] = e
	}
	return list
}

// runs lets time pass for a request in progress.
func (e *QueueEntry) runs(now time.Time) {
	if e.EstimatedEnd == nil {
		return
	}
	latest := e.EstimatedEnd
	if e.EndLatest != nil {
		latest = e.EndLatest
	}
	e.Overrun = e.Overrun || now.After(*latest)
	late := now.Sub(*e.EstimatedEnd)
	if e.EndEarliest != nil {
		e.EndEarliest = notBefore(e.EndEarliest, now)
		if late > 0 {
			e.EndLatest = notBefore(e.EndLatest, now.Add(late))
		}
	}
	e.EstimatedEnd = notBefore(e.EstimatedEnd, now)
}

func notBefore(at *time.Time, floor time.Time) *time.Time {
	if at.Before(floor) {
		return &floor
	}
	return at
}

func moved(at *time.Time, by time.Duration) *time.Time {
	if at == nil || by == 0 {
		return at
	}
	later := at.Add(by)
	return &later
}
