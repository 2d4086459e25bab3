package config

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"regexp"
	"strings"
	"time"
	"unicode"

	"github.com/tachobench/tacho/events"
)

// PollerKind is the closed set of kinds of sources to poll.
type PollerKind string

// The kinds of sources.
const (
	// GitHubCommits are the commits of a branch, from the API of GitHub.
	GitHubCommits PollerKind = "github-commits"
	// GitCommits are the commits of a branch of any git remote.
	GitCommits PollerKind = "git-commits"
	// Manifests are the releases in a list of channel manifests of Rust.
	Manifests PollerKind = "manifests"
	// GoVersions are the releases of Go.
	GoVersions PollerKind = "go-versions"
	// Definitions are the definitions of a suite: a file in a repository that is published when it changes.
	Definitions PollerKind = "definitions"
)

// Serves is the closed set of branches that definitions of a repository are for.
type Serves string

// For which branches definitions are.
const (
	// ServesBranch: requests of the branch that has the name of the polled one.
	ServesBranch Serves = "branch"
	// ServesAll: all branches that have no definitions of their own.
	ServesAll Serves = "all"
)

// Poller is a source whose new artifacts become requests, or whose definitions are published.
type Poller struct {
	// Name names the source in events, alerts and metrics. Never reuse a name for another source.
	Name string     `toml:"name" json:"name"`
	Kind PollerKind `toml:"kind" json:"kind"`
	// Suite is the suite that measures the artifacts. A file of definitions must have this name.
	Suite events.SuiteName `toml:"suite" json:"suite"`
	// Repository is "owner/name" on GitHub (github-commits, definitions).
	Repository string `toml:"repository" json:"repository,omitempty"`
	// URL is the git remote (git-commits, definitions), or the list of releases; the lists have defaults. It must not
	// hold a password: use a credential helper of git.
	URL string `toml:"url" json:"url,omitempty"`
	// Branch is the branch of the commits, or of the file of definitions; empty means the default branch.
	Branch string `toml:"branch" json:"branch,omitempty"`
	// Path is where the repository has the file of definitions (definitions, and commits with definitions = "tree").
	Path string `toml:"path,omitempty" json:"path,omitempty"`
	// Definitions is "tree" if each request takes the suite file that its own commit has at Path (git-commits,
	// github-commits); empty for the definitions that its branch uses.
	Definitions string `toml:"definitions,omitempty" json:"definitions,omitempty"`
	// Serves says for which branches the definitions are. Default: for the branch that they are read from.
	Serves Serves `toml:"serves,omitempty" json:"serves,omitempty"`
	// SealKey is a file with a private key, as `tacho seal key` makes it, with which the definitions are sealed: then everything
	// that is merged there counts as published by that key. Empty seals none.
	SealKey string `toml:"seal_key,omitempty" json:"seal_key,omitempty"`
	// Interval is the pause between two polls: 2m for commits and definitions, 1h for releases.
	Interval Duration `toml:"interval" json:"interval"`
	// Horizon is the age above which commits are ignored. Default: 29 days, because CI keeps its artifacts no longer.
	Horizon Duration `toml:"horizon" json:"horizon,omitempty"`
	// Backlog is how many commits, counted from the tip, become requests when a branch is polled for the first time.
	// The default is 2, the newest and its parent: that gives a first comparison soon, instead of weeks of the past
	// first.
	Backlog int `toml:"backlog" json:"backlog,omitempty"`
	// Keep is how many of the newest releases become requests. Default: 20.
	Keep int `toml:"keep" json:"keep,omitempty"`
	// Candidates includes release candidates and betas of Go.
	Candidates bool `toml:"candidates" json:"candidates,omitempty"`
	// Account is the account that the requests are charged to; empty for none. Queue is where they wait: by default the
	// account's own queue or, without an account, the main one. Priority is that of the requests; default: normal.
	Account  events.AccountName `toml:"account,omitempty" json:"account,omitempty"`
	Queue    events.QueueName   `toml:"queue,omitempty" json:"queue,omitempty"`
	Priority events.Priority    `toml:"priority,omitempty" json:"priority,omitempty"`
}

// DefinitionsTree says that each request takes the suite file of its own commit.
const DefinitionsTree = "tree"

// Commits reports whether the source has commits rather than releases.
func (p Poller) Commits() bool { return p.Kind == GitHubCommits || p.Kind == GitCommits }

// Place is what a person calls the source: the repository or URL, the branch, and the path of a file.
func (p Poller) Place() string {
	place := cmp.Or(p.Repository, p.URL)
	if p.Branch != "" {
		place += " " + p.Branch
	}
	if p.Path != "" {
		place += " " + p.Path
	}
	return place
}

// ServedBranch is the branch that uses the definitions; empty for all that have none of their own.
func (p Poller) ServedBranch() string {
	if p.Serves == ServesAll {
		return ""
	}
	return p.Branch
}

func (p Poller) withDefaults() Poller {
	if p.Kind == Definitions {
		p.Interval, p.Serves = cmp.Or(p.Interval, Duration(2*time.Minute)), cmp.Or(p.Serves, ServesBranch)
		return p
	}
	interval, text, number := time.Hour, map[PollerKind]string{
		Manifests:  "https://static.rust-lang.org/manifests.txt",
		GoVersions: "https://proxy.golang.org/golang.org/toolchain/@v/list",
	}, &p.Keep
	fallback := 20
	if p.Commits() {
		interval, number, fallback = 2*time.Minute, &p.Backlog, 2
		if p.Horizon == 0 {
			p.Horizon = Duration(29 * 24 * time.Hour)
		}
	}
	if p.Interval == 0 {
		p.Interval = Duration(interval)
	}
	if *number == 0 {
		*number = fallback
	}
	if p.URL == "" {
		p.URL = text[p.Kind]
	}
	return p
}

var (
	repositoryPattern = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9-]*/[A-Za-z0-9._-]+$`)
	branchPattern     = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9._/+@-]*$`)
)

func checkPollers(pollers []Poller) error {
	seen := map[string]bool{}
	for i, p := range pollers {
		if err := events.CheckToken("name", p.Name); err != nil {
			return fmt.Errorf("poller %d: %w", i+1, err)
		}
		if seen[p.Name] {
			return fmt.Errorf("poller %s: there are two with this name", p.Name)
		}
		seen[p.Name] = true
		if err := p.check(); err != nil {
			return fmt.Errorf("poller %s: %w", p.Name, err)
		}
	}
	return checkServed(pollers)
}

// checkServed refuses two files of definitions for one branch: each poll would replace what the other one published.
func checkServed(pollers []Poller) error {
	type served struct {
		suite  events.SuiteName
		branch string
	}
	by := map[served]string{}
	for _, p := range pollers {
		if p.Kind != Definitions {
			continue
		}
		at := served{p.Suite, p.ServedBranch()}
		if other, taken := by[at]; taken {
			return fmt.Errorf("pollers %s and %s: both publish definitions of suite %s for the same branches; remove one, or change its suite, branch or serves",
				other, p.Name, p.Suite)
		}
		by[at] = p.Name
	}
	return nil
}

// check returns an error that names the first invalid key. It never repeats a URL, because that may hold a password.
func (p Poller) check() error {
	if err := events.CheckToken("suite", string(p.Suite)); err != nil {
		return err
	}
	switch p.Kind {
	case GitHubCommits:
		if !repositoryPattern.MatchString(p.Repository) {
			return fmt.Errorf("repository %q: use the form owner/name", p.Repository)
		}
		if p.URL != "" {
			return fmt.Errorf("url: kind %s has a repository instead; github.api says where GitHub is", p.Kind)
		}
	case GitCommits:
		if p.URL == "" || strings.HasPrefix(p.URL, "-") {
			return errors.New("url: name the git remote")
		}
	case Manifests, GoVersions:
		if u, err := url.Parse(p.URL); err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" {
			return errors.New("url: write it as https://…")
		}
	case Definitions:
		if err := p.checkDefinitions(); err != nil {
			return err
		}
	default:
		return fmt.Errorf("kind %q: use %s, %s, %s, %s or %s", p.Kind, GitHubCommits, GitCommits, Manifests, GoVersions, Definitions)
	}
	switch {
	case passwordIn(p.URL):
		return errors.New("url: a password or token has no place in the configuration; give git a credential helper, or a key to ssh")
	case p.Definitions != "" && (!p.Commits() || p.Definitions != DefinitionsTree):
		return fmt.Errorf("definitions %q: use %q, for kinds %s and %s, or leave it out", p.Definitions, DefinitionsTree, GitHubCommits, GitCommits)
	case p.Definitions != "" && !isPath(p.Path):
		return wrongPath(p.Path)
	case p.Kind != Definitions && (p.Path != "" && p.Definitions == "" || p.Serves != ""):
		return fmt.Errorf("path and serves are for kind %s; commits have a path with definitions = %q", Definitions, DefinitionsTree)
	case p.Kind != Definitions && p.Definitions == "" && p.SealKey != "":
		return fmt.Errorf("seal_key is for kind %s, and for commits with definitions = %q", Definitions, DefinitionsTree)
	case p.Kind != GitHubCommits && p.Kind != Definitions && p.Repository != "":
		return fmt.Errorf("repository: kind %s has a url instead", p.Kind)
	case !p.Commits() && p.Kind != Definitions && (p.Branch != "" || p.Horizon != 0 || p.Backlog != 0):
		return fmt.Errorf("branch, horizon and backlog are for commits; kind %s has keep", p.Kind)
	case p.Commits() && p.Keep != 0:
		return fmt.Errorf("keep is for releases; kind %s has horizon and backlog", p.Kind)
	case p.Candidates && p.Kind != GoVersions:
		return fmt.Errorf("candidates is for kind %s", GoVersions)
	case p.Branch != "" && (!branchPattern.MatchString(p.Branch) || strings.Contains(p.Branch, "..")):
		return fmt.Errorf("branch %q is not the name of a branch", p.Branch)
	case p.Interval.Std() < time.Second:
		return errors.New("interval: at least 1s")
	case p.Horizon < 0:
		return errors.New("horizon: above 0")
	case p.Backlog < 0 || p.Keep < 0:
		return errors.New("backlog and keep: at least 1")
	}
	return p.checkShare()
}

// isPath reports whether a repository can have a suite file at a path.
func isPath(path string) bool {
	return fs.ValidPath(path) && path != "." && len(path) <= 500 && !strings.ContainsFunc(path, unicode.IsControl)
}

func wrongPath(path string) error {
	return fmt.Errorf("path %q: name the suite file from the root of the repository, such as bench/suite.toml", path)
}

// checkDefinitions checks where a file of definitions is and whom it serves.
func (p Poller) checkDefinitions() error {
	switch {
	case (p.Repository == "") == (p.URL == ""):
		return errors.New("repository or url: name one of them, a repository of GitHub as owner/name or any git remote as url")
	case p.Repository != "" && !repositoryPattern.MatchString(p.Repository):
		return fmt.Errorf("repository %q: use the form owner/name", p.Repository)
	case strings.HasPrefix(p.URL, "-"):
		return errors.New("url: name the git remote")
	case !isPath(p.Path):
		return wrongPath(p.Path)
	case p.Serves != ServesBranch && p.Serves != ServesAll:
		return fmt.Errorf("serves %q: use %s or %s", p.Serves, ServesBranch, ServesAll)
	case p.Serves == ServesBranch && p.Branch == "":
		return fmt.Errorf("branch: name it, because the definitions are for the branch of that name; or say serves = %q", ServesAll)
	case p.Horizon != 0 || p.Backlog != 0 || p.Keep != 0:
		return fmt.Errorf("horizon, backlog and keep are for artifacts; kind %s has none", p.Kind)
	case p.Account != "" || p.Queue != "" || p.Priority != "":
		return fmt.Errorf("account, queue and priority are for requests; kind %s makes none", p.Kind)
	case p.Branch != "":
		return events.CheckBranch(p.Branch)
	}
	return nil
}

// checkShare checks for whom and how urgently the poller asks.
func (p Poller) checkShare() error {
	if p.Account != "" {
		if err := events.CheckAccount(p.Account); err != nil {
			return err
		}
	}
	if p.Queue != "" && p.Queue != events.MainQueue {
		if err := events.CheckQueue(p.Queue); err != nil {
			return err
		}
	}
	_, err := events.ParsePriority(string(p.Priority))
	return err
}

// passwordIn reports whether a URL holds a password, or is the URL of a web server with a user. The user of ssh is no
// secret.
func passwordIn(text string) bool {
	scheme, rest, ok := strings.Cut(text, "://")
	if !ok {
		return false
	}
	authority, _, _ := strings.Cut(rest, "/")
	user, _, found := strings.Cut(authority, "@")
	return found && (strings.HasPrefix(scheme, "http") || strings.Contains(user, ":"))
}
