package suite

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/tachobench/tacho/events"
)

func built() Definitions {
	d := cooked()
	d.Artifact.Kind = ArtifactBuilt
	return d
}

func goes() Goes {
	return Goes{
		Inputs:      []events.Input{{Output: events.Output{Name: "o", Digest: "1"}, Kind: "run"}, {Output: events.Output{Name: "x", Digest: "2"}, Kind: "other"}},
		Fingerprint: "machine", Drivers: map[string]string{DriverCommand: "1", DriverRust: "7"},
	}
}

func keyed(t *testing.T, d Definitions, j events.JobSpec, with Goes) events.Digest {
	t.Helper()
	key, ok := d.Key(j, with)
	if !ok {
		t.Fatalf("job of kind %s has no key with %+v", j.Kind, with)
	}
	return key
}

// What makes everything dirty, and what does not.
func TestAKeyIsWhatGoesIntoAJob(t *testing.T) {
	before := keyed(t, built(), jobOf("measure"), goes())
	for name, change := range map[string]func(d *Definitions, j *events.JobSpec, with *Goes){
		"another output":         func(_ *Definitions, _ *events.JobSpec, with *Goes) { with.Inputs[0].Digest = "3" },
		"one output less":        func(_ *Definitions, _ *events.JobSpec, with *Goes) { with.Inputs = with.Inputs[:1] },
		"another machine":        func(_ *Definitions, _ *events.JobSpec, with *Goes) { with.Fingerprint = "other" },
		"another driver version": func(_ *Definitions, _ *events.JobSpec, with *Goes) { with.Drivers[DriverCommand] = "2" },
		"more iterations":        func(d *Definitions, _ *events.JobSpec, _ *Goes) { d.Benchmarks[0].Iterations.Number++ },
		"another profile flag":   func(d *Definitions, _ *events.JobSpec, _ *Goes) { d.Profiles[0].Args = []string{"-O0"} },
	} {
		d, j, with := built(), jobOf("measure"), goes()
		change(&d, &j, &with)
		if keyed(t, d, j, with) == before {
			t.Errorf("%s: the key is the same", name)
		}
	}
	for name, change := range map[string]func(d *Definitions, j *events.JobSpec, with *Goes){
		"another description":     func(d *Definitions, _ *events.JobSpec, _ *Goes) { d.Description = "new" },
		"another expectation":     func(d *Definitions, _ *events.JobSpec, _ *Goes) { d.Kinds[0].Expect = "9m" },
		"another commit":          func(_ *Definitions, j *events.JobSpec, _ *Goes) { j.Artifact.Tag, j.ID, j.RequestID = "v2", "j2", "r2" },
		"another order of inputs": func(_ *Definitions, _ *events.JobSpec, with *Goes) { slices.Reverse(with.Inputs) },
		"who built it, and where it lies": func(_ *Definitions, _ *events.JobSpec, with *Goes) {
			with.Inputs[0].JobID, with.Inputs[0].Lane = "j9", events.Lane{Target: "u"}
		},
		"the version of a driver not used": func(_ *Definitions, _ *events.JobSpec, with *Goes) { with.Drivers[DriverRust] = "8" },
		"another kind":                     func(d *Definitions, _ *events.JobSpec, _ *Goes) { d.Kinds[2].Steps[0] = []string{"false"} },
	} {
		d, j, with := built(), jobOf("measure"), goes()
		change(&d, &j, &with)
		if keyed(t, d, j, with) != before {
			t.Errorf("%s: the key is another one", name)
		}
	}
}

func TestOnlyWhatMayBeTakenOverHasAKey(t *testing.T) {
	tree := Goes{Tree: "t", Fingerprint: "machine", Drivers: goes().Drivers}
	command := func(d *Definitions) { d.Kinds[1].Does, d.Kinds[1].Outputs = DoesCommand, nil }
	for name, test := range map[string]struct {
		kind   events.JobKind
		change func(d *Definitions, j *events.JobSpec)
		with   Goes
		keyed  bool
	}{
		"measures what was built":       {"measure", nil, goes(), true},
		"a build":                       {"run", nil, Goes{Tree: "t"}, true},
		"a build with inputs":           {"run", nil, Goes{Tree: "t", Inputs: goes().Inputs}, true},
		"a build of an unknown tree":    {"run", nil, Goes{}, false},
		"without what was built":        {"measure", nil, Goes{Fingerprint: "machine", Drivers: goes().Drivers}, false},
		"on an unknown machine":         {"measure", nil, Goes{Inputs: goes().Inputs, Drivers: goes().Drivers}, false},
		"with an unknown driver":        {"measure", nil, Goes{Inputs: goes().Inputs, Fingerprint: "machine"}, false},
		"a sample":                      {"measure", func(_ *Definitions, j *events.JobSpec) { j.Sample = "r-1-1" }, goes(), false},
		"a pair":                        {"measure", func(_ *Definitions, j *events.JobSpec) { j.Against = &events.Artifact{Tag: "v0"} }, goes(), false},
		"reuse is never":                {"measure", func(d *Definitions, _ *events.JobSpec) { d.Kinds[0].Reuse = ReuseNever }, goes(), false},
		"nothing is measured":           {"measure", func(d *Definitions, _ *events.JobSpec) { d.Categories = nil }, goes(), false},
		"version 1":                     {"measure", func(d *Definitions, _ *events.JobSpec) { d.Version = 1 }, goes(), false},
		"commands":                      {"run", func(d *Definitions, _ *events.JobSpec) { command(d) }, Goes{}, false},
		"commands that ask for it":      {"run", func(d *Definitions, _ *events.JobSpec) { command(d); d.Kinds[1].Reuse = ReuseEqual }, Goes{}, true},
		"fetched artifacts":             {"measure", func(d *Definitions, _ *events.JobSpec) { d.Artifact.Kind = ArtifactURL }, tree, false},
		"fetched artifacts that ask":    {"measure", func(d *Definitions, _ *events.JobSpec) { d.Artifact.Kind, d.Kinds[0].Reuse = ArtifactURL, ReuseEqual }, tree, true},
		"sources that nothing names":    {"measure", func(d *Definitions, _ *events.JobSpec) { d.Sources.Revision = "" }, goes(), false},
		"a kind that the suite has not": {"gone", nil, goes(), false},
	} {
		d, j := built(), jobOf(test.kind)
		d.Categories = maps.Clone(d.Categories)
		if test.change != nil {
			test.change(&d, &j)
		}
		key, ok := d.Key(j, test.with)
		if ok != test.keyed || (key != "") != ok {
			t.Errorf("%s: key %q, %v", name, key, ok)
		}
	}
}

func TestReuseIsChecked(t *testing.T) {
	for _, test := range []struct{ version, kind, want string }{
		{"version = 2", `reuse = "equal-inputs"`, ""},
		{"version = 2", `reuse = "never"`, ""},
		{"version = 2", `reuse = "always"`, `unknown reuse "always": use equal-inputs or never`},
		{"version = 1", `reuse = "never"`, "write version = 2"},
		{"version = 2", "lanes = \"any\"\nreuse = \"equal-inputs\"", "measured beside their parent"},
	} {
		text := strings.Replace(small(t), "version = 1", test.version, 1)
		text += "\n[[kind]]\nname = \"more\"\nprofile = \"debug\"\n" + test.kind + "\n"
		_, err := Load("small.toml", []byte(text), nil)
		if test.want == "" && err != nil || test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)) {
			t.Errorf("%s: %v", test.kind, err)
		}
	}
}
