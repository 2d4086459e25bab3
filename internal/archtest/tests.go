package archtest

import (
	"fmt"
	"go/ast"
	"slices"
	"strings"
)

// longestTest is how many letters the name of a test may have.
const longestTest = 50

// CheckTests reports tests that skip, tests that sleep instead of waiting for an event, and names that are too long
// to read. A test may sleep on the simulated clock of a synctest bubble.
func CheckTests(packages []*Package) (problems []Problem) {
	for _, p := range packages {
		for _, f := range p.Files {
			c := &testCheck{p: p, f: f, names: importNames(f.Syntax)}
			c.walk(f.Syntax, nil, false)
			problems = append(problems, c.problems...)
		}
	}
	return problems
}

type testCheck struct {
	p        *Package
	f        *File
	names    map[string]string
	problems []Problem
}

// walk visits n. testers are the parameters, in the functions around n, that have a type of package testing. bubble
// is set inside of synctest.Test.
func (c *testCheck) walk(n ast.Node, testers []string, bubble bool) {
	ast.Inspect(n, func(m ast.Node) bool {
		switch m := m.(type) {
		case *ast.FuncDecl:
			if c.f.Test && len(m.Name.Name) > longestTest {
				c.problems = append(c.problems, Problem{c.p.at(c.f, m), fmt.Sprintf("%s is too long: use at most %d letters", m.Name.Name, longestTest)})
			}
			if m.Body != nil {
				c.walk(m.Body, c.parameters(m.Type, nil), false)
			}
			return false
		case *ast.FuncLit:
			c.walk(m.Body, c.parameters(m.Type, testers), bubble)
			return false
		case *ast.CallExpr:
			if name, ok := selected(c.names, m.Fun); ok && name == "testing/synctest.Test" && !bubble {
				c.walk(m, testers, true)
				return false
			}
		case *ast.SelectorExpr:
			c.use(m, testers, bubble)
		}
		return true
	})
}

func (c *testCheck) use(e *ast.SelectorExpr, testers []string, bubble bool) {
	if name, ok := selected(c.names, e); ok && name == "time.Sleep" && c.f.Test && !bubble {
		c.problems = append(c.problems, Problem{c.p.at(c.f, e), "a test waits for an event, never for a duration"})
	}
	x, ok := e.X.(*ast.Ident)
	if ok && slices.Contains(testers, x.Name) && strings.HasPrefix(e.Sel.Name, "Skip") {
		c.problems = append(c.problems, Problem{c.p.at(c.f, e), "a test does not skip: what it needs is missing, and that is a failure"})
	}
}

// parameters returns the names with a type of package testing in a function of type t. outer are those of the
// function around it.
func (c *testCheck) parameters(t *ast.FuncType, outer []string) []string {
	known := slices.Clone(outer)
	for _, field := range t.Params.List {
		kind := field.Type
		if star, ok := kind.(*ast.StarExpr); ok {
			kind = star.X
		}
		name, _ := selected(c.names, kind)
		for _, ident := range field.Names {
			if strings.HasPrefix(name, "testing.") {
				known = append(known, ident.Name)
			} else {
				known = slices.DeleteFunc(known, func(k string) bool { return k == ident.Name })
			}
		}
	}
	return known
}
