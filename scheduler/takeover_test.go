package scheduler

import (
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tachobench/tacho/eventlog/memory"
	"github.com/tachobench/tacho/eventlog/presence"
	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/rules/ledger"
)

var (
	noon      = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	shareLane = events.Lane{Target: "here"}
	spec      = events.JobSpec{ID: "j1", RequestID: "r1", Target: "here"}
)

// told returns the state after some facts.
func told(facts ...events.Fact) *state {
	s := newState()
	s.say(facts...)
	return s
}

// say folds more facts.
func (s *state) say(facts ...events.Fact) {
	for _, f := range facts {
		s.Fold(events.Recorded{Event: events.Event{Time: noon, Fact: f}, Seq: s.Seq + 1})
	}
}

// lives plays the lives of jobs j0, j1, … on the shared lane, one after another.
type lives struct {
	s     *state
	place uint64
}

func (l *lives) say(facts ...events.Fact) { l.s.say(facts...) }

func (l *lives) job() events.JobID { return events.JobID(fmt.Sprintf("j%d", l.place-1)) }

// begin lets a collector begin an attempt of the next job, or of the same one again, and returns its token.
func (l *lives) begin(by events.CollectorName, next bool) events.Seq {
	if next {
		l.place++
		l.say(events.JobDispatched{Place: l.place, Job: events.JobSpec{ID: l.job(), Target: "here"}})
	}
	l.say(events.JobDequeued{Lane: shareLane, Place: l.place, Job: events.JobSpec{ID: l.job(), Target: "here"}, Collector: by})
	return l.s.Seq
}

// shared is a lane with a collector "a" and a standby "s", both online, after more facts.
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
		"removed":                                 {[]events.Fact{dispatched, events.CollectorRemoved{Name: "a"}, events.LaneUnassigned{Lane: shareLane, Name: "a"}}, nil, "s"},
		"removed in a job, which is given back":   {[]events.Fact{dispatched, running, events.CollectorRemoved{Name: "a"}, events.LaneUnassigned{Lane: shareLane, Name: "a"}}, map[events.CollectorName]time.Duration{"a": time.Hour}, "s"},
		"silent, says the scheduler":              {[]events.Fact{dispatched, events.CollectorSilent{Name: "a", Instance: "a1"}}, map[events.CollectorName]time.Duration{"a": time.Hour}, "s"},
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
				func(c events.CollectorName) time.Duration { return tc.silent[c] }, []events.Lane{shareLane}) {
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
					case events.ResultsClosed:
						if f.JobID != "j1" || f.Token == 0 {
							t.Errorf("%+v", f)
						}
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
	lane := func(more ...events.Fact) *ledger.Lane { return shared(more...).Lanes[shareLane] }
	for name, tc := range map[string]struct {
		facts []events.Fact
		want  bool
	}{
		"both":                            {nil, true},
		"one quarantined":                 {[]events.Fact{events.CollectorQuarantined{Name: "a"}}, true},
		"both quarantined":                {[]events.Fact{events.CollectorQuarantined{Name: "a"}, events.CollectorQuarantined{Name: "s"}}, false},
		"both quarantined, one activated": {[]events.Fact{events.CollectorQuarantined{Name: "a"}, events.CollectorQuarantined{Name: "s"}, events.CollectorActivated{Name: "s"}}, true},
		"one removed, one deactivated":    {[]events.Fact{events.CollectorRemoved{Name: "a"}, events.CollectorDeactivated{Name: "s"}}, false},
		"both removed":                    {[]events.Fact{events.CollectorRemoved{Name: "a"}, events.CollectorRemoved{Name: "s"}, events.CollectorActivated{Name: "s"}}, false},
		"both deactivated":                {[]events.Fact{events.CollectorDeactivated{Name: "a"}, events.CollectorDeactivated{Name: "s"}}, false},
	} {
		if got := shared(tc.facts...).takesJobs(lane(tc.facts...)); got != tc.want {
			t.Errorf("%s: %v, want %v", name, got, tc.want)
		}
	}
}

// A removed collector can no longer write: the scheduler gives its job back, whether it hears heartbeats or not.
func TestARemovedCollectorsJobSpendsNoAttempt(t *testing.T) {
	made := events.JobsCreated{RequestID: "r1", Jobs: []events.JobSpec{spec}}
	running := events.JobDequeued{Lane: shareLane, Place: 1, Job: spec, Collector: "a", Instance: "a1", Attempt: 2, Lost: 1}
	removed := []events.Fact{events.CollectorRemoved{Name: "a"}, events.LaneUnassigned{Lane: shareLane, Name: "a"}}
	s := shared(append([]events.Fact{made, events.JobDispatched{Place: 1, Job: spec}, running}, removed...)...)
	d := decideAll(s, Policy{MaxInProgress: 1}, noon)
	want := events.AttemptReleased{
		Lane: shareLane, Place: 1, JobID: "j1", Collector: "a", Token: 9, Attempt: 2, Lost: 1, Reason: "the collector was removed",
	}
	if len(d) != 1 || len(d[0].facts) != 2 || d[0].facts[1] != events.Fact(events.ResultsClosed{Lane: shareLane, JobID: "j1", Attempt: 2, Token: 9}) || d[0].facts[0] != events.Fact(want) || d[0].cause != 10 || d[0].request != "r1" {
		t.Fatalf("decided %+v, want %+v", d, want)
	}
	s.say(want)
	if again := decideAll(s, Policy{MaxInProgress: 1}, noon); len(again) > 0 || s.StateOf("j1") != events.JobQueued || s.Littered > 0 {
		t.Errorf("then %+v, the job is %s", again, s.StateOf("j1"))
	}
	// The attempt is over for the collector, whatever it still sends.
	s.say(events.JobFinished{Lane: shareLane, Place: 1, JobID: "j1", Collector: "a", Token: 9, Outcome: events.Success})
	if s.StateOf("j1") != events.JobQueued || s.Littered != 1 {
		t.Errorf("the job is %s by the word of a collector that was removed", s.StateOf("j1"))
	}
	// A removed collector is not reported as silent.
	if offline := decideOffline(s, limits{offline: time.Minute}, func(events.CollectorName) time.Duration { return time.Hour }); len(offline) != 1 {
		t.Errorf("%+v, want the standby alone", offline)
	}
}

func TestWhatACollectorIsQuarantinedFor(t *testing.T) {
	// Six jobs, this many of each artifact.
	made := func(each int) events.JobsCreated {
		f := events.JobsCreated{RequestID: "r1"}
		for i := range 6 {
			f.Jobs = append(f.Jobs, events.JobSpec{
				ID: events.JobID(fmt.Sprintf("j%d", i)), Target: "here", Artifact: events.Artifact{Suite: "s", Tag: events.Tag(fmt.Sprint("t", i/each))},
			})
		}
		return f
	}
	fail, transient, internal := events.Failure, events.ErrorTransient, events.ErrorInternal
	type jobs []func(*lives)
	by := func(name events.CollectorName, outcome events.Outcome, fault events.ErrorKind) func(*lives) {
		return func(l *lives) {
			token := l.begin(name, true)
			l.say(events.JobFinished{Lane: shareLane, Place: l.place, JobID: l.job(), Collector: name, Token: token, Outcome: outcome, Fault: fault, Reason: "no space"})
		}
	}
	ended := func(outcome events.Outcome, fault events.ErrorKind) func(*lives) { return by("a", outcome, fault) }
	exhausted := func(by ...events.CollectorName) func(*lives) {
		return func(l *lives) {
			for i, name := range by {
				l.say(events.AttemptLost{Lane: shareLane, Token: l.begin(name, i == 0), Place: l.place, JobID: l.job(), Collector: name})
			}
			l.say(events.JobFinished{Lane: shareLane, Place: l.place, JobID: l.job(), Collector: "a", Outcome: fail, Fault: events.ErrorExhausted, Reason: "no space"})
		}
	}
	says := func(f events.Fact) func(*lives) { return func(l *lives) { l.say(f) } }
	for name, tc := range map[string]struct {
		each int
		jobs jobs
		want events.CollectorName
	}{
		"three in a row":                    {1, jobs{ended(fail, internal), ended(fail, internal), ended(fail, internal)}, "a"},
		"two":                               {1, jobs{ended(fail, internal), ended(fail, internal)}, ""},
		"three jobs of one artifact":        {3, jobs{ended(fail, internal), ended(fail, internal), ended(fail, internal)}, ""},
		"a success between":                 {1, jobs{ended(fail, internal), ended(fail, internal), ended(events.Success, ""), ended(fail, internal)}, ""},
		"a failing benchmark between":       {1, jobs{ended(fail, internal), ended(fail, internal), ended(fail, ""), ended(fail, internal)}, ""},
		"artifacts that are not there":      {1, jobs{ended(fail, events.ErrorArtifact), ended(fail, events.ErrorArtifact), ended(fail, events.ErrorPrepare)}, ""},
		"artifacts that nobody could fetch": {1, jobs{ended(fail, transient), ended(fail, transient), ended(fail, transient), ended(fail, transient)}, ""},
		"artifacts that another one could fetch": {2, jobs{
			by("s", events.Success, ""), ended(fail, transient), by("s", fail, ""), ended(fail, transient), by("s", events.Success, ""), ended(fail, transient),
		}, "a"},
		"artifacts that it could fetch itself": {2, jobs{
			ended(events.Success, ""), ended(fail, transient), ended(events.Success, ""), ended(fail, transient), ended(events.Success, ""), ended(fail, transient),
		}, ""},
		"a cancelled job between":               {1, jobs{ended(fail, internal), ended(events.Cancelled, ""), ended(fail, internal), ended(fail, internal)}, "a"},
		"activated between":                     {1, jobs{ended(fail, internal), ended(fail, internal), says(events.CollectorActivated{Name: "a"}), ended(fail, internal)}, ""},
		"quarantined already":                   {1, jobs{ended(fail, internal), ended(fail, internal), ended(fail, internal), says(events.CollectorQuarantined{Name: "a"})}, ""},
		"removed":                               {1, jobs{ended(fail, internal), ended(fail, internal), ended(fail, internal), says(events.CollectorRemoved{Name: "a"})}, ""},
		"jobs that only its own processes lost": {1, jobs{exhausted("s", "s"), exhausted("s", "s"), exhausted("s", "s")}, "s"},
		"jobs that everybody lost":              {1, jobs{exhausted("a", "s"), exhausted("a", "s"), exhausted("a", "s")}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			l := &lives{s: shared(made(tc.each))}
			for _, live := range tc.jobs {
				live(l)
			}
			s := l.s
			if s.Littered > 0 {
				t.Fatalf("the story contradicts itself: %+v", s.Litter)
			}
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

// ears hear every collector, except those that have been silent for the given time.
type ears map[events.CollectorName]time.Duration

func (ears) Hears() time.Duration                          { return time.Hour }
func (e ears) Of(name events.CollectorName) presence.Voice { return presence.Voice{Silence: e[name]} }
func (e ears) Note(name events.CollectorName)              { delete(e, name) }
func (ears) Changed() <-chan struct{}                      { return nil }

// A scheduler whose process cannot hear calls no collector silent.
func TestWhatCouldNotBeHeardIsNoSilence(t *testing.T) {
	for silence, want := range map[time.Duration]int{29 * time.Second: 0, 30 * time.Second: 1} {
		s := New(Config{Log: memory.New(memory.Config{}), Hearing: ears{"a": silence}, Logger: slog.New(slog.DiscardHandler)})
		st := shared(events.JobDispatched{Place: 1, Job: spec})
		if got := len(s.silent(st, st.LaneOrder, true)); got != want {
			t.Errorf("%d decisions after %s, want %d", got, silence, want)
		}
		s.Hearing = presence.Deaf{}
		if got := len(s.silent(st, st.LaneOrder, true)); got != 0 {
			t.Errorf("%d decisions while nobody is heard", got)
		}
	}
}
