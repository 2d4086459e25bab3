package request

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/tachobench/tacho/events"
)

var now = time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC)

func fold(facts ...events.Fact) Request {
	var r Request
	for _, f := range facts {
		r = Evolve(r, f, now)
	}
	return r
}

func created(state events.RequestState) events.RequestCreated {
	return events.RequestCreated{RequestID: "r1", Kind: events.Try, Suite: "go", Tag: "b", Parent: "a", Key: "k", State: state}
}

// shared is a request of an account, in a queue, with a priority.
func shared() events.RequestCreated {
	f := created(events.StateArtifactsReady)
	f.Account, f.Queue, f.Priority = "alice", "bisect", events.PriorityHigh
	return f
}

func TestDecide(t *testing.T) {
	waiting := fold(created(events.StateWaitingForArtifacts))
	waiting.Artifact.Tag = ""
	absent := fold(created(events.StateWaitingForArtifacts)) // its tag is known, but its artifact is not there yet
	ready := fold(created(events.StateArtifactsReady))
	running := fold(created(events.StateArtifactsReady), events.RequestStarted{RequestID: "r1"})
	sampled := []events.Fact{
		created(events.StateArtifactsReady),
		events.RequestStarted{RequestID: "r1"},
		events.GraphCreated{RequestID: "r1", Kind: events.GraphInitial, Jobs: 2},
		events.GraphCreated{RequestID: "r1", Graph: 1, Kind: events.GraphNoise, Key: "k", Jobs: 2, Priority: events.PriorityIdle},
	}
	done := fold(created(events.StateArtifactsReady), events.RequestStarted{RequestID: "r1"}, events.RequestCompleted{RequestID: "r1"})
	twiceFailed := fold(created(events.StateArtifactsReady), events.RequestExpansionFailed{Failures: 1}, events.RequestExpansionFailed{Failures: 2})
	jobs := []events.JobSpec{{ID: "j1"}, {ID: "j2"}}

	for _, tc := range []struct {
		name    string
		given   Request
		when    Command
		then    []events.Fact
		refused bool
	}{
		{
			"a master request is ready at once",
			Request{},
			Create{Suite: "go", Kind: events.Master, Key: "b", Tag: "b", Parent: "a", PR: 14},
			[]events.Fact{events.RequestCreated{
				RequestID: events.NewRequestID("go", events.Master, "b"), Kind: events.Master, Suite: "go", Tag: "b", Parent: "a",
				PR: 14, Key: "b", State: events.StateArtifactsReady,
			}},
			false,
		},
		{
			"a try without a tag waits for its artifacts",
			Request{},
			Create{Suite: "go", Kind: events.Try, Key: "comment-7"},
			[]events.Fact{events.RequestCreated{
				RequestID: events.NewRequestID("go", events.Try, "comment-7"), Kind: events.Try, Suite: "go", Key: "comment-7",
				State: events.StateWaitingForArtifacts,
			}},
			false,
		},
		{"asking twice changes nothing", ready, Create{Suite: "go", Kind: events.Try, Key: "k", Tag: "b"}, nil, false},
		{"asking again without saying all", ready, Create{Suite: "go", Kind: events.Try, Key: "k"}, nil, false},
		{"asking again for another artifact", ready, Create{Suite: "go", Kind: events.Try, Key: "k", Tag: "c"}, nil, true},
		{"asking again with another parent", ready, Create{Suite: "go", Kind: events.Try, Key: "k", Tag: "b", Parent: "x"}, nil, true},
		{"asking again for another pull request", ready, Create{Suite: "go", Kind: events.Try, Key: "k", Tag: "b", PR: 7}, nil, true},
		{"asking again for another day", ready, Create{Suite: "go", Kind: events.Release, Key: "k", Tag: "b", ReleasedOn: "2026-02-10"}, nil, true},
		{
			"a program that asks again takes what is there", ready,
			Create{Suite: "go", Kind: events.Try, Key: "k", Tag: "b", Parent: "x", PR: 7, AsItIs: true},
			nil, false,
		},
		{
			"another account's key", fold(shared()),
			Create{Suite: "go", Kind: events.Try, Key: "k", Tag: "b", Account: "bob"},
			nil, true,
		},
		{"another account's key, by everyone", ready, Create{Suite: "go", Kind: events.Try, Key: "k", Tag: "b", Account: "bob"}, nil, true},
		{"asking again in another queue", fold(shared()), Create{Suite: "go", Kind: events.Try, Key: "k", Tag: "b", Account: "alice", Queue: "main"}, nil, true},
		{"asking again more urgently", fold(shared()), Create{Suite: "go", Kind: events.Try, Key: "k", Tag: "b", Account: "alice", Priority: "vip"}, nil, true},
		{
			"asking again for the same share", fold(shared()),
			Create{Suite: "go", Kind: events.Try, Key: "k", Tag: "b", Account: "alice", Queue: "bisect", Priority: "high"},
			nil, false,
		},
		{"asking again for the main queue", ready, Create{Suite: "go", Kind: events.Try, Key: "k", Tag: "b", Queue: "main", Priority: "normal"}, nil, false},
		{
			"who asks, where and how urgently",
			Request{},
			Create{Suite: "go", Kind: events.Master, Key: "b", Tag: "b", Account: "alice", Queue: "bisect", Priority: "high"},
			[]events.Fact{events.RequestCreated{
				RequestID: events.NewRequestID("go", events.Master, "b"), Kind: events.Master, Suite: "go", Tag: "b", Key: "b",
				State: events.StateArtifactsReady, Account: "alice", Queue: "bisect", Priority: "high",
			}},
			false,
		},
		{
			"main and normal are stored as nothing",
			Request{},
			Create{Suite: "go", Kind: events.Master, Key: "b", Tag: "b", Queue: "main", Priority: "normal"},
			[]events.Fact{events.RequestCreated{
				RequestID: events.NewRequestID("go", events.Master, "b"), Kind: events.Master, Suite: "go", Tag: "b", Key: "b",
				State: events.StateArtifactsReady,
			}},
			false,
		},
		{"an unknown priority is refused", Request{}, Create{Kind: events.Master, Key: "x", Tag: "x", Priority: "asap"}, nil, true},
		{"a master needs a tag", Request{}, Create{Kind: events.Master, Key: "x"}, nil, true},
		{"a tag is no path", Request{}, Create{Kind: events.Master, Key: "x", Tag: "../x"}, nil, true},
		{"nobody is its own parent", Request{}, Create{Kind: events.Master, Key: "x", Tag: "x", Parent: "x"}, nil, true},
		{"an unknown kind is refused", Request{}, Create{Kind: "nightly", Key: "x", Tag: "x"}, nil, true},
		{"a release date is a date", Request{}, Create{Kind: events.Release, Key: "x", Tag: "x", ReleasedOn: "soon"}, nil, true},
		{"PR -1 does not exist", Request{}, Create{Kind: events.Master, Key: "x", Tag: "x", PR: -1}, nil, true},
		{"what does not exist cannot start", Request{}, Start{}, nil, true},

		{"artifacts become ready", waiting, ArtifactsReady{Tag: "b", Parent: "a"}, []events.Fact{events.RequestArtifactsReady{RequestID: "r1", Tag: "b", Parent: "a"}}, false},
		{"artifacts that are ready already", ready, ArtifactsReady{Tag: "b", Parent: "a"}, nil, false},
		{"the parent of an artifact is no path", waiting, ArtifactsReady{Tag: "b", Parent: "../a"}, nil, true},
		{"a master's own artifact keeps its parent", absent, ArtifactsReady{Tag: "b"}, []events.Fact{events.RequestArtifactsReady{RequestID: "r1", Tag: "b", Parent: "a"}}, false},
		{"a master waits for its own artifact", absent, ArtifactsReady{Tag: "c"}, nil, true},
		{"what the farm lacks is said", ready, Hold{"no definitions", "v3"}, []events.Fact{events.RequestExpansionFailed{RequestID: "r1", Reason: "no definitions: v3", Waits: true}}, false},
		{"and not again in other words", fold(created(events.StateArtifactsReady), events.RequestExpansionFailed{Reason: "no definitions: v3", Waits: true}), Hold{"no definitions", "v4"}, nil, false},
		{"another lack is said", fold(created(events.StateArtifactsReady), events.RequestExpansionFailed{Reason: "no definitions: v3", Waits: true}), Hold{"no suite", ""}, []events.Fact{events.RequestExpansionFailed{RequestID: "r1", Reason: "no suite", Waits: true}}, false},
		{"other artifacts are refused", ready, ArtifactsReady{Tag: "c"}, nil, true},
		{
			"a failed try build is noted, and the request goes on waiting", waiting,
			BuildFailed{Reason: "x", URL: "u"},
			[]events.Fact{events.RequestBuildFailed{RequestID: "r1", Reason: "x", URL: "u"}},
			false,
		},
		{"a failed try build of a request that does not wait", ready, BuildFailed{Reason: "x"}, nil, false},
		{"a waiting request cannot start", waiting, Start{}, nil, true},
		{
			"the start and all jobs are one decision, the backfill first", ready,
			Start{Definitions: "d", Jobs: jobs[1:], Backfill: jobs[:1]},
			[]events.Fact{events.RequestStarted{RequestID: "r1", Definitions: "d", Jobs: 1, Backfill: 1}, events.JobsCreated{RequestID: "r1", Jobs: jobs}},
			false,
		},
		{"a request starts once", running, Start{}, nil, true},
		{"late backfill", running, AddBackfill{Jobs: jobs}, []events.Fact{events.JobsCreated{RequestID: "r1", Jobs: jobs}}, false},
		{"late backfill of an ended request", done, AddBackfill{Jobs: jobs}, nil, false},

		{"completed", running, Complete{Jobs: 12}, []events.Fact{events.RequestCompleted{RequestID: "r1", Jobs: 12}}, false},
		{
			"failed when a required job failed", running,
			Complete{Jobs: 12, Failed: 2},
			[]events.Fact{events.RequestFailed{RequestID: "r1", Reason: "2 of 12 required jobs failed", Jobs: 12, FailedJobs: 2}},
			false,
		},
		{
			"failed when a job was skipped", running,
			Complete{Jobs: 12, Failed: 2, Skipped: 1},
			[]events.Fact{events.RequestFailed{RequestID: "r1", Reason: "2 of 12 required jobs failed, and 1 needs others that failed", Jobs: 12, FailedJobs: 3}},
			false,
		},
		{
			"failed when jobs were skipped", running,
			Complete{Jobs: 12, Failed: 1, Skipped: 2},
			[]events.Fact{events.RequestFailed{RequestID: "r1", Reason: "1 of 12 required jobs failed, and 2 need others that failed", Jobs: 12, FailedJobs: 3}},
			false,
		},
		{"terminal is final", done, Complete{Jobs: 12, Failed: 2}, nil, false},
		{"a first failed expansion is noted", ready, FailExpansion{Reason: "x"}, []events.Fact{events.RequestExpansionFailed{RequestID: "r1", Reason: "x", Failures: 1}}, false},
		{
			"the third failed expansion quarantines", twiceFailed,
			FailExpansion{Reason: "x"},
			[]events.Fact{
				events.RequestExpansionFailed{RequestID: "r1", Reason: "x", Failures: 3},
				events.RequestFailed{RequestID: "r1", Reason: "quarantined: 3 times it could not be turned into jobs: x"},
			},
			false,
		},
		{
			"another priority", running,
			Prioritise{To: "vip", Reason: "the release"},
			[]events.Fact{events.PriorityChanged{RequestID: "r1", To: "vip", Reason: "the release"}},
			false,
		},
		{"normal again", fold(shared()), Prioritise{To: "normal"}, []events.Fact{events.PriorityChanged{RequestID: "r1"}}, false},
		{"the priority that it has", fold(shared()), Prioritise{To: "high"}, nil, false},
		{"the priority that it got", fold(shared(), events.PriorityChanged{RequestID: "r1", To: "low"}), Prioritise{To: "low"}, nil, false},
		{"normal is the priority that it has", ready, Prioritise{To: "normal"}, nil, false},
		{"an unknown priority", ready, Prioritise{To: "asap"}, nil, true},
		{"the priority of what is done", done, Prioritise{To: "low"}, nil, true},
		{"the priority of what does not exist", Request{}, Prioritise{To: "low"}, nil, true},
		{
			"another priority of a graph", fold(sampled...),
			Prioritise{Graph: new(1), To: "", Reason: "soon"},
			[]events.Fact{events.PriorityChanged{RequestID: "r1", Graph: new(1), To: "normal", Reason: "soon"}},
			false,
		},
		{
			"of a request that has ended", fold(append(slices.Clip(sampled), events.RequestCompleted{RequestID: "r1"})...),
			Prioritise{Graph: new(1), To: "low"},
			[]events.Fact{events.PriorityChanged{RequestID: "r1", Graph: new(1), To: "low"}},
			false,
		},
		{"the priority that a graph has", fold(sampled...), Prioritise{Graph: new(1), To: "idle"}, nil, false},
		{
			"the priority that a graph got", fold(append(slices.Clip(sampled), events.PriorityChanged{RequestID: "r1", Graph: new(1), To: "low"})...),
			Prioritise{Graph: new(1), To: "low"},
			nil, false,
		},
		{"more urgent than its request", fold(sampled...), Prioritise{Graph: new(1), To: "high"}, nil, true},
		{"the graph of the request itself", fold(sampled...), Prioritise{Graph: new(0), To: "low"}, nil, true},
		{"a graph that is not there", fold(sampled...), Prioritise{Graph: new(2), To: "low"}, nil, true},
		{"cancel", running, Cancel{Reason: "y"}, []events.Fact{events.RequestCancelled{RequestID: "r1", Reason: "y"}}, false},
		{"cancelling what is done is refused", done, Cancel{}, nil, true},
		{"cancelling twice", fold(created(events.StateArtifactsReady), events.RequestCancelled{}), Cancel{}, nil, false},
		{"expire a waiting request", waiting, Expire{Limit: time.Hour}, []events.Fact{events.RequestExpired{RequestID: "r1", Reason: "its artifacts were not ready within 1h0m0s"}}, false},
		{"a ready request does not expire", ready, Expire{}, nil, false},
		{"supersede before the start", ready, Supersede{By: "r2"}, []events.Fact{events.RequestSuperseded{RequestID: "r1", By: "r2"}}, false},
		{"no superseding after the start", running, Supersede{By: "r2"}, nil, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, err := Decide(tc.given, tc.when)
			if _, ok := errors.AsType[*Refusal](err); ok != tc.refused {
				t.Fatalf("error %v, want refused %v", err, tc.refused)
			}
			if diff := cmp.Diff(tc.then, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestManyJobsAreSeveralEvents(t *testing.T) {
	facts, err := Decide(fold(created(events.StateArtifactsReady)), Start{Jobs: make([]events.JobSpec, 2*jobsPerEvent+1)})
	if err != nil {
		t.Fatal(err)
	}
	if len(facts) != 4 {
		t.Errorf("%d facts, want a start and 3 parts", len(facts))
	}
}

// Any facts in any order: a terminal state never changes, and only artifacts_ready starts.
func TestTerminalIsFinal(t *testing.T) {
	facts := []events.Fact{
		created(events.StateArtifactsReady), created(events.StateWaitingForArtifacts),
		events.RequestArtifactsReady{RequestID: "r1", Tag: "b"},
		events.RequestStarted{RequestID: "r1"},
		events.JobsCreated{Jobs: []events.JobSpec{{ID: "j"}}},
		events.RequestCompleted{},
		events.RequestFailed{},
		events.RequestCancelled{},
		events.RequestCancelledWithJobs{},
		events.GraphWanted{Key: "k", Kind: events.GraphRepair},
		events.GraphRefused{Key: "k"},
		events.RequestExpired{},
		events.RequestSuperseded{},
		events.RequestExpansionFailed{Failures: 1},
		events.PriorityChanged{To: events.PriorityLow},
	}
	rapid.Check(t, func(t *rapid.T) {
		var r Request
		for i, f := range rapid.SliceOfN(rapid.SampledFrom(facts), 1, 30).Draw(t, "facts") {
			before := r
			r = Evolve(r, f, now.Add(time.Duration(i)*time.Second))
			if before.State.Terminal() {
				// Later wishes and the jobs made for them are noted, and change nothing else.
				noted := r
				noted.Jobs, noted.Asked, noted.Wishes = before.Jobs, before.Asked, before.Wishes
				if diff := cmp.Diff(before, noted); diff != "" {
					t.Fatalf("%T changed a %s request:\n%s", f, before.State, diff)
				}
			}
			// Evolve must take in what Decide returns: to decide the same end again returns nothing.
			for _, c := range []Command{Complete{Jobs: 1}, Cancel{}, Expire{}, FailExpansion{Reason: "x"}, Prioritise{To: events.PriorityVIP}} {
				decided, err := Decide(r, c)
				if err != nil || len(decided) == 0 {
					continue
				}
				after := r
				for _, d := range decided {
					after = Evolve(after, d, now)
				}
				if fmt.Sprint(after) == fmt.Sprint(r) {
					t.Fatalf("%#v recorded %v, which changes nothing", c, decided)
				}
			}
		}
	})
}

// Only a request that may still start has no jobs yet.
func TestAWishBeforeTheStartSaysWhatToDo(t *testing.T) {
	for _, tt := range []struct {
		last events.Fact
		says string
	}{
		{nil, "request r1 has no jobs yet: it is artifacts_ready; ask again when it has started (`tacho request show r1`)"},
		{events.RequestCancelled{RequestID: "r1"}, "request r1 has no jobs: it is cancelled, and was never started; ask for its artifact as a try"},
		{events.RequestFailed{RequestID: "r1"}, "request r1 has no jobs: it is failed, and was never started;"},
		{events.RequestSuperseded{RequestID: "r1"}, "request r1 has no jobs: it is superseded, and was never started;"},
	} {
		facts := []events.Fact{created(events.StateArtifactsReady)}
		if tt.last != nil {
			facts = append(facts, tt.last)
		}
		got, err := Decide(fold(facts...), Want{GraphWanted: events.GraphWanted{Key: "k", Kind: events.GraphRetrigger}})
		if err == nil || len(got) > 0 || !strings.HasPrefix(err.Error(), tt.says) {
			t.Errorf("%v, %v; want %q", got, err, tt.says)
		}
	}
}
