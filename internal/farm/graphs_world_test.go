package farm

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/tachobench/tacho/eventlog"
	"github.com/tachobench/tacho/eventlog/memory"
	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/rules/graph"
	"github.com/tachobench/tacho/rules/job"
	"github.com/tachobench/tacho/rules/ledger"
	"github.com/tachobench/tacho/rules/request"
	"github.com/tachobench/tacho/rules/suite"
	"github.com/tachobench/tacho/scheduler"
)

// graphWorld is a world of requests whose jobs need one another. It is made for synctest bubbles.
type graphWorld struct {
	*world
	lanes []events.Lane
	asked []events.RequestID
	// named decides which requests name definitions, and aside are these; nil for none.
	named *rand.Rand
	aside events.Digest
	suite suite.Definitions
	// digest is that of suite.
	digest events.Digest
}

// graphTags are the artifacts that are asked for.
var graphTags = []events.Tag{"t0", "t1", "t2", "t3", "t4"}

func newGraphWorld(t *testing.T, r *rand.Rand) *graphWorld {
	policy := scheduler.Policy{MaxInProgress: 1 + r.IntN(3), Retention: 12 * time.Hour}
	w := &graphWorld{world: newWorld(t, r, policy)}
	w.scheduler = scheduler.New(scheduler.Config{Log: ruled{w.log, r}, Logger: slog.New(slog.DiscardHandler), Policy: policy})
	d := randomNeeds(r)
	w.say(events.DefinitionsPublished{Suite: d.Name, Digest: d.Digest(), Content: d.Canonical()})
	w.suite, w.digest = d, d.Digest()
	for _, target := range d.Targets {
		for set := range target.Sets {
			w.collector(events.Lane{Target: target.Name, Set: events.Set(set)}, "")
		}
	}
	if slices.ContainsFunc(d.Kinds, suite.Kind.Matched) {
		w.say(events.MachineDescribed{Machine: "m", Pool: "p", OS: "linux", Arch: "amd64", Slots: 2, CPUs: 4, MemoryMiB: 1 << 14})
		for i := range 2 {
			w.collector(events.PoolLane("p", i), "m")
		}
	}
	return w
}

// nameSome publishes the definitions with other needs, and lets some requests name them.
func (w *graphWorld) nameSome(r *rand.Rand) {
	w.named = r
	d := w.suite
	d.Description, d.Kinds = "aside", slices.Clone(d.Kinds)
	for i := range d.Kinds {
		if r.IntN(2) == 0 {
			d.Kinds[i].Needs = nil
		}
	}
	w.aside = d.Digest()
	w.say(events.DefinitionsPublished{Suite: d.Name, Digest: w.aside, Content: d.Canonical(), Aside: true})
}

// ruled is a log on which graphs get a rule at random, as their definitions could say.
type ruled struct {
	*memory.Log
	r *rand.Rand
}

// Append implements eventlog.Log.
func (l ruled) Append(ctx context.Context, appends ...eventlog.Append) (events.Seq, error) {
	for _, a := range appends {
		for i, e := range a.Events {
			made, ok := e.Fact.(events.GraphCreated)
			if !ok || made.Kind.Sampled() {
				continue
			}
			if l.r.IntN(2) == 0 {
				made.OnFailure = events.FailFast
			}
			if made.Kind != events.GraphRepair && made.Kind != events.GraphAdded && l.r.IntN(3) == 0 {
				made.Deadline = job.Stamp(time.Now().Add(time.Duration(l.r.IntN(60)) * time.Second))
			}
			a.Events[i].Fact = made
		}
	}
	return l.Log.Append(ctx, appends...)
}

// randomNeeds returns definitions with random kinds that need one another.
func randomNeeds(r *rand.Rand) suite.Definitions {
	d := smallSuite()
	d.Version, d.Kinds = 2, nil
	d.Targets = []suite.Target{{Name: "here", Sets: 1 + r.IntN(2), OS: "linux", Arch: "amd64"}}
	if r.IntN(2) == 0 {
		d.Targets = append(d.Targets, suite.Target{Name: "there", Sets: 1, Optional: r.IntN(2) == 0, OS: "linux", Arch: "amd64"})
	}
	backfill, matched := r.IntN(2) == 0, r.IntN(3) == 0 // matched jobs have no backfill
	built := r.IntN(2) == 0                             // then jobs take over what others did with the same outputs
	if built {
		d.Artifact.Kind, d.Artifact.Driver, d.Sources.Revision = suite.ArtifactBuilt, suite.DriverCommand, "r"
	}
	for i := range 2 + r.IntN(4) {
		k := suite.Kind{Name: events.JobKind(rune('a' + i)), Profile: "a", PerSet: r.IntN(2) == 0, PerProfile: r.IntN(3) == 0, Backfill: backfill}
		if matched && r.IntN(2) == 0 {
			k.Lanes, k.Backfill, k.Shared = suite.LanesAny, false, r.IntN(2) == 0 || built
			if r.IntN(2) == 0 {
				k.Chunks = &suite.Chunks{Min: 1 + r.IntN(2), Max: 2 + r.IntN(3)}
				for n := range 2 + r.IntN(4) {
					b := d.Benchmarks[0]
					b.Name, b.Kind, b.Sets = events.Benchmark(fmt.Sprintf("%s%d", k.Name, n)), k.Name, map[events.Target]events.Set{"here": 0, "there": 0}
					d.Benchmarks = append(d.Benchmarks, b)
				}
			}
		}
		if r.IntN(4) == 0 {
			k.When = "request = 'try'"
		}
		if built && k.Chunks == nil {
			b := d.Benchmarks[0]
			b.Name, b.Kind, b.Sets = events.Benchmark(k.Name), k.Name, map[events.Target]events.Set{"here": 0, "there": 0}
			d.Benchmarks = append(d.Benchmarks, b)
		}
		if (r.IntN(3) == 0 || built && i == 0) && k.Chunks == nil {
			k.Does, k.Steps, k.Outputs = suite.DoesBuild, [][]string{{"make"}}, []suite.OutputPaths{{Name: "out", Paths: []string{"out"}}}
		}
		for on := range i {
			if r.IntN(2) == 0 && on < i-1 && !(built && on == 0) || k.Backfill && !d.Kinds[on].Backfill {
				continue
			}
			need := suite.KindNeed{Kind: d.Kinds[on].Name}
			if d.Kinds[on].Builds() && (built || r.IntN(3) > 0) {
				need.Output = "out"
			} else if r.IntN(3) == 0 {
				need.Until = events.UntilEnded
				need.Across = []string{"all"}
			}
			k.Needs = append(k.Needs, need)
		}
		d.Kinds = append(d.Kinds, k)
	}
	r.Shuffle(len(d.Kinds), func(i, j int) { d.Kinds[i], d.Kinds[j] = d.Kinds[j], d.Kinds[i] })
	d.Branches = []suite.Branch{{Match: "*", Customise: suite.CustomiseAny}}
	return d
}

func (w *graphWorld) collector(lane events.Lane, machine events.MachineName) {
	if err := w.log.EnsureLane(w.t.Context(), lane, 0); err != nil {
		w.t.Fatal(err)
	}
	w.lanes = append(w.lanes, lane)
	name := nameOn(lane)
	w.say(events.CollectorRegistered{Name: name, Target: lane.Target, Set: lane.Set, Machine: machine}, events.LaneAssigned{Lane: lane, Name: name})
	w.back(name)
}

func nameOn(lane events.Lane) events.CollectorName {
	return events.CollectorName(fmt.Sprintf("c-%s-%d", lane.Target, lane.Set))
}

// back brings a collector back, wherever it was.
func (w *graphWorld) back(name events.CollectorName) {
	w.say(events.CollectorActivated{Name: name}, events.CollectorOnline{
		Name: name, Instance: "i", Knows: []string{events.KnowsMatched, events.KnowsBuild},
		Environment: events.Environment{Fingerprint: "e"}, Drivers: drivers,
	})
}

// drivers are those of all collectors.
var drivers = map[string]string{suite.DriverCommand: "1"}

// pass lets simulated time pass.
func (w *graphWorld) pass(d time.Duration) {
	<-time.After(d)
	w.now = time.Now()
}

// step lets something happen.
func (w *graphWorld) step() {
	w.pass(time.Duration(w.r.IntN(3000)) * time.Millisecond)
	w.prioritise()
	switch k := w.r.IntN(100); {
	case k < 8:
		w.ask()
	case k < 20:
		w.want()
	case k < 22:
		w.cancel()
	case k < 26:
		name := nameOn(w.lanes[w.r.IntN(len(w.lanes))])
		w.say([]events.Fact{
			events.CollectorDraining{Name: name}, events.CollectorOffline{Name: name, Instance: "i", Reason: "silence"}, events.CollectorDeactivated{Name: name},
		}[w.r.IntN(3)])
	case k < 30:
		w.back(nameOn(w.lanes[w.r.IntN(len(w.lanes))]))
	case k < 31:
		w.pass(25 * time.Hour) // what has ended leaves the tables
	case k < 33:
		w.restart()
	case k < 60:
		w.decide()
	default:
		w.work(w.lanes[w.r.IntN(len(w.lanes))])
	}
}

// ask asks for the next artifact. Its parent may be known, come late or never.
func (w *graphWorld) ask() {
	if len(w.asked) == len(graphTags) {
		return
	}
	tag, parent := graphTags[len(w.asked)], graphTags[w.r.IntN(len(graphTags))]
	if tag == parent || w.r.IntN(4) == 0 {
		parent = ""
	}
	kind := []events.RequestKind{events.Master, events.Master, events.Try}[w.r.IntN(3)]
	id := events.RequestID("r" + tag)
	w.asked = append(w.asked, id)
	asked := events.RequestCreated{RequestID: id, Kind: kind, Suite: "small", Tag: tag, Parent: parent, Key: string(tag), State: events.StateArtifactsReady, Branch: "main"}
	if w.named != nil && w.named.IntN(3) == 0 {
		asked.Definitions, asked.Customised, asked.Together = w.aside, w.named.IntN(2) == 0, "odd"
	}
	w.say(asked)
}

// wishedKinds are what is asked for, some of it more often.
var wishedKinds = []events.GraphKind{events.GraphRepair, events.GraphRepair, events.GraphRerun, events.GraphRerun, events.GraphRetrigger, events.GraphNoise, events.GraphNoise, events.GraphAdded, events.GraphAdded}

// want asks for jobs again, for all that failed or for one of those that were made, or for samples.
func (w *graphWorld) want() {
	if len(w.asked) == 0 {
		return
	}
	r := w.ledger.Requests[w.asked[w.r.IntN(len(w.asked))]]
	if r.StartedAt.IsZero() {
		return
	}
	if w.r.IntN(5) == 0 {
		w.submit(r)
		return
	}
	wish := events.GraphWanted{RequestID: r.ID, Key: fmt.Sprint("k", w.ledger.Seq, w.r.IntN(1000)), Kind: wishedKinds[w.r.IntN(len(wishedKinds))]}
	if graphs := w.ledger.Graphs[r.ID]; len(graphs) > 0 && w.r.IntN(4) == 0 {
		jobs := graphs[w.r.IntN(len(graphs))].Jobs
		wish.Select = []events.JobID{jobs[w.r.IntN(len(jobs))]}
	}
	if wish.Kind == events.GraphRerun && w.r.IntN(2) == 0 || r.State == events.StateInProgress && w.r.IntN(4) == 0 {
		wish.Kind = events.GraphRerun
		wish.Select, wish.Where, wish.Force, wish.Reason = nil, []string{"state=success"}, true, "it looks odd"
	}
	if wish.Kind == events.GraphAdded {
		wish.Select, wish.Where = nil, []string{[]string{"name=*", "kind=a,b,c", "target=here"}[w.r.IntN(3)]}
	}
	if wish.Kind.Sampled() {
		wish.Select, wish.Copies = nil, 2+w.r.IntN(2)
		if wish.Kind == events.GraphRetrigger && w.r.IntN(2) == 0 {
			wish.Iterations = 1 + w.r.IntN(3)
		}
	}
	if graphs := w.ledger.Graphs[r.ID]; len(graphs) > 0 && w.r.IntN(3) == 0 {
		wish = w.force(r.ID, wish.Key, graphs[w.r.IntN(len(graphs))])
	}
	w.say(wish)
}

// force wishes that a job of a graph runs: one that waits and lacks no output, if there is any.
func (w *graphWorld) force(id events.RequestID, key string, g *ledger.Graph) events.GraphWanted {
	number := w.r.IntN(len(g.Jobs))
	for range len(g.Jobs) {
		lacks := false
		g.States.Inputs(number, func(on int, output string) { lacks = lacks || g.States.UnmetOutput(number, on, output) })
		if state := g.States.State(number); !lacks && (state == graph.Blocked || state == graph.Skipped) {
			break
		}
		number = (number + 1) % len(g.Jobs)
	}
	return events.GraphWanted{RequestID: id, Key: key, Kind: events.GraphForce, Select: []events.JobID{g.Jobs[number]}, Reason: "it is harmless"}
}

// submit submits a graph of some jobs that the definitions have, with needs of its own.
func (w *graphWorld) submit(r *request.Request) {
	own, backfill, _, err := w.ledger.Expand(r)
	all := append(own, backfill...)
	if err != nil || len(all) == 0 || slices.ContainsFunc(r.Wishes, func(w events.GraphWanted) bool { return w.Kind == events.GraphExternal }) {
		return
	}
	var p graph.Proposed
	w.r.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	for i, j := range all[:1+w.r.IntN(len(all))] {
		p.Jobs = append(p.Jobs, events.ProposedJob{Number: i, Tag: j.Artifact.Tag, Kind: j.Kind, Target: j.Target, Set: j.Set, Backend: j.Backend, Profile: j.Profile, Iterations: w.r.IntN(3)})
		for on := range i {
			if w.r.IntN(3) == 0 {
				p.Needs = append(p.Needs, graph.Need{Job: i, On: on, Until: []events.Until{events.UntilSuccess, events.UntilEnded}[w.r.IntN(2)]})
			}
		}
	}
	key := fmt.Sprint("k", w.ledger.Seq, w.r.IntN(1000))
	parts := p.Parts(r.ID, key)
	var facts []events.Fact
	for _, part := range parts {
		facts = append(facts, part)
	}
	w.say(append(facts, events.GraphWanted{RequestID: r.ID, Key: key, Kind: events.GraphExternal, Parts: len(parts), Content: p.Content()})...)
}

// rerunEach lets each request in progress run again what succeeded.
func (w *graphWorld) rerunEach() {
	for _, id := range w.asked {
		if r := w.ledger.Requests[id]; r.State == events.StateInProgress {
			for _, g := range w.ledger.Graphs[id] {
				w.say(w.force(id, fmt.Sprint("force-", g.Number), g))
			}
			w.say(events.GraphWanted{RequestID: id, Key: "again", Kind: events.GraphRerun, Where: []string{"state=success"}, Force: true, Reason: "it looks odd"})
		}
	}
}

// wantEach asks for each kind of jobs again for every request that has started.
func (w *graphWorld) wantEach() {
	for _, id := range w.asked {
		if r := w.ledger.Requests[id]; !r.StartedAt.IsZero() {
			w.say(
				events.GraphWanted{RequestID: id, Key: "last-1", Kind: events.GraphRepair},
				events.GraphWanted{RequestID: id, Key: "last-2", Kind: events.GraphRetrigger, Copies: 1, Iterations: w.r.IntN(2)},
				events.GraphWanted{RequestID: id, Key: "last-3", Kind: events.GraphNoise, Copies: 2},
				events.GraphWanted{RequestID: id, Key: "last-4", Kind: events.GraphAdded, Where: []string{"name=*"}},
			)
		}
	}
}

// askAlike asks for two more artifacts with the same commit, one after the other, if jobs take over what others did. So the second
// has little to do.
func (w *graphWorld) askAlike() {
	if w.suite.Artifact.Kind != suite.ArtifactBuilt {
		return
	}
	for _, tag := range []events.Tag{"t8", "t9"} {
		id := events.RequestID("r" + tag)
		w.asked = append(w.asked, id)
		w.say(events.RequestCreated{RequestID: id, Kind: events.Master, Suite: "small", Tag: tag, Key: string(tag), State: events.StateArtifactsReady, Branch: "main"})
		w.settle()
		w.say(events.GraphWanted{RequestID: id, Key: "more", Kind: events.GraphAdded, Where: []string{"name=*"}})
		w.settle()
	}
}

func (w *graphWorld) cancel() {
	if len(w.asked) == 0 {
		return
	}
	if id := w.asked[w.r.IntN(len(w.asked))]; !w.ledger.Requests[id].State.Terminal() {
		w.say(events.RequestCancelled{RequestID: id, Reason: "asked"})
	}
}

// prioritise gives a request, or one of its graphs, another priority now and then. Chance is a matter of the place in the log, so
// that all else happens as without it.
func (w *graphWorld) prioritise() {
	r := rand.New(rand.NewPCG(uint64(w.ledger.Seq), 29))
	for _, id := range w.asked {
		var commands []request.Prioritise
		for _, g := range w.ledger.Graphs[id] {
			if g.Kind.Sampled() && r.IntN(4) == 0 {
				commands = append(commands, request.Prioritise{Graph: &g.Number})
			}
		}
		if r.IntN(40) == 0 {
			commands = append(commands, request.Prioritise{})
		}
		for _, c := range commands {
			c.To = events.Priorities[r.IntN(len(events.Priorities))]
			facts, err := request.Decide(*w.ledger.Requests[id], c)
			if err == nil {
				w.say(facts...)
			}
		}
	}
}

// restart lets the scheduler continue from a snapshot.
func (w *graphWorld) restart() {
	image, err := w.ledger.Snapshot()
	if err != nil {
		w.t.Fatal(err)
	}
	if w.ledger, err = ledger.Restore(image); err != nil {
		w.t.Fatal(err)
	}
}

// decide carries out some of what the scheduler decides, as several schedulers would. It reports whether anything was
// recorded.
func (w *graphWorld) decide() bool {
	before := w.head()
	for _, step := range w.scheduler.Decide(w.ledger, w.now) {
		_, err := step.Do(w.t.Context())
		if _, conflict := errors.AsType[*eventlog.ConflictError](err); err != nil && !conflict {
			w.t.Fatalf("%s: %v", step.What, err)
		}
		if w.r.IntN(4) == 0 {
			break
		}
	}
	w.read()
	return w.head() > before
}

// work begins the job of a lane, ends it, or loses its attempt. It reports whether there was a job.
func (w *graphWorld) work(at events.Lane) bool {
	lane := w.ledger.Lanes[at]
	if lane == nil {
		return false
	}
	tell := func(c job.Command) bool {
		facts, err := job.Decide(lane.Work.Lane, at, c)
		if err != nil {
			return false
		}
		w.say(facts...)
		return len(facts) > 0
	}
	if lane.Work.Phase != job.Current {
		place := lane.Work.Place + 1
		if lane.Work.Place > 0 && lane.Work.Phase != job.Ended {
			place = lane.Work.Place
		}
		d, open := lane.Dispatches[place]
		return open && tell(job.Dequeue{Place: place, Job: d.Job, Collector: nameOn(at), Instance: "i", MaxAttempts: 9, Attempt: d.Attempt, Lost: d.Lost})
	}
	d := lane.Dispatches[lane.Work.Place]
	key := w.keyOf(d.Job)
	if run, _ := w.ledger.Same(d.Job.ID, key); run.Job != "" {
		if _, complete := w.ledger.YieldsOf(d.Job.ID, run.Job); complete && w.r.IntN(4) > 0 {
			return tell(job.Finish{Token: lane.Work.Token, Outcome: events.Success, Key: key, ReusedFrom: run.Job, At: w.now})
		}
	}
	if k, _ := w.suite.Kind(d.Job.Kind); k.Builds() && w.r.IntN(4) > 0 {
		w.say(events.OutputStored{
			Lane: at, JobID: d.Job.ID, Collector: nameOn(at), Token: lane.Work.Token, Attempt: lane.Work.Lane.Attempt,
			Output: events.Output{Name: "out", Digest: events.Digest(fmt.Sprint("d", w.r.IntN(4)/3)), Bytes: 1}, Upload: w.r.IntN(8) == 0,
		})
		return true
	}
	if len(d.Job.Inputs) > 0 && w.r.IntN(10) == 0 {
		why := fmt.Sprintf("output %s of job %s is not in the store", d.Job.Inputs[0].Name, d.Job.Inputs[0].JobID)
		return tell(job.Finish{Token: lane.Work.Token, Outcome: events.Failure, Reason: why, Fault: events.ErrorOutput, At: w.now})
	}
	chance := 10
	if len(d.Job.Inputs) > 0 {
		chance = 30 // few have any, and others take over what these did
	}
	switch w.r.IntN(chance) {
	case 0:
		return tell(job.Lose{Token: lane.Work.Token, Reason: "it died"})
	case 1:
		return tell(job.Release{Token: lane.Work.Token, Reason: "shutdown", At: w.now})
	case 2, 3, 4:
		return tell(job.Finish{Token: lane.Work.Token, Outcome: events.Failure, Reason: "it failed", Failed: 1, At: w.now})
	}
	return tell(job.Finish{Token: lane.Work.Token, Outcome: events.Success, Measured: 1, Skipped: max(0, w.r.IntN(4)-2), Key: key, At: w.now})
}

// keyOf returns the key of a job, as its collector would say it: all commits but the first have the same tree. It is empty
// for jobs that take nothing over.
func (w *graphWorld) keyOf(spec events.JobSpec) (key events.Digest) {
	if spec.Definitions != w.digest {
		return ""
	}
	with := suite.Goes{Inputs: spec.Inputs, Fingerprint: "e", Drivers: drivers}
	if w.suite.TakesTree(spec) {
		if with.Tree = "tree"; spec.Artifact.Tag == graphTags[0] {
			with.Tree = "tree of the first"
		}
	}
	key, _ = w.suite.Key(spec, with)
	return key
}

// settle brings all collectors back, and lets all happen that happens without people.
func (w *graphWorld) settle() {
	for _, lane := range w.lanes {
		w.back(nameOn(lane))
	}
	for busy := true; busy; {
		w.pass(time.Second)
		w.prioritise()
		busy = false
		for _, lane := range w.lanes {
			busy = w.work(lane) || busy
		}
		for range 8 { // each time only some of it may be carried out
			busy = w.decide() || busy
		}
	}
	for _, id := range w.asked {
		if r := w.ledger.Requests[id]; !r.State.Terminal() || len(r.Wishes) > 0 {
			w.t.Fatalf("request %s is %s with %d wishes, and nothing happens any more", id, r.State, len(r.Wishes))
		}
	}
	if len(w.ledger.Graphs)+w.ledger.Blocked > 0 {
		w.t.Fatalf("%d requests have open graphs with %d blocked jobs, and nothing happens any more", len(w.ledger.Graphs), w.ledger.Blocked)
	}
}
