package fakegithub

import (
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/google/go-github/v62/github"
)

const appID = 12

// jwt signs the claims of an App.
func jwt(t *testing.T, key *rsa.PrivateKey, claims object) string {
	t.Helper()
	part := func(o object) string { return base64.RawURLEncoding.EncodeToString(encode(o)) }
	text := part(object{"alg": "RS256", "typ": "JWT"}) + "." + part(claims)
	sum := sha256.Sum256([]byte(text))
	signature, err := rsa.SignPKCS1v15(rand.Reader, key, crypto.SHA256, sum[:])
	if err != nil {
		t.Fatal(err)
	}
	return text + "." + base64.RawURLEncoding.EncodeToString(signature)
}

func TestInstallationsGetTokensThatExpire(t *testing.T) {
	now := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	w, ctx := start(t, Config{Clock: func() time.Time { return now }}), t.Context()
	key, _ := NewKey(t)
	bot := w.AddApp(appID, "tacho-app", &key.PublicKey)
	installation := w.Install(appID, fullName)
	w.Repository("other/secret")
	app := client(t, w.Server, "/").WithAuthToken(jwt(t, key, object{"iat": now.Unix() - 60, "exp": now.Unix() + 540, "iss": fmt.Sprint(appID)}))

	found, _, err := app.Apps.FindRepositoryInstallation(ctx, "rust-lang", "rust")
	if err != nil || found.GetID() != installation {
		t.Fatalf("got %v, %v", found, err)
	}
	token, _, err := app.Apps.CreateInstallationToken(ctx, installation, nil)
	if err != nil || !token.GetExpiresAt().Equal(github.Timestamp{Time: now.Add(time.Hour)}) {
		t.Fatalf("got %v, %v", token, err)
	}
	api := client(t, w.Server, "/").WithAuthToken(token.GetToken())
	body := "Queued."
	if made, _, err := api.Issues.CreateComment(ctx, "rust-lang", "rust", 7, &github.IssueComment{Body: &body}); err != nil || made.GetUser().GetID() != bot.ID {
		t.Errorf("got %v, %v", made, err)
	}
	if _, response, err := api.Repositories.Get(ctx, "other", "secret"); err == nil || response.StatusCode != http.StatusNotFound {
		t.Errorf("a repository without the App: %v", err)
	}
	now = now.Add(time.Hour)
	if _, response, err := api.Repositories.Get(ctx, "rust-lang", "rust"); err == nil || response.StatusCode != http.StatusUnauthorized {
		t.Errorf("an hour later: %v", err)
	}
}

func TestBadCredentials(t *testing.T) {
	now := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	w, ctx := start(t, Config{Clock: func() time.Time { return now }}), t.Context()
	key, _ := NewKey(t)
	other, _ := NewKey(t)
	w.AddApp(appID, "tacho-app", &key.PublicKey)
	installation := w.Install(appID)
	good := object{"iat": now.Unix(), "exp": now.Unix() + 600, "iss": appID}
	for name, secret := range map[string]string{
		"another key":     jwt(t, other, good),
		"expired":         jwt(t, key, object{"iat": now.Unix() - 600, "exp": now.Unix(), "iss": appID}),
		"from the future": jwt(t, key, object{"iat": now.Unix() + 90, "exp": now.Unix() + 600, "iss": appID}),
		"too long":        jwt(t, key, object{"iat": now.Unix(), "exp": now.Unix() + 700, "iss": appID}),
		"no signature":    "e30.e30.",
		"a token":         "secret",
	} {
		_, response, err := client(t, w.Server, "/").WithAuthToken(secret).Apps.CreateInstallationToken(ctx, installation, nil)
		if err == nil || response.StatusCode != http.StatusUnauthorized {
			t.Errorf("%s: %v", name, err)
		}
	}
	stranger := jwt(t, key, object{"iat": now.Unix(), "exp": now.Unix() + 600, "iss": 13})
	if _, response, err := client(t, w.Server, "/").WithAuthToken(stranger).Apps.Get(ctx, ""); err == nil || response.StatusCode != http.StatusNotFound {
		t.Errorf("another App: %v", err)
	}
	body := "x"
	for name, api := range map[string]*github.Client{
		"nobody": client(t, w.Server, "/"), "a wrong token": client(t, w.Server, "/").WithAuthToken("wrong"),
		"the App itself": client(t, w.Server, "/").WithAuthToken(jwt(t, key, good)),
	} {
		_, response, err := api.Issues.CreateComment(ctx, "rust-lang", "rust", 7, &github.IssueComment{Body: &body})
		var refused *github.ErrorResponse
		if !errors.As(err, &refused) || response.StatusCode != http.StatusUnauthorized {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, _, err := client(t, w.Server, "/").Repositories.Get(ctx, "rust-lang", "rust"); err != nil {
		t.Errorf("anybody may look: %v", err)
	}
}

// GitHub tells a client who it is: a user by the token, an App by its JWT. The token of an installation has no user.
func TestWhoAsks(t *testing.T) {
	w, ctx := start(t, Config{}), t.Context()
	key, _ := NewKey(t)
	now := time.Now().Unix()
	bot := w.AddApp(appID, "tacho-app", &key.PublicKey)
	if me, _, err := w.api.Users.Get(ctx, ""); err != nil || me.GetID() != w.bot.ID || me.GetLogin() != "tacho[bot]" {
		t.Errorf("the user of a token: %v, %v", me, err)
	}
	app := client(t, w.Server, "/").WithAuthToken(jwt(t, key, object{"iat": now - 60, "exp": now + 540, "iss": appID}))
	if found, _, err := app.Apps.Get(ctx, ""); err != nil || found.GetSlug() != "tacho-app" {
		t.Errorf("the App of a JWT: %v, %v", found, err)
	}
	installed := client(t, w.Server, "/").WithAuthToken(w.InstallationToken(w.Install(appID)))
	if found, _, err := installed.Users.Get(ctx, "Tacho-App%5Bbot%5D"); err != nil || found.GetID() != bot.ID || found.GetType() != "Bot" {
		t.Errorf("the user of an App: %v, %v", found, err)
	}
	for name, tc := range map[string]struct {
		api    *github.Client
		login  string
		status int
	}{
		"of an installation":  {installed, "", http.StatusForbidden},
		"of an App":           {app, "", http.StatusUnauthorized},
		"of nobody":           {client(t, w.Server, "/"), "", http.StatusUnauthorized},
		"that is wrong":       {client(t, w.Server, "/").WithAuthToken("wrong"), "", http.StatusUnauthorized},
		"who is not there":    {w.api, "other%5Bbot%5D", http.StatusNotFound},
		"asked for by an App": {app, "tacho-app%5Bbot%5D", http.StatusUnauthorized},
	} {
		if _, response, err := tc.api.Users.Get(ctx, tc.login); err == nil || response.StatusCode != tc.status {
			t.Errorf("the user %s: %v, want %d", name, err, tc.status)
		}
	}
}
