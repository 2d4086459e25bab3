package archtest

import (
	"os"
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
