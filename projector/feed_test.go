package projector_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/tachobench/tacho/eventlog"
	"github.com/tachobench/tacho/events"
	rules "github.com/tachobench/tacho/rules/job"
)

// feed is a log of prepared events. The projector only follows, so the feed needs no appending with versions, and
// tests can put events there that no honest writer would write.
type feed struct {
	mu       sync.Mutex
	identity string
	stored   []events.Stored
	grown    chan struct{}
	first    events.Seq
}

func newFeed(identity string, list ...events.Stored) *feed {
	return &feed{identity: identity, stored: list, grown: make(chan struct{}), first: 1}
}

func (f *feed) add(list ...events.Stored) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.stored = append(f.stored, list...)
	close(f.grown)
	f.grown = make(chan struct{})
}

func (f *feed) Head(context.Context) (eventlog.Head, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return eventlog.Head{Identity: f.identity, First: f.first, Last: events.Seq(len(f.stored)), Sole: true}, nil
}

func (f *feed) Follow(_ context.Context, after events.Seq) (eventlog.Cursor, error) {
	return &feedCursor{feed: f, at: int(after)}, nil
}

type feedCursor struct {
	feed *feed
	at   int
}

func (c *feedCursor) Next(ctx context.Context, limit int) ([]events.Stored, error) {
	for {
		c.feed.mu.Lock()
		list, grown := c.feed.stored, c.feed.grown
		c.feed.mu.Unlock()
		if c.at < len(list) {
			end := min(c.at+limit, len(list))
			found := list[c.at:end]
			c.at = end
			return found, nil
		}
		select {
		case <-grown:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

func (c *feedCursor) Close() {}

// story writes facts as a log keeps them, one second apart.
type story struct {
	t      testing.TB
	stored []events.Stored
	at     time.Time
	work   map[events.Lane]*tale
}

// tale is what the story knows of a lane: the state of its work, and what was dispatched to it.
type tale struct {
	rules.Lane
	places []events.JobID
}

func newStory(t testing.TB) *story {
	return &story{t: t, at: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC), work: map[events.Lane]*tale{}}
}

func (s *story) lane(l events.Lane) *tale {
	if s.work[l] == nil {
		s.work[l] = &tale{}
	}
	return s.work[l]
}

func (t *tale) at(place uint64) (events.JobID, bool) {
	if place == 0 || place > uint64(len(t.places)) {
		return "", false
	}
	return t.places[place-1], true
}

// placed fills in the places that a fact leaves out. A job is dispatched before it is begun.
func (s *story) placed(f events.Fact) events.Fact {
	// Only the work of lanes has places.
	//exhaustive:ignore
	switch f := f.(type) {
	case events.JobDispatched:
		if t := s.lane(f.Job.Lane()); f.Place == 0 {
			t.places = append(t.places, f.Job.ID)
			f.Place = uint64(len(t.places))
		}
		return f
	case events.JobDequeued:
		if f.Place > 0 {
			return f
		}
		at := func() int { return slices.Index(s.lane(f.Lane).places, f.Job.ID) }
		if at() < 0 {
			s.tell(events.JobDispatched{Job: f.Job})
		}
		f.Place = uint64(at() + 1)
		return f
	case events.JobFinished:
		if f.Place == 0 {
			f.Place = s.lane(f.Lane).Place
		}
		return f
	case events.AttemptLost:
		if f.Place == 0 {
			f.Place, f.Collector = s.lane(f.Lane).Place, collectorOf(f.Lane)
		}
		return f
	case events.JobMoved:
		if t := s.lane(f.Lane); f.Place == 0 {
			f.Place = t.Place
			if t.Phase == rules.Ended || t.Place == 0 {
				f.Place++
			}
		}
		return f
	case events.AttemptReleased:
		if f.Place == 0 {
			f.Place, f.Collector = s.lane(f.Lane).Place, collectorOf(f.Lane)
		}
		return f
	}
	return f
}

// tell appends one fact and returns its sequence.
func (s *story) tell(f events.Fact) events.Seq {
	s.t.Helper()
	f = s.placed(f)
	if f, ok := f.(events.WorkFact); ok {
		if t := s.lane(f.Where()); rules.Counts(t.Lane, f, t.at) {
			t.Lane = rules.Evolve(t.Lane, f, events.Seq(len(s.stored)+1), s.at)
		}
	}
	stored, err := events.Encode(events.Event{
		ID: fmt.Sprintf("e%06d", len(s.stored)+1), Time: s.at, Source: "test", Actor: "test:story",
		Cause: events.Seq(len(s.stored)), Root: "story", Fact: f,
	})
	if err != nil {
		s.t.Fatal(err)
	}
	return s.put(stored)
}

// man registers a collector for each lane, and assigns it.
func (s *story) man(lanes ...events.Lane) {
	for _, l := range lanes {
		s.tell(events.CollectorRegistered{Name: collectorOf(l), Target: l.Target, Set: l.Set})
		s.tell(events.LaneAssigned{Lane: l, Name: collectorOf(l)})
	}
}

// put appends a message as it is.
func (s *story) put(stored events.Stored) events.Seq {
	stored.Seq = events.Seq(len(s.stored) + 1)
	stored.StoredAt = s.at.Add(3 * time.Millisecond)
	s.at = s.at.Add(time.Second)
	s.stored = append(s.stored, stored)
	return stored.Seq
}

const suite events.SuiteName = "go"

var lanes = [...]events.Lane{{Target: "linux-amd64", Set: 0}, {Target: "linux-amd64", Set: 1}}

func requestID(tag events.Tag) events.RequestID {
	return events.NewRequestID(suite, events.Master, string(tag))
}

func created(tag, parent events.Tag, pr int) events.RequestCreated {
	return events.RequestCreated{
		RequestID: requestID(tag), Kind: events.Master, Suite: suite, Tag: tag, Parent: parent, PR: pr,
		Key: string(tag), State: events.StateArtifactsReady,
	}
}

func job(tag events.Tag, lane events.Lane, profile events.Profile) events.JobSpec {
	a := events.Artifact{Suite: suite, Tag: tag, Kind: events.Master}
	return events.JobSpec{
		ID: events.NewJobID(a, "compile", lane, "gc", profile, nil, nil), Artifact: a, Kind: "compile", Target: lane.Target,
		Set: lane.Set, Backend: "gc", Profile: profile, Definitions: "d1", RequestID: requestID(tag),
	}
}

func dequeued(j events.JobSpec, attempt, lost int) events.JobDequeued {
	return events.JobDequeued{
		Lane: j.Lane(), Job: j, Collector: collectorOf(j.Lane()), Instance: "i1", Attempt: attempt, Lost: lost,
		Version: "v1", Environment: "env1",
	}
}

func collectorOf(l events.Lane) events.CollectorName {
	if pool, ok := l.Pool(); ok {
		return events.CollectorName(fmt.Sprintf("%s-%d", pool, l.Set))
	}
	return events.CollectorName(fmt.Sprintf("eider-%d", l.Set))
}

func finished(j events.JobSpec, token events.Seq, outcome events.Outcome) events.JobFinished {
	return events.JobFinished{
		Lane: j.Lane(), JobID: j.ID, RequestID: j.RequestID, Collector: collectorOf(j.Lane()), Token: token,
		Attempt: 1, Outcome: outcome, Measured: 2, DurationMS: 90_000,
	}
}

func measured(j events.JobSpec, token events.Seq, benchmarks ...events.Benchmark) events.TestCasesMeasured {
	f := events.TestCasesMeasured{
		Lane: j.Lane(), JobID: j.ID, Artifact: j.Artifact, Collector: collectorOf(j.Lane()), Token: token, Attempt: 1,
		Definitions: "d1", Environment: "env1",
	}
	for i, b := range benchmarks {
		f.Cases = append(f.Cases, events.MeasuredCase{
			TestCase: events.TestCase{Benchmark: b, Profile: j.Profile, Scenario: "full", Backend: j.Backend, Target: j.Target},
			Iterations: []events.Iteration{
				{Metrics: map[events.Metric]float64{"wall-time": 1.5 + float64(i), "max-rss": 1e9}},
				{Metrics: map[events.Metric]float64{"wall-time": 1.25 + float64(i)}, Interference: "load 3.1"},
			},
		})
	}
	return f
}

func failedCase(j events.JobSpec, token events.Seq, message string) events.ErrorRecorded {
	return events.ErrorRecorded{
		Lane: j.Lane(), JobID: j.ID, Artifact: j.Artifact, Collector: collectorOf(j.Lane()), Token: token, Attempt: 1,
		Kind: events.ErrorBenchmark, Context: "gob", Message: message,
		Case: &events.TestCase{Benchmark: "gob", Profile: j.Profile, Scenario: "full", Backend: j.Backend, Target: j.Target},
	}
}
