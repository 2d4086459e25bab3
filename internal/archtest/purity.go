package archtest

import (
	"go/ast"
	"slices"
	"strings"
)

// impure are the standard packages that reach out of a pure function. A path includes the packages below it.
var impure = []string{
	"context", "os", "net", "math/rand", "crypto/rand", "log", "sync", "syscall", "runtime", "plugin", "unsafe",
	"database/sql", "testing", "expvar",
}

// pureAlthough are pure packages below an impure one.
var pureAlthough = []string{"net/url", "net/netip"}

// pureForeign are the third-party packages that pure packages may use.
var pureForeign = []string{
	"github.com/pelletier/go-toml/v2",
	"github.com/pelletier/go-toml/v2/unstable",
	"github.com/yuin/goldmark/ast",
	"github.com/yuin/goldmark/parser",
	"github.com/yuin/goldmark/text",
	"github.com/yuin/goldmark/util",
	"golang.org/x/perf/benchmath",
}

// clock are the functions that read a clock or wait for one.
var clock = []string{
	"time.Now", "time.Since", "time.Until", "time.Sleep", "time.After", "time.AfterFunc", "time.Tick",
	"time.NewTimer", "time.NewTicker",
}

// CheckPurity reports what a package of the floors words and sense may not do: read a clock, randomness, a file or a
// context, log, wait for another goroutine, or start one. Their tests may do all that, but may not start goroutines: they
// run without the race detector.
func CheckPurity(packages []*Package) (problems []Problem) {
	for _, p := range packages {
		if _, f, ok := place(p.Path); !ok || f > sense {
			continue
		}
		for _, f := range p.Files {
			if f.Test {
				problems = append(problems, goroutines(p, f)...)
			} else {
				problems = append(problems, impurities(p, f)...)
			}
		}
	}
	return problems
}

// goroutines reports where tests of a pure package run beside others.
func goroutines(p *Package, f *File) (problems []Problem) {
	ast.Inspect(f.Syntax, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.GoStmt:
			problems = append(problems, Problem{p.at(f, n), "a test of a pure package may not start a goroutine: the race detector does not see it"})
		case *ast.SelectorExpr:
			if n.Sel.Name == "Parallel" {
				problems = append(problems, Problem{p.at(f, n), "a test of a pure package may not be parallel: the race detector does not see it"})
			}
		}
		return true
	})
	return problems
}

func impurities(p *Package, f *File) (problems []Problem) {
	report := func(n ast.Node, what string) {
		problems = append(problems, Problem{p.at(f, n), "a pure package may not " + what})
	}
	for _, spec := range f.Syntax.Imports {
		importPath := strings.Trim(spec.Path.Value, `"`)
		switch {
		case within(importPath, impure) && !slices.Contains(pureAlthough, importPath):
			report(spec, "import "+importPath)
		case foreign(importPath) && !slices.Contains(pureForeign, importPath):
			report(spec, "import "+importPath+", unless the list of pure packages of others names it")
		}
	}
	names := importNames(f.Syntax)
	ast.Inspect(f.Syntax, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.GoStmt:
			report(n, "start a goroutine")
		case *ast.SelectorExpr:
			if name, ok := selected(names, n); ok && slices.Contains(clock, name) {
				report(n, "use "+name+": the caller gives the time")
			}
		}
		return true
	})
	return problems
}

func within(importPath string, roots []string) bool {
	return slices.ContainsFunc(roots, func(root string) bool {
		return importPath == root || strings.HasPrefix(importPath, root+"/")
	})
}

// foreign reports whether a package is neither ours nor in the standard library.
func foreign(importPath string) bool {
	first, _, _ := strings.Cut(importPath, "/")
	return strings.Contains(first, ".") && !strings.HasPrefix(importPath, modulePath+"/")
}

const modulePath = "github.com/tachobench/tacho"
