package graph

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/tachobench/tacho/events"
)

func TestSelectors(t *testing.T) {
	label := Label{Kind: "compile", Target: "linux", Set: 1, Backend: "gc", Profile: "opt"}
	for terms, want := range map[string]bool{
		"":                                  true,
		"kind=compile":                      true,
		"kind=link":                         false,
		"kind=link,compile":                 true,
		"kind=link kind=compile":            true,
		"kind=compile target=mac":           false,
		"set=1 backend=gc profile=opt":      true,
		"state=failure":                     true,
		"state=success,skipped":             false,
		"name=compile/*":                    true,
		"name=*/gc/*":                       true,
		"name=compile":                      false,
		"name=compile/linux/[01]/gc/op?":    true,
		"name=x name=compile/linux/1/gc/*t": true,
	} {
		s, err := ParseSelector(strings.Fields(terms))
		if err != nil || s.Selects(label, "failure") != want {
			t.Errorf("%q selects: %v, %v, want %v", terms, s.Selects(label, "failure"), err, want)
		}
	}
	for term, want := range map[string]string{
		"compile":       "one of kind, target, set, backend, profile, state, name",
		"colour=red":    "one of kind, target",
		"kind=":         "names no kind",
		"kind=a,,b":     "names no kind",
		"state=dead":    "one of queued, in_progress, success, failure, cancelled, blocked, skipped",
		"name=[":        "is no glob",
		"name=a,[,b":    "is no glob",
		"=compile":      "one of kind",
		"Kind=compile":  "one of kind",
		"kind =compile": "one of kind",
	} {
		if _, err := ParseSelector([]string{term}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", term, err, want)
		}
	}
}

func FuzzParseSelector(f *testing.F) {
	for _, seed := range []string{"kind=a", "name=*/x,[a-", "state=failure,blocked", "set=\x1f", "name=\\"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		s, err := ParseSelector(strings.Fields(text))
		if err != nil {
			if s.terms != nil {
				t.Error("a selector comes with an error")
			}
			return
		}
		s.Selects(Label{Kind: "a", Target: "b", Backend: "c", Profile: "d"}, "failure")
	})
}

// A plan clones what is chosen, and no more than it must; every need of a clone leads to its own copy or to a job that
// exists, and no job is made twice.
func TestPlansAreClosed(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 8).Draw(t, "jobs")
		var jobs []Candidate
		var edges []Need
		for i := range n {
			spec := events.JobSpec{Kind: events.JobKind(rune('a' + i)), Artifact: events.Artifact{Suite: "s", Tag: "t"}, Profile: "p", Backend: "b", Target: "x"}
			spec.ID = spec.First()
			state := rapid.SampledFrom([]string{"queued", "in_progress", "success", "success", "failure", "cancelled", "blocked", "skipped"}).Draw(t, "state")
			jobs = append(jobs, Candidate{spec, state})
			for on := range i {
				if rapid.IntRange(0, 3).Draw(t, "needs") == 0 {
					edges = append(edges, Need{Job: i, On: on, Until: rapid.SampledFrom([]events.Until{"", "", events.UntilEnded}).Draw(t, "until")})
				}
			}
		}
		w := events.GraphWanted{
			RequestID: "r1", Kind: events.GraphRetrigger, Copies: rapid.IntRange(1, 3).Draw(t, "copies"),
			Downstream: rapid.SampledFrom([]events.Downstream{events.DownstreamNone, events.DownstreamNeeded, events.DownstreamAll}).Draw(t, "downstream"),
		}
		chosen := map[events.JobID]bool{}
		for _, i := range rapid.SliceOfNDistinct(rapid.IntRange(0, n-1), 1, n, rapid.ID).Draw(t, "chosen") {
			w.Select = append(w.Select, jobs[i].Spec.ID)
			chosen[jobs[i].Spec.ID] = true
		}
		p, why := Retrigger(w, "t", jobs, func([]events.JobSpec) []Need { return edges })
		if why != "" {
			if w.Downstream != events.DownstreamNone {
				t.Fatalf("refused with %s downstream: %s", w.Downstream, why)
			}
			return
		}
		for id := range chosen {
			if !slices.ContainsFunc(p.Clones, func(s events.JobSpec) bool { return s.ID == id }) {
				t.Fatalf("job %s is chosen and not cloned", id)
			}
		}
		if w.Downstream == events.DownstreamNone && len(p.Clones) != len(chosen) {
			t.Fatalf("%d clones of %d chosen jobs", len(p.Clones), len(chosen))
		}
		all := p.Samples(w, 3, "t")
		if len(all) != len(p.Clones)*w.Copies {
			t.Fatalf("%d jobs of %d clones", len(all), len(p.Clones))
		}
		ids := map[events.JobID]bool{}
		for i, spec := range all {
			base := spec
			base.Sample = ""
			if ids[spec.ID] || spec.Sample != fmt.Sprintf("r1-3-%d", i/len(p.Clones)+1) || base.First() != p.Clones[i%len(p.Clones)].ID {
				t.Fatalf("job %d: %+v", i, spec)
			}
			ids[spec.ID] = true
		}
		last := 0
		var needs []Need
		p.AllNeeds(w.Copies, func(n Need) {
			if n.Job < last || n.Job >= len(all) && n.On < len(all) || n.On < len(all) && n.On/len(p.Clones) != n.Job/len(p.Clones) || n.On >= len(all)+len(p.Others) {
				t.Fatalf("need %+v of %d jobs and %d others", n, len(all), len(p.Others))
			}
			if n.Job < len(all) && n.On >= len(all) && n.Until == events.UntilSuccess {
				if on := p.Others[n.On-len(all)]; chosen[on.ID] {
					t.Fatalf("a clone needs %s, which is cloned itself", on.ID)
				}
			}
			last, needs = n.Job, append(needs, n)
		})
		if err := Check(len(all)+len(p.Others), needs, func(i int) string { return fmt.Sprint(i) }); err != nil {
			t.Fatal(err)
		}
		w.Expect = Token(p.Clones)
		if _, why := Retrigger(w, "t", jobs, func([]events.JobSpec) []Need { return edges }); why != "" {
			t.Fatalf("the same list is refused: %s", why)
		}
	})
}

// Noise of a pair measures the parent alone.
func TestNoiseOfAPairIsOfItsParent(t *testing.T) {
	pair := events.JobSpec{
		Kind: "compile", Artifact: events.Artifact{Suite: "s", Tag: "new"}, Matched: true, Against: &events.Artifact{Suite: "s", Tag: "old"},
	}
	pair.ID = pair.First()
	w := events.GraphWanted{RequestID: "r1", Kind: events.GraphNoise, Copies: 2, Benchmarks: []string{"x*"}}
	p, why := Noise(w, "old", []Candidate{{pair, "success"}}, nil)
	if why != "" {
		t.Fatal(why)
	}
	for _, spec := range p.Samples(w, 1, "new") {
		if spec.Artifact.Tag != "old" || spec.Against != nil || !spec.Backfill || !slices.Equal(spec.Benchmarks, w.Benchmarks) {
			t.Errorf("the sample is %+v", spec)
		}
	}
}
