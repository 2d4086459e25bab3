package githubapi_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tachobench/tacho/internal/fakegithub"
	"github.com/tachobench/tacho/internal/githubapi"
)

const (
	repo = "rust-lang/rust"
	sha  = "2038d4e5f6a7b8c9d0e1f2a3b4c5d6e7f8a9b0c1"
)

// world is a GitHub with a pull request and a bot.
type world struct {
	*fakegithub.Server
	repo fakegithub.Repository
	bot  *fakegithub.User
}

func start(t *testing.T) world {
	t.Helper()
	s := fakegithub.Start(t, fakegithub.Config{InProcess: true})
	w := world{s, s.Repository(repo), s.AddBot("tacho[bot]")}
	s.AddToken("secret", w.bot)
	w.repo.AddPull(fakegithub.Pull{Number: 14, Title: "Faster", Author: s.AddUser("alice"), Head: sha})
	w.repo.AddCommit(fakegithub.Commit{SHA: sha, Parents: []string{strings.Repeat("1", 40), strings.Repeat("2", 40)}, Message: "Auto merge of #14"})
	return w
}

func (w world) client(t *testing.T, c githubapi.Config) *githubapi.Client {
	t.Helper()
	c.URL, c.Transport = w.URL()+c.URL, w.Client().Transport
	client, err := githubapi.New(c)
	if err != nil {
		t.Fatal(err)
	}
	return client
}

func TestCalls(t *testing.T) {
	for _, base := range []string{"", "/api/v3", "/api/v3/"} {
		t.Run("base "+base, func(t *testing.T) {
			w := start(t)
			c, ctx := w.client(t, githubapi.Config{URL: base, Token: "secret"}), t.Context()
			commit, err := c.Commit(ctx, repo, sha[:10])
			if err != nil || string(commit.SHA) != sha || len(commit.Parents) != 2 || commit.Message != "Auto merge of #14" || commit.Time.IsZero() {
				t.Errorf("%+v, %v", commit, err)
			}
			if _, err := c.Commit(ctx, repo, strings.Repeat("f", 40)); !githubapi.IsMissing(err) {
				t.Errorf("a commit that is not there: %v", err)
			}
			if p, err := c.Pull(ctx, repo, 14); err != nil || p.Title != "Faster" || string(p.Head) != sha || p.Author != "alice" {
				t.Errorf("%+v, %v", p, err)
			}
			made, err := c.CreateComment(ctx, repo, 14, "hello")
			if err != nil || made.ID == 0 || made.NodeID == "" || made.AuthorID != w.bot.ID {
				t.Fatalf("%+v, %v", made, err)
			}
			for range 150 {
				w.repo.Comment(14, w.bot, "more")
			}
			n := 0
			for found, err := range c.Comments(ctx, repo, 14, time.Time{}) {
				if err != nil {
					t.Fatal(err)
				}
				if n++; n == 1 && found.Body != "hello" {
					t.Errorf("%+v", found)
				}
			}
			if n != 151 {
				t.Errorf("%d comments", n)
			}
			if _, err := c.EditComment(ctx, repo, made.ID, "goodbye"); err != nil {
				t.Error(err)
			}
			if err := c.Minimise(ctx, made.NodeID); err != nil {
				t.Error(err)
			}
			if got := w.repo.Comments(14)[0]; got.Body != "goodbye" || !got.Minimized {
				t.Errorf("%+v", got)
			}
			if err := c.Minimise(ctx, "IC_nothing"); !githubapi.IsMissing(err) {
				t.Errorf("minimising what is not there: %v", err)
			}
			for range 2 {
				err = errors.Join(err, c.AddLabels(ctx, repo, 14, []string{"a", "b"}), c.RemoveLabel(ctx, repo, 14, "b"), c.DeleteComment(ctx, repo, made.ID))
			}
			if labels := strings.Join(w.repo.Labels(14), " "); err != nil || labels != "a" || len(w.repo.Comments(14)) != 150 {
				t.Errorf("%q, %v", labels, err)
			}
		})
	}
}

func TestFailuresSayWhatTheyMean(t *testing.T) {
	for name, tc := range map[string]struct {
		do        fakegithub.Failure
		kind      githubapi.Kind
		after     time.Duration
		temporary bool
	}{
		"500":             {fakegithub.Status(500), githubapi.Fault, 0, true},
		"502":             {fakegithub.Status(502), githubapi.Fault, 0, true},
		"no answer":       {fakegithub.Drop(), githubapi.Fault, 0, true},
		"garbage":         {fakegithub.Garbage(), githubapi.Fault, 0, true},
		"too slow":        {fakegithub.Hang(), githubapi.Fault, 0, true},
		"secondary limit": {fakegithub.SecondaryLimit(2 * time.Minute), githubapi.Limited, 2 * time.Minute, true},
		// go-github then waits until the hourly limit is reset, which is more than GitHub asks for.
		"without a time":   {fakegithub.SecondaryLimit(0), githubapi.Limited, time.Hour, true},
		"too many":         {fakegithub.TooManyRequests(time.Minute), githubapi.Limited, time.Minute, true},
		"bad credentials":  {fakegithub.Status(401), githubapi.Unauthorized, 0, false},
		"validation":       {fakegithub.Status(422), githubapi.Refused, 0, false},
		"gone":             {fakegithub.Status(410), githubapi.Missing, 0, false},
		"legal":            {fakegithub.Status(451), githubapi.Refused, 0, false},
		"forbidden":        {fakegithub.Status(403), githubapi.Refused, 0, false},
		"method not there": {fakegithub.Status(404), githubapi.Missing, 0, false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := start(t)
				w.Break(fakegithub.Fault{Do: tc.do})
				c := w.client(t, githubapi.Config{Token: "secret"})
				_, err := c.CreateComment(t.Context(), repo, 14, "hello")
				failed, ok := errors.AsType[*githubapi.Error](err)
				if !ok || failed.Kind != tc.kind || failed.Temporary() != tc.temporary {
					t.Fatalf("%v: %+v", err, failed)
				}
				if diff := failed.RetryAfter - tc.after; diff > 2*time.Second || diff < -2*time.Second {
					t.Errorf("retry after %s, want %s", failed.RetryAfter, tc.after)
				}
				if text := err.Error(); strings.Contains(text, "secret") || strings.Contains(text, "api.github") || !strings.Contains(text, "pull request 14") {
					t.Errorf("the error says %q", text)
				}
			})
		})
	}
}

// After a limit go-github does not even call GitHub. The error tells how long to wait.
func TestTheHourlyLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := start(t)
		c := w.client(t, githubapi.Config{Token: "secret"})
		w.Allow(2)
		var err error
		for range 4 {
			_, err = c.Commit(t.Context(), repo, sha)
		}
		failed, ok := errors.AsType[*githubapi.Error](err)
		if !ok || failed.Kind != githubapi.Limited || failed.RetryAfter <= 0 || failed.RetryAfter > time.Hour {
			t.Fatalf("%+v", err)
		}
		<-time.After(failed.RetryAfter + time.Second)
		if _, err := c.Commit(t.Context(), repo, sha); err != nil {
			t.Errorf("after the limit: %v", err)
		}
	})
}

func TestAnAppSpeaksForItself(t *testing.T) {
	w := start(t)
	key, text := fakegithub.NewKey(t)
	app := w.AddApp(7, "tacho", &key.PublicKey)
	installation := w.Install(7, repo)
	c := w.client(t, githubapi.Config{App: githubapi.App{ID: 7, Installation: installation, Key: text}})
	made, err := c.CreateComment(t.Context(), repo, 14, "hello")
	if err != nil || made.AuthorID != app.ID {
		t.Errorf("%+v, %v", made, err)
	}
	w.RevokeTokens()
	if _, err := c.CreateComment(t.Context(), repo, 14, "again"); err == nil {
		t.Error("a revoked token is taken")
	}
	_, err = githubapi.New(githubapi.Config{App: githubapi.App{ID: 7, Installation: 1, Key: []byte("hush")}})
	if err == nil || strings.Contains(err.Error(), "hush") {
		t.Errorf("a key that is none: %v", err)
	}
}

func TestNobodyMayRead(t *testing.T) {
	w := start(t)
	c := w.client(t, githubapi.Config{})
	if _, err := c.Commit(t.Context(), repo, sha); err != nil {
		t.Error(err)
	}
	for _, url := range []string{"ftp://x", "https://", "https://u:p@x/", "::"} {
		if _, err := githubapi.New(githubapi.Config{URL: url}); err == nil {
			t.Errorf("%q is taken for a URL", url)
		}
	}
}

func TestFailedDeliveriesAreAskedForAgain(t *testing.T) {
	taken := 0
	s := fakegithub.Start(t, fakegithub.Config{Webhooks: &http.Client{Transport: roundTrip(func(*http.Request) (*http.Response, error) {
		taken++
		return &http.Response{StatusCode: http.StatusAccepted, Body: http.NoBody}, nil
	})}})
	r := s.Repository(repo)
	s.AddToken("secret", s.AddBot("tacho[bot]"))
	hook := r.AddHook(fakegithub.Hook{URL: "http://tacho.test/webhook"})
	hook.Lose(2)
	for range 3 {
		hook.Send("ping", []byte(`{}`))
	}
	c, err := githubapi.New(githubapi.Config{URL: s.URL(), Token: "secret"})
	if err != nil {
		t.Fatal(err)
	}
	list, err := c.Deliveries(t.Context(), repo, hook.ID(), time.Now().Add(-time.Hour))
	if err != nil || len(list) != 3 || !list[0].Delivered() || list[1].Delivered() {
		t.Fatalf("%+v, %v", list, err)
	}
	for _, d := range list[1:] {
		if err := c.Redeliver(t.Context(), repo, hook.ID(), d.ID); err != nil {
			t.Error(err)
		}
	}
	s.Settle()
	if list, err = c.Deliveries(t.Context(), repo, hook.ID(), time.Now().Add(-time.Hour)); err != nil || len(list) != 5 || taken != 3 {
		t.Errorf("%d attempts, %d taken, %v", len(list), taken, err)
	}
	if list, err = c.Deliveries(t.Context(), repo, hook.ID(), time.Now().Add(time.Hour)); err != nil || len(list) != 0 {
		t.Errorf("%+v, %v", list, err)
	}
	if err := c.Redeliver(context.Background(), repo, hook.ID(), 1); !githubapi.IsMissing(err) {
		t.Errorf("a delivery that is not there: %v", err)
	}
}

type roundTrip func(*http.Request) (*http.Response, error)

// RoundTrip implements http.RoundTripper.
func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }
