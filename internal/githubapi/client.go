// Package githubapi is the port to GitHub: the few calls that Tacho makes, and what their failures mean.
//
// It is go-github with three decisions. Who we are: a GitHub App, a token, or no account (which may read public
// repositories, slowly). Where GitHub is: github.com or an enterprise server. And what a failure means: an [Error]
// tells apart a limit, a refusal and a fault that may pass, and it says whether a failed write may have been done
// nevertheless.
package githubapi

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/bradleyfalzon/ghinstallation/v2"
	"github.com/google/go-github/v62/github"
)

// Public is the API of github.com.
const Public = "https://api.github.com/"

// Config says which account the client uses and where GitHub is.
type Config struct {
	// URL is the base of the API: empty for github.com, else a URL such as https://github.example.com/api/v3.
	URL string
	// Token is a personal or installation access token.
	Token string
	// App is used instead of a token when its ID is set.
	App App
	// Timeout bounds one call; 0 is 30 seconds.
	Timeout time.Duration
	// Transport carries the calls; nil is http.DefaultTransport.
	Transport http.RoundTripper
}

// App is an installed GitHub App.
type App struct {
	ID           int64
	Installation int64
	// Key is its private key in PEM.
	Key []byte
}

// Client makes calls to GitHub. Any number of goroutines may use it.
type Client struct {
	api *github.Client
	// app makes calls as the App itself, which may do little more than say who it is; nil for a token.
	app *github.Client
	// graphql is the URL of GraphQL, beside the REST API.
	graphql string
	// timeout bounds one call.
	timeout time.Duration
	// may is set if the client has credentials, without which GitHub accepts no writes.
	may bool
}

// New returns a client. It does not call GitHub. It returns an error for a URL or a key that cannot be used.
func New(c Config) (*Client, error) {
	base, err := parseBase(c.URL)
	if err != nil {
		return nil, err
	}
	transport := c.Transport
	if transport == nil {
		transport = http.DefaultTransport
	}
	var app *github.Client
	if c.App.ID != 0 {
		itself, err := ghinstallation.NewAppsTransport(transport, c.App.ID, c.App.Key)
		if err != nil {
			// The library's error might quote the key.
			return nil, errors.New("the key of the GitHub App cannot be used: give the private key as GitHub made it, in PEM")
		}
		app = github.NewClient(&http.Client{Transport: itself})
		app.BaseURL = base
		installed := ghinstallation.NewFromAppsTransport(itself, c.App.Installation)
		installed.BaseURL = strings.TrimSuffix(base.String(), "/")
		transport = installed
	}
	timeout := c.Timeout
	if timeout == 0 {
		timeout = 30 * time.Second
	}
	api := github.NewClient(&http.Client{Transport: transport})
	if c.Token != "" && c.App.ID == 0 {
		api = api.WithAuthToken(c.Token)
	}
	api.BaseURL = base
	return &Client{api: api, app: app, graphql: graphqlOf(base), timeout: timeout, may: c.App.ID != 0 || c.Token != ""}, nil
}

// within returns a context with the time limit of one call.
func (c *Client) within(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(ctx, c.timeout)
}

func parseBase(text string) (*url.URL, error) {
	if text == "" {
		text = Public
	}
	base, err := url.Parse(text)
	if err != nil || base.Host == "" || base.Scheme != "https" && base.Scheme != "http" || base.User != nil {
		return nil, fmt.Errorf("%q is not the URL of a GitHub API: write it as https://github.example.com/api/v3, without a user", text)
	}
	if !strings.HasSuffix(base.Path, "/") {
		base.Path += "/"
	}
	return base, nil
}

// graphqlOf returns the URL of GraphQL: beside /api/v3 on an enterprise server, below the root elsewhere.
func graphqlOf(base *url.URL) string {
	u := *base
	u.Path = strings.TrimSuffix(u.Path, "v3/") + "graphql"
	return u.String()
}
