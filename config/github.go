package config

import (
	"errors"
	"fmt"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/tachobench/tacho/events"
)

// GitHub says where GitHub is, which account uses it, and whose commands the bot obeys.
type GitHub struct {
	// API is the base URL of the API; empty means github.com. An enterprise server has https://HOST/api/v3.
	API string `toml:"api" json:"api"`
	// Token is the account that asks. Without a token Tacho can only read public repositories, 60 times an hour, and
	// writes nothing: the page /github shows what it would write.
	Token string `toml:"-" json:"-"`
	// App is used instead of a token when its id is set.
	App GitHubApp `toml:"app" json:"app"`
	// DryRun writes nothing to GitHub, with any credentials.
	DryRun bool `toml:"dry_run" json:"dry_run"`

	// Repo is the repository whose pull requests get comments, "owner/name". Without it neither webhook nor reporter
	// runs.
	Repo events.RepoName `toml:"repo" json:"repo"`
	// Suite is the suite for requests from comments; default: the first of suites.
	Suite events.SuiteName `toml:"suite" json:"suite"`
	// Site is the URL under which people reach the website, for links in comments. Default: the address that it listens
	// on, which other machines may not reach. Behind a proxy on the same machine the website only answers to this name
	// and to names without a dot.
	Site string `toml:"site" json:"site"`

	// Secret is the secret that GitHub signs deliveries with. SecretFile is a file that holds it. Without a secret the
	// webhook does not start.
	Secret     string `toml:"-" json:"-"`
	SecretFile string `toml:"secret_file" json:"secret_file"`
	// Hook is GitHub's number of the webhook. With it Tacho asks GitHub for failed deliveries again.
	Hook int64 `toml:"hook" json:"hook"`

	// Bot is the name that people write after an "@". BotID is GitHub's number of the account that writes the comments;
	// default: the account of the credentials, as GitHub reports it. If both are known and differ, nothing starts.
	// BotID is optional. Set it if Tacho writes nothing, so that the bot still ignores that account.
	Bot   string `toml:"bot" json:"bot"`
	BotID int64  `toml:"bot_id" json:"bot_id"`
	// MergeBots are GitHub's numbers of the accounts whose messages about try builds the bot trusts.
	MergeBots []int64 `toml:"merge_bots" json:"merge_bots"`
	// TryBranches are the branches whose check suites and workflow runs report try builds, if no merge bot does.
	TryBranches []string `toml:"try_branches" json:"try_branches"`
	// Associations are the associations with the repository, in GitHub's words, that allow a person to give commands.
	// Users are accounts that may always give commands. UsersURL is a document with more such accounts: a JSON list of
	// numbers, or an object with such a list under "github_ids".
	Associations []string `toml:"associations" json:"associations"`
	Users        []int64  `toml:"users" json:"users"`
	UsersURL     string   `toml:"users_url" json:"users_url"`
	// Accounts makes each person who gives a command an account of their own, gh-LOGIN in lower case: their requests are
	// charged to it. Default: false, requests from comments are charged to no account.
	Accounts bool `toml:"accounts,omitempty" json:"accounts,omitempty"`
	// Labels are the labels for pull requests; an empty one is not set.
	Labels GitHubLabels `toml:"labels" json:"labels"`
}

// GitHubApp is an installed GitHub App.
type GitHubApp struct {
	ID           int64 `toml:"id" json:"id"`
	Installation int64 `toml:"installation" json:"installation"`
	// KeyFile is a file with its private key, in PEM.
	KeyFile string `toml:"key_file" json:"key_file"`
}

// GitHubLabels are the labels that the bot sets.
type GitHubLabels struct {
	// Waiting marks a pull request from the command until the report.
	Waiting string `toml:"waiting" json:"waiting"`
	// Regression marks a pull request whose report says that a person should look at it.
	Regression string `toml:"regression" json:"regression"`
}

func defaultGitHub() GitHub {
	return GitHub{Bot: "tacho", Associations: []string{"OWNER", "MEMBER", "COLLABORATOR"}}
}

// environment reads the variables that override the file.
func (g *GitHub) environment(getenv func(string) string) error {
	for name, field := range map[string]*string{
		"TACHO_GITHUB_API": &g.API, "TACHO_GITHUB_TOKEN": &g.Token, "TACHO_WEBHOOK_SECRET": &g.Secret, "TACHO_BOT": &g.Bot,
	} {
		if v := getenv(name); v != "" {
			*field = v
		}
	}
	g.Token, g.Secret = strings.TrimSpace(g.Token), strings.TrimRight(g.Secret, "\r\n")
	if v := getenv("TACHO_GITHUB_REPO"); v != "" {
		g.Repo = events.RepoName(v)
	}
	if v := getenv("TACHO_MERGE_BOT_ID"); v != "" {
		id, err := strconv.ParseInt(v, 10, 64)
		if err != nil || id <= 0 {
			return errors.New("TACHO_MERGE_BOT_ID: give GitHub's number of the account")
		}
		g.MergeBots = []int64{id}
	}
	return nil
}

var botName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9-]{0,38}$`)

func (g GitHub) check() error {
	for key, text := range map[string]string{
		"github.api (TACHO_GITHUB_API)": g.API, "github.site": g.Site, "github.users_url": g.UsersURL,
	} {
		if err := checkURL(text); err != nil {
			return fmt.Errorf("%s: %w", key, err)
		}
	}
	if g.Repo != "" {
		if err := events.CheckRepo(g.Repo); err != nil {
			return fmt.Errorf("github.repo (TACHO_GITHUB_REPO): %w", err)
		}
	}
	known := []string{"OWNER", "MEMBER", "COLLABORATOR", "CONTRIBUTOR", "FIRST_TIME_CONTRIBUTOR", "FIRST_TIMER", "MANNEQUIN", "NONE"}
	for _, a := range g.Associations {
		if !slices.Contains(known, a) {
			return fmt.Errorf("github.associations: %q is none of %s", a, strings.Join(known, ", "))
		}
	}
	switch {
	case !botName.MatchString(g.Bot):
		return errors.New("github.bot (TACHO_BOT): use the name of a GitHub account, without the \"@\"")
	case g.App != (GitHubApp{}) && (g.App.ID <= 0 || g.App.Installation <= 0 || g.App.KeyFile == ""):
		return errors.New("github.app: it needs id, installation and key_file")
	case slices.ContainsFunc(g.MergeBots, notNumbered) || slices.ContainsFunc(g.Users, notNumbered):
		return errors.New("github.merge_bots and github.users: use GitHub's numbers of accounts; all are above 0")
	case g.Hook < 0 || g.BotID < 0:
		return errors.New("github.hook and github.bot_id: use GitHub's numbers, or 0 for none")
	}
	if g.Suite != "" {
		if err := events.CheckToken("suite", string(g.Suite)); err != nil {
			return fmt.Errorf("github.suite: %w", err)
		}
	}
	return nil
}

func notNumbered(id int64) bool { return id <= 0 }

func checkURL(text string) error {
	if text == "" {
		return nil
	}
	u, err := url.Parse(text)
	if err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" || u.User != nil {
		return errors.New("write it as https://host/path, without a user")
	}
	return nil
}

// WebhookSecret returns the secret that deliveries are signed with, from the variable or the file; empty when there is
// neither.
func (g GitHub) WebhookSecret() ([]byte, error) {
	if g.Secret != "" || g.SecretFile == "" {
		return []byte(g.Secret), nil
	}
	text, err := os.ReadFile(g.SecretFile)
	if err != nil {
		return nil, fmt.Errorf("github.secret_file: %w", err)
	}
	secret := strings.TrimRight(string(text), "\r\n")
	if secret == "" {
		return nil, fmt.Errorf("github.secret_file: %s is empty", g.SecretFile)
	}
	return []byte(secret), nil
}
