package suite

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/rules/match"
)

func TestNeedsOfMatchedJobs(t *testing.T) {
	d := Definitions{
		Name: "small", PrimaryTarget: "amd",
		Targets: []Target{{Name: "amd", Sets: 2, OS: "linux", Arch: "amd64"}, {Name: "arm", Sets: 1, OS: "linux", Arch: "arm64", OnRequest: true}},
		Kinds: []Kind{
			{Name: "compile", PerSet: true},
			{Name: "build", Lanes: LanesAny, Requires: []string{"memory=8g"}, Shared: true},
			{Name: "boot", Lanes: LanesAny, Primary: true, Requests: []events.RequestKind{events.Release}},
		},
	}
	asked, err := match.Parse([]string{"memory=16g"})
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		name string
		kind events.RequestKind
		p    events.Parameters
		want []string
	}{
		{"the usual target", events.Master, events.Parameters{}, []string{"build/amd/0 arch=amd64 memory=16g os=linux"}},
		{
			"all targets", events.Master,
			events.Parameters{Targets: []events.Target{"amd", "arm"}},
			[]string{"build/amd/0 arch=amd64 memory=16g os=linux", "build/arm/0 arch=arm64 memory=16g os=linux"},
		},
		{
			"another kind of request", events.Release,
			events.Parameters{},
			[]string{"build/amd/0 arch=amd64 memory=16g os=linux", "boot/amd/0 arch=amd64 exclusive memory=16g os=linux"},
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			needs, err := d.Needs(Template{}, tc.kind, tc.p, match.Named{Who: "the request", Requirement: asked})
			var got []string
			for _, n := range needs {
				got = append(got, n.Job+" "+n.Requires.String())
			}
			if diff := cmp.Diff(tc.want, got); diff != "" || err != nil {
				t.Error(diff, err)
			}
		})
	}
	// The jobs that are made require the same.
	own, _, err := d.Expand(Request{Artifact: events.Artifact{Suite: "small", Tag: "c1", Kind: events.Release}, Requires: []string{"memory=16g"}})
	var made []string
	for _, j := range own {
		if j.Matched {
			made = append(made, strings.Join(j.Requires, " "))
		}
	}
	if diff := cmp.Diff([]string{"arch=amd64 memory=16g os=linux", "arch=amd64 exclusive memory=16g os=linux"}, made); diff != "" || err != nil {
		t.Error(diff, err)
	}
	other, err := match.Parse([]string{"arch=riscv64"})
	if err != nil {
		t.Fatal(err)
	}
	_, err = d.Needs(Template{}, events.Master, events.Parameters{}, match.Named{Who: "the request", Requirement: other})
	if want := "arch=amd64 (kind build) and arch=riscv64 (the request): they exclude one another"; err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
}

func TestATargetIsNoPool(t *testing.T) {
	text := small(t) + "\n[[target]]\nname = \"pool_linux\"\nsets = 1\nos = \"linux\"\narch = \"amd64\"\n"
	_, err := Load("small.toml", []byte(text), nil)
	if err == nil || !strings.Contains(err.Error(), `target "pool_linux": names that begin with pool_ are those of pools`) {
		t.Error(err)
	}
}
