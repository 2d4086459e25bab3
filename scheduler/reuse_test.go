package scheduler

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/rules/ledger"
	"github.com/tachobench/tacho/rules/suite"
)

// building returns definitions whose kind b builds what the kinds m and n measure, and whose kind c is a check that asks for
// reuse.
func building() suite.Definitions {
	d := kinds("b m:b n:b c:m")
	d.Artifact = suite.Artifact{Kind: suite.ArtifactBuilt, Repository: "r", Driver: suite.DriverCommand}
	d.Sources.Revision, d.Defaults = "rev", suite.Defaults{Iterations: suite.Iterations{Number: 3}, Timeout: "5m"}
	d.Kinds[0].Does, d.Kinds[0].Steps, d.Kinds[0].Outputs = suite.DoesBuild, [][]string{{"make"}}, []suite.OutputPaths{{Name: "prog", Paths: []string{"prog"}}}
	d.Kinds[1].Needs[0].Output, d.Kinds[2].Needs[0].Output = "prog", "prog"
	d.Kinds[3].Does, d.Kinds[3].Steps, d.Kinds[3].Reuse = suite.DoesCommand, [][]string{{"check"}}, suite.ReuseEqual
	d.Scenarios = []suite.Scenario{{Name: "full", Cache: suite.CacheNone}}
	d.Categories = map[events.RequestKind][]suite.Category{events.Master: {suite.Primary}, events.Try: {suite.Primary}}
	for _, kind := range []events.JobKind{"m", "n"} {
		d.Benchmarks = append(d.Benchmarks, suite.BenchmarkDef{Name: events.Benchmark("of-" + kind), Kind: kind, Category: suite.Primary, Source: "x", Command: []string{"x"}})
	}
	return d
}

// content is what the program of a commit is: commits with one first letter are byte for byte the same.
func content(tag events.Tag) events.Digest { return events.Digest("content-of-" + tag[:1]) }

// newReuseFarm returns a farm whose collectors record what they yield, and the keys of what they did.
func newReuseFarm(t testing.TB, d suite.Definitions) *graphFarm {
	f := newGraphFarm(t, d)
	f.machineIs("machine", "1")
	f.done = func(j *ledger.Job, end *events.JobFinished) []events.Fact {
		spec := j.Spec()
		defs := f.state.Definitions[spec.Definitions]
		c := f.state.Collector(end.Collector)
		with := suite.Goes{Fingerprint: c.Fingerprint, Drivers: c.Drivers}
		if defs.TakesTree(spec) {
			with.Tree = content(spec.Artifact.Tag)
		}
		kind, _ := defs.Kind(spec.Kind)
		for _, n := range kind.Needs {
			if n.Output != "" {
				with.Inputs = append(with.Inputs, events.Input{Output: events.Output{Name: n.Output, Digest: content(spec.Artifact.Tag)}, Kind: n.Kind})
			}
		}
		end.Key, _ = defs.Key(spec, with)
		if kind.Builds() {
			return []events.Fact{events.OutputStored{
				Lane: end.Lane, JobID: end.JobID, Collector: end.Collector, Token: end.Token, Attempt: end.Attempt,
				Output: events.Output{Name: "prog", Digest: content(spec.Artifact.Tag), Bytes: 1},
			}}
		}
		return nil
	}
	return f
}

// machineIs lets all collectors start anew, on a machine with a fingerprint and with drivers of a version.
func (f *graphFarm) machineIs(fingerprint events.Digest, version string) {
	for name := range f.state.Collectors {
		f.fold(events.CollectorOnline{
			Name: name, Instance: "i", Environment: events.Environment{Fingerprint: fingerprint},
			Drivers: map[string]string{suite.DriverCommand: version}, Knows: []string{events.KnowsMatched, events.KnowsBuild, events.KnowsSuite2},
		})
	}
}

// reused returns the kinds and tags of the jobs that took a run over, and checks each: the run ran, succeeded and has the key.
func (f *graphFarm) reused() string {
	var out []string
	specs, ran := map[events.JobID]events.JobSpec{}, map[events.JobID]events.Digest{}
	for _, e := range f.log {
		// The others are not about runs.
		//exhaustive:ignore
		switch fact := e.Fact.(type) {
		case events.JobsCreated:
			for _, spec := range fact.Jobs {
				specs[spec.ID] = spec
			}
		case events.JobFinished:
			if fact.Outcome == events.Success {
				ran[fact.JobID] = fact.Key
			}
		case events.JobReused:
			if key, did := ran[fact.From]; !did || key != fact.Key || specs[fact.From].Kind != specs[fact.JobID].Kind {
				f.t.Fatalf("job %s of kind %s takes over run %s of kind %s, which has the key %q and not %q",
					fact.JobID, specs[fact.JobID].Kind, fact.From, specs[fact.From].Kind, key, fact.Key)
			}
			out = append(out, string(specs[fact.JobID].Kind))
		}
	}
	slices.Sort(out)
	return strings.Join(out, " ")
}

func TestWhatIsTheSameIsNotDoneTwice(t *testing.T) {
	for _, tt := range []struct {
		name   string
		change func(f *graphFarm, d suite.Definitions)
		tag    events.Tag
		reused string
	}{
		{"the same program", nil, "a2", "c m n"},
		{"another program", nil, "b1", "c"},
		{"another description", func(f *graphFarm, d suite.Definitions) { d.Description = "new"; f.publish(d) }, "a2", "c m n"},
		{"more iterations", func(f *graphFarm, d suite.Definitions) {
			d.Benchmarks[0].Iterations = suite.Iterations{Number: 9}
			f.publish(d)
		}, "a2", "c n"},
		{"another machine", func(f *graphFarm, _ suite.Definitions) { f.machineIs("other", "1") }, "a2", "c"},
		{"another driver", func(f *graphFarm, _ suite.Definitions) { f.machineIs("machine", "2") }, "a2", "c"},
		{"never", func(f *graphFarm, d suite.Definitions) { d.Kinds[1].Reuse = suite.ReuseNever; f.publish(d) }, "a2", "c n"},
		{"a failure", func(f *graphFarm, _ suite.Definitions) { f.ends["b"] = "-" }, "a2", ""},
	} {
		for _, dies := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/dies=%v", tt.name, dies), func(t *testing.T) {
				d := building()
				f := newReuseFarm(t, d)
				f.dies = dies
				f.ask("a1", "", events.Master)
				f.settle()
				if got := strings.Join(f.ran, " "); got != "b m n c" && got != "b m c n" {
					t.Fatalf("ran %s at first", got)
				}
				if tt.change != nil {
					tt.change(f, d)
				}
				id := f.ask(tt.tag, "", events.Master)
				f.settle()
				if got := f.reused(); got != tt.reused {
					t.Errorf("reused %q, want %q; all ran: %v", got, tt.reused, f.ran)
				}
				want := events.StateCompleted
				if len(f.ends) > 0 {
					want = events.StateFailed
				}
				if state := f.state.Requests[id].State; state != want {
					t.Errorf("the request is %s", state)
				}
				if len(f.state.Graphs)+f.state.Seats.All+len(f.state.Alike) > 0 {
					t.Errorf("%d graphs, %d seats and %d that wait are left", len(f.state.Graphs), f.state.Seats.All, len(f.state.Alike))
				}
			})
		}
	}
}

func (f *graphFarm) publish(d suite.Definitions) {
	f.fold(events.DefinitionsPublished{Suite: d.Name, Digest: d.Digest(), Content: d.Canonical()})
}

// Failures, samples, and what people let run without what it needs, are no runs that others take over.
func TestOnlyHonestSuccessesAreTakenOver(t *testing.T) {
	for name, play := range map[string]func(f *graphFarm){
		"a failure": func(f *graphFarm) {
			f.ends["m"] = "-+"
			f.ask("a1", "", events.Master)
			f.settle()
		},
		"a forced run": func(f *graphFarm) {
			id := f.ask("a1", "", events.Master)
			for f.state.Blocked == 0 {
				f.step()
			}
			f.fold(events.JobForced{RequestID: id, JobID: f.only("m"), Key: "k", Reason: "now"})
			f.settle()
		},
	} {
		t.Run(name, func(t *testing.T) {
			f := newReuseFarm(t, building())
			play(f)
			before := len(f.ran)
			f.ask("a2", "", events.Master)
			f.settle()
			if !slices.Contains(f.ran[before:], "m") {
				t.Errorf("kind m did not run, only %v: reused %s", f.ran[before:], f.reused())
			}
		})
	}
}

// What a person asks to run again runs, and is the run that later ones take over.
func TestARerunOfWhatWasTakenOverRuns(t *testing.T) {
	f := newReuseFarm(t, building())
	f.ask("a1", "", events.Master)
	f.settle()
	f.ends["n"] = "-+" // so that the graph stays open
	d := building()
	d.Kinds[2].Reuse = suite.ReuseNever
	f.publish(d)
	id := f.ask("a2", "", events.Master)
	for f.reused() == "" {
		f.step()
	}
	var taken events.JobReused
	for _, e := range f.log {
		if fact, ok := e.Fact.(events.JobReused); ok && taken.JobID == "" {
			taken = fact
		}
	}
	f.fold(events.GraphWanted{RequestID: id, Key: "again", Kind: events.GraphRerun, Select: []events.JobID{taken.JobID}, Force: true, Reason: "for real"})
	kind := f.kindOf(taken.JobID)
	before := len(f.ran)
	f.settle()
	if !slices.Contains(f.ran[before:], kind) {
		t.Errorf("kind %s did not run again, only %v", kind, f.ran[before:])
	}
}

// In random worlds no job is dispatched that could take a run over, and a scheduler that died decides alike.
func TestRandomReuse(t *testing.T) {
	total := 0
	for seed := range uint64(reuseWorlds) {
		r := rand.New(rand.NewPCG(seed, 68))
		named := &seeded{TB: t, seed: seed}
		f := newReuseFarm(named, building())
		named.farm = f
		f.random, f.dies = r, seed%8 == 0
		for round := range 12 {
			id := f.ask(events.Tag(fmt.Sprintf("%c%d", 'a'+r.IntN(3), round)), "", events.Master)
			if r.IntN(3) == 0 {
				f.machineIs(events.Digest(fmt.Sprint("machine-", r.IntN(2))), fmt.Sprint(r.IntN(2)))
			}
			for range r.IntN(60) {
				if !f.decide() {
					f.work()
				}
				f.agree()
			}
			if r.IntN(6) == 0 && !f.state.Requests[id].State.Terminal() {
				f.fold(events.RequestCancelled{RequestID: id, Reason: "not any more"})
			}
		}
		f.settle()
		f.agree()
		for _, r := range f.state.Requests {
			if !r.State.Terminal() {
				t.Fatalf("seed %d: request %s is %s", seed, r.ID, r.State)
			}
		}
		total += len(strings.Fields(f.reused()))
	}
	if total < 5*reuseWorlds {
		t.Errorf("only %d jobs took a run over", total)
	}
}
