package ledger_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tachobench/tacho/events"
)

// begins dispatches a job and lets an attempt of it begin.
func (w *teller) begins(j events.JobSpec) {
	w.Helper()
	w.happens(w.dispatched(j))
	w.happens(events.JobDequeued{Lane: j.Lane(), Place: w.place(j.Lane()), Job: j, Collector: "c", Instance: "i", Attempt: 1})
	w.attempts[j.ID] = w.seq
}

// output is one that the job's attempt stores.
func (w *teller) output(j events.JobSpec, name string, digest events.Digest) events.OutputStored {
	return events.OutputStored{
		Lane: j.Lane(), JobID: j.ID, Collector: "c", Token: w.attempts[j.ID], Attempt: 1, Output: events.Output{Name: name, Digest: digest, Bytes: 7},
	}
}

func TestOutputsOfTheCurrentAttemptCount(t *testing.T) {
	w := tell(t)
	_, jobs := w.starts("t1", "")
	j := jobs[0]
	w.begins(j)
	good := w.output(j, "toolchain", "d1")
	for what, wrong := range map[string]func(f *events.OutputStored){
		"another collector": func(f *events.OutputStored) { f.Collector = "other" },
		"another attempt":   func(f *events.OutputStored) { f.Attempt = 2 },
		"another token":     func(f *events.OutputStored) { f.Token++ },
		"another lane":      func(f *events.OutputStored) { f.Lane.Set++ },
		"an upload":         func(f *events.OutputStored) { f.Upload = true },
		"another job":       func(f *events.OutputStored) { f.JobID = jobs[1].ID },
	} {
		f := good
		wrong(&f)
		w.happens(f)
		if _, known := w.OutputOf(f.JobID, "toolchain"); known {
			t.Errorf("%s: it counts", what)
		}
	}
	w.happens(good, w.output(j, "docs", "d2"))
	y, known := w.OutputOf(j.ID, "toolchain")
	if !known || y.Digest != "d1" || y.Bytes != 7 || y.Lane != j.Lane() {
		t.Errorf("%+v, %v", y, known)
	}
	w.happens(w.output(j, "toolchain", "d3"))
	if y, _ := w.OutputOf(j.ID, "toolchain"); y.Digest != "d3" || len(w.Outputs[j.ID]) != 2 {
		t.Errorf("the later one: %+v of %v", y, w.Outputs[j.ID])
	}
}

// The ledger reads outputs from the log alone, among results that it does not read.
func TestOutputsAreTakenFromTheLog(t *testing.T) {
	w := tell(t)
	_, jobs := w.starts("t1", "")
	j := jobs[0]
	w.begins(j)
	take := func(data []byte) events.Fact {
		w.seq++
		m, err := events.Encode(events.Event{ID: "e", Time: noon, Source: "t", Actor: "t", Fact: w.output(j, "toolchain", "d1")})
		if err != nil {
			t.Fatal(err)
		}
		m.Seq, m.StoredAt = w.seq, noon
		if data != nil {
			m.Data = data
		}
		fact, err := w.Take(m)
		if err != nil {
			t.Fatal(err)
		}
		return fact
	}
	if fact := take(json.RawMessage(`{"lane":7}`)); fact != nil || len(w.Outputs) > 0 {
		t.Errorf("litter gave %v", fact)
	}
	take(nil)
	if _, known := w.OutputOf(j.ID, "toolchain"); !known {
		t.Error("the output is not known")
	}
}

// What a build is made of survives a snapshot, and is not mixed up with other builds.
func TestBuildsKeepWhatTheyAreMadeOf(t *testing.T) {
	w := tell(t)
	id, jobs := w.starts("t1", "")
	var made []events.JobSpec
	for i, recipe := range []events.Digest{"r1", "r2"} {
		spec := jobs[0]
		spec.Kind, spec.Recipe, spec.Tokens = "build", recipe, &events.Tokens{Min: i + 1, Max: 8}
		spec.Checkouts = []events.Checkout{{Repository: "r", Revision: string(recipe), Path: "p"}}
		spec.ID = spec.First()
		made = append(made, spec)
	}
	w.happens(events.JobsCreated{RequestID: id, Jobs: made})
	for _, spec := range made {
		if diff := cmp.Diff(spec, w.Jobs[spec.ID].Spec()); diff != "" {
			t.Error(diff)
		}
	}
}

// The outputs of jobs that have left the memory are kept for later requests.
func TestOutputsOutliveTheirJobs(t *testing.T) {
	w := tell(t)
	id, jobs := w.starts("t1", "")
	w.begins(jobs[0])
	w.happens(w.output(jobs[0], "toolchain", "d1"))
	place := w.place(jobs[0].Lane())
	w.happens(events.JobFinished{
		Lane: jobs[0].Lane(), Place: place, JobID: jobs[0].ID, RequestID: id, Token: w.attempts[jobs[0].ID], Attempt: 1, Collector: "c", Outcome: events.Success,
	})
	w.ends(jobs[1], events.Success)
	w.happens(w.output(jobs[0], "late", "d2"), events.RequestCompleted{RequestID: id, Jobs: 2})
	w.holds("all has ended", 0, 2)
	if _, late := w.OutputOf(jobs[0].ID, "late"); late {
		t.Error("an output counts that came after the end")
	}
	if _, known := w.OutputOf(jobs[0].ID, "toolchain"); !known || len(w.Spent) != 1 || w.NeedsOutput(jobs[0].Lane(), "d1") {
		t.Errorf("known: %v, of %v", known, w.Spent)
	}
}

func TestOutputsOfOpenGraphsAreNeeded(t *testing.T) {
	w := tell(t)
	id, jobs := w.starts("t1", "")
	samples := w.samples(id, "", jobs[0])
	w.begins(samples[0])
	w.happens(w.output(samples[0], "toolchain", "d1"))
	lane := samples[0].Lane()
	other := lane
	other.Set++
	if !w.NeedsOutput(lane, "d1") || w.NeedsOutput(lane, "d2") || w.NeedsOutput(other, "d1") {
		t.Error("the open graph needs exactly what its job has stored")
	}
	w.happens(events.GraphEnded{RequestID: id, Graph: 1, Outcome: events.Success, Jobs: 1})
	if w.NeedsOutput(lane, "d1") {
		t.Error("a graph that has ended needs it still")
	}
}
