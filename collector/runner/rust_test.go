package runner_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tachobench/tacho/collector/measure"
	"github.com/tachobench/tacho/collector/runner"
	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/rules/suite"
)

// rustToolchain returns the root of the Rust that is on PATH.
func rustToolchain(t *testing.T) runner.Toolchain {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "rustc", "--print=sysroot").Output()
	if err != nil {
		t.Fatalf("these tests compile Rust: install rustc and cargo, 1.63 or newer (apt install rustc cargo): %v", err)
	}
	return runner.Toolchain{Dir: strings.TrimSpace(string(out)), Tag: "here"}
}

const (
	manifest = "[package]\nname = \"demo\"\nversion = \"0.1.0\"\nedition = \"2021\"\n"
	plain    = "fn main() {\n    println!(\"{}\", text());\n}\n\nfn text() -> &'static str {\n    \"plain\"\n}\n"
)

// crate is a program with a patch in our form.
func crate() map[string]string {
	return map[string]string{
		"Cargo.toml": manifest, "src/main.rs": plain,
		"patches/0-text/src/main.rs": strings.Replace(plain, "plain", "patched", 1),
	}
}

// rustPlan returns the plan of a crate under a profile with these args.
func rustPlan(name string, iterations int, args ...string) suite.BenchmarkPlan {
	b := suite.BenchmarkDef{Name: events.Benchmark(name), Source: name, Patches: []string{"0-text"}}
	p := planOf(b, suite.DriverRust, iterations)
	p.Profile.Args = args
	return p
}

// fullOnly keeps only the first scenario.
func fullOnly(p suite.BenchmarkPlan) suite.BenchmarkPlan {
	p.Chain, p.Cases, p.Benchmark.Patches = p.Chain[:1], p.Cases[:1], nil
	return p
}

func rustJob(t *testing.T, files map[string]string, plans ...suite.BenchmarkPlan) runner.Job {
	t.Helper()
	job := jobOf(t, files, plans...)
	job.Toolchain = rustToolchain(t)
	return job
}

// runRust runs a job in which nothing may fail.
func runRust(t *testing.T, job runner.Job) *recorder {
	t.Helper()
	var sink recorder
	summary, err := newRunner().Run(t.Context(), job, &sink)
	if err != nil || summary.Failed > 0 || summary.Measured == 0 {
		t.Fatalf("Run = %+v, %v; failures %+v", summary, err, sink.failures)
	}
	return &sink
}

// size returns the artifact's size in an iteration of a scenario.
func size(t *testing.T, sink *recorder, scenario string, iteration int) float64 {
	t.Helper()
	for _, c := range sink.measured {
		if string(c.Scenario) == scenario {
			value, ok := c.Iterations[iteration].Metrics["size:artifact"]
			if !ok || value < 100 {
				t.Errorf("%s has the size %v: %v", scenario, value, c.Iterations[iteration].Metrics)
			}
			return value
		}
	}
	t.Fatalf("%s was not measured", scenario)
	return 0
}

// output runs what the last step compiled.
func output(t *testing.T, job runner.Job) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), filepath.Join(job.Slot, "out", "demo-leaf")).Output()
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(out))
}

func TestRustMeasuresAllScenarios(t *testing.T) {
	long := crate()
	long["patches/0-text/src/main.rs"] = strings.Replace(plain, "plain", strings.Repeat("patched ", 2000), 1)
	job := rustJob(t, long, rustPlan("demo", 2, "rustc", "--release"))
	sink := runRust(t, job)
	if diff := cmp.Diff([]string{"full", "incr-full", "incr-unchanged", "incr-patched"}, sink.scenarios()); diff != "" {
		t.Fatalf("measured (-want +got):\n%s", diff)
	}
	for _, c := range sink.measured {
		if !has(c, measure.WallTime) || !has(c, measure.MaxRSS) {
			t.Errorf("%s: %v", c.TestCase, c.Iterations)
		}
	}
	for i := range 2 {
		unchanged, patched := size(t, sink, "incr-unchanged", i), size(t, sink, "incr-patched", i)
		if full := size(t, sink, "incr-full", i); full != unchanged {
			t.Errorf("iteration %d: %v bytes, and %v when nothing has changed", i, full, unchanged)
		}
		if patched < unchanged+15_000 {
			t.Errorf("iteration %d: %v bytes, and %v with 16 kB more", i, unchanged, patched)
		}
	}
	if got := output(t, job); !strings.HasPrefix(got, "patched patched") {
		t.Errorf("the last program prints %q", got)
	}
	if cached, err := os.ReadDir(filepath.Join(job.Slot, "incremental")); err != nil || len(cached) == 0 {
		t.Errorf("nothing is in the incremental cache: %v", err)
	}
}

func TestRustCompilesDependenciesOnce(t *testing.T) {
	files := map[string]string{
		"Cargo.toml":       manifest + "build = \"build.rs\"\n[dependencies]\nshout = { path = \"shout\" }\nmaker = { path = \"maker\" }\n",
		"build.rs":         "fn main() {\n    let dir = std::env::var(\"OUT_DIR\").unwrap();\n    let rustc = std::env::var(\"RUSTC\").unwrap();\n    assert!(std::process::Command::new(rustc).arg(\"--version\").status().unwrap().success());\n    std::fs::write(dir + \"/made.rs\", \"pub const MADE: u32 = 40;\").unwrap();\n}\n",
		"src/main.rs":      "include!(concat!(env!(\"OUT_DIR\"), \"/made.rs\"));\nfn main() {\n    println!(\"{} {} {}\", shout::shout(env!(\"CARGO_PKG_VERSION\")), MADE, maker::two!());\n}\n",
		"shout/Cargo.toml": strings.Replace(manifest, "demo", "shout", 1),
		"shout/src/lib.rs": "pub fn shout(text: &str) -> String {\n    format!(\"{}!\", text)\n}\n",
		"maker/Cargo.toml": strings.Replace(manifest, "demo", "maker", 1) + "[lib]\nproc-macro = true\n",
		"maker/src/lib.rs": "#[proc_macro]\npub fn two(_: proc_macro::TokenStream) -> proc_macro::TokenStream {\n    \"2\".parse().unwrap()\n}\n",
	}
	job := rustJob(t, files, fullOnly(rustPlan("demo", 2, "rustc")))
	sink := runRust(t, job)
	if got := output(t, job); got != "0.1.0! 40 2" {
		t.Errorf("the program prints %q", got)
	}
	size(t, sink, "full", 1)
}

// The compiler's own hashes of types show what it hashes: nothing about the directory of the program.
func TestRustHashesDoNotDependOnTheSlot(t *testing.T) {
	files := map[string]string{
		"Cargo.toml":       manifest + "[dependencies]\nother = { path = \"other\" }\n",
		"src/main.rs":      "struct Own;\nfn main() {\n    println!(\"{:?} {:?}\", std::any::TypeId::of::<Own>(), std::any::TypeId::of::<other::Theirs>());\n}\n",
		"other/Cargo.toml": strings.Replace(manifest, "demo", "other", 1),
		"other/src/lib.rs": "pub struct Theirs;\n",
	}
	var seen []string
	for range 2 {
		job := rustJob(t, files, fullOnly(rustPlan("demo", 1, "rustc")))
		runRust(t, job)
		seen = append(seen, output(t, job))
	}
	if seen[0] != seen[1] || seen[0] == "" {
		t.Errorf("hashes of two compiles at different places: %q", seen)
	}
}

func TestRustFailures(t *testing.T) {
	broken := crate()
	broken["src/main.rs"] = "fn main() {\n    let x: u32 = \"text\";\n}\n"
	brokenByPatch := crate()
	brokenByPatch["patches/0-text/src/main.rs"] = broken["src/main.rs"]
	dependency := crate()
	dependency["Cargo.toml"] += "[dependencies]\nshout = { path = \"shout\" }\n"
	dependency["shout/Cargo.toml"] = strings.Replace(manifest, "demo", "shout", 1)
	dependency["shout/src/lib.rs"] = "pub fn f() -> u32 {\n    \"text\"\n}\n"
	registry := crate()
	registry["Cargo.lock"] = "version = 3\n\n[[package]]\nname = \"none\"\nversion = \"1.0.0\"\nsource = \"registry+https://github.com/rust-lang/crates.io-index\"\n"
	registry["Cargo.toml"] += "[dependencies]\nnone = \"1\"\n"
	two := crate()
	two["src/lib.rs"] = "pub fn f() {}\n"
	for _, test := range []struct {
		name     string
		files    map[string]string
		args     []string
		limit    time.Duration
		kind     events.ErrorKind
		measured int
		failed   int
		want     string
	}{
		{"type error", broken, []string{"rustc", "--profile", "check"}, time.Minute, events.ErrorBenchmark, 0, 4, "error[E0308]: mismatched types"},
		{"type error by the patch", brokenByPatch, []string{"rustc", "--profile", "check"}, time.Minute, events.ErrorBenchmark, 3, 1, "error[E0308]: mismatched types"},
		{"time limit", crate(), []string{"rustc"}, time.Millisecond, events.ErrorTimeout, 0, 4, "time limit of 1ms"},
		{"dependency", dependency, []string{"rustc"}, time.Minute, events.ErrorPrepare, 0, 4, "error[E0308]: mismatched types"},
		{"dependency that is not here", registry, []string{"rustc"}, time.Minute, events.ErrorPrepare, 0, 4, "cargo fetch"},
		{"two crates", two, []string{"rustc"}, time.Minute, events.ErrorPrepare, 0, 4, "can only be passed to one target"},
		{"no command", crate(), []string{"--release"}, time.Minute, events.ErrorPrepare, 0, 4, "must begin with a command of cargo"},
		{"incremental documentation", crate(), []string{"rustdoc"}, time.Minute, events.ErrorPrepare, 0, 4, "rustdoc is not"},
	} {
		t.Run(test.name, func(t *testing.T) {
			plan := rustPlan("demo", 1, test.args...)
			plan.Timeout = test.limit
			var sink recorder
			got, err := newRunner().Run(t.Context(), rustJob(t, test.files, plan), &sink)
			if err != nil || got != (runner.Summary{Measured: test.measured, Failed: test.failed}) {
				t.Fatalf("Run = %+v, %v; failures %+v", got, err, sink.failures)
			}
			if first := sink.failures[0]; first.Kind != test.kind || !strings.Contains(first.Message, test.want) {
				t.Errorf("failure %s: %s", first.Kind, first.Message)
			}
		})
	}
}

func TestRustWithoutAToolchain(t *testing.T) {
	job := rustJob(t, crate(), rustPlan("demo", 1, "rustc"))
	job.Toolchain.Dir = t.TempDir()
	var sink recorder
	if _, err := newRunner().Run(t.Context(), job, &sink); err != nil || len(sink.failures) != 4 {
		t.Fatalf("%v, failures %v", err, sink.failures)
	}
	if got := sink.failures[0].Message; !strings.Contains(got, "needs bin/cargo in the toolchain") {
		t.Error(got)
	}
}

func TestRustResumes(t *testing.T) {
	job := rustJob(t, crate(), rustPlan("demo", 1, "rustc", "--profile", "check"))
	job.Done = func(c events.TestCase) bool { return c.Scenario != "incr-unchanged" }
	sink := runRust(t, job)
	if diff := cmp.Diff([]string{"incr-unchanged"}, sink.scenarios()); diff != "" {
		t.Errorf("measured (-want +got):\n%s", diff)
	}
}

func TestRustDocumentation(t *testing.T) {
	files := map[string]string{"Cargo.toml": manifest, "src/lib.rs": "//! Documented.\n\n/// Does nothing.\npub fn f() {}\n"}
	html := fullOnly(rustPlan("html", 1, "rustdoc"))
	job := rustJob(t, files, html)
	runRust(t, job)
	if _, err := os.Stat(filepath.Join(job.Slot, "out", "demo", "fn.f.html")); err != nil {
		t.Error(err)
	}
}

func TestRustClippy(t *testing.T) {
	job := rustJob(t, crate(), fullOnly(rustPlan("demo", 1, "clippy")))
	// Not every toolchain has clippy. Its driver is a compiler that takes its role from its name.
	real, said := job.Toolchain.Dir, filepath.Join(t.TempDir(), "said")
	job.Toolchain.Dir = t.TempDir()
	bin := filepath.Join(job.Toolchain.Dir, "bin")
	driver := "#!/bin/sh\necho \"$@\" > " + said + "\nexec " + real + "/bin/rustc \"$@\"\n"
	if err := writeFiles(bin, map[string]string{"clippy-driver": driver}); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(filepath.Join(bin, "clippy-driver"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, tool := range []string{"cargo", "rustc"} {
		if err := os.Symlink(filepath.Join(real, "bin", tool), filepath.Join(bin, tool)); err != nil {
			t.Fatal(err)
		}
	}
	runRust(t, job)
	args, err := os.ReadFile(said)
	if err != nil || !strings.Contains(string(args), "--crate-name demo") || !strings.Contains(string(args), "-Wclippy::all") {
		t.Errorf("clippy-driver was called with %s: %v", args, err)
	}
}

func TestRustArguments(t *testing.T) {
	files := crate()
	files["src/main.rs"] = "#[cfg(not(all(one, two, feature = \"three\")))]\ncompile_error!(\"an argument is missing\");\n" + plain
	files["Cargo.toml"] += "[features]\nthree = []\n"
	plan := fullOnly(rustPlan("demo", 1, "rustc", "--profile", "check", "--", "--cfg", "one"))
	plan.Benchmark.Args, plan.Benchmark.CompilerArgs = []string{"--features=three"}, []string{"--cfg", "two"}
	plan.Backend.Args = []string{"-Ccodegen-units=1"}
	runRust(t, rustJob(t, files, plan))
}
