package suite

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tachobench/tacho/events"
)

// needing returns the small suite in version 2, with needs of its kind compile.
func needing(t *testing.T, needs string) string {
	t.Helper()
	text := strings.Replace(small(t), "version = 1", "version = 2", 1)
	return strings.Replace(text, "per_profile = true\nbackfill = true", "per_profile = true\nbackfill = true\n"+needs, 1)
}

func TestNeedsJoinTheDimensionsThatBothHave(t *testing.T) {
	targets := []Target{{Name: "amd", Sets: 2}, {Name: "arm", Sets: 1}}
	both := Definitions{
		Name: "small", Version: 2, PrimaryTarget: "amd", Targets: targets, Profiles: []Profile{{Name: "debug"}, {Name: "opt"}}, Backends: []Backend{{Name: "gc"}},
		Kinds: []Kind{
			{Name: "smoke", Profile: "debug"},
			{Name: "compile", PerSet: true, PerProfile: true},
			{Name: "boot", Primary: true, Profile: "opt"},
			{Name: "report", Profile: "opt"},
		},
	}
	for _, tc := range []struct {
		name string
		kind int
		need KindNeed
		want []string
	}{
		{
			"target alone", 1,
			KindNeed{Kind: "smoke"},
			[]string{
				"compile/amd/0/debug smoke/amd/0/debug", "compile/amd/0/opt smoke/amd/0/debug", "compile/amd/1/debug smoke/amd/0/debug",
				"compile/amd/1/opt smoke/amd/0/debug", "compile/arm/0/debug smoke/arm/0/debug", "compile/arm/0/opt smoke/arm/0/debug",
			},
		},
		{
			"a kind that is made once has no target", 3,
			KindNeed{Kind: "boot"},
			[]string{"report/amd/0/opt boot/amd/0/opt", "report/arm/0/opt boot/amd/0/opt"},
		},
		{"all", 2, KindNeed{Kind: "smoke", Across: []string{"all"}, Until: events.UntilEnded}, []string{"boot/amd/0/opt smoke/amd/0/debug ended", "boot/amd/0/opt smoke/arm/0/debug ended"}},
		{"sets and profiles fan in", 3, KindNeed{Kind: "compile"}, []string{
			"report/amd/0/opt compile/amd/0/debug", "report/amd/0/opt compile/amd/0/opt", "report/amd/0/opt compile/amd/1/debug",
			"report/amd/0/opt compile/amd/1/opt", "report/arm/0/opt compile/arm/0/debug", "report/arm/0/opt compile/arm/0/opt",
		}},
		{"a kind that is not there", 3, KindNeed{Kind: "nothing"}, nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			d := both
			d.Kinds = append([]Kind(nil), both.Kinds...)
			d.Kinds[tc.kind].Needs = []KindNeed{tc.need}
			jobs, _, err := d.Expand(Request{Artifact: events.Artifact{Suite: "small", Tag: "c1", Kind: events.Master}})
			if err != nil {
				t.Fatal(err)
			}
			name := func(i int) string {
				return fmt.Sprintf("%s/%s/%d/%s", jobs[i].Kind, jobs[i].Target, jobs[i].Set, jobs[i].Profile)
			}
			var got []string
			for _, n := range d.Edges(jobs) {
				got = append(got, strings.TrimSpace(name(n.Job)+" "+name(n.On)+" "+string(n.Until)))
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestNeedsThatCannotBe(t *testing.T) {
	for _, tc := range []struct{ needs, want string }{
		{`needs = [{ kind = "compile" }]`, `the needs of the kinds: compile needs itself`},
		{`needs = [{ kind = "run" }]`, `unknown kind that is needed "run": use compile or runtime`},
		{`needs = [{ kind = "runtime", across = ["colour"] }]`, `unknown dimension "colour": use target, set, backend, profile or all`},
		{`needs = [{ kind = "runtime", until = "success" }]`, `until is "success": write "ended" for a job that runs whatever becomes of the one that it needs, or leave it out`},
		{`needs = [{ kind = "runtime" }]`, `kind "compile" needs "runtime", which is not made for a release request: add it to requests of "runtime", or take it out of those of "compile"`},
		{`needs = [{ kind = "runtime" }]`, `kind "compile" has backfill and needs "runtime", which has none: the jobs for the parent need them, too; add backfill = true to "runtime"`},
		{`needs = [{ kind = "runtime" }, { kind = "runtime" }]`, `kind "compile" needs "runtime" twice: remove one of them`},
		{`needs = [{ kind = "runtime", across = "all" }]`, `kind.needs.across cannot be of type string: write a list, in brackets`},
		{`needs = ["runtime"]`, `kind.needs cannot be of type string`},
		{`needs = [{ kind = "runtime" }, { kind = "runtime", until = "ended" }]`, `kind "compile" needs "runtime" twice: remove one of them`},
		{
			`needs = [{ kind = "runtime", across = ["target"] }]`,
			`kind "compile" on target linux-amd64 needs the success of "runtime" on target linux-arm64, which is optional: add until = "ended", or leave out target in across`,
		},
	} {
		_, err := Load("small.toml", []byte(needing(t, tc.needs)), nil)
		var problems Problems
		if !errors.As(err, &problems) || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: got %v, want %s", tc.needs, err, tc.want)
		}
	}
	text := strings.Replace(needing(t, `requests = ["master", "try"]`+"\n"+`needs = [{ kind = "runtime" }]`), `requests = ["master", "try"]

[[profile]]`, `requests = ["master", "try"]
needs = [{ kind = "compile", until = "ended" }]

[[profile]]`, 1)
	if _, err := Load("small.toml", []byte(text), nil); err == nil || !strings.Contains(err.Error(), "compile → runtime → compile: none of them could ever run") {
		t.Errorf("a cycle of kinds: %v", err)
	}
	old := strings.Replace(needing(t, `needs = [{ kind = "runtime", until = "ended" }]`), "version = 2", "version = 1", 1)
	if _, err := Load("small.toml", []byte(old), nil); err == nil || !strings.Contains(err.Error(), `kind "compile" has needs: write version = 2`) {
		t.Errorf("needs in version 1: %v", err)
	}
}

// "all" beside other dimensions is a mistake, and the message shows where it stands.
func TestAllDimensionsAreNamedAlone(t *testing.T) {
	for across, column := range map[string]int{`["all", "set"]`: 40, `["set", "all"]`: 47} {
		text := needing(t, `needs = [{ kind = "runtime", across = `+across+`, until = "ended" }]`)
		line := 1 + strings.Count(text[:strings.Index(text, "needs = ")], "\n")
		want := fmt.Sprintf(`small.toml:%d:%d: across names "all" beside others: "all" are all dimensions, so leave out the others, or "all"`, line, column)
		if _, err := Load("small.toml", []byte(text), nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", across, err, want)
		}
	}
	for _, across := range []string{`["all"]`, `["set", "profile"]`} {
		if _, err := Load("small.toml", []byte(needing(t, `needs = [{ kind = "runtime", across = `+across+` }]`)), nil); err != nil && strings.Contains(err.Error(), "beside others") {
			t.Errorf("%s: %v", across, err)
		}
	}
}

func TestAGraphThatIsTooLargeIsRefused(t *testing.T) {
	text := needing(t, "requests = [\"master\", \"try\"]\nneeds = [{ kind = \"runtime\", until = \"ended\" }]")
	text = strings.Replace(text, "backfill = true\nrequests", "requests", 1)
	for i := range 80 {
		text += fmt.Sprintf("\n[[profile]]\nname = \"p%d\"\n\n[[backend]]\nname = \"b%d\"\n", i, i)
	}
	_, err := Load("small.toml", []byte(text), nil)
	if err == nil || !strings.Contains(err.Error(), "a master request: ") || !strings.Contains(err.Error(), "a graph has at most 10000 jobs") {
		t.Errorf("%.500v", err)
	}
}
