package projector

import (
	"time"

	"github.com/tachobench/tacho/events"
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
	forecasts := queue.Estimate(places, s.plans(), s.asOf, s.maxInProgress)

	rows := make([]queueRow, len(places))
	for i, p := range places {
		rows[i] = queueRow{
			Position: p.Position, RequestID: p.ID, Level: p.Level, Reason: p.Reason, Startable: p.Startable,
			EstimatedStart: cut(forecasts[i].Start), EstimatedEnd: cut(forecasts[i].End),
			Overrun: forecasts[i].Overrun, Guessed: forecasts[i].Guessed,
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

// plans returns the work that is left of each pending request: of one in progress its own jobs, of one that
// has not started what the last started request of its kind was given.
func (s *state) plans() map[events.RequestID]queue.Plan {
	jobs := make(map[events.RequestID][]*jobRow)
	for _, j := range s.jobs {
		if !j.State.Terminal() {
			jobs[j.RequestID] = append(jobs[j.RequestID], j)
		}
	}
	plans := make(map[events.RequestID]queue.Plan)
	usual := make(map[*made]queue.Plan) // of requests without parameters: mostly all
	for _, r := range s.requests {
		switch {
		case r.State == events.InProgress:
			byCreation(jobs[r.ID])
			plans[r.ID] = s.remaining(jobs[r.ID])
		case !r.State.Terminal():
			t := s.template(r)
			if t == nil {
				continue
			}
			if len(r.Parameters.Targets)+len(r.Parameters.Backends)+len(r.Parameters.Profiles) > 0 {
				plans[r.ID] = s.expected(t.fitting(r.Parameters))
				continue
			}
			plan, known := usual[t]
			if !known {
				plan = s.expected(t.sorts)
				usual[t] = plan
			}
			plans[r.ID] = plan
		}
	}
	return plans
}

// template returns what a request is expected to be given; nil when nothing like it was ever started. The first
// of its kind is taken for one of another kind in its suite.
func (s *state) template(r *requestRow) *made {
	for _, kind := range []events.RequestKind{r.Kind, events.Master, events.Try, events.Release} {
		if t := s.templates[template{suite: r.Suite, kind: kind}]; t != nil && len(t.sorts) > 0 {
			return t
		}
	}
	return nil
}

func (s *state) remaining(jobs []*jobRow) queue.Plan {
	var p planner
	for _, j := range jobs {
		w := p.work(j.lane())
		if j.State == events.JobInProgress {
			w.Running = &queue.RunningJob{
				Elapsed: max(s.asOf.Sub(*j.DequeuedAt), 0), Expected: s.durations.Expect(j.sort()),
			}
			continue
		}
		w.Queued = append(w.Queued, s.durations.Expect(j.sort()))
	}
	return p.plan
}

func (s *state) expected(sorts []queue.Sort) queue.Plan {
	var p planner
	for _, j := range sorts {
		w := p.work(j.Lane)
		w.Queued = append(w.Queued, s.durations.Expect(j))
	}
	return p.plan
}

// planner collects the work of one plan by lane, in the order in which lanes first come.
type planner struct {
	plan  queue.Plan
	index map[events.Lane]int
}

// work returns the work of a lane; the pointer is good until the next call.
func (p *planner) work(l events.Lane) *queue.LaneWork {
	if p.index == nil {
		p.index = make(map[events.Lane]int)
	}
	i, known := p.index[l]
	if !known {
		i = len(p.plan.Lanes)
		p.index[l] = i
		p.plan.Lanes = append(p.plan.Lanes, queue.LaneWork{Lane: l})
	}
	return &p.plan.Lanes[i]
}

func (q queueRow) equal(o queueRow) bool {
	return q.Position == o.Position && q.RequestID == o.RequestID && q.Level == o.Level && q.Reason == o.Reason &&
		q.Startable == o.Startable && q.Overrun == o.Overrun && q.Guessed == o.Guessed &&
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
