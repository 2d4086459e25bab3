package runner_test

import (
	"maps"
	"strings"
	"testing"
)

func TestRustDiffs(t *testing.T) {
	const first = "--- a/src/main.rs\n+++ b/src/main.rs\n@@ -4,4 +4,4 @@\n \n fn text() -> &'static str {\n-    \"plain\"\n+    \"first\"\n }\n"
	const second = "--- a/src/main.rs\n+++ b/src/main.rs\n@@ -4,4 +4,5 @@\n \n fn text() -> &'static str {\n-    \"first\"\n+    more::TEXT\n }\n+mod more;\n" +
		"--- /dev/null\n+++ b/src/more.rs\n@@ -0,0 +1 @@\n+pub const TEXT: &str = \"second\";\n"
	diffs := map[string]string{"Cargo.toml": manifest, "src/main.rs": plain, "0-first.patch": first, "1-second.patch": second}
	plan := rustPlan("demo", 2, "rustc")
	plan.Benchmark.Patches = []string{"0-first.patch", "1-second.patch"}
	job := rustJob(t, diffs, plan)
	runRust(t, job)
	if got := output(t, job); got != "second" {
		t.Errorf("after all diffs the program prints %q", got)
	}
	for name, test := range map[string]struct{ diff, want string }{
		"that does not fit": {strings.Replace(first, "-    \"plain\"", "-    \"other\"", 1), "patch 0-first.patch"},
		"that deletes":      {"--- a/src/main.rs\n+++ /dev/null\n@@ -1,1 +0,0 @@\n-x\n", "only changed and new files"},
		"that leaves":       {strings.ReplaceAll(first, "src/main.rs", "../../x"), "which is not in the program"},
		"that is none":      {"hello\n", "it changes nothing"},
		"that is absent":    {"", "no such file"},
	} {
		files := maps.Clone(diffs)
		files["0-first.patch"] = test.diff
		if test.diff == "" {
			delete(files, "0-first.patch")
		}
		var sink recorder
		got, err := newRunner().Run(t.Context(), rustJob(t, files, plan), &sink)
		if err != nil || got.Measured != 0 || len(sink.failures) != len(plan.Cases) || !strings.Contains(sink.failures[0].Message, test.want) {
			t.Errorf("a diff %s: %+v, %v, %v", name, got, err, sink.failures)
		}
	}
}
