package githubapi_test

import (
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/tachobench/tacho/internal/fakegithub"
	"github.com/tachobench/tacho/internal/githubapi"
)

// The account that writes is the one that GitHub named before, with a token and with an App.
func TestTheClientIsToldWhoItIs(t *testing.T) {
	for _, base := range []string{"", "/api/v3"} {
		w := start(t)
		key, text := fakegithub.NewKey(t)
		bot := w.AddApp(7, "tacho-app", &key.PublicKey)
		installed := githubapi.App{ID: 7, Installation: w.Install(7, repo), Key: text}
		for want, c := range map[*fakegithub.User]githubapi.Config{
			w.bot: {URL: base, Token: "secret"},
			bot:   {URL: base, App: installed, Token: "secret"},
		} {
			client := w.client(t, c)
			self, err := client.Self(t.Context())
			if err != nil || self != (githubapi.Account{ID: want.ID, Login: want.Login}) {
				t.Fatalf("%s: %v, %v", want.Login, self, err)
			}
			made, err := client.CreateComment(t.Context(), repo, 14, "hello")
			if err != nil || !self.Is(made.AuthorID) {
				t.Errorf("%s writes as %+v, %v", self, made, err)
			}
			if found, err := client.Comment(t.Context(), repo, made.ID); err != nil || found != made {
				t.Errorf("%+v, %v, want %+v", found, err, made)
			}
			if _, err := client.Comment(t.Context(), repo, made.ID+1000); !githubapi.IsMissing(err) {
				t.Errorf("a comment that is not there: %v", err)
			}
		}
	}
	if nobody := (githubapi.Account{}); nobody.Is(0) || nobody.Is(7) {
		t.Error("nobody is somebody")
	}
}

// If GitHub does not say who the client is, the error says which of the credentials it refused.
func TestWhoTheClientIsCannotBeTold(t *testing.T) {
	key, text := fakegithub.NewKey(t)
	_, other := fakegithub.NewKey(t)
	var w world
	token := func(secret string) func() githubapi.Config {
		return func() githubapi.Config { return githubapi.Config{Token: secret} }
	}
	app := func(change func(*githubapi.App)) func() githubapi.Config {
		return func() githubapi.Config {
			a := githubapi.App{ID: 7, Installation: w.Install(7, repo), Key: text}
			change(&a)
			return githubapi.Config{App: a}
		}
	}
	fine := app(func(*githubapi.App) {})
	for name, tc := range map[string]struct {
		config func() githubapi.Config
		path   string
		fault  fakegithub.Failure
		kind   githubapi.Kind
		says   string
	}{
		"no credentials":       {token(""), "/nothing", fakegithub.Drop(), githubapi.Unauthorized, "no credentials"},
		"a wrong token":        {token("wrong"), "/nothing", fakegithub.Drop(), githubapi.Unauthorized, "Bad credentials"},
		"no such call":         {token("secret"), "/user", fakegithub.Status(404), githubapi.Missing, "ask for the account of the token"},
		"forbidden":            {token("secret"), "/user", fakegithub.Status(403), githubapi.Refused, "ask for the account of the token"},
		"GitHub is broken":     {token("secret"), "/user", fakegithub.Status(502), githubapi.Fault, "ask for the account of the token"},
		"no answer":            {token("secret"), "/user", fakegithub.Drop(), githubapi.Fault, "ask for the account of the token"},
		"garbage":              {token("secret"), "/user", fakegithub.Garbage(), githubapi.Fault, "ask for the account of the token"},
		"a limit":              {token("secret"), "/user", fakegithub.SecondaryLimit(time.Minute), githubapi.Limited, "limit"},
		"another App":          {app(func(a *githubapi.App) { a.ID = 8 }), "/nothing", fakegithub.Drop(), githubapi.Missing, "Integration not found"},
		"another key":          {app(func(a *githubapi.App) { a.Key = other }), "/nothing", fakegithub.Drop(), githubapi.Unauthorized, "name of the App"},
		"another installation": {app(func(a *githubapi.App) { a.Installation = 99 }), "/nothing", fakegithub.Drop(), githubapi.Unauthorized, "installation 99 of the App gets no token: status 404"},
		"no token now":         {fine, "/app/installations/*/access_tokens", fakegithub.Status(500), githubapi.Fault, "gets no token: status 500"},
		"a limit of tokens":    {fine, "/app/installations/*/access_tokens", fakegithub.SecondaryLimit(time.Minute), githubapi.Limited, "secondary"},
		"no such account":      {fine, "/users/*", fakegithub.Status(404), githubapi.Missing, "read the account tacho-app[bot]"},
	} {
		t.Run(name, func(t *testing.T) {
			w = start(t)
			w.AddApp(7, "tacho-app", &key.PublicKey)
			w.Break(fakegithub.Fault{Path: tc.path, Do: tc.fault})
			self, err := w.client(t, tc.config()).Self(t.Context())
			failed, ok := errors.AsType[*githubapi.Error](err)
			if !ok || failed.Kind != tc.kind || !strings.Contains(err.Error(), tc.says) || self != (githubapi.Account{}) {
				t.Errorf("%v, %v, want %s and %q", self, err, tc.kind, tc.says)
			}
			if tc.kind == githubapi.Limited && (failed == nil || failed.RetryAfter < 50*time.Second) {
				t.Errorf("after %+v", failed)
			}
		})
	}
	t.Run("the token of an installation", func(t *testing.T) {
		w = start(t)
		w.AddApp(7, "tacho-app", &key.PublicKey)
		_, err := w.client(t, githubapi.Config{Token: w.InstallationToken(w.Install(7))}).Self(t.Context())
		wantKind(t, "it", err, githubapi.Unauthorized, 0)
	})
}

// An account without a number or a name is no account.
func TestAnAnswerThatNamesNobodyIsAFault(t *testing.T) {
	for _, body := range []string{`{}`, `null`, ``, `{"login":"tacho"}`, `{"id":7}`, `{"id":-7,"login":"tacho"}`} {
		c, _ := odd(t, http.StatusOK, body)
		_, err := c.Self(t.Context())
		wantKind(t, "self "+body, err, githubapi.Fault, 0)
		_, err = c.Comment(t.Context(), repo, 7)
		if body != `{"id":7}` {
			wantKind(t, "comment "+body, err, githubapi.Fault, 0)
		}
	}
}
