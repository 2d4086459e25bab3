package scheduler

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/rules/graph"
	"github.com/tachobench/tacho/rules/request"
	"github.com/tachobench/tacho/rules/suite"
)

// submit submits a graph as control does, and returns why that is refused at once.
func (f *graphFarm) submit(id events.RequestID, p graph.Proposed) string {
	key := fmt.Sprint("k", len(f.log))
	parts := p.Parts(id, key)
	w := events.GraphWanted{RequestID: id, Key: key, Kind: events.GraphExternal, Parts: len(parts), Content: p.Content()}
	facts, err := request.Decide(*f.state.Requests[id], request.Want{GraphWanted: w, Proposed: parts})
	if err != nil {
		return err.Error()
	}
	f.fold(facts...)
	return ""
}

// wrote returns a graph of jobs: "a b:a c|b b@t0 b=30" has a, b that needs a, c that needs the end of b, b of the artifact t0, and
// b with 30 iterations. The names after a colon are of the first job of that kind.
func wrote(words string) (p graph.Proposed) {
	of := map[byte]int{}
	for i, w := range strings.Fields(words) {
		one := events.ProposedJob{Number: i, Kind: events.JobKind(w[:1]), Target: "here", Backend: "b", Profile: "p"}
		if _, twice := of[w[0]]; !twice {
			of[w[0]] = i
		}
		switch rest := w[1:]; {
		case strings.HasPrefix(rest, "@"):
			one.Tag = events.Tag(rest[1:])
		case strings.HasPrefix(rest, "="):
			_, _ = fmt.Sscan(rest[1:], &one.Iterations)
		case rest == "?":
			optional := true
			one.Optional = &optional
		case rest != "":
			for _, on := range []byte(rest[1:]) {
				n := graph.Need{Job: i, On: of[on]}
				if rest[0] == '|' {
					n.Until = events.UntilEnded
				}
				p.Needs = append(p.Needs, n)
			}
		}
		p.Jobs = append(p.Jobs, one)
	}
	return p
}

// free returns definitions with kinds whose jobs may be changed on every branch.
func free(words string) suite.Definitions {
	d := backfilled(words)
	d.Branches = []suite.Branch{{Match: "*", Customise: suite.CustomiseAny}}
	return d
}

func TestRulesOfSubmittedGraphs(t *testing.T) {
	for _, tt := range []struct {
		name, graph string
		ends        string // of a
		refused     string
		ran         string // after the wish
		customised  bool
		made        string // kinds of the jobs, with what differs from the base series
	}{
		{name: "what the definitions make", graph: "a b:a c:b n|a", ran: "a b n c", made: "a b c n"},
		{name: "a part", graph: "a b:a", ran: "a b", customised: true, made: "a b"},
		{name: "other needs", graph: "c b:c a:b n|a", ran: "c b a n", customised: true, made: "c b a n"},
		{name: "more iterations", graph: "a=30 b:a c:b n|a", ran: "a b n c", customised: true, made: "a*30 b c n"},
		{name: "the parent alone", graph: "a@t0 b@t0", ran: "a b", customised: true, made: "a@t0 b@t0"},
		{name: "a that fails skips b", graph: "a b:a", ends: "++-", ran: "a", customised: true, made: "a b"},
		{name: "an optional one", graph: "a? b|a c:b n|a", ran: "a b n c", customised: true, made: "a? b c n"},
		{name: "a required one that needs an optional one", graph: "a? b:a", refused: `job 1 (b/here/0/b/p) is required and needs the success of job 0 (a/here/0/b/p), which is optional`},
		{name: "an unknown kind", graph: "x", refused: `job 0 (x/here/0/b/p): unknown kind "x": use a, b, c or n`},
		{name: "twice the same", graph: "a b a=30", refused: "job 2 (a/here/0/b/p): it measures the same as job 0: leave one of them out"},
		{name: "the artifact of another one", graph: "a@t9", refused: "tag is t9: the jobs of a request measure its own artifact, t1, or its parent's, t0; submit a graph for the request of t9"},
		{name: "too many iterations", graph: "a=1001", refused: "iterations is 1001: use 1 to 1000"},
	} {
		for _, dies := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/dies=%v", tt.name, dies), func(t *testing.T) {
				f := newGraphFarm(t, free("a b:a c:b n|a"))
				f.dies, f.branch = dies, "main"
				f.ends["a"] = tt.ends
				f.ask("t0", "", events.Master)
				id := f.ask("t1", "t0", events.Master)
				f.settle()
				before, state, lengths := len(f.ran), f.state.Requests[id].State, fmt.Sprint(f.state.Lengths)
				if why := f.submit(id, wrote(tt.graph)); why != "" {
					t.Fatal(why)
				}
				f.settle()
				f.agree()
				if got := f.refused(); !strings.Contains(got, tt.refused) || (got == "") != (tt.refused == "") {
					t.Errorf("refused %q, want %q", got, tt.refused)
				}
				if got := strings.Join(f.ran[before:], " "); got != tt.ran {
					t.Errorf("ran %s, want %s", got, tt.ran)
				}
				made, customised := f.submitted()
				if made != tt.made || customised != tt.customised {
					t.Errorf("made %s, customised: %v", made, customised)
				}
				r := f.state.Requests[id]
				if r.State != state || len(r.Wishes)+len(r.Proposed) > 0 || fmt.Sprint(f.state.Lengths) != lengths {
					t.Errorf("the request is %s, with %d wishes and %d parts; lengths were %s", r.State, len(r.Wishes), len(r.Proposed), lengths)
				}
				if len(f.state.Graphs)+len(f.state.Over)+f.state.Blocked+f.state.Seats.All > 0 {
					t.Errorf("%d graphs are left, %d blocked jobs, %d seats", len(f.state.Graphs), f.state.Blocked, f.state.Seats.All)
				}
			})
		}
	}
}

// submitted returns the jobs of the last external graph, and whether it is customised.
func (f *graphFarm) submitted() (string, bool) {
	var jobs []string
	customised, here := false, false
	for _, e := range f.log {
		// Only these make it.
		//exhaustive:ignore
		switch fact := e.Fact.(type) {
		case events.GraphCreated:
			if here = fact.Kind == events.GraphExternal; here {
				customised = fact.Customised
			}
		case events.JobsCreated:
			if !here {
				continue
			}
			for _, j := range fact.Jobs {
				word := string(j.Kind)
				if j.Artifact.Tag != "t1" {
					word += "@" + string(j.Artifact.Tag)
				}
				if j.Iterations > 0 {
					word += fmt.Sprint("*", j.Iterations)
				}
				if j.Optional {
					word += "?"
				}
				if j.Sample == "" || j.Backfill != (j.Artifact.Tag != "t1") || j.ID != j.First() {
					word += " (wrong)"
				}
				jobs = append(jobs, word)
			}
		}
	}
	return strings.Join(jobs, " "), customised
}

func TestOnlyBranchesAllowSubmittedGraphs(t *testing.T) {
	for name, tt := range map[string]struct {
		customise, branch, want string
	}{
		"none":      {suite.CustomiseNone, "main", `branch * has customise = "none"`},
		"options":   {suite.CustomiseOptions, "main", `branch * has customise = "options"`},
		"no branch": {suite.CustomiseAny, "", "no [[branch]] applies"},
		"any":       {suite.CustomiseAny, "main", ""},
	} {
		d := free("a")
		d.Branches[0].Customise = tt.customise
		f := newGraphFarm(t, d)
		f.branch = tt.branch
		id := f.ask("t1", "", events.Try)
		f.settle()
		if why := f.submit(id, wrote("a=9")); why != "" {
			t.Fatal(why)
		}
		f.settle()
		if got := f.refused(); !strings.HasPrefix(got, tt.want) || (got == "") != (tt.want == "") {
			t.Errorf("%s: refused %q, want %q", name, got, tt.want)
		}
	}
}

// A request keeps the parts of one submitted graph at most, and only until it is answered.
func TestOneSubmittedGraphWaits(t *testing.T) {
	f := newGraphFarm(t, free("a b"))
	f.branch = "main"
	id := f.ask("t1", "", events.Master)
	if why := f.submit(id, wrote("a=9")); !strings.Contains(why, "has no jobs yet") {
		t.Errorf("before the start: %q", why)
	}
	f.settle()
	if why := f.submit(id, wrote("a=9")); why != "" {
		t.Fatal(why)
	}
	if why := f.submit(id, wrote("b=9")); !strings.Contains(why, "waits for its answer") {
		t.Errorf("a second one: %q", why)
	}
	if len(f.state.Requests[id].Proposed) != 1 {
		t.Errorf("%d parts are kept", len(f.state.Requests[id].Proposed))
	}
	w := f.state.Requests[id].Wishes[0]
	same, err := request.Decide(*f.state.Requests[id], request.Want{GraphWanted: w, Proposed: wrote("a=9").Parts(id, w.Key)})
	if err != nil || len(same) > 0 {
		t.Errorf("the same once more: %v, %v", same, err)
	}
	w.Content = wrote("b=9").Content()
	if _, err := request.Decide(*f.state.Requests[id], request.Want{GraphWanted: w, Proposed: wrote("b=9").Parts(id, w.Key)}); err == nil || !strings.Contains(err.Error(), "was used before for another wish") {
		t.Errorf("another graph with the key: %v", err)
	}
	f.settle()
	if len(f.state.Requests[id].Proposed) != 0 {
		t.Error("the parts are kept after the answer")
	}
}

// A log that lacks a part of a graph, or has another one, makes nothing.
func TestPartsThatAreMissingMakeNothing(t *testing.T) {
	f := newGraphFarm(t, free("a b"))
	f.branch = "main"
	id := f.ask("t1", "", events.Master)
	f.settle()
	p := wrote("a=9")
	f.fold(events.GraphProposed{RequestID: id, Key: "old", Jobs: p.Jobs})
	f.fold(events.GraphWanted{RequestID: id, Key: "new", Kind: events.GraphExternal, Parts: 1, Content: p.Content()})
	f.settle()
	if got := f.refused(); !strings.Contains(got, "does not have all parts") {
		t.Errorf("refused %q", got)
	}
}

func TestMatchedJobsKeepTheirTerms(t *testing.T) {
	d := free("a b")
	d.Targets[0].OS, d.Targets[0].Arch = "linux", "amd64"
	d.Kinds[0].Lanes, d.Kinds[0].Backfill, d.Kinds[0].Caches = suite.LanesAny, false, []string{"cc"}
	f := newGraphFarm(t, d)
	f.branch = "main"
	id := f.ask("t1", "t0", events.Master)
	f.settle()
	p := wrote("a b")
	for requires, want := range map[string]string{
		"":                           "arch=amd64 exclusive os=linux",
		"os=linux memory=2":          "arch=amd64 exclusive memory=2g os=linux",
		"os=windows":                 "!exclude one another",
		"colour=red":                 "!requires: ",
		"arch=amd64 trait=no_such_1": "arch=amd64 exclusive os=linux trait=no_such_1",
	} {
		p.Jobs[0].Requires = strings.Fields(requires)
		_, asked, err := f.state.ForExpansion(f.state.Requests[id])
		if err != nil {
			t.Fatal(err)
		}
		jobs, err := d.External(asked, p, "s")
		switch {
		case want[0] == '!':
			if err == nil || !strings.Contains(err.Error(), want[1:]) {
				t.Errorf("%s: %v", requires, err)
			}
		case err != nil || strings.Join(jobs[0].Requires, " ") != want || jobs[0].Against == nil || !slices.Equal(jobs[0].Caches, []string{"cc"}):
			t.Errorf("%s: %+v, %v", requires, jobs, err)
		}
	}
	p.Jobs[0].Requires, p.Jobs[1].Requires = nil, []string{"memory=1"}
	_, asked, _ := f.state.ForExpansion(f.state.Requests[id])
	if _, err := d.External(asked, p, "s"); err == nil || !strings.Contains(err.Error(), "leave requires out") {
		t.Errorf("requires of a job with a lane of its own: %v", err)
	}
}

// submitAtRandom submits jobs that the definitions have, in another order and with random needs.
func (f *graphFarm) submitAtRandom(id events.RequestID) {
	r := f.random
	own, backfill, _, err := f.state.Expand(f.state.Requests[id])
	if err != nil {
		f.t.Fatalf("expand: %v", err)
	}
	if len(own) == 0 { // all are switched off
		return
	}
	p := someOf(r, append(own, backfill...))
	if r.IntN(8) == 0 && len(p.Needs) > 0 {
		p.Jobs[0].Kind = "unknown"
	}
	f.submit(id, p)
}

func someOf(r *rand.Rand, all []events.JobSpec) (p graph.Proposed) {
	r.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	for i, j := range all[:1+r.IntN(len(all))] {
		p.Jobs = append(p.Jobs, events.ProposedJob{
			Number: i, Tag: j.Artifact.Tag, Kind: j.Kind, Target: j.Target, Set: j.Set, Backend: j.Backend, Profile: j.Profile, Iterations: r.IntN(3),
		})
		for on := range i {
			if r.IntN(3) == 0 {
				p.Needs = append(p.Needs, graph.Need{Job: i, On: on, Until: []events.Until{events.UntilSuccess, events.UntilEnded}[r.IntN(2)]})
			}
		}
	}
	return p
}
