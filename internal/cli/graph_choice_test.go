package cli

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tachobench/tacho/rules/suite"
)

var writeGolden = flag.Bool("write-golden", false, "write what plans print to testdata/plans, and into the chapter of docs/suites.md")

// chapterOf returns a chapter of a document, and what is before and after it.
func chapterOf(t *testing.T, document, heading string) (before, chapter, after string) {
	t.Helper()
	start := strings.Index(document, "### "+heading+"\n")
	if start < 0 {
		t.Fatalf("no chapter %s", heading)
	}
	end := strings.Index(document[start:], "\n## ")
	if end < 0 {
		t.Fatalf("the chapter %s has no end", heading)
	}
	return document[:start], document[start : start+end], document[start+end:]
}

// What the chapter shows of the file is in the file, and each command prints what stands below it.
func TestTheChapterOnChoicesIsTrue(t *testing.T) {
	const file = "../../docs/suites.md"
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	definitions, err := os.ReadFile("testdata/compilers.toml")
	if err != nil {
		t.Fatal(err)
	}
	before, chapter, after := chapterOf(t, string(data), "Options, graphs and branches")
	blocks := strings.Split(chapter, "```")
	commands := 0
	t.Chdir("testdata")
	for i := 1; i < len(blocks); i += 2 {
		form, block, _ := strings.Cut(blocks[i], "\n")
		if form == "toml" {
			if !strings.Contains(string(definitions), block) {
				t.Errorf("this is not in testdata/compilers.toml:\n%s", block)
			}
			continue
		}
		shown := ""
		for line := range strings.SplitSeq(block, "\n") {
			if command, is := strings.CutPrefix(line, "$ tacho "); is {
				out, errs, _ := answering(t, nil, command)
				shown += line + "\n" + out + errs
				commands++
			}
		}
		blocks[i] = "\n" + shown
		if diff := cmp.Diff(block, shown); diff != "" && !*writeGolden {
			t.Errorf("(-document +program):\n%s", diff)
		}
	}
	if commands < 5 {
		t.Errorf("only %d commands", commands)
	}
	if *writeGolden {
		text := before + strings.Join(blocks, "```") + after
		if err := os.WriteFile("../"+file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// The files have what programs read. A change of theirs is a change for those programs.
func TestPlansAndDifferencesAreGolden(t *testing.T) {
	for name, line := range map[string]string{
		"try.json":         "graph plan testdata/compilers.toml --request try --option training=on --tag v2 --json",
		"release.json":     "graph plan testdata/compilers.toml --request release --branch release/1.2 --json",
		"try.dot":          "graph plan testdata/compilers.toml --request try --dot",
		"try.svg":          "graph plan testdata/compilers.toml --request try --svg",
		"diff.json":        "graph diff testdata/compilers.toml@main testdata/compilers.toml@release/2 --json",
		"check.json":       "suite check testdata/compilers.toml --json",
		"needs-alone.json": "graph plan testdata/shells.toml --json",
		"needs-alone.txt":  "graph plan testdata/shells.toml --parent v1",
		"show.txt":         "suite show testdata/compilers.toml",
	} {
		out, errs, code := answering(t, nil, line)
		got := fmt.Sprintf("$ tacho %s\n%s%s= %d\n", line, out, errs, code)
		file := filepath.Join("testdata/plans", name)
		if *writeGolden {
			if err := os.WriteFile(file, []byte(got), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(want), got); diff != "" {
			t.Errorf("%s (-golden +now):\n%s", name, diff)
		}
	}
}

func TestDifferencesEndWithOne(t *testing.T) {
	const file = "testdata/compilers.toml"
	for _, c := range []struct {
		line, out, errs string
		code            int
	}{
		{"graph diff go go", "", "", ExitDone},
		{"graph diff " + file + " " + file + "@main", "", "", ExitDone},
		{"graph diff " + file + "@try " + file + ":quick --json", "[]\n", "", ExitDone},
		{"graph diff " + file + ",training=on " + file + " --request try --option training=on", "", "", ExitDone},
		{"graph diff " + file + ",training=off " + file + " --request try --option training=on", "train/linux-amd64/0/none/opt: added, was switched off: option training = off\n", "", ExitFailed},
		{"graph diff testdata/shells.toml rustc", "smoke/linux-amd64/0/none/plain: removed\n", "", ExitFailed},
		{"graph diff " + file + " " + file + ":slow", "", `testdata/compilers.toml:slow: unknown graph "slow": use full or quick`, ExitUsage},
		{"graph diff " + file + " " + file + "@release/1,training=off", "", "branch release/* lets requests set no options: leave out training", ExitUsage},
		{"graph diff " + file + " " + file + "@release/1,training", "", `option "training" has no value, write NAME=VALUE`, ExitUsage},
		{"graph diff " + file + "@:quick go", "", "write SUITE@BRANCH:GRAPH,NAME=VALUE", ExitUsage},
		{"graph diff nothing@main go", "", `unknown suite "nothing"`, ExitUsage},
		{"graph plan " + file + " --graph slow", "", `unknown graph "slow": use full or quick`, ExitUsage},
		{"graph plan " + file + " --request try --option docs=off", "", "option docs is set by branches alone: leave it out, or set training", ExitUsage},
		{"graph plan " + file + " --option training", "", "training", ExitUsage},
		{"graph plan go --graph full", "", `unknown graph "full": suite go has no graphs, leave it out`, ExitUsage},
	} {
		out, errs, code := answering(t, nil, c.line)
		if code != c.code || c.out == "" && out != "" || c.errs == "" && errs != "" {
			t.Errorf("tacho %s: exit code %d, want %d\n%s%s", c.line, code, c.code, out, errs)
		}
		contains(t, "tacho "+c.line, out, c.out)
		contains(t, "tacho "+c.line, errs, c.errs)
	}
}

func TestReferencesToTemplates(t *testing.T) {
	files := []string{"a.toml", "dir@x/a.toml", "b,c=d.toml", "go"}
	for reference, want := range map[string]suite.Choice{
		"a.toml":                       {},
		"a.toml@main":                  {Branch: "main"},
		"a.toml:full":                  {Graph: "full"},
		"a.toml@feature/a@b:full":      {Branch: "feature/a@b", Graph: "full"},
		"dir@x/a.toml@y":               {Branch: "y"},
		"b,c=d.toml,e=f,g=h":           {Options: map[string]string{"e": "f", "g": "h"}},
		"go@release/1:quick,pgo=on":    {Branch: "release/1", Graph: "quick", Options: map[string]string{"pgo": "on"}},
		"gone.toml@main:full,pgo=a=b":  {Branch: "main", Graph: "full", Options: map[string]string{"pgo": "a=b"}},
		"a.toml,pgo=on@odd,but=theirs": {Options: map[string]string{"pgo": "on@odd", "but": "theirs"}},
	} {
		name, got, err := suite.ParseReference(reference, func(name string) bool { return slices.Contains(files, name) })
		if want.Options == nil {
			want.Options = map[string]string{}
		}
		if diff := cmp.Diff(want, got); diff != "" || err != nil || !strings.HasPrefix(reference, name) || name == "" {
			t.Errorf("%s is %s: %v\n%s", reference, name, err, diff)
		}
	}
}
