package ledger_test

import (
	"testing"
	"time"

	"github.com/tachobench/tacho/events"
)

// samples makes a graph with a sample of each job.
func (w *teller) samples(id events.RequestID, priority events.Priority, jobs ...events.JobSpec) []events.JobSpec {
	w.Helper()
	made := make([]events.JobSpec, len(jobs))
	for i, spec := range jobs {
		spec.Sample = events.NewSample(id, 1, i+1)
		spec.ID = spec.First()
		made[i] = spec
	}
	w.happens(
		events.GraphCreated{RequestID: id, Graph: 1, Kind: events.GraphRetrigger, Key: "k", Jobs: len(made), Priority: priority},
		events.JobsCreated{RequestID: id, Key: "k", Jobs: made, Graph: &events.GraphPart{Graph: 1}},
	)
	return made
}

// A sample may measure a part only, and its length says nothing of the jobs of requests.
func TestSamplesTeachNoLengths(t *testing.T) {
	w := tell(t)
	id, jobs := w.starts("t1", "")
	w.took(jobs[0], 10*time.Second)
	w.took(w.samples(id, "", jobs[0])[0], time.Second)
	j := w.Find(jobs[0])
	if got := w.Lengths.Expect(j.Sort()); !got.Known || got.Length != 10*time.Second || len(w.Lengths[j.Sort()]) != 1 {
		t.Errorf("%+v of %v", got, w.Lengths)
	}
}

// took dispatches a job and lets it measure something for so long.
func (w *teller) took(j events.JobSpec, long time.Duration) {
	w.Helper()
	w.happens(w.dispatched(j))
	place := w.place(j.Lane())
	w.happens(events.JobDequeued{Lane: j.Lane(), Place: place, Job: j, Collector: "c", Instance: "i", Attempt: 1})
	w.happens(events.JobFinished{
		Lane: j.Lane(), Place: place, JobID: j.ID, RequestID: j.RequestID, Token: w.seq, Attempt: 1, Collector: "c", Outcome: events.Success, Measured: 1,
		DurationMS: long.Milliseconds(),
	})
}

// A sample is as urgent as its request if its graph names no priority, and never more urgent.
func TestPrioritiesOfSamples(t *testing.T) {
	for _, tt := range []struct{ request, graph, want events.Priority }{
		{"", "", "normal"},
		{"high", "", "high"},
		{"vip", "", "vip"},
		{"low", "", "low"},
		{"idle", "", "idle"},
		{"high", "normal", "normal"},
		{"low", "normal", "low"},
		{"high", "low", "low"},
		{"", "vip", "normal"},
	} {
		w := tell(t)
		id, jobs := w.starts("t1", "")
		w.happens(events.PriorityChanged{RequestID: id, To: tt.request})
		sample := w.Find(w.samples(id, tt.graph, jobs[0])[0])
		if got := w.PriorityFor(w.Requests[id], sample); got.String() != tt.want.String() {
			t.Errorf("a request of priority %q with a graph of %q: its sample has %s, want %s", tt.request, tt.graph, got, tt.want)
		}
		if got := w.PriorityFor(w.Requests[id], w.Find(jobs[1])); got.String() != tt.request.String() {
			t.Errorf("a request of priority %q: its own job has %s", tt.request, got)
		}
	}
}
