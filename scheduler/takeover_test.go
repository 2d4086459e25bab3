package scheduler

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tachobench/tacho/eventlog"
	"github.com/tachobench/tacho/eventlog/memory"
	"github.com/tachobench/tacho/events"
)

var (
	noon      = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	shareLane = events.Lane{Target: "here"}
	spec      = events.JobSpec{ID: "j1", RequestID: "r1", Target: "here"}
)

// told is the state after some facts.
func told(facts ...events.Fact) *state {
	s := newState()
	for i, f := range facts {
		s.fold(events.Recorded{Event: events.Event{Time: noon, Fact: f}, Seq: events.Seq(i + 1)})
	}
	return s
}

// shared is a lane with a collector "a" and a standby "s", both there, and whatever more is said.
func shared(more ...events.Fact) *state {
	facts := []events.Fact{
		events.CollectorRegistered{Name: "a", Target: "here"},
		events.LaneAssigned{Lane: shareLane, Name: "a"},
		events.CollectorOnline{Name: "a", Instance: "a1"},
		events.CollectorRegistered{Name: "s", Target: "here", Standby: true},
		events.LaneAssigned{Lane: shareLane, Name: "s", Standby: true},
		events.CollectorOnline{Name: "s", Instance: "s1"},
	}
	return told(append(facts, more...)...)
}

func TestWhoTakesALaneOverAndWhen(t *testing.T) {
	dispatched := events.JobDispatched{Place: 1, Job: spec}
	running := events.JobDequeued{Lane: shareLane, Place: 1, Job: spec, Collector: "a", Instance: "a1", Attempt: 1}
	gone := events.CollectorOffline{Name: "a", Instance: "a1", Reason: "stopped"}
	quarantined := events.CollectorQuarantined{Name: "a"}
	second, third := 2*time.Second, 29*time.Second
	for name, tc := range map[string]struct {
		facts  []events.Fact
		silent map[events.CollectorName]time.Duration
		// want names who takes over, and "lost" if the attempt is.
		want string
	}{
		"all is well":                             {[]events.Fact{dispatched, running}, nil, ""},
		"a moment of silence":                     {[]events.Fact{dispatched, running}, map[events.CollectorName]time.Duration{"a": third}, ""},
		"silence in a job":                        {[]events.Fact{dispatched, running}, map[events.CollectorName]time.Duration{"a": 30 * time.Second}, "s lost"},
		"silence before a job":                    {[]events.Fact{dispatched}, map[events.CollectorName]time.Duration{"a": 30 * time.Second}, "s"},
		"silence without work":                    {nil, map[events.CollectorName]time.Duration{"a": time.Hour}, ""},
		"silence of both":                         {[]events.Fact{dispatched, running}, map[events.CollectorName]time.Duration{"a": 40 * time.Second, "s": 40 * time.Second}, ""},
		"silence of both, for good":               {[]events.Fact{dispatched, running}, map[events.CollectorName]time.Duration{"a": time.Minute, "s": time.Minute}, "lost"},
		"a restart":                               {[]events.Fact{dispatched, gone}, map[events.CollectorName]time.Duration{"a": second}, ""},
		"left, and did not come back":             {[]events.Fact{dispatched, gone}, map[events.CollectorName]time.Duration{"a": 30 * time.Second}, "s"},
		"deactivated":                             {[]events.Fact{events.CollectorDeactivated{Name: "a"}, events.LaneUnassigned{Lane: shareLane, Name: "a"}}, nil, "s"},
		"deactivated in a job, which it ends":     {[]events.Fact{dispatched, running, events.CollectorDeactivated{Name: "a"}, events.LaneUnassigned{Lane: shareLane, Name: "a"}}, nil, "s"},
		"deactivated, and its process died":       {[]events.Fact{dispatched, running, events.CollectorDeactivated{Name: "a"}, events.LaneUnassigned{Lane: shareLane, Name: "a"}, gone}, nil, "s lost"},
		"quarantined":                             {[]events.Fact{quarantined}, nil, "s"},
		"draining":                                {[]events.Fact{dispatched, running, events.CollectorDraining{Name: "a"}}, nil, ""},
		"drained":                                 {[]events.Fact{events.CollectorDraining{Name: "a"}, gone}, nil, "s"},
		"updating":                                {[]events.Fact{dispatched, events.CollectorUpdating{Name: "a", Instance: "a1"}}, map[events.CollectorName]time.Duration{"a": 5 * time.Minute}, ""},
		"updating for ever":                       {[]events.Fact{dispatched, events.CollectorUpdating{Name: "a", Instance: "a1"}}, map[events.CollectorName]time.Duration{"a": 10 * time.Minute}, "s"},
		"nobody is fit: the standby drains":       {[]events.Fact{quarantined, events.CollectorDraining{Name: "s"}}, nil, ""},
		"nobody is fit: the standby is not there": {[]events.Fact{quarantined, events.CollectorOffline{Name: "s", Instance: "s1"}}, nil, ""},
		"the standby goes, the first is back": {
			[]events.Fact{dispatched, events.LaneTakenOver{Lane: shareLane, Name: "s", From: "a"}}, map[events.CollectorName]time.Duration{"s": time.Minute}, "a",
		},
		"a person gave the lane away, and the old one dies in its job": {
			[]events.Fact{dispatched, running, events.LaneTakenOver{Lane: shareLane, Name: "s", From: "a"}}, map[events.CollectorName]time.Duration{"a": 31 * time.Second}, "lost",
		},
		"a person gave the lane away, and the old one works on": {
			[]events.Fact{dispatched, running, events.LaneTakenOver{Lane: shareLane, Name: "s", From: "a"}}, nil, "",
		},
	} {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, d := range decideTakeovers(shared(tc.facts...), limits{takeover: 30 * time.Second, offline: time.Minute},
				func(c events.CollectorName) time.Duration { return tc.silent[c] }) {
				for _, f := range d.facts {
					//exhaustive:ignore
					switch f := f.(type) {
					case events.LaneTakenOver:
						got = append(got, string(f.Name))
						if f.Reason == "" || f.From == f.Name || f.From == "" {
							t.Errorf("%+v", f)
						}
					case events.AttemptLost:
						got = append(got, "lost")
					default:
						t.Errorf("unexpected %+v", f)
					}
				}
			}
			if diff := cmp.Diff(tc.want, strings.Join(got, " ")); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestALaneIsNotGivenJobsThatNobodyCouldTake(t *testing.T) {
	lane := func(more ...events.Fact) *laneState { return shared(more...).lanes[shareLane] }
	for name, tc := range map[string]struct {
		facts []events.Fact
		want  bool
	}{
		"both":                            {nil, true},
		"one quarantined":                 {[]events.Fact{events.CollectorQuarantined{Name: "a"}}, true},
		"both quarantined":                {[]events.Fact{events.CollectorQuarantined{Name: "a"}, events.CollectorQuarantined{Name: "s"}}, false},
		"both quarantined, one activated": {[]events.Fact{events.CollectorQuarantined{Name: "a"}, events.CollectorQuarantined{Name: "s"}, events.CollectorActivated{Name: "s"}}, true},
		"both deactivated":                {[]events.Fact{events.CollectorDeactivated{Name: "a"}, events.CollectorDeactivated{Name: "s"}}, false},
	} {
		if got := lane(tc.facts...).takesJobs(shared(tc.facts...)); got != tc.want {
			t.Errorf("%s: %v, want %v", name, got, tc.want)
		}
	}
}

func TestWhatACollectorIsQuarantinedFor(t *testing.T) {
	made := func(n int) events.JobsCreated {
		f := events.JobsCreated{RequestID: "r1"}
		for i := range n {
			f.Jobs = append(f.Jobs, events.JobSpec{ID: events.JobID(fmt.Sprintf("j%d", i)), Target: "here"})
		}
		return f
	}
	next := 0
	ended := func(outcome events.Outcome, fault events.ErrorKind) events.Fact {
		next++
		return events.JobFinished{Lane: shareLane, JobID: events.JobID(fmt.Sprintf("j%d", next-1)), Collector: "a", Outcome: outcome, Fault: fault, Reason: "no space"}
	}
	lost := func(job events.JobID, by events.CollectorName) events.Fact {
		return events.AttemptLost{Lane: shareLane, JobID: job, Collector: by}
	}
	fail, transient, internal := events.Failure, events.ErrorTransient, events.ErrorInternal
	for name, tc := range map[string]struct {
		facts func() []events.Fact
		want  events.CollectorName
	}{
		"three in a row": {func() []events.Fact {
			return []events.Fact{ended(fail, transient), ended(fail, internal), ended(fail, transient)}
		}, "a"},
		"two": {func() []events.Fact { return []events.Fact{ended(fail, transient), ended(fail, internal)} }, ""},
		"a success between": {func() []events.Fact {
			return []events.Fact{ended(fail, transient), ended(fail, transient), ended(events.Success, ""), ended(fail, transient)}
		}, ""},
		"a failing benchmark between": {func() []events.Fact {
			return []events.Fact{ended(fail, transient), ended(fail, transient), ended(fail, ""), ended(fail, transient)}
		}, ""},
		"artifacts that are not there": {func() []events.Fact {
			return []events.Fact{ended(fail, events.ErrorArtifact), ended(fail, events.ErrorArtifact), ended(fail, events.ErrorPrepare)}
		}, ""},
		"a cancelled job between": {func() []events.Fact {
			return []events.Fact{ended(fail, transient), ended(events.Cancelled, ""), ended(fail, transient), ended(fail, transient)}
		}, "a"},
		"activated between": {func() []events.Fact {
			return []events.Fact{ended(fail, transient), ended(fail, transient), events.CollectorActivated{Name: "a"}, ended(fail, transient)}
		}, ""},
		"quarantined already": {func() []events.Fact {
			return []events.Fact{ended(fail, transient), ended(fail, transient), ended(fail, transient), events.CollectorQuarantined{Name: "a"}}
		}, ""},
		"jobs that only its own processes lost": {func() []events.Fact {
			var facts []events.Fact
			for i := range events.JobID("012") {
				id := events.JobID(fmt.Sprintf("j%d", i))
				facts = append(facts, lost(id, "s"), lost(id, "s"), ended(fail, events.ErrorExhausted))
			}
			return facts
		}, "s"},
		"jobs that everybody lost": {func() []events.Fact {
			var facts []events.Fact
			for i := range events.JobID("012") {
				id := events.JobID(fmt.Sprintf("j%d", i))
				facts = append(facts, lost(id, "a"), lost(id, "s"), ended(fail, events.ErrorExhausted))
			}
			return facts
		}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			next = 0
			s := shared(append([]events.Fact{made(6)}, tc.facts()...)...)
			got := decideQuarantine(s, Policy{QuarantineAfter: 3})
			switch {
			case len(got) == 0 && tc.want == "":
			case len(got) != 1 || got[0].facts[0].(events.CollectorQuarantined).Name != tc.want:
				t.Errorf("got %+v, want %q", got, tc.want)
			default:
				if q := got[0].facts[0].(events.CollectorQuarantined); len(q.Jobs) != 3 || !strings.Contains(q.Reason, "no space") {
					t.Errorf("got %+v", q)
				}
			}
			if off := decideQuarantine(s, Policy{}); len(off) > 0 {
				t.Errorf("quarantined although nobody ever is: %+v", off)
			}
		})
	}
}

// headless is a log that cannot be reached.
type headless struct{ *memory.Log }

func (headless) Head(context.Context) (eventlog.Head, error) {
	return eventlog.Head{}, eventlog.ErrUnavailable
}

// A scheduler that could not hear anybody takes nobody for silent.
func TestWhatCouldNotBeHeardIsNoSilence(t *testing.T) {
	now := noon
	memoryLog := memory.New(memory.Config{})
	var log eventlog.Log = memoryLog
	fresh := func() *Scheduler {
		s := New(Config{Log: log, Clock: func() time.Time { return now }, Logger: slog.New(slog.DiscardHandler)})
		s.state = shared(events.JobDispatched{Place: 1, Job: spec})
		s.listening = true
		s.begin(now)
		s.hear("a", now)
		return s
	}
	hears := func(s *Scheduler) int { s.hear("s", now); return len(s.silent(t.Context(), now)) }
	s := fresh()
	if now = now.Add(29 * time.Second); hears(s) != 0 {
		t.Error("taken over too early")
	}
	if now = now.Add(time.Second); hears(s) != 1 {
		t.Error("not taken over in time")
	}
	if s.listening = false; hears(s) != 0 {
		t.Error("taken over while no heartbeats are told")
	}

	log = headless{memoryLog}
	s = fresh()
	for range 60 {
		if now = now.Add(time.Second); hears(s) != 0 {
			t.Fatal("taken over while the log is away")
		}
	}
	s.Log = memoryLog
	if now = now.Add(29 * time.Second); hears(s) != 0 {
		t.Error("taken over right after the log came back")
	}
	if now = now.Add(time.Second); hears(s) != 1 {
		t.Error("not taken over in time after the log came back")
	}

	log = memoryLog
	s = fresh()
	s.ticked = now
	if now = now.Add(time.Hour); hears(s) != 0 {
		t.Error("taken over by a scheduler that stood still itself")
	}
	s.ticked = now.Add(time.Minute)
	if hears(s) != 0 {
		t.Error("taken over after the clock was set back")
	}
}
