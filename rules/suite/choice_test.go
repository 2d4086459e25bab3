package suite

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"path"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/rules/match"
)

func TestATemplateIsWhatAChoiceComesTo(t *testing.T) {
	d := load(t, "testdata/choices.toml")
	arm := events.Parameters{Targets: []events.Target{"linux-arm64"}, Profiles: []events.Profile{"opt"}}
	quick := Template{
		Graph: "quick", Kinds: []events.JobKind{"smoke", "compile", "report"}, OnFailure: FailFast, Deadline: 14 * 24 * time.Hour,
		Options: map[string]string{"pgo": "off", "docs": "on"}, Customise: CustomiseNone, Parameters: arm,
	}
	full := Template{Graph: "full", Options: map[string]string{"pgo": "off", "docs": "on"}, Customise: CustomiseNone}
	with := func(t Template, change func(*Template)) Template {
		change(&t)
		return t
	}
	for _, c := range []struct {
		name   string
		kind   events.RequestKind
		choice Choice
		want   Template
	}{
		{"nothing", events.Master, Choice{}, full},
		{"nothing of a try", events.Try, Choice{}, with(full, func(t *Template) { t.Customise = CustomiseOptions })},
		{"a graph", events.Release, Choice{Graph: "quick"}, quick},
		{"an option of a try", events.Try, Choice{Options: map[string]string{"pgo": "on"}}, with(full, func(t *Template) {
			t.Customise, t.Options = CustomiseOptions, map[string]string{"pgo": "on", "docs": "on"}
		})},
		{"what options are anyway", events.Master, Choice{Options: map[string]string{"pgo": "off", "docs": "on"}}, full},
		{"a branch without a [[branch]]", events.Master, Choice{Branch: "main"}, full},
		{"a branch with a graph", events.Master, Choice{Branch: "try"}, with(quick, func(t *Template) { t.Branch = "try" })},
		{"a branch and another graph", events.Master, Choice{Branch: "try", Graph: "full"}, with(full, func(t *Template) { t.Branch = "try" })},
		{"a branch with options", events.Try, Choice{Branch: "release/1.2"}, with(full, func(t *Template) {
			t.Branch, t.Options = "release/*", map[string]string{"pgo": "on", "docs": "off"}
			t.Priority, t.MaxPriority = events.PriorityHigh, events.PriorityVIP
		})},
		{"the more specific branch", events.Master, Choice{Branch: "release/1.2/a-pre", Options: map[string]string{"pgo": "on"}}, with(full, func(t *Template) {
			t.Branch, t.Options, t.Customise = "release/*-pre", map[string]string{"pgo": "on", "docs": "on"}, CustomiseOptions
			t.MaxPriority = events.PriorityNormal
		})},
	} {
		got, err := d.Template(c.kind, c.choice)
		if diff := cmp.Diff(c.want, got); diff != "" || err != nil {
			t.Errorf("%s: %v\n%s", c.name, err, diff)
		}
	}
	all, err := d.Templates(events.Master)
	if err != nil || len(all) != 8 || all[0].Branch != "" || all[7].Branch != "release/*-pre" || all[7].Graph != "quick" {
		t.Errorf("%v: %+v", err, all)
	}
	old, err := load(t, "testdata/small.toml").Template(events.Try, Choice{Branch: "main"})
	if diff := cmp.Diff(Template{Customise: CustomiseOptions}, old); diff != "" || err != nil {
		t.Errorf("version 1: %v\n%s", err, diff)
	}
}

func TestWrongChoicesAreAnsweredWithWhatExists(t *testing.T) {
	d := load(t, "testdata/choices.toml")
	for _, c := range []struct {
		d      Definitions
		kind   events.RequestKind
		choice Choice
		want   string
	}{
		{d, events.Try, Choice{Graph: "slow"}, `unknown graph "slow": use full or quick`},
		{d, events.Try, Choice{Options: map[string]string{"lto": "on"}}, `unknown option "lto": use pgo or docs`},
		{d, events.Try, Choice{Options: map[string]string{"pgo": "yes"}}, `unknown value "yes" of option pgo: use off or on`},
		{d, events.Try, Choice{Options: map[string]string{"docs": "off"}}, `option docs is set by branches alone: leave it out, or set pgo`},
		{d, events.Master, Choice{Options: map[string]string{"pgo": "on"}}, `a master request sets no options unless its [[branch]] has customise = "options": leave out pgo`},
		{d, events.Try, Choice{Branch: "release/7", Options: map[string]string{"pgo": "off"}}, `branch release/* lets requests set no options: leave out pgo`},
		{
			d, events.Try,
			Choice{Graph: "slow", Options: map[string]string{"lto": "on", "a": "b"}},
			"unknown graph \"slow\": use full or quick\nunknown option \"a\": use pgo or docs\nunknown option \"lto\": use pgo or docs",
		},
		{load(t, "testdata/small.toml"), events.Try, Choice{Graph: "full"}, `unknown graph "full": suite small has no graphs, leave it out`},
		{load(t, "testdata/small.toml"), events.Try, Choice{Options: map[string]string{"pgo": "on"}}, `unknown option "pgo": suite small has no options, leave it out`},
	} {
		_, err := c.d.Template(c.kind, c.choice)
		if err == nil || err.Error() != c.want {
			t.Errorf("%+v: got %v\nwant %s", c.choice, err, c.want)
		}
		q := request(c.d, c.kind, events.Parameters{})
		q.Choice = c.choice
		if _, err := c.d.Expansion(q); err == nil || err.Error() != c.want {
			t.Errorf("%+v: expanded: %v", c.choice, err)
		}
	}
}

// short lists jobs by what tells them apart.
func short(jobs []events.JobSpec) (all []string) {
	for _, j := range jobs {
		all = append(all, fmt.Sprintf("%s/%s/%d/%s", j.Kind, strings.TrimPrefix(string(j.Target), "linux-"), j.Set, j.Profile))
	}
	return all
}

func shortOff(jobs []OffJob) (all []string) {
	for _, j := range jobs {
		all = append(all, short([]events.JobSpec{j.Job})[0]+": "+j.Reason)
	}
	return all
}

func TestJobsAreSwitchedOffWithAReason(t *testing.T) {
	d := load(t, "testdata/choices.toml")
	for _, c := range []struct {
		name    string
		kind    events.RequestKind
		choice  Choice
		on, off []string
	}{
		{
			"what needs a kind that is off is off; what needs any end of it is not", events.Master,
			Choice{},
			[]string{"smoke/amd64/0/opt", "compile/amd64/0/opt", "compile/amd64/0/doc", "compile/amd64/1/opt", "compile/amd64/1/doc", "report/amd64/0/opt"},
			[]string{
				"training/amd64/0/opt: option pgo = off", "trained/amd64/0/opt: needs training, which is switched off: option pgo = off",
				"trained/amd64/0/doc: needs training, which is switched off: option pgo = off",
			},
		},
		{
			"an option switches on", events.Try,
			Choice{Options: map[string]string{"pgo": "on"}},
			[]string{
				"smoke/amd64/0/opt", "training/amd64/0/opt", "compile/amd64/0/opt", "compile/amd64/0/doc", "compile/amd64/1/opt", "compile/amd64/1/doc",
				"trained/amd64/0/opt", "trained/amd64/0/doc", "report/amd64/0/opt",
			},
			nil,
		},
		{
			"a condition on the profile, and a need that joins by profile", events.Release,
			Choice{Branch: "release/1"},
			[]string{
				"smoke/amd64/0/opt", "training/amd64/0/opt", "compile/amd64/0/opt", "compile/amd64/1/opt", "trained/amd64/0/opt", "report/amd64/0/opt",
			},
			[]string{
				"compile/amd64/0/doc: profile = doc and option docs = off", "compile/amd64/1/doc: profile = doc and option docs = off",
				"trained/amd64/0/doc: needs compile, which is switched off: profile = doc and option docs = off",
			},
		},
		{
			"a graph has not all kinds, and parameters", events.Master,
			Choice{Graph: "quick"},
			[]string{"smoke/arm64/0/opt", "compile/arm64/0/opt", "report/amd64/0/opt"},
			[]string{"training/arm64/0/opt: graph quick has no kind training", "trained/arm64/0/opt: graph quick has no kind trained"},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			q := request(d, c.kind, events.Parameters{})
			q.Choice = c.choice
			x, err := d.Expansion(q)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.on, short(x.Own)); diff != "" {
				t.Errorf("on:\n%s", diff)
			}
			if diff := cmp.Diff(c.off, shortOff(x.Off)); diff != "" {
				t.Errorf("off:\n%s", diff)
			}
		})
	}
	q := request(d, events.Master, events.Parameters{Targets: []events.Target{"linux-amd64"}})
	q.Choice.Graph = "quick"
	x, err := d.Expansion(q)
	if diff := cmp.Diff([]string{"smoke/amd64/0/opt", "compile/amd64/0/opt", "compile/amd64/1/opt", "report/amd64/0/opt"}, short(x.Own)); err != nil || diff != "" {
		t.Errorf("a request that names parameters: %v\n%s", err, diff)
	}
}

func TestANeedIsOffWhenNothingOfItIsLeft(t *testing.T) {
	d := Definitions{
		Name: "s", Version: 2, PrimaryTarget: "t", Targets: []Target{{Name: "t", Sets: 1}}, Profiles: []Profile{{Name: "a"}, {Name: "b"}}, Backends: []Backend{{Name: "gc"}},
		Kinds: []Kind{
			{Name: "sum", Profile: "a", Needs: []KindNeed{{Kind: "use"}}},
			{Name: "use", PerProfile: true, Needs: []KindNeed{{Kind: "make", Across: []string{acrossProfile}}}},
			{Name: "make", PerProfile: true, When: "profile = 'a'"},
		},
	}
	q := Request{Artifact: events.Artifact{Suite: "s", Tag: "c", Kind: events.Master}}
	x, err := d.Expansion(q)
	if diff := cmp.Diff([]string{"make/t/0/b: profile = b"}, shortOff(x.Off)); err != nil || diff != "" {
		t.Errorf("one of two is left: %v\n%s", err, diff)
	}
	d.Kinds[2].When = "request = 'try'"
	x, err = d.Expansion(q)
	want := []string{
		"sum/t/0/a: needs use, which is switched off: request = master",
		"use/t/0/a: needs make, which is switched off: request = master", "use/t/0/b: needs make, which is switched off: request = master",
		"make/t/0/a: request = master", "make/t/0/b: request = master",
	}
	if diff := cmp.Diff(want, shortOff(x.Off)); err != nil || diff != "" || len(x.Own) > 0 {
		t.Errorf("a chain: %v\n%s", err, diff)
	}
}

// What jobs that are switched off require is not asked of the farm.
func TestASwitchedOffJobHasNoRequirements(t *testing.T) {
	d := Definitions{
		Name: "s", Version: 2, PrimaryTarget: "t", Targets: []Target{{Name: "t", Sets: 1, OS: "linux", Arch: "amd64"}}, Profiles: []Profile{{Name: "a"}}, Backends: []Backend{{Name: "gc"}},
		Kinds: []Kind{{Name: "here", Profile: "a"}, {Name: "there", Profile: "a", Lanes: LanesAny, When: "request = 'try'"}},
	}
	q := Request{Artifact: events.Artifact{Suite: "s", Tag: "c", Kind: events.Master}, Requires: []string{"arch=arm64"}}
	x, err := d.Expansion(q)
	if err != nil || len(x.Own) != 1 || len(x.Off) != 1 {
		t.Errorf("%v: %+v", err, x)
	}
	asked, err := match.Parse(q.Requires)
	if err != nil {
		t.Fatal(err)
	}
	for kind, want := range map[events.RequestKind]string{events.Master: "", events.Try: "arch=amd64 (kind there) and arch=arm64 (the request): they exclude one another"} {
		needs, err := d.Needs(Template{}, kind, events.Parameters{}, match.Named{Who: "the request", Requirement: asked})
		if len(needs) > 0 || err != nil && err.Error() != want || err == nil && want != "" {
			t.Errorf("a %s request: %v, %+v", kind, err, needs)
		}
	}
	q.Artifact.Kind = events.Try
	if _, err := d.Expansion(q); err == nil || !strings.Contains(err.Error(), "kind there: ") {
		t.Errorf("switched on: %v", err)
	}
}

// choose adds drawn options, graphs, branches and conditions to drawn definitions.
func (r draw) choose(d *Definitions) {
	d.Options = []Option{{Name: "o", Values: []string{"x", "y"}}, {Name: "p", Values: []string{"x", "y"}, Who: WhoBranch}}
	for i := range d.Kinds {
		if r.IntN(3) == 0 {
			d.Kinds[i].When = []string{"o = 'y'", "p != 'y' or profile = 'p0'", "not (request = 'try' and target != 't1')", "backend = 'b0'"}[r.IntN(4)]
		}
	}
	for i := range r.IntN(3) {
		d.Graphs = append(d.Graphs, Graph{
			Name: fmt.Sprint("g", i), Kinds: some(r, names(d.Kinds, func(k Kind) events.JobKind { return k.Name })),
			Parameters: GraphParameters{Profiles: some(r, names(d.Profiles, func(p Profile) events.Profile { return p.Name }))},
		})
	}
	if r.chance() {
		d.Branches = []Branch{{Match: "main", Options: map[string]string{"p": "y"}}, {Match: "*", Options: map[string]string{"o": "y"}, Customise: CustomiseOptions}}
	}
}

// Equal inputs give equal bytes; what is on and what is off is together what there would be without conditions; and no
// job that is on needs a kind of which all that it joins is off.
func TestAnExpansionDependsOnItsInputsAlone(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := draw{rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 7))}
		d := r.definitions(2)
		r.choose(&d)
		q := r.request(d)
		q.Artifact.Kind = events.Try
		q.Choice = Choice{Branch: []string{"", "main", "x/y"}[r.IntN(3)], Options: map[string]string{}}
		if r.chance() && q.Choice.Branch == "" {
			q.Choice.Options["o"] = "y"
		}
		if len(d.Graphs) > 0 && r.chance() {
			q.Choice.Graph = d.Graphs[r.IntN(len(d.Graphs))].Name
		}
		x, err := d.Expansion(q)
		if err != nil {
			t.Fatal(err)
		}
		again, err := Parse(d.Canonical())
		if err != nil {
			t.Fatal(err)
		}
		y, err := again.Expansion(q)
		first, err1 := json.Marshal(x)
		second, err2 := json.Marshal(y)
		if err != nil || err1 != nil || err2 != nil || !bytes.Equal(first, second) {
			t.Fatalf("%v %v %v\n%s\n%s", err, err1, err2, first, second)
		}
		if diff := DiffJobs(d, x, again, y); len(diff) > 0 {
			t.Fatalf("it differs from itself: %v", diff)
		}
		q.Choice.Options = x.Template.Options
		if z, err := d.Expansion(q); err != nil || !cmp.Equal(x, z) {
			t.Fatalf("the options of the template chosen again: %v", err)
		}
		allOn := d
		allOn.Kinds = slices.Clone(d.Kinds)
		for i := range allOn.Kinds {
			allOn.Kinds[i].When = ""
		}
		q.Parameters, err = d.parameters(q.Parameters, x.Template.Parameters)
		if err != nil {
			t.Fatal(err)
		}
		q.Definitions, q.Choice = d.Digest(), Choice{}
		allOn.Graphs, allOn.Branches = nil, nil
		full, err := allOn.Expansion(q)
		if err != nil {
			t.Fatal(err)
		}
		checkSplit(t, d, full.Own, x.Own, x.Off)
		checkSplit(t, d, full.Backfill, x.Backfill, x.OffBackfill)
	})
}

func checkSplit(t *rapid.T, d Definitions, all, on []events.JobSpec, off []OffJob) {
	place := map[events.JobID]int{}
	for i, j := range all {
		place[j.ID] = i
	}
	isOn := make([]bool, len(all))
	seen := 0
	for _, j := range on {
		i, ok := place[j.ID]
		if !ok || !cmp.Equal(all[i], j) {
			t.Fatalf("another job: %+v", j)
		}
		isOn[i] = true
		seen++
	}
	for _, j := range off {
		if i, ok := place[j.Job.ID]; !ok || isOn[i] || j.Reason == "" || !cmp.Equal(all[i], j.Job) {
			t.Fatalf("switched off: %+v", j)
		}
		seen++
	}
	if seen != len(all) {
		t.Fatalf("%d jobs, of which %d are on or off", len(all), seen)
	}
	joined, left := map[string]int{}, map[string]int{}
	for _, n := range d.Edges(all) {
		pair := fmt.Sprint(n.Job, all[n.On].Kind)
		joined[pair]++
		if isOn[n.On] {
			left[pair]++
		}
	}
	for _, n := range d.Edges(all) {
		if pair := fmt.Sprint(n.Job, all[n.On].Kind); isOn[n.Job] && n.Until != events.UntilEnded && left[pair] == 0 {
			t.Fatalf("%+v is on, and of the %d jobs of kind %s that it needs none is", all[n.Job], joined[pair], all[n.On].Kind)
		}
	}
}

func TestSizesOfTemplates(t *testing.T) {
	d := load(t, "testdata/choices.toml")
	sizes, err := d.Sizes()
	if err != nil || len(sizes) != 24 {
		t.Fatalf("%v: %+v", err, sizes)
	}
	for _, want := range []Size{
		{"", "full", true, events.Master, 6, 3},
		{"", "quick", false, events.Master, 3, 2},
		{"try", "quick", true, events.Release, 3, 2},
		{"release/*", "full", true, events.Release, 6, 3},
	} {
		if !slices.Contains(sizes, want) {
			t.Errorf("no %+v in %+v", want, sizes)
		}
	}
}

// What a template needs of machines is what its matched jobs require.
func TestNeedsOfATemplateAreThoseOfItsJobs(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := draw{rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 5))}
		d := r.definitions(2)
		q := r.request(d)
		template, err1 := d.Template(q.Artifact.Kind, q.Choice)
		got, err2 := d.Needs(template, q.Artifact.Kind, q.Parameters)
		own, _, err := d.Expand(q)
		want := map[string]bool{}
		for _, j := range own {
			if j.Matched {
				want[fmt.Sprintf("%s/%s", j.Kind, j.Target)] = true
			}
		}
		found := map[string]bool{}
		for _, n := range got {
			found[path.Dir(n.Job)] = true
		}
		if diff := cmp.Diff(want, found); err1 != nil || err2 != nil || err != nil || diff != "" {
			t.Fatalf("%v %v %v\n%s", err1, err2, err, diff)
		}
	})
}
