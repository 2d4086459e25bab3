package scheduler

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/rules/graph"
	"github.com/tachobench/tacho/rules/request"
	"github.com/tachobench/tacho/rules/suite"
)

// kinds returns definitions with kinds and their needs: "a b:a c:b n|a o<a" says that b needs a, n its end, and o its output. Those with a ! are
// switched off for masters. All run on one lane.
func kinds(words string) suite.Definitions {
	d := small()
	d.Version, d.Kinds = 2, nil
	for w := range strings.FieldsSeq(words) {
		w, off := strings.CutSuffix(w, "!")
		k := suite.Kind{Name: events.JobKind(w[:1]), Profile: "p"}
		if off {
			k.When = "request != 'master'"
		}
		if len(w) > 1 {
			for _, on := range w[2:] {
				need := suite.KindNeed{Kind: events.JobKind(on)}
				switch w[1] {
				case '|':
					need.Until = events.UntilEnded
				case '<':
					need.Output = "out"
				}
				k.Needs = append(k.Needs, need)
			}
		}
		d.Kinds = append(d.Kinds, k)
	}
	for i, k := range d.Kinds {
		if strings.Contains(words, "<"+string(k.Name)) {
			d.Kinds[i].Does, d.Kinds[i].Steps, d.Kinds[i].Outputs = suite.DoesBuild, [][]string{{"make"}}, []suite.OutputPaths{{Name: "out", Paths: []string{"out"}}}
		}
	}
	return d
}

// graphRule is one row of a table of rules: what happens to a request for definitions, and what follows.
type graphRule struct {
	name, kinds string
	ends        map[events.JobKind]string
	does        func(f *graphFarm, id events.RequestID)
	ran         string
	state       events.RequestState
	graphs      string // outcome jobs/failed/skipped of each graph that ended
}

// playGraphRules plays each rule with a scheduler that lives, and with one that dies after every fact. set prepares the farm,
// check looks at what is left; they may be nil.
func playGraphRules(t *testing.T, rules []graphRule, set func(*graphFarm), check func(*testing.T, *graphFarm)) {
	for _, r := range rules {
		for _, dies := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/dies=%v", r.name, dies), func(t *testing.T) {
				f := newGraphFarm(t, kinds(r.kinds))
				f.dies = dies
				for kind, ends := range r.ends {
					f.ends[kind] = ends
				}
				if set != nil {
					set(f)
				}
				id := f.ask("t1", "", events.Master)
				if r.does != nil {
					r.does(f, id)
				}
				f.settle()
				f.agree()
				if got := strings.Join(f.ran, " "); got != r.ran {
					t.Errorf("ran %s, want %s", got, r.ran)
				}
				if got := f.state.Requests[id].State; got != r.state {
					t.Errorf("the request is %s, want %s", got, r.state)
				}
				if got := f.ended(); got != r.graphs {
					t.Errorf("graphs %s, want %s", got, r.graphs)
				}
				if check != nil {
					check(t, f)
				}
			})
		}
	}
}

func TestRulesOfGraphs(t *testing.T) {
	const abcn = "a b:a c:b n|a"
	playGraphRules(t, []graphRule{
		{name: "each runs after what it needs", kinds: "c:b b:a a", ran: "a b c", state: events.StateCompleted, graphs: "success 3/0/0"},
		{
			name: "attempts that are lost are no end", kinds: abcn, ends: map[events.JobKind]string{"a": "~~+"},
			ran: "a b n c", state: events.StateCompleted, graphs: "success 4/0/0",
		},
		{
			name: "a failure after two more attempts skips at once what needs it, and lets hooks run once", kinds: abcn, ends: map[events.JobKind]string{"a": "~~-"},
			does: func(f *graphFarm, id events.RequestID) {
				for len(f.ran) == 0 {
					if got := f.states(id); got != "blocked blocked blocked" {
						f.t.Fatalf("before a has ended b, c and n are %s", got)
					}
					f.step()
				}
				if got := f.states(id); got != "skipped by a skipped by a ready" {
					f.t.Errorf("with the end of a, b, c and n are %s", got)
				}
			},
			ran: "a n", state: events.StateFailed, graphs: "failure 4/1/2 by [0]",
		},
		{
			name: "a rerun before the end makes the skipped ones run, and no hook again", kinds: abcn + " z|n", ends: map[events.JobKind]string{"a": "-+"},
			does: func(f *graphFarm, id events.RequestID) {
				for slices.Compare(f.ran, []string{"a"}) != 0 {
					f.step()
				}
				f.want(id, events.GraphRerun, f.state.Jobs[f.only("a")].ID)
			},
			ran: "a a n b z c", state: events.StateCompleted, graphs: "success 5/0/0",
		},
		{
			name: "a rerun after the end is refused", kinds: abcn, ends: map[events.JobKind]string{"a": "-+"},
			does: func(f *graphFarm, id events.RequestID) {
				f.settle()
				f.want(id, events.GraphRerun)
				f.settle()
				if got := f.refused(); !strings.Contains(got, "`tacho request repair "+string(id)) {
					f.t.Errorf("the refusal names no command: %s", got)
				}
			},
			ran: "a n", state: events.StateFailed, graphs: "failure 4/1/2 by [0]",
		},
		{
			name: "a repair runs what failed and what was skipped", kinds: abcn, ends: map[events.JobKind]string{"a": "-+"},
			does: func(f *graphFarm, id events.RequestID) { f.settle(); f.want(id, events.GraphRepair) },
			ran:  "a n a b c", state: events.StateFailed, graphs: "failure 4/1/2 by [0], success 3/0/0",
		},
		{
			name: "a repair of one job takes those that it needs", kinds: abcn, ends: map[events.JobKind]string{"a": "-+"},
			does: func(f *graphFarm, id events.RequestID) { f.settle(); f.want(id, events.GraphRepair, f.only("c")) },
			ran:  "a n a b c", state: events.StateFailed, graphs: "failure 4/1/2 by [0], success 3/0/0",
		},
		{
			name: "a repair that fails can be repaired", kinds: "a b:a", ends: map[events.JobKind]string{"a": "--+"},
			does: func(f *graphFarm, id events.RequestID) {
				f.settle()
				f.want(id, events.GraphRepair)
				f.settle()
				f.want(id, events.GraphRepair)
			},
			ran: "a a a b", state: events.StateFailed, graphs: "failure 2/1/1 by [0], failure 2/1/1 by [0], success 2/0/0",
		},
		{
			name: "a cancelled request ends its graph", kinds: abcn,
			does: func(f *graphFarm, id events.RequestID) {
				for len(f.ran) == 0 {
					f.step()
				}
				f.fold(events.RequestCancelled{RequestID: id})
			},
			ran: "a", state: events.StateCancelled, graphs: "cancelled 4/2/1 by [1]",
		},
		{
			name: "two that need the same, and one that needs both", kinds: "a b:a c:a d:bc", ends: map[events.JobKind]string{"b": "-"},
			ran: "a b c", state: events.StateFailed, graphs: "failure 4/1/1 by [1]",
		},
		{name: "without needs there is no graph", kinds: "a b c", ran: "a b c", state: events.StateCompleted},
	}, nil, func(t *testing.T, f *graphFarm) {
		if len(f.state.Graphs)+len(f.state.Over)+f.state.Blocked > 0 {
			t.Errorf("%d graphs are left, and %d blocked jobs", len(f.state.Graphs), f.state.Blocked)
		}
	})
}

// states returns the states of the jobs of the first graph but its first one; each skipped job with its cause.
func (f *graphFarm) states(id events.RequestID) string {
	if len(f.state.Graphs[id]) == 0 {
		return "blocked blocked blocked" // not made yet
	}
	g := f.state.Graphs[id][0]
	var states []string
	for number, job := range g.Jobs {
		state := string(g.States.State(number))
		if cause, skipped := g.States.Cause(number); skipped {
			state += " by " + f.kindOf(g.Jobs[cause])
		}
		if f.kindOf(job) != "a" {
			states = append(states, state)
		}
	}
	return strings.Join(states, " ")
}

// kindOf returns the kind of a job that was made.
func (f *graphFarm) kindOf(id events.JobID) string {
	for _, e := range f.log {
		if made, ok := e.Fact.(events.JobsCreated); ok {
			for _, spec := range made.Jobs {
				if spec.ID == id {
					return string(spec.Kind)
				}
			}
		}
	}
	f.t.Fatalf("job %s was not made", id)
	return ""
}

// ended returns the graphs that ended: outcome, how many required jobs there were, failed and were skipped, and by which numbers.
func (f *graphFarm) ended() string {
	var graphs []string
	for _, e := range f.log {
		if g, ok := e.Fact.(events.GraphEnded); ok {
			words := fmt.Sprintf("%s %d/%d/%d", g.Outcome, g.Jobs, g.Failed, g.Skipped)
			if len(g.Causes) > 0 {
				words += fmt.Sprintf(" by %d", g.Causes)
			}
			graphs = append(graphs, words)
		}
	}
	return strings.Join(graphs, ", ")
}

// step lets one thing happen.
func (f *graphFarm) step() {
	if !f.decide() && !f.work() {
		f.t.Fatal("nothing happens any more")
	}
}

// only returns the newest job of a kind that was made.
func (f *graphFarm) only(kind events.JobKind) (id events.JobID) {
	for _, e := range f.log {
		if made, ok := e.Fact.(events.JobsCreated); ok {
			for _, spec := range made.Jobs {
				if spec.Kind == kind {
					id = spec.ID
				}
			}
		}
	}
	if id == "" {
		f.t.Fatalf("there is no job of kind %s", kind)
	}
	return id
}

// randomKinds returns definitions with random kinds and needs, on some lanes.
func randomKinds(r *rand.Rand) suite.Definitions {
	d := small()
	d.Version, d.Kinds = 2, nil
	matched := r.IntN(4) == 0
	d.Targets = []suite.Target{{Name: "here", Sets: 1 + r.IntN(2), OS: "linux", Arch: "amd64"}}
	if r.IntN(2) == 0 {
		d.Targets = append(d.Targets, suite.Target{Name: "there", Sets: 1, Optional: r.IntN(2) == 0, OS: "linux", Arch: "amd64"})
	}
	for i := range 1 + r.IntN(5) {
		k := suite.Kind{Name: events.JobKind(rune('a' + i)), Profile: "p", PerSet: r.IntN(2) == 0, Backfill: r.IntN(2) == 0}
		if matched && r.IntN(2) == 0 {
			k.Lanes, k.Backfill, k.Shared = suite.LanesAny, false, r.IntN(2) == 0
		}
		if r.IntN(4) == 0 {
			k.When = "request = 'try'"
		}
		for on := range i {
			if r.IntN(5) > 1 {
				continue
			}
			need := suite.KindNeed{Kind: events.JobKind(rune('a' + on))}
			if r.IntN(3) == 0 {
				need.Until = events.UntilEnded
				need.Across = []string{"all"}
			} else if r.IntN(3) == 0 {
				need.Output, k.Shared = "out", k.Matched()
				b := &d.Kinds[on]
				b.Does, b.Steps, b.Outputs, b.Backfill = suite.DoesBuild, [][]string{{"make"}}, []suite.OutputPaths{{Name: "out", Paths: []string{"out"}}}, false
			}
			k.Needs = append(k.Needs, need)
		}
		d.Kinds = append(d.Kinds, k)
	}
	for i := len(d.Kinds) - 1; i >= 0; i-- { // what a backfill needs is one
		for _, n := range d.Kinds[i].Needs {
			on := int(n.Kind[0] - 'a')
			d.Kinds[on].Backfill = (d.Kinds[on].Backfill || d.Kinds[i].Backfill) && !d.Kinds[on].Matched() && !d.Kinds[on].Builds()
		}
	}
	r.Shuffle(len(d.Kinds), func(i, j int) { d.Kinds[i], d.Kinds[j] = d.Kinds[j], d.Kinds[i] })
	d.Branches = []suite.Branch{{Match: "*", Customise: suite.CustomiseAny}}
	return d
}

// TestRandomGraphs plays random requests with random needs, outputs, ends, reruns, repairs and cancels, on a scheduler that dies
// now and then. The judge sees that no job runs before its needs, and that the states are those of its own fold; at the
// end no job is left that could run.
func TestRandomGraphs(t *testing.T) {
	moved, early := 0, 0
	found := []uint64{777, 5577} // here a repair makes anew what was withdrawn from a cancelled graph, and what it needs
	for i := range graphWorlds + len(found) {
		seed := uint64(i)
		if i >= graphWorlds {
			seed = found[i-graphWorlds]
		}
		r := rand.New(rand.NewPCG(seed, 13))
		named := &seeded{TB: t, seed: seed}
		f := newGraphFarm(named, randomKinds(r))
		named.farm = f
		f.random, f.branch = r, "main"
		tags := []events.Tag{"t0", "t1", "t2", "t3"}
		var asked []events.RequestID
		for range 10 + r.IntN(60) {
			switch r.IntN(12) {
			case 0:
				if len(asked) < len(tags) {
					var parent events.Tag
					if len(asked) > 0 || r.IntN(2) == 0 { // a parent may come late
						parent = tags[r.IntN(len(tags))]
					}
					if tag := tags[len(asked)]; parent != tag {
						asked = append(asked, f.ask(tag, parent, []events.RequestKind{events.Master, events.Try}[r.IntN(2)]))
					}
				}
			case 1:
				if len(asked) > 0 && r.IntN(3) == 0 {
					if id := asked[r.IntN(len(asked))]; !f.state.Requests[id].State.Terminal() {
						f.fold(events.RequestCancelled{RequestID: id})
					}
				}
			case 2:
				if len(asked) > 0 {
					if id := asked[r.IntN(len(asked))]; !f.state.Requests[id].StartedAt.IsZero() {
						f.wishAtRandom(id)
					}
				}
			case 3:
				if r.IntN(12) == 0 {
					f.die()
				}
				f.now = f.now.Add(time.Second)
			case 4:
				f.leave(r.IntN(2))
			default:
				if !f.work() {
					f.decide()
				}
			}
			f.agree()
		}
		f.settle()
		f.agree()
		if seed%8 == 0 {
			f.die()
		}
		for _, id := range asked {
			if req := f.state.Requests[id]; !req.State.Terminal() || len(req.Wishes) > 0 {
				named.Fatalf("request %s is %s, with %d wishes, and nothing happens any more", id, req.State, len(req.Wishes))
			}
		}
		for id, j := range f.state.Jobs {
			if !j.State.Terminal() {
				named.Fatalf("job %s is %s and nothing happens any more", id, j.State)
			}
		}
		if len(f.state.Graphs)+len(f.state.Seats.In)+f.state.Blocked > 0 || f.state.Seats.All != 0 {
			named.Fatalf("%d graphs are left, %d blocked jobs and %d seats", len(f.state.Graphs), f.state.Blocked, f.state.Seats.All)
		}
		moved += f.moved
		early += f.judge.early
	}
	t.Logf("%d jobs moved, %d began while what they use was being built", moved, early)
	if moved < graphWorlds/100 || early < graphWorlds/100 {
		t.Errorf("only %d jobs moved in %d worlds, and %d began early", moved, graphWorlds, early)
	}
}

// seeded names its seed and what happened when it fails.
type seeded struct {
	testing.TB
	seed uint64
	farm *graphFarm
}

func (w *seeded) Fatalf(format string, args ...any) {
	w.TB.Helper()
	w.TB.Fatalf("seed %d: %s\n%s", w.seed, fmt.Sprintf(format, args...), w.farm.tell())
}

func TestAGraphThatIsTooLargeFailsItsRequest(t *testing.T) {
	d := kinds("a b:a")
	d.Targets[0].Sets = 256
	d.Kinds[0].PerSet, d.Kinds[1].PerSet = true, true
	d.Kinds[0].PerProfile, d.Kinds[1].PerProfile = true, true
	d.Profiles = nil
	for i := range 2 {
		d.Profiles = append(d.Profiles, suite.Profile{Name: events.Profile(fmt.Sprint("p", i))})
	}
	d.Kinds[1].Needs[0].Across = []string{"all"} // 512 × 512
	f := newGraphFarm(t, d)
	f.policy.ExpansionRetry = 0
	id := f.ask("t1", "", events.Master)
	f.settle()
	r := f.state.Requests[id]
	if r.State != events.StateFailed || !strings.Contains(r.Troubles().Error, fmt.Sprint(graph.MaxNeeds)) {
		t.Errorf("the request is %s: %s", r.State, r.Troubles().Error)
	}
}

// made returns the graphs that were made: whose, of which kind, with how many jobs and needs.
func (f *graphFarm) made() string {
	var made []string
	for _, e := range f.log {
		if g, ok := e.Fact.(events.GraphCreated); ok {
			made = append(made, fmt.Sprintf("%s %s %d/%d", g.RequestID, g.Kind, g.Jobs, g.Needs))
		}
	}
	return strings.Join(made, ", ")
}

// backfilled returns definitions like those of kinds, whose kinds all have backfill.
func backfilled(words string) suite.Definitions {
	d := kinds(words)
	for i := range d.Kinds {
		d.Kinds[i].Backfill = true
	}
	return d
}

func TestAParentHasAGraphOfItsOwn(t *testing.T) {
	f := newGraphFarm(t, backfilled("a b:a"))
	f.ask("t0", "", events.Master)
	f.settle()
	f.fold(events.DefinitionsPublished{Suite: "s", Digest: backfilled("a b:a c:b").Digest(), Content: backfilled("a b:a c:b").Canonical()})
	f.ask("t1", "t0", events.Master)
	f.settle()
	f.agree()
	if got, want := f.made(), "rt0 initial 2/1, rt1 backfill 2/1, rt1 initial 3/2"; got != want {
		t.Errorf("graphs %s, want %s", got, want)
	}
	if got, want := strings.Join(f.ran, " "), "a b c a b c"; got != want {
		t.Errorf("ran %s, want %s", got, want)
	}
}

func TestWhatAParentCannotHaveIsNotMade(t *testing.T) {
	f := newGraphFarm(t, backfilled("a b:a c:b"))
	f.ends["a"] = "-+"
	f.ask("t0", "", events.Master)
	f.settle()
	f.ask("t1", "t0", events.Master)
	f.settle()
	if got, want := f.made(), "rt0 initial 3/2, rt1 initial 3/2"; got != want {
		t.Errorf("graphs %s, want %s: b and c of the parent would be skipped at once", got, want)
	}
}

func TestARequestWaitsWithTheJobThatItShares(t *testing.T) {
	f := newGraphFarm(t, backfilled("a b:a"))
	f.ask("t9", "", events.Master) // keeps the lane busy
	for len(f.state.Graphs) == 0 {
		f.step()
	}
	parent := f.ask("t0", "", events.Master)
	child := f.ask("t1", "t0", events.Master)
	for len(f.state.Graphs[parent]) == 0 || len(f.state.Graphs[child]) == 0 {
		if !f.decide() {
			t.Fatal("they do not start")
		}
	}
	if got, want := f.made(), "rt9 initial 2/1, rt0 initial 2/1, rt1 initial 2/1"; got != want {
		t.Errorf("graphs %s, want %s", got, want)
	}
	f.settle()
	f.agree()
	if len(f.ran) != 6 {
		t.Errorf("ran %v, want each job once", f.ran)
	}
}

func TestARepairWhileOptionalJobsGoOn(t *testing.T) {
	d := kinds("a b:a")
	d.Targets = append(d.Targets, suite.Target{Name: "there", Sets: 1, Optional: true})
	f := newGraphFarm(t, d)
	f.ends["a"] = "-+"
	id := f.ask("t1", "", events.Master)
	for !f.state.Requests[id].State.Terminal() {
		if !f.decide() && !f.work() {
			t.Fatal("the request does not end")
		}
	}
	if len(f.state.Graphs[id]) != 1 || f.state.Graphs[id][0].States.Left() == 0 {
		t.Fatal("no optional job goes on")
	}
	f.want(id, events.GraphRepair)
	f.settle()
	f.agree()
	if got, want := f.made(), "rt1 initial 4/2, rt1 repair 2/1"; got != want {
		t.Errorf("graphs %s, want %s: what was skipped is repaired, too", got, want)
	}
	if got := len(f.ran); got != 5 {
		t.Errorf("ran %v, want two optional jobs, one that failed, and two of the repair", f.ran)
	}
}

func TestARerunFindsTheRoundsOfOthers(t *testing.T) {
	f := newGraphFarm(t, kinds("a b:a z"))
	f.ends["a"] = "-+"
	id := f.ask("t1", "", events.Master)
	for len(f.ran) == 0 {
		f.step()
	}
	first := f.only("a")
	// Another request had the job made again, and that failed, too.
	next := f.state.Jobs[first].Spec().Again()
	other := f.ask("t2", "", events.Master)
	next.RequestID = other
	f.fold(events.JobsCreated{RequestID: other, Key: "k", Jobs: []events.JobSpec{next}}, events.JobsWithdrawn{RequestID: other, Jobs: []events.JobID{next.ID}})
	f.want(id, events.GraphRerun, first)
	f.settle()
	if got := f.state.Requests[id].State; got != events.StateCompleted {
		t.Errorf("the request is %s: what was skipped does not run after the third round", got)
	}
}

// wishAtRandom asks for more jobs of a request, or cancels a graph of it.
func (f *graphFarm) wishAtRandom(id events.RequestID) {
	r := f.random
	if open := f.state.Graphs[id]; len(open) > 0 && r.IntN(3) == 0 {
		jobs := open[r.IntN(len(open))].Jobs
		f.force(id, jobs[r.IntN(len(jobs))])
		return
	}
	if r.IntN(5) == 0 {
		f.submitAtRandom(id)
		return
	}
	w := events.GraphWanted{Kind: []events.GraphKind{events.GraphRepair, events.GraphRerun, events.GraphRetrigger, events.GraphNoise, events.GraphAdded}[r.IntN(5)]}
	if r.IntN(3) == 0 {
		w.Where = []string{[]string{"kind=a,b", "state=failure", "state=success,skipped", "name=*/here/*"}[r.IntN(4)]}
	}
	if w.Kind == events.GraphRerun && r.IntN(2) == 0 {
		w.Force, w.Reason, w.Where = true, "it looks odd", []string{"state=success"}
	}
	if w.Kind == events.GraphAdded {
		w.Where = []string{[]string{"name=*", "kind=a,b", "kind=c,d", "target=here"}[r.IntN(4)]}
	}
	if w.Kind.Sampled() {
		w.Copies, w.Priority = r.IntN(4), []events.Priority{"", "", "normal", "vip"}[r.IntN(4)]
	}
	if w.Kind == events.GraphRetrigger {
		w.Downstream = []events.Downstream{events.DownstreamNone, events.DownstreamNeeded, events.DownstreamAll}[r.IntN(3)]
	}
	if open := f.state.Requests[id].Graphs; len(open) > 0 && r.IntN(3) == 0 {
		if facts, err := request.Decide(*f.state.Requests[id], request.CancelGraph{Graph: open[r.IntN(len(open))].Number}); err == nil {
			f.fold(facts...)
		}
		return
	}
	f.wish(id, w)
}
