package door_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tachobench/tacho/eventlog"
	"github.com/tachobench/tacho/eventlog/door"
	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/rules/job"
)

// The client implements the collector's side of all four ports.
type ports interface {
	eventlog.Aggregates
	eventlog.Jobs
	eventlog.Presence
	eventlog.JobLogWriter
}

var _ ports = (*door.Client)(nil)

func must(t testing.TB, what string, err error) {
	t.Helper()
	if err != nil {
		t.Fatalf("%s: %v", what, err)
	}
}

// TestACollectorWorks walks through everything that a collector does.
func TestACollectorWorks(t *testing.T) {
	k := newCore(t, door.DefaultBounds())
	k.open()
	eider := k.register("eider", 1)
	c := k.client(eider)
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()

	known, err := c.Read(ctx, events.RegistrySubject("eider"))
	must(t, "read its registration", err)
	if len(known) != 1 || known[0].Fact.(events.CollectorRegistered).Name != "eider" {
		t.Fatalf("registration %+v", known)
	}
	if ttl := c.BeatTTL(); ttl != beatTTL {
		t.Errorf("heartbeats live %s, want %s", ttl, beatTTL)
	}
	_, err = c.Claim(ctx, eventlog.Beat{Name: "eider", Instance: "1"}, "")
	must(t, "claim", err)
	if holder, err := c.Claim(ctx, eventlog.Beat{Name: "eider", Instance: "2"}, ""); !errors.Is(err, eventlog.ErrNameHeld) || holder.Instance != "1" {
		t.Errorf("a second process: %+v, %v", holder, err)
	}
	online, err := c.Append(ctx, appendOf(0, events.CollectorOnline{Name: "eider", Instance: "1"}))
	must(t, "say that it is there", err)
	k.reach(online)
	news, err := c.Beat(ctx, eventlog.Beat{Name: "eider", Instance: "1", Done: 1})
	must(t, "beat", err)
	want := eventlog.News{}
	for _, s := range eventlog.Followed("eider", eider.lane) {
		last, _, err := k.log.Last(ctx, s)
		must(t, "last", err)
		want[s] = last.Seq
	}
	if !cmp.Equal(news, want) || want[events.CollectorSubject("eider")] != online || want[events.VersionSubject()] != 0 {
		t.Errorf("the heartbeat tells %v, want %v", news, want)
	}

	spec := k.dispatch(eider.lane, 1, "j1")
	d, err := c.NextJob(ctx, eider.lane)
	must(t, "next job", err)
	if got, err := events.Decode(d.Stored()); err != nil || !cmp.Equal(got.Fact, events.Fact(events.JobDispatched{Place: 1, Job: spec})) {
		t.Fatalf("the job is %+v, %v", got, err)
	}
	must(t, "in progress", d.InProgress(ctx))
	must(t, "give back", d.Nak(ctx, 0))
	d, err = c.NextJob(ctx, eider.lane)
	must(t, "next job again", err)
	if err := d.Ack(ctx); !errors.Is(err, door.ErrNotPermitted) {
		t.Errorf("a job that has not ended is taken off the lane: %v", err)
	}

	dequeued := events.JobDequeued{Lane: eider.lane, Place: 1, Job: spec, Collector: "eider", Instance: "1", Attempt: 1}
	last, err := c.Append(ctx, appendOf(0, dequeued), appendOf(0, events.AttemptBegan{Lane: eider.lane, JobID: "j1", Collector: "eider", Attempt: 1}))
	must(t, "begin", err)
	token := last - 1
	_, err = c.Append(ctx, appendOf(0, dequeued), appendOf(0, events.AttemptBegan{Lane: eider.lane, JobID: "j1", Collector: "eider", Attempt: 1}))
	if moved := new(eventlog.ConflictError); !errors.As(err, &moved) || moved.Actual != token {
		t.Fatalf("a second begin: %v", err)
	}
	measured := events.TestCasesMeasured{
		Lane: eider.lane, JobID: "j1", Artifact: spec.Artifact, Collector: "eider", Token: token, Attempt: 1, Definitions: "d1",
		Cases: []events.MeasuredCase{{TestCase: events.TestCase{Benchmark: "hello"}}},
	}
	at, err := c.Append(ctx, appendOf(last, measured, measured))
	must(t, "results", err)
	results, err := c.Read(ctx, events.ResultSubject(eider.lane, "j1"))
	must(t, "read the results", err)
	if len(results) != 3 || results[2].Seq != at || results[2].Actor != "collector:eider" || results[2].Source != "collector" {
		t.Fatalf("results %+v", results)
	}
	must(t, "output", c.WriteLog(ctx, eider.lane, eventlog.LogChunk{JobID: "j1", Text: "hello"}))
	finished := events.JobFinished{
		Lane: eider.lane, Place: 1, JobID: "j1", RequestID: "r1", Collector: "eider", Token: token, Attempt: 1, Outcome: events.Success, DurationMS: 1e15,
	}
	end, err := c.Append(ctx, appendOf(token, finished))
	must(t, "finish", err)
	must(t, "take the job off the lane", d.Ack(ctx))
	e, ok, err := c.Last(ctx, events.WorkSubject(eider.lane))
	must(t, "last", err)
	if f, is := e.Fact.(events.JobFinished); !ok || !is || e.Seq != end || f.DurationMS > 2*60*1000 {
		t.Fatalf("last %+v: a duration beyond the clock of the log is not believed", e)
	}
	wanted := k.append(events.VersionWanted{Version: "v2"})
	k.reach(wanted)
	if news, err := c.Beat(ctx, eventlog.Beat{Name: "eider", Instance: "1"}); err != nil || news[events.WorkSubject(eider.lane)] != end || news[events.VersionSubject()] != wanted {
		t.Errorf("the heartbeat tells %v, %v: the end of the job is %d, the wanted version %d", news, err, end, wanted)
	}
	for _, s := range []events.Subject{events.LaneSubject(eider.lane), events.AssignmentSubject(eider.lane), events.CollectorSubject("eider")} {
		if _, ok, err := c.Last(ctx, s); err != nil || !ok {
			t.Errorf("last of %s: %t, %v", s, ok, err)
		}
	}
	if got, ok, err := c.Last(ctx, events.VersionSubject()); err != nil || !ok || got.Fact.(events.VersionWanted).Version != "v2" {
		t.Errorf("wanted version: %v, %v", got, err)
	}
	k.append(events.DefinitionsPublished{Suite: "go", Content: []byte(`{}`)})
	if got, err := c.Read(ctx, events.SuiteSubject("go")); err != nil || len(got) != 1 {
		t.Errorf("definitions: %v, %v", got, err)
	}
	must(t, "release", c.Release(ctx, eventlog.Beat{Name: "eider", Instance: "1"}))
}

func TestWhatIsNotItsToSayIsRefusedAndNeverStored(t *testing.T) {
	k := newCore(t, door.DefaultBounds())
	k.open()
	eider, teal := k.register("eider", 1), k.register("teal", 2)
	c := k.client(eider)
	spec := k.dispatch(eider.lane, 1, "j1")
	foreign := k.dispatch(teal.lane, 1, "j9")
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	begin := func(change func(*events.JobDequeued)) []eventlog.Append {
		f := events.JobDequeued{Lane: eider.lane, Place: 1, Job: spec, Collector: "eider", Instance: "1", Attempt: 1}
		change(&f)
		return []eventlog.Append{appendOf(0, f)}
	}
	last, err := c.Append(ctx, append(begin(func(*events.JobDequeued) {}), appendOf(0, events.AttemptBegan{Lane: eider.lane, JobID: "j1", Collector: "eider", Attempt: 1}))...)
	must(t, "begin", err)
	token := last - 1
	measured := func(change func(*events.TestCasesMeasured)) []eventlog.Append {
		f := events.TestCasesMeasured{
			Lane: eider.lane, JobID: "j1", Artifact: spec.Artifact, Collector: "eider", Token: token, Attempt: 1, Definitions: "d1",
		}
		change(&f)
		return []eventlog.Append{appendOf(last, f)}
	}
	finished := func(change func(*events.JobFinished)) []eventlog.Append {
		f := events.JobFinished{
			Lane: eider.lane, Place: 1, JobID: "j1", RequestID: "r1", Collector: "eider", Token: token, Attempt: 1, Outcome: events.Success,
		}
		change(&f)
		return []eventlog.Append{appendOf(token, f)}
	}
	one := func(f events.Fact) []eventlog.Append { return []eventlog.Append{appendOf(0, f)} }
	head, err := k.log.Head(ctx)
	must(t, "head", err)
	for what, parts := range map[string][]eventlog.Append{
		"a registration":                one(events.CollectorRegistered{Name: "eider", Target: "linux"}),
		"a new key":                     one(events.CollectorKeyRotated{Name: "eider", NKey: "U"}),
		"an activation":                 one(events.CollectorActivated{Name: "eider"}),
		"the opening of the registry":   one(events.RegistryOpened{}),
		"definitions":                   one(events.DefinitionsPublished{Suite: "go", Content: []byte(`{}`)}),
		"a request":                     one(events.RequestCreated{RequestID: "r2"}),
		"an admission":                  one(events.RequestAdmitted{RequestID: "r1"}),
		"a dispatch":                    one(events.JobDispatched{Place: 2, Job: spec}),
		"a lane":                        one(events.LaneTakenOver{Lane: eider.lane, Name: "eider"}),
		"an alert":                      one(events.AlertRaised{Key: "k", Kind: "k"}),
		"a wanted version":              one(events.VersionWanted{Version: "v"}),
		"a delivery":                    one(events.DeliveryReceived{Hook: "1", Delivery: "1"}),
		"a comment":                     one(events.CommentWanted{Key: "k"}),
		"another collector's presence":  one(events.CollectorOnline{Name: "teal"}),
		"another's job":                 one(events.JobDequeued{Lane: teal.lane, Place: 1, Job: foreign, Collector: "teal", Attempt: 1}),
		"its name on another lane":      one(events.JobDequeued{Lane: teal.lane, Place: 1, Job: foreign, Collector: "eider", Attempt: 1}),
		"a job that was not dispatched": {appendOf(token, events.JobDequeued{Lane: eider.lane, Place: 2, Job: spec, Collector: "eider", Attempt: 1})},
		"results of another lane":       measured(func(f *events.TestCasesMeasured) { f.Lane = teal.lane }),
		"results of another job":        measured(func(f *events.TestCasesMeasured) { f.JobID = "j9" }),
		"results of another artifact":   measured(func(f *events.TestCasesMeasured) { f.Artifact.Tag = "y" }),
		"results of other definitions":  measured(func(f *events.TestCasesMeasured) { f.Definitions = "d2" }),
		"results in another's name":     measured(func(f *events.TestCasesMeasured) { f.Collector = "teal" }),
		"results of another attempt":    measured(func(f *events.TestCasesMeasured) { f.Attempt = 2 }),
		"results with another token":    measured(func(f *events.TestCasesMeasured) { f.Token-- }),
		"a mark without an attempt":     {appendOf(last, events.AttemptBegan{Lane: eider.lane, JobID: "j1", Collector: "eider", Attempt: 2})},
		"results closed without a loss": {appendOf(last, events.ResultsClosed{Lane: eider.lane, JobID: "j1", Attempt: 1, Token: token})},
		"results of another job closed": {
			appendOf(token, events.AttemptLost{Lane: eider.lane, Place: 1, JobID: "j1", Collector: "eider", Token: token, Attempt: 1, Lost: 1}),
			appendOf(0, events.ResultsClosed{Lane: eider.lane, JobID: "j9", Attempt: 1, Token: token}),
		},
		"a cancellation":                        finished(func(f *events.JobFinished) { f.Outcome = events.Cancelled }),
		"an outcome of its own":                 finished(func(f *events.JobFinished) { f.Outcome = "splendid" }),
		"the end of another request's job":      finished(func(f *events.JobFinished) { f.RequestID = "r2" }),
		"the end of another attempt":            finished(func(f *events.JobFinished) { f.Attempt = 7 }),
		"the end with another token":            finished(func(f *events.JobFinished) { f.Token = 1 }),
		"the end without a token":               finished(func(f *events.JobFinished) { f.Token = 0 }),
		"the end of another place":              finished(func(f *events.JobFinished) { f.Place = 2 }),
		"negative counts":                       finished(func(f *events.JobFinished) { f.Measured = -1 }),
		"an attempt given back by another":      {appendOf(token, events.AttemptReleased{Lane: eider.lane, Place: 1, JobID: "j1", Collector: "teal", Token: token, Attempt: 1})},
		"an attempt given back that forgets":    {appendOf(token, events.AttemptReleased{Lane: eider.lane, Place: 1, JobID: "j1", Collector: "eider", Token: token, Attempt: 0})},
		"a loss that counts twice":              {appendOf(token, events.AttemptLost{Lane: eider.lane, Place: 1, JobID: "j1", Collector: "eider", Token: token, Attempt: 1, Lost: 2})},
		"own results beside another's presence": append(measured(func(*events.TestCasesMeasured) {}), appendOf(0, events.CollectorOffline{Name: "teal"})),
	} {
		_, err := c.Append(ctx, parts...)
		refused := new(job.Refusal)
		if !errors.Is(err, door.ErrNotPermitted) && !errors.As(err, &refused) {
			t.Errorf("%s: %v", what, err)
		}
	}
	for _, s := range []events.Subject{
		events.WorkSubject(teal.lane), events.ResultSubject(teal.lane, "j9"), events.RegistrySubject("teal"), events.CollectorSubject("teal"),
		events.AdmissionSubject(), events.RequestSubject("r1"), events.LaneSubject(teal.lane), events.RegistryOpenedSubject(), "tacho.ev.>", "tacho.ev.suite.*", "tacho.ev.suite.a.b", "",
	} {
		if _, err := c.Read(ctx, s); !errors.Is(err, door.ErrNotPermitted) {
			t.Errorf("read %s: %v", s, err)
		}
		if _, _, err := c.Last(ctx, s); !errors.Is(err, door.ErrNotPermitted) {
			t.Errorf("last of %s: %v", s, err)
		}
	}
	_, nextErr := c.NextJob(ctx, teal.lane)
	_, claimErr := c.Claim(ctx, eventlog.Beat{Name: "teal", Instance: "1"}, "")
	_, beatErr := c.Beat(ctx, eventlog.Beat{Name: "teal", Instance: "1"})
	for what, err := range map[string]error{
		"next job": nextErr, "claim": claimErr, "beat": beatErr,
		"release":       c.Release(ctx, eventlog.Beat{Name: "teal", Instance: "1"}),
		"write log":     c.WriteLog(ctx, teal.lane, eventlog.LogChunk{JobID: "j1"}),
		"log of no job": c.WriteLog(ctx, eider.lane, eventlog.LogChunk{JobID: "a.b"}), "large log": onlyTooLarge(c.WriteLog(ctx, eider.lane, eventlog.LogChunk{JobID: "j1", Text: string(make([]byte, 600<<10))})),
	} {
		if !errors.Is(err, door.ErrNotPermitted) {
			t.Errorf("%s: %v", what, err)
		}
	}
	if now, err := k.log.Head(ctx); err != nil || now.Last != head.Last {
		t.Errorf("the log went from %d to %d, %v", head.Last, now.Last, err)
	}
	await(t, "an alert that names the sender", func() bool {
		k.mu.Lock()
		defer k.mu.Unlock()
		return k.alerts["eider"] != "" && k.alerts["teal"] == ""
	})
}

// onlyTooLarge turns the expected error for a too large request into the error that is expected for the others.
func onlyTooLarge(err error) error {
	if errors.Is(err, eventlog.ErrBatchTooLarge) {
		return door.ErrNotPermitted
	}
	return err
}

// A collector can begin only a job that was dispatched, as it was dispatched, and only while it serves the lane.
func TestOnlyTheServingCollectorBeginsWhatWasDispatched(t *testing.T) {
	k := newCore(t, door.DefaultBounds())
	k.open()
	eider := k.register("eider", 1)
	c := k.client(eider)
	spec := k.dispatch(eider.lane, 1, "j1")
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	begin := func(spec events.JobSpec) error {
		_, err := c.Append(ctx, appendOf(0, events.JobDequeued{Lane: eider.lane, Place: 1, Job: spec, Collector: "eider", Instance: "1", Attempt: 1}),
			appendOf(0, events.AttemptBegan{Lane: eider.lane, JobID: "j1", Collector: "eider", Attempt: 1}))
		return err
	}
	other := spec
	other.RequestID = "r2"
	if err := begin(other); !errors.Is(err, door.ErrNotPermitted) {
		t.Errorf("a job that was dispatched otherwise: %v", err)
	}
	f := events.JobDequeued{Lane: eider.lane, Place: 1, Job: spec, Collector: "eider", Instance: "1", Attempt: 1}
	misplaced := eventlog.Append{Subject: events.ResultSubject(eider.lane, "j1"), Events: []events.Event{stamp(f)}}
	if _, err := c.Append(ctx, misplaced); err == nil {
		t.Error("an event on a subject that is not its own")
	}
	for what, change := range map[string]struct{ out, back events.Fact }{
		"another serves the lane": {events.LaneUnassigned{Lane: eider.lane, Name: "eider"}, events.LaneAssigned{Lane: eider.lane, Name: "eider"}},
		"it was deactivated":      {events.CollectorDeactivated{Name: "eider"}, events.CollectorActivated{Name: "eider"}},
		"it is quarantined":       {events.CollectorQuarantined{Name: "eider"}, events.CollectorActivated{Name: "eider"}},
		"it drains":               {events.CollectorDraining{Name: "eider"}, events.CollectorActivated{Name: "eider"}},
	} {
		at := k.append(change.out)
		k.reach(at)
		if lost := new(job.Refusal); !errors.As(begin(spec), &lost) {
			t.Errorf("%s, and it begins a job", what)
		}
		k.reach(k.append(change.back))
	}
	must(t, "begin at last", begin(spec))
}

// A collector of an earlier version asks the server itself. The door tells it what to do, in a form that it
// understands.
func TestACollectorOfAnEarlierVersionIsToldToUpdate(t *testing.T) {
	k := newCore(t, door.DefaultBounds())
	k.open()
	eider := k.register("eider", 1)
	nc, err := k.dial(eider.key)(t.Context())
	must(t, "connect", err)
	t.Cleanup(nc.Close)
	m, err := nc.Request(door.OldQuestions+"."+string(events.WorkSubject(eider.lane)), nil, 5*time.Second)
	must(t, "ask as before", err)
	if m.Header.Get("Status") != "400" || !strings.Contains(m.Header.Get("Description"), "install tacho v9") {
		t.Errorf("the answer is %v", m.Header)
	}
}
