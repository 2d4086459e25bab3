package queue

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/tachobench/tacho/events"
)

// measured is a job of this length and spread in minutes; its median is certain.
func measured(minutes, spread int) Expected {
	e := expected(minutes)
	e.Ranged, e.Spread = true, time.Duration(spread)*time.Minute
	return e
}

// doubtful is a job whose median is off by this many minutes, like that of all jobs with its basis.
func doubtful(minutes, doubt, basis int) Expected {
	e := measured(minutes, 0)
	e.Doubt, e.Basis = time.Duration(doubt)*time.Minute, basis
	return e
}

func work(l events.Lane, jobs ...Expected) LaneWork {
	w := LaneWork{Lane: l}
	for _, e := range jobs {
		w.Queued = append(w.Queued, Job{Expected: e})
	}
	return w
}

func TestRanges(t *testing.T) {
	now := epoch.Add(30 * time.Minute)
	running, a, b := started(master("run", "", 0), 0), master("a", "", 1), master("b", "", 2)
	run := func(elapsed int, e Expected) LaneWork {
		return LaneWork{Lane: set0, Running: &RunningJob{Elapsed: time.Duration(elapsed) * time.Minute, Expected: e}}
	}
	for _, test := range []struct {
		name    string
		entries []Entry
		plans   map[events.RequestID]Plan
		// start and end as minutes after the epoch: earliest, median, latest; "-" where unknown.
		want []string
	}{
		{
			name: "one job: the width is 1.28 times the spread", entries: []Entry{a},
			plans: map[events.RequestID]Plan{"a": plan(work(set0, measured(60, 10)))},
			want:  []string{"a 30 30 30 to 77.2 90.0 102.8"},
		},
		{
			name: "four jobs spread twice as far as one", entries: []Entry{a},
			plans: map[events.RequestID]Plan{"a": plan(work(set0, measured(60, 10), measured(60, 10), measured(60, 10), measured(60, 10)))},
			want:  []string{"a 30 30 30 to 244.4 270.0 295.6"},
		},
		{
			name: "a common error adds up in full", entries: []Entry{a},
			plans: map[events.RequestID]Plan{"a": plan(work(set0, doubtful(60, 5, 1), doubtful(60, 5, 1)))},
			want:  []string{"a 30 30 30 to 137.2 150.0 162.8"},
		},
		{
			name: "errors of two bases do not", entries: []Entry{a},
			plans: map[events.RequestID]Plan{"a": plan(work(set0, doubtful(60, 3, 1), doubtful(60, 4, 2)))},
			want:  []string{"a 30 30 30 to 143.6 150.0 156.4"},
		},
		{
			name: "nor do they stay apart over requests", entries: []Entry{a, b},
			plans: map[events.RequestID]Plan{"a": plan(work(set0, doubtful(60, 5, 1))), "b": plan(work(set0, doubtful(60, 5, 1)))},
			want:  []string{"a 30 30 30 to 83.6 90.0 96.4", "b 83.6 90.0 96.4 to 137.2 150.0 162.8"},
		},
		{
			name: "of two equal lanes one is late", entries: []Entry{a},
			plans: map[events.RequestID]Plan{"a": plan(work(set0, measured(60, 10)), work(set1, measured(60, 10)))},
			want:  []string{"a 30 30 30 to 85.1 95.6 106.2"},
		},
		{
			name: "a short lane does not matter", entries: []Entry{a},
			plans: map[events.RequestID]Plan{"a": plan(work(set0, measured(60, 1)), work(set1, measured(10, 1)))},
			want:  []string{"a 30 30 30 to 88.7 90.0 91.3"},
		},
		{
			name: "nothing ends before now, nor before it starts", entries: []Entry{running, a},
			plans: map[events.RequestID]Plan{"run": plan(run(5, measured(10, 20))), "a": plan(work(set0, measured(5, 30)))},
			want:  []string{"run - 0 - to 30.0 35.0 60.6", "a 30.0 35.0 60.6 to 30.0 40.0 86.2"},
		},
		{
			name: "what has overrun by an hour may take another", entries: []Entry{running},
			plans: map[events.RequestID]Plan{"run": plan(run(70, measured(10, 1)))},
			want:  []string{"run - 0 - to 30.0 30.0 106.9"},
		},
		{
			name: "without a spread there is no range, from there on", entries: []Entry{a, b},
			plans: map[events.RequestID]Plan{"a": plan(work(set0, measured(60, 1), expected(10))), "b": plan(work(set0, measured(60, 1)))},
			want:  []string{"a 30 30 30 to - 100 -", "b - 100 - to - 160 -"},
		},
		{
			name: "a guess has no range", entries: []Entry{a, b},
			plans: map[events.RequestID]Plan{"b": plan(work(set0, measured(60, 1)))},
			want:  []string{"a 30 30 30 to - 90 -", "b - 90 - to - 150 -"},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			var got []string
			for _, f := range Estimate(Order(test.entries, nil), test.plans, Farm{Now: now, MaxInProgress: 1}) {
				got = append(got, fmt.Sprintf("%s %s to %s", f.ID,
					spanned(f.StartEarliest, f.Start, f.StartLatest), spanned(f.EndEarliest, f.End, f.EndLatest)))
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("forecasts (-want +got):\n%s", diff)
			}
		})
	}
}

func spanned(earliest, median, latest *time.Time) string {
	minutes := func(at *time.Time) float64 { return at.Sub(epoch).Minutes() }
	switch {
	case earliest == nil:
		return fmt.Sprintf("- %.0f -", minutes(median))
	case earliest.Equal(*latest):
		return fmt.Sprintf("%.0f %.0f %.0f", minutes(earliest), minutes(median), minutes(latest))
	}
	return fmt.Sprintf("%.1f %.1f %.1f", minutes(earliest), minutes(median), minutes(latest))
}

// ranged gives the jobs of a scene spreads, and a few none.
func ranged(t *rapid.T, s scene) scene {
	spread := rapid.IntRange(-1, 40)
	give := func(e *Expected) {
		if minutes := spread.Draw(t, "spread"); minutes >= 0 {
			e.Ranged, e.Spread, e.Doubt = true, time.Duration(minutes)*time.Minute, time.Duration(minutes)*time.Minute/3
			e.Basis = minutes % 4
		}
	}
	for _, place := range s.places {
		for _, w := range s.plans[place.ID].Lanes {
			if w.Running != nil {
				give(&w.Running.Expected)
			}
			for i := range w.Queued {
				give(&w.Queued[i].Expected)
			}
		}
	}
	return s
}

func TestRangesHoldTheirMedian(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := ranged(t, scenes(false).Draw(t, "scene"))
		floor := s.now
		for i, f := range s.estimate() {
			started := s.places[i].State == events.StateInProgress
			if started && (f.StartEarliest != nil || f.StartLatest != nil) {
				t.Fatalf("%s has started, and its start has a range", f.ID)
			}
			inOrder(t, f.ID, f.StartEarliest, f.Start, f.StartLatest)
			inOrder(t, f.ID, f.EndEarliest, f.End, f.EndLatest)
			if f.StartEarliest != nil {
				if f.StartEarliest.Before(floor) {
					t.Fatalf("%s may start at %v, before the one ahead may, %v", f.ID, f.StartEarliest, floor)
				}
				floor = *f.StartEarliest
			}
			if f.EndEarliest != nil && f.EndEarliest.Before(s.now) ||
				f.StartEarliest != nil && f.EndEarliest != nil && f.EndEarliest.Before(*f.StartEarliest) {
				t.Fatalf("%s may end at %v, before it may start; it is %v", f.ID, f.EndEarliest, s.now)
			}
		}
	})
}

func inOrder(t *rapid.T, id events.RequestID, earliest, median, latest *time.Time) {
	if (earliest == nil) != (latest == nil) || earliest != nil && median == nil {
		t.Fatalf("%s: half a range: %v, %v, %v", id, earliest, median, latest)
	}
	if earliest != nil && (earliest.After(*median) || median.After(*latest)) {
		t.Fatalf("%s: the range %v to %v does not hold %v", id, earliest, latest, median)
	}
}

// All else equal, more work makes nothing earlier, with known spreads too. With three lanes and more that is not quite
// true, because the last of two lanes is treated as normally distributed.
func TestRangedEstimatesGrowWithTheWork(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := scenes(true).Draw(t, "scene")
		s.limit = 1
		for id, p := range s.plans {
			s.plans[id] = Plan{Lanes: p.Lanes[:2]}
		}
		s = ranged(t, s)
		before := s.estimate()
		id := rapid.SampledFrom(s.places).Draw(t, "place").ID
		s.plans[id].Lanes[0].Queued[0].Length += time.Duration(rapid.IntRange(1, 100).Draw(t, "more")) * time.Minute
		for i, f := range s.estimate() {
			if f.End != nil && f.End.Before(before[i].End.Add(-time.Millisecond)) {
				t.Fatalf("%s was to end at %v, and with more work ahead at %v", f.ID, before[i].End, f.End)
			}
		}
	})
}

// Absurd durations and clocks still give estimates, and in order.
func TestRangesOfAbsurdLengths(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var h History
		took := rapid.OneOf(rapid.Int64(), rapid.Int64Range(0, 1e12), rapid.SampledFrom([]int64{math.MaxInt64, math.MinInt64, 0}))
		for range rapid.IntRange(0, 12).Draw(t, "n") {
			h.Add(like(func(s *Sort) { s.Lane.Set = events.Set(rapid.IntRange(0, 1).Draw(t, "set")) }), time.Duration(took.Draw(t, "took")))
		}
		var p Plan
		for set := range 3 {
			w := LaneWork{Lane: events.Lane{Target: debug.Lane.Target, Set: events.Set(set)}}
			for range 4 {
				w.Queued = append(w.Queued, Job{Expected: h.Expect(like(func(s *Sort) { s.Lane.Set = events.Set(set) }))})
			}
			p.Lanes = append(p.Lanes, w)
		}
		running := Plan{Lanes: []LaneWork{{Lane: debug.Lane, Running: &RunningJob{
			Elapsed: time.Duration(rapid.Int64().Draw(t, "elapsed")), Expected: h.Expect(debug),
		}}}}
		s := scene{plans: map[events.RequestID]Plan{"run": running}, now: epoch, limit: rapid.IntRange(1, 3).Draw(t, "limit")}
		entries := []Entry{started(master("run", "", 0), 0)}
		for i := range 300 {
			e := master(events.Tag(fmt.Sprint("t", i)), "", i)
			entries, s.plans[e.ID] = append(entries, e), p
		}
		s.places = Order(entries, nil)
		for _, f := range s.estimate() {
			inOrder(t, f.ID, f.StartEarliest, f.Start, f.StartLatest)
			inOrder(t, f.ID, f.EndEarliest, f.End, f.EndLatest)
			if f.End.Before(s.now) {
				t.Fatalf("%s ends at %v, in the past", f.ID, f.End)
			}
		}
	})
}

// TestFourOfFiveEndInRange plays farms whose jobs take random times: a history is measured, the queue is
// estimated from it, and then everything takes what it takes.
func TestFourOfFiveEndInRange(t *testing.T) {
	const requests, rounds = 20, 400
	for _, farm := range []struct {
		name            string
		lanes, profiles int
		spread          float64 // of a job, in proportion
		least, most     float64 // the share of ends that lie in range
	}{
		{"one lane, one job each", 1, 1, 0.1, 0.75, 0.88},
		{"two equal lanes of six jobs", 2, 6, 0.1, 0.75, 0.88},
		// When eight lanes are expected at the same time, the last one is later than the estimate says.
		{"eight equal lanes", 8, 3, 0.1, 0.70, 0.88},
		{"jobs of which nobody knows much", 2, 4, 0.4, 0.70, 0.88},
	} {
		t.Run(farm.name, func(t *testing.T) {
			r := rand.New(rand.NewPCG(1, 2))
			var in, first, last float64
			for range rounds {
				held := playFarm(r, farm.lanes, farm.profiles, farm.spread, requests)
				for i, ok := range held {
					share := 0.0
					if ok {
						share = 1
					}
					in += share / requests / rounds
					if i == 0 {
						first += share / rounds
					}
					if i == requests-1 {
						last += share / rounds
					}
				}
			}
			t.Logf("%.1f %% of the ends lie in range, %.1f %% of the first and %.1f %% of the last", 100*in, 100*first, 100*last)
			for name, share := range map[string]float64{"all": in, "the first": first, "the last": last} {
				if share < farm.least || share > farm.most {
					t.Errorf("of %s %.1f %% are in range, want %.0f to %.0f %%", name, 100*share, 100*farm.least, 100*farm.most)
				}
			}
		})
	}
}

// playFarm returns for each request whether it ended in its range. Lengths are log-normal: some are much longer.
func playFarm(r *rand.Rand, lanes, profiles int, spread float64, requests int) []bool {
	var sorts []Sort
	means := make(map[Sort]float64)
	for l := range lanes {
		for p := range profiles {
			s := Sort{Suite: "s", Lane: events.Lane{Target: "x", Set: events.Set(l)}, Kind: "compile", Profile: events.Profile(fmt.Sprint(p))}
			sorts, means[s] = append(sorts, s), 300+100*float64(p)
		}
	}
	takes := func(s Sort) time.Duration {
		return time.Duration(means[s] * math.Exp(spread*r.NormFloat64()) * float64(time.Second))
	}
	var h History
	for range Recent {
		for _, s := range sorts {
			h.Add(s, takes(s))
		}
	}
	var entries []Entry
	plans := make(map[events.RequestID]Plan)
	for i := range requests {
		e := master(events.Tag(fmt.Sprintf("t%02d", i)), "", i)
		var p Plan
		for l := range lanes {
			w := LaneWork{Lane: events.Lane{Target: "x", Set: events.Set(l)}}
			for _, s := range sorts[l*profiles : (l+1)*profiles] {
				w.Queued = append(w.Queued, Job{Expected: h.Expect(s)})
			}
			p.Lanes = append(p.Lanes, w)
		}
		entries, plans[e.ID] = append(entries, e), p
	}
	held := make([]bool, requests)
	at := epoch
	for i, f := range Estimate(Order(entries, nil), plans, Farm{Now: epoch, MaxInProgress: 1}) {
		end := at
		for l := range lanes {
			t := at
			for _, s := range sorts[l*profiles : (l+1)*profiles] {
				t = t.Add(takes(s))
			}
			end = later(end, t)
		}
		at = end
		held[i] = !end.Before(*f.EndEarliest) && !end.After(*f.EndLatest)
	}
	return held
}
