package runner

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func FuzzDiffNames(f *testing.F) {
	f.Add([]byte("--- a/src/main.rs\n+++ b/src/main.rs\t2026-01-01\n@@ -1 +1 @@\n-a\n+b\n"))
	f.Add([]byte("--- a/x\n+++ /dev/null\n"))
	f.Add([]byte("--- a/x\n+++ b/../../y\n"))
	f.Fuzz(func(t *testing.T, diff []byte) {
		names, err := diffNames(diff)
		if err == nil && len(names) == 0 {
			t.Error("neither names nor an error")
		}
		for _, name := range names {
			if !filepath.IsLocal(name) || strings.Contains(name, "\t") {
				t.Errorf("file %q", name)
			}
		}
	})
}

func TestRecordingBecomesTheMeasuredCommand(t *testing.T) {
	r := recording{
		Args: strings.Fields("--crate-name demo src/lib.rs --error-format=json --json=artifacts --crate-type lib --emit=dep-info,metadata,link " +
			"-C metadata=12 -C extra-filename=-12 --out-dir /slot/target/debug/deps -o /slot/doc -L dependency=/slot/target/debug/deps"),
		Env: []string{"PATH=/bin", "RUSTC=/slot/wrap/rustc", "CARGO_MAKEFLAGS=--jobserver-fds=3,4", variableRecord + "=/slot/leaf", "OUT_DIR=/slot/made"},
	}
	want := strings.Fields("--crate-name demo src/lib.rs --crate-type lib --emit=dep-info=/slot/d,metadata,link " +
		"-C metadata=12 -C extra-filename=-leaf --out-dir /slot/out -o /slot/out -L dependency=/slot/target/debug/deps")
	if diff := cmp.Diff(want, r.arguments("/slot/out", "/slot/d")); diff != "" {
		t.Errorf("arguments (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"PATH=/bin", "OUT_DIR=/slot/made"}, r.environment()); diff != "" {
		t.Errorf("environment (-want +got):\n%s", diff)
	}
}

func TestMetadataTellsCratesApartButNotToolchains(t *testing.T) {
	settled := func(identity, args string) string {
		got := replaceMetadata(strings.Fields(args), strings.Fields(identity))
		_, hash, ok := strings.Cut(strings.Join(got, " "), "-C metadata=")
		hash, _, _ = strings.Cut(hash, " ")
		if !ok || len(hash) != 16 {
			t.Fatalf("%q became %q", args, got)
		}
		return hash
	}
	const args = "--crate-name demo --crate-type lib --cfg one -C metadata=aa -C extra-filename=-aa"
	base := settled("demo 1.0.0 /src", args)
	same := []string{
		settled("demo 1.0.0 /src", strings.ReplaceAll(args, "aa", "bb")),
		settled("demo 1.0.0 /src", args+" --check-cfg cfg(x) --json=new"),
	}
	other := []string{
		settled("demo 1.0.1 /src", args),
		settled("demo 1.0.0 /dep", args),
		settled("demo 1.0.0 /src", strings.Replace(args, "one", "two", 1)),
		settled("demo 1.0.0 /src", strings.Replace(args, "lib", "bin", 1)),
		settled("demo 1.0.0 /src", args+" --target=wasm32"),
		settled("demo 1.0.0 /src", args+" --test"),
	}
	for i, got := range same {
		if got != base {
			t.Errorf("case %d of the same crate has another hash", i)
		}
	}
	for i, got := range other {
		if got == base {
			t.Errorf("case %d of another crate has the same hash", i)
		}
	}
}
