package projector_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/tachobench/tacho/eventlog/eventlogtest"
	"github.com/tachobench/tacho/events"
	rules "github.com/tachobench/tacho/rules/job"
)

// walk writes a log of n events in which everything happens: honest runs of requests on two lanes, mixed with
// late, stale, repeated and malformed reports. The same seed gives the same log.
func walk(t testing.TB, seed uint64, n int) []events.Stored {
	w := &walker{story: newStory(t), r: rand.New(rand.NewPCG(seed, 7))}
	w.tell(events.DefinitionsPublished{Suite: suite, Digest: "d1", Content: definitions()})
	w.man(lanes[:]...)
	for len(w.stored) < n {
		w.step()
	}
	return w.stored[:n]
}

type walker struct {
	*story
	r       *rand.Rand
	tags    []events.Tag
	jobs    []events.JobSpec
	token   map[events.Lane]events.Seq
	current map[events.Lane]events.JobSpec
	matched []events.JobSpec
	graphed []node
	wishes  []*wish
}

func (w *walker) step() {
	w.at = w.at.Add(time.Duration(w.r.IntN(60_000)-5_000) * time.Millisecond) // clocks step back, too
	switch w.r.IntN(43) {
	case 0, 1:
		w.create()
	case 2, 3:
		w.start()
	case 4:
		w.end()
	case 5, 6, 7:
		w.dequeue()
	case 8, 9, 10, 11:
		w.measure()
	case 12, 13, 14:
		w.finish()
	case 15:
		w.lose()
	case 16:
		w.collector()
	case 17:
		w.fail()
	case 18:
		w.junk()
	case 19:
		w.dispatch()
	case 20:
		w.again()
	case 21:
		w.publish()
	case 22:
		w.alert()
	case 23:
		w.retire()
	case 24:
		w.deliver()
	case 25, 26:
		w.comment()
	case 27, 28:
		w.share()
	case 29, 30, 31, 32:
		w.match()
	case 33, 34, 35, 36:
		w.graph()
	case 37, 38, 39, 40, 41, 42:
		w.samples()
	}
}

func (w *walker) tag() (events.Tag, bool) {
	if len(w.tags) == 0 {
		return "", false
	}
	// Mostly one of the newest, so that requests get somewhere.
	return w.tags[max(len(w.tags)-1-w.r.IntN(4), 0)], true
}

func (w *walker) job() (events.JobSpec, bool) {
	if len(w.jobs) == 0 {
		return events.JobSpec{}, false
	}
	return w.jobs[max(len(w.jobs)-1-w.r.IntN(8), 0)], true
}

func (w *walker) create() {
	parent, _ := w.tag()
	tag := events.Tag(fmt.Sprintf("sha%d", len(w.tags)))
	f := created(tag, parent, w.r.IntN(3)*len(w.tags))
	if w.r.IntN(4) == 0 {
		f.State = events.StateWaitingForArtifacts
	}
	if w.r.IntN(3) == 0 {
		f.Parameters.Profiles = []events.Profile{"opt"}
	}
	if w.r.IntN(3) == 0 {
		f.Account, f.Queue, f.Priority = "alice", []events.QueueName{"", "alice", "bisect"}[w.r.IntN(3)], events.PriorityIdle
	}
	w.tags = append(w.tags, tag)
	w.tell(f)
	if f.State == events.StateWaitingForArtifacts && w.r.IntN(2) == 0 {
		w.tell(events.RequestArtifactsReady{RequestID: f.RequestID, Tag: tag, Parent: parent})
	}
}

func (w *walker) start() {
	tag, ok := w.tag()
	if !ok {
		return
	}
	id := requestID(tag)
	w.tell(events.RequestAdmitted{RequestID: id, Tag: tag, Reason: "first"})
	w.tell(events.RequestStarted{RequestID: id, Definitions: "d1", Jobs: 4})
	var jobs []events.JobSpec
	for _, l := range lanes {
		for _, p := range []events.Profile{"debug", "opt"} {
			j := job(tag, l, p)
			j.Optional = w.r.IntN(3) == 0
			jobs = append(jobs, j)
		}
	}
	if w.r.IntN(3) == 0 { // the same job with another id
		again := jobs[0]
		again.ID += "x"
		jobs = append(jobs, again)
	}
	if w.r.IntN(3) == 0 { // jobs of its parent that were made with an earlier request
		next := jobs[1].Again()
		jobs = append(jobs, next, next.Again())
	}
	w.jobs = append(w.jobs, jobs...)
	if w.r.IntN(2) == 0 {
		j := matchedJob(tag, []events.Tag{"", "sha0"}[w.r.IntN(2)], []string{"exclusive", "memory=8g", "trait=odd"}[w.r.IntN(3)])
		j.Caches = oddCaches[:w.r.IntN(len(oddCaches)+1)]
		jobs, w.matched = append(jobs, j), append(w.matched, j)
	}
	w.tell(events.JobsCreated{RequestID: id, Jobs: jobs})
}

func (w *walker) end() {
	tag, ok := w.tag()
	if !ok {
		return
	}
	id := requestID(tag)
	ends := []events.Fact{
		events.RequestCompleted{RequestID: id, Jobs: 4},
		events.RequestFailed{RequestID: id, Reason: "jobs failed", FailedJobs: 2},
		events.RequestCancelled{RequestID: id, Reason: "asked"},
		events.RequestCancelledWithJobs{RequestID: id, Reason: "asked"},
		events.GraphWanted{RequestID: id, Key: "k", Kind: events.GraphRepair},
		events.GraphRefused{RequestID: id, Key: "k", Reason: "all succeeded"},
		events.RequestExpansionFailed{RequestID: id, Reason: "no definitions", Waits: true},
		events.RequestExpired{RequestID: id, Reason: "too late"},
		events.PriorityChanged{RequestID: id, To: events.PriorityHigh, Reason: "asked"},
		events.PriorityChanged{RequestID: id, To: "odd"},
		events.RequestSuperseded{RequestID: id, By: "rother"},
		events.RequestExpansionFailed{RequestID: id, Reason: "no set", Failures: 1},
	}
	w.tell(ends[w.r.IntN(len(ends))])
}

func (w *walker) dispatch() {
	if j, ok := w.job(); ok && !slices.Contains(w.lane(j.Lane()).places, j.ID) {
		w.tell(events.JobDispatched{Job: j, Share: w.turn()})
	}
}

// dequeue mostly begins the job that is next on its lane: the one that waits again, or the next one.
func (w *walker) dequeue() {
	j, ok := w.job()
	if !ok {
		return
	}
	if w.token == nil {
		w.token, w.current = map[events.Lane]events.Seq{}, map[events.Lane]events.JobSpec{}
	}
	if t := w.lane(j.Lane()); w.r.IntN(6) > 0 {
		next := t.Place
		if t.Phase == rules.Ended || next == 0 {
			next++
		}
		id, dispatched := t.at(next)
		switch i := slices.IndexFunc(w.jobs, func(known events.JobSpec) bool { return known.ID == id }); {
		case dispatched && i >= 0:
			j = w.jobs[i]
		case slices.Contains(t.places, j.ID):
			return
		}
	}
	if !slices.Contains(w.lane(j.Lane()).places, j.ID) {
		w.tell(events.JobDispatched{Job: j, Share: w.turn()})
	}
	f := dequeued(j, 1+w.r.IntN(3), w.r.IntN(2))
	if w.r.IntN(8) == 0 {
		f.Place = uint64(w.r.IntN(4)) << w.r.IntN(63) // forged
	}
	seq := w.tell(f)
	if w.lane(j.Lane()).Token == seq || w.r.IntN(4) == 0 {
		w.token[j.Lane()], w.current[j.Lane()] = seq, j
	}
	w.tell(events.AttemptBegan{Lane: j.Lane(), JobID: j.ID, Collector: collectorOf(j.Lane()), Attempt: 1})
}

// attempt returns an attempt of a lane, mostly the current one.
func (w *walker) attempt() (events.JobSpec, events.Seq, bool) {
	l := lanes[w.r.IntN(len(lanes))]
	token, j := w.token[l], w.current[l]
	if token == 0 {
		return j, 0, false
	}
	switch w.r.IntN(8) {
	case 0:
		token--
	case 1:
		j, _ = w.job()
	}
	return j, token, true
}

func (w *walker) measure() {
	if j, token, ok := w.attempt(); ok {
		if w.r.IntN(2) == 0 {
			w.tell(events.OutputStored{
				Lane: j.Lane(), JobID: j.ID, Collector: collectorOf(j.Lane()), Token: token, Attempt: 1, Upload: w.r.IntN(3) == 0,
				Output: events.Output{Name: []string{"out", "log", "\x00"}[w.r.IntN(3)], Digest: "d\x00", Bytes: int64(w.r.IntN(9)) - 1},
			})
		}
		w.tell(measured(j, token, events.Benchmark(fmt.Sprintf("b%d", w.r.IntN(5))), "gob"))
	}
}

func (w *walker) fail() {
	if j, token, ok := w.attempt(); ok {
		w.tell(failedCase(j, token, "exit status 2\x00\\u0000"))
		w.tell(saying(j, token, "warning: a\x00", "warning: b"))
	}
}

func (w *walker) finish() {
	j, token, ok := w.attempt()
	if !ok {
		return
	}
	if w.r.IntN(6) == 0 {
		token = 0
	}
	f := finished(j, token, []events.Outcome{events.Success, events.Success, events.Failure, events.Cancelled, "odd"}[w.r.IntN(5)])
	f.DurationMS = int64(w.r.IntN(500_000))
	f.Used = w.used() // litter, of a job that is not matched
	w.tell(f)
}

// used is what a job says that it used, which may be nonsense.
func (w *walker) used() *events.Used {
	if w.r.IntN(3) == 0 {
		return nil
	}
	return &events.Used{PeakMemoryBytes: int64(w.r.IntN(9)-1) << 30, CPUMS: int64(w.r.IntN(9_000) - 100)}
}

func (w *walker) lose() {
	j, token, ok := w.attempt()
	if !ok {
		return
	}
	if w.r.IntN(3) == 0 {
		w.tell(events.ResultsClosed{Lane: j.Lane(), JobID: j.ID, Attempt: 1, Token: token})
	}
	if w.r.IntN(5) == 0 {
		w.tell(events.JobsWithdrawn{RequestID: j.RequestID, Jobs: []events.JobID{j.ID, "nobody"}})
	}
	if w.r.IntN(2) == 0 {
		w.tell(events.AttemptLost{Lane: j.Lane(), JobID: j.ID, Token: token, Attempt: 1, Lost: 1, Reason: "silence"})
		return
	}
	w.tell(events.AttemptReleased{Lane: j.Lane(), JobID: j.ID, Token: token, Attempt: 1, Reason: "drain"})
}

func (w *walker) collector() {
	l := lanes[w.r.IntN(len(lanes))]
	name := collectorOf(l)
	facts := []events.Fact{
		events.CollectorOnline{Name: name, Instance: "i1", Version: "v1", PID: 7, Environment: events.Environment{Fingerprint: "env1"}},
		events.CollectorOnline{Name: name, Instance: "i2", Version: "v2", PID: 8},
		events.CollectorOffline{Name: name, Instance: "i1", Reason: "silence"},
		events.CollectorDraining{Name: name, Reason: "asked"},
		events.CollectorDeactivated{Name: name},
		events.CollectorActivated{Name: name},
		events.CollectorActivated{Name: "nobody"},
		events.LaneUnassigned{Lane: l, Name: name},
		events.LaneAssigned{Lane: l, Name: name, Standby: true},
		events.LaneAssigned{Lane: l, Name: "spare", Standby: true},
		events.LaneUnassigned{Lane: l, Name: "spare"},
		events.LaneTakenOver{Lane: l, Name: "spare", From: name, Reason: "silence"},
		events.LaneTakenOver{Lane: l, Name: name, From: "spare"},
		events.CollectorQuarantined{Name: name, Reason: "3 jobs failed", Jobs: []events.JobID{"j1"}},
		events.CollectorUpdating{Name: name, Instance: "i1", Version: "v1", Wanted: "v2"},
		events.CollectorSilent{Name: name, Instance: "i2", Reason: "silence"},
		events.CollectorKeyRotated{Name: name, NKey: fmt.Sprint("KEY", len(w.stored))},
		events.CollectorRegistered{Name: name, Target: "elsewhere", NKey: "STOLEN"},
		events.CollectorRegistered{Name: "sold", Target: l.Target, Set: l.Set, Standby: true},
		events.CollectorRemoved{Name: "sold", Reason: "sold"},
		events.CollectorOnline{Name: "sold", Instance: "i3"},
		events.RegistryCopied{
			CollectorRegistered: events.CollectorRegistered{Name: name, Target: l.Target, Set: l.Set, NKey: "KEY"},
			Active:              true, Draining: w.r.IntN(2) == 0, KeySince: "2026-02-28T12:00:00Z", RegisteredAt: "yesterday",
		},
	}
	if w.r.IntN(4) == 0 { // as versions before the registry wrote it, or as a collector says it of itself afterwards
		w.earlier(facts[w.r.IntN(len(facts))])
		return
	}
	if w.r.IntN(12) == 0 {
		w.tell(events.RegistryOpened{Collectors: 2})
		return
	}
	w.tell(facts[w.r.IntN(len(facts))])
}

func (w *walker) publish() {
	d := events.Digest(fmt.Sprintf("d%d", w.r.IntN(3)))
	w.tell(events.DefinitionsPublished{Suite: suite, Digest: d, Content: []byte(`{"note":"a\u0000b"}`)})
}

// alert raises alerts, in the same or other words, and clears alerts whether they stand or not.
func (w *walker) alert() {
	kind := []events.AlertKind{events.AlertStalled, events.AlertOffline}[w.r.IntN(2)]
	key := events.NewAlertKey(kind, "eider-0")
	if w.r.IntN(3) == 0 {
		w.tell(events.AlertCleared{Key: key, Reason: "it is over"})
		return
	}
	w.tell(events.AlertRaised{
		Key: key, Kind: kind, About: "eider-0", Message: fmt.Sprintf("words %d\x00", w.r.IntN(2)), Action: "look",
	})
}

// retire takes most or all ended jobs out, and then asks for one of them again.
func (w *walker) retire() {
	before := w.at.Add(-time.Duration(w.r.IntN(30)) * time.Minute).Format(time.RFC3339Nano)
	if w.r.IntN(8) == 0 {
		before = []string{"yesterday", "0000-01-01T00:00:00Z", "9999-12-31T23:59:59Z"}[w.r.IntN(3)]
	}
	w.tell(events.JobsRetired{EndedBefore: before})
	if len(w.jobs) > 0 && w.r.IntN(2) == 0 {
		j := w.jobs[w.r.IntN(len(w.jobs))]
		w.tell(events.JobsCreated{RequestID: j.RequestID, Jobs: []events.JobSpec{j}})
	}
}

// earlier tells a fact about the standing of a collector on the collector's own subject. It tells other facts as today.
func (w *walker) earlier(f events.Fact) {
	m, err := eventlogtest.Earlier(events.Event{
		ID: fmt.Sprintf("e%06d", len(w.stored)+1), Time: w.at, Source: "test", Actor: "test:story", Root: "story", Fact: f,
	})
	if err != nil {
		w.tell(f)
		return
	}
	w.put(m)
}

// again repeats an earlier event as it was.
func (w *walker) again() { w.put(w.stored[w.r.IntN(len(w.stored))]) }

// junk appends what only a broken or hostile writer would append.
func (w *walker) junk() {
	s := w.stored[w.r.IntN(len(w.stored))]
	header := map[string]string{"odd": "\xff\x00\""}
	for k, v := range s.Header {
		header[k] = v
	}
	s.Header = header
	switch w.r.IntN(6) {
	case 5:
		w.put(events.Stored{Subject: events.WorkSubject(lanes[w.r.IntN(len(lanes))])})
		return
	case 0:
		s.Data = []byte(`{"half`)
	case 1:
		s.Subject = "tacho.ev.result.linux-amd64.0.stolen"
	case 2:
		header[events.HeaderTime] = "0000-01-01T00:00:00Z"
	case 3:
		header[events.HeaderCause] = "-1"
	case 4:
		w.unspeakable()
		return
	}
	w.put(s)
}
