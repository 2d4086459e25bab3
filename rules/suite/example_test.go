package suite_test

import (
	"fmt"

	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/rules/suite"
)

// A request becomes one job per kind, target, set, backend and profile, for itself and for its parent.
func ExampleDefinitions_Expand() {
	d := suite.Definitions{
		Version: 1, Name: "small", PrimaryTarget: "linux", Sources: suite.Sources{Root: "file"}, Targets: []suite.Target{{Name: "linux", Sets: 2}},
		Kinds:    []suite.Kind{{Name: "compile", PerSet: true, PerBackend: true, PerProfile: true, Backfill: true}},
		Backends: []suite.Backend{{Name: "llvm"}}, Profiles: []suite.Profile{{Name: "opt"}},
	}
	parent := events.Artifact{Suite: "small", Tag: "v1", Kind: events.Release}
	own, backfill, err := d.Expand(suite.Request{ID: "r2", Artifact: events.Artifact{Suite: "small", Tag: "v2", Kind: events.Release}, Parent: &parent})
	for _, j := range append(own, backfill...) {
		fmt.Println(j.Artifact.Tag, j.Kind, j.Lane(), j.Backend, j.Profile)
	}
	fmt.Println(err)
	// Output:
	// v2 compile linux/0 llvm opt
	// v2 compile linux/1 llvm opt
	// v1 compile linux/0 llvm opt
	// v1 compile linux/1 llvm opt
	// <nil>
}
