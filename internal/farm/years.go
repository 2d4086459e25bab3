package farm

import (
	"fmt"
	"testing"
	"time"

	"github.com/tachobench/tacho/eventlog"
	"github.com/tachobench/tacho/events"
)

// Years writes the log of a farm that has measured for years: one master after the other, each with 12 jobs on 4 lanes
// of a target that only they use. Make it with NewYears. Nothing else may write to the log meanwhile.
type Years struct {
	log      eventlog.Log
	versions map[events.Subject]events.Seq
	batch    []eventlog.Append
	masters  int
	now      time.Time
	// Last is the last event.
	Last events.Seq
}

// NewYears returns a writer behind the last event of a log.
func NewYears(t testing.TB, log eventlog.Log) *Years {
	t.Helper()
	head, err := log.Head(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	y := &Years{log: log, versions: map[events.Subject]events.Seq{}, now: time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC), Last: head.Last}
	admission := events.RequestAdmitted{}.Subject() // the only subject that it shares with other writers
	last, _, err := log.Last(t.Context(), admission)
	if err != nil {
		t.Fatal(err)
	}
	y.versions[admission] = last.Seq
	return y
}

// atOnce is how many masters are written at once: an append may have 1,000 events.
const atOnce = 8

// Until writes masters until the log has at least last events.
func (y *Years) Until(t testing.TB, last events.Seq) {
	t.Helper()
	for y.Last < last {
		y.write(t)
		y.now = y.now.Add(time.Hour)
	}
}

// say puts facts into the next batch. Their sequences are known.
func (y *Years) say(facts ...events.Fact) {
	for _, f := range facts {
		y.Last++
		subject, e := f.Subject(), eventlog.NewEvent(f, eventlog.Meta{Source: "years", Actor: "years"}, y.now)
		if i := len(y.batch) - 1; i >= 0 && y.batch[i].Subject == subject {
			y.batch[i].Events = append(y.batch[i].Events, e)
		} else {
			y.batch = append(y.batch, eventlog.Append{Subject: subject, Expected: y.versions[subject], Events: []events.Event{e}})
		}
		y.versions[subject] = y.Last
	}
}

// append writes the batch. Each subject is in it once.
func (y *Years) append(t testing.TB) {
	t.Helper()
	if last, err := y.log.Append(t.Context(), y.batch...); err != nil || last != y.Last {
		t.Fatalf("the last event is %d, want %d: %v", last, y.Last, err)
	}
	y.batch = nil
}

// write writes atOnce masters from their beginning to their end.
func (y *Years) write(t testing.TB) {
	t.Helper()
	const lanes, perLane, cases = 4, 3, 5
	var admitted []events.Fact
	started, completed, byLane := [][]events.Fact{}, []events.Fact{}, [lanes][]events.JobSpec{}
	for range atOnce {
		y.masters++
		tag := events.Tag(fmt.Sprintf("%040x", y.masters))
		a := events.Artifact{Suite: "years", Tag: tag, Kind: events.Master}
		id := events.NewRequestID(a.Suite, a.Kind, string(tag))
		made := events.JobsCreated{RequestID: id}
		for n := range lanes * perLane {
			j := events.JobSpec{
				Artifact: a, Kind: "compile", Target: "long-ago", Set: events.Set(n % lanes), Backend: "llvm",
				Profile: events.Profile(fmt.Sprintf("p%d", n/lanes)), Definitions: "0123456789abcdef", RequestID: id,
			}
			j.ID = events.NewJobID(a, j.Kind, j.Lane(), j.Backend, j.Profile, nil, nil)
			made.Jobs, byLane[n%lanes] = append(made.Jobs, j), append(byLane[n%lanes], j)
		}
		y.say(events.RequestCreated{RequestID: id, Kind: a.Kind, Suite: a.Suite, Tag: tag, Key: string(tag), State: events.StateArtifactsReady})
		admitted = append(admitted, events.RequestAdmitted{RequestID: id, Tag: tag})
		started = append(started, []events.Fact{events.RequestStarted{RequestID: id, Jobs: len(made.Jobs)}, made})
		completed = append(completed, events.RequestCompleted{RequestID: id})
	}
	y.append(t)
	y.say(admitted...)
	for _, facts := range started {
		y.say(facts...)
	}
	first := uint64(y.masters-atOnce)*perLane + 1
	for _, jobs := range byLane {
		for n, j := range jobs {
			y.say(events.JobDispatched{Place: first + uint64(n), Job: j})
		}
	}
	tokens := map[events.JobID]events.Seq{}
	for _, jobs := range byLane {
		for n, j := range jobs {
			y.say(events.JobDequeued{Lane: j.Lane(), Place: first + uint64(n), Job: j, Collector: "c", Instance: "i", Attempt: 1})
			tokens[j.ID] = y.Last
			y.say(events.JobFinished{
				Lane: j.Lane(), Place: first + uint64(n), JobID: j.ID, RequestID: j.RequestID, Token: y.Last, Attempt: 1, Collector: "c",
				Outcome: events.Success, Measured: cases, DurationMS: 60_000,
			})
		}
	}
	for _, jobs := range byLane {
		for _, j := range jobs {
			for range cases {
				y.say(events.TestCasesMeasured{Lane: j.Lane(), JobID: j.ID, Token: tokens[j.ID], Attempt: 1, Collector: "c", Artifact: j.Artifact})
			}
		}
	}
	y.append(t)
	y.say(completed...)
	y.append(t)
}
