package config

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestPollersHaveDefaults(t *testing.T) {
	text := `
[[poller]]
name = "rust-master"
kind = "github-commits"
suite = "rustc"
repository = "rust-lang/rust"

[[poller]]
name = "go-releases"
kind = "go-versions"
suite = "go"
keep = 5
account = "robot"
queue = "bisect"
priority = "low"

[[poller]]
name = "own"
kind = "git-commits"
suite = "go"
url = "/srv/code.git"
definitions = "tree"
path = "bench/go.toml"

[[poller]]
name = "suite-main"
kind = "definitions"
suite = "go"
url = "/srv/suites.git"
branch = "main"
path = "bench/go.toml"

[[poller]]
name = "suite-all"
kind = "definitions"
suite = "go"
repository = "a/b"
path = "go.toml"
serves = "all"
`
	c, err := Load(file(t, text), env(map[string]string{"HOME": "/h", "TACHO_GITHUB_TOKEN": "ghp_hidden", "TACHO_GITHUB_API": "https://h/api/v3"}))
	if err != nil {
		t.Fatal(err)
	}
	want := []Poller{
		{
			Name: "rust-master", Kind: GitHubCommits, Suite: "rustc", Repository: "rust-lang/rust",
			Interval: Duration(2 * time.Minute), Horizon: Duration(29 * 24 * time.Hour), Backlog: 2,
		},
		{
			Name: "go-releases", Kind: GoVersions, Suite: "go", URL: "https://proxy.golang.org/golang.org/toolchain/@v/list",
			Interval: Duration(time.Hour), Keep: 5, Account: "robot", Queue: "bisect", Priority: "low",
		},
		{
			Name: "own", Kind: GitCommits, Suite: "go", URL: "/srv/code.git", Definitions: DefinitionsTree, Path: "bench/go.toml",
			Interval: Duration(2 * time.Minute), Horizon: Duration(29 * 24 * time.Hour), Backlog: 2,
		},
		{
			Name: "suite-main", Kind: Definitions, Suite: "go", URL: "/srv/suites.git", Branch: "main", Path: "bench/go.toml",
			Serves: ServesBranch, Interval: Duration(2 * time.Minute),
		},
		{
			Name: "suite-all", Kind: Definitions, Suite: "go", Repository: "a/b", Path: "go.toml", Serves: ServesAll, Interval: Duration(2 * time.Minute),
		},
	}
	if diff := cmp.Diff(want, c.Pollers); diff != "" {
		t.Error(diff)
	}
	if main, all := c.Pollers[3], c.Pollers[4]; main.ServedBranch() != "main" || all.ServedBranch() != "" ||
		main.Place() != "/srv/suites.git main bench/go.toml" || all.Place() != "a/b go.toml" {
		t.Errorf("%q %q %q %q", main.ServedBranch(), main.Place(), all.ServedBranch(), all.Place())
	}
	if c.GitHub.Token != "ghp_hidden" || c.GitHub.API != "https://h/api/v3" {
		t.Errorf("%+v", c.GitHub)
	}
	shown, err := c.Redacted().TOML()
	if err != nil || strings.Contains(string(shown), "ghp_hidden") || c.Redacted().GitHub.Token != "" {
		t.Errorf("%v\n%s", err, shown)
	}
	again, err := Load(file(t, string(shown)), env(map[string]string{"HOME": "/h"}))
	if err != nil || !cmp.Equal(again.Pollers, c.Pollers) {
		t.Errorf("what is shown is no valid file: %v", err)
	}
}

func TestPollersThatCannotWorkAreRefused(t *testing.T) {
	const head = "[[poller]]\nname = \"a\"\nsuite = \"go\"\n"
	const tree = head + "kind = \"definitions\"\nurl = \"/x\"\npath = \"s.toml\"\n"
	for name, tc := range map[string]struct{ text, want string }{
		"name":                      {"[[poller]]\nname = \"A b\"\n", "poller 1: name"},
		"no suite":                  {"[[poller]]\nname = \"a\"\nkind = \"manifests\"\n", "poller a: suite"},
		"kind":                      {head + "kind = \"svn\"\n", "use github-commits, git-commits, manifests, go-versions or definitions"},
		"unknown key":               {head + "kind = \"manifests\"\nrepo = \"x\"\n", "unknown key"},
		"no repository":             {head + "kind = \"github-commits\"\n", "owner/name"},
		"url of github":             {head + "kind = \"github-commits\"\nrepository = \"a/b\"\nurl = \"https://x\"\n", "github.api"},
		"no url":                    {head + "kind = \"git-commits\"\n", "git remote"},
		"an option as url":          {head + "kind = \"git-commits\"\nurl = \"--upload-pack=x\"\n", "git remote"},
		"a branch that is none":     {head + "kind = \"git-commits\"\nurl = \"/x\"\nbranch = \"-x\"\n", "branch"},
		"password":                  {head + "kind = \"git-commits\"\nurl = \"https://u:secret@h/x\"\n", "credential helper"},
		"token":                     {head + "kind = \"manifests\"\nurl = \"https://secret@h/x\"\n", "credential helper"},
		"no url of a list":          {head + "kind = \"manifests\"\nurl = \"secret\"\n", "https://"},
		"backlog of releases":       {head + "kind = \"manifests\"\nbacklog = 3\n", "keep"},
		"keep of commits":           {head + "kind = \"git-commits\"\nurl = \"/x\"\nkeep = 3\n", "backlog"},
		"candidates of commits":     {head + "kind = \"git-commits\"\nurl = \"/x\"\ncandidates = true\n", "candidates"},
		"repository of a list":      {head + "kind = \"manifests\"\nrepository = \"a/b\"\n", "url instead"},
		"interval":                  {head + "kind = \"manifests\"\ninterval = \"1ms\"\n", "interval"},
		"backlog":                   {head + "kind = \"git-commits\"\nurl = \"/x\"\nbacklog = -1\n", "at least 1"},
		"two of one name":           {head + "kind = \"manifests\"\n" + head + "kind = \"manifests\"\n", "two with this name"},
		"account":                   {head + "kind = \"manifests\"\naccount = \"A b\"\n", "account"},
		"queue":                     {head + "kind = \"manifests\"\nqueue = \"idle\"\n", "meaning of its own"},
		"priority":                  {head + "kind = \"manifests\"\npriority = \"asap\"\n", "use one of vip, high"},
		"path of commits":           {head + "kind = \"git-commits\"\nurl = \"/x\"\npath = \"s.toml\"\n", "path and serves"},
		"tree without path":         {head + "kind = \"git-commits\"\nurl = \"/x\"\ndefinitions = \"tree\"\n", "name the suite file"},
		"tree beyond the root":      {head + "kind = \"git-commits\"\nurl = \"/x\"\ndefinitions = \"tree\"\npath = \"../s.toml\"\n", "name the suite file"},
		"tree of releases":          {head + "kind = \"go-versions\"\ndefinitions = \"tree\"\npath = \"s.toml\"\n", "leave it out"},
		"unknown definitions":       {head + "kind = \"git-commits\"\nurl = \"/x\"\ndefinitions = \"branch\"\npath = \"s.toml\"\n", "use \"tree\""},
		"definitions of nowhere":    {head + "kind = \"definitions\"\npath = \"s.toml\"\n", "name one of them"},
		"definitions of two places": {tree + "repository = \"a/b\"\nserves = \"all\"\n", "name one of them"},
		"definitions by option":     {head + "kind = \"definitions\"\nurl = \"-x\"\npath = \"s.toml\"\nserves = \"all\"\n", "git remote"},
		"definitions by password":   {head + "kind = \"definitions\"\nurl = \"https://u:secret@h/x\"\npath = \"s.toml\"\nserves = \"all\"\n", "credential helper"},
		"no path":                   {head + "kind = \"definitions\"\nurl = \"/x\"\nserves = \"all\"\n", "path"},
		"a path that leads out":     {head + "kind = \"definitions\"\nurl = \"/x\"\npath = \"../s.toml\"\nserves = \"all\"\n", "path"},
		"serves":                    {tree + "serves = \"some\"\n", "use branch or all"},
		"no branch to serve":        {tree, "serves = \"all\""},
		"a branch with spaces":      {tree + "branch = \"a b\"\n", "branch"},
		"backlog of definitions":    {tree + "serves = \"all\"\nbacklog = 3\n", "for artifacts"},
		"account of definitions":    {tree + "serves = \"all\"\naccount = \"x\"\n", "for requests"},
		"candidates of definitions": {tree + "serves = \"all\"\ncandidates = true\n", "candidates"},
		"two for the same branches": {tree + "serves = \"all\"\n" + strings.Replace(tree, "\"a\"", "\"b\"", 1) + "serves = \"all\"\n", "pollers a and b"},
		"the API is no URL":         {"[github]\napi = \"secret\"\n", "github.api"},
		"the API has a user in URL": {"[github]\napi = \"https://secret@h\"\n", "without a user"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Load(file(t, tc.text), env(map[string]string{"HOME": "/h"}))
			if err == nil || !strings.Contains(err.Error(), tc.want) || strings.Contains(err.Error(), "secret") {
				t.Errorf("got %v, want %q in it and no secret", err, tc.want)
			}
		})
	}
	for _, url := range []string{"git@github.com:a/b.git", "ssh://git@h/x", "/srv/x", "https://h/x@y"} {
		if passwordIn(url) {
			t.Errorf("%s is refused", url)
		}
	}
}
