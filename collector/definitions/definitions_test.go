package definitions

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/rules/suite"
)

func TestEverySuiteThatShipsIsGood(t *testing.T) {
	if !slices.Contains(Names(), "rustc") {
		t.Fatalf("suites %v", Names())
	}
	for _, name := range Names() {
		t.Run(name, func(t *testing.T) {
			d, err := Shipped(name)
			if err != nil {
				t.Fatal(err)
			}
			if string(d.Name) != name {
				t.Errorf("%s.toml is named %q: programs are found by the name of the file", name, d.Name)
			}
			if d.Sources.Root == suite.SourcesFile {
				t.Errorf("sources.root is %q, and there is no file: use %q", suite.SourcesFile, suite.SourcesShipped)
			}
			again, err := suite.Parse(d.Canonical())
			if err != nil || again.Digest() != d.Digest() {
				t.Errorf("digest %s became %s: %v", d.Digest(), again.Digest(), err)
			}
			if d.Sources.Root != suite.SourcesShipped {
				return
			}
			for _, b := range d.Benchmarks {
				dir := filepath.Join(t.TempDir(), "program")
				if err := ShippedPrograms(d.Name).Materialise(b.Source, dir); err != nil {
					t.Error(err)
					continue
				}
				// The written directory is the same program as the archive.
				digest, err := ProgramsBeside(dir).Digest("program")
				if err != nil || digest != b.SourceDigest {
					t.Errorf("%s: digest %s, in the definitions %s: %v", b.Name, digest, b.SourceDigest, err)
				}
				for _, p := range b.Patches {
					if _, err := os.Stat(filepath.Join(dir, "patches", p)); err != nil {
						t.Errorf("%s: %v", b.Name, err)
					}
				}
			}
		})
	}
}

func TestAnUnknownSuiteIsAnsweredWithTheKnownOnes(t *testing.T) {
	for _, name := range []string{"", "rust", "../suite", "."} {
		_, err := Load(name)
		if err == nil || !strings.Contains(err.Error(), "rustc") {
			t.Errorf("%q: %v", name, err)
		}
	}
	if _, err := Load("absent.toml"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("absent file: %v", err)
	}
	for _, name := range []events.SuiteName{"", "none", "../x"} {
		if _, err := ShippedPrograms(name).Digest("x"); err == nil {
			t.Errorf("suite %q has a program", name)
		}
	}
}

const minimal = `version = 1
name = "mine"
primary_target = "here"
sources = { root = "file" }
defaults = { iterations = 1, timeout = "1m" }
categories = { master = ["primary"], try = ["primary"], release = ["primary"] }
artifact = { kind = "path", path = ["/opt/{tag}"], driver = "command" }
target = [{ name = "here", sets = 1, os = "linux", arch = "amd64" }]
kind = [{ name = "compile", per_set = true, profile = "opt" }]
profile = [{ name = "opt" }]
backend = [{ name = "only" }]
scenario = [{ name = "full", cache = "none" }]
metric = [{ name = "wall-time", unit = "s", class = "time", better = "lower" }]
benchmark = [{ name = "one", category = "primary", sets = { here = 0 }, command = ["{artifact}/cc", "one.c"] }]
`

func writeFile(t *testing.T, name, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func TestASuiteThatIsAFileHasItsProgramsBesideIt(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "mine.toml")
	writeFile(t, file, minimal)
	var problems suite.Problems
	if _, err := Load(file); !errors.As(err, &problems) || problems[0].Line != 14 {
		t.Fatalf("without its program: %v", err)
	}

	writeFile(t, filepath.Join(dir, "one", "one.c"), "int main;\n")
	writeFile(t, filepath.Join(dir, "one", "lib", "two.h"), "#pragma once\n")
	asDirectory, err := Load(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(filepath.Join(dir, "one")); err != nil {
		t.Fatal(err)
	}
	writeFile(t, filepath.Join(dir, "one.txtar"), "a comment\n-- one.c --\nint main;\n-- lib/two.h --\n#pragma once\n")
	asArchive, err := Load(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := suite.Diff(asDirectory, asArchive); len(diff) != 0 {
		t.Errorf("the form of the program matters: %v", diff)
	}

	writeFile(t, filepath.Join(dir, "one.txtar"), "-- one.c --\nint main = 1;\n-- lib/two.h --\n#pragma once\n")
	changed, err := Load(file)
	if err != nil {
		t.Fatal(err)
	}
	if changed.Digest() == asArchive.Digest() {
		t.Error("another program has the same digest")
	}
	writeFile(t, file, strings.Replace(minimal, `"file"`, `"shipped"`, 1))
	if _, err := Load(file); err == nil || !strings.Contains(err.Error(), `use "file"`) {
		t.Errorf("a file that claims to be shipped: %v", err)
	}
}

func TestMaterialiseWritesAWholeProgramOrNothing(t *testing.T) {
	dir := t.TempDir()
	programs := ProgramsBeside(filepath.Join(dir, "x.toml"))
	writeFile(t, filepath.Join(dir, "good.txtar"), "-- a/b.txt --\nhello\n-- c --\n")
	out := filepath.Join(dir, "out", "slot")
	if err := programs.Materialise("good", out); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(filepath.Join(out, "a", "b.txt"))
	if diff := cmp.Diff("hello\n", string(got)); err != nil || diff != "" {
		t.Error(err, diff)
	}
	if err := programs.Materialise("good", out); err == nil {
		t.Error("a directory with files in it was written over")
	}
	for name, archive := range map[string]string{
		"escape":   "-- ../evil --\nx\n",
		"absolute": "-- /etc/evil --\nx\n",
		"twice":    "-- a --\nx\n-- a --\ny\n",
		"clash":    "-- a --\nx\n-- a/b --\ny\n",
		"empty":    "nothing\n",
	} {
		writeFile(t, filepath.Join(dir, "bad.txtar"), archive)
		bad := filepath.Join(dir, "out", "bad")
		if err := programs.Materialise("bad", bad); err == nil {
			t.Errorf("%s: written", name)
		}
		if entries, err := os.ReadDir(filepath.Dir(bad)); err != nil || len(entries) != 1 {
			t.Errorf("%s: something is left: %v %v", name, entries, err)
		}
	}
	for _, source := range []string{"../good", "/good", "", "absent"} {
		if _, err := programs.Digest(source); err == nil {
			t.Errorf("source %q was found", source)
		}
	}
}

func TestALinkIsTheFileThatItLeadsToButNeverOneOutside(t *testing.T) {
	dir := t.TempDir()
	programs := func() Programs { return ProgramsBeside(filepath.Join(dir, "x.toml")) }
	writeFile(t, filepath.Join(dir, "p", "a"), "x\n")
	writeFile(t, filepath.Join(dir, "copied", "a"), "x\n")
	writeFile(t, filepath.Join(dir, "copied", "sub", "b"), "x\n")
	link := func(to, at string) {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, at)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(to, filepath.Join(dir, at)); err != nil {
			t.Fatal(err)
		}
	}
	link("../a", "p/sub/b")
	linked, err := programs().Digest("p")
	if err != nil {
		t.Fatal(err)
	}
	if copied, err := programs().Digest("copied"); err != nil || copied != linked {
		t.Errorf("digest %s, with copies %s, %v", linked, copied, err)
	}
	link("/etc/hostname", "out/a")
	link("../p", "dir/a")
	for _, p := range []string{"out", "dir"} {
		if _, err := programs().Digest(p); err == nil {
			t.Errorf("the link in %s was followed", p)
		}
	}
}
