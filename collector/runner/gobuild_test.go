package runner_test

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/tachobench/tacho/collector/definitions"
	"github.com/tachobench/tacho/collector/measure"
	"github.com/tachobench/tacho/collector/runner"
	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/rules/suite"
)

// goProgram needs almost nothing of the standard library, so that tests are quick.
func goProgram() map[string]string {
	return map[string]string{
		"go.mod":                      "module small\n\ngo 1.21\n",
		"main.go":                     "package main\n\nimport \"small/part\"\n\nfunc main() { println(part.Text, generated) }\n",
		"part/part.go":                "package part\n\nconst Text = \"plain\"\n",
		"patches/0-text/part/part.go": "package part\n\nconst Text = \"patched, and longer than before\"\n",
	}
}

func goPlan(profile ...string) suite.BenchmarkPlan {
	b := suite.BenchmarkDef{
		Name: "small", Patches: []string{"0-text"},
		Prepare: []string{"sh", "-c", "go version | cut -d' ' -f3 > ../version; echo 'package main; const generated = 7' > generated.go"},
	}
	plan := planOf(b, suite.DriverGoBuild, 2)
	plan.Profile.Args = profile
	return plan
}

func localToolchain(t *testing.T) runner.Toolchain {
	t.Helper()
	out, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		t.Fatal(err)
	}
	return runner.Toolchain{Dir: strings.TrimSpace(string(out)), Tag: "local"}
}

func sizes(c events.MeasuredCase) []float64 {
	var all []float64
	for _, i := range c.Iterations {
		all = append(all, i.Metrics["size:binary"])
	}
	return all
}

func TestGoBuild(t *testing.T) {
	job := jobOf(t, goProgram())
	job.Toolchain = localToolchain(t)
	for _, profile := range [][]string{nil, {"-gcflags=-N -l"}, {"vet"}} {
		t.Run(fmt.Sprint(profile), func(t *testing.T) {
			job.Plans = []suite.BenchmarkPlan{goPlan(profile...)}
			var sink recorder
			got, err := newRunner().Run(t.Context(), job, &sink)
			if err != nil || got != (runner.Summary{Measured: 4}) {
				t.Fatalf("Run = %+v, %v; %+v", got, err, sink.failures)
			}
			full, unchanged, patched := sink.measured[1], sink.measured[2], sink.measured[3]
			if has(full, "size:binary") == slices.Contains(profile, "vet") {
				t.Errorf("size of the binary: %v", full.Iterations)
			}
			if s := sizes(full); s[0] != s[1] || s[0] != sizes(unchanged)[0] {
				t.Errorf("the binary has different sizes: %v, unchanged %v", s, sizes(unchanged))
			}
			// A full build compiles and links. So it takes many more page faults than a build that finds nothing to
			// do. A patched build is in between.
			if faults := measure.PageFaults; has(full, faults) {
				a, b, c := full.Iterations[1].Metrics[faults], unchanged.Iterations[1].Metrics[faults], patched.Iterations[1].Metrics[faults]
				if b >= c || c >= a*1.1 {
					t.Errorf("page faults: full %v, unchanged %v, patched %v", a, b, c)
				}
			}
		})
	}
	version, err := os.ReadFile(filepath.Join(job.Slot, "version"))
	if err != nil || strings.TrimSpace(string(version)) != runtime.Version() {
		t.Errorf("prepared with %q, %v; want the toolchain's %s", version, err, runtime.Version())
	}
	t.Run("broken", func(t *testing.T) { goBroken(t, job) })
	checkNoPrograms(t, job)
}

// goBroken measures a program whose patch does not compile, and one that lacks the patch it names.
func goBroken(t *testing.T, job runner.Job) {
	broken := goProgram()
	broken["patches/0-text/part/part.go"] = "package part\n\nconst Text = nonsense\n"
	job.Plans = []suite.BenchmarkPlan{goPlan()}
	job.Source = func(_ context.Context, _ suite.BenchmarkDef, dir string) error { return writeFiles(dir, broken) }
	var sink recorder
	got, err := newRunner().Run(t.Context(), job, &sink)
	if err != nil || got != (runner.Summary{Measured: 3, Failed: 1}) {
		t.Fatalf("Run = %+v, %v; %+v", got, err, sink.failures)
	}
	if f := sink.failures[0]; f.Kind != events.ErrorBenchmark || !strings.Contains(f.Message, "undefined: nonsense") {
		t.Errorf("failure %+v", f)
	}

	missing := goPlan()
	missing.Benchmark.Patches = []string{"1-none"}
	job.Plans = []suite.BenchmarkPlan{missing}
	sink = recorder{}
	if _, err = newRunner().Run(t.Context(), job, &sink); err != nil || len(sink.failures) != 4 ||
		!strings.Contains(sink.failures[0].Message, "patches/1-none") {
		t.Errorf("error %v, failures %+v", err, sink.failures)
	}
}

// checkNoPrograms checks that the cache that all programs share holds no package of the program.
func checkNoPrograms(t *testing.T, job runner.Job) {
	t.Helper()
	err := filepath.WalkDir(job.Cache, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		if err == nil && strings.Contains(string(data), "small/part") {
			t.Errorf("%s in the shared cache holds the program", path)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

func TestGoBuildNoToolchain(t *testing.T) {
	job := jobOf(t, goProgram(), goPlan())
	var sink recorder
	if _, err := newRunner().Run(t.Context(), job, &sink); err != nil || len(sink.failures) != 4 ||
		!strings.Contains(sink.failures[0].Message, "is no Go toolchain") {
		t.Errorf("error %v, failures %+v", err, sink.failures)
	}
}

// TestShippedGoPrograms builds every shipped program plain and patched, with the build cache of the user who runs the
// test.
func TestShippedGoPrograms(t *testing.T) {
	d, err := definitions.Shipped("go")
	if err != nil {
		t.Fatal(err)
	}
	for _, b := range d.Benchmarks {
		t.Run(string(b.Name), func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "program")
			if err := definitions.ShippedPrograms(d.Name).Materialise(b.Source, dir); err != nil {
				t.Fatal(err)
			}
			changes := filepath.Join(filepath.Dir(dir), "patches")
			if err := os.Rename(filepath.Join(dir, "patches"), changes); err != nil {
				t.Fatal(err)
			}
			if len(b.Prepare) > 0 {
				execute(t, dir, b.Prepare...)
			}
			build := []string{"go", "build", "-trimpath", "-buildvcs=false", "-o=" + dir + "/out/", "./..."}
			execute(t, dir, build...)
			for _, p := range b.Patches {
				if err := os.CopyFS(filepath.Join(dir, "patched"), os.DirFS(filepath.Join(changes, p))); err != nil {
					t.Fatal(err)
				}
				execute(t, dir, "sh", "-c", "cp -r patched/. . && rm -r patched")
			}
			if out := execute(t, dir, append([]string{"go", "list", "-f={{if .Stale}}{{.ImportPath}} {{.StaleReason}}{{end}}"}, "./...")...); out == "" {
				t.Error("the patches change nothing")
			}
			execute(t, dir, build...)
		})
	}
}

func execute(t *testing.T, dir string, argv ...string) string {
	t.Helper()
	c := exec.CommandContext(context.WithoutCancel(t.Context()), argv[0], argv[1:]...)
	c.Dir = dir
	c.Env = append(os.Environ(), "CGO_ENABLED=0", "GOWORK=off", "GOPROXY=off", "GOFLAGS=-trimpath -buildvcs=false")
	out, err := c.CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v\n%s", strings.Join(argv, " "), err, out)
	}
	return strings.TrimSpace(string(out))
}
