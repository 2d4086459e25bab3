package projector_test

import (
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/readmodel"
)

// graphFarm writes a log of requests with graphs, and judges what follows from it. It knows what has ended and in which
// order, and finds the states anew each time.
type graphFarm struct {
	*story
	r       *rand.Rand
	made    int
	ended   map[events.RequestID]bool
	jobs    map[events.JobID]*judged
	order   []events.JobID
	running map[events.Lane]*judged
	graphs  []*judge
}

// judged is a job with what became of it.
type judged struct {
	events.JobSpec
	state   events.JobState
	at      int64
	retired bool
	token   events.Seq
}

// judge knows one graph.
type judge struct {
	request events.RequestID
	number  int
	kind    events.GraphKind
	outcome events.Outcome
	at      int64
	retired bool
	jobs    []events.JobID
	options []bool
	ends    []string // empty for those that have not ended
	needs   []judgedNeed
	forced  map[int]string
	odd     int // needs that cannot be
}

type judgedNeed struct {
	job int
	readmodel.GraphNeed
}

func newGraphFarm(s *story, seed uint64) *graphFarm {
	return &graphFarm{
		story: s, r: rand.New(rand.NewPCG(seed, 3)), ended: map[events.RequestID]bool{}, jobs: map[events.JobID]*judged{}, running: map[events.Lane]*judged{},
	}
}

// states returns the state of each job, and the job that it is skipped for. It notes which needs are met now.
func (g *judge) states() (states []string, causes []*int) {
	states, causes = slices.Clone(g.ends), make([]*int, len(g.ends))
	for range len(states) + 1 { // what follows takes one step for each need on the way
		for i, end := range g.ends {
			if end != "" {
				continue
			}
			states[i], causes[i] = "ready", nil
			for _, n := range g.needs {
				on := states[n.On]
				bad := n.Until == "" && (on == "failure" || on == "cancelled" || on == "skipped")
				switch {
				case n.job != i || n.Met || states[i] == "skipped":
				case bad && on == "skipped":
					states[i], causes[i] = "skipped", causes[n.On]
				case bad:
					states[i], causes[i] = "skipped", &n.On
				default:
					states[i] = "blocked"
				}
			}
		}
	}
	for k, n := range g.needs {
		over := !slices.Contains([]string{"ready", "blocked"}, states[n.On])
		g.needs[k].Met = n.Met || states[n.On] == "success" || n.Until == events.UntilEnded && over
	}
	return states, causes
}

// settle returns the states once nothing more follows.
func (g *judge) settle() (states []string, causes []*int) {
	for range len(g.needs) + 1 {
		states, causes = g.states()
	}
	return states, causes
}

// shows returns what people see of a graph.
func (f *graphFarm) shows(g *judge) (nodes []readmodel.GraphJob) {
	states, causes := g.settle()
	for i, id := range g.jobs {
		n := readmodel.GraphJob{Number: i, JobID: id, Optional: g.options[i], State: states[i], SkippedBy: causes[i], Needs: []readmodel.GraphNeed{}, Forced: g.forced[i]}
		own := string(events.JobQueued)
		if j := f.jobs[id]; j != nil {
			own = string(j.state)
		}
		switch n.State {
		case "ready":
			n.State = own
		case "blocked":
			if g.outcome != "" || own != "queued" {
				n.State = own
			}
		case "skipped":
			if g.outcome == "" && own == "in_progress" {
				n.State = own
			}
		}
		for _, need := range g.needs {
			if need.job == i {
				n.Needs = append(n.Needs, need.GraphNeed)
			}
		}
		nodes = append(nodes, n)
	}
	return nodes
}

// shown returns the state of a job as people see it.
func (f *graphFarm) shown(j *judged) string {
	held := string(j.state)
	if j.state != events.JobQueued {
		return held
	}
	for _, g := range f.graphs {
		states, _ := g.settle()
		for i, id := range g.jobs {
			switch {
			case id != j.ID || g.outcome != "":
			case states[i] == "ready":
				return "queued"
			case states[i] == "blocked" || held == "queued":
				held = states[i]
			}
		}
	}
	return held
}

// ends notes the end of a job in every open graph. Where it is skipped, it is no news that it is cancelled.
func (f *graphFarm) ends(j *judged, end events.Outcome) {
	j.state, j.at = events.JobState(end), f.at.Unix()-1
	for _, g := range f.graphs {
		states, _ := g.settle()
		for i, id := range g.jobs {
			if id == j.ID && g.outcome == "" && (end != events.Cancelled || states[i] != "skipped") {
				g.ends[i] = string(end)
			}
		}
		g.settle()
	}
}

// step lets one thing happen, and returns how many events told of it.
func (f *graphFarm) step() int {
	before := len(f.stored)
	switch f.r.IntN(12) {
	case 0, 1:
		f.start()
	case 2, 3, 4, 5:
		f.begin()
	case 6, 7, 8:
		f.finish()
	case 9:
		f.again()
	case 10:
		f.close()
	case 11:
		switch f.r.IntN(6) {
		case 4, 5:
			f.force()
		case 0:
			f.cancel()
		case 1:
			f.withdraw()
		case 2:
			f.repair()
		case 3:
			f.retire()
		}
	}
	return len(f.stored) - before
}

func (f *graphFarm) start() {
	f.made++
	tag := events.Tag(fmt.Sprintf("sha%d", f.made))
	id := requestID(tag)
	f.tell(created(tag, "", 0))
	f.tell(events.RequestAdmitted{RequestID: id, Tag: tag, Reason: "first"})
	f.tell(events.RequestStarted{RequestID: id, Definitions: "d1", Graphs: 1})
	f.graph(id, tag, events.GraphInitial, 0, 1+f.r.IntN(7))
	if f.r.IntN(2) == 0 {
		f.graph(id, tag+"p", events.GraphBackfill, 1, 1+f.r.IntN(3))
	}
}

// graph makes a graph of some new jobs, and of jobs that exist, in two events.
func (f *graphFarm) graph(id events.RequestID, tag events.Tag, kind events.GraphKind, number, jobs int) {
	g := &judge{request: id, number: number, kind: kind, forced: map[int]string{}}
	var specs []events.JobSpec
	parts := [2]events.GraphPart{{Graph: number}, {Graph: number, First: jobs / 2}}
	for i := range jobs {
		j := job(tag, lanes[f.r.IntN(len(lanes))], events.Profile(fmt.Sprintf("p%d", i)))
		j.RequestID, j.Optional = id, f.r.IntN(5) == 0
		specs = append(specs, j)
		g.jobs, g.options, g.ends = append(g.jobs, j.ID), append(g.options, j.Optional), append(g.ends, "")
		f.jobs[j.ID] = &judged{JobSpec: j, state: events.JobQueued}
		f.order = append(f.order, j.ID)
	}
	for range f.r.IntN(3) {
		j := f.any()
		if slices.Contains(g.jobs, j.ID) {
			continue
		}
		shared := events.SharedJob{Number: len(g.jobs), ID: j.ID, Optional: f.r.IntN(5) == 0}
		g.jobs, g.options, g.ends = append(g.jobs, j.ID), append(g.options, shared.Optional), append(g.ends, "")
		if j.state.Terminal() {
			g.ends[shared.Number] = string(j.state)
			if shared.Outcome = events.Outcome(j.state); !j.retired && f.r.IntN(3) == 0 {
				shared.Outcome = "" // it ended while the graph was made
			}
		}
		p := &parts[f.r.IntN(2)]
		p.Shared = append(p.Shared, shared)
	}
	names := f.r.Perm(len(g.jobs)) // the order of needs is not that of numbers
	for i := 1; i < len(names); i++ {
		for on := range i {
			if f.r.IntN(3) > 0 {
				continue
			}
			until := []events.Until{events.UntilSuccess, events.UntilSuccess, events.UntilEnded}[f.r.IntN(3)]
			g.needs = append(g.needs, judgedNeed{names[i], readmodel.GraphNeed{On: names[on], Until: until}})
			p := &parts[f.r.IntN(2)]
			p.Needs = append(p.Needs, events.JobNeeds{Job: names[i], On: []int{names[on]}, Until: until})
		}
	}
	if f.r.IntN(3) == 0 {
		g.odd = 1
		p := &parts[f.r.IntN(2)]
		p.Needs = append(p.Needs, events.JobNeeds{Job: len(names), On: []int{0}})
	}
	slices.SortFunc(g.needs, func(a, b judgedNeed) int { return a.On - b.On })
	f.tell(events.GraphCreated{RequestID: id, Graph: number, Kind: kind, Jobs: len(g.jobs), Needs: len(g.needs) + g.odd})
	f.tell(events.JobsCreated{RequestID: id, Jobs: specs[:jobs/2], Graph: &parts[0]})
	f.tell(events.JobsCreated{RequestID: id, Jobs: specs[jobs/2:], Graph: &parts[1]})
	g.settle()
	f.graphs = append(f.graphs, g)
}

func (f *graphFarm) any() *judged { return f.jobs[f.order[f.r.IntN(len(f.order))]] }

// begin begins a job that waits, mostly one that is not held.
func (f *graphFarm) begin() {
	for range 20 {
		j := f.anyOrNil()
		if j == nil || j.state != events.JobQueued || f.running[j.Lane()] != nil || f.shown(j) != "queued" && f.r.IntN(30) > 0 {
			continue
		}
		f.running[j.Lane()] = j
		j.token, j.state = f.tell(dequeued(j.JobSpec, 1, 0)), events.JobInProgress
		return
	}
}

func (f *graphFarm) anyOrNil() *judged {
	if len(f.order) == 0 {
		return nil
	}
	return f.any()
}

func (f *graphFarm) finish() {
	for _, l := range lanes {
		if j := f.running[l]; j != nil {
			end := []events.Outcome{events.Success, events.Success, events.Failure, events.Cancelled}[f.r.IntN(4)]
			f.tell(finished(j.JobSpec, j.token, end))
			delete(f.running, l)
			f.ends(j, end)
		}
	}
}

// again makes the next rounds of jobs of an open graph that have ended.
func (f *graphFarm) again() {
	for _, g := range f.graphs {
		part := &events.GraphPart{Graph: g.number}
		var specs []events.JobSpec
		for i, id := range g.jobs {
			next := f.jobs[id].JobSpec.Again()
			if g.outcome == "" && !f.ended[g.request] && g.ends[i] != "" && f.jobs[next.ID] == nil && f.r.IntN(3) == 0 {
				part.Again, specs = append(part.Again, i), append(specs, next)
				f.jobs[next.ID] = &judged{JobSpec: next, state: events.JobQueued}
				f.order = append(f.order, next.ID)
				g.jobs[i], g.ends[i] = next.ID, ""
			}
		}
		if len(specs) > 0 {
			f.tell(events.JobsCreated{RequestID: g.request, Key: "again", Jobs: specs, Graph: part})
			f.tell(events.JobsCreated{RequestID: g.request, Key: "again", Jobs: specs, Graph: part}) // twice is once
			g.settle()
			return
		}
	}
}

// force lets a job run that waits for others in a graph.
func (f *graphFarm) force() {
	j := f.anyOrNil()
	if j == nil || len(f.graphs) == 0 {
		return
	}
	id := f.graphs[f.r.IntN(len(f.graphs))].request
	f.tell(events.JobForced{RequestID: id, JobID: j.ID, Key: "force", Reason: "why not"})
	for _, g := range f.graphs {
		number := slices.Index(g.jobs, j.ID)
		states, _ := g.settle()
		if number < 0 || g.request != id || g.outcome != "" || j.state.Terminal() || states[number] != "blocked" && states[number] != "skipped" {
			continue
		}
		g.forced[number] = "why not"
		for k, n := range g.needs {
			g.needs[k].Met = n.Met || n.job == number
		}
		g.settle()
	}
}

// close ends graphs whose required jobs are over, and the jobs that they skipped.
func (f *graphFarm) close() {
	for _, g := range f.graphs {
		states, _ := g.settle()
		var skipped []*judged
		over := g.outcome == ""
		for i, state := range states {
			over = over && (g.options[i] || state != "blocked" && state != "ready")
			if j := f.jobs[g.jobs[i]]; state == "skipped" && j.state == events.JobQueued {
				skipped = append(skipped, j)
			}
		}
		if !over {
			continue
		}
		first := f.r.IntN(2) == 0 // which of the two comes first
		ended := events.GraphEnded{RequestID: g.request, Graph: g.number, Outcome: events.Failure, Jobs: len(g.jobs), Failed: 1, Skipped: len(skipped)}
		if f.ended[g.request] {
			ended.Outcome = events.Cancelled
		}
		if first {
			f.take(g.request, skipped)
		}
		f.tell(ended)
		g.outcome, g.at = ended.Outcome, f.at.Unix()-1
		if !first {
			f.take(g.request, skipped)
		}
		f.tell(ended) // twice is once
	}
}

// take withdraws jobs that wait.
func (f *graphFarm) take(id events.RequestID, jobs []*judged) {
	withdrawn := events.JobsWithdrawn{RequestID: id}
	for _, j := range jobs {
		withdrawn.Jobs = append(withdrawn.Jobs, j.ID)
	}
	f.tell(withdrawn)
	for _, j := range jobs {
		f.ends(j, events.Cancelled)
	}
}

// cancel ends a request, and then its jobs that wait. Its graphs end later.
func (f *graphFarm) cancel() {
	if f.made == 0 {
		return
	}
	id := requestID(events.Tag(fmt.Sprintf("sha%d", 1+f.r.IntN(f.made))))
	f.tell(events.RequestCancelled{RequestID: id, Reason: "asked"})
	f.ended[id] = true
	var waiting []*judged
	for _, job := range f.order {
		if j := f.jobs[job]; j.RequestID == id && j.state == events.JobQueued {
			waiting = append(waiting, j)
		}
	}
	f.take(id, waiting)
}

func (f *graphFarm) withdraw() {
	if j := f.anyOrNil(); j != nil && j.state == events.JobQueued {
		f.take(j.RequestID, []*judged{j})
	}
}

// repair makes one more graph for a request.
func (f *graphFarm) repair() {
	if f.made == 0 {
		return
	}
	tag := events.Tag(fmt.Sprintf("sha%d", 1+f.r.IntN(f.made)))
	number := 10 + len(f.graphs)
	f.graph(requestID(tag), events.Tag(fmt.Sprintf("%sr%d", tag, number)), events.GraphRepair, number, 1+f.r.IntN(4))
}

// retire takes out what ended a while ago.
func (f *graphFarm) retire() {
	before := f.at.Unix() - int64(f.r.IntN(60))
	f.tell(retired(before))
	for _, j := range f.jobs {
		j.retired = j.retired || j.state.Terminal() && j.at < before
	}
	for _, g := range f.graphs {
		g.retired = g.retired || g.outcome != "" && g.at < before
	}
}
