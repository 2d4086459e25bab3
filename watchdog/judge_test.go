package watchdog

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tachobench/tacho/eventlog"
	"github.com/tachobench/tacho/eventlog/presence"
	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/rules/job"
	"github.com/tachobench/tacho/rules/ledger"
)

var began = time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC)

var limits = Limits{OfflineAfter: time.Minute, StalledAfter: 30 * time.Minute, LagEvents: 100, LagFor: 30 * time.Second, TurnAfter: time.Hour}

var lane = events.Lane{Target: "linux-amd64", Set: 1}

// world is a log and what the watchdog perceives besides it. A test tells it step by step.
type world struct {
	t     *testing.T
	state *ledger.Ledger
	view  *view
	ears  *ears
	now   time.Time
	seq   events.Seq
}

func newWorld(t *testing.T) *world {
	w := &world{t: t, state: ledger.New(), view: newView(), now: began}
	w.ears, w.view.tables.asked, w.view.outputs.asked = newEars(&w.now), true, true
	w.ears.since = began.Add(-time.Hour)
	return w
}

// ears hear by the clock of a test. A collector that was heard goes on beating until it leaves.
type ears struct {
	now *time.Time
	// since is when they began to hear; zero while they do not.
	since  time.Time
	noted  map[events.CollectorName]time.Time
	voices map[events.CollectorName]presence.Voice
}

func newEars(now *time.Time) *ears {
	return &ears{now: now, noted: map[events.CollectorName]time.Time{}, voices: map[events.CollectorName]presence.Voice{}}
}

func (e *ears) Hears() time.Duration {
	if e.since.IsZero() {
		return 0
	}
	return e.now.Sub(e.since)
}

func (e *ears) Of(name events.CollectorName) presence.Voice {
	v := e.voices[name]
	if e.Hears() > 0 && (!v.Heard || v.Left) {
		v.Silence = e.now.Sub(later(e.since, e.noted[name]))
	}
	return v
}

func (e *ears) Note(name events.CollectorName) { e.noted[name] = *e.now }

func (*ears) Changed() <-chan struct{} { return nil }

// hear takes a heartbeat, or its end.
func (e *ears) hear(b eventlog.Beat, left bool) {
	e.noted[b.Name] = *e.now
	e.voices[b.Name] = presence.Voice{Beat: b, Heard: true, Left: left}
}

func (w *world) tell(facts ...events.Fact) {
	for _, f := range facts {
		for _, f := range placed(w.state, f) {
			w.seq++
			w.state.Fold(events.Recorded{Seq: w.seq, Event: events.Event{Time: w.now, Fact: f}})
			w.judge() // as every tick does
		}
	}
}

// placed fills in what a fact about the work of a lane leaves out, from the state of the lane. It dispatches a job
// before it is begun.
func placed(s *ledger.Ledger, f events.Fact) []events.Fact {
	on := func(l events.Lane) job.Work {
		if known, ok := s.Lanes[l]; ok {
			return known.Work
		}
		return job.Work{}
	}
	at := func(l events.Lane, id events.JobID) uint64 {
		for place, waiting := range on(l).Dispatched {
			if waiting == id {
				return place
			}
		}
		return 0
	}
	next := func(l events.Lane) uint64 {
		last := on(l).Place
		for place := range on(l).Dispatched {
			last = max(last, place)
		}
		return last + 1
	}
	// Only the work of lanes has places.
	//exhaustive:ignore
	switch f := f.(type) {
	case events.JobDispatched:
		f.Place = next(f.Job.Lane())
		return []events.Fact{f}
	case events.JobDequeued:
		if f.Place = at(f.Lane, f.Job.ID); f.Place > 0 {
			return []events.Fact{f}
		}
		f.Place = next(f.Lane)
		return []events.Fact{events.JobDispatched{Place: f.Place, Job: f.Job}, f}
	case events.JobFinished:
		if work := on(f.Lane); work.Phase == job.Current && work.JobID == f.JobID {
			f.Token, f.Collector = work.Token, work.Collector
		}
		f.Place = at(f.Lane, f.JobID)
		return []events.Fact{f}
	case events.AttemptLost:
		f.Place, f.Token, f.Collector = at(f.Lane, f.JobID), on(f.Lane).Token, on(f.Lane).Collector
		return []events.Fact{f}
	case events.AttemptReleased:
		f.Place, f.Token, f.Collector = at(f.Lane, f.JobID), on(f.Lane).Token, on(f.Lane).Collector
		return []events.Fact{f}
	}
	return []events.Fact{f}
}

func (w *world) pass(d time.Duration) { w.now = w.now.Add(d) }

func (w *world) beat(job events.JobID, done int) {
	w.ears.hear(eventlog.Beat{Name: "eider", Instance: "i1", JobID: job, Done: done}, false)
	w.judge()
}

func (w *world) silence() { w.ears.hear(eventlog.Beat{Name: "eider", Instance: "i1"}, true) }

func (w *world) judge() *judgement {
	w.view.listen(w.ears, w.state.Collectors, w.now)
	return judge(w.state, w.view, limits, w.now)
}

// wanted returns the keys of the alerts that should stand. Those that cannot be decided yet have a "?".
func (w *world) wanted() []string {
	j := w.judge()
	var out []string
	for key, f := range j.wanted {
		if f.Message == "" || f.Action == "" || strings.Contains(f.Message, "..") {
			w.t.Errorf("%s says %q, and to do %q", key, f.Message, f.Action)
		}
		out = append(out, string(key))
	}
	for key := range j.unsure {
		out = append(out, string(key)+"?")
	}
	for kind := range j.unsureKinds {
		out = append(out, string(kind)+"?")
	}
	slices.Sort(out)
	return out
}

func (w *world) expect(when string, want ...string) {
	w.t.Helper()
	if diff := cmp.Diff(want, w.wanted()); diff != "" {
		w.t.Errorf("%s (-want +got):\n%s", when, diff)
	}
}

// message returns the words of the alert with a key.
func (w *world) message(key string) string {
	w.t.Helper()
	f, ok := w.judge().wanted[events.AlertKey(key)]
	if !ok {
		w.t.Fatalf("%s is not said, but %v", key, w.wanted())
	}
	return f.Message
}

func (w *world) says(key string, words ...string) {
	w.t.Helper()
	got := w.message(key)
	for _, word := range words {
		if !strings.Contains(got, word) {
			w.t.Errorf("%s does not say %q: %s", key, word, got)
		}
	}
}

// why returns why an alert is over; empty if it is not.
func (w *world) why(a events.AlertRaised) string {
	reason, _ := w.judge().over(ledger.Alert{AlertRaised: a})
	return reason
}

var unservedKey = string(events.NewAlertKey(events.AlertUnserved, lane.String()))

func spec(id events.JobID) events.JobSpec {
	return events.JobSpec{
		ID: id, RequestID: "r1", Artifact: events.Artifact{Suite: "go", Tag: "go1.25", Kind: events.Release}, Kind: "compile",
		Target: lane.Target, Set: lane.Set, Backend: "gc", Profile: "opt",
	}
}

func registered() events.Fact {
	return events.CollectorRegistered{Name: "eider", Target: lane.Target, Set: lane.Set}
}

func online() events.Fact { return events.CollectorOnline{Name: "eider", Instance: "i1"} }

func requested() events.Fact {
	return events.RequestCreated{RequestID: "r1", Suite: "go", Kind: events.Release, Tag: "go1.25", State: events.StateArtifactsReady}
}

func started(jobs ...events.JobSpec) []events.Fact {
	return []events.Fact{events.RequestStarted{RequestID: "r1"}, events.JobsCreated{RequestID: "r1", Jobs: jobs}}
}

func dispatched(id events.JobID) events.Fact { return events.JobDispatched{Job: spec(id)} }

func dequeued(id events.JobID) events.Fact {
	return events.JobDequeued{Lane: lane, Job: spec(id), Collector: "eider", Instance: "i1", Attempt: 1}
}

func finished(id events.JobID, took time.Duration) events.JobFinished {
	return events.JobFinished{Lane: lane, JobID: id, RequestID: "r1", Outcome: events.Success, Measured: 3, DurationMS: took.Milliseconds()}
}

func TestACollectorThatIsNotHeardIsOffline(t *testing.T) {
	w := newWorld(t)
	w.tell(registered())
	w.expect("just registered", "offline-eider?")
	w.pass(time.Minute)
	w.expect("a minute later", "offline-eider")
	w.says("offline-eider", "eider", "linux-amd64/1", "never online")

	w.tell(online())
	w.beat("", 0)
	w.expect("there")
	if got := w.why(events.AlertRaised{Key: "offline-eider", Kind: events.AlertOffline, About: "eider"}); got != "it is online" {
		t.Errorf("over because %q", got)
	}
	w.pass(time.Hour)
	w.beat("", 0)
	w.silence()
	w.expect("gone this moment", "offline-eider?")
	w.pass(time.Minute)
	w.says("offline-eider", "is offline")

	for want, end := range map[string]events.Fact{
		"it was deactivated":        events.CollectorDeactivated{Name: "eider"},
		"it was removed":            events.CollectorRemoved{Name: "eider", Reason: "sold"},
		"it was drained on purpose": events.CollectorDraining{Name: "eider"},
		"it is quarantined":         events.CollectorQuarantined{Name: "eider", Reason: "its disk is full"},
	} {
		w := newWorld(t)
		w.tell(registered(), online())
		w.pass(time.Hour)
		w.expect("offline", "offline-eider")
		w.tell(end)
		if got := w.why(events.AlertRaised{Key: "offline-eider", Kind: events.AlertOffline, About: "eider"}); got != want {
			t.Errorf("over because %q, want %q", got, want)
		}
	}
}

// Silence does not depend on the watchdog's clock, which may be set.
func TestAClockThatIsSetCallsNobodyOffline(t *testing.T) {
	w := newWorld(t)
	w.tell(registered(), online())
	w.beat("", 0)
	w.tell(events.CollectorRegistered{Name: "spare", Target: lane.Target, Set: lane.Set, Standby: true})
	for _, wrong := range []time.Duration{time.Hour, -time.Hour} {
		if j := judge(w.state, w.view, limits, w.now.Add(wrong)); len(j.wanted) > 0 {
			t.Errorf("with a clock that is %s wrong: %+v", wrong, j.wanted)
		}
	}
}

func TestAStandbyIsSaidToBeOne(t *testing.T) {
	w := newWorld(t)
	w.tell(events.CollectorRegistered{Name: "spare", Target: lane.Target, Set: lane.Set, Standby: true})
	w.pass(time.Hour)
	w.says("offline-spare", "Standby collector spare")
}

func TestWhoUpdatesIsGivenTime(t *testing.T) {
	w := newWorld(t)
	w.tell(registered(), online())
	w.beat("", 0)
	w.tell(events.CollectorUpdating{Name: "eider", Instance: "i1", Version: "v1", Wanted: "v2"})
	w.silence()
	w.pass(10 * time.Minute)
	w.expect("while it is built", "offline-eider?")
	w.pass(5 * time.Minute)
	w.says("offline-eider", "updated to version v2")
	w.tell(events.CollectorOnline{Name: "eider", Instance: "i2", UpdateFailed: "go build: exit status 1\nmore"})
	w.beat("", 0)
	w.expect("back with the old one", "update-eider")
	w.says("update-eider", "go build: exit status 1.")
	w.tell(events.CollectorOnline{Name: "eider", Instance: "i3"})
	w.expect("back with the new one")
}

func TestNobodyIsSilentBeforeItWasListened(t *testing.T) {
	w := newWorld(t)
	w.tell(registered(), online(), requested())
	w.ears.since = time.Time{}
	w.pass(time.Hour)
	w.expect("deaf", "offline?", "stalled?", "turn?")
	w.ears.since = w.now
	w.expect("listening since now", "offline?", "stalled?", "turn?")
	w.pass(time.Minute)
	w.expect("after a minute", "offline-eider", "stalled")
	w.view.log.silent = w.now
	w.expect("the log is away", "database?", "lag?", "offline?", "stalled?", "turn?")
}

func TestJobsThatNobodyCanRunAreSaid(t *testing.T) {
	w := newWorld(t)
	w.tell(requested())
	w.tell(started(spec("j1"), spec("j2"))...)
	w.expect("a moment of grace", unservedKey+"?")
	w.pass(time.Minute)
	w.says(unservedKey, "linux-amd64/1", "no collector is registered")

	w.tell(registered())
	w.beat("", 0)
	w.expect("a collector is registered")
	if got := w.why(events.AlertRaised{Key: events.AlertKey(unservedKey), Kind: events.AlertUnserved, About: lane.String()}); got != "the lane has a collector" {
		t.Errorf("over because %q", got)
	}
	w.tell(events.CollectorDraining{Name: "eider"})
	w.pass(time.Minute)
	w.says(unservedKey, "eider was asked to take no more jobs")
	w.tell(online(), events.CollectorDraining{Name: "eider"}, online())
	w.pass(time.Minute)
	w.says(unservedKey, "eider was asked to take no more jobs")
	w.tell(events.CollectorActivated{Name: "eider"})
	w.tell(events.CollectorQuarantined{Name: "eider", Reason: "it failed three jobs"})
	w.pass(time.Minute)
	w.expect("quarantined", "quarantine-eider", unservedKey)
	w.says(unservedKey, "eider is quarantined")
	w.tell(events.RequestCancelled{RequestID: "r1"})
	w.tell(events.JobsWithdrawn{RequestID: "r1", Jobs: slices.Collect(maps.Keys(w.state.Jobs))})
	w.expect("nothing queued", "quarantine-eider")
	w.tell(events.CollectorActivated{Name: "eider"})
	w.expect("activated")
}

func TestMatchedJobsThatNoMachineCanRunAreSaid(t *testing.T) {
	w := newWorld(t)
	j := spec("j1")
	j.Matched, j.Requires = true, []string{"memory=16g", "trait=nvme"}
	about := "matched release memory=16g trait=nvme"
	key := string(events.NewAlertKey(events.AlertUnserved, about))
	w.tell(requested())
	w.tell(started(j)...)
	w.expect("a moment of grace", key+"?")
	w.pass(time.Minute)
	w.says(key, "1 job of release requests", "none is registered")
	described := events.MachineDescribed{Machine: "eider", Pool: "p", OS: "linux", Arch: "amd64", MemoryMiB: 8192, Slots: 1}
	at := events.PoolLane("p", 0)
	w.tell(described, events.CollectorRegistered{Name: "eider", Target: at.Target, Set: at.Set, Machine: "eider"}, online())
	w.beat("", 0)
	w.says(key, "eider comes nearest, it lacks trait nvme and 8 GiB of memory")
	described.MemoryMiB, described.Traits = 65536, []string{"nvme"}
	w.tell(described)
	w.expect("a machine can run it")
	if got := w.why(events.AlertRaised{Key: events.AlertKey(key), Kind: events.AlertUnserved, About: about}); got != "a machine can run them" {
		t.Errorf("over because %q", got)
	}
	w.pass(time.Hour)
	w.beat("", 0)
	w.says("stalled", "a free place on a machine that can run its jobs")
}

func TestOptionalJobsAreSaidToBlockNobody(t *testing.T) {
	w := newWorld(t)
	j := spec("j1")
	j.Optional = true
	w.tell(requested())
	w.tell(started(j)...)
	w.pass(time.Minute)
	w.says(unservedKey, "optional: no request waits")
}

func TestAJobThatOverrunsIsSaidWhenItsLengthIsKnown(t *testing.T) {
	at := func(w *world, d time.Duration) []string {
		w.pass(d)
		w.beat("j9", int(w.now.Unix()))
		return w.wanted()
	}
	for name, tc := range map[string]struct {
		before []events.JobFinished
		after  time.Duration
		want   []string
	}{
		"nothing like it ended":       {nil, 20 * time.Hour, nil},
		"only failures":               {[]events.JobFinished{{Outcome: events.Failure, Measured: 3, DurationMS: 1000}}, 20 * time.Hour, nil},
		"only no-ops":                 {[]events.JobFinished{{Outcome: events.Success, DurationMS: 1}}, 20 * time.Hour, nil},
		"only continued ones":         {[]events.JobFinished{{Outcome: events.Success, Measured: 1, Skipped: 9, DurationMS: 1000}}, 20 * time.Hour, nil},
		"only ones of unknown length": {[]events.JobFinished{{Outcome: events.Success, Measured: 1}}, 20 * time.Hour, nil},
		"short, and not ten minutes":  {[]events.JobFinished{finished("", time.Minute)}, 9 * time.Minute, nil},
		"short, and ten minutes":      {[]events.JobFinished{finished("", time.Minute)}, 10 * time.Minute, []string{"overrun-j9"}},
		"long, and twice as long":     {[]events.JobFinished{finished("", time.Hour)}, 2 * time.Hour, nil},
		"long, and three times": {[]events.JobFinished{
			finished("", time.Second), finished("", time.Hour), finished("", 2*time.Hour),
		}, 3 * time.Hour, []string{"overrun-j9"}},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.tell(registered(), online(), requested())
			w.tell(started(spec("j9"))...)
			for i, f := range tc.before {
				f.JobID, f.Lane = events.JobID(rune('a'+i)), lane
				w.tell(events.JobsCreated{RequestID: "r1", Jobs: []events.JobSpec{spec(f.JobID)}}, dequeued(f.JobID), f)
			}
			w.tell(dequeued("j9"))
			if diff := cmp.Diff(tc.want, at(w, tc.after)); diff != "" {
				t.Error(diff)
			}
			w.tell(finished("j9", tc.after))
			w.expect("ended")
		})
	}
}

func TestAQuarantinedRequestIsSaidForADay(t *testing.T) {
	for name, tc := range map[string]struct {
		end  func(*world)
		want string
	}{
		"a day":           {func(w *world) { w.pass(24 * time.Hour) }, "it was said for a day"},
		"new definitions": {func(w *world) { w.tell(events.DefinitionsPublished{Suite: "go", Digest: "d"}) }, "its suite has new definitions"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.tell(requested())
			for n := range 3 {
				w.tell(events.RequestExpansionFailed{RequestID: "r1", Reason: "target x is not known", Failures: n + 1})
				w.expect("not yet")
			}
			w.tell(events.RequestFailed{RequestID: "r1", Reason: "quarantined"})
			w.says("quarantine-r1", "go1.25", "target x is not known.")
			w.tell(events.DefinitionsPublished{Suite: "other"})
			w.expect("another suite", "quarantine-r1")
			tc.end(w)
			w.expect("over")
			if got := w.why(events.AlertRaised{Key: "quarantine-r1", Kind: events.AlertQuarantine, About: "r1"}); got != tc.want {
				t.Errorf("over because %q", got)
			}
		})
	}
	w := newWorld(t)
	w.tell(requested(), events.RequestFailed{RequestID: "r1", Reason: "2 of 3 jobs failed"})
	w.expect("failed without a quarantine")
}

func TestTablesThatAreLateOrAwayAreSaid(t *testing.T) {
	type look struct {
		after    time.Duration
		head, at events.Seq
		err      error
	}
	down := eventlog.ErrUnavailable
	for name, tc := range map[string]struct {
		looks []look
		want  []string
		words string
	}{
		"never asked":                {nil, []string{"database?", "lag?"}, ""},
		"up to date":                 {[]look{{0, 50, 50, nil}, {time.Hour, 50, 50, nil}}, nil, ""},
		"a little behind":            {[]look{{0, 60, 50, nil}, {29 * time.Second, 61, 50, nil}}, []string{"lag?"}, ""},
		"stands still":               {[]look{{0, 60, 50, nil}, {30 * time.Second, 61, 50, nil}}, []string{"lag"}, "been at event 50"},
		"behind and moves":           {[]look{{0, 60, 50, nil}, {29 * time.Second, 61, 55, nil}, {29 * time.Second, 66, 60, nil}}, []string{"lag?"}, ""},
		"far behind for a moment":    {[]look{{0, 50, 50, nil}, {time.Second, 500, 60, nil}}, []string{"lag?"}, ""},
		"far behind":                 {[]look{{0, 500, 60, nil}, {5 * time.Second, 900, 100, nil}}, []string{"lag"}, "more than 100 events"},
		"Postgres away for a moment": {[]look{{0, 50, 50, nil}, {time.Second, 50, 0, down}}, []string{"database?", "lag?"}, ""},
		"Postgres away":              {[]look{{0, 50, 50, nil}, {time.Second, 50, 0, down}, {2 * time.Second, 50, 0, down}}, []string{"database", "lag?"}, "Postgres does not answer"},
		"Postgres back":              {[]look{{0, 50, 0, down}, {time.Hour, 50, 0, down}, {time.Second, 50, 50, nil}}, nil, ""},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.view.tables = tablesView{}
			for _, l := range tc.looks {
				w.pass(l.after)
				w.view.tables.note(w.now, l.head, l.at, l.err, limits.LagEvents)
			}
			if diff := cmp.Diff(tc.want, w.wanted()); diff != "" {
				t.Error(diff)
			}
			if tc.words != "" {
				w.says(tc.want[0], tc.words)
			}
		})
	}
}

// What others raise, others clear.
func TestAlertsOfOthersAreLeftAlone(t *testing.T) {
	w := newWorld(t)
	for _, kind := range []events.AlertKind{events.AlertSource, events.AlertReport, events.AlertRefused, "of-tomorrow"} {
		if reason, over := w.judge().over(ledger.Alert{AlertRaised: events.AlertRaised{Key: "x", Kind: kind}}); over {
			t.Errorf("%s is over because %q", kind, reason)
		}
	}
}

// What the farm lacks is said once, and only while a request waits for it.
func TestWhatTheFarmLacksIsSaid(t *testing.T) {
	w := newWorld(t)
	other := events.RequestCreated{RequestID: "r2", Suite: "go", Kind: events.Master, Tag: "c1", State: events.StateArtifactsReady}
	w.tell(requested(), other)
	w.expect("ready")
	const lacks = "no definitions of suite go were published"
	w.tell(events.RequestExpansionFailed{RequestID: "r1", Reason: lacks, Waits: true}, events.RequestExpansionFailed{RequestID: "r2", Reason: lacks, Waits: true})
	w.expect("held", "lacking-go")
	w.says("lacking-go", lacks)
	w.tell(events.RequestStarted{RequestID: "r1"})
	w.expect("one of them started", "lacking-go")
	w.tell(events.RequestCancelled{RequestID: "r2"})
	w.expect("the other one is gone")
}

func TestLanesCountTheirJobs(t *testing.T) {
	w := newWorld(t)
	w.tell(registered(), requested())
	w.tell(started(spec("j1"), spec("j2"), spec("j3"))...)
	steps := []events.Fact{
		dispatched("j1"), dequeued("j1"),
		events.AttemptLost{Lane: lane, JobID: "j1"},
		dequeued("j1"), dequeued("j1"),
		events.AttemptReleased{Lane: lane, JobID: "j1"},
		events.AttemptReleased{Lane: lane, JobID: "j1"},
		dequeued("j1"), finished("j1", time.Second),
		finished("j1", time.Second), dispatched("j2"),
		events.RequestCancelled{RequestID: "r1"},
		events.JobsWithdrawn{RequestID: "r1", Jobs: []events.JobID{"j2", "j3"}}, // j2 is on its lane, and ends there
		finished("j2", time.Second),
	}
	for i, f := range steps {
		w.tell(f)
		queued, running := 0, 0
		for _, j := range w.state.Jobs {
			switch {
			case j.State.Terminal():
			case executor(j) == "":
				queued++
			default:
				running++
			}
		}
		l := w.state.Lanes[lane]
		if q, executed := len(w.state.Queued(l)), w.state.Executed(l) != nil; q != queued || executed != (running == 1) || l.Takers != 1 {
			t.Fatalf("after step %d %T: %d queued, executed %t, lane %+v; of the jobs %d are queued, %d running", i, f, q, executed, l, queued, running)
		}
	}
	if w.state.Lanes[lane].HasWork() {
		t.Errorf("jobs are left: %+v", w.state.Lanes[lane])
	}
}
