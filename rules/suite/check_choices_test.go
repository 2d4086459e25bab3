package suite

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func choices(t testing.TB) string {
	t.Helper()
	data, err := os.ReadFile("testdata/choices.toml")
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// Each case changes one thing in a good file. The problem must be reported where † stands; the file has no †.
func TestEachWrongChoiceIsReportedAtItsPlace(t *testing.T) {
	for _, c := range []struct{ old, with, want string }{
		{`name = "pgo"`, `†name = "PGO"`, `option "PGO": use 1 to 64 lower-case letters, digits, '_' or '-', starting with a letter or digit`},
		{`name = "pgo"`, `†name = "profile"`, `option "profile": the word has another meaning in requests; use another name, such as "use-profile"`},
		{`name = "docs"`, `†name = "pgo"`, `option "pgo" is there twice: the first is on line 18`},
		{`values = ["off", "on"]`, `†values = ["off"]`, `option "pgo" has 1 values: list 2 to 64, the default first`},
		{`values = ["off", "on"]`, `values = ["off", †"on off"]`, `value "on off" of option "pgo": use up to 64 letters, digits and "._+-", starting with a letter or digit`},
		{`values = ["off", "on"]`, `values = ["off", "on", †"off"]`, `value "off" of option "pgo" is there twice`},
		{`who = "branch"`, `†who = "anybody"`, `unknown who "anybody": use request or branch`},
		{`values = ["off", "on"]`, `†value = ["off", "on"]`, `unknown key "option.value"`},
		{`when = "pgo = 'on'`, `when = "†pg = 'on'`, `when of kind "training": unknown name "pg": use pgo, docs, profile, backend, target or request`},
		{`when = "pgo = 'on'`, `when = "pgo = †'yes'`, `when of kind "training": unknown value of option pgo "yes": use off or on`},
		{`(request != 'release'`, `(request != †'nightly'`, `when of kind "training": unknown kind of request "nightly": use master, try or release`},
		{`or docs = 'off')`, `or docs = 'off'†`, `when of kind "training": it ends where ")" is expected`},
		{`or docs = 'off')`, `or docs = †off)`, `when of kind "training": write the value in quotes: 'off'`},
		{`or docs = 'off')`, `or docs †== 'off')`, `when of kind "training": write = instead of ==`},
		{`or docs = 'off')`, `or docs = 'off') †pgo`, `when of kind "training": unexpected "pgo": "and" or "or" is expected`},
		{`or docs = 'off')`, `or docs †')`, `when of kind "training": the quote ' is not closed`},
		{`or docs = 'off')`, `or docs = 'off' †& pgo)`, `when of kind "training": unexpected '&': use names, values in quotes, =, !=, and, or, not and brackets`},
		{`when = "profile != 'doc'`, `when = "profile != †'docs'`, `when of kind "compile": unknown profile "docs": use opt or doc`},
		{`when = "profile != 'doc'`, `when = "backend = †'llvm'`, `when of kind "compile": unknown backend "llvm": use gc`},
		{`when = "profile != 'doc'`, `when = "target = †'linux'`, `when of kind "compile": unknown target "linux": use linux-amd64 or linux-arm64`},
		{
			`when = "profile != 'doc' or docs = 'on'"`, "†when = \"\"\"\nprofile = 'no'\"\"\"",
			`when of kind "compile": unknown profile "no": use opt or doc (at character 11 of the text)`,
		},
		{`name = "quick"`, `†name = "full"`, `graph "full" is there twice: the first is on line 68`},
		{`kinds = ["smoke", "compile", "report"]`, `kinds = ["smoke", †"bench"]`, `unknown kind "bench": use smoke, training, compile, trained or report`},
		{`kinds = ["smoke", "compile", "report"]`, `kinds = [†"compile"]`, `graph "quick" has kind "compile" without kind "smoke", whose success it needs: add "smoke"`},
		{`kinds = ["smoke", "compile", "report"]`, `†kinds = []`, `graph "quick" has no kinds: list some of smoke, training, compile, trained or report, or remove the key for a graph with all`},
		{`on_failure = "fail-fast"`, `†on_failure = "stop"`, `unknown on_failure "stop": use keep-going or fail-fast`},
		{`deadline = "14d"`, `†deadline = "two weeks"`, `deadline of graph "quick": "two weeks" is no deadline: write days or hours, such as "14d" or "36h", at most 365d`},
		{`deadline = "14d"`, `†deadline = "366d"`, `deadline of graph "quick": "366d" is no deadline: write days or hours, such as "14d" or "36h", at most 365d`},
		{`targets = ["linux-arm64"]`, `†targets = ["moon"]`, `graph "quick": unknown target "moon": use linux-amd64 or linux-arm64`},
		{`match = "release/*-pre"`, `†match = "release/*"`, `branch "release/*" is there twice: the first is on line 82`},
		{`match = "release/*-pre"`, `†match = "*release/"`, `match "*release/" is as specific as "release/*" on line 82, and both match "release/": give one of them more letters`},
		{`match = "release/*-pre"`, `†match = "release ?"`, `match "release ?": use up to 128 letters, digits and "._/+@-", * for any characters and ? for one`},
		{`match = "release/*-pre"`, `†match = "release/**"`, `match "release/**": write one * instead of several, it stands for slashes, too`},
		{"[[branch]]\nmatch = \"release/*-pre\"", "[[†branch]]", `[[branch]] has no match: write the name of a branch, or a pattern such as "release/*"`},
		{`graph = "quick"`, `†graph = "quicker"`, `unknown graph "quicker": use full or quick`},
		{`options = { pgo = "on", docs = "off" }`, `options = { pgo = "on", †doc = "off" }`, `branch "release/*": unknown option "doc": use pgo or docs`},
		{`options = { pgo = "on", docs = "off" }`, `options = { †pgo = "1", docs = "off" }`, `branch "release/*": unknown value "1" of option pgo: use off or on`},
		{`customise = "none"`, `†customise = "some"`, `unknown customise "some": use none, options or any`},
		{`max_priority = "vip"`, `†max_priority = "urgent"`, `unknown max_priority "urgent": use vip, high, normal, low or idle`},
		{`priority = "high"`, `†priority = "higher"`, `unknown priority "higher": use vip, high, normal, low or idle`},
		{"priority = \"high\"\nmax_priority = \"vip\"", "†priority = \"high\"\nmax_priority = \"low\"", `priority "high" of branch "release/*" is above its max_priority "low": lower it, or raise max_priority`},
	} {
		t.Run(c.with, func(t *testing.T) {
			bad := strings.Replace(choices(t), c.old, c.with, 1)
			before, after, ok := strings.Cut(bad, "†")
			if !ok {
				t.Fatalf("the file has no %q", c.old)
			}
			line := strings.Count(before, "\n") + 1
			want := fmt.Sprintf("choices.toml:%d:%d: %s", line, len(before)-strings.LastIndexByte(before, '\n'), c.want)
			_, err := Load("choices.toml", []byte(before+after), nil)
			if err == nil || !strings.Contains(err.Error()+"\n", want+"\n") {
				t.Errorf("got:\n%v\nwant:\n%s", err, want)
			}
		})
	}
}

func TestAllWrongChoicesAreReportedTogether(t *testing.T) {
	text := choices(t)
	for _, change := range [][2]string{
		{"version = 2", "version = 1"}, {`["off", "on"]`, `["off"]`}, {`"fail-fast"`, `"stop"`}, {`"release/*-pre"`, `"*release/"`}, {"pgo = 'on' and (request", "pg = 'on' and (requests"},
	} {
		text = strings.Replace(text, change[0], change[1], 1)
	}
	_, err := Load("c.toml", []byte(text), nil)
	var problems Problems
	errors.As(err, &problems)
	var got []string
	for _, p := range problems {
		got = append(got, fmt.Sprintf("%d:%d %.40s", p.Line, p.Column, p.Message))
	}
	want := []string{
		`17:3 the file has [[option]]: write version =`,
		`19:1 option "pgo" has 1 values: list 2 to 64,`,
		`46:1 kind "training" has when: write version `,
		`46:9 when of kind "training": unknown name "p`,
		`46:24 when of kind "training": unknown name "r`,
		`47:1 kind "training" has needs: write version`,
		`53:1 kind "compile" has when: write version =`,
		`54:1 kind "compile" has needs: write version `,
		`59:1 kind "trained" has needs: write version `,
		`65:1 kind "report" has needs: write version =`,
		`67:3 the file has [[graph]]: write version = `,
		`73:1 unknown on_failure "stop": use keep-goin`,
		`77:3 the file has [[branch]]: write version =`,
		`83:13 branch "release/*": unknown value "on" o`,
		`89:1 match "*release/" is as specific as "rel`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestThereMayBeSoManyChoices(t *testing.T) {
	for _, c := range []struct {
		form string
		most int
		want string
	}{
		{"\n[[option]]\nname = \"o%d\"\nvalues = [\"a\", \"b\"]\n", maxOptions, "there are 65 [[option]]: at most 64 are possible"},
		{"\n[[kind]]\nname = \"k%d\"\nprofile = \"opt\"\n", maxKinds, "there are 65 [[kind]]: at most 64 are possible"},
		{"\n[[graph]]\nname = \"g%d\"\n", maxGraphs, "there are 33 [[graph]]: at most 32 are possible"},
		{"\n[[branch]]\nmatch = \"b%d\"\n", maxBranches, "there are 65 [[branch]]: at most 64 are possible"},
	} {
		table, _, _ := strings.Cut(strings.TrimSpace(c.form), "\n")
		text := choices(t)
		for i := strings.Count(text, table+"\n"); i < c.most; i++ {
			text += fmt.Sprintf(c.form, i)
		}
		if _, err := Load("c.toml", []byte(text), nil); err != nil {
			t.Errorf("%d %s: %v", c.most, table, err)
		}
		text += fmt.Sprintf(c.form, c.most)
		if _, err := Load("c.toml", []byte(text), nil); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", table, err)
		}
	}
}

func TestTemplatesThatAreTooLargeAreRefused(t *testing.T) {
	many := choices(t)
	for i := range 3400 {
		many += fmt.Sprintf("\n[[profile]]\nname = \"p%d\"\n", i)
	}
	_, err := Load("c.toml", []byte(many), nil)
	if want := "c.toml:67:3: a master request with graph full for branch release/*: 10206 jobs with "; err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("got %.300v, want %s", err, want)
	}
	// The graph quick has one profile: it is small. Nothing counts the jobs by making them.
	huge := strings.Replace(many, "sets = 2", "sets = 256", 1)
	for i := range 254 {
		huge += fmt.Sprintf("\n[[benchmark]]\nname = \"n%d\"\nkind = \"compile\"\ncategory = \"primary\"\nsets = { linux-amd64 = %d, linux-arm64 = 0 }\n", i, i+2)
	}
	_, err = Load("c.toml", []byte(huge), nil)
	if want := "jobs, with those that are switched off, are too many: at most 100000 are possible"; err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("got %.300v, want %s", err, want)
	}
}

func TestWarningsOfChoices(t *testing.T) {
	text := strings.Replace(choices(t), "kind = \"compile\", across", "kind = \"smoke\", across", 1)
	text = strings.Replace(text, "name = \"full\"\n", "name = \"full\"\nkinds = [\"smoke\", \"training\"]\n", 1)
	text += "\n[[option]]\nname = \"idle\"\nvalues = [\"a\", \"b\"]\n"
	d, err := Load("c.toml", []byte(text), nil)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{`kind "trained" is in no [[graph]]: no request makes its jobs`, `option "idle" is in the when of no kind: it switches nothing`}
	if diff := cmp.Diff(want, d.Warnings()); diff != "" {
		t.Error(diff)
	}
}
