package archtest

import (
	"errors"
	"go/ast"
	"go/token"
	"go/types"
	"slices"
)

// mutableAllowed are the package variables that may change, with the reason.
var mutableAllowed = map[string]string{
	"internal/pgtest.binary": "the one server of a test binary, which all its tests share; Main starts and stops it",
}

// CheckGlobals reports package variables that change after their declaration: by an assignment, through their
// address, by delete, clear or copy, or by a method with a pointer receiver. It also reports those that hold a lock
// or an atomic value, since they can only be meant to change.
func CheckGlobals(packages []*Package) (problems []Problem) {
	for _, p := range packages {
		problems = append(problems, globalsOf(p)...)
	}
	return problems
}

// resolver loads no other packages. The check only needs the meaning of names of this package.
type resolver struct{}

func (resolver) Import(string) (*types.Package, error) { return nil, errors.New("not loaded") }

type globalCheck struct {
	p        *Package
	f        *File
	info     *types.Info
	scope    *types.Scope
	problems []Problem
}

func globalsOf(p *Package) []Problem {
	c := &globalCheck{p: p, info: &types.Info{
		Uses: map[*ast.Ident]types.Object{}, Selections: map[*ast.SelectorExpr]*types.Selection{},
	}}
	var built []*ast.File
	for _, f := range p.Files {
		if f.Built && !f.Test {
			built = append(built, f.Syntax)
		}
	}
	conf := types.Config{Importer: resolver{}, Error: func(error) {}}
	checked, _ := conf.Check(p.Path, p.Fset, built, c.info) // the errors are about the packages not loaded
	c.scope = checked.Scope()
	for _, c.f = range p.Files {
		if c.f.Built && !c.f.Test {
			ast.Inspect(c.f.Syntax, c.visit)
			c.declared()
		}
	}
	return c.problems
}

func (c *globalCheck) visit(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.AssignStmt:
		for _, left := range n.Lhs {
			c.changed(left)
		}
	case *ast.IncDecStmt:
		c.changed(n.X)
	case *ast.RangeStmt:
		if n.Tok == token.ASSIGN {
			c.changed(n.Key)
			c.changed(n.Value)
		}
	case *ast.UnaryExpr:
		if n.Op == token.AND {
			c.changed(n.X)
		}
	case *ast.CallExpr:
		if f, ok := n.Fun.(*ast.Ident); ok && len(n.Args) > 0 {
			if b, ok := c.info.Uses[f].(*types.Builtin); ok && slices.Contains([]string{"delete", "clear", "copy"}, b.Name()) {
				c.changed(n.Args[0])
			}
		}
	case *ast.SelectorExpr:
		c.called(n)
	}
	return true
}

// called reports x.m if m can change the variable x.
func (c *globalCheck) called(n *ast.SelectorExpr) {
	s := c.info.Selections[n]
	if s == nil || s.Kind() != types.MethodVal {
		return
	}
	recv := s.Obj().(*types.Func).Signature().Recv()
	_, pointer := recv.Type().(*types.Pointer)
	_, already := s.Recv().(*types.Pointer)
	if pointer && !already {
		c.changed(n.X)
	}
}

// changed reports the expression if it changes a package variable.
func (c *globalCheck) changed(e ast.Expr) {
	root, ok := c.root(e)
	if !ok || mutableAllowed[c.p.Path+"."+root] != "" {
		return
	}
	c.problems = append(c.problems, Problem{
		c.p.at(c.f, e), "changes " + root + ", a variable of a package: pass it, or keep it in a struct",
	})
}

// root returns the name of the package variable that e is, or is a part of.
func (c *globalCheck) root(e ast.Expr) (string, bool) {
	for {
		switch x := e.(type) {
		case *ast.ParenExpr:
			e = x.X
		case *ast.StarExpr:
			e = x.X
		case *ast.IndexExpr:
			e = x.X
		case *ast.SliceExpr:
			e = x.X
		case *ast.SelectorExpr:
			if in, ok := x.X.(*ast.Ident); ok {
				if _, ok := c.info.Uses[in].(*types.PkgName); ok {
					return in.Name + "." + x.Sel.Name, true
				}
			}
			e = x.X
		case *ast.Ident:
			v, ok := c.info.Uses[x].(*types.Var)
			return x.Name, ok && v.Parent() == c.scope
		default:
			return "", false
		}
	}
}

// declared reports variables that hold locks and the like. A lazily computed constant (sync.OnceValue) is not one of
// them.
func (c *globalCheck) declared() {
	for _, d := range c.f.Syntax.Decls {
		g, ok := d.(*ast.GenDecl)
		if !ok || g.Tok != token.VAR {
			continue
		}
		names := importNames(c.f.Syntax)
		ast.Inspect(g, func(n ast.Node) bool {
			if _, ok := n.(*ast.FuncLit); ok {
				return false
			}
			e, ok := n.(*ast.SelectorExpr)
			if !ok {
				return true
			}
			name, _ := selected(names, e)
			if within(pathOf(name), []string{"sync"}) && !slices.Contains([]string{"sync.OnceFunc", "sync.OnceValue", "sync.OnceValues"}, name) {
				c.problems = append(c.problems, Problem{c.p.at(c.f, e), "a variable of a package holds a " + name + ", so it is meant to change: keep it in a struct"})
			}
			return true
		})
	}
}

func pathOf(qualified string) string {
	for i := len(qualified) - 1; i >= 0; i-- {
		if qualified[i] == '.' {
			return qualified[:i]
		}
	}
	return ""
}
