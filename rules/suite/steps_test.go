package suite

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tachobench/tacho/events"
)

// commanding returns the small suite in version 2 with a kind that runs commands.
func commanding(t *testing.T, kind string) string {
	t.Helper()
	return strings.Replace(small(t), "version = 1", "version = 2", 1) + "\n[[kind]]\nname = \"lint\"\nprofile = \"debug\"\ndoes = \"command\"\n" + kind
}

const lint = `steps = [["sh", "{source}/lint.sh", "{tag}", "{artifact}"], ["{artifact}/bin/x", "{target}/{profile}/{backend}"]]
always = [["rm", "-rf", "{tag}"]]
source = "lint"
env = ["MODE=strict"]
timeout = "2m"
success = { exit = [0, 2], retry_exit = [75], fail = ["^error:"], require = ["OK$"], metrics = "out.jsonl" }
`

func TestAKindRunsCommands(t *testing.T) {
	d, err := Load("small.toml", []byte(commanding(t, lint)), func(b BenchmarkDef) (events.Digest, error) { return events.Digest("of-" + b.Source), nil })
	if err != nil {
		t.Fatal(err)
	}
	request := Request{
		ID: "r1", Artifact: events.Artifact{Suite: d.Name, Tag: "v2", Kind: events.Try}, Parent: &events.Artifact{Suite: d.Name, Tag: "v1", Kind: events.Master},
		Parameters: events.Parameters{Benchmarks: []string{string(d.Benchmarks[0].Name)}},
	}
	own, backfill, err := d.Expand(request)
	if err != nil {
		t.Fatal(err)
	}
	of := func(jobs []events.JobSpec) []events.JobSpec {
		return slices.DeleteFunc(slices.Clone(jobs), func(j events.JobSpec) bool { return j.Kind != "lint" })
	}
	jobs := of(own)
	if len(jobs) != len(d.Targets) || len(of(backfill)) != 0 || jobs[0].Benchmarks != nil || jobs[0].Measures != nil || jobs[0].ID != jobs[0].First() {
		t.Fatalf("jobs %+v, of the parent %+v", jobs, of(backfill))
	}
	p, err := d.Steps(jobs[0])
	if err != nil {
		t.Fatal(err)
	}
	where := string(jobs[0].Target) + "/debug/" + string(jobs[0].Backend)
	want := [][]string{{"sh", "{source}/lint.sh", "v2", "{artifact}"}, {"{artifact}/bin/x", where}}
	if diff := cmp.Diff(want, p.Steps); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if p.Timeout != 2*time.Minute || p.SourceDigest != "of-lint" || !p.Fail[0].MatchString("error: x") || p.Always[0][2] != "v2" || p.Case.Benchmark != "lint" || p.Env[0] != "MODE=strict" {
		t.Errorf("%+v", p)
	}
	plans, err := d.Plan(jobs[0])
	if err != nil || len(plans) > 0 {
		t.Errorf("it measures %+v, %v", plans, err)
	}
	again, err := Parse(d.Canonical())
	if err != nil || again.Digest() != d.Digest() {
		t.Errorf("read again: %v", err)
	}
	_, err = d.Steps(own[0])
	if err == nil {
		t.Error("a kind that measures has steps")
	}
}

func TestAMatchedKindThatRunsCommandsIsNoPair(t *testing.T) {
	d, err := Load("small.toml", []byte(commanding(t, `lanes = "any"`+"\nsteps = [[\"true\"]]\n")), nil)
	if err != nil {
		t.Fatal(err)
	}
	own, _, err := d.Expand(Request{ID: "r1", Artifact: events.Artifact{Suite: d.Name, Tag: "v2", Kind: events.Master}, ParentTag: "v1"})
	if err != nil {
		t.Fatal(err)
	}
	for _, j := range own {
		if j.Kind == "lint" && (!j.Matched || j.Against != nil) {
			t.Errorf("%+v", j)
		}
	}
}

func TestWrongCommandsAreRefused(t *testing.T) {
	for _, test := range []struct{ kind, want string }{
		{"", `kind "lint" has does = "command" and no steps: write the commands that it runs`},
		{"steps = [[]]", `steps of kind "lint" has an empty command`},
		{`steps = [["true"], [""]]`, `steps of kind "lint" has an empty command: remove it`},
		{`steps = [["echo", "{parent}"]]`, `unknown field {parent}: use {tag}, {target}, {profile}, {backend}, {artifact}, {source} or {tokens}`},
		{`steps = [["echo", "{cache:c}"]]`, `{cache:c} is not in the caches of kind "lint"`},
		{"steps = [" + strings.Repeat(`["true"],`, 65) + "]", "runs 65 commands: use at most 64"},
		{"steps = [[\"true\"]]\nper_set = true", `kind "lint" has per_set and does = "command"`},
		{"steps = [[\"true\"]]\nenv = [\"x\"]", `env "x": use NAME=value`},
		{"steps = [[\"true\"]]\ntimeout = \"0s\"", `timeout "0s": use a duration above 0`},
		{"steps = [[\"true\"]]\nsource = \"../x\"", `source "../x": use a relative path`},
		{"steps = [[\"true\"]]\nsuccess = { exit = [256] }", "exit has 256: exit codes are 0 to 255"},
		{"steps = [[\"true\"]]\nsuccess = { exit = [1, 1] }", "exit has 1 twice"},
		{"steps = [[\"true\"]]\nsuccess = { retry_exit = [0] }", "0 is a success and asks for another try"},
		{"steps = [[\"true\"]]\nsuccess = { fail = [\"(\"] }", `fail "(" is no regular expression`},
		{"steps = [[\"true\"]]\nsuccess = { require = [\"\"] }", "require has an empty pattern"},
		{"steps = [[\"true\"]]\nsuccess = { metrics = \"/tmp/x\" }", `metrics "/tmp/x": use a relative path`},
		{"steps = [[\"true\"]]\nsuccess = { codes = [1] }", `unknown key "kind.codes"`},
	} {
		t.Run(test.want, func(t *testing.T) {
			_, err := Load("small.toml", []byte(commanding(t, test.kind+"\n")), nil)
			if err == nil || !strings.Contains(err.Error(), test.want) || !strings.HasPrefix(err.Error(), "small.toml:") {
				t.Errorf("got %v", err)
			}
		})
	}
	for _, test := range []struct{ name, from, to, want string }{
		{"version 1", "version = 2", "version = 1", `kind "lint" has does = "command": write version = 2 at the head of the file`},
		{"another word", `does = "command"`, `does = "bake"`, `unknown does "bake": use measure, command or build`},
		{"steps of a kind that measures", `does = "command"`, `does = "measure"`, `steps is only for kinds with does = "command" or "build": add it to kind "lint", or remove steps`},
		{"a benchmark", "[[benchmark]]", "[[benchmark]]\nkind = \"lint\"\nname = \"x\"\ncategory = \"primary\"\n[[benchmark]]", `benchmark "x" is of kind "lint", which runs commands`},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, err := Load("small.toml", []byte(strings.Replace(commanding(t, lint), test.from, test.to, 1)), nil)
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v", err)
			}
		})
	}
}
