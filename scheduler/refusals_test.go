package scheduler

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/rules/graph"
)

// At every moment of a request a refusal says what is true of the job that was asked for, by the id of any of its rounds.
func TestARefusalSaysHowTheJobStands(t *testing.T) {
	words := map[string]string{
		string(events.JobQueued): " is queued and has not run yet: `tacho job why ", string(events.JobInProgress): " is in progress: ask again when it has ended",
		string(graph.Blocked): " is blocked: it runs when", string(graph.Skipped): " is skipped because job ",
		string(events.JobSuccess): " succeeded: what it measured stands; `tacho graph retrigger rt1 --job ",
	}
	seen := map[string]bool{}
	for _, ends := range []string{"+", "-", "-+"} {
		for steps := range 30 {
			f := newGraphFarm(t, kinds("a b:a c:b n|a z"))
			f.ends["a"] = ends
			id := f.ask("t1", "", events.Master)
			rerun := false
			for n := steps; n > 0; n-- {
				if ends == "-+" && !rerun && slices.Contains(f.ran, "a") {
					f.want(id, events.GraphRerun, f.only("a"))
					rerun = true
				}
				if !f.decide() && !f.work() {
					break
				}
			}
			r := f.state.Requests[id]
			if r.StartedAt.IsZero() {
				continue
			}
			for _, j := range f.state.NewestRounds(r) {
				state := f.state.stateFor(r, j)
				if f.state.undone(r, j) {
					continue
				}
				seen[state] = true
				for _, asked := range append(j.Spec().Earlier(), j.ID) {
					name := "job " + string(asked)
					if asked != j.ID {
						name += " (round 2: job " + string(j.ID) + ")"
						seen["another round"] = true
					}
					_, got := f.state.repairs(r, events.GraphWanted{RequestID: id, Kind: events.GraphRepair, Select: []events.JobID{asked}})
					if want := name + words[state]; !strings.HasPrefix(got, want) {
						t.Errorf("after %d steps a job that is %s: %q, want %q", steps, state, got, want)
					}
				}
			}
		}
	}
	if len(seen) != len(words)+1 {
		t.Errorf("there were only %v", seen)
	}
}

// advised are the commands that a text names, with a job.
var advised = regexp.MustCompile("`tacho (request repair|graph retrigger) (\\S+) --(select|job) ([^`]+)`")

// follow asks for what a text advises, and reports the advised kinds. Each must be carried out.
func (f *graphFarm) follow(advice string) (kinds []events.GraphKind) {
	for _, command := range advised.FindAllStringSubmatch(advice, -1) {
		kind := events.GraphRepair
		if command[1] == "graph retrigger" {
			kind = events.GraphRetrigger
		}
		w := events.GraphWanted{Kind: kind}
		for job := range strings.SplitSeq(command[4], " --"+command[3]+" ") {
			w.Select = append(w.Select, events.JobID(job))
		}
		before := len(f.log)
		if why := f.wish(events.RequestID(command[2]), w); why != "" {
			f.t.Fatalf("%s is refused: %s", command[0], why)
		}
		f.settle()
		if made := f.answers(before); f.refused() != "" || len(made) < len(w.Select) {
			f.t.Fatalf("%s makes %d jobs, and is refused: %q", command[0], len(made), f.refused())
		}
		kinds = append(kinds, kind)
	}
	return kinds
}

// What a refused rerun of a request that has ended advises is carried out as it is printed.
func TestALateRerunAdvisesWhatWorks(t *testing.T) {
	for _, tt := range []struct {
		name, ends string
		jobs       []events.JobKind
		advised    []events.GraphKind
		says       string
	}{
		{"one that succeeded", "+", []events.JobKind{"b"}, []events.GraphKind{events.GraphRetrigger}, "is completed, and its jobs run again only while it is in progress: use `tacho graph retrigger"},
		{"two that succeeded", "+", []events.JobKind{"b", "c"}, []events.GraphKind{events.GraphRetrigger}, ""},
		{"one that failed", "-+", []events.JobKind{"a"}, []events.GraphKind{events.GraphRepair}, "is failed, and its jobs run again only while it is in progress: use `tacho request repair"},
		{"one that was skipped", "-+", []events.JobKind{"c"}, []events.GraphKind{events.GraphRepair}, ""},
		{"one of each", "-+", []events.JobKind{"n", "a"}, []events.GraphKind{events.GraphRepair, events.GraphRetrigger}, ""},
		{"none", "-+", nil, nil, "use `tacho request repair rt1`"},
		{"one of nobody", "+", []events.JobKind{"x"}, nil, "job j0 is none of the request, or a sample"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f := newGraphFarm(t, kinds("a b:a c:b n|a"))
			f.ends["a"] = tt.ends
			id := f.ask("t1", "", events.Master)
			f.settle()
			jobs := []events.JobID(nil)
			for _, kind := range tt.jobs {
				if kind == "x" {
					jobs = append(jobs, "j0")
					continue
				}
				jobs = append(jobs, f.only(kind))
			}
			f.want(id, events.GraphRerun, jobs...)
			f.settle()
			why := f.refused()
			if !strings.Contains(why, tt.says) {
				t.Errorf("refused with %q, want %q", why, tt.says)
			}
			if got := f.follow(why); !slices.Equal(got, tt.advised) {
				t.Errorf("%q advises %v, want %v", why, got, tt.advised)
			}
		})
	}
}

// A job that had too many rounds is named as it was asked for, and the advice works for it, too.
func TestTooManyRoundsAreRefused(t *testing.T) {
	f := newGraphFarm(t, kinds("a"))
	f.ends["a"] = "-"
	id := f.ask("t1", "", events.Master)
	f.settle()
	first := f.only("a")
	for range roundsInAll - 1 {
		f.want(id, events.GraphRepair, first)
		f.settle()
	}
	if why := f.refused(); why != "" {
		t.Fatal(why)
	}
	f.want(id, events.GraphRepair, first)
	f.settle()
	why := f.refused()
	if want := "job " + string(first) + " had 20 rounds"; !strings.HasPrefix(why, want) {
		t.Errorf("refused with %q, want %q", why, want)
	}
	if got := f.follow(why); !slices.Equal(got, []events.GraphKind{events.GraphRetrigger}) {
		t.Errorf("%q advises %v", why, got)
	}
}

// A repair of a selection says how many jobs it could have had.
func TestARepairOfNothingCountsJobs(t *testing.T) {
	for ends, want := range map[string]string{
		"-": "1 job did not succeed, but it does not have kind=z: `tacho request show rt1` lists the jobs",
		"+": "every job of the request succeeded: what they measured stands; `tacho graph retrigger rt1` measures them once more",
	} {
		f := newGraphFarm(t, kinds("a z"))
		f.ends["a"] = ends
		id := f.ask("t1", "", events.Master)
		f.settle()
		if why := f.wish(id, events.GraphWanted{Kind: events.GraphRepair, Where: []string{"kind=z"}}); why != "" {
			t.Fatal(why)
		}
		f.settle()
		if got := f.refused(); got != want {
			t.Errorf("refused with %q, want %q", got, want)
		}
	}
}

// answers returns the jobs that were made for the wishes since an event.
func (f *graphFarm) answers(since int) (jobs []events.JobSpec) {
	for _, e := range f.log[since:] {
		if made, ok := e.Fact.(events.JobsCreated); ok && made.Key != "" {
			jobs = append(jobs, made.Jobs...)
		}
	}
	return jobs
}
