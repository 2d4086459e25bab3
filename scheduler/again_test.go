package scheduler

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/rules/request"
	"github.com/tachobench/tacho/rules/suite"
)

// until lets things happen until these kinds have run.
func (f *graphFarm) until(ran string) {
	for strings.Join(f.ran, " ") != ran {
		f.step()
	}
}

// rerun asks for the next round of a job that succeeded.
func (f *graphFarm) rerun(id events.RequestID, kind events.JobKind) {
	f.wish(id, events.GraphWanted{Kind: events.GraphRerun, Select: []events.JobID{f.only(kind)}, Force: true, Reason: "the disk was full"})
}

func TestRulesOfForcedReruns(t *testing.T) {
	const abz = "a b:a z:b"
	playGraphRules(t, []graphRule{
		{
			name: "a success runs again, and what had begun goes on", kinds: abz,
			does: func(f *graphFarm, id events.RequestID) { f.until("a"); f.rerun(id, "a") },
			ran:  "a a b z", state: events.StateCompleted, graphs: "success 3/0/0",
		},
		{
			name: "the new round fails, and what it was needed for runs", kinds: abz, ends: map[events.JobKind]string{"a": "+-"},
			does: func(f *graphFarm, id events.RequestID) { f.until("a"); f.rerun(id, "a") },
			ran:  "a a b z", state: events.StateFailed, graphs: "failure 3/1/0 by [0]",
		},
		{
			name: "the new round fails after what needs it has ended", kinds: abz, ends: map[events.JobKind]string{"a": "+-"},
			does: func(f *graphFarm, id events.RequestID) { f.until("a b"); f.rerun(id, "a") },
			ran:  "a b a z", state: events.StateFailed, graphs: "failure 3/1/0 by [0]",
		},
		{
			name: "then it alone runs again", kinds: abz, ends: map[events.JobKind]string{"a": "+-+"},
			does: func(f *graphFarm, id events.RequestID) {
				f.until("a b")
				f.rerun(id, "a")
				f.until("a b a")
				f.want(id, events.GraphRerun)
			},
			ran: "a b a z a", state: events.StateCompleted, graphs: "success 3/0/0",
		},
		{
			name: "and one that needed it runs again without it", kinds: abz, ends: map[events.JobKind]string{"a": "+-"},
			does: func(f *graphFarm, id events.RequestID) {
				f.until("a b")
				f.rerun(id, "a")
				f.until("a b a")
				f.rerun(id, "b")
			},
			ran: "a b a z b", state: events.StateFailed, graphs: "failure 3/1/0 by [0]",
		},
		{
			name: "a repair takes it alone", kinds: abz, ends: map[events.JobKind]string{"a": "+-+"},
			does: func(f *graphFarm, id events.RequestID) {
				f.until("a b")
				f.rerun(id, "a")
				f.settle()
				f.want(id, events.GraphRepair)
			},
			ran: "a b a z a", state: events.StateFailed, graphs: "failure 3/1/0 by [0]",
		},
		{
			name: "all of them, by a selector", kinds: abz,
			does: func(f *graphFarm, id events.RequestID) {
				f.until("a b")
				f.wish(id, events.GraphWanted{Kind: events.GraphRerun, Where: []string{"state=success"}, Force: true, Reason: "all"})
			},
			ran: "a b a b z", state: events.StateCompleted, graphs: "success 3/0/0",
		},
		{
			name: "without force it is refused", kinds: abz,
			does: func(f *graphFarm, id events.RequestID) {
				f.until("a b")
				f.want(id, events.GraphRerun, f.only("a"))
				f.refusedWith("graph retrigger rt1 --job "+string(f.only("a")), "job rerun "+string(f.only("a"))+" --force --reason TEXT")
			},
			ran: "a b z", state: events.StateCompleted, graphs: "success 3/0/0",
		},
		{
			name: "after the end it is refused", kinds: abz,
			does: func(f *graphFarm, id events.RequestID) {
				f.settle()
				f.rerun(id, "a")
				f.refusedWith("tacho graph retrigger rt1")
			},
			ran: "a b z", state: events.StateCompleted, graphs: "success 3/0/0",
		},
		{
			name: "a job in no graph runs again, too", kinds: "a b", ends: map[events.JobKind]string{"a": "+-"},
			does: func(f *graphFarm, id events.RequestID) { f.until("a"); f.rerun(id, "a") },
			ran:  "a b a", state: events.StateFailed,
		},
	}, nil, nil)
}

// refusedWith lets a wish be answered, and checks that it is refused with these words.
func (f *graphFarm) refusedWith(words ...string) {
	f.t.Helper()
	for f.refused() == "" {
		f.step()
	}
	for _, w := range words {
		if got := f.refused(); !strings.Contains(got, w) {
			f.t.Errorf("refused with %q, want %q in it", got, w)
		}
	}
}

func TestRulesOfAddedJobs(t *testing.T) {
	add := func(f *graphFarm, id events.RequestID, kinds string) {
		f.wish(id, events.GraphWanted{Kind: events.GraphAdded, Where: []string{"kind=" + kinds}})
	}
	const abxyz = "a b:a x:a! y:x! z!"
	playGraphRules(t, []graphRule{
		{
			name: "one that needs nothing, while the request runs", kinds: abxyz,
			does: func(f *graphFarm, id events.RequestID) { f.until("a"); add(f, id, "z") },
			ran:  "a b z", state: events.StateCompleted, graphs: "success 2/0/0, success 1/0/0",
		},
		{
			name: "the request waits for it, and fails with it", kinds: abxyz, ends: map[events.JobKind]string{"x": "-"},
			does: func(f *graphFarm, id events.RequestID) { f.until("a"); add(f, id, "x") },
			ran:  "a b x", state: events.StateFailed, graphs: "success 2/0/0, failure 2/1/0 by [0]",
		},
		{
			name: "after the end the request stays as it ended", kinds: abxyz, ends: map[events.JobKind]string{"x": "-"},
			does: func(f *graphFarm, id events.RequestID) { f.settle(); add(f, id, "x,y") },
			ran:  "a b x", state: events.StateCompleted, graphs: "success 2/0/0, failure 3/1/1 by [0]",
		},
		{
			name: "two, one of which needs the other", kinds: abxyz,
			does: func(f *graphFarm, id events.RequestID) { f.settle(); add(f, id, "x,y") },
			ran:  "a b x y", state: events.StateCompleted, graphs: "success 2/0/0, success 3/0/0",
		},
		{
			name: "one after the other", kinds: abxyz,
			does: func(f *graphFarm, id events.RequestID) {
				f.until("a")
				add(f, id, "x")
				for len(f.state.Graphs[id]) < 2 {
					f.step()
				}
				add(f, id, "y")
			},
			ran: "a b x y", state: events.StateCompleted, graphs: "success 2/0/0, success 2/0/0, success 3/0/0",
		},
		{
			name: "one that needs another that is switched off", kinds: abxyz,
			does: func(f *graphFarm, id events.RequestID) {
				f.settle()
				add(f, id, "y")
				f.refusedWith("y/here/0/b/p needs x/here/0/b/p, which is switched off as well: name that one, too (--job x/here/0/b/p)")
			},
			ran: "a b", state: events.StateCompleted, graphs: "success 2/0/0",
		},
		{
			name: "one that needs what failed", kinds: abxyz, ends: map[events.JobKind]string{"a": "-+"},
			does: func(f *graphFarm, id events.RequestID) {
				f.settle()
				add(f, id, "x")
				f.refusedWith("did not succeed: run it again first with `tacho request repair rt1 --select ")
				f.want(id, events.GraphRepair)
				f.settle()
				add(f, id, "x")
			},
			ran: "a a b x", state: events.StateFailed, graphs: "failure 2/1/1 by [0], success 2/0/0, success 2/0/0",
		},
		{
			name: "it waits for what waits itself", kinds: "a b:a x:b!", ends: map[events.JobKind]string{"a": "-+"},
			does: func(f *graphFarm, id events.RequestID) {
				for len(f.state.Graphs) == 0 || f.state.Owed > 0 {
					f.step()
				}
				add(f, id, "x")
				for len(f.state.Graphs[id]) < 2 || len(f.ran) < 1 {
					f.step()
				}
			},
			ran: "a", state: events.StateFailed, graphs: "failure 2/1/1 by [0], failure 3/1/2 by [1]",
		},
		{
			name: "what it needs fails, and runs again: so it does", kinds: "a b:a x:b!", ends: map[events.JobKind]string{"a": "-+"},
			does: func(f *graphFarm, id events.RequestID) {
				for len(f.state.Graphs) == 0 || f.state.Owed > 0 {
					f.step()
				}
				add(f, id, "x")
				for len(f.state.Graphs[id]) < 2 {
					f.step()
				}
				f.until("a")
				f.want(id, events.GraphRerun)
			},
			ran: "a a b x", state: events.StateCompleted, graphs: "success 2/0/0, success 3/0/0",
		},
		{
			name: "what is added twice", kinds: abxyz,
			does: func(f *graphFarm, id events.RequestID) {
				f.settle()
				add(f, id, "z")
				f.settle()
				f.wish(id, events.GraphWanted{Kind: events.GraphAdded, Labels: []string{"z/here/0/b/p"}})
				f.refusedWith("z/here/0/b/p is a job of the request already")
				f.settle()
				add(f, id, "z")
				f.settle()
				f.refusedWith("no job that is switched off has kind=z: use one of x/here/0/b/p, y/here/0/b/p")
			},
			ran: "a b z", state: events.StateCompleted, graphs: "success 2/0/0, success 1/0/0",
		},
		{
			name: "an unknown label", kinds: abxyz,
			does: func(f *graphFarm, id events.RequestID) {
				f.settle()
				f.wish(id, events.GraphWanted{Kind: events.GraphAdded, Labels: []string{"q/here/0/b/p"}})
				f.refusedWith("no job q/here/0/b/p is switched off: use one of x/here/0/b/p, y/here/0/b/p, z/here/0/b/p")
			},
			ran: "a b", state: events.StateCompleted, graphs: "success 2/0/0",
		},
		{
			name: "nothing is switched off", kinds: "a b:a",
			does: func(f *graphFarm, id events.RequestID) {
				f.settle()
				add(f, id, "a")
				f.refusedWith("no job of request rt1 is switched off")
			},
			ran: "a b", state: events.StateCompleted, graphs: "success 2/0/0",
		},
		{
			name: "a repair takes it, long after the request has ended", kinds: abxyz, ends: map[events.JobKind]string{"x": "-+"},
			does: func(f *graphFarm, id events.RequestID) {
				f.settle()
				add(f, id, "x")
				f.settle()
				if len(f.state.Jobs) > 0 {
					f.t.Errorf("%d jobs are in memory", len(f.state.Jobs))
				}
				f.want(id, events.GraphRepair)
			},
			ran: "a b x x", state: events.StateCompleted, graphs: "success 2/0/0, failure 2/1/0 by [0], success 2/0/0",
		},
		{
			name: "its graph is cancelled, and the request ends without it", kinds: abxyz,
			does: func(f *graphFarm, id events.RequestID) {
				f.until("a")
				add(f, id, "x")
				for len(f.state.Graphs[id]) < 2 {
					f.step()
				}
				f.cancel(id, request.CancelGraph{Graph: 1})
			},
			ran: "a b", state: events.StateCompleted, graphs: "success 2/0/0, cancelled 2/1/0",
		},
		{
			name: "its graph is cancelled, and what the request has in no other graph goes on", kinds: "a x:a!",
			does: func(f *graphFarm, id events.RequestID) {
				for len(f.state.Requests[id].Jobs) == 0 || f.state.Owed > 0 {
					f.step()
				}
				add(f, id, "x")
				for len(f.state.Graphs[id]) < 1 {
					f.step()
				}
				f.cancel(id, request.CancelGraph{Graph: 0})
			},
			ran: "a", state: events.StateCompleted, graphs: "cancelled 2/1/0",
		},
		{
			name: "its request is cancelled", kinds: abxyz,
			does: func(f *graphFarm, id events.RequestID) {
				f.until("a")
				add(f, id, "x,y,z")
				for len(f.state.Graphs[id]) < 2 {
					f.step()
				}
				f.cancel(id, request.Cancel{})
			},
			ran: "a", state: events.StateCancelled, graphs: "cancelled 2/1/0, cancelled 4/2/1 by [0]",
		},
	}, nil, func(t *testing.T, f *graphFarm) {
		if len(f.state.Graphs)+len(f.state.Over)+f.state.Blocked+len(f.state.Jobs) > 0 {
			t.Errorf("%d graphs are left, %d blocked jobs, %d jobs in memory", len(f.state.Graphs), f.state.Blocked, len(f.state.Jobs))
		}
	})
}

// cancel withdraws a request or a graph.
func (f *graphFarm) cancel(id events.RequestID, c request.Command) {
	facts, err := request.Decide(*f.state.Requests[id], c)
	if err != nil || len(facts) != 1 {
		f.t.Fatal(facts, err)
	}
	f.fold(facts...)
}

// made returns the graphs that were made: request, kind, and the numbers of jobs and needs.
func (f *graphFarm) madeBy(id events.RequestID) (jobs []string) {
	for _, e := range f.log {
		if made, ok := e.Fact.(events.JobsCreated); ok && made.RequestID == id {
			for _, spec := range made.Jobs {
				jobs = append(jobs, fmt.Sprintf("%s/%s.%d", spec.Artifact.Tag, spec.Kind, spec.Round))
			}
		}
	}
	return jobs
}

// A job that another request had made is shared, and outlives that request while the one that added it wants it.
func TestAnAddedJobOfAnotherRequestIsShared(t *testing.T) {
	for _, dies := range []bool{false, true} {
		for _, when := range []string{"open", "cancelled", "ended"} {
			t.Run(fmt.Sprintf("%s/dies=%v", when, dies), func(t *testing.T) {
				f := newGraphFarm(t, kinds("a x:a!"))
				f.dies = dies
				f.ask("t1", "", events.Try) // has both
				f.fold(events.RequestCreated{RequestID: "rm", Kind: events.Master, Suite: "s", Tag: "t1", Key: "m", State: events.StateArtifactsReady})
				for f.state.Requests["rm"].StartedAt.IsZero() || f.state.Requests["rt1"].StartedAt.IsZero() || f.state.Owed > 0 {
					f.step()
				}
				if when == "ended" {
					f.settle()
				}
				f.wish("rm", events.GraphWanted{Kind: events.GraphAdded, Where: []string{"kind=x"}})
				for len(f.state.Graphs["rm"]) == 0 {
					f.step()
				}
				if when == "cancelled" {
					f.cancel("rt1", request.Cancel{})
				}
				f.settle()
				f.agree()
				if got := strings.Join(f.ran, " "); got != "a x" {
					t.Errorf("ran %s, want each once", got)
				}
				if got := f.madeBy("rm"); !slices.Equal(got, []string{"t1/a.0"}) {
					t.Errorf("the master made %v, want what it began with", got)
				}
				if got := f.state.Requests["rm"].State; got != events.StateCompleted {
					t.Errorf("the master is %s", got)
				}
			})
		}
	}
}

// The parent gets the same jobs, if it lacks them and can have them.
func TestAddedJobsAreMadeForTheParentToo(t *testing.T) {
	d := kinds("a x:a! y!")
	d.Kinds[0].Backfill, d.Kinds[1].Backfill = true, true
	for _, fails := range []bool{false, true} {
		f := newGraphFarm(t, d)
		f.ask("t0", "", events.Master)
		want := []string{"t1/a.0", "t0/x.0", "t1/x.0", "t1/y.0"}
		if fails { // that of the parent, which comes first
			f.ends["a"], want = "-+", []string{"t1/a.0", "t1/x.0", "t1/y.0"}
		}
		f.settle()
		id := f.ask("t1", "t0", events.Master)
		f.settle()
		f.wish(id, events.GraphWanted{Kind: events.GraphAdded, Where: []string{"name=*"}})
		f.settle()
		if got := f.madeBy(id); !slices.Equal(got, want) {
			t.Errorf("made %v, want %v", got, want)
		}
		f.agree()
	}
}

func TestABranchCanForbidMoreJobs(t *testing.T) {
	for customise, refused := range map[string]string{
		suite.CustomiseNone: `the branch forbids it: [[branch]] release/* in the suite file has customise = "none"`, suite.CustomiseAny: "", "": "",
	} {
		d := kinds("a x!")
		d.Branches = []suite.Branch{{Match: "release/*", Customise: customise}}
		f := newGraphFarm(t, d)
		f.fold(events.RequestCreated{
			RequestID: "r1", Kind: events.Master, Suite: "s", Tag: "t1", Key: "t1", State: events.StateArtifactsReady, Branch: "release/1",
		})
		f.settle()
		f.wish("r1", events.GraphWanted{Kind: events.GraphAdded, Where: []string{"kind=x"}})
		f.settle()
		if got := f.refused(); !strings.HasPrefix(got, refused) || refused == "" && got != "" {
			t.Errorf("customise %q: refused with %q, want %q", customise, got, refused)
		}
	}
}

func TestClonesWithOtherIterations(t *testing.T) {
	for customise, refused := range map[string]string{
		suite.CustomiseAny: "", suite.CustomiseOptions: `branch release/* has customise = "options"`, "": `branch release/* has customise = "none"`,
	} {
		d := kinds("a")
		d.Branches = []suite.Branch{{Match: "release/*", Customise: customise}}
		f := newGraphFarm(t, d)
		f.dies = true
		f.fold(events.RequestCreated{
			RequestID: "r1", Kind: events.Master, Suite: "s", Tag: "t1", Key: "t1", State: events.StateArtifactsReady, Branch: "release/1",
		})
		f.settle()
		f.wish("r1", events.GraphWanted{Kind: events.GraphRetrigger, Iterations: 30})
		f.settle()
		if got := f.refused(); !strings.HasPrefix(got, refused) || refused == "" && got != "" {
			t.Errorf("customise %q: refused with %q, want %q", customise, got, refused)
		}
		var customised, dispatched []string
		for _, e := range f.log {
			// The others say nothing about iterations.
			//exhaustive:ignore
			switch fact := e.Fact.(type) {
			case events.GraphCreated:
				customised = append(customised, fmt.Sprint(fact.Customised))
			case events.JobDispatched:
				dispatched = append(dispatched, fmt.Sprint(fact.Job.Iterations))
			}
		}
		want := "[true] [0 30]"
		if refused != "" {
			want = "[] [0]"
		}
		if got := fmt.Sprint(customised, dispatched); got != want {
			t.Errorf("customise %q: graphs and dispatches %s, want %s", customise, got, want)
		}
	}
}

// A sample that waits for a job of the request waits with it, and is never run without what it needs.
func TestSamplesWaitWithWhatTheyNeed(t *testing.T) {
	for ends, ran := range map[string]string{"-": "a", "+": "a b c c"} {
		f := newGraphFarm(t, kinds("a b:a c:b"))
		f.ends["a"] = ends
		id := f.ask("t1", "", events.Master)
		for len(f.state.Graphs) == 0 || f.state.Owed > 0 {
			f.step()
		}
		f.wish(id, events.GraphWanted{Kind: events.GraphRetrigger, Where: []string{"kind=c"}, Downstream: events.DownstreamNeeded})
		f.settle()
		f.agree()
		if got := strings.Join(f.ran, " "); got != ran {
			t.Errorf("a ends as %s: ran %s, want %s", ends, got, ran)
		}
	}
}
