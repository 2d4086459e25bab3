package node

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"slices"
	"time"

	"github.com/tachobench/tacho/config"
	"github.com/tachobench/tacho/internal/githubapi"
	"github.com/tachobench/tacho/internal/retry"
	"github.com/tachobench/tacho/internal/usage"
)

// gitHub returns the client that the configuration describes.
func gitHub(c config.GitHub) (*githubapi.Client, error) {
	conf := githubapi.Config{URL: c.API, Token: c.Token}
	if c.App.ID != 0 {
		key, err := os.ReadFile(c.App.KeyFile)
		if err != nil {
			return nil, fmt.Errorf("github.app.key_file: %w", err)
		}
		conf.App = githubapi.App{ID: c.App.ID, Installation: c.App.Installation, Key: key}
	}
	return githubapi.New(conf)
}

// writesComments reports whether anything is written on GitHub.
func writesComments(c config.GitHub) bool { return !c.DryRun && (c.Token != "" || c.App.ID != 0) }

// howWritten says whether comments are written, and as which account.
func howWritten(c config.GitHub, self githubapi.Account) string {
	if !writesComments(c) {
		return "comments are shown on the page /github and not written"
	}
	return "comments are written as " + self.String()
}

// identify finds out which account comments are written as, before anything is written or any command is read. It waits for
// GitHub as for other servers, with growing pauses, but does not try again what GitHub refuses. If nothing is written it does
// not ask, and the account has no login.
func (h *Host) identify(ctx context.Context) (githubapi.Account, error) {
	c := h.Config.GitHub
	if !writesComments(c) {
		return githubapi.Account{ID: c.BotID}, nil
	}
	api, err := gitHub(c)
	if err != nil {
		return githubapi.Account{}, err
	}
	w := newWaiting(h.Config.StartWait.Std(), h.Say)
	pauses := retry.Pauses(tryEvery, tryTimeout)
	for {
		self, err := askWho(ctx, api, c)
		var failed *githubapi.Error
		switch {
		case err == nil:
			return self, nil
		case ctx.Err() != nil:
			return githubapi.Account{}, ctx.Err()
		case !errors.As(err, &failed) || !failed.Temporary():
			return githubapi.Account{}, err
		case failed.RetryAfter > w.left() || !w.goesOn("GitHub does not say which account comments are written as"):
			return githubapi.Account{}, err
		}
		// The last try comes at the end of the time, not before.
		if !retry.Sleep(ctx, min(max(pauses.NextBackOff(), failed.RetryAfter), w.left())) {
			return githubapi.Account{}, ctx.Err()
		}
	}
}

// askWho asks GitHub once which account comments are written as, and compares the configuration with the answer.
func askWho(ctx context.Context, api *githubapi.Client, c config.GitHub) (githubapi.Account, error) {
	try, cancel := context.WithTimeout(ctx, tryTimeout)
	defer cancel()
	self, err := api.Self(try)
	switch {
	case err != nil:
		return githubapi.Account{}, fmt.Errorf("it is not known which account comments are written as (%w): %s", err, nextStep(c, err))
	case c.BotID != 0 && !self.Is(c.BotID):
		return githubapi.Account{}, usage.Errorf("github.bot_id is %d, but GitHub says that the credentials belong to %s: correct github.bot_id, or leave it out; "+
			"or give the credentials of the other account", c.BotID, self)
	case slices.Contains(c.MergeBots, self.ID):
		return githubapi.Account{}, usage.Errorf("github.merge_bots names %d, but comments are written as %s, and Tacho does not obey what it writes itself: "+
			"give Tacho an account of its own, or remove the number", self.ID, self)
	}
	return self, nil
}

// nextStep says what to do if GitHub does not say which account ours is.
func nextStep(c config.GitHub, err error) string {
	var failed *githubapi.Error
	if !errors.As(err, &failed) || failed.Kind == githubapi.Fault {
		return "check github.api (TACHO_GITHUB_API), and that it can be reached from here; with github.dry_run Tacho asks nothing and writes nothing"
	}
	if failed.Kind == githubapi.Limited {
		return fmt.Sprintf("start again in %s", failed.RetryAfter.Round(time.Second))
	}
	switch {
	case c.App.ID != 0:
		return "check github.app.id, github.app.installation, the key in github.app.key_file and the clock of this machine; " +
			"and that the App is installed on the repository"
	case failed.Status == http.StatusUnauthorized:
		return "the token in TACHO_GITHUB_TOKEN is wrong, expired or revoked: make another one"
	case failed.Status == http.StatusForbidden && failed.Kind == githubapi.Unauthorized:
		return "the token in TACHO_GITHUB_TOKEN belongs to an installation, as in a run of Actions, or its organisation does not admit it: " +
			"configure github.app, or use a token of the bot's own account"
	case failed.Kind == githubapi.Missing:
		return "check github.api (TACHO_GITHUB_API): the URL of an enterprise server ends with /api/v3"
	}
	return "check the account of the token in TACHO_GITHUB_TOKEN, and its permissions"
}
