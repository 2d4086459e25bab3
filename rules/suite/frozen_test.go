package suite

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tachobench/tacho/events"
)

var writeFrozen = flag.Bool("write-frozen", false, "write testdata/expansions.txt: only when a suite of this repository has changed, or what is drawn")

// draw makes definitions of version 1, or of version 2 with needs, from random numbers.
type draw struct{ *rand.Rand }

func (r draw) chance() bool { return r.IntN(2) == 0 }

// some returns some of the values, in their order.
func some[T any](r draw, values []T) []T {
	return slices.DeleteFunc(slices.Clone(values), func(T) bool { return r.chance() })
}

func (r draw) definitions(version int) Definitions {
	d := Definitions{
		Version: version, Name: "drawn", PrimaryTarget: "t0", Sources: Sources{Root: "mine"}, Defaults: Defaults{Iterations: Iterations{Number: 3}, Timeout: "5m"},
		Categories: map[events.RequestKind][]Category{
			events.Master: {Primary, Secondary}, events.Try: {Primary, Secondary}, events.Release: {Stable},
		},
		Artifact: Artifact{Kind: ArtifactGoToolchain, Driver: DriverGoBuild},
	}
	for i := range 1 + r.IntN(3) {
		d.Targets = append(d.Targets, Target{
			Name: events.Target(fmt.Sprint("t", i)), Sets: 1 + r.IntN(3), Optional: i > 0 && r.chance(), OnRequest: i > 0 && r.chance(), OS: "linux", Arch: "amd64",
		})
	}
	for i := range 1 + r.IntN(3) {
		d.Profiles = append(d.Profiles, Profile{Name: events.Profile(fmt.Sprint("p", i)), OnRequest: i > 0 && r.chance()})
	}
	for i := range 1 + r.IntN(2) {
		d.Backends = append(d.Backends, Backend{Name: events.Backend(fmt.Sprint("b", i)), OnRequest: i > 0 && r.chance()})
	}
	for i := range 1 + r.IntN(4) {
		k := Kind{
			Name: events.JobKind(fmt.Sprint("k", i)), PerSet: r.chance(), PerBackend: r.chance(), PerProfile: r.chance(), Primary: r.chance(),
			Backfill: r.chance(), Requests: some(r, []events.RequestKind{events.Master, events.Try, events.Release}),
		}
		if !k.PerProfile {
			k.Profile = "p0"
		}
		if r.IntN(3) == 0 {
			k.Lanes, k.Backfill, k.Shared, k.Requires, k.Caches = LanesAny, false, r.chance(), []string{"memory=2g"}, some(r, []string{"a/{tag}", "b/{parent}"})
		}
		if version > 1 && i > 0 && r.chance() {
			k.Needs = []KindNeed{{Kind: d.Kinds[r.IntN(i)].Name, Across: some(r, []string{acrossTarget, acrossSet, acrossProfile})}}
		}
		d.Kinds = append(d.Kinds, k)
	}
	return d
}

func (r draw) request(d Definitions) Request {
	kind := []events.RequestKind{events.Master, events.Try, events.Release}[r.IntN(3)]
	q := Request{ID: "r1", Artifact: events.Artifact{Suite: d.Name, Tag: "child", Kind: kind}}
	if r.chance() {
		q.Parameters.Targets = some(r, names(d.Targets, func(t Target) events.Target { return t.Name }))
	}
	if r.chance() {
		q.Parameters.Profiles = some(r, names(d.Profiles, func(p Profile) events.Profile { return p.Name }))
	}
	if r.chance() {
		q.ParentTag = "parent"
		q.Parent = &events.Artifact{Suite: d.Name, Tag: "parent", Kind: events.Master}
	}
	return q
}

// The file has what 400 drawn definitions, and the suites of this repository, were expanded to before suites had
// options, graphs and branches. The same definitions make the same jobs for ever: the ids of jobs are in the log.
func TestOldDefinitionsExpandAsTheyDid(t *testing.T) {
	const file = "testdata/expansions.txt"
	var lines []string
	add := func(name string, d Definitions, q Request) {
		own, backfill, err := d.Expand(q)
		raw, err2 := json.Marshal([]any{own, backfill, fmt.Sprint(err), d.Edges(own), d.Edges(backfill)})
		if err2 != nil {
			t.Fatal(err2)
		}
		sum := sha256.Sum256(raw)
		lines = append(lines, fmt.Sprintf("%s %s %s %d %d", name, d.Digest()[:16], hex.EncodeToString(sum[:8]), len(own), len(backfill)))
	}
	for seed := range 400 {
		r := draw{rand.New(rand.NewPCG(uint64(seed), 13))}
		d := r.definitions(1 + seed%2)
		add(fmt.Sprint(seed), d, r.request(d))
	}
	for _, path := range []string{
		"testdata/small.toml", "../../internal/cli/testdata/shells.toml",
		"../../collector/definitions/go.toml", "../../collector/definitions/rustc.toml", "../../collector/definitions/rustc-small.toml",
	} {
		d := load(t, path)
		for _, kind := range []events.RequestKind{events.Master, events.Try, events.Release} {
			add(path+" "+string(kind), d, request(d, kind, events.Parameters{}))
		}
	}
	got := strings.Join(lines, "\n") + "\n"
	if *writeFrozen {
		if err := os.WriteFile(file, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("(-before +now):\n%s", diff)
	}
}
