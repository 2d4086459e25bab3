package archtest

import (
	"go/ast"
	"slices"
	"strings"
)

// The directives that these checks read.
const (
	sumDirective    = "//sumtype:decl"
	ignoreDirective = "//exhaustive:ignore"
)

// sum is a closed set of types: an interface with a method that only its own package can have.
type sum struct {
	name string
	// variants are "package/path.Name", in the order of declaration.
	variants []string
}

// CheckSums reports type switches that miss a type of a closed set. A closed set is an interface that is marked with
// //sumtype:decl; its types are those of its package that have its unexported method. A switch that is partial on
// purpose says so with //exhaustive:ignore on the line above, as for the linter of switches over constants. A default
// does not make a switch complete: the author of next year's type must decide about each switch. A closed set may
// have families: closed sets of some of its types. A case for a family covers all its types, and a switch whose cases
// are all of one family is over that family. Tests are not checked: they pick what they need.
func CheckSums(packages []*Package) (problems []Problem) {
	var sums []sum
	for _, p := range packages {
		for _, f := range p.Files {
			for _, d := range f.Syntax.Decls {
				if name, marker, ok := sumOf(d); ok {
					s := sum{name: p.Path + "." + name, variants: variantsOf(p, marker)}
					if len(s.variants) == 0 {
						problems = append(problems, Problem{p.at(f, d), name + " is declared as a closed set and has no type in its package"})
					}
					sums = append(sums, s)
				}
			}
		}
	}
	for _, p := range packages {
		for _, f := range p.Files {
			problems = append(problems, misread(p, f)...)
			if !f.Test {
				problems = append(problems, partialSwitches(p, f, sums)...)
			}
		}
	}
	return problems
}

// misread reports directives in a form that the linter of switches over constants does not accept.
func misread(p *Package, f *File) (problems []Problem) {
	for _, group := range f.Syntax.Comments {
		for _, c := range group.List {
			if strings.HasPrefix(c.Text, ignoreDirective) && c.Text != ignoreDirective {
				problems = append(problems, Problem{p.at(f, c), "nothing may follow " + ignoreDirective + ": give the reason on the line above"})
			}
		}
	}
	return problems
}

// sumOf returns the interface that d declares as a closed set, and its unexported method.
func sumOf(d ast.Decl) (name, marker string, ok bool) {
	g, isGen := d.(*ast.GenDecl)
	if !isGen || !directed(g.Doc, sumDirective) || len(g.Specs) != 1 {
		return "", "", false
	}
	spec, isType := g.Specs[0].(*ast.TypeSpec)
	if !isType {
		return "", "", false
	}
	face, isInterface := spec.Type.(*ast.InterfaceType)
	if !isInterface {
		return "", "", false
	}
	for _, method := range face.Methods.List {
		for _, m := range method.Names {
			if !m.IsExported() {
				return spec.Name.Name, m.Name, true
			}
		}
	}
	return spec.Name.Name, "", true
}

func directed(doc *ast.CommentGroup, directive string) bool {
	return doc != nil && slices.ContainsFunc(doc.List, func(c *ast.Comment) bool { return strings.HasPrefix(c.Text, directive) })
}

func variantsOf(p *Package, marker string) (variants []string) {
	for _, f := range p.Files {
		for _, d := range f.Syntax.Decls {
			fn, ok := d.(*ast.FuncDecl)
			if !ok || fn.Recv == nil || fn.Name.Name != marker {
				continue
			}
			recv := fn.Recv.List[0].Type
			if star, ok := recv.(*ast.StarExpr); ok {
				recv = star.X
			}
			if ident, ok := recv.(*ast.Ident); ok {
				variants = append(variants, p.Path+"."+ident.Name)
			}
		}
	}
	return variants
}

func partialSwitches(p *Package, f *File, sums []sum) (problems []Problem) {
	names := importNames(f.Syntax)
	ast.Inspect(f.Syntax, func(n ast.Node) bool {
		s, ok := n.(*ast.TypeSwitchStmt)
		if !ok || ignored(p, f, s) {
			return true
		}
		cases := withFamilies(casesOf(p, names, s), sums)
		for _, set := range narrowest(cases, sums) {
			var missing []string
			for _, v := range set.variants {
				if !slices.Contains(cases, v) {
					missing = append(missing, v[strings.LastIndexByte(v, '.')+1:])
				}
			}
			if len(missing) > 0 {
				problems = append(problems, Problem{
					p.at(f, s),
					"the switch over " + set.name + " forgets " + strings.Join(missing, ", ") +
						": add them, or write " + ignoreDirective + " above with the reason",
				})
			}
		}
		return true
	})
	return problems
}

// narrowest returns the closed sets that a switch is over. Of a set and its families it takes the one that has all
// the cases and the fewest types.
func narrowest(cases []string, sums []sum) (over []sum) {
	of := func(set sum) (in []string) {
		for _, c := range cases {
			if slices.Contains(set.variants, c) {
				in = append(in, c)
			}
		}
		return in
	}
	for _, set := range sums {
		in := of(set)
		better := slices.ContainsFunc(sums, func(other sum) bool {
			if slices.ContainsFunc(in, func(c string) bool { return !slices.Contains(other.variants, c) }) {
				return false
			}
			more := len(of(other)) - len(in)
			return more > 0 || more == 0 && len(other.variants) < len(set.variants)
		})
		if len(in) > 0 && !better {
			over = append(over, set)
		}
	}
	return over
}

// withFamilies adds the types of the closed sets that cases name: a case for a family covers all its types.
func withFamilies(cases []string, sums []sum) []string {
	all := slices.Clone(cases)
	for _, set := range sums {
		if slices.Contains(cases, set.name) {
			all = append(all, set.variants...)
		}
	}
	return all
}

// casesOf returns our types in the cases of the switch, as "package/path.Name".
func casesOf(p *Package, names map[string]string, s *ast.TypeSwitchStmt) (cases []string) {
	for _, clause := range s.Body.List {
		for _, e := range clause.(*ast.CaseClause).List {
			if star, ok := e.(*ast.StarExpr); ok {
				e = star.X
			}
			if ident, ok := e.(*ast.Ident); ok {
				cases = append(cases, p.Path+"."+ident.Name)
			} else if name, ok := selected(names, e); ok {
				cases = append(cases, strings.TrimPrefix(name, modulePath+"/"))
			}
		}
	}
	return cases
}

// ignored reports whether the comment that ends on the line above the switch has the directive.
func ignored(p *Package, f *File, s ast.Node) bool {
	line := p.Fset.Position(s.Pos()).Line
	return slices.ContainsFunc(f.Syntax.Comments, func(c *ast.CommentGroup) bool {
		return p.Fset.Position(c.End()).Line == line-1 && directed(c, ignoreDirective)
	})
}
