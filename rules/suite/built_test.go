package suite

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tachobench/tacho/events"
)

// builtBy returns the small suite with an artifact that its jobs build. Its compile jobs have a need, and kind completes the
// one that builds.
func builtBy(t *testing.T, need, kind string) string {
	t.Helper()
	text := strings.Replace(building(t, kind), "kind = \"git\"", "kind = \"built\"", 1)
	text = strings.Replace(text, "build = [\"make\"]\n", "", 1)
	text = strings.Replace(text, "name = \"runtime\"\n", "name = \"runtime\"\n"+onProgram+"\n", 1)
	return strings.Replace(text, "[[kind]]\nname = \"compile\"", "[[kind]]\nname = \"compile\"\n"+need, 1)
}

const onProgram = `needs = [{ kind = "build", output = "program" }]`

func TestAnArtifactIsBuilt(t *testing.T) {
	d, err := Load("small.toml", []byte(builtBy(t, onProgram, dist)), nil)
	if err != nil {
		t.Fatal(err)
	}
	r := Request{
		ID: "r1", Artifact: events.Artifact{Suite: "small", Tag: "t1", Kind: events.Master}, ParentTag: "t0",
		Parent: &events.Artifact{Suite: "small", Tag: "t0", Kind: events.Master}, Parameters: events.Parameters{Benchmarks: []string{"*"}},
	}
	x, err := d.Expansion(r)
	if err != nil {
		t.Fatal(err)
	}
	var builds []events.JobSpec
	all := append(x.Backfill, x.Own...)
	for _, j := range all {
		if j.Kind != "build" {
			if j.Recipe != "" || j.Tokens != nil || len(j.Checkouts) > 0 {
				t.Errorf("a job that measures is made of %+v", j)
			}
			continue
		}
		if j.Recipe == "" || j.Benchmarks != nil || j.Measures != nil || j.ID != j.First() || cmp.Diff(j.Tokens, &events.Tokens{Min: 2, Max: 4}) != "" ||
			j.Checkouts[0].Revision != string(j.Artifact.Tag) {
			t.Errorf("%+v", j)
		}
		builds = append(builds, j)
	}
	if len(builds) != 4 || builds[0].Artifact.Tag != "t0" || !builds[0].Backfill || builds[2].Artifact.Tag != "t1" || builds[0].ID == builds[2].ID {
		t.Fatalf("builds %+v: want one for each target of the parent, whose jobs need it, and of its own", builds)
	}
	for _, n := range d.Edges(all) {
		if all[n.On].Kind == "build" && (n.Output != "program" || all[n.On].Artifact.Tag != all[n.Job].Artifact.Tag) {
			t.Errorf("%s of %s needs %+v", all[n.Job].Kind, all[n.Job].Artifact.Tag, n)
		}
	}
	r.Artifact.Kind = events.Try
	r.Parameters.Benchmarks = nil
	same, err := d.Expansion(r)
	if err != nil {
		t.Fatal(err)
	}
	for _, j := range same.Own {
		if j.Kind == "build" && j.ID != builds[2].ID && j.ID != builds[3].ID {
			t.Error("what is built depends on the request")
		}
	}
}

func TestBuildsShareAMachineByTheirCPUs(t *testing.T) {
	target := Target{Name: "t", OS: "linux", Arch: "amd64"}
	for _, tc := range []struct {
		kind Kind
		want string
	}{
		{Kind{Does: DoesBuild, Requires: []string{"pool=b"}, Tokens: Tokens{Min: 2, Max: 8}}, "pool=b os=linux arch=amd64 cpus=2"},
		{Kind{Does: DoesBuild}, "os=linux arch=amd64"},
		{Kind{Does: DoesCommand}, "os=linux arch=amd64 exclusive"},
		{Kind{}, "os=linux arch=amd64 exclusive"},
	} {
		if got := strings.Join(tc.kind.Terms(target), " "); got != tc.want {
			t.Errorf("%+v requires %s, want %s", tc.kind, got, tc.want)
		}
	}
}

func TestWrongNeedsByOutputAreRefused(t *testing.T) {
	for _, tc := range []struct{ need, kind, want string }{
		{"", dist, `kind "compile" measures the artifact, and artifacts of kind "built" are built by jobs: it needs what yields it, add needs = [{ kind = "build", output = "lib" }] or needs`},
		{`needs = [{ kind = "build" }]`, dist, `it needs what yields it`},
		{`needs = [{ kind = "build", output = "progam" }]`, dist, `unknown output of kind build "progam"`},
		{`needs = [{ kind = "build", output = "program", until = "ended" }]`, dist, `which is there or not, whatever becomes of "build": remove until, or output`},
		{`needs = [{ kind = "build", output = "program" }, { kind = "build", output = "program" }]`, dist, `kind "compile" needs "build" twice`},
		{`needs = [{ kind = "build", output = "program" }, { kind = "build", output = "lib" }, { kind = "build" }]`, dist, ""},
		{onProgram, strings.Replace(dist, "retries", "per_backend = true\nretries", 1), `there is one for each backend: add per_backend = true to "runtime", or let "build" be made once`},
		{`needs = [{ kind = "build", output = "program", across = ["backend"] }]`, strings.Replace(dist, "retries", "per_backend = true\nretries", 1), `kind "compile" measures the output "program" of "build", and there is one for each backend`},
		{onProgram + "\nlanes = \"any\"", dist, `measures two artifacts on one machine (lanes = "any"), and each job has one build: add shared = true`},
	} {
		text := builtBy(t, tc.need, tc.kind)
		if strings.Contains(tc.need, "any") {
			text = strings.Replace(strings.Replace(text, "per_set = true\n", "", 1), "backfill = true\n", "", 1)
		}
		_, err := Load("small.toml", []byte(text), nil)
		if tc.want == "" && err != nil || tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want)) {
			t.Errorf("%s\n%s: %v\nwant %q", tc.need, tc.kind, err, tc.want)
		}
	}
}
