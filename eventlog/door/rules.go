package door

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/tachobench/tacho/eventlog"
	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/rules/job"
	"github.com/tachobench/tacho/rules/suite"
)

const (
	// maxEvents bounds the events in one append of a collector. A collector needs few: results come in events of fifty
	// test cases.
	maxEvents = 64
	// maxRoot bounds the root of an event, in bytes.
	maxRoot = 256
	// maxEvicted bounds the caches that one event names as removed.
	maxEvicted = 256
	// maxUsed bounds what a job may say that it used, in bytes and in milliseconds.
	maxUsed = 1 << 50
	// clockAhead and clockBehind are how far the clock of a collector may be off. The door replaces a time beyond that.
	clockAhead  = time.Minute
	clockBehind = 24 * time.Hour
)

func forbid(format string, args ...any) *refusal {
	return &refusal{Kind: forbidden, Reason: fmt.Sprintf(format, args...)}
}

func misshapen(format string, args ...any) *refusal {
	return &refusal{Kind: malformed, Reason: fmt.Sprintf(format, args...)}
}

func taken(format string, args ...any) *refusal {
	return &refusal{Kind: lost, Reason: fmt.Sprintf(format, args...)}
}

// understand turns the parts of a request into an append. The door writes the envelope: who writes, and the time if the
// collector's clock is far off.
func understand(name events.CollectorName, parts []part, now time.Time) ([]eventlog.Append, *refusal) {
	out := make([]eventlog.Append, 0, len(parts))
	n := 0
	for _, p := range parts {
		a := eventlog.Append{Subject: p.Subject, Expected: p.Expected}
		for _, e := range p.Events {
			if n++; n > maxEvents {
				return nil, misshapen("an append of more than %d events", maxEvents)
			}
			known, why := e.understand(name, p.Subject, now)
			if why != nil {
				return nil, why
			}
			a.Events = append(a.Events, known)
		}
		out = append(out, a)
	}
	if n == 0 {
		return nil, misshapen("an append without events")
	}
	return out, nil
}

func (e event) understand(name events.CollectorName, subject events.Subject, now time.Time) (events.Event, *refusal) {
	if _, err := uuid.Parse(e.ID); err != nil || len(e.ID) != 36 {
		return events.Event{}, misshapen("event id %.64q is not a UUID", e.ID)
	}
	if len(e.Root) > maxRoot {
		return events.Event{}, misshapen("the root of event %s has %d bytes, at most %d", e.ID, len(e.Root), maxRoot)
	}
	at := e.Time.UTC().Truncate(time.Millisecond)
	if at.After(now.Add(clockAhead)) || at.Before(now.Add(-clockBehind)) {
		at = now.UTC().Truncate(time.Millisecond)
	}
	// Decode the fact as a reader of the log would, and store it encoded again: fields that this program does not know
	// are not stored.
	decoded, err := events.Decode(events.Stored{Subject: subject, Data: e.Data, Header: map[string]string{
		events.HeaderType: events.TypePrefix + e.Type, events.HeaderTime: at.Format(time.RFC3339Nano), events.HeaderCause: "0",
	}})
	if err != nil {
		return events.Event{}, misshapen("event %s of type %.64q cannot be read: %v; if the collector is newer than the core, update the core", e.ID, e.Type, err)
	}
	if events.TypeOf(decoded.Fact) != e.Type {
		return events.Event{}, &refusal{Kind: outdated, Reason: fmt.Sprintf("events of type %s are no longer written: update the collector to the version of the core", e.Type)}
	}
	return events.Event{
		ID: e.ID, Time: at, Source: "collector", Actor: events.Actor("collector:" + string(name)), Cause: e.Cause, Root: e.Root, Fact: decoded.Fact,
	}, nil
}

// check returns why a collector may not append; nil when it may. It checks the events in their order, on a copy of the
// state.
func check(name events.CollectorName, v view, parts []eventlog.Append, now time.Time) *refusal {
	lane := v.standing.Registered.Lane()
	w := walk{name: name, view: v, lane: lane, work: v.lane.work, now: now}
	for _, p := range parts {
		for i := range p.Events {
			e := &p.Events[i]
			if home := e.Fact.Subject(); home != p.Subject {
				return forbid("%s belongs on %s, not on %.128s", events.TypeOf(e.Fact), home, p.Subject)
			}
			if e.Cause > v.at {
				return misshapen("event %s names the cause %d, which is not in the log", e.ID, e.Cause)
			}
			if why := w.step(e); why != nil {
				return why
			}
		}
	}
	return nil
}

// walk is the state while check walks through one append.
type walk struct {
	name events.CollectorName
	view view
	lane events.Lane
	work job.Lane
	now  time.Time
	// began is the attempt that begins in this append, lost the attempt that ends as lost.
	began *events.JobDequeued
	lost  *events.AttemptLost
}

// step checks one event and applies it.
func (w *walk) step(e *events.Event) *refusal {
	// A collector may not write any other.
	//exhaustive:ignore
	switch f := e.Fact.(type) {
	case events.CollectorOnline:
		if why := w.about(f.Name, f); why != nil {
			return why
		}
		return w.evicted(f.Evicted)
	case events.CollectorOffline:
		return w.about(f.Name, f)
	case events.CollectorUpdating:
		return w.about(f.Name, f)
	case events.JobDequeued:
		return w.dequeue(f)
	case events.JobFinished:
		why := w.finish(f)
		if why == nil {
			why = w.evicted(f.Evicted)
		}
		if why == nil {
			why = w.used(f.Used)
		}
		if why == nil {
			why = w.tookOver(f)
		}
		e.Fact = w.clamped(f)
		return why
	case events.AttemptLost:
		return w.lose(f)
	case events.AttemptReleased:
		return w.release(f)
	case events.AttemptBegan:
		return w.begin(f)
	case events.TestCasesMeasured:
		for _, side := range f.Sides() {
			if why := w.holds(f.Lane, f.JobID, f.Collector, f.Token, f.Attempt, side.Artifact); why != nil {
				return why
			}
		}
		if why := w.block(f); why != nil {
			return why
		}
		if f.Definitions != w.view.lane.work.Job.Definitions {
			return forbid("results of definitions %.64s for a job of definitions %.64s", f.Definitions, w.view.lane.work.Job.Definitions)
		}
		return nil
	case events.ResultsClosed:
		return w.closed(f)
	case events.OutputStored:
		return w.holds(f.Lane, f.JobID, f.Collector, f.Token, f.Attempt, w.view.lane.work.Job.Artifact)
	case events.DiagnosticsSeen:
		return w.holds(f.Lane, f.JobID, f.Collector, f.Token, f.Attempt, w.view.lane.work.Job.Artifact)
	case events.ErrorRecorded:
		return w.holds(f.Lane, f.JobID, f.Collector, f.Token, f.Attempt, f.Artifact)
	}
	return forbid("a collector may not write %s", events.TypeOf(e.Fact))
}

// block checks what was measured in turns: the artifact of the job beside that of its parent, with the same test cases.
func (w *walk) block(f events.TestCasesMeasured) *refusal {
	if f.Beside == nil {
		return nil
	}
	spec := w.view.lane.work.Job
	if spec.Against == nil || f.Artifact != spec.Artifact || f.Beside.Artifact != *spec.Against {
		return forbid("a block of job %.64s is not of its artifact beside that of its parent", f.JobID)
	}
	same := func(a, b events.MeasuredCase) bool { return a.TestCase == b.TestCase }
	if !slices.EqualFunc(f.Cases, f.Beside.Cases, same) {
		return misshapen("a block of job %.64s has other test cases on one side than on the other", f.JobID)
	}
	return nil
}

// about checks a fact that a collector writes about itself.
func (w *walk) about(name events.CollectorName, f events.Fact) *refusal {
	if name != w.name {
		return forbid("%s about %.64s", events.TypeOf(f), name)
	}
	return nil
}

// evicted checks the caches that the collector names as removed. Only machines of pools have caches.
func (w *walk) evicted(names []string) *refusal {
	if len(names) == 0 {
		return nil
	}
	if _, pool := w.lane.Pool(); !pool {
		return forbid("lane %s belongs to no pool, so its machine has no caches", w.lane)
	}
	if len(names) > maxEvicted {
		return misshapen("%d caches were removed, at most %d", len(names), maxEvicted)
	}
	for _, name := range names {
		if err := suite.CheckCache(name); err != nil {
			return misshapen("%s", err)
		}
	}
	return nil
}

// used checks what a job used. It is said of matched jobs only.
func (w *walk) used(u *events.Used) *refusal {
	switch {
	case u == nil:
		return nil
	case !w.view.lane.work.Job.Matched:
		return forbid("what a job used, but it is not a matched job")
	case u.PeakMemoryBytes < 0 || u.PeakMemoryBytes > maxUsed || u.CPUMS < 0 || u.CPUMS > maxUsed:
		return misshapen("a job used %d bytes of memory and %d ms of CPU time", u.PeakMemoryBytes, u.CPUMS)
	}
	return nil
}

// on checks that a fact is about the collector's own lane and in its own name.
func (w *walk) on(lane events.Lane, name events.CollectorName) *refusal {
	switch {
	case lane != w.lane:
		return forbid("lane %.128s does not belong to the collector", lane)
	case name != w.name:
		return forbid("it is in the name of collector %.64s", name)
	}
	return nil
}

// dequeue checks the begin of an attempt: it must be what job.Decide decides, for the job as it was dispatched, and
// from the collector that serves the lane.
func (w *walk) dequeue(f events.JobDequeued) *refusal {
	if why := w.on(f.Lane, f.Collector); why != nil {
		return why
	}
	d, ok := w.view.lane.dispatched.at(f.Place)
	switch {
	case !ok || d.Job.ID != f.Job.ID:
		return taken("no job %.64s waits at place %d of lane %s", f.Job.ID, f.Place, w.lane)
	case !reflect.DeepEqual(d.Job, f.Job):
		return forbid("job %s differs from the job that was dispatched", f.Job.ID)
	case !w.view.standing.Takes():
		return taken("collector %s takes no jobs now", w.name)
	case w.view.lane.assignment.Serving != w.name:
		return taken("lane %s is served by another collector", w.lane)
	}
	facts, err := job.Decide(w.work, w.lane, job.Dequeue{
		Place: f.Place, Job: f.Job, Collector: f.Collector, Instance: f.Instance, Version: f.Version, Environment: f.Environment,
		Since: d.Since, Attempt: d.Attempt, Lost: d.Lost,
	})
	if err != nil {
		return taken("%s", err)
	}
	if len(facts) != 1 || !same(facts[0], f) {
		return taken("the attempt does not fit the state of lane %s in the log", w.lane)
	}
	w.work, w.began = job.Evolve(w.work, f, 0, w.now), &f
	return nil
}

// same compares facts in their stored form, where an empty list equals none.
func same(a, b events.Fact) bool {
	x, errX := json.Marshal(a)
	y, errY := json.Marshal(b)
	return errX == nil && errY == nil && string(x) == string(y)
}

// finish checks the end of a job: by the attempt in hand, or because too many of its executions were lost.
func (w *walk) finish(f events.JobFinished) *refusal {
	if why := w.on(f.Lane, f.Collector); why != nil {
		return why
	}
	d, waits := w.view.lane.dispatched.at(f.Place)
	attempt, lost := w.work.Attempt, w.work.Lost
	if f.Place != w.work.Place { // its executions were on other lanes
		attempt, lost = d.Attempt, d.Lost
	}
	switch {
	case f.Outcome != events.Success && f.Outcome != events.Failure:
		return forbid("a collector may not report the outcome %.32q", f.Outcome)
	case f.Measured < 0 || f.Skipped < 0 || f.Failed < 0:
		return misshapen("job %s ends with a negative number of test cases", f.JobID)
	case !job.Counts(w.work, f, w.view.lane.job):
		return taken("the attempt with token %d is over: the log took another course", f.Token)
	case waits && f.RequestID != d.Job.RequestID:
		return forbid("job %s belongs to request %s", f.JobID, d.Job.RequestID)
	case f.Token == 0 && (f.Outcome != events.Failure || f.Fault != events.ErrorExhausted || f.Lost == 0):
		return forbid("job %s ends without an attempt", f.JobID)
	case lost == 0 && f.Token == 0:
		return forbid("job %s ends before its first attempt", f.JobID)
	case f.Attempt != attempt || f.Lost != lost:
		return forbid("job %s ends with attempt %d, %d lost, but the log has attempt %d, %d lost", f.JobID, f.Attempt, f.Lost, attempt, lost)
	}
	w.work = job.Evolve(w.work, f, 0, w.now)
	return nil
}

// clamped bounds the duration of a job by the core's clock and the log's: estimates are made from it.
func (w *walk) clamped(f events.JobFinished) events.JobFinished {
	longest := int64(0)
	if f.Token != 0 && !w.view.lane.begun.IsZero() {
		longest = (w.now.Sub(w.view.lane.begun) + clockAhead).Milliseconds()
	}
	f.DurationMS = min(max(f.DurationMS, 0), max(longest, 0))
	return f
}

// lose checks the loss of the collector's own attempt, by an earlier process of it.
func (w *walk) lose(f events.AttemptLost) *refusal {
	if why := w.on(f.Lane, f.Collector); why != nil {
		return why
	}
	if !job.Counts(w.work, f, w.view.lane.job) {
		return taken("the attempt with token %d is over: the log took another course", f.Token)
	}
	if f.Attempt != w.work.Attempt || f.Lost != w.work.Lost+1 {
		return forbid("attempt %d of job %s is lost as number %d", f.Attempt, f.JobID, f.Lost)
	}
	w.work, w.lost = job.Evolve(w.work, f, 0, w.now), &f
	return nil
}

// closed checks that an append closes the results of the attempt that it ends as lost, and no others.
func (w *walk) closed(f events.ResultsClosed) *refusal {
	if w.lost == nil || f != (events.ResultsClosed{Lane: w.lost.Lane, JobID: w.lost.JobID, Attempt: w.lost.Attempt, Token: w.lost.Token}) {
		return forbid("the results of attempt %d of job %.64s are closed without its loss", f.Attempt, f.JobID)
	}
	return nil
}

// release checks the return of a job.
func (w *walk) release(f events.AttemptReleased) *refusal {
	if why := w.on(f.Lane, f.Collector); why != nil {
		return why
	}
	if !job.Counts(w.work, f, w.view.lane.job) {
		return taken("the attempt with token %d is over: the log took another course", f.Token)
	}
	if f.Attempt != w.work.Attempt || f.Lost != w.work.Lost {
		return forbid("attempt %d of job %s is given back, but the log has attempt %d", f.Attempt, f.JobID, w.work.Attempt)
	}
	if _, pool := w.lane.Pool(); f.HostFull != nil && !pool {
		return forbid("lane %s belongs to no pool, so job %s reserves nothing", w.lane, f.JobID)
	}
	if full := f.HostFull; full != nil && (full.FreeMiB < 0 || full.FreeMiB >= full.ReservedMiB) {
		return misshapen("%d MiB free are not less than the %d MiB that job %s reserves", full.FreeMiB, full.ReservedMiB, f.JobID)
	}
	w.work = job.Evolve(w.work, f, 0, w.now)
	return nil
}

// begin checks AttemptBegan: it must come in one append with the attempt's JobDequeued.
func (w *walk) begin(f events.AttemptBegan) *refusal {
	if why := w.on(f.Lane, f.Collector); why != nil {
		return why
	}
	if w.began == nil || w.began.Job.ID != f.JobID || w.began.Attempt != f.Attempt {
		return forbid("attempt %d of job %.64s begins without being dequeued", f.Attempt, f.JobID)
	}
	return nil
}

// holds checks a report of the attempt in hand.
func (w *walk) holds(lane events.Lane, id events.JobID, name events.CollectorName, token events.Seq, attempt int, a events.Artifact) *refusal {
	if why := w.on(lane, name); why != nil {
		return why
	}
	now := w.view.lane.work
	switch {
	case now.Phase != job.Current || now.Token != token || now.JobID != id:
		return taken("the attempt with token %d is over: the log took another course", token)
	case now.Collector != w.name:
		return forbid("the attempt belongs to collector %s", now.Collector)
	case now.Attempt != attempt:
		return forbid("attempt %d reports on attempt %d", attempt, now.Attempt)
	case now.Job.Artifact != a && (now.Job.Against == nil || *now.Job.Against != a):
		return forbid("job %s measures another artifact", id)
	}
	return nil
}

// mayRead returns why a collector may not read an aggregate; nil when it may. It may read its own aggregates, those of
// its lane and its machine, and the public ones (suites, version). all says that it wants all events, not only the last
// one.
func mayRead(r events.CollectorRegistered, s events.Subject, all bool) *refusal {
	lane := r.Lane()
	switch s {
	case events.RegistrySubject(r.Name), events.CollectorSubject(r.Name), events.WorkSubject(lane), events.AssignmentSubject(lane):
		return nil
	case events.LaneSubject(lane), events.VersionSubject():
		if !all {
			return nil
		}
	case events.MachineSubject(r.Machine):
		if !all && r.Machine != "" {
			return nil
		}
	}
	job, isResult := strings.CutPrefix(string(s), string(events.ResultSubject(lane, "")))
	suite, isSuite := strings.CutPrefix(string(s), string(events.SuiteSubject("")))
	if all && (isResult && events.CheckToken("job", job) == nil || isSuite && events.CheckToken("suite", suite) == nil) {
		return nil
	}
	return forbid("the collector may not read %.128q", string(s))
}
