// Package archtest holds the rules of the house that a compiler does not check, and checks the module against them.
//
// Each rule is a function from loaded packages (or text files) to problems. The test of this package runs all of them
// on the module. The rules' own tests run each one on a small bad example, so that no rule can pass because it sees
// nothing. The exceptions of a rule are in its table, with the reason.
package archtest

import (
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
)

// Problem is one place that breaks a rule.
type Problem struct {
	// Where is "file:line", or a package.
	Where string
	// What says what is wrong and what to do about it.
	What string
}

func (p Problem) String() string { return p.Where + ": " + p.What }

// Package is one package of the module, parsed but not type-checked.
type Package struct {
	// Path is relative to the module: "events", "cmd/tacho".
	Path string
	// Name is the name in the package clause of the files that are not tests; empty if all files are tests.
	Name string
	// Imports and TestImports are import paths; those of the module are relative to it.
	Imports, TestImports []Import
	Files                []*File
	Fset                 *token.FileSet
}

// Import is an imported package.
type Import struct {
	Path string
	// Ours is set for a package of the module; its path is then relative.
	Ours bool
}

// File is one Go file of a package. Files for other platforms count too.
type File struct {
	Name   string
	Syntax *ast.File
	// Test is set for _test.go files, External for those in the package x_test.
	Test, External bool
	// Built is set for files that belong to the package on this platform.
	Built bool
}

// TestsOnly reports whether the package has only tests.
func (p *Package) TestsOnly() bool { return p.Name == "" }

// at returns the place of a node.
func (p *Package) at(f *File, n ast.Node) string {
	return fmt.Sprintf("%s:%d", path.Join(p.Path, f.Name), p.Fset.Position(n.Pos()).Line)
}

// listed is what `go list` says about a package.
type listed struct {
	Dir, ImportPath, Name              string
	Module                             struct{ Path string }
	GoFiles, CgoFiles, IgnoredGoFiles  []string
	TestGoFiles, XTestGoFiles          []string
	Imports, TestImports, XTestImports []string
}

// Load reads the packages of the module in dir and below.
func Load(dir string) ([]*Package, error) {
	cmd := exec.Command("go", "list", "-e",
		"-json=Dir,ImportPath,Name,Module,GoFiles,CgoFiles,IgnoredGoFiles,TestGoFiles,XTestGoFiles,Imports,TestImports,XTestImports", "./...")
	cmd.Dir = dir
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("list packages in %s: %w", dir, err)
	}
	var packages []*Package
	for decoder := json.NewDecoder(strings.NewReader(string(out))); ; {
		var l listed
		if err := decoder.Decode(&l); errors.Is(err, io.EOF) {
			return packages, nil
		} else if err != nil {
			return nil, fmt.Errorf("read the list of packages: %w", err)
		}
		p, err := l.parse()
		if err != nil {
			return nil, err
		}
		packages = append(packages, p)
	}
}

func (l listed) parse() (*Package, error) {
	p := &Package{
		Path: l.relative(l.ImportPath).Path, Fset: token.NewFileSet(),
		Imports: l.imports(l.Imports), TestImports: l.imports(l.TestImports, l.XTestImports),
	}
	if len(l.GoFiles)+len(l.CgoFiles) > 0 {
		p.Name = l.Name
	}
	for _, group := range []struct {
		names []string
		file  File
	}{
		{l.GoFiles, File{Built: true}},
		{l.CgoFiles, File{Built: true}},
		{l.IgnoredGoFiles, File{}},
		{l.TestGoFiles, File{Built: true, Test: true}},
		{l.XTestGoFiles, File{Built: true, Test: true, External: true}},
	} {
		for _, name := range group.names {
			syntax, err := parser.ParseFile(p.Fset, filepath.Join(l.Dir, name), nil, parser.ParseComments|parser.SkipObjectResolution)
			if err != nil {
				return nil, fmt.Errorf("parse %s: %w", name, err)
			}
			f := group.file
			f.Name, f.Syntax = name, syntax
			f.Test = f.Test || strings.HasSuffix(name, "_test.go")
			p.Files = append(p.Files, &f)
		}
	}
	return p, nil
}

func (l listed) imports(lists ...[]string) (all []Import) {
	for _, list := range lists {
		for _, i := range list {
			all = append(all, l.relative(i))
		}
	}
	return all
}

func (l listed) relative(importPath string) Import {
	rest, ours := strings.CutPrefix(importPath, l.Module.Path+"/")
	if importPath == l.Module.Path {
		return Import{Path: ".", Ours: true}
	}
	return Import{Path: rest, Ours: ours}
}

// importNames returns the import path of each package name in the file.
func importNames(f *ast.File) map[string]string {
	names := map[string]string{}
	for _, spec := range f.Imports {
		importPath := strings.Trim(spec.Path.Value, `"`)
		name := path.Base(importPath)
		if spec.Name != nil {
			name = spec.Name.Name
		} else if strings.HasPrefix(name, "v") && strings.Trim(name[1:], "0123456789") == "" {
			name = path.Base(path.Dir(importPath))
		}
		names[name] = importPath
	}
	return names
}

// selected returns "import/path.Name" for an expression that names something in another package.
func selected(names map[string]string, e ast.Expr) (string, bool) {
	s, ok := e.(*ast.SelectorExpr)
	if !ok {
		return "", false
	}
	x, ok := s.X.(*ast.Ident)
	if !ok {
		return "", false
	}
	from, ok := names[x.Name]
	return from + "." + s.Sel.Name, ok
}
