package node

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"testing"
	"time"

	"github.com/tachobench/tacho/blob"
	blobjs "github.com/tachobench/tacho/blob/jetstream"
	"github.com/tachobench/tacho/eventlog"
	"github.com/tachobench/tacho/eventlog/jetstream"
	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/internal/natsserver"
)

// The store asks the ledger: what a running job has just stored and what an open graph needs stays, as long as it is so.
func TestWhatAnOpenGraphNeedsStays(t *testing.T) {
	server, err := natsserver.Start(natsserver.Config{Dir: t.TempDir(), Unsynced: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Shutdown)
	k := &core{}
	if k.nc, err = server.Connect(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(k.nc.Close)
	if k.log, err = jetstream.Open(t.Context(), k.nc, jetstream.Config{}); err != nil {
		t.Fatal(err)
	}
	k.outputs, err = blobjs.Open(t.Context(), k.nc, blobjs.Config{MaxBytes: 1 << 20, Needs: k.neededOutputs, UnderWay: k.putsUnderWay})
	if err != nil {
		t.Fatal(err)
	}
	follow := k.ledger(time.Now, slog.New(slog.DiscardHandler))
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- follow.Run(ctx) }()
	t.Cleanup(func() { cancel(); <-done })

	happens := func(facts ...events.Fact) (seq events.Seq) {
		t.Helper()
		for _, f := range facts {
			last, _, err := k.log.Last(t.Context(), f.Subject())
			if err != nil {
				t.Fatal(err)
			}
			e := eventlog.NewEvent(f, eventlog.Meta{Source: "test", Actor: "test"}, time.Now())
			if seq, err = k.log.Append(t.Context(), eventlog.Append{Subject: f.Subject(), Expected: last.Seq, Events: []events.Event{e}}); err != nil {
				t.Fatal(err)
			}
		}
		return seq
	}
	lane := events.Lane{Target: "linux", Set: 1}
	spec := func(id events.JobID, kind events.JobKind) events.JobSpec {
		return events.JobSpec{
			ID: id, RequestID: "r1", Artifact: events.Artifact{Suite: "go", Tag: "x", Kind: events.Release}, Kind: kind, Target: lane.Target, Set: lane.Set,
		}
	}
	build := spec("j1", "build")
	token := happens(
		events.RegistryOpened{}, events.CollectorRegistered{Name: "eider", Target: lane.Target, Set: lane.Set},
		events.RequestCreated{RequestID: "r1", Suite: "go", Kind: events.Release, Tag: "x", State: events.StateArtifactsReady},
		events.RequestStarted{RequestID: "r1", Jobs: 2, Graphs: 1},
		events.GraphCreated{RequestID: "r1", Kind: events.GraphInitial, Jobs: 2, Needs: 1},
		events.JobsCreated{RequestID: "r1", Jobs: []events.JobSpec{build, spec("j2", "compile")}, Graph: &events.GraphPart{Needs: []events.JobNeeds{{Job: 1, On: []int{0}, Output: "toolchain"}}}},
		events.JobDispatched{Place: 1, Job: build},
		events.JobDequeued{Lane: lane, Place: 1, Job: build, Collector: "eider", Instance: "1", Attempt: 1},
	)
	data := bytes.Repeat([]byte("built"), 120_000)
	o := blob.OutputOf("toolchain", data)
	if err := k.outputs.Put(t.Context(), lane, "j1", o, bytes.NewReader(data)); err != nil {
		t.Fatal(err)
	}
	other := bytes.Repeat([]byte("other"), 120_000)
	refused := func(when string) {
		t.Helper()
		err := k.outputs.Put(t.Context(), lane, "j9", blob.OutputOf("other", other), bytes.NewReader(other))
		if !errors.Is(err, blob.ErrFull) {
			t.Fatalf("%s: the next put: %v", when, err)
		}
		if got, err := blob.Bytes(t.Context(), k.outputs, lane, o); err != nil || !bytes.Equal(got, data) {
			t.Fatalf("%s: %d bytes, %v", when, len(got), err)
		}
	}
	refused("stored and not said")
	half := blob.OutputOf("half", []byte("half"))
	if _, _, err := k.outputs.Begin(t.Context(), blob.Wish{Lane: lane, Job: "j1", Output: half}); err != nil {
		t.Fatal(err)
	}
	if err := k.outputs.Tidy(t.Context()); err != nil {
		t.Fatal(err)
	}
	with, err := k.outputs.Usage(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	happens(
		events.OutputStored{Lane: lane, JobID: "j1", Collector: "eider", Token: token, Attempt: 1, Output: o},
		events.JobFinished{Lane: lane, Place: 1, JobID: "j1", RequestID: "r1", Collector: "eider", Token: token, Attempt: 1, Outcome: events.Success},
	)
	refused("said and not used")
	if err := k.outputs.Tidy(t.Context()); err != nil {
		t.Fatal(err)
	}
	if u, err := k.outputs.Usage(t.Context()); err != nil || u.Needed != u.Bytes || u.Bytes >= with.Bytes || u.Refused == nil {
		t.Fatalf("the put of a job that has ended is under way: %+v after %+v, %v", u, with, err)
	}
	happens(events.RequestCancelled{RequestID: "r1"}, events.JobsWithdrawn{RequestID: "r1", Jobs: []events.JobID{"j2"}}, events.GraphEnded{RequestID: "r1"})
	if err := k.outputs.Put(t.Context(), lane, "j9", blob.OutputOf("other", other), bytes.NewReader(other)); err != nil {
		t.Fatalf("the graph has ended: %v", err)
	}
	if _, err := blob.Bytes(t.Context(), k.outputs, lane, o); !errors.Is(err, blob.ErrMissing) {
		t.Errorf("the oldest unused output stays: %v", err)
	}
}
