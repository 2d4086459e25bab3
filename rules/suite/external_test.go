package suite

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/rules/graph"
)

// proposedOf writes jobs and their needs down as `tacho graph show` does.
func proposedOf(jobs []events.JobSpec, needs []graph.Need) (p graph.Proposed) {
	for i, j := range jobs {
		optional := j.Optional
		p.Jobs = append(p.Jobs, events.ProposedJob{
			Number: i, Tag: j.Artifact.Tag, Kind: j.Kind, Target: j.Target, Set: j.Set, Backend: j.Backend, Profile: j.Profile, Benchmarks: j.Benchmarks,
			Optional: &optional, Requires: j.Requires,
		})
	}
	p.Needs = needs
	return p
}

// What the definitions make can be written down and submitted: then it is the same, but for the sample, and not customised. One
// field that changes is one difference.
func TestWhatIsExpandedCanBeSubmitted(t *testing.T) {
	all := []Definitions{rustc(t), load(t, "testdata/choices.toml")}
	rapid.Check(t, func(t *rapid.T) {
		d := all[rapid.IntRange(0, len(all)-1).Draw(t, "suite")]
		kind := rapid.SampledFrom([]events.RequestKind{events.Master, events.Try, events.Release}).Draw(t, "kind")
		r := request(d, kind, events.Parameters{})
		r.ParentTag, r.Parent = "parent", &events.Artifact{Suite: d.Name, Tag: "parent", Kind: events.Master}
		own, backfill, err := d.Expand(r)
		if err != nil {
			t.Fatal(err)
		}
		made := own
		if len(backfill) > 0 && rapid.Bool().Draw(t, "backfill") {
			made = backfill
		}
		if len(made) == 0 {
			return
		}
		p := proposedOf(made, d.Edges(made))
		jobs, err := d.External(r, p, "s")
		if err != nil {
			t.Fatal(err)
		}
		for i, j := range jobs {
			want := made[i]
			want.Sample = "s"
			if j.ID != want.First() || j.Optional != want.Optional || !slices.Equal(j.Requires, want.Requires) || !slices.Equal(j.Caches, want.Caches) || j.Backfill != want.Backfill {
				t.Fatalf("submitted %+v, made %+v", j, want)
			}
		}
		if differs, err := d.Customised(r, jobs, p.Needs); err != nil || len(differs) > 0 {
			t.Fatalf("customised: %v, %v", differs, err)
		}
		at := rapid.IntRange(0, len(jobs)-1).Draw(t, "job")
		name := graph.LabelOf(jobs[at]).String()
		changed, want := slices.Clone(jobs), ""
		switch rapid.IntRange(0, 3).Draw(t, "change") {
		case 0:
			changed[at].Iterations, want = 30, "iterations added: 30"
		case 1:
			changed[at].Optional = !changed[at].Optional
			want = "optional"
		case 2:
			changed[at].Benchmarks, want = []string{"some*"}, `benchmarks`
		case 3:
			changed[at].Profile, want = "no-such", "removed"
		}
		differs, err := d.Customised(r, changed, p.Needs)
		if err != nil || !slices.ContainsFunc(differs, func(one Difference) bool {
			return strings.HasPrefix(one.What, name) && strings.Contains(one.String(), want)
		}) {
			t.Fatalf("%s (%s): %v, %v", name, want, differs, err)
		}
	})
}

// All that is wrong is said at once, but no more than 20 problems.
func TestAllWrongJobsAreNamed(t *testing.T) {
	d := rustc(t)
	r := request(d, events.Master, events.Parameters{})
	own, _, err := d.Expand(r)
	if err != nil {
		t.Fatal(err)
	}
	p := proposedOf(own[:3], nil)
	p.Jobs[0].Kind, p.Jobs[0].Backend, p.Jobs[2].Set = "x", "y", 999
	_, err = d.External(r, p, "s")
	for _, want := range []string{"job 0 (x/", `unknown kind "x": use`, `unknown backend "y": use`, "job 2 (", "set is 999: target"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v lacks %q", err, want)
		}
	}
	p = proposedOf(slices.Repeat(own[:1], 40), nil)
	_, err = d.External(r, p, "s")
	if err == nil || strings.Count(err.Error(), "it measures the same as job 0") != 20 || !strings.HasSuffix(err.Error(), "; and 19 more") {
		t.Errorf("40 times the same: %v", err)
	}
}

// The largest graph there may be is turned into jobs quickly.
func TestTheLargestGraphIsSubmitted(t *testing.T) {
	d := rustc(t)
	r := request(d, events.Master, events.Parameters{})
	own, _, err := d.Expand(r)
	if err != nil {
		t.Fatal(err)
	}
	var p graph.Proposed
	for i := range graph.MaxJobs {
		one := proposedOf(own[i%len(own):i%len(own)+1], nil).Jobs[0]
		one.Number, one.Benchmarks = i, []string{strings.Repeat("*", 1+i/len(own))}
		p.Jobs = append(p.Jobs, one)
		for k := range min(i, graph.MaxNeeds/graph.MaxJobs) {
			p.Needs = append(p.Needs, graph.Need{Job: i, On: i - 1 - k})
		}
	}
	jobs, err := d.External(r, p, "s")
	if err != nil || len(jobs) != graph.MaxJobs {
		t.Fatal(len(jobs), err)
	}
	if differs, err := d.Customised(r, jobs, p.Needs); err != nil || len(differs) == 0 {
		t.Error(len(differs), err)
	}
}
