package suite

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/tachobench/tacho/events"
)

// changes is the reason of a field that is part of the recipe.
const changes = ""

// unhashed says of each field of the definitions and of a job why it is no part of the recipe; "" for those that are.
// A field without a line here fails the test: its author decides.
var unhashed = map[string]string{
	"Definitions.Version":       "the form of the file, not what it says",
	"Definitions.Name":          changes,
	"Definitions.Description":   "for people",
	"Definitions.PrimaryTarget": "which jobs are made, not what one does",
	"Definitions.Categories":    "through the benchmarks that are measured",
	"Definitions.Demo":          "a first run alone",
	"Definitions.Metrics":       "how results are compared and shown",
	"Definitions.Options":       "through the jobs that are made",
	"Definitions.Graphs":        "through the jobs that are made",
	"Definitions.Branches":      "through the jobs that are made",

	"Sources.Root":      changes,
	"Sources.Directory": "it is part of each source",
	"Sources.Revision":  changes,

	"Defaults.Iterations": changes,
	"Defaults.Timeout":    changes,

	"Target.Name":      changes,
	"Target.Sets":      "through the benchmarks that are measured",
	"Target.Optional":  "what waits for it",
	"Target.OnRequest": "which jobs are made",
	"Target.OS":        changes,
	"Target.Arch":      changes,

	"Kind.Name":         changes,
	"Kind.PerSet":       "through the benchmarks that are measured",
	"Kind.PerBackend":   "which jobs are made",
	"Kind.PerProfile":   "which jobs are made",
	"Kind.Profile":      "the job has its profile",
	"Kind.Primary":      "which jobs are made",
	"Kind.Requests":     "which jobs are made",
	"Kind.Backfill":     "which jobs are made",
	"Kind.Lanes":        "where the job runs; what a matched job requires is in the job",
	"Kind.Requires":     "the job has it",
	"Kind.Shared":       changes,
	"Kind.Caches":       "where its commands find them, the job is only quicker",
	"Kind.Expect":       "a hint",
	"Kind.When":         "which jobs are made",
	"Kind.Does":         changes,
	"Kind.Steps":        changes,
	"Kind.Always":       changes,
	"Kind.Source":       changes,
	"Kind.SourceDigest": changes,
	"Kind.Env":          changes,
	"Kind.Timeout":      changes,
	"Kind.Chunks":       "which jobs are made",
	"Kind.Tokens":       "how quick it is",
	"Kind.Uploads":      "for people, no job uses them",
	"Kind.Retries":      "how often it is tried",
	"Kind.Reuse":        "whether it runs, not what it does",
	"Kind.Deny":         changes,

	"KindNeed.Kind":   changes,
	"KindNeed.Across": "which jobs it waits for; their outputs are its inputs",
	"KindNeed.Until":  "when it runs",
	"KindNeed.Output": changes,

	"Success.Exit":      changes,
	"Success.RetryExit": changes,
	"Success.Fail":      changes,
	"Success.Require":   changes,
	"Success.Metrics":   changes,

	"OutputPaths.Name":     changes,
	"OutputPaths.Paths":    changes,
	"OutputPaths.After":    changes,
	"Checkout.Repository":  changes,
	"Checkout.Revision":    changes,
	"Checkout.Path":        changes,
	"Diagnostic.Pattern":   changes,
	"Diagnostic.Level":     changes,
	"Diagnostic.Code":      changes,
	"Profile.Name":         changes,
	"Profile.OnRequest":    "which jobs are made",
	"Profile.Args":         changes,
	"Profile.Scenarios":    changes,
	"Profile.Components":   "the content of the artifact is an input",
	"Backend.Name":         changes,
	"Backend.OnRequest":    "which jobs are made",
	"Backend.Args":         changes,
	"Backend.Components":   "the content of the artifact is an input",
	"Scenario.Name":        changes,
	"Scenario.Cache":       changes,
	"Artifact.Kind":        "the content of the artifact is an input",
	"Artifact.Path":        "the content of the artifact is an input",
	"Artifact.URLs":        "the content of the artifact is an input",
	"Artifact.Channels":    "the content of the artifact is an input",
	"Artifact.Components":  "the content of the artifact is an input",
	"Artifact.NoTarget":    "the content of the artifact is an input",
	"Artifact.Repository":  "the tree of the commit is an input",
	"Artifact.Build":       "the content of the artifact is an input",
	"Artifact.Probe":       "it says what is there",
	"Artifact.Driver":      changes,
	"Benchmark.Name":       changes,
	"Benchmark.Kind":       "whether the job measures it",
	"Benchmark.Category":   "whether the job measures it",
	"Benchmark.Source":     changes,
	"Benchmark.Driver":     changes,
	"Benchmark.Sets":       "whether the job measures it",
	"Benchmark.Patches":    changes,
	"Benchmark.Iterations": changes,
	"Benchmark.Timeout":    changes,
	"Benchmark.Touch":      changes,
	"Benchmark.Args":       changes,
	"Benchmark.Env":        changes,
	"Benchmark.Prepare":    changes,
	"Benchmark.Command":    changes,
	"Benchmark.Parse":      changes,

	"Benchmark.SourceDigest":     changes,
	"Benchmark.ExcludeProfiles":  "whether the job measures it",
	"Benchmark.ExcludeScenarios": changes,
	"Benchmark.CompilerArgs":     changes,

	"JobSpec.Chunk":       "through the benchmarks that are measured",
	"JobSpec.ID":          "a name",
	"JobSpec.Artifact":    "its content is an input; commands that name the tag are tested beside this",
	"JobSpec.Kind":        "it must be a kind of the definitions, see Kind.Name",
	"JobSpec.Target":      "as Target.Name",
	"JobSpec.Set":         "through the benchmarks that are measured",
	"JobSpec.Backend":     "as Backend.Name",
	"JobSpec.Profile":     "as Profile.Name",
	"JobSpec.Benchmarks":  changes,
	"JobSpec.Optional":    "what waits for it",
	"JobSpec.Definitions": "what they say counts",
	"JobSpec.RequestID":   "who asked",
	"JobSpec.Backfill":    "who asked",
	"JobSpec.Round":       "how often it was tried",
	"JobSpec.Measures":    "through the benchmarks that are measured",
	"JobSpec.Matched":     "where it runs",
	"JobSpec.Requires":    changes,
	"JobSpec.On":          "where it runs",
	"JobSpec.Against":     changes,
	"JobSpec.Caches":      "it is only quicker",
	"JobSpec.Sample":      "a name; samples take nothing over",
	"JobSpec.Iterations":  changes,
	"JobSpec.Recipe":      "the recipe itself",
	"JobSpec.Tokens":      "how quick it is",
	"JobSpec.Checkouts":   changes,
	"JobSpec.Inputs":      "they are beside the recipe in the key",
}

// cooked returns definitions with one of each: the kinds run and measure.
func cooked() Definitions {
	return Definitions{
		Version: 2, Name: "s", Description: "d", PrimaryTarget: "t", Sources: Sources{Root: "mine", Directory: "dir", Revision: "rev"},
		Defaults:   Defaults{Iterations: Iterations{Number: 3}, Timeout: "5m"},
		Categories: map[events.RequestKind][]Category{events.Master: {Primary}},
		Artifact:   Artifact{Kind: ArtifactGit, Repository: "r", Driver: DriverCommand, Components: []string{"c"}, Probe: []string{"p"}},
		Targets:    []Target{{Name: "t", Sets: 2, OS: "linux", Arch: "amd64"}},
		Kinds: []Kind{
			{Name: "measure", Profile: "p", Expect: "1m", Caches: []string{"c"}},
			{
				Name: "run", Does: DoesBuild, Steps: [][]string{{"make", "{profile}"}}, Always: [][]string{{"clean"}}, Source: "src", Env: []string{"A=1"},
				Timeout: "2m", Success: Success{Exit: []int{0, 3}, RetryExit: []int{75}, Fail: []string{"^E"}, Require: []string{"OK"}, Metrics: "m"},
				Outputs: []OutputPaths{{Name: "o", Paths: []string{"a/**"}}}, Checkouts: []Checkout{{"repo", "0123", "p"}}, Needs: []KindNeed{{Kind: "other", Output: "x"}},
				Diagnostics: []DiagnosticPattern{{"^w", "warning", "$1"}}, Deny: []string{"warning"}, Tokens: Tokens{1, 2},
			},
			{Name: "other", Does: DoesBuild, Steps: [][]string{{"true"}}, Outputs: []OutputPaths{{Name: "x", Paths: []string{"x"}}}},
		},
		Profiles:  []Profile{{Name: "p", Args: []string{"-O"}, Scenarios: []events.Scenario{"full", "again"}}, {Name: "q"}},
		Backends:  []Backend{{Name: "b", Args: []string{"-b"}}},
		Scenarios: []Scenario{{"full", CacheNone}, {"again", CacheNone}},
		Metrics:   []MetricInfo{{Name: "time", Unit: "s"}},
		Benchmarks: []BenchmarkDef{
			{
				Name: "x", Kind: "measure", Category: Primary, Source: "src/x", Driver: DriverCommand, Patches: []string{"0.patch"}, Iterations: Iterations{Number: 2}, Timeout: "1m",
				Touch: "f", Args: []string{"a"}, CompilerArgs: []string{"b"}, Env: []string{"C=1"}, Prepare: []string{"gen"}, Command: []string{"{artifact}/x"}, Parse: "benchfmt",
			},
			{Name: "y", Kind: "measure", Category: Primary, Source: "src/y", Command: []string{"{artifact}/y"}},
			{Name: "z", Kind: "measure", Category: Secondary, Source: "src/z", Command: []string{"{artifact}/z"}},
		},
	}
}

func jobOf(kind events.JobKind) events.JobSpec {
	return events.JobSpec{
		ID: "j1", Artifact: events.Artifact{Suite: "s", Tag: "v1", Kind: events.Master}, Kind: kind, Target: "t", Backend: "b", Profile: "p",
		Definitions: "d", RequestID: "r",
	}
}

func recipeOf(t *testing.T, d Definitions, j events.JobSpec) events.Digest {
	t.Helper()
	r, err := d.Recipe(j)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// differently sets a field to another value, without any meaning.
func differently(t *testing.T, name string, v reflect.Value) {
	t.Helper()
	switch v.Kind() {
	case reflect.String:
		v.SetString(v.String() + "z")
	case reflect.Bool:
		v.SetBool(!v.Bool())
	case reflect.Int, reflect.Int64:
		v.SetInt(v.Int() + 1)
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		differently(t, name, v.Elem())
	case reflect.Struct:
		differently(t, name, v.Field(0))
	case reflect.Slice:
		one := reflect.New(v.Type().Elem()).Elem()
		differently(t, name, one)
		v.Set(reflect.Append(reflect.AppendSlice(reflect.MakeSlice(v.Type(), 0, 1), v), one))
	case reflect.Map:
	default:
		t.Fatalf("%s: write how it is changed", name)
	}
}

// The changes that say something only together with others.
var together = map[string]func(d *Definitions, j *events.JobSpec){
	"Definitions.Name": func(d *Definitions, j *events.JobSpec) { d.Name, j.Artifact.Suite = "other", "other" },
	"Definitions.Categories": func(d *Definitions, _ *events.JobSpec) {
		d.Categories[events.Try] = []Category{Primary}
	},
	"Defaults.Iterations": func(d *Definitions, _ *events.JobSpec) { d.Defaults.Iterations.Number = 9 },
	"Defaults.Timeout":    func(d *Definitions, _ *events.JobSpec) { d.Defaults.Timeout = "9m" },
	"Kind.Name": func(d *Definitions, j *events.JobSpec) {
		for i := range d.Benchmarks {
			if d.Benchmarks[i].Kind == j.Kind {
				d.Benchmarks[i].Kind = "named"
			}
		}
		for i := range d.Kinds {
			if d.Kinds[i].Name == j.Kind {
				d.Kinds[i].Name = "named"
			}
		}
		j.Kind = "named"
	},
	"Kind.Timeout":         func(d *Definitions, _ *events.JobSpec) { d.Kinds[1].Timeout = "9m" },
	"Kind.Does":            func(d *Definitions, _ *events.JobSpec) { d.Kinds[1].Does = DoesCommand },
	"Kind.PerSet":          func(d *Definitions, _ *events.JobSpec) { d.Kinds[1].PerSet = true },
	"Target.Name":          func(d *Definitions, j *events.JobSpec) { d.Targets[0].Name, j.Target = "u", "u" },
	"Profile.Name":         func(d *Definitions, j *events.JobSpec) { d.Profiles[0].Name, j.Profile = "r", "r" },
	"Profile.Scenarios":    func(d *Definitions, _ *events.JobSpec) { d.Profiles[0].Scenarios = []events.Scenario{"full"} },
	"Backend.Name":         func(d *Definitions, j *events.JobSpec) { d.Backends[0].Name, j.Backend = "c", "c" },
	"Artifact.Driver":      func(d *Definitions, _ *events.JobSpec) { d.Artifact.Driver = DriverRust },
	"Benchmark.Kind":       func(d *Definitions, _ *events.JobSpec) { d.Benchmarks[2].Kind = "run" },
	"Benchmark.Category":   func(d *Definitions, _ *events.JobSpec) { d.Benchmarks[2].Category = Stable },
	"Benchmark.Timeout":    func(d *Definitions, _ *events.JobSpec) { d.Benchmarks[0].Timeout = "9m" },
	"Benchmark.Iterations": func(d *Definitions, _ *events.JobSpec) { d.Benchmarks[0].Iterations.Number = 9 },
	"Benchmark.Sets":       func(d *Definitions, _ *events.JobSpec) { d.Benchmarks[0].Sets = map[events.Target]events.Set{"t": 1} },
	"Benchmark.ExcludeProfiles": func(d *Definitions, _ *events.JobSpec) {
		d.Benchmarks[0].ExcludeProfiles = []events.Profile{"q"}
	},
	"Benchmark.ExcludeScenarios": func(d *Definitions, _ *events.JobSpec) { d.Benchmarks[0].ExcludeScenarios = []events.Scenario{"again"} },
	"Scenario.Name": func(d *Definitions, _ *events.JobSpec) {
		d.Scenarios[0].Name, d.Profiles[0].Scenarios = "whole", []events.Scenario{"whole", "again"}
	},
	"JobSpec.Artifact":   func(_ *Definitions, j *events.JobSpec) { j.Artifact.Tag = "v2" },
	"JobSpec.Kind":       func(*Definitions, *events.JobSpec) {},
	"JobSpec.Target":     func(*Definitions, *events.JobSpec) {},
	"JobSpec.Backend":    func(*Definitions, *events.JobSpec) {},
	"JobSpec.Profile":    func(*Definitions, *events.JobSpec) {},
	"JobSpec.Against":    func(_ *Definitions, j *events.JobSpec) { j.Against = &events.Artifact{Suite: "s", Tag: "v0"} },
	"JobSpec.Benchmarks": func(_ *Definitions, j *events.JobSpec) { j.Benchmarks = []string{"y"} },
}

// Each field of the definitions and of a job changes the recipe of a job that measures or of one that runs commands, or it
// has a reason not to.
func TestEachFieldChangesTheRecipeOrSaysWhyNot(t *testing.T) {
	parts := func(d *Definitions, j *events.JobSpec) map[string][]any {
		return map[string][]any{
			"Definitions": {d}, "Sources": {&d.Sources}, "Defaults": {&d.Defaults}, "Target": {&d.Targets[0]}, "Kind": {&d.Kinds[0], &d.Kinds[1]},
			"KindNeed": {&d.Kinds[1].Needs[0]}, "Success": {&d.Kinds[1].Success}, "OutputPaths": {&d.Kinds[1].Outputs[0]},
			"Checkout": {&d.Kinds[1].Checkouts[0]}, "Diagnostic": {&d.Kinds[1].Diagnostics[0]}, "Profile": {&d.Profiles[0]}, "Backend": {&d.Backends[0]},
			"Scenario": {&d.Scenarios[0]}, "Artifact": {&d.Artifact}, "Benchmark": {&d.Benchmarks[0]}, "JobSpec": {j},
		}
	}
	// These are walked by themselves.
	walked := []string{
		"Definitions.Sources", "Definitions.Defaults", "Definitions.Artifact", "Definitions.Targets", "Definitions.Kinds", "Definitions.Profiles",
		"Definitions.Backends", "Definitions.Scenarios", "Definitions.Benchmarks", "Kind.Needs", "Kind.Success", "Kind.Outputs", "Kind.Checkouts", "Kind.Diagnostics",
	}
	seen := map[string]bool{}
	probe := cooked()
	spec := jobOf("run")
	for part, holders := range parts(&probe, &spec) {
		for at := range holders {
			fields := reflect.TypeOf(holders[at]).Elem()
			for i := range fields.NumField() {
				name := part + "." + fields.Field(i).Name
				if slices.Contains(walked, name) {
					continue
				}
				reason, sorted := unhashed[name]
				if !sorted {
					t.Errorf("%s: say in unhashed whether it changes what a job does", name)
					continue
				}
				changed := false
				for _, kind := range []events.JobKind{"measure", "run"} {
					d, j := cooked(), jobOf(kind)
					before := recipeOf(t, cooked(), j)
					if f := together[name]; f != nil {
						f(&d, &j)
					} else {
						differently(t, name, reflect.ValueOf(parts(&d, &j)[part][at]).Elem().Field(i))
					}
					after, err := d.Recipe(j)
					if err != nil {
						t.Errorf("%s: %v: write how it is changed", name, err)
					}
					changed = changed || before != after
				}
				seen[name] = seen[name] || changed
				if reason != changes && changed {
					t.Errorf("%s changed the recipe, and it should not: %s", name, reason)
				}
			}
		}
	}
	for name, reason := range unhashed {
		if reason == changes && !seen[name] {
			t.Errorf("%s did not change the recipe", name)
		}
	}
}

func TestWhatIsUnrelatedChangesNoRecipe(t *testing.T) {
	for seed := range uint64(100) {
		r := rand.New(rand.NewPCG(seed, 68))
		d := cooked()
		before := map[events.JobKind]events.Digest{"measure": recipeOf(t, d, jobOf("measure")), "run": recipeOf(t, d, jobOf("run"))}
		shuffle(r, d.Benchmarks)
		shuffle(r, d.Targets)
		shuffle(r, d.Profiles)
		shuffle(r, d.Kinds)
		for i, k := range d.Kinds {
			shuffle(r, k.Success.Exit)
			if k.Name == "other" {
				d.Kinds[i].Steps = [][]string{{"echo", fmt.Sprint(seed)}}
			}
		}
		d.Profiles = append(d.Profiles, Profile{Name: "new", Args: []string{"-x"}})
		d.Kinds = append(d.Kinds, Kind{Name: "new", Profile: "p"})
		d.Benchmarks = append(d.Benchmarks, BenchmarkDef{Name: "new", Kind: "new", Category: Primary, Source: "new", Command: []string{"x"}})
		for kind, recipe := range before {
			if got := recipeOf(t, d, jobOf(kind)); got != recipe {
				t.Fatalf("seed %d: the recipe of kind %s changed from %s to %s", seed, kind, recipe, got)
			}
		}
	}
}

func shuffle[T any](r *rand.Rand, list []T) {
	r.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
}

func TestARecipeNamesWhatItsCommandsName(t *testing.T) {
	d, one, two := cooked(), jobOf("run"), jobOf("run")
	two.Artifact.Tag = "v2"
	if recipeOf(t, d, one) != recipeOf(t, d, two) {
		t.Error("two tags differ, and no command names the tag")
	}
	d.Kinds[1].Steps[0] = []string{"make", "VERSION={tag}"}
	if recipeOf(t, d, one) == recipeOf(t, d, two) {
		t.Error("two tags have one recipe, and a command names the tag")
	}
	d = cooked()
	resolved := one
	resolved.Checkouts = []events.Checkout{{Repository: "repo", Revision: "0123", Path: "p"}}
	if recipeOf(t, d, one) != recipeOf(t, d, resolved) {
		t.Error("the same checkouts in the job and in the definitions are two recipes")
	}
	resolved.Checkouts[0].Revision = "4567"
	if recipeOf(t, d, one) == recipeOf(t, d, resolved) {
		t.Error("another revision of a checkout is the same recipe")
	}
}

// Where digests name the content of the programs, it does not matter where they are.
func TestDigestsOfSourcesStandForTheirPlace(t *testing.T) {
	d := cooked()
	for i := range d.Benchmarks {
		d.Benchmarks[i].SourceDigest = events.Digest(fmt.Sprint("of ", i))
	}
	before := recipeOf(t, d, jobOf("measure"))
	d.Sources = Sources{Root: SourcesFile}
	if recipeOf(t, d, jobOf("measure")) != before {
		t.Error("another root changed the recipe")
	}
	d.Benchmarks[1].SourceDigest = "changed"
	if recipeOf(t, d, jobOf("measure")) == before {
		t.Error("another content is the same recipe")
	}
}

// Recipes are in the log: the same job has the same one for ever.
func TestRecipesStayWhatTheyAre(t *testing.T) {
	got := fmt.Sprint(recipeOf(t, cooked(), jobOf("measure")), " ", recipeOf(t, cooked(), jobOf("run")))
	if want := "f0ca6aa881b551b6acc2df12fded12b1336af0a36cd6fb7bf08454e32e95efa8 586aa076de9c75edd627d457c27d688150c3962dbfcd8c78b9eb599a39aaeb22"; got != want {
		t.Errorf("recipes are %s, and were %s: raise recipeVersion if that is meant", got, want)
	}
}

func TestARecipeOfForeignDefinitionsIsAnError(t *testing.T) {
	for _, change := range []func(*events.JobSpec){
		func(j *events.JobSpec) { j.Kind = "gone" }, func(j *events.JobSpec) { j.Target = "gone" },
		func(j *events.JobSpec) { j.Profile = "gone" }, func(j *events.JobSpec) { j.Backend = "gone" },
	} {
		j := jobOf("run")
		change(&j)
		_, err := cooked().Recipe(j)
		if err == nil || !strings.Contains(err.Error(), "other definitions") {
			t.Errorf("%+v: %v", j, err)
		}
	}
}
