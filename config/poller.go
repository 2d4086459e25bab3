package config

import (
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"strings"
	"time"

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
)

// Poller is a source whose new artifacts become requests.
type Poller struct {
	// Name names the source in events, alerts and metrics. Never reuse a name for another source.
	Name string     `toml:"name" json:"name"`
	Kind PollerKind `toml:"kind" json:"kind"`
	// Suite is the suite that measures the artifacts.
	Suite events.SuiteName `toml:"suite" json:"suite"`
	// Repository is "owner/name" on GitHub (github-commits).
	Repository string `toml:"repository" json:"repository,omitempty"`
	// URL is the git remote (git-commits), or the list of releases; the lists have defaults. It must not hold a
	// password: use a credential helper of git.
	URL string `toml:"url" json:"url,omitempty"`
	// Branch is the branch of the commits; empty means the default branch.
	Branch string `toml:"branch" json:"branch,omitempty"`
	// Interval is the pause between two polls: 2m for commits, 1h for releases.
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

// Commits reports whether the source has commits rather than releases.
func (p Poller) Commits() bool { return p.Kind == GitHubCommits || p.Kind == GitCommits }

// Place is what a person calls the source: the repository or URL, and the branch.
func (p Poller) Place() string {
	place := p.URL
	if p.Kind == GitHubCommits {
		place = p.Repository
	}
	if p.Branch != "" {
		place += " " + p.Branch
	}
	return place
}

func (p Poller) withDefaults() Poller {
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
	default:
		return fmt.Errorf("kind %q: use %s, %s, %s or %s", p.Kind, GitHubCommits, GitCommits, Manifests, GoVersions)
	}
	switch {
	case passwordIn(p.URL):
		return errors.New("url: a password or token has no place in the configuration; give git a credential helper, or a key to ssh")
	case p.Kind != GitHubCommits && p.Repository != "":
		return fmt.Errorf("repository: kind %s has a url instead", p.Kind)
	case !p.Commits() && (p.Branch != "" || p.Horizon != 0 || p.Backlog != 0):
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
