package scheduler

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/tachobench/tacho/control"
	"github.com/tachobench/tacho/eventlog"
	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/rules/job"
	"github.com/tachobench/tacho/rules/suite"
)

const (
	maxAttempts       = 3
	transientDeadline = 2 * time.Hour
	backfilledKind    = events.JobKind("compile")
)

var modeller = control.By{Actor: "person", Source: "test", Root: "test"}

// modelSuite has two lanes, an optional third one, and jobs of two kinds.
func modelSuite() suite.Definitions {
	return suite.Definitions{
		Version: 1, Name: "m", PrimaryTarget: "here", Sources: suite.Sources{Root: "file"},
		Targets: []suite.Target{{Name: "here", Sets: 2}, {Name: "maybe", Sets: 1, Optional: true}, {Name: "rare", Sets: 1, OnRequest: true}},
		Kinds: []suite.Kind{
			{Name: backfilledKind, PerSet: true, PerBackend: true, PerProfile: true, Backfill: true},
			{Name: "bootstrap", Primary: true, Profile: "a", Requests: []events.RequestKind{events.Master, events.Try}},
		},
		Backends: []suite.Backend{{Name: "any"}}, Profiles: []suite.Profile{{Name: "a"}, {Name: "x", OnRequest: true}},
	}
}

// modelLanes are the lanes with the collectors that serve them, the standby last.
var modelLanes = []struct {
	name    events.CollectorName
	lane    events.Lane
	standby bool
}{
	{"c0", events.Lane{Target: "here"}, false},
	{"c1", events.Lane{Target: "here", Set: 1}, false},
	{"m0", events.Lane{Target: "maybe"}, false},
	{"r0", events.Lane{Target: "rare"}, false},
	{"s0", events.Lane{Target: "here"}, true},
	{mortal, events.Lane{Target: "here", Set: 1}, true},
}

// mortal is the collector that may be removed.
const mortal events.CollectorName = "x0"

// removed reports whether a collector was removed: the log is closed to it.
func (w *world) removed(name events.CollectorName) bool {
	for _, e := range w.index[events.RegistrySubject(name)] {
		if _, gone := e.Fact.(events.CollectorRemoved); gone {
			return true
		}
	}
	return false
}

// found publishes definitions and registers the collectors.
func (w *world) found() {
	w.calm = true
	w.must(w.people.Publish(context.Background(), modeller, modelSuite()))
	for _, c := range modelLanes {
		n := control.NewCollector{Name: c.name, Target: c.lane.Target, Set: c.lane.Set, Standby: c.standby}
		w.must(w.people.AddCollector(context.Background(), modeller, n))
		w.startProcess(c.name, c.lane)
	}
	if w.shared {
		w.divide()
	}
	w.calm = false
}

func (w *world) must(_ control.Answer, err error) {
	w.lawyer.never(err != nil, "%v", err)
}

// command lets a person give a command, or repeat an earlier one.
func (w *world) command() {
	if len(w.commands) > 0 && w.odds(5) {
		w.commands[w.r.IntN(len(w.commands))]()
		return
	}
	ctx := context.Background()
	var c func()
	switch n := w.r.IntN(16); {
	case w.shared && w.odds(4):
		c = w.share()
	case n < 9:
		wish := w.wish()
		c = func() { _, _, _ = w.people.CreateRequest(ctx, modeller, wish) }
	case n < 10:
		tag, parent := w.tag(), w.tag()
		c = w.onSome(func(id events.RequestID) { _, _, _ = w.people.ArtifactsReady(ctx, modeller, id, tag, parent) })
	case n < 12:
		c = w.onSome(func(id events.RequestID) { _, _, _ = w.people.CancelRequest(ctx, modeller, id, "changed my mind") })
	case n < 13:
		c = w.publish
	case n < 14:
		repair := control.Repair{Key: fmt.Sprint("k", w.r.IntN(100))}
		c = w.onSome(func(id events.RequestID) { _, _, _ = w.people.RepairRequest(ctx, modeller, id, repair) })
	default:
		name, n := modelLanes[w.r.IntN(len(modelLanes))].name, w.r.IntN(6)
		c = func() {
			switch n {
			case 0:
				_, _ = w.people.DeactivateCollector(ctx, modeller, name, control.Deactivation{Reason: "broken fan"})
			case 1:
				_, _ = w.people.DrainCollector(ctx, modeller, name, "new disk")
			case 2:
				_, _ = w.people.TakeLaneOver(ctx, modeller, name, "")
			case 3:
				if name == mortal {
					_, _ = w.people.RemoveCollector(ctx, modeller, name, "sold")
				}
			default:
				_, _ = w.people.ActivateCollector(ctx, modeller, name)
			}
		}
	}
	w.commands = append(w.commands, c)
	c()
}

func (w *world) tag() events.Tag { return events.Tag(fmt.Sprintf("t%d", w.r.IntN(8))) }

// wish draws a request that may exist already, may have a parent that comes later or never, and may be its own
// ancestor.
func (w *world) wish() control.NewRequest {
	n := control.NewRequest{Suite: "m", Kind: events.Master, Tag: w.tag(), PR: w.r.IntN(4)}
	if !w.odds(3) {
		n.Parent = w.tag()
	}
	switch w.r.IntN(5) {
	case 0, 1:
		n.Kind, n.Key = events.Try, fmt.Sprintf("k%d", w.r.IntN(12))
		if w.odds(2) {
			n.Tag, n.Parent = "", ""
		}
		if w.odds(2) {
			n.Parameters.Profiles = []events.Profile{"x"}
		}
		if w.odds(2) {
			n.Parameters.Targets = []events.Target{"here", "rare"}
		}
	case 2:
		n.Kind, n.Parent, n.ReleasedOn = events.Release, "", fmt.Sprintf("2026-0%d-01", 1+w.r.IntN(8))
	}
	if w.shared {
		n.Account, n.Priority = w.account(), events.Priorities[w.r.IntN(len(events.Priorities))]
		if w.odds(3) {
			n.Queue = w.queue()
		}
	}
	return n
}

// onSome calls f with one of the requests that exist at the time of the call.
func (w *world) onSome(f func(events.RequestID)) func() {
	if len(w.lawyer.requests) == 0 {
		return func() {}
	}
	var ids []events.RequestID
	for _, e := range w.lawyer.log {
		if c, ok := e.Fact.(events.RequestCreated); ok {
			ids = append(ids, c.RequestID)
		}
	}
	id := ids[w.r.IntN(len(ids))]
	return func() { f(id) }
}

// publish replaces the definitions: with some that lack a target, with unusable ones, or with the first ones.
func (w *world) publish() {
	d := modelSuite()
	switch w.r.IntN(5) {
	case 0, 1:
		d.Targets = d.Targets[:2]
	case 2:
		last, _ := w.last(events.SuiteSubject("m"))
		broken := events.DefinitionsPublished{Suite: "m", Digest: "broken", Content: []byte(`{"from":"the future"}`)}
		_, _ = w.append(eventlog.Append{Subject: broken.Subject(), Expected: last.Seq, Events: []events.Event{
			eventlog.NewEvent(broken, eventlog.Meta{Source: "test", Actor: "person"}, w.now),
		}})
		return
	}
	_, _ = w.people.Publish(context.Background(), modeller, d)
}

// append writes for actors without a view of their own.
func (w *world) append(parts ...eventlog.Append) (events.Seq, error) {
	desk := &desk{Log: w.log, w: w, seen: w.head, settles: true}
	return desk.Append(context.Background(), parts...)
}

// reform makes every actor behave: the definitions are right, the collectors are active, and each has one live process.
func (w *world) reform() {
	w.must(w.people.Publish(context.Background(), modeller, modelSuite()))
	for _, q := range modelQueues {
		_, _ = w.people.PauseQueue(context.Background(), modeller, q, false)
	}
	var alive []*process
	for _, c := range modelLanes {
		if w.removed(c.name) {
			continue
		}
		w.must(w.people.ActivateCollector(context.Background(), modeller, c.name))
		survivors := slices.DeleteFunc(slices.Clone(w.processes), func(p *process) bool { return p.dead || p.name != c.name })
		if len(survivors) == 0 {
			survivors = []*process{w.startProcess(c.name, c.lane)}
		}
		survivors[0].asleep = 0
		alive = append(alive, survivors[0])
	}
	w.processes = alive
	for _, p := range w.schedulers {
		p.skew = 0
	}
}

// process is one process of a collector. It does what package collector does, one step at a time, on what it read
// before.
type process struct {
	w        *world
	name     events.CollectorName
	lane     events.Lane
	instance string
	asleep   int
	dead     bool
	busy     bool
	// ready is the append that it has decided but not yet made; nil when there is none.
	ready func()

	running  bool
	spec     events.JobSpec
	place    uint64
	token    events.Seq
	attempt  int
	results  events.Seq
	measured map[events.TestCase]bool
}

// startProcess starts a process. Its predecessor may still live.
func (w *world) startProcess(name events.CollectorName, lane events.Lane) *process {
	w.instances++
	p := &process{w: w, name: name, lane: lane, instance: fmt.Sprintf("i%d", w.instances)}
	w.processes = append(w.processes, p)
	if len(w.processes) > 3*len(modelLanes) {
		w.processes = w.processes[1:]
	}
	last, _ := w.last(events.CollectorSubject(name))
	_ = p.write(eventlog.Append{Subject: events.CollectorSubject(name), Expected: last.Seq}, events.CollectorOnline{Name: name, Instance: p.instance})
	return p
}

func (p *process) events(facts ...events.Fact) []events.Event {
	var out []events.Event
	for _, f := range facts {
		out = append(out, eventlog.NewEvent(f, eventlog.Meta{Source: "test", Actor: events.Actor(p.instance)}, p.w.now.Add(p.w.jump())))
	}
	return out
}

// write appends facts to one aggregate.
func (p *process) write(part eventlog.Append, facts ...events.Fact) error {
	part.Events = p.events(facts...)
	_, err := p.append(part)
	return err
}

// append writes to the log. It fails for a removed collector.
func (p *process) append(parts ...eventlog.Append) (events.Seq, error) {
	if p.w.removed(p.name) {
		p.dead = true
		return 0, errors.New("the key was removed")
	}
	return p.w.append(parts...)
}

// act does one step.
func (p *process) act() {
	w := p.w
	switch {
	case p.dead || p.busy:
		return
	case p.asleep > 0:
		p.asleep--
		return
	case !w.calm && w.odds(25):
		p.asleep = 3 + w.r.IntN(30)
		return
	case !w.calm && w.odds(30):
		p.dead = true
		w.startProcess(p.name, p.lane)
		return
	}
	p.busy = true
	defer func() { p.busy = false }()
	if ready := p.ready; ready != nil {
		p.ready = nil
		ready()
		return
	}
	if p.running {
		p.work()
		return
	}
	p.receive()
}

// receive takes a delivery: the next one of the lane, sometimes one out of turn, or the one that its predecessor left.
func (p *process) receive() {
	w := p.w
	state, version := p.read()
	if state.Phase == job.Current && state.Collector == p.name && w.odds(3) {
		p.dequeue(state, version, state.Place, state.Job)
		return
	}
	dispatched := w.index[events.LaneSubject(p.lane)]
	next := int(w.acked[p.lane])
	if !w.calm && w.odds(6) && len(dispatched) > 0 {
		next = w.r.IntN(len(dispatched))
	}
	if next >= len(dispatched) {
		return
	}
	d := dispatched[next].Fact.(events.JobDispatched)
	p.dequeue(state, version, d.Place, d.Job)
}

// read returns the state of the lane's work.
func (p *process) read() (job.Lane, events.Seq) {
	last, ok := p.w.last(events.WorkSubject(p.lane))
	if !ok {
		return job.Lane{}, 0
	}
	return job.Evolve(job.Lane{}, last.Fact, last.Seq, last.Time), last.Seq
}

// dequeue decides to begin an attempt. The append comes later.
func (p *process) dequeue(state job.Lane, version events.Seq, place uint64, spec events.JobSpec) {
	facts, err := job.Decide(state, p.lane, job.Dequeue{Place: place, Job: spec, Collector: p.name, Instance: p.instance, MaxAttempts: maxAttempts})
	if err != nil {
		return
	}
	if len(facts) == 0 {
		p.ack(place)
		return
	}
	var reported job.Results
	var results events.Seq
	measured := map[events.TestCase]bool{}
	for _, e := range p.w.index[events.ResultSubject(p.lane, spec.ID)] {
		results = e.Seq
		counts := reported.Report(e.Fact.(events.ResultFact))
		if f, ok := e.Fact.(events.TestCasesMeasured); ok && counts {
			for _, m := range f.Cases {
				measured[m.TestCase] = true
			}
		}
	}
	p.ready = func() {
		last, err := p.decided(version, results, facts)
		if err != nil {
			return
		}
		for i, f := range facts {
			d, ok := f.(events.JobDequeued)
			if !ok {
				continue
			}
			p.running, p.spec, p.place, p.attempt, p.results = true, spec, place, d.Attempt, results
			p.token, p.measured = last-events.Seq(len(facts)-1-i), measured
			if _, closed := facts[len(facts)-1].(events.ResultsClosed); closed {
				p.results = last
			}
			return
		}
		p.ack(place)
	}
}

// decided appends what was decided on the lane.
func (p *process) decided(work, results events.Seq, facts []events.Fact) (events.Seq, error) {
	parts := []eventlog.Append{{Subject: events.WorkSubject(p.lane), Expected: work}}
	for _, f := range facts {
		if f.Subject() != parts[len(parts)-1].Subject {
			parts = append(parts, eventlog.Append{Subject: f.Subject(), Expected: results})
		}
		part := &parts[len(parts)-1]
		part.Events = append(part.Events, p.events(f)...)
	}
	return p.append(parts...)
}

func (p *process) ack(place uint64) { p.w.acked[p.lane] = max(p.w.acked[p.lane], place) }

// work does the next step of the job: a result, or one of its ends.
func (p *process) work() {
	var end job.Command
	now := p.w.now.Add(p.w.jump())
	switch n := p.w.r.IntN(14); {
	case n < 5 && len(p.measured) < 4 && !p.w.calm:
		p.report()
		return
	case n < 7 && !p.w.calm:
		end = job.Release{Token: p.token, Reason: "503", Transient: true, At: now, Deadline: transientDeadline}
	case n < 8 && !p.w.calm:
		end = job.Release{Token: p.token, Reason: "shutdown"}
	case n < 9 && p.w.odds(2):
		end = job.Finish{Token: p.token, Outcome: events.Failure, Reason: "it is not there", Fault: events.ErrorArtifact, At: now}
	case n < 9:
		end = job.Finish{Token: p.token, Outcome: events.Failure, Reason: "a benchmark failed", At: now}
	default:
		end = job.Finish{Token: p.token, Outcome: events.Success, At: now}
	}
	p.end(end)
}

// report records one more test case, unless the job is lost.
func (p *process) report() {
	c := events.TestCase{Benchmark: events.Benchmark(fmt.Sprintf("b%d", len(p.measured)))}
	f := events.TestCasesMeasured{
		Lane: p.lane, JobID: p.spec.ID, Artifact: p.spec.Artifact, Collector: p.name, Token: p.token, Attempt: p.attempt,
		Cases: []events.MeasuredCase{{TestCase: c}},
	}
	last, err := p.append(eventlog.Append{Subject: f.Subject(), Expected: p.results, Events: p.events(f)})
	var conflict *eventlog.ConflictError
	switch {
	case errors.As(err, &conflict):
		p.running = false
	case err == nil:
		p.results, p.measured[c] = last, true
	}
}

// end decides how the attempt ends. The append comes later, and is repeated until the log takes or refuses it.
func (p *process) end(command job.Command) {
	state, version := p.read()
	facts, err := job.Decide(state, p.lane, command)
	if err != nil || len(facts) == 0 {
		p.running = false
		return
	}
	p.ready = func() {
		if err := p.write(eventlog.Append{Subject: events.WorkSubject(p.lane), Expected: version}, facts...); err != nil {
			p.end(command)
			return
		}
		p.running = false
		if _, over := facts[0].(events.JobFinished); over {
			p.ack(p.place)
		}
	}
}
