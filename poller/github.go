package poller

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/google/go-github/v62/github"

	"github.com/tachobench/tacho/events"
)

// GitHub is a branch as GitHub's API shows it.
type GitHub struct {
	client      *github.Client
	owner, name string
	branch      string
}

// GitHubConfig says which branch it is and how to reach the API.
type GitHubConfig struct {
	// HTTP should make conditional requests (see Transport): an unchanged answer costs no rate limit.
	HTTP *http.Client
	// API is the base URL; empty is github.com's.
	API string
	// Token may be empty for a public repository; the limit is then 60 requests an hour. Only API's host gets it.
	Token string
	// Repository is "owner/name"; an empty Branch is the default one.
	Repository, Branch string
}

// NewGitHub returns the source. It returns an error for an API that is not a URL, or a repository that is not
// "owner/name".
func NewGitHub(c GitHubConfig) (*GitHub, error) {
	owner, name, ok := strings.Cut(c.Repository, "/")
	if !ok || owner == "" || name == "" || strings.Contains(name, "/") {
		return nil, fmt.Errorf("repository %q: use the form owner/name", c.Repository)
	}
	client := github.NewClient(c.HTTP)
	if c.API != "" {
		base, err := url.Parse(strings.TrimSuffix(c.API, "/") + "/")
		if err != nil || base.Host == "" {
			return nil, fmt.Errorf("the API of GitHub: %q is no URL", clean(c.API))
		}
		client.BaseURL = base
	}
	if c.Token != "" {
		// A redirect may lead to another host, which must not see the token.
		with := *c.HTTP
		with.Transport = &bearer{base: c.HTTP.Transport, host: client.BaseURL.Host, token: c.Token}
		base := client.BaseURL
		client = github.NewClient(&with)
		client.BaseURL = base
	}
	return &GitHub{client: client, owner: owner, name: name, branch: c.Branch}, nil
}

// bearer adds the token to requests to one host.
type bearer struct {
	base        http.RoundTripper
	host, token string
}

// RoundTrip implements http.RoundTripper.
func (b *bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.URL.Host == b.host {
		r = r.Clone(r.Context())
		r.Header.Set("Authorization", "Bearer "+b.token)
	}
	return b.base.RoundTrip(r)
}

// Newest implements Source. The API lists all commits that a branch reaches, by date; Newest picks the first parents
// among them.
func (g *GitHub) Newest(ctx context.Context) iter.Seq2[Artifact, error] {
	return func(yield func(Artifact, error) bool) {
		at := g.branch
		listed := map[string]Artifact{}
		var next string
		for page := 1; page != 0; {
			commits, response, err := g.client.Repositories.ListCommits(ctx, g.owner, g.name, &github.CommitsListOptions{
				SHA: at, ListOptions: github.ListOptions{Page: page, PerPage: 100},
			})
			if err != nil {
				yield(Artifact{}, g.explain(err))
				return
			}
			for _, c := range commits {
				listed[c.GetSHA()] = commitOf(c)
			}
			if page == 1 && len(commits) > 0 {
				// The later pages are those of this commit: a push in between must not shift them.
				next = commits[0].GetSHA()
				at = next
			}
			for {
				a, ok := listed[next]
				if !ok {
					break
				}
				if !yield(a, nil) || a.Parent == "" {
					return
				}
				delete(listed, next)
				next = string(a.Parent)
			}
			page = response.NextPage
		}
		if next == "" {
			yield(Artifact{}, fmt.Errorf("%s/%s has no commits on %s", g.owner, g.name, g.where()))
			return
		}
		yield(Artifact{}, fmt.Errorf("%s/%s: commit %s is missing from the list of %s", g.owner, g.name, next, g.where()))
	}
}

func (g *GitHub) where() string {
	if g.branch == "" {
		return "its default branch"
	}
	return "branch " + g.branch
}

func commitOf(c *github.RepositoryCommit) Artifact {
	a := Artifact{
		Kind: events.Master, Tag: events.Tag(c.GetSHA()), PR: pullRequest(c.GetCommit().GetMessage()),
		At: c.GetCommit().GetCommitter().GetDate().UTC(),
	}
	if len(c.Parents) > 0 {
		a.Parent = events.Tag(c.Parents[0].GetSHA())
	}
	return a
}

// explain makes one kind of error of all limits that the API client knows, and says in words what the other errors
// mean.
func (g *GitHub) explain(err error) error {
	var limited *LimitedError
	var primary *github.RateLimitError
	var secondary *github.AbuseRateLimitError
	var answer *github.ErrorResponse
	host := g.client.BaseURL.Host
	switch {
	case errors.As(err, &limited):
		return limited
	case errors.As(err, &primary):
		return &LimitedError{Host: host, Until: primary.Rate.Reset.Time}
	case errors.As(err, &secondary):
		pause := shortest
		if secondary.RetryAfter != nil {
			pause = *secondary.RetryAfter
		}
		return &LimitedError{Host: host, Until: time.Now().Add(pause)}
	case errors.As(err, &answer) && answer.Response.StatusCode == http.StatusUnauthorized:
		return fmt.Errorf("%s does not accept the token: set another TACHO_GITHUB_TOKEN", host)
	case errors.As(err, &answer) && answer.Response.StatusCode == http.StatusNotFound:
		return fmt.Errorf("%s knows no repository %s/%s with %s, or the token may not see it", host, g.owner, g.name, g.where())
	case errors.As(err, &answer):
		return fmt.Errorf("%s answers %s for %s/%s: %s", host, answer.Response.Status, g.owner, g.name, answer.Message)
	}
	return err
}
