package scheduler

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/rules/graph"
	"github.com/tachobench/tacho/rules/job"
	"github.com/tachobench/tacho/rules/ledger"
	"github.com/tachobench/tacho/rules/suite"
)

// graphFarm plays a scheduler, its log and its collectors for requests whose jobs need one another.
type graphFarm struct {
	t     testing.TB
	state *state
	now   time.Time
	log   []events.Recorded
	judge *graphJudge
	// dies makes the scheduler die after every fact, and read the log again.
	dies bool
	// ends says how the rounds of a job end, by kind: one letter each, + success, - failure, ~ an attempt that is lost
	// before. The last one stands for all later ones; without any, jobs succeed.
	ends map[events.JobKind]string
	// branch is that of requests; empty for none.
	branch string
	// ran has the jobs in the order in which they ended.
	ran []string
	// random ends jobs at random instead; nil for not.
	random *rand.Rand
	policy Policy
	// rule is that of the graphs that are made; random gives each of them one.
	rule events.OnFailure
	// away are the collectors of the machine that are deactivated: the scheduler moves what they run. moved counts that.
	sight sight
	away  map[events.CollectorName]bool
	moved int
	// within is how long the graphs may take; 0 for no deadline. random gives some a deadline.
	within time.Duration
	// done says what else a success of a job means, and completes its end; nil for nothing.
	done func(j *ledger.Job, f *events.JobFinished) []events.Fact
	// yielded are the tokens of the attempts that have stored their output, in random worlds.
	yielded map[events.Seq]bool
}

func newGraphFarm(t testing.TB, d suite.Definitions) *graphFarm {
	f := &graphFarm{
		t: t, state: newState(), now: noon, judge: newGraphJudge(), ends: map[events.JobKind]string{}, away: map[events.CollectorName]bool{},
		policy: Policy{MaxInProgress: 3, ArtifactDeadline: time.Hour},
	}
	f.fold(events.DefinitionsPublished{Suite: d.Name, Digest: d.Digest(), Content: d.Canonical()})
	if slices.ContainsFunc(d.Kinds, suite.Kind.Matched) {
		f.machine(2)
	}
	for _, target := range d.Targets {
		for set := range target.Sets {
			lane := events.Lane{Target: target.Name, Set: events.Set(set)}
			name := events.CollectorName(fmt.Sprintf("c-%s-%d", target.Name, set))
			f.fold(events.CollectorRegistered{Name: name, Target: lane.Target, Set: lane.Set}, events.LaneAssigned{Lane: lane, Name: name},
				events.CollectorActivated{Name: name}, events.CollectorOnline{Name: name, Instance: "i", Knows: []string{events.KnowsBuild}})
		}
	}
	return f
}

// machine adds a machine for matched jobs.
func (f *graphFarm) machine(slots int) {
	f.fold(events.MachineDescribed{Machine: "m", Pool: "p", OS: "linux", Arch: "amd64", Slots: slots, CPUs: 4, MemoryMiB: 1 << 14})
	for i := range slots {
		lane, name := events.PoolLane("p", i), events.CollectorName(fmt.Sprint("m-", i))
		f.fold(events.CollectorRegistered{Name: name, Target: lane.Target, Set: lane.Set, Machine: "m"}, events.LaneAssigned{Lane: lane, Name: name},
			events.CollectorActivated{Name: name}, events.CollectorOnline{Name: name, Instance: "i", Knows: []string{events.KnowsMatched, events.KnowsBuild}})
	}
}

// fold records facts that other parts wrote.
func (f *graphFarm) fold(facts ...events.Fact) {
	f.now = f.now.Add(time.Millisecond)
	for _, fact := range facts {
		e := events.Recorded{Event: events.Event{Time: f.now, Fact: fact}, Seq: events.Seq(len(f.log) + 1)}
		f.log = append(f.log, e)
		f.state.Fold(e)
		if _, moved := fact.(events.JobMoved); moved {
			f.moved++
		}
		if f.judge != nil {
			f.judge.fold(f.t, fact)
		}
		if f.dies {
			f.die()
		}
	}
}

// die forgets what the scheduler knows, and reads the log again.
func (f *graphFarm) die() {
	again := &state{ledger.New()}
	for _, e := range f.log {
		again.Fold(e)
	}
	before, err := f.state.Snapshot()
	if err != nil {
		f.t.Fatal(err)
	}
	after, err := again.Snapshot()
	if err != nil || string(before) != string(after) || f.state.Blocked != again.Blocked {
		f.t.Fatalf("another ledger from the same log: %v\n%s\n%s", err, before, after)
	}
	l, err := ledger.Restore(after)
	if err != nil {
		f.t.Fatal(err)
	}
	if l.Blocked != again.Blocked {
		f.t.Fatalf("%d jobs are blocked after the snapshot, want %d", l.Blocked, again.Blocked)
	}
	f.state = &state{l}
}

// ask creates a request for an artifact.
func (f *graphFarm) ask(tag, parent events.Tag, kind events.RequestKind) events.RequestID {
	id := events.RequestID("r" + string(tag))
	f.fold(events.RequestCreated{
		RequestID: id, Kind: kind, Suite: "s", Tag: tag, Parent: parent, Key: string(tag), State: events.StateArtifactsReady, Branch: f.branch,
	})
	return id
}

// decide carries out one decision, if there is any.
func (f *graphFarm) decide() bool {
	if why := f.sight.differs(f.state, f.policy, f.now); why != "" {
		f.t.Fatal(why)
	}
	all := decideAll(f.state, f.policy, f.now)
	if len(all) == 0 {
		return false
	}
	d := all[0]
	if f.random != nil {
		d = all[f.random.IntN(len(all))]
	}
	facts := d.facts
	for _, b := range d.beside {
		facts = append(facts, b.facts...)
	}
	for i, fact := range facts {
		f.fold(f.ruled(fact))
		if made, ok := fact.(events.JobsCreated); ok && i < len(facts)-1 && len(decideAll(f.state, f.policy, f.now)) > 0 {
			f.t.Fatalf("%s: something is decided after %d of its %d facts, with %d jobs", d.what, i+1, len(facts), len(made.Jobs))
		}
	}
	return true
}

// ruled gives a graph the rule that its definitions would.
func (f *graphFarm) ruled(fact events.Fact) events.Fact {
	made, ok := fact.(events.GraphCreated)
	if !ok || made.Kind.Sampled() {
		return fact
	}
	made.OnFailure = f.rule
	if f.random != nil && f.random.IntN(2) == 0 {
		made.OnFailure = events.FailFast
	}
	within := f.within
	if f.random != nil && f.random.IntN(3) == 0 {
		within = time.Duration(1+f.random.IntN(3)) * time.Second
	}
	if within > 0 && made.Kind != events.GraphRepair && made.Kind != events.GraphAdded {
		made.Deadline = job.Stamp(f.now.Add(within))
	}
	return made
}

// work lets the first lane that can do something do it.
func (f *graphFarm) work() bool {
	lanes := slices.Clone(f.state.LaneOrder)
	if f.random != nil {
		f.random.Shuffle(len(lanes), func(i, j int) { lanes[i], lanes[j] = lanes[j], lanes[i] })
	}
	for _, name := range lanes {
		lane := f.state.Lanes[name]
		work := lane.Work
		if f.away[lane.Assignment.Serving] {
			continue
		}
		if work.Phase != job.Current {
			if id, ok := work.Dispatched[work.Place+1]; ok {
				f.dequeue(name, work.Place+1, id, 1)
				return true
			}
			continue
		}
		j := f.state.Jobs[work.JobID]
		if f.yields(name, j) {
			return true
		}
		end := f.end(j)
		if end == '~' {
			f.fold(events.AttemptLost{
				Lane: name, Place: work.Place, JobID: work.JobID, Collector: work.Collector, Token: work.Token, Attempt: work.Lane.Attempt, Lost: work.Lane.Lost + 1, Reason: "it died",
			})
			f.dequeue(name, work.Place, work.JobID, work.Lane.Attempt+1)
			return true
		}
		finished := events.JobFinished{
			Lane: name, Place: work.Place, JobID: work.JobID, RequestID: j.Spec().RequestID, Collector: work.Collector, Token: work.Token,
			Attempt: work.Lane.Attempt, Outcome: events.Success, Measured: 1, DurationMS: 1000,
		}
		if kind, _ := f.state.Definitions[j.Spec().Definitions].Kind(j.Spec().Kind); kind.RunsCommands() {
			finished.Measured = 0
		}
		if end == '-' {
			finished.Outcome, finished.Reason, finished.Measured = events.Failure, "it failed", 0
		} else if f.done != nil {
			f.fold(f.done(j, &finished)...)
			j = f.state.Jobs[work.JobID] // the scheduler may have died
		}
		f.ran = append(f.ran, string(j.Spec().Kind))
		f.fold(finished)
		return true
	}
	return false
}

func (f *graphFarm) dequeue(lane events.Lane, place uint64, id events.JobID, attempt int) {
	f.fold(events.JobDequeued{
		Lane: lane, Place: place, Job: f.state.Jobs[id].Spec(), Collector: f.state.Lanes[lane].Assignment.Serving, Instance: "i",
		Attempt: attempt, Lost: attempt - 1,
	})
}

// end returns how the attempt of a job ends.
func (f *graphFarm) end(j *ledger.Job) byte {
	if f.random != nil {
		return "++++--~"[f.random.IntN(7)]
	}
	kind := j.Spec().Kind
	left := f.ends[kind]
	if left == "" {
		return '+'
	}
	if len(left) > 1 {
		f.ends[kind] = left[1:]
	}
	return left[0]
}

// leave deactivates a collector of the machine, most often while it has a job to begin, or brings it back. If it runs a job,
// the machine was not heard for long: the scheduler takes the job from it.
func (f *graphFarm) leave(slot int) {
	name, at := events.CollectorName(fmt.Sprint("m-", slot)), events.PoolLane("p", slot)
	lane := f.state.Lanes[at]
	switch {
	case lane == nil:
	case f.away[name]:
		f.away[name] = false
		f.fold(events.CollectorActivated{Name: name}, events.CollectorOnline{Name: name, Instance: "i", Knows: []string{events.KnowsMatched, events.KnowsBuild}})
	case lane.Work.Phase == job.Current:
		for _, d := range decideLost(f.state, at, time.Minute, func(events.CollectorName) time.Duration { return time.Hour }) {
			f.fold(d.facts...)
		}
	case len(lane.Work.Dispatched) > 0, f.random != nil && f.random.IntN(4) == 0:
		f.away[name] = true
		f.fold(events.CollectorDeactivated{Name: name})
	}
}

// settle lets all happen that happens without people. All collectors are back.
func (f *graphFarm) settle() {
	for slot := range 2 {
		if f.away[events.CollectorName(fmt.Sprint("m-", slot))] {
			f.leave(slot)
		}
	}
	for range 100_000 {
		if f.random != nil && f.random.IntN(2) == 0 {
			if !f.work() && !f.decide() {
				return
			}
		} else if !f.decide() && !f.work() {
			return
		}
	}
	f.t.Fatal("it never ends")
}

// want asks for jobs again.
func (f *graphFarm) want(id events.RequestID, kind events.GraphKind, jobs ...events.JobID) {
	f.fold(events.GraphWanted{RequestID: id, Key: fmt.Sprint("k", len(f.log)), Kind: kind, Select: jobs})
}

// graphJudge knows the graphs from the log alone, and finds their states anew at each event.
type graphJudge struct {
	graphs map[string]*judged
	order  []string
	ended  map[events.JobID]events.Outcome
	// placed are those on a lane.
	placed map[events.JobID]bool
	// plain are the jobs that were made in no graph: they need nothing, whoever shares them.
	plain map[events.JobID]bool
	// stored are those that have stored their output. early counts the jobs that were dispatched before all that they need
	// had ended.
	stored map[events.JobID]bool
	early  int
}

type judged struct {
	request events.RequestID
	added   bool
	jobs    []events.JobID
	before  []events.Outcome // of those that had ended
	kept    []bool           // whether these had stored their output
	left    int
	needs   []graph.Need
	missing int
	met     []bool
	states  []graph.State

	failFast                bool
	optional, begun, forced []bool
}

// stop returns the job that stops a fail-fast graph; negative for none.
func (g *judged) stop(end func(int) graph.State) int {
	for i := range g.jobs {
		if g.failFast && !g.optional[i] && end(i) == graph.Failed {
			return i
		}
	}
	return -1
}

func newGraphJudge() *graphJudge {
	return &graphJudge{graphs: map[string]*judged{}, ended: map[events.JobID]events.Outcome{}, placed: map[events.JobID]bool{}, plain: map[events.JobID]bool{}, stored: map[events.JobID]bool{}}
}

func graphName(id events.RequestID, number int) string { return fmt.Sprintf("%s/%d", id, number) }

func (j *graphJudge) fold(t testing.TB, f events.Fact) {
	// The others say nothing about graphs.
	//exhaustive:ignore
	switch f := f.(type) {
	case events.GraphCreated:
		name := graphName(f.RequestID, f.Graph)
		j.graphs[name] = &judged{
			failFast: f.OnFailure == events.FailFast, optional: make([]bool, f.Jobs), begun: make([]bool, f.Jobs), forced: make([]bool, f.Jobs),
			request: f.RequestID, added: f.Kind == events.GraphAdded, jobs: make([]events.JobID, f.Jobs), before: make([]events.Outcome, f.Jobs), kept: make([]bool, f.Jobs), left: f.Jobs, missing: f.Needs,
		}
		j.order = append(j.order, name)
	case events.JobsCreated:
		j.part(f)
	case events.JobForced:
		for _, g := range j.graphs {
			if number := slices.Index(g.jobs, f.JobID); number >= 0 && len(g.states) > 0 && g.request == f.RequestID && j.ended[f.JobID] == "" {
				g.force(number)
			}
		}
	case events.OutputStored:
		j.stored[f.JobID] = true
	case events.JobFinished:
		j.ended[f.JobID] = f.Outcome
	case events.JobReused:
		if j.ended[f.JobID] == "" && !j.placed[f.JobID] {
			j.ended[f.JobID] = events.Success
		}
	case events.JobsWithdrawn:
		for _, id := range f.Jobs {
			if j.ended[id] == "" { // one after another
				j.ended[id] = events.Cancelled
				for _, g := range j.graphs {
					g.look(j.ended, j.stored)
				}
			}
		}
	case events.GraphEnded:
		name := graphName(f.RequestID, f.Graph)
		if g := j.graphs[name]; g == nil || slices.ContainsFunc(g.states, func(s graph.State) bool { return s == graph.Blocked || s == graph.Ready }) {
			t.Fatalf("graph %s ended while jobs of it could run", name)
		}
		delete(j.graphs, name)
		j.order = slices.DeleteFunc(j.order, func(o string) bool { return o == name })
	case events.JobMoved:
		j.placed[f.JobID] = false
	case events.JobDispatched:
		j.placed[f.Job.ID] = true
		in, ready := 0, 0
		for _, g := range j.graphs {
			if number := slices.Index(g.jobs, f.Job.ID); number >= 0 {
				in++
				if g.states[number] == graph.Ready {
					ready++
				}
				if slices.ContainsFunc(g.needs, func(n graph.Need) bool { return n.Job == number && !g.states[n.On].Over() }) {
					j.early++
				}
				g.begun[number] = g.begun[number] || j.ended[f.Job.ID] == ""
			}
		}
		if in > 0 && ready == 0 && !j.plain[f.Job.ID] {
			t.Fatalf("job %s was dispatched, and its needs are not met", graph.LabelOf(f.Job))
		}
	}
	for _, g := range j.graphs {
		g.look(j.ended, j.stored)
	}
}

func (j *graphJudge) part(f events.JobsCreated) {
	if f.Graph == nil {
		for _, spec := range f.Jobs {
			j.plain[spec.ID] = true
		}
		return
	}
	g := j.graphs[graphName(f.RequestID, f.Graph.Graph)]
	for i, spec := range f.Jobs {
		if len(f.Graph.Again) > 0 {
			before := g.jobs[f.Graph.Again[i]]
			for _, other := range j.graphs {
				if number := slices.Index(other.jobs, before); number >= 0 && (other == g || other.added && other.request == f.RequestID) {
					other.jobs[number], other.before[number], other.kept[number] = spec.ID, "", false
					other.begun[number] = other.stop(func(i int) graph.State { return other.end(j.ended, i) }) >= 0
				}
			}
			continue
		}
		g.jobs[f.Graph.First+i], g.optional[f.Graph.First+i] = spec.ID, spec.Optional
		g.left--
	}
	for _, s := range f.Graph.Shared {
		g.jobs[s.Number], g.before[s.Number], g.optional[s.Number], g.kept[s.Number] = s.ID, s.Outcome, s.Optional, len(s.Outputs) > 0
		g.begun[s.Number] = j.placed[s.ID] && j.ended[s.ID] == ""
		g.left--
	}
	for _, n := range f.Graph.Needs {
		for _, on := range n.On {
			g.needs, g.met = append(g.needs, graph.Need{Job: n.Job, On: on, Until: n.Until, Output: n.Output}), append(g.met, false)
			g.missing--
		}
	}
}

// force lets the needs of a job that waits count as met.
func (g *judged) force(number int) {
	g.forced[number] = g.forced[number] || g.states[number] == graph.Blocked || g.states[number] == graph.Skipped
	for k, n := range g.needs {
		g.met[k] = g.met[k] || n.Job == number && (g.states[number] == graph.Blocked || g.states[number] == graph.Skipped)
	}
}

// end returns how a job of a graph ended; empty if it has not there.
func (g *judged) end(ended map[events.JobID]events.Outcome, i int) graph.State {
	e := ended[g.jobs[i]]
	if g.before[i] != "" {
		e = g.before[i]
	}
	if e == events.Cancelled && g.states != nil && g.states[i] == graph.Skipped {
		return "" // it stays skipped
	}
	return graph.State(e)
}

// look finds the states of a complete graph.
func (g *judged) look(ended map[events.JobID]events.Outcome, stored map[events.JobID]bool) {
	if g.left > 0 || g.missing > 0 {
		return
	}
	for k, n := range g.needs {
		g.met[k] = g.met[k] || n.Output != "" && (stored[g.jobs[n.On]] || g.kept[n.On])
	}
	before := judged{states: slices.Clone(g.states), jobs: g.jobs, before: g.before}
	end := func(i int) graph.State { return before.end(ended, i) }
	stop := g.stop(end)
	g.states = make([]graph.State, len(g.jobs))
	for i := range g.states {
		if g.states[i] = end(i); g.states[i] == "" {
			g.states[i] = graph.Ready
		}
	}
	for range len(g.jobs) + 1 {
		for i := range g.states {
			if end(i) != "" {
				continue
			}
			g.states[i] = graph.Ready
			if stop >= 0 && !g.begun[i] && !g.forced[i] {
				g.states[i] = graph.Skipped
			}
			for k, n := range g.needs {
				if n.Job != i || g.met[k] {
					continue
				}
				on := g.states[n.On]
				if n.Until == events.UntilSuccess && (on == graph.Failed || on == graph.Cancelled || on == graph.Skipped || n.Output != "" && on == graph.Succeeded) {
					g.states[i] = graph.Skipped
				} else if g.states[i] != graph.Skipped {
					g.states[i] = graph.Blocked
				}
			}
		}
		for k, n := range g.needs {
			on := g.states[n.On]
			if on == graph.Succeeded && n.Output == "" || n.Until == events.UntilEnded && on != graph.Blocked && on != graph.Ready && (on != graph.Skipped || stop < 0) {
				g.met[k] = true
			}
		}
	}
}

// agree compares the states that the ledger has with those of the judge.
func (f *graphFarm) agree() {
	if f.state.Owed > 0 {
		return
	}
	if stuck := f.state.Stuck(); len(stuck) > 0 {
		f.t.Fatalf("graph %s/%d is stuck at job %d", stuck[0].Request, stuck[0].Number, stuck[0].Job)
	}
	open := 0
	for id, graphs := range f.state.Graphs {
		for _, g := range graphs {
			open++
			want := f.judge.graphs[graphName(id, g.Number)]
			if want == nil {
				f.t.Fatalf("graph %s/%d has ended", id, g.Number)
			}
			for number := range g.Jobs {
				if got := g.States.State(number); got != want.states[number] {
					f.t.Fatalf("graph %s/%d: job %d is %s, want %s", id, g.Number, number, got, want.states[number])
				}
			}
		}
	}
	if open != len(f.judge.graphs) {
		f.t.Fatalf("%d graphs are open, want %v", open, slices.Sorted(maps.Keys(f.judge.graphs)))
	}
}

// tell returns the log in words.
func (f *graphFarm) tell() string {
	var b strings.Builder
	names := map[events.JobID]string{}
	for _, e := range f.log {
		// The others say little about graphs.
		//exhaustive:ignore
		switch fact := e.Fact.(type) {
		case events.JobsCreated:
			fmt.Fprintf(&b, "%d %s makes", e.Seq, fact.RequestID)
			for _, spec := range fact.Jobs {
				names[spec.ID] = fmt.Sprintf("%s/%s.%d", spec.Artifact.Tag, graph.LabelOf(spec), spec.Round)
				fmt.Fprintf(&b, " %s", names[spec.ID])
			}
			fmt.Fprintf(&b, " %+v\n", fact.Graph)
		case events.JobDispatched:
			fmt.Fprintf(&b, "%d dispatched %s\n", e.Seq, names[fact.Job.ID])
		case events.JobFinished:
			fmt.Fprintf(&b, "%d %s: %s\n", e.Seq, names[fact.JobID], fact.Outcome)
		case events.RequestFact:
			fmt.Fprintf(&b, "%d %T %+v\n", e.Seq, fact, fact)
		}
	}
	return b.String()
}
