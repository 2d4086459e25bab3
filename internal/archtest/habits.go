package archtest

import (
	"fmt"
	"go/ast"
	"path"
	"slices"
	"strings"
)

// nameless are package names that say nothing.
var nameless = []string{"util", "utils", "common", "helper", "helpers", "types", "models", "base", "misc", "shared"}

// CheckNames reports packages whose name says nothing.
func CheckNames(packages []*Package) (problems []Problem) {
	for _, p := range packages {
		for _, name := range []string{p.Name, path.Base(p.Path)} {
			if slices.Contains(nameless, name) {
				problems = append(problems, Problem{p.Path, "the name " + name + " says nothing: name it after what it holds"})
				break
			}
		}
	}
	return problems
}

// CheckComments reports packages whose comment does not begin with a sentence that says what they are.
func CheckComments(packages []*Package) (problems []Problem) {
	for _, p := range packages {
		want := "Package " + path.Base(p.Path) + " "
		if p.Name == "main" {
			want = "Command " + path.Base(p.Path) + " "
		}
		if !slices.ContainsFunc(p.Files, func(f *File) bool {
			return (!f.Test || p.TestsOnly()) && strings.HasPrefix(f.Syntax.Doc.Text(), want)
		}) {
			problems = append(problems, Problem{p.Path, "has no package comment that starts with " + strings.TrimSpace(want)})
		}
	}
	return problems
}

// initAllowed are the packages that may have init functions, with the reason.
var initAllowed = map[string]string{}

// CheckInit reports init functions: they do work before main.
func CheckInit(packages []*Package) (problems []Problem) {
	for _, p := range packages {
		if initAllowed[p.Path] != "" {
			continue
		}
		for _, f := range p.Files {
			for _, d := range f.Syntax.Decls {
				if fn, ok := d.(*ast.FuncDecl); ok && fn.Recv == nil && fn.Name.Name == "init" {
					problems = append(problems, Problem{p.at(f, fn), "init works without being called: give it a name and let the caller call it"})
				}
			}
		}
	}
	return problems
}

// exits are the functions that end the process.
var exits = []string{"os.Exit", "syscall.Exit", "log.Fatal", "log.Fatalf", "log.Fatalln", "log.Panic", "log.Panicf", "log.Panicln"}

// maxMain is how many lines a command has besides its tests: enough to start what is a package, with tests, elsewhere.
const maxMain = 60

// CheckMains reports commands that do more than start something.
func CheckMains(packages []*Package) (problems []Problem) {
	for _, p := range packages {
		lines := 0
		for _, f := range p.Files {
			if p.Name == "main" && !f.Test {
				lines += p.Fset.Position(f.Syntax.End()).Line
			}
		}
		if lines > maxMain {
			problems = append(problems, Problem{p.Path, fmt.Sprintf("has %d lines, more than %d: put what it does into a package", lines, maxMain)})
		}
	}
	return problems
}

// CheckExits reports code that ends the process outside of commands and tests.
func CheckExits(packages []*Package) (problems []Problem) {
	for _, p := range packages {
		if strings.HasPrefix(p.Path, "cmd/") {
			continue
		}
		for _, f := range p.Files {
			if f.Test {
				continue
			}
			names := importNames(f.Syntax)
			ast.Inspect(f.Syntax, func(n ast.Node) bool {
				if e, ok := n.(*ast.SelectorExpr); ok {
					if name, ok := selected(names, e); ok && slices.Contains(exits, name) {
						problems = append(problems, Problem{p.at(f, n), name + " is for commands: return an error"})
					}
				}
				return true
			})
		}
	}
	return problems
}

// CheckHeaders reports conditions that hide an effect: a call without a used result in the header of an if or a
// switch, and a map that is made only to choose between two values.
func CheckHeaders(packages []*Package) (problems []Problem) {
	for _, p := range packages {
		for _, f := range p.Files {
			ast.Inspect(f.Syntax, func(n ast.Node) bool {
				var init ast.Stmt
				switch n := n.(type) {
				case *ast.IfStmt:
					init = n.Init
				case *ast.SwitchStmt:
					init = n.Init
				case *ast.IndexExpr:
					if choosesByBool(n) {
						problems = append(problems, Problem{p.at(f, n), "a map is not a condition: write an if"})
					}
				}
				if _, effect := init.(*ast.ExprStmt); effect {
					problems = append(problems, Problem{p.at(f, n), "an effect does not belong in the header of a condition: give it a line of its own"})
				}
				return true
			})
		}
	}
	return problems
}

func choosesByBool(n *ast.IndexExpr) bool {
	literal, ok := n.X.(*ast.CompositeLit)
	if !ok {
		return false
	}
	m, ok := literal.Type.(*ast.MapType)
	if !ok {
		return false
	}
	key, ok := m.Key.(*ast.Ident)
	return ok && key.Name == "bool"
}
