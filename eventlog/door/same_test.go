package door_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/tachobench/tacho/eventlog/door"
	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/rules/suite"
)

// The door says which run did the same, of the job in hand alone, and not of one that counts for nothing.
func TestACollectorAsksWhatWasDone(t *testing.T) {
	k := newCore(t, door.DefaultBounds())
	eider := k.register("eider", 1)
	k.open()
	c := k.client(eider)
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	create := func(id events.RequestID, spec events.JobSpec) {
		k.append(events.RequestCreated{RequestID: id, Kind: events.Master, Suite: "go", Tag: events.Tag(id), Key: string(id), State: events.StateArtifactsReady})
		k.append(events.RequestStarted{RequestID: id, Jobs: 1})
		k.append(events.JobsCreated{RequestID: id, Jobs: []events.JobSpec{spec}})
	}
	made := func(id events.JobID, request events.RequestID) events.JobSpec {
		return events.JobSpec{
			ID: id, RequestID: request, Kind: "compile", Target: eider.lane.Target, Set: eider.lane.Set, Definitions: "d",
			Artifact: events.Artifact{Suite: "go", Tag: events.Tag(request), Kind: events.Master},
		}
	}
	begin := func(place uint64, spec events.JobSpec) events.Seq {
		create(spec.RequestID, spec)
		k.append(events.JobDispatched{Place: place, Job: spec})
		return k.append(events.JobDequeued{Lane: eider.lane, Place: place, Job: spec, Collector: "eider", Instance: "1", Attempt: 1})
	}
	first := made("j1", "r1")
	token := begin(1, first)
	k.reach(token)
	from, counts, err := c.Same(ctx, "j1", "key")
	if err != nil || from != "" || !counts {
		t.Errorf("before anything was done: %q, %v, %v", from, counts, err)
	}
	k.append(events.JobFinished{
		Lane: eider.lane, Place: 1, JobID: "j1", RequestID: "r1", Collector: "eider", Token: token, Attempt: 1, Outcome: events.Success, Measured: 1, Key: "key",
	})
	token = begin(2, made("j2", "r2"))
	k.reach(token)
	_, _, err = c.Same(ctx, "j1", "key")
	if err == nil {
		t.Error("the door answers about a job that is not in hand")
	}
	from, counts, err = c.Same(ctx, "j2", "key")
	if err != nil || from != "" || !counts {
		// Its definitions are not known, so nobody knows what it should yield.
		t.Errorf("without definitions: %q, %v, %v", from, counts, err)
	}
}

// A collector takes over the run that the ledger names for the key of its job, and no other one, however it words its claim.
func TestACollectorClaimsARunThatItDidNotDo(t *testing.T) {
	k := newCore(t, door.DefaultBounds())
	eider := k.register("eider", 1)
	k.open()
	c := k.client(eider)
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	d := suite.Definitions{Version: 2, Name: "go", Kinds: []suite.Kind{{Name: "compile"}, {Name: "check"}}}
	k.append(events.DefinitionsPublished{Suite: d.Name, Digest: d.Digest(), Content: d.Canonical()})
	place := uint64(0)
	begin := func(id string, kind events.JobKind, of events.RequestKind) (events.JobSpec, events.Seq) {
		place++
		request := events.RequestID("r" + id)
		spec := events.JobSpec{
			ID: events.JobID("j" + id), RequestID: request, Kind: kind, Target: eider.lane.Target, Set: eider.lane.Set, Definitions: d.Digest(),
			Artifact: events.Artifact{Suite: "go", Tag: events.Tag(id), Kind: of},
		}
		k.append(events.RequestCreated{RequestID: request, Kind: of, Suite: "go", Tag: spec.Artifact.Tag, Key: id, State: events.StateArtifactsReady})
		k.append(events.RequestStarted{RequestID: request, Jobs: 1})
		k.append(events.JobsCreated{RequestID: request, Jobs: []events.JobSpec{spec}})
		k.append(events.JobDispatched{Place: place, Job: spec})
		token := k.append(events.JobDequeued{Lane: eider.lane, Place: place, Job: spec, Collector: "eider", Instance: "1", Attempt: 1})
		k.reach(token)
		return spec, token
	}
	finish := func(spec events.JobSpec, token events.Seq, key events.Digest, from events.JobID) events.JobFinished {
		return events.JobFinished{
			Lane: eider.lane, Place: place, JobID: spec.ID, RequestID: spec.RequestID, Collector: "eider", Token: token, Attempt: 1, Outcome: events.Success,
			Key: key, ReusedFrom: from,
		}
	}
	did := func(id string, kind events.JobKind, of events.RequestKind, key events.Digest) {
		spec, token := begin(id, kind, of)
		k.reach(k.append(finish(spec, token, key, "")))
	}
	did("1", "compile", events.Master, "k")
	did("2", "compile", events.Try, "of a try")
	did("3", "check", events.Master, "of another kind")
	did("4", "compile", events.Master, "other")

	spec, token := begin("5", "compile", events.Master)
	for what, bad := range map[string]events.JobFinished{
		"a run of another key":       finish(spec, token, "k", "j4"),
		"a run that never was":       finish(spec, token, "k", "j99"),
		"itself":                     finish(spec, token, "k", spec.ID),
		"without a key":              finish(spec, token, "", "j1"),
		"a key that nothing has":     finish(spec, token, "none", "j1"),
		"a run of a try":             finish(spec, token, "of a try", "j2"),
		"a run of another kind":      finish(spec, token, "of another kind", "j3"),
		"a key that is too long":     finish(spec, token, events.Digest(strings.Repeat("k", 129)), "j1"),
		"a long key without a run":   finish(spec, token, events.Digest(strings.Repeat("k", 129)), ""),
		"with results of its own":    func() events.JobFinished { f := finish(spec, token, "k", "j1"); f.Measured = 1; return f }(),
		"as a failure":               func() events.JobFinished { f := finish(spec, token, "k", "j1"); f.Outcome = events.Failure; return f }(),
		"a name with all characters": finish(spec, token, "k", events.JobID("j1\x00'; --")),
	} {
		if _, err := c.Append(ctx, appendOf(token, bad)); !errors.Is(err, door.ErrNotPermitted) || !strings.Contains(err.Error(), "job j5") {
			t.Errorf("%s: %v, want a refusal that names the job", what, err)
		}
	}
	if _, err := c.Append(ctx, appendOf(token, finish(spec, token, "k", "j1"))); err != nil {
		t.Errorf("the run that the ledger names is refused: %v", err)
	}

	// Another run takes the place of the one that the collector was told of, and then one more.
	did("6", "compile", events.Master, "k")
	spec, token = begin("7", "compile", events.Master)
	if _, err := c.Append(ctx, appendOf(token, finish(spec, token, "k", "j1"))); err != nil {
		t.Errorf("the run before the newest one is refused: %v", err)
	}
	did("8", "compile", events.Master, "k")
	spec, token = begin("9", "compile", events.Master)
	if _, err := c.Append(ctx, appendOf(token, finish(spec, token, "k", "j1"))); !errors.Is(err, door.ErrNotPermitted) {
		t.Errorf("a run that stands for nothing any more: %v", err)
	}
	if _, err := c.Append(ctx, appendOf(token, finish(spec, token, "k", "j8"))); err != nil {
		t.Errorf("the newest run is refused: %v", err)
	}
}
