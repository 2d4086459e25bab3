package graph

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/tachobench/tacho/events"
)

// made returns a settled graph of required jobs named by letters: "b:a c:b n|a o<a" says that b and c need successes,
// n an end and o an output.
func made(t *testing.T, jobs int, needs string) *Graph {
	t.Helper()
	words := strings.Fields(needs)
	g := New(jobs, len(words))
	for i := range jobs {
		g.Add(i, false, "")
	}
	for _, w := range words {
		n := Need{Job: int(w[0] - 'a'), On: int(w[2] - 'a')}
		if w[1] == '|' {
			n.Until = events.UntilEnded
		}
		if w[1] == '<' {
			n.Output = "out"
		}
		g.Need(n)
	}
	g.Settle()
	return g
}

// states returns the states as one letter each: b, r, x for skipped, s, f, c.
func states(g *Graph) string {
	letters := map[State]string{Blocked: "b", Ready: "r", Skipped: "x", Succeeded: "s", Failed: "f", Cancelled: "c"}
	var b strings.Builder
	for i := range g.Len() {
		b.WriteString(letters[g.State(i)])
	}
	return b.String()
}

func TestStatesFollowFromEnds(t *testing.T) {
	tests := []struct{ name, needs, does, want string }{
		{"nothing has happened", "b:a c:b d|a", "", "rbbb"},
		{"a success lets the next one run", "b:a c:b d|a", "a+", "srbr"},
		{"a failure skips all that need it, and lets hooks run", "b:a c:b d|a", "a-", "fxxr"},
		{"a hook runs after a skipped job", "b:a c:b d|c", "a-", "fxxr"},
		{"a cancelled job counts as failed", "b:a c:b d|a", "a0", "cxxr"},
		{"the failed job runs again", "b:a c:b d|a", "a- a!", "rbbr"},
		{"and succeeds: the hook, which ran, does not run again", "b:a c:b d|a", "a- d+ a! a+", "srbs"},
		{"two needs must both be met", "d:a d:b d:c", "a+ b+", "ssrb"},
		{"one that cannot be met is enough", "d:a d:b d:c", "a+ b-", "sfrx"},
		{"of two failed needs one runs again", "d:a d:b d:c", "a- b- a!", "rfrx"},
		{"both run again", "d:a d:b d:c", "a- b- a! b!", "rrrb"},
		{"what was met stays met", "b:a c:b", "a+ a! a- ", "frb"},
		{"a job that was cancelled before its turn is blocked again", "b:a c:b", "b0 b!", "rbb"},
		{"and is skipped again if its need failed", "b:a c:b", "b0 a- b!", "fxx"},
		{"a job that another graph let run ends here as well", "b:a c:b", "b+", "rsr"},
		{"also after it was skipped", "b:a c:b", "a- b+", "fsr"},
		{"a forced job waits for none, and others wait for it", "b:a c:b c:a", "b^", "rrb"},
		{"a skipped job that is forced runs, and what it lets run", "b:a c:b", "a- b^ b+", "fsr"},
		{"its later rounds are forced, too", "b:a c:b", "a- b^ b- b!", "frb"},
		{"a forced job stays so when what it needs runs again and fails", "b:a", "b^ a- a! a-", "fr"},
		{"one that does not wait stays as it is", "b:a", "a^ a+ b^", "sr"},
		{"an output lets the one run that uses it", "b<a c:a", "a*", "rrb"},
		{"it stays met when the build fails, and those that need its success are skipped", "b<a c:a", "a* a-", "frx"},
		{"it stays met when the build runs again, and fails", "b<a c:a", "a* a+ b+ a! a-", "fsr"},
		{"a build that fails without its output", "b<a c:b", "a-", "fxx"},
		{"a build that succeeds without its output", "b<a c:b d:a", "a+", "sxxr"},
		{"it runs again and stores it", "b<a c:b", "a+ a! a*", "rrb"},
		{"the output and the success", "b<a b:a", "a*", "rb"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			g := made(t, len(tt.want), tt.needs)
			do(g, tt.does)
			if got := states(g); got != tt.want {
				t.Errorf("states %s, want %s", got, tt.want)
			}
		})
	}
}

func TestCauseIsTheJobThatFailed(t *testing.T) {
	g := made(t, 5, "c:a c:b d:c e:d")
	g.End(1, events.Failure)
	if cause, ok := g.Cause(4); !ok || cause != 1 {
		t.Errorf("e is skipped for %d, %v, want 1", cause, ok)
	}
	changed := g.End(0, events.Failure)
	if cause, _ := g.Cause(4); cause != 0 || len(changed) != 4 {
		t.Errorf("e is skipped for %d, and %v changed: want the first of the needs that failed, and those who are skipped for it", cause, changed)
	}
	g.Again(0)
	if cause, _ := g.Cause(4); cause != 1 {
		t.Errorf("e is skipped for %d after a runs again, want 1", cause)
	}
}

func TestJobsThatHadEnded(t *testing.T) {
	g := New(4, 3)
	g.Add(0, false, events.Success)
	g.Add(1, false, events.Failure)
	g.Add(2, true, "")
	g.Need(Need{Job: 2, On: 0})
	g.Need(Need{Job: 3, On: 1})
	if g.Complete() || g.Settle() != nil {
		t.Fatal("a graph with a job and a need to come is complete")
	}
	g.Add(3, false, "")
	g.Need(Need{Job: 3, On: 2})
	changed := g.Settle()
	if got := states(g); got != "sfrx" || g.Open() != 0 {
		t.Errorf("states %s, %d open: want sfrx, and none open, as an optional job does not count", got, g.Open())
	}
	if len(changed) != 4 {
		t.Errorf("changed %v, want all four", changed)
	}
}

func TestCheckNamesWhatIsWrong(t *testing.T) {
	name := func(i int) string { return string(rune('a' + i)) }
	for _, tt := range []struct {
		jobs  int
		needs []Need
		want  string
	}{
		{2, []Need{{Job: 1}}, ""},
		{2, []Need{{Job: 1, On: 1}}, "b needs itself"},
		{2, []Need{{Job: 1, On: 2}}, "b needs job 2"},
		{2, []Need{{Job: -1, On: 1}}, "job -1"},
		{4, []Need{{Job: 0, On: 3}, {Job: 3, On: 1}, {Job: 1, On: 2}, {Job: 2, On: 3}}, "d → b → c → d: none of them could ever run"},
		{MaxJobs + 1, nil, "10001 jobs"},
		{2, make([]Need, MaxNeeds+1), "100001 needs"},
	} {
		err := Check(tt.jobs, tt.needs, name)
		if tt.want == "" && err != nil || tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
			t.Errorf("error %v, want %q", err, tt.want)
		}
	}
}

// TestStatesOfRandomGraphs compares the states with a judge that knows only what has ended, and in which order.
func TestStatesOfRandomGraphs(t *testing.T) {
	for seed := range uint64(150) {
		r := rand.New(rand.NewPCG(seed, 1))
		jobs := 1 + r.IntN(12)
		var needs []Need
		for range r.IntN(3 * jobs) {
			if job := r.IntN(jobs); job > 0 {
				n := Need{Job: job, On: r.IntN(job)}
				if r.IntN(4) == 0 {
					n.Until = events.UntilEnded
				} else if r.IntN(3) == 0 {
					n.Output = []string{"lib", "bin"}[r.IntN(2)]
				}
				needs = append(needs, n)
			}
		}
		order := r.Perm(jobs) // the judge's graph has other numbers than the order of needs
		for i := range needs {
			needs[i].Job, needs[i].On = order[needs[i].Job], order[needs[i].On]
		}
		g := New(jobs, len(needs))
		failFast := r.IntN(2) == 0
		if failFast {
			g.FailFast()
		}
		judge := judge{failFast: failFast, optional: make([]bool, jobs), begun: make([]bool, jobs), forced: make([]bool, jobs), needs: needs, met: make([]bool, len(needs)), ends: make([]State, jobs)}
		for i := range jobs {
			var end events.Outcome
			if r.IntN(6) == 0 {
				end = []events.Outcome{events.Success, events.Failure}[r.IntN(2)]
			}
			judge.optional[i] = r.IntN(5) == 0
			g.Add(i, judge.optional[i], end)
			judge.ends[i] = State(end)
			if r.IntN(6) == 0 {
				judge.store(i, "lib")
				g.Stored(i, "lib")
			}
			if !g.Complete() && r.IntN(8) == 0 {
				g = roundTrip(t, g)
			}
		}
		for _, n := range needs {
			g.Need(n)
		}
		g.Settle()
		for step := range 40 {
			want := judge.states()
			for i := range jobs {
				if got := g.State(i); got != want[i] {
					t.Fatalf("seed %d, step %d: job %d is %s, want %s\n%v", seed, step, i, got, want[i], needs)
				}
				if got, want := g.Stale(i), judge.stale(want, i); got != want {
					t.Fatalf("seed %d, step %d: job %d is stale: %v, want %v\n%v", seed, step, i, got, want, needs)
				}
			}
			again := roundTrip(t, g)
			if !reflect.DeepEqual(again, g) {
				t.Fatalf("seed %d, step %d: the graph of the snapshot differs\n%+v\n%+v", seed, step, again, g)
			}
			job := r.IntN(jobs)
			before := slices.Clone(g.nodes)
			var changed []Change
			if r.IntN(8) == 0 {
				waits := want[job] == Blocked || want[job] == Skipped
				for k, n := range needs {
					judge.met[k] = judge.met[k] || waits && n.Job == job
				}
				judge.forced[job] = judge.forced[job] || waits
				if changed = g.Force(job); waits != (len(changed) > 0) || waits && (g.State(job) != Ready || !g.Forced(job)) {
					t.Fatalf("seed %d, step %d: job %d was %s, is forced and %s: %v", seed, step, job, want[job], g.State(job), changed)
				}
			} else if r.IntN(4) == 0 {
				judge.begun[job] = judge.begun[job] || failFast && judge.ends[job] == ""
				changed = g.Begin(job)
			} else if r.IntN(4) == 0 {
				output := []string{"lib", "bin"}[r.IntN(2)]
				judge.store(job, output)
				changed = g.Stored(job, output)
			} else if judge.ends[job] == "" {
				end := []events.Outcome{events.Success, events.Success, events.Failure, events.Cancelled}[r.IntN(4)]
				if g.State(job) != Ready && r.IntN(4) > 0 {
					continue
				}
				if g.State(job) == Skipped && end == events.Cancelled {
					continue // it stays skipped
				}
				judge.ends[job] = State(end)
				changed = g.End(job, end)
			} else {
				judge.ends[job] = ""
				judge.begun[job] = judge.stop() >= 0
				changed = g.Again(job)
			}
			open, left := 0, 0
			for i := range g.nodes {
				n, was := g.nodes[i], before[i]
				moved := n.state != was.state || n.cause != was.cause
				if moved != slices.ContainsFunc(changed, func(c Change) bool { return c.Job == i && c.Was == was.state && c.Now == n.state }) {
					t.Fatalf("seed %d, step %d: job %d was %s and is %s, the changes are %v", seed, step, i, was.state, n.state, changed)
				}
				if !n.state.Over() {
					left++
					if !n.optional {
						open++
					}
				}
			}
			if open != g.Open() || left != g.Left() {
				t.Fatalf("seed %d, step %d: %d jobs are left, %d of them required, the graph counts %d and %d", seed, step, left, open, g.Left(), g.Open())
			}
		}
	}
}

func roundTrip(t *testing.T, g *Graph) *Graph {
	t.Helper()
	data, err := json.Marshal(g)
	if err != nil {
		t.Fatal(err)
	}
	var again Graph
	if err := json.Unmarshal(data, &again); err != nil {
		t.Fatal(err)
	}
	return &again
}

// store notes an output: from then on the needs of it are met.
func (j judge) store(job int, output string) {
	for k, n := range j.needs {
		j.met[k] = j.met[k] || n.On == job && n.Output == output
	}
}

// stale reports whether a job uses an output of one that failed.
func (j judge) stale(states []State, job int) bool {
	for k, n := range j.needs {
		bad := states[n.On] == Failed || states[n.On] == Cancelled || states[n.On] == Skipped
		if n.Job == job && j.met[k] && n.Output != "" && bad && states[job] != Skipped && !j.forced[job] {
			return true
		}
	}
	return false
}

// judge finds the states anew from what has ended.
type judge struct {
	needs []Need
	met   []bool
	ends  []State

	failFast                bool
	optional, begun, forced []bool
}

// stop returns the job that stops a fail-fast graph; negative for none.
func (j judge) stop() int {
	for i, end := range j.ends {
		if j.failFast && end == Failed && !j.optional[i] {
			return i
		}
	}
	return -1
}

func (j judge) states() []State {
	out := slices.Clone(j.ends)
	for i := range out {
		if out[i] == "" {
			out[i] = Ready
		}
	}
	for range len(out) + 1 { // a path is no longer than the graph
		for i := range out {
			if j.ends[i] != "" {
				continue
			}
			out[i] = Ready
			if j.stop() >= 0 && !j.begun[i] && !j.forced[i] {
				out[i] = Skipped
			}
			for k, n := range j.needs {
				if n.Job != i || j.met[k] {
					continue
				}
				bad := out[n.On] == Failed || out[n.On] == Cancelled || out[n.On] == Skipped || n.Output != "" && out[n.On] == Succeeded
				if bad && n.Until == events.UntilSuccess {
					out[i] = Skipped
				} else if out[i] != Skipped {
					out[i] = Blocked
				}
			}
		}
		for k, n := range j.needs {
			if n.Output == "" && out[n.On] == Succeeded || n.Until == events.UntilEnded && out[n.On] != Blocked && out[n.On] != Ready && (out[n.On] != Skipped || j.stop() < 0) {
				j.met[k] = true
			}
		}
	}
	return out
}

func BenchmarkReadyTenThousand(b *testing.B) {
	for b.Loop() {
		b.StopTimer()
		g := New(MaxJobs, MaxJobs-1)
		for i := range MaxJobs {
			g.Add(i, false, "")
		}
		for i := 1; i < MaxJobs; i++ {
			g.Need(Need{Job: i, On: 0})
		}
		g.Settle()
		b.StartTimer()
		if got := len(g.End(0, events.Success)); got != MaxJobs {
			b.Fatal(got)
		}
	}
}

func ExampleGraph() {
	g := New(3, 2)
	for i := range 3 {
		g.Add(i, false, "")
	}
	g.Need(Need{Job: 1, On: 0})
	g.Need(Need{Job: 2, On: 0, Until: events.UntilEnded})
	g.Settle()
	fmt.Println(g.End(0, events.Failure))
	// Output: [{0 ready failure} {1 blocked skipped} {2 blocked ready}]
}

// do carries out steps, such as "a+ b-": job a succeeds, b fails. 0 cancels, ! runs again, > begins, ^ forces, * stores.
func do(g *Graph, steps string) {
	for _, w := range strings.Fields(steps) {
		job := int(w[0] - 'a')
		switch w[1] {
		case '+':
			g.End(job, events.Success)
		case '-':
			g.End(job, events.Failure)
		case '0':
			g.End(job, events.Cancelled)
		case '!':
			g.Again(job)
		case '>':
			g.Begin(job)
		case '^':
			g.Force(job)
		case '*':
			g.Stored(job, "out")
		}
	}
}
