package archtest

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const root = "../.."

// packageRules are all rules about packages. Each has a test on a bad example.
var packageRules = map[string]func([]*Package) []Problem{
	"floors":   CheckFloors,
	"purity":   CheckPurity,
	"names":    CheckNames,
	"comments": CheckComments,
	"init":     CheckInit,
	"mains":    CheckMains,
	"exits":    CheckExits,
	"headers":  CheckHeaders,
	"tests":    CheckTests,
	"globals":  CheckGlobals,
	"sums":     CheckSums,
}

var textRules = map[string]func([]Text) []Problem{
	"lengths": CheckLengths,
	"marks":   CheckMarks,
}

func TestPackagesKeepTheRules(t *testing.T) {
	packages, err := Load(root)
	if err != nil {
		t.Fatal(err)
	}
	saw := map[string]bool{}
	for _, p := range packages {
		saw[p.Path] = true
	}
	for _, want := range []string{"events", "rules/queue", "eventlog/jetstream", "internal/archtest"} {
		if !saw[want] {
			t.Errorf("the package %s was not seen: are the rules run on this module?", want)
		}
	}
	for name, rule := range packageRules {
		t.Run(name, func(t *testing.T) {
			for _, problem := range rule(packages) {
				t.Error(problem)
			}
		})
	}
}

// The programs that compare Tacho with its peers are a module of their own and no room of the house. They keep the habits.
func TestTheModuleOfPeersKeepsTheHabits(t *testing.T) {
	packages, err := Load(filepath.Join(root, "bench"))
	if err != nil {
		t.Fatal(err)
	}
	if len(packages) != 2 || len(packages[0].Files) < 10 {
		t.Fatalf("%d packages were seen: are the rules run on the module in bench?", len(packages))
	}
	for _, name := range []string{"init", "headers", "tests", "globals"} {
		t.Run(name, func(t *testing.T) {
			for _, problem := range packageRules[name](packages) {
				t.Error(problem)
			}
		})
	}
}

// What `make pure` tests without the race detector are the pure packages, and no others.
func TestOnlyPurePackagesAreNotRaced(t *testing.T) {
	packages, err := Load(root)
	if err != nil {
		t.Fatal(err)
	}
	makefile, err := os.ReadFile(filepath.Join(root, "Makefile"))
	if err != nil {
		t.Fatal(err)
	}
	_, list, _ := strings.Cut(string(makefile), "\nPURE      := ")
	list, _, _ = strings.Cut(list, "\n")
	named := strings.Fields(list)
	for _, p := range packages {
		_, f, ok := place(p.Path)
		unraced := slices.ContainsFunc(named, func(pattern string) bool {
			path, below := strings.CutSuffix(strings.TrimPrefix(pattern, "./"), "/...")
			return p.Path == path || below && strings.HasPrefix(p.Path, path+"/")
		})
		if pure := ok && f <= sense; pure != unraced {
			t.Errorf("%s is pure: %t, and PURE of the Makefile names it: %t", p.Path, pure, unraced)
		}
	}
}

func TestFilesKeepTheRules(t *testing.T) {
	texts, err := ReadTexts(os.DirFS(root))
	if err != nil {
		t.Fatal(err)
	}
	if len(texts) < 100 {
		t.Errorf("only %d files were seen: are the rules run on this repository?", len(texts))
	}
	for name, rule := range textRules {
		t.Run(name, func(t *testing.T) {
			for _, problem := range rule(texts) {
				t.Error(problem)
			}
		})
	}
}

func TestTrackedFilesAreSmall(t *testing.T) {
	files, err := ReadTracked(root)
	if err != nil {
		t.Fatal(err)
	}
	if len(files) < 100 {
		t.Errorf("only %d files were seen: is this the repository?", len(files))
	}
	for _, problem := range CheckSizes(files) {
		t.Error(problem)
	}
}
