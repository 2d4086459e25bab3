package queue

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/tachobench/tacho/events"
)

var (
	set0 = events.Lane{Target: "x86_64-linux", Set: 0}
	set1 = events.Lane{Target: "x86_64-linux", Set: 1}
)

// jobs is queued work on a lane; a negative number of minutes is an unknown length.
func jobs(l events.Lane, minutes ...int) LaneWork {
	w := LaneWork{Lane: l}
	for _, m := range minutes {
		w.Queued = append(w.Queued, Job{Expected: expected(m)})
	}
	return w
}

// busy is work on a lane whose first job has run for some minutes.
func busy(l events.Lane, elapsed, of int, minutes ...int) LaneWork {
	w := jobs(l, minutes...)
	w.Running = &RunningJob{Elapsed: time.Duration(elapsed) * time.Minute, Expected: expected(of)}
	return w
}

func expected(minutes int) Expected {
	if minutes < 0 {
		return Expected{}
	}
	return Known(time.Duration(minutes) * time.Minute)
}

func plan(lanes ...LaneWork) Plan { return Plan{Lanes: lanes} }

func TestEstimate(t *testing.T) {
	const never = -1 << 20
	type row struct {
		ID               events.RequestID
		Start, End       int // minutes after the epoch, or never
		Overrun, Guessed bool
	}
	now := epoch.Add(30 * time.Minute) // requests in progress started at the epoch
	running, second := started(master("run", "", 0), 0), started(master("second", "", 1), 0)
	a, b, w := master("a", "", 1), master("b", "", 2), unbuilt(try("w", "", 3))

	for _, test := range []struct {
		name    string
		limit   int
		entries []Entry
		plans   map[events.RequestID]Plan
		want    []row
	}{
		{
			name: "one after another, each as long as its longest lane", limit: 1,
			entries: []Entry{running, a, b},
			plans: map[events.RequestID]Plan{
				"run": plan(busy(set0, 10, 25, 5), jobs(set1, 10)),
				"a":   plan(jobs(set0, 10, 20), jobs(set1, 45)),
				"b":   plan(jobs(set0, 10)),
			},
			want: []row{{"run", 0, 50, false, false}, {"a", 50, 95, false, false}, {"b", 95, 105, false, false}},
		},
		{
			name: "an overrun is said, and leaves nothing of the running job", limit: 1,
			entries: []Entry{running, a},
			plans: map[events.RequestID]Plan{
				"run": plan(busy(set0, 29, 25, 5), jobs(set1, 1)),
				"a":   plan(jobs(set0, 10)),
			},
			want: []row{{"run", 0, 35, true, false}, {"a", 35, 45, false, false}},
		},
		{
			name: "nothing known: an hour each", limit: 1,
			entries: []Entry{running, a, b},
			plans:   map[events.RequestID]Plan{"b": plan(jobs(set0, -1, -1), jobs(set1, -1))},
			want:    []row{{"run", 0, 60, false, true}, {"a", 60, 120, false, true}, {"b", 120, 180, false, true}},
		},
		{
			name: "nothing known, and longer than an hour", limit: 1,
			entries: []Entry{started(master("run", "", 0), -90), a},
			plans:   map[events.RequestID]Plan{"run": plan(busy(set0, 5, -1, -1))},
			want:    []row{{"run", -90, 30, true, true}, {"a", 30, 90, false, true}},
		},
		{
			name: "in progress since nobody knows when", limit: 1,
			entries: []Entry{in(master("run", "", 0), events.StateInProgress)},
			plans:   map[events.RequestID]Plan{"run": plan(busy(set0, 20, -1))},
			want:    []row{{"run", never, 70, false, true}},
		},
		{
			name: "an unknown length is the mean of the known ones of the request", limit: 1,
			entries: []Entry{running, a},
			plans: map[events.RequestID]Plan{
				"run": plan(busy(set0, 5, -1), jobs(set1, 10, 20)),
				"a":   plan(jobs(set0, 10, -1), jobs(set1, 30, -1)),
			},
			want: []row{{"run", 0, 60, false, false}, {"a", 60, 110, false, false}},
		},
		{
			name: "nothing left to do", limit: 1,
			entries: []Entry{running, a},
			plans:   map[events.RequestID]Plan{"run": plan(jobs(set0)), "a": plan()},
			want:    []row{{"run", 0, 30, false, false}, {"a", 30, 30, false, false}},
		},
		{
			name: "nothing is known of what waits for artifacts", limit: 1,
			entries: []Entry{a, w},
			plans:   map[events.RequestID]Plan{"a": plan(jobs(set0, 10)), "w": plan(jobs(set0, 10))},
			want:    []row{{"a", 30, 40, false, false}, {"w", never, never, false, false}},
		},
		{
			name: "two at once: lanes walk requests in queue order", limit: 2,
			entries: []Entry{running, a, b},
			plans: map[events.RequestID]Plan{
				"run": plan(busy(set0, 0, 60), jobs(set1, 10)),
				"a":   plan(jobs(set0, 20), jobs(set1, 20)),
				"b":   plan(jobs(set1, 5)),
			},
			want: []row{{"run", 0, 90, false, false}, {"a", 30, 110, false, false}, {"b", 90, 95, false, false}},
		},
		{
			name: "two at once: what runs ends first, whatever is ahead", limit: 2,
			entries: []Entry{running, second},
			plans: map[events.RequestID]Plan{
				"run":    plan(jobs(set0, 10)),
				"second": plan(busy(set0, 5, 20, 5)),
			},
			want: []row{{"run", 0, 55, false, false}, {"second", 0, 60, false, false}},
		},
		{
			name: "two at once: a request of which nothing is known takes all lanes", limit: 2,
			entries: []Entry{running, a, b},
			plans:   map[events.RequestID]Plan{"run": plan(busy(set0, 0, 10)), "b": plan(jobs(set1, 5))},
			want:    []row{{"run", 0, 40, false, false}, {"a", 30, 100, false, true}, {"b", 40, 105, false, false}},
		},
		{
			name: "more in progress than the limit allows", limit: 1,
			entries: []Entry{running, second, a},
			plans: map[events.RequestID]Plan{
				"run": plan(busy(set0, 0, 10)), "second": plan(busy(set1, 0, 40)), "a": plan(jobs(set0, 5)),
			},
			want: []row{{"run", 0, 40, false, false}, {"second", 0, 70, false, false}, {"a", 70, 75, false, false}},
		},
		{
			name: "a limit below 1 is 1", limit: 0,
			entries: []Entry{a, b},
			plans:   map[events.RequestID]Plan{"a": plan(jobs(set0, 5)), "b": plan(jobs(set1, 5))},
			want:    []row{{"a", 30, 35, false, false}, {"b", 35, 40, false, false}},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			minutes := func(at *time.Time) int {
				if at == nil {
					return never
				}
				return int(at.Sub(epoch) / time.Minute)
			}
			var got []row
			for _, f := range Estimate(Order(test.entries, nil), test.plans, Farm{Now: now, MaxInProgress: test.limit}) {
				got = append(got, row{f.ID, minutes(f.Start), minutes(f.End), f.Overrun, f.Guessed})
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("forecasts (-want +got):\n%s", diff)
			}
		})
	}
}

// While a job overruns, all later estimates move back as time passes.
func TestOverrunPushesBack(t *testing.T) {
	places := Order([]Entry{started(master("run", "", 0), 0), master("a", "", 1), master("b", "", 2)}, nil)
	at := func(minutes int) []Forecast {
		return Estimate(places, map[events.RequestID]Plan{
			"run": plan(busy(set0, minutes, 20)), "a": plan(jobs(set0, 10)), "b": plan(jobs(set0, 10)),
		}, Farm{Now: epoch.Add(time.Duration(minutes) * time.Minute), MaxInProgress: 1})
	}
	for _, pair := range []struct{ from, to, pushed int }{{5, 15, 0}, {15, 20, 0}, {20, 30, 10}, {30, 45, 15}} {
		early, late := at(pair.from), at(pair.to)
		for i := range places {
			if got := late[i].End.Sub(*early[i].End); got != time.Duration(pair.pushed)*time.Minute {
				t.Errorf("from minute %d to %d the end of %s moved by %v, want %d min", pair.from, pair.to, late[i].ID, got, pair.pushed)
			}
		}
	}
}

// scene is a random input of Estimate.
type scene struct {
	places []Place
	plans  map[events.RequestID]Plan
	now    time.Time
	limit  int
}

func (s scene) estimate() []Forecast {
	return Estimate(s.places, s.plans, Farm{Now: s.now, MaxInProgress: s.limit})
}

// scenes draws scenes; in measured ones the length of every job is known and every request has jobs.
func scenes(measured bool) *rapid.Generator[scene] {
	return rapid.Custom(func(t *rapid.T) scene {
		s := scene{
			plans: make(map[events.RequestID]Plan),
			now:   epoch.Add(2 * time.Hour),
			limit: rapid.IntRange(1, 4).Draw(t, "limit"),
		}
		shortest := -2
		if measured {
			shortest = 0
		}
		length := rapid.IntRange(shortest, 90)
		taken := make(map[events.Lane]bool) // lanes that run a job
		var entries []Entry
		for i := range rapid.IntRange(1, 8).Draw(t, "n") {
			e := master(events.Tag(fmt.Sprint("t", i)), "", i)
			switch rapid.IntRange(0, 4).Draw(t, "state") {
			case 0, 1:
				e = started(e, rapid.IntRange(0, 119).Draw(t, "started"))
			case 2:
				e = unbuilt(e)
			}
			entries = append(entries, e)
			if !measured && rapid.IntRange(0, 3).Draw(t, "planned") == 0 {
				continue
			}
			var p Plan
			for set := range 3 {
				lane := events.Lane{Target: "x", Set: events.Set(set)}
				least := 0
				if measured && set == 0 {
					least = 1
				}
				w := jobs(lane, rapid.SliceOfN(length, least, 3).Draw(t, "queued")...)
				if e.State == events.StateInProgress && !taken[lane] && rapid.Bool().Draw(t, "runs") {
					taken[lane] = true
					w.Running = busy(lane, rapid.IntRange(0, 60).Draw(t, "elapsed"), length.Draw(t, "of")).Running
				}
				p.Lanes = append(p.Lanes, w)
			}
			s.plans[e.ID] = p
		}
		s.places = Order(entries, nil)
		return s
	})
}

func TestEstimatesGoForwardInTime(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := scenes(false).Draw(t, "scene")
		begin := s.now
		for i, f := range s.estimate() {
			p := s.places[i]
			if f.ID != p.ID {
				t.Fatalf("forecast %d is for %s, want %s", i, f.ID, p.ID)
			}
			// The other states have no forecast to check.
			//exhaustive:ignore
			switch p.State {
			case events.StateWaitingForArtifacts:
				if f.Start != nil || f.End != nil {
					t.Fatalf("%s waits for artifacts, but is estimated", f.ID)
				}
				continue
			case events.StateInProgress:
				if !f.Start.Equal(p.StartedAt) {
					t.Fatalf("%s started at %v, not %v", f.ID, p.StartedAt, f.Start)
				}
			default:
				if f.Start.Before(begin) {
					t.Fatalf("%s starts at %v, before now or the one ahead, %v", f.ID, f.Start, begin)
				}
				begin = *f.Start
			}
			if f.End.Before(s.now) || f.End.Before(*f.Start) {
				t.Fatalf("%s starts at %v and ends at %v; it is %v", f.ID, f.Start, f.End, s.now)
			}
		}
	})
}

// When a request starts, no more requests are in progress than allowed.
func TestEstimatesKeepTheLimit(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := scenes(false).Draw(t, "scene")
		forecasts := s.estimate()
		for i, f := range forecasts {
			if s.places[i].State != events.StateArtifactsReady {
				continue
			}
			open := 0
			for _, ahead := range forecasts[:i] {
				if ahead.End != nil && ahead.End.After(*f.Start) {
					open++
				}
			}
			if open >= s.limit {
				t.Fatalf("%s starts at %v while %d others are in progress, limit %d", f.ID, f.Start, open, s.limit)
			}
		}
	})
}

// Requests that share a lane end on it in queue order: with one lane, ends only grow.
func TestEstimatesFollowTheLane(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := scenes(true).Draw(t, "scene")
		for id, p := range s.plans {
			s.plans[id] = Plan{Lanes: p.Lanes[:1]}
		}
		last := s.now
		for _, f := range s.estimate() {
			if f.End == nil {
				continue
			}
			if f.End.Before(last) {
				t.Fatalf("%s ends at %v, before the one ahead of it, %v", f.ID, f.End, last)
			}
			last = *f.End
		}
	})
}

// A job that takes longer makes nothing start or end earlier.
func TestEstimatesGrowWithTheWork(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := scenes(true).Draw(t, "scene")
		before := s.estimate()
		id := rapid.SampledFrom(s.places).Draw(t, "place").ID
		more := rapid.IntRange(1, 100).Draw(t, "more")
		s.plans[id].Lanes[0].Queued[0].Length += time.Duration(more) * time.Minute
		for i, f := range s.estimate() {
			if f.End == nil {
				continue
			}
			if f.End.Before(*before[i].End) || f.Start.Before(*before[i].Start) {
				t.Fatalf("%s was %v to %v, and with more work ahead is %v to %v",
					f.ID, before[i].Start, before[i].End, f.Start, f.End)
			}
		}
	})
}
