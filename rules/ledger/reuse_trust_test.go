package ledger_test

import (
	"testing"

	"github.com/tachobench/tacho/events"
)

// A collector says the key of what it did. It stands for jobs like its own alone, and that of a try for tries alone.
func TestAKeyStandsForJobsOfItsOwnSort(t *testing.T) {
	w := tell(t)
	id, _ := w.starts("t1", "")
	job := func(tag events.Tag, request events.RequestKind, kind events.JobKind, set events.Set) events.JobSpec {
		spec := events.JobSpec{
			Artifact: events.Artifact{Suite: "m", Tag: tag, Kind: request}, Kind: kind, Target: "far", Set: set, RequestID: id,
		}
		spec.ID = spec.First()
		w.happens(events.JobsCreated{RequestID: id, Key: "k", Jobs: []events.JobSpec{spec}})
		return spec
	}
	does := func(j events.JobSpec, key events.Digest) {
		w.begins(j)
		w.happens(events.JobFinished{
			Lane: j.Lane(), Place: w.place(j.Lane()), JobID: j.ID, RequestID: id, Token: w.attempts[j.ID], Attempt: 1, Collector: "c",
			Outcome: events.Success, Measured: 1, Key: key,
		})
	}
	try, master := job("a", events.Try, "build", 0), job("b", events.Master, "build", 1)
	does(try, "of a try")
	does(master, "of a master")
	for _, test := range []struct {
		what string
		job  events.JobSpec
		key  events.Digest
		want events.JobID
	}{
		{"a master and a run of a try", job("c", events.Master, "build", 0), "of a try", ""},
		{"a release and a run of a try", job("d", events.Release, "build", 0), "of a try", ""},
		{"another try", job("e", events.Try, "build", 0), "of a try", try.ID},
		{"a release and a run of a master", job("f", events.Release, "build", 1), "of a master", master.ID},
		{"another lane", job("g", events.Master, "build", 0), "of a master", ""},
		{"another kind", job("h", events.Master, "run", 1), "of a master", ""},
	} {
		if run, _ := w.Same(test.job.ID, test.key); run.Job != test.want {
			t.Errorf("%s: takes %q over, not %q", test.what, run.Job, test.want)
		}
	}
}
