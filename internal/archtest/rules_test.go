package archtest

import (
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"
)

// source makes a package of files, each given as "name.go" and its text.
func source(t *testing.T, packagePath string, files ...string) *Package {
	t.Helper()
	p := &Package{Path: packagePath, Fset: token.NewFileSet()}
	for i := 0; i < len(files); i += 2 {
		syntax, err := parser.ParseFile(p.Fset, files[i], files[i+1], parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		f := &File{Name: files[i], Syntax: syntax, Test: strings.HasSuffix(files[i], "_test.go"), Built: true}
		if !f.Test {
			p.Name = syntax.Name.Name
		}
		p.Files = append(p.Files, f)
	}
	return p
}

// expect fails unless the problems are exactly those that contain these texts, in this order.
func expect(t *testing.T, got []Problem, want ...string) {
	t.Helper()
	for i, problem := range got {
		if i >= len(want) {
			t.Errorf("unexpected: %s", problem)
		} else if !strings.Contains(problem.String(), want[i]) {
			t.Errorf("problem %d is %q, want one with %q", i, problem, want[i])
		}
	}
	if len(got) < len(want) {
		t.Errorf("not found: %q", want[len(got):])
	}
}

func ours(paths ...string) (imports []Import) {
	for _, p := range paths {
		imports = append(imports, Import{Path: p, Ours: true})
	}
	return imports
}

func TestFloors(t *testing.T) {
	for _, tc := range []struct {
		from    string
		imports []string
		tests   bool
		want    []string
	}{
		{from: "events", imports: []string{"rules/suite"}, want: []string{"may not import rules/suite"}},
		{from: "events", imports: []string{"internal/git"}, want: []string{"may not import internal/git"}},
		{from: "rules/queue", imports: []string{"events"}},
		{from: "rules/queue", imports: []string{"rules/job"}, want: []string{"may not import rules/job"}},
		{from: "rules/queue", imports: []string{"eventlog"}, want: []string{"may not import eventlog"}},
		{from: "readmodel", imports: []string{"events", "rules/queue", "internal/pgserver"}},
		{from: "readmodel", imports: []string{"eventlog"}, want: []string{"may not import eventlog"}},
		{from: "readmodel", imports: []string{"eventlog"}, tests: true},
		{from: "readmodel", imports: []string{"projector"}, tests: true, want: []string{"may not import projector"}},
		{from: "eventlog/jetstream", imports: []string{"eventlog", "events"}},
		{from: "eventlog/jetstream", imports: []string{"eventlog/memory"}, want: []string{"may not import eventlog/memory"}},
		{from: "eventlog", imports: []string{"eventlog/memory"}, want: []string{"may not import eventlog/memory"}},
		{from: "scheduler", imports: []string{"rules/queue", "eventlog", "internal/git"}},
		{from: "scheduler", imports: []string{"projector"}, want: []string{"may not import projector"}},
		{from: "scheduler", imports: []string{"projector"}, tests: true, want: []string{"may not import projector"}},
		{from: "website/pages", imports: []string{"website"}},
		{from: "website/pages", imports: []string{"webhook"}, want: []string{"may not import webhook"}},
		{from: "cmd/tacho", imports: []string{"scheduler", "events"}},
		{from: "scheduler", imports: []string{"cmd/tacho"}, want: []string{"may not import cmd/tacho"}},
		{from: "internal/git", imports: []string{"events", "rules/suite", "eventlog"}},
		{from: "internal/git", imports: []string{"readmodel"}, want: []string{"may not import readmodel"}},
		{from: "internal/git", imports: []string{"collector"}, tests: true, want: []string{"may not import collector"}},
		{from: "internal/pgtest", imports: []string{"internal/pgserver"}},
		{from: "internal/farm", imports: []string{"scheduler", "collector"}},
		{from: "scheduler", imports: []string{"internal/farm"}, want: []string{"is for tests"}},
		{from: "scheduler", imports: []string{"internal/farm"}, tests: true},
		{from: "misfit", want: []string{"has no floor"}},
	} {
		p := &Package{Path: tc.from, Name: "x", Imports: ours(tc.imports...)}
		if tc.tests {
			p.Imports, p.TestImports = nil, p.Imports
		}
		t.Run(tc.from+" "+strings.Join(tc.imports, " "), func(t *testing.T) {
			expect(t, CheckFloors([]*Package{p}), tc.want...)
		})
	}
}

func TestPurity(t *testing.T) {
	bad := `package queue
import (
	"context"
	"math/rand/v2"
	"net/url"
	when "time"

	"github.com/google/uuid"
	"golang.org/x/perf/benchmath"
	"github.com/tachobench/tacho/events"
)
var now = when.Now
func f(t when.Time) { go g(t) }
func g(t when.Time) { when.Sleep(when.Since(t)) }
`
	expect(t, CheckPurity([]*Package{source(t, "rules/queue", "a.go", bad, "a_test.go", bad)}),
		"import context", "import math/rand/v2", "import github.com/google/uuid", "time.Now", "goroutine", "time.Sleep", "time.Since",
		"a_test.go:13: a test of a pure package may not start a goroutine")
	expect(t, CheckPurity([]*Package{source(t, "scheduler", "a.go", bad)}))
	beside := "package queue\nfunc f(t *testing.T) { t.Parallel() }\n"
	expect(t, CheckPurity([]*Package{source(t, "rules/queue", "a_test.go", beside), source(t, "scheduler", "a_test.go", beside)}), "parallel")
}

func TestNames(t *testing.T) {
	expect(t, CheckNames([]*Package{
		source(t, "internal/util", "a.go", "package util"), source(t, "internal/fine", "a.go", "package types"),
		source(t, "events", "a.go", "package events"),
	}), "internal/util: the name util", "internal/fine: the name types")
}

func TestComments(t *testing.T) {
	expect(t, CheckComments([]*Package{
		source(t, "a/mute", "a.go", "package mute"),
		source(t, "a/other", "a.go", "// Holds the other.\npackage other"),
		source(t, "a/hidden", "a.go", "package hidden", "a_test.go", "// Package hidden is described in its test.\npackage hidden"),
		source(t, "cmd/run", "a.go", "// Package main runs.\npackage main"),
		source(t, "a/good", "a.go", "package good", "b.go", "// Package good is good.\npackage good"),
		source(t, "a/tests", "a_test.go", "// Package tests is only tests.\npackage tests"),
		source(t, "cmd/tacho", "a.go", "// Command tacho runs.\npackage main"),
	}), "a/mute", "a/other", "a/hidden", "Command run")
}

func TestInit(t *testing.T) {
	expect(t, CheckInit([]*Package{source(t, "rules/suite", "a.go", `package suite
type t struct{}
func (t) init() {}
func init() {}
`)}), "rules/suite/a.go:4")
}

func TestMains(t *testing.T) {
	long := "package main\n" + strings.Repeat("// more\n", maxMain-1) + "func main() {}\n"
	short := strings.Replace(long, "// more\n", "", 1)
	expect(t, CheckMains([]*Package{
		source(t, "cmd/long", "a.go", long), source(t, "cmd/two", "a.go", short, "b.go", "package main\n"),
		source(t, "cmd/short", "a.go", short, "a_test.go", long), source(t, "cmd/room", "a.go", "package room\n"+long[len("package main\n"):]),
	}), "cmd/long: has 61 lines", "cmd/two: has 61 lines")
}

func TestExits(t *testing.T) {
	bad := `package suite
import ("log"; "os")
func f(log2 struct{ Fatal func() }) { log2.Fatal(); os.Exit(1); log.Fatalf("") }
`
	expect(t, CheckExits([]*Package{source(t, "rules/suite", "a.go", bad, "a_test.go", bad), source(t, "cmd/tacho", "a.go", bad)}),
		"os.Exit", "log.Fatalf")
}

func TestHeaders(t *testing.T) {
	expect(t, CheckHeaders([]*Package{source(t, "rules/suite", "a.go", `package suite
func f(x map[string]int, g func() bool) string {
	if g(); len(x) > 0 {
		return map[bool]string{true: "a"}[g()]
	}
	if n := len(x); n > 0 && map[string]bool{"a": true}["b"] {
		return ""
	}
	switch g(); len(x) {
	}
	return ""
}
`)}), ":3: an effect", ":4: a map is not a condition", ":9: an effect")
}

func TestTests(t *testing.T) {
	expect(t, CheckTests([]*Package{source(t, "rules/suite", "a_test.go", `package suite
import (
	"testing"
	"testing/synctest"
	"time"
	"pgregory.net/rapid"
)
func TestA(t *testing.T) {
	t.Skip("no server")
	t.Run("x", func(u *testing.T) { t.SkipNow(); u.Skipf("") })
	rapid.Check(t, func(t *rapid.T) { t.Skip("discarded") })
	time.Sleep(1)
	synctest.Test(t, func(t *testing.T) { time.Sleep(1); t.Skip() })
}
func help(tb testing.TB) { tb.Skip() }
func TestWhatSomebodyWroteDownInAllItsLengthIsTooLongForUs() {}
`)}), ":9:", ":10:", ":10:", ":12: a test waits", ":13: a test does not skip", ":15:", ":16: TestWhatSomebodyWroteDownInAllItsLengthIsTooLongForUs is too long")
	expect(t, CheckTests([]*Package{source(t, "internal/pgtest", "a.go", `package pgtest
import ("testing"; "time")
func Start(tb testing.TB) { time.Sleep(1); tb.Skip() }
`)}), ":3: a test does not skip")
}

func TestGlobals(t *testing.T) {
	expect(t, CheckGlobals([]*Package{source(t, "rules/suite", "a.go", `package suite
import (
	"flag"
	"sync"
	"sync/atomic"
)
var (
	count  int
	table  = map[string]int{}
	state  struct{ n int }
	ready  ring
	lazy   = sync.OnceValue(func() int { var mu sync.Mutex; mu.Lock(); return 1 })
)
type ring struct{ n int }
func (r *ring) turn()    { r.n++ }
func (r ring) look() int { return r.n }
func f() {
	count++
	table["a"] = 1
	delete(table, "a")
	state.n = 2
	g(&count)
	ready.turn()
	flag.Usage = nil
	for count = range 3 {}
	count := ready.look() + lazy()
	count++
	r := ring{}
	r.turn()
	r.n = count + table["b"]
	_ = &ring{}
}
func g(*int) {}
var guard sync.Mutex
var live atomic.Bool
`, "a_test.go", "package suite\nfunc h() { count = 1 }")}),
		":18: changes count", ":19: changes table", ":20: changes table", ":21: changes state", ":22: changes count",
		":23: changes ready", ":24: changes flag.Usage", ":25: changes count", "sync.Mutex", "sync/atomic.Bool")
}

func TestSums(t *testing.T) {
	words := source(t, "events", "a.go", `package events
// Fact is closed.
//
//sumtype:decl
type Fact interface { Subject() string; fact() }
//sumtype:decl
type Empty interface { nothing() }
type A struct{}
type B struct{}
type C struct{}
func (A) fact() {}
func (B) fact() {}
func (*C) fact() {}
// Pair is a family.
//
//sumtype:decl
type Pair interface { Fact; pair() }
func (A) pair() {}
func (B) pair() {}
`)
	folds := source(t, "rules/queue", "a.go", `package queue
import "github.com/tachobench/tacho/events"
func f(x events.Fact) {
	switch x.(type) {
	case events.A, *events.C:
	default:
	}
	switch x := x.(type) {
	case events.A:
	case events.B, *events.C: _ = x
	}
	// Only B matters.
	//exhaustive:ignore
	switch x.(type) { case events.B: }
	//exhaustive:ignore // B alone matters
	switch x.(type) { case events.B: }
	switch any(x).(type) { case string: }
	switch x.(type) { case events.Pair, *events.C: }
	switch x.(type) { case events.A, events.B: }
	switch x.(type) {
	case events.A: }
}
`)
	expect(t, CheckSums([]*Package{words, folds}), "Empty is declared", "rules/queue/a.go:15: nothing may follow", "rules/queue/a.go:4: the switch over events.Fact forgets B",
		"rules/queue/a.go:20: the switch over events.Pair forgets B")
}

func TestTexts(t *testing.T) {
	texts, err := ReadTexts(fstest.MapFS{
		"a/long.sql":        {Data: []byte(strings.Repeat("--\n", maxLines+1))},
		"a/testdata/in.md":  {Data: []byte(strings.Repeat("\n", maxLines+1))},
		"a/marks.go":        {Data: []byte("// TO" + "DO: later\n// in \"/home/" + "linuxbrew/x\" or ~/work/" + "x, not /root/" + "x\n")},
		"Makefile":          {Data: []byte("x:\n\tcd /work/" + "x\n")},
		"a/picture.png":     {Data: []byte("FIX" + "ME")},
		".git/config.md":    {Data: []byte("FIX" + "ME")},
		".ci/run":           {Data: []byte("# FIX" + "ME\n")},
		"docs/fine.md":      {Data: []byte("https://example.org/root/x, $(pwd)/work/x\n")},
		"deploy/fine.yml":   {Data: []byte("x: 1\n")},
		"bin/generated.css": {Data: []byte("FIX" + "ME")},
	})
	if err != nil {
		t.Fatal(err)
	}
	expect(t, CheckLengths(texts), "a/long.sql: has 601 lines")
	expect(t, CheckMarks(texts), ".ci/run:1", "Makefile:2: /work/"+"x", "a/marks.go:1", "a/marks.go:2: /root/"+"x")
}

func TestSizes(t *testing.T) {
	expect(t, CheckSizes([]Tracked{{"bin/tacho", maxBytes + 1}, {"fine", maxBytes}}), "bin/tacho: has 1048577 bytes")
}

// A file counts as soon as it is added, and no longer when it is deleted.
func TestTrackedFiles(t *testing.T) {
	dir := t.TempDir()
	for _, args := range [][]string{{"init", "--quiet"}, {"add", "a b", "gone"}} {
		for _, name := range []string{"a b", "gone", "untracked"} {
			if err := os.WriteFile(filepath.Join(dir, name), []byte("12345"), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if out, err := exec.Command("git", append([]string{"-C", dir}, args...)...).CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
	if err := os.Remove(filepath.Join(dir, "gone")); err != nil {
		t.Fatal(err)
	}
	got, err := ReadTracked(dir)
	if err != nil || len(got) != 1 || got[0] != (Tracked{"a b", 5}) {
		t.Errorf("got %v, %v", got, err)
	}
}
