package queue

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/tachobench/tacho/events"
)

// optional makes all jobs of a lane optional.
func optional(w LaneWork) LaneWork {
	for i := range w.Queued {
		w.Queued[i].Optional = true
	}
	if w.Running != nil {
		w.Running.Optional = true
	}
	return w
}

// then adds jobs after those of a lane.
func then(w, more LaneWork) LaneWork {
	w.Queued = append(w.Queued, more.Queued...)
	return w
}

func unmanned(w LaneWork) LaneWork {
	w.Unmanned = true
	return w
}

// lastMinute is an end in minutes after the epoch, or the reason why there is none.
type lastMinute struct {
	ID    events.RequestID
	End   int
	NoEnd string
}

func ends(forecasts []Forecast) []lastMinute {
	var out []lastMinute
	for _, f := range forecasts {
		e := lastMinute{ID: f.ID, End: -1, NoEnd: f.NoEnd}
		if f.End != nil {
			e.End = int(f.End.Sub(epoch) / time.Minute)
		}
		out = append(out, e)
	}
	return out
}

func TestOptionalJobsAndUnmannedLanes(t *testing.T) {
	running, a, b := started(master("run", "", 0), 0), master("a", "", 1), master("b", "", 2)
	nobody := "no collector serves x86_64-linux/1"
	for _, test := range []struct {
		name    string
		limit   int
		left    Plan
		entries []Entry
		plans   map[events.RequestID]Plan
		want    []lastMinute
	}{
		{
			name: "no request waits for its optional jobs, and their lane is busy", limit: 1,
			entries: []Entry{running, a},
			plans: map[events.RequestID]Plan{
				"run": plan(jobs(set0, 8), optional(jobs(set1, 29))), "a": plan(jobs(set0, 10), jobs(set1, 10)),
			},
			want: []lastMinute{{"run", 8, ""}, {"a", 39, ""}},
		},
		{
			name: "optional jobs ahead of a required one are done first", limit: 1,
			entries: []Entry{running},
			plans:   map[events.RequestID]Plan{"run": plan(then(optional(busy(set0, 5, 25)), then(jobs(set0, 10), optional(jobs(set0, 40)))))},
			want:    []lastMinute{{"run", 30, ""}},
		},
		{
			name: "a request with optional jobs alone ends at once", limit: 1,
			entries: []Entry{running, a},
			plans:   map[events.RequestID]Plan{"run": plan(optional(busy(set0, 5, 25))), "a": plan(jobs(set0, 10))},
			want:    []lastMinute{{"run", 0, ""}, {"a", 30, ""}},
		},
		{
			name: "what requests that have ended left is done before", limit: 1, left: plan(optional(busy(set0, 5, 25, 30))),
			entries: []Entry{running},
			plans:   map[events.RequestID]Plan{"run": plan(jobs(set0, 10), jobs(set1, 10))},
			want:    []lastMinute{{"run", 60, ""}},
		},
		{
			name: "without a collector there is no end, nor behind it", limit: 1,
			entries: []Entry{running, a, b},
			plans: map[events.RequestID]Plan{
				"run": plan(jobs(set0, 10), unmanned(jobs(set1, 10))), "a": plan(jobs(set0, 10)), "b": plan(jobs(set0, 10)),
			},
			want: []lastMinute{
				{"run", -1, nobody}, {"a", -1, "`run` ahead of it has no end: " + nobody}, {"b", -1, "`run` ahead of it has no end: " + nobody},
			},
		},
		{
			name: "nor of what has not started", limit: 1,
			entries: []Entry{running, a, b},
			plans:   map[events.RequestID]Plan{"run": plan(jobs(set0, 10)), "a": plan(unmanned(jobs(set1, 10))), "b": plan(jobs(set0, 10))},
			want:    []lastMinute{{"run", 10, ""}, {"a", -1, nobody}, {"b", -1, "`a` ahead of it has no end: " + nobody}},
		},
		{
			name: "there is room beside it for others", limit: 2,
			entries: []Entry{running, a, b},
			plans: map[events.RequestID]Plan{
				"run": plan(jobs(set0, 10), unmanned(jobs(set1, 10))), "a": plan(jobs(set0, 10)), "b": plan(jobs(set0, 10)),
			},
			want: []lastMinute{{"run", -1, nobody}, {"a", 20, ""}, {"b", 30, ""}},
		},
		{
			name: "nobody misses a collector for optional jobs, or one that has its last job in hand", limit: 1,
			entries: []Entry{running, a},
			plans: map[events.RequestID]Plan{
				"run": plan(unmanned(then(busy(set0, 0, 15), optional(jobs(set0, 90)))), unmanned(optional(jobs(set1, 90)))), "a": plan(jobs(set0, 10)),
			},
			want: []lastMinute{{"run", 15, ""}, {"a", 25, ""}},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			got := ends(Estimate(Order(test.entries, nil), test.plans, Farm{Now: epoch, MaxInProgress: test.limit, Left: test.left}))
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("ends (-want +got):\n%s", diff)
			}
		})
	}
}

// Optional jobs at the end of a lane do not change the first request, and make nothing earlier.
func TestOptionalJobsDelayOthersAlone(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := scenes(true).Draw(t, "scene")
		s.limit = 1
		before := s.estimate()
		var first events.RequestID
		for _, p := range s.places {
			if p.State != events.StateWaitingForArtifacts {
				first = p.ID
				break
			}
		}
		if first == "" {
			return
		}
		lanes := s.plans[first].Lanes
		lanes[0] = then(lanes[0], optional(jobs(lanes[0].Lane, rapid.IntRange(1, 90).Draw(t, "more"))))
		for i, f := range s.estimate() {
			if f.End == nil {
				continue
			}
			if f.ID == first && !f.End.Equal(*before[i].End) || f.End.Before(*before[i].End) {
				t.Fatalf("%s was to end at %v, and with an optional job more at %v", f.ID, before[i].End, f.End)
			}
		}
	})
}

func TestManyUnmannedLanesAreCounted(t *testing.T) {
	var lanes []LaneWork
	for set := range 9 {
		lanes = append(lanes, jobs(events.Lane{Target: "t", Set: events.Set(set)}, 1))
		lanes[set].Unmanned = true
	}
	for n, want := range map[int]string{2: "t/0 and t/1", 4: "t/0 and t/1 and t/2 and t/3", 5: "t/0, t/1, t/2 and 2 more lanes", 9: "t/0, t/1, t/2 and 6 more lanes"} {
		if got := unserved(plan(lanes[:n]...)); got != "no collector serves "+want {
			t.Errorf("%d lanes: %q", n, got)
		}
	}
}
