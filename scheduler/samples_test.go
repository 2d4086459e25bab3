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

// wish asks for more jobs as control does, and returns why that is refused at once.
func (f *graphFarm) wish(id events.RequestID, w events.GraphWanted) string {
	w.Key = fmt.Sprint("k", len(f.log))
	facts, err := request.Decide(*f.state.Requests[id], request.Want{GraphWanted: w})
	if err != nil {
		return err.Error()
	}
	f.fold(facts...)
	return ""
}

// refused returns why the last wish was refused; empty if it was not.
func (f *graphFarm) refused() (why string) {
	for _, e := range f.log {
		// Only these two answer.
		//exhaustive:ignore
		switch fact := e.Fact.(type) {
		case events.GraphRefused:
			why = fact.Reason
		case events.GraphAdmitted:
			why = ""
		}
	}
	return why
}

// samples returns the kinds of the jobs of samples that were made, a word for each copy.
func (f *graphFarm) samples() string {
	var copies []string
	last := ""
	for _, e := range f.log {
		made, ok := e.Fact.(events.JobsCreated)
		if !ok {
			continue
		}
		for _, spec := range made.Jobs {
			if spec.Sample == "" {
				continue
			}
			if spec.Sample != last {
				copies, last = append(copies, ""), spec.Sample
			}
			copies[len(copies)-1] += string(spec.Kind)
		}
	}
	return strings.Join(copies, " ")
}

func TestRulesOfRetriggers(t *testing.T) {
	for _, tt := range []struct {
		name, ends string // of a
		wish       events.GraphWanted
		samples    string // the kinds of each copy
		refused    string
		ran        string // after the wish
		graphs     string
	}{
		{name: "b alone", ends: "+", wish: events.GraphWanted{Where: []string{"kind=b"}}, samples: "b", ran: "b", graphs: "success 1/0/0"},
		{
			name: "b with what it needs, which has succeeded", ends: "+", wish: events.GraphWanted{Where: []string{"kind=b"}, Downstream: events.DownstreamNeeded},
			samples: "b", ran: "b",
		},
		{name: "b and what needs it", ends: "+", wish: events.GraphWanted{Where: []string{"kind=b"}, Downstream: events.DownstreamAll}, samples: "bc", ran: "b c"},
		{name: "b, and a has failed", ends: "-", wish: events.GraphWanted{Where: []string{"kind=b"}}, refused: "(failure): with --downstream needed it is measured, too"},
		{
			name: "b with what it needs, and a has failed", ends: "-+", wish: events.GraphWanted{Where: []string{"kind=b"}, Downstream: events.DownstreamNeeded},
			samples: "ab", ran: "a b",
		},
		{
			name: "b with all, and a has failed", ends: "-+", wish: events.GraphWanted{Where: []string{"kind=b"}, Downstream: events.DownstreamAll},
			samples: "abc", ran: "a b c",
		},
		{name: "a that fails skips b in its copy alone", ends: "+-+", wish: events.GraphWanted{Copies: 2}, samples: "abcn abcn", ran: "a a n b n c"},
		{name: "what has failed", ends: "-", wish: events.GraphWanted{Where: []string{"state=failure", "kind=a"}}, samples: "a", ran: "a"},
		{name: "nothing", ends: "+", wish: events.GraphWanted{Where: []string{"kind=x"}}, refused: "no job has kind=x"},
		{name: "another list", ends: "+", wish: events.GraphWanted{Expect: "0011223344556677"}, refused: "look again with --dry-run"},
		{name: "a job of nobody", ends: "+", wish: events.GraphWanted{Select: []events.JobID{"j00"}}, refused: "none that can be cloned"},
		{name: "noise without a parent", ends: "+", wish: events.GraphWanted{Kind: events.GraphNoise}, refused: "has no parent"},
	} {
		for _, dies := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/dies=%v", tt.name, dies), func(t *testing.T) {
				f := newGraphFarm(t, kinds("a b:a c:b n|a"))
				f.dies = dies
				f.ends["a"] = tt.ends
				id := f.ask("t1", "", events.Master)
				f.settle()
				before, state := len(f.ran), f.state.Requests[id].State
				if tt.wish.Kind == "" {
					tt.wish.Kind = events.GraphRetrigger
				}
				if why := f.wish(id, tt.wish); why != "" {
					t.Fatal(why)
				}
				f.settle()
				f.agree()
				if got := f.refused(); !strings.Contains(got, tt.refused) || (got == "") != (tt.refused == "") {
					t.Errorf("refused %q, want %q", got, tt.refused)
				}
				if got := f.samples(); got != tt.samples {
					t.Errorf("samples of %s, want %s", got, tt.samples)
				}
				if got := strings.Join(f.ran[before:], " "); got != tt.ran {
					t.Errorf("ran %s, want %s", got, tt.ran)
				}
				if got := f.state.Requests[id].State; got != state {
					t.Errorf("the request is %s, and was %s", got, state)
				}
				if len(f.state.Graphs)+len(f.state.Over)+f.state.Blocked+f.state.Seats.All > 0 {
					t.Errorf("%d graphs are left, %d blocked jobs, %d seats", len(f.state.Graphs), f.state.Blocked, f.state.Seats.All)
				}
			})
		}
	}
}

func TestSamplesLetTheirRequestEnd(t *testing.T) {
	f := newGraphFarm(t, kinds("a b"))
	id := f.ask("t1", "", events.Master)
	for len(f.ran) == 0 {
		f.step()
	}
	if why := f.wish(id, events.GraphWanted{Kind: events.GraphRetrigger, Copies: 2}); why != "" {
		t.Fatal(why)
	}
	for !f.state.Requests[id].State.Terminal() {
		f.step()
	}
	if got := strings.Join(f.ran, " "); got != "a b" {
		t.Errorf("before the end ran %s: the jobs of the request come first, and it waits for no sample", got)
	}
	f.ends["a"] = "-"
	f.settle()
	f.agree()
	if got := f.state.Requests[id].State; got != events.StateCompleted {
		t.Errorf("the request is %s: a sample that failed changes nothing", got)
	}
	if got, want := f.made(), "rt1 retrigger 4/0"; got != want {
		t.Errorf("graphs %s, want %s", got, want)
	}
}

// A noise graph measures the parent, below all else: a request that comes later is before it.
func TestNoiseMeasuresTheParentLast(t *testing.T) {
	f := newGraphFarm(t, backfilled("a b"))
	f.ask("t0", "", events.Master)
	id := f.ask("t1", "t0", events.Master)
	f.settle()
	if why := f.wish(id, events.GraphWanted{Kind: events.GraphNoise, Where: []string{"kind=b"}}); why != "" {
		t.Fatal(why)
	}
	before := len(f.ran)
	for len(f.ran) == before {
		f.step()
	}
	f.ask("t2", "", events.Master)
	for !f.state.Requests["rt2"].State.Terminal() {
		f.step()
	}
	if got := strings.Join(f.ran[before:], " "); got != "b b a b" {
		t.Errorf("ran %s, want one sample, one that was on the lane already, and then the whole request", got)
	}
	f.settle()
	if got := f.samples(); got != "b b b b b" {
		t.Errorf("samples %s, want five of b", got)
	}
	for _, e := range f.log {
		if made, ok := e.Fact.(events.JobsCreated); ok && made.Jobs[0].Sample != "" {
			spec := made.Jobs[0]
			spec.Sample = ""
			if spec.Artifact.Tag != "t0" || !spec.Backfill || spec.First() != f.baseOf("t0", "b") {
				t.Errorf("the sample is of %s, backfill %v, of the job %s", spec.Artifact.Tag, spec.Backfill, spec.First())
			}
		}
	}
}

// baseOf returns the job of the base series that was made for an artifact.
func (f *graphFarm) baseOf(tag events.Tag, kind events.JobKind) (id events.JobID) {
	for _, e := range f.log {
		if made, ok := e.Fact.(events.JobsCreated); ok {
			for _, spec := range made.Jobs {
				if spec.Sample == "" && spec.Artifact.Tag == tag && spec.Kind == kind {
					id = spec.ID
				}
			}
		}
	}
	return id
}

func TestAParentWithoutResultsHasNoNoise(t *testing.T) {
	f := newGraphFarm(t, backfilled("a"))
	f.ends["a"] = "-+"
	f.ask("t0", "", events.Master)
	f.settle()
	id := f.ask("t1", "t0", events.Master)
	f.settle()
	if why := f.wish(id, events.GraphWanted{Kind: events.GraphNoise}); why != "" {
		t.Fatal(why)
	}
	f.settle()
	if got := f.refused(); !strings.Contains(got, "has no results of these jobs yet") {
		t.Errorf("refused %q", got)
	}
	alone := f.ask("t2", "t9", events.Master)
	f.settle()
	if why := f.wish(alone, events.GraphWanted{Kind: events.GraphNoise}); why != "" {
		t.Fatal(why)
	}
	f.settle()
	if got := f.refused(); !strings.Contains(got, "t9 was never asked for here") {
		t.Errorf("refused %q", got)
	}
}

func TestACancelledGraphEndsItsSamples(t *testing.T) {
	for _, how := range []string{"graph", "request"} {
		for _, dies := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/dies=%v", how, dies), func(t *testing.T) {
				f := newGraphFarm(t, kinds("a b:a z"))
				f.dies = dies
				id := f.ask("t1", "", events.Master)
				for len(f.ran) < 2 {
					f.step()
				}
				if why := f.wish(id, events.GraphWanted{Kind: events.GraphRetrigger, Copies: 3, Priority: "vip"}); why != "" {
					t.Fatal(why)
				}
				for len(f.state.Graphs[id]) < 2 {
					f.step()
				}
				var cancel request.Command = request.CancelGraph{Graph: 1, Reason: "enough"}
				if how == "request" {
					cancel = request.Cancel{}
				}
				facts, err := request.Decide(*f.state.Requests[id], cancel)
				if err != nil || len(facts) != 1 {
					t.Fatal(facts, err)
				}
				f.fold(facts...)
				f.settle()
				f.agree()
				var ended []string
				for _, e := range f.log {
					if g, ok := e.Fact.(events.GraphEnded); ok {
						ended = append(ended, fmt.Sprintf("%d %s", g.Graph, g.Outcome))
					}
				}
				slices.Sort(ended)
				want, state := []string{"0 success", "1 cancelled"}, events.StateCompleted
				if how == "request" {
					want, state = []string{"0 cancelled", "1 cancelled"}, events.StateCancelled
				}
				if got := f.state.Requests[id].State; !slices.Equal(ended, want) || got != state {
					t.Errorf("graphs %v and the request %s, want %v and %s", ended, got, want, state)
				}
				if how == "graph" && len(f.ran) > 4 {
					t.Errorf("ran %v, want the jobs of the request and at most one sample", f.ran)
				}
				if _, err := request.Decide(*f.state.Requests[id], request.CancelGraph{Graph: 1}); err == nil {
					t.Error("a graph that has ended can be cancelled")
				}
			})
		}
	}
}

// A master that comes while a thousand retriggers wait, and further ones are wished for, starts at once, and within two dispatches
// of its lane.
func TestAMasterPassesAThousandRetriggers(t *testing.T) {
	f := newGraphFarm(t, kinds("a"))
	f.judge = nil // it looks at every graph at each event
	var asked []events.RequestID
	for i := range 20 {
		asked = append(asked, f.ask(events.Tag(fmt.Sprint("t", i)), "", events.Master))
	}
	f.settle()
	for i := range 1000 {
		why := f.wish(asked[i%len(asked)], events.GraphWanted{Kind: events.GraphRetrigger})
		for strings.Contains(why, "wishes for more jobs that wait") { // a client asks again when some were answered
			f.decide()
			why = f.wish(asked[i%len(asked)], events.GraphWanted{Kind: events.GraphRetrigger})
		}
		if why != "" {
			t.Fatal(why)
		}
	}
	for f.state.Seats.All < 900 {
		f.step()
	}
	for _, id := range asked { // as many wishes as may be unanswered
		for why := ""; why == ""; {
			why = f.wish(id, events.GraphWanted{Kind: events.GraphRetrigger})
		}
	}
	master := f.ask("new", "", events.Master)
	f.decide()
	if f.state.Requests[master].StartedAt.IsZero() {
		t.Errorf("the master waits while %d requests have wishes", len(f.state.Wishing))
	}
	for len(f.state.Wishing) > 0 {
		f.decide()
	}
	dispatches := 0
	for !f.state.Requests[master].State.Terminal() {
		f.step()
		if d, ok := f.log[len(f.log)-1].Fact.(events.JobDispatched); ok {
			if dispatches++; d.Job.RequestID == master {
				break
			}
		}
	}
	if dispatches > 2 {
		t.Errorf("%d dispatches after its admission the master has its first", dispatches)
	}
}

// A wish that was recorded without a check is refused, too, and keeps no other one waiting.
func TestAWishWithoutCopiesIsRefused(t *testing.T) {
	f := newGraphFarm(t, kinds("a"))
	id := f.ask("t1", "", events.Master)
	f.settle()
	for _, kind := range []events.GraphKind{events.GraphRetrigger, events.GraphNoise} {
		f.fold(events.GraphWanted{RequestID: id, Key: string(kind), Kind: kind})
	}
	f.settle()
	if n := len(f.state.Requests[id].Wishes); n > 0 || !strings.Contains(f.refused(), "parent") && !strings.Contains(f.refused(), "no copies") {
		t.Errorf("%d wishes wait; refused %q", n, f.refused())
	}
}

func TestSamplesLeaveRoomForRequests(t *testing.T) {
	d := kinds("a")
	d.Kinds[0].PerSet, d.Targets = true, []suite.Target{{Name: "here", Sets: 10, OS: "linux", Arch: "amd64"}}
	f := newGraphFarm(t, d)
	f.policy.MaxWaiting = 300
	id := f.ask("t1", "", events.Master)
	f.settle()
	if why := f.wish(id, events.GraphWanted{Kind: events.GraphRetrigger, Copies: 20}); why != "" {
		t.Fatal(why)
	}
	f.settle()
	if got := f.refused(); !strings.Contains(got, "only up to 150") {
		t.Errorf("refused %q", got)
	}
	if why := f.wish(id, events.GraphWanted{Kind: events.GraphRetrigger, Copies: 21}); !strings.Contains(why, "use 1 to 20") {
		t.Errorf("21 copies: %q", why)
	}
}
