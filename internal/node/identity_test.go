package node

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/tachobench/tacho/config"
	"github.com/tachobench/tacho/internal/fakegithub"
	"github.com/tachobench/tacho/internal/githubapi"
	"github.com/tachobench/tacho/internal/usage"
)

const botToken = "ghp_bot"

// asking returns a host that is about to write comments, and what it says meanwhile.
func asking(t *testing.T, wait time.Duration) (*Host, *fakegithub.Server, *fakegithub.User, *bytes.Buffer) {
	t.Helper()
	server := fakegithub.Start(t, fakegithub.Config{})
	bot := server.AddUser("tacho-bot")
	server.AddToken(botToken, bot)
	said := &bytes.Buffer{}
	p := &Host{Say: func(format string, args ...any) { fmt.Fprintf(said, format+"\n", args...) }}
	p.Config.StartWait = config.Duration(wait)
	p.Config.GitHub = config.GitHub{Repo: "rust-lang/rust", API: server.URL() + "/api/v3", Token: botToken, Bot: "tacho"}
	return p, server, bot, said
}

func TestTheAccountIsAskedFor(t *testing.T) {
	p, server, bot, _ := asking(t, 0)
	for _, id := range []int64{0, bot.ID} {
		p.Config.GitHub.BotID = id
		if self, err := p.identify(t.Context()); err != nil || self != (githubapi.Account{ID: bot.ID, Login: "tacho-bot"}) {
			t.Errorf("bot_id %d: %v, %v", id, self, err)
		}
	}
	if n := len(server.Requests("GET", "/user")); n != 2 {
		t.Errorf("asked %d times", n)
	}
}

// If nothing is written, GitHub is not asked. The configured account is taken as it is, and has no login.
func TestNobodyIsAskedWhereNothingIsWritten(t *testing.T) {
	for name, change := range map[string]func(*config.GitHub){
		"no credentials": func(c *config.GitHub) { c.Token = "" },
		"a dry run":      func(c *config.GitHub) { c.DryRun = true },
	} {
		p, server, _, _ := asking(t, time.Minute)
		change(&p.Config.GitHub)
		for _, id := range []int64{0, 99} {
			p.Config.GitHub.BotID = id
			if self, err := p.identify(t.Context()); err != nil || self != (githubapi.Account{ID: id}) {
				t.Errorf("%s: %+v, %v", name, self, err)
			}
		}
		if n := len(server.Requests("", "")); n != 0 {
			t.Errorf("%s: GitHub was asked %d times", name, n)
		}
	}
}

// Wrong credentials end a start at once, and the error says which ones to check.
func TestCredentialsThatNameNobodyAreRefused(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(*testing.T, *Host, *fakegithub.Server, *fakegithub.User)
		usage  bool
		says   []string
	}{
		"a wrong token": {func(_ *testing.T, p *Host, _ *fakegithub.Server, _ *fakegithub.User) {
			p.Config.GitHub.Token = "wrong"
		}, false, []string{"Bad credentials", "TACHO_GITHUB_TOKEN", "expired"}},
		"the token of a run of Actions": {func(_ *testing.T, p *Host, s *fakegithub.Server, _ *fakegithub.User) {
			s.AddApp(5, "github-actions", nil)
			p.Config.GitHub.Token = s.InstallationToken(s.Install(5))
		}, false, []string{"Resource not accessible by integration", "configure github.app"}},
		"another API": {func(_ *testing.T, p *Host, s *fakegithub.Server, _ *fakegithub.User) {
			p.Config.GitHub.API = s.URL() + "/api/v4"
		}, false, []string{"status 404", "/api/v3"}},
		"a suspended account": {func(_ *testing.T, _ *Host, s *fakegithub.Server, _ *fakegithub.User) {
			s.Break(fakegithub.Fault{Path: "/user", Do: fakegithub.Status(403)})
		}, false, []string{"status 403", "TACHO_GITHUB_TOKEN"}},
		"a limit that lasts": {func(_ *testing.T, _ *Host, s *fakegithub.Server, _ *fakegithub.User) {
			s.Break(fakegithub.Fault{Path: "/user", Do: fakegithub.TooManyRequests(time.Hour)})
		}, false, []string{"start again in 1h0m0s"}},
		"an App without an installation": {func(t *testing.T, p *Host, s *fakegithub.Server, _ *fakegithub.User) {
			private, text := fakegithub.NewKey(t)
			path := filepath.Join(t.TempDir(), "app.pem")
			if err := os.WriteFile(path, text, 0o600); err != nil {
				t.Fatal(err)
			}
			s.AddApp(77, "tacho-app", &private.PublicKey)
			p.Config.GitHub.App = config.GitHubApp{ID: 77, Installation: 12345, KeyFile: path}
		}, false, []string{"installation 12345 of the App gets no token", "github.app.installation"}},
		"no key": {func(_ *testing.T, p *Host, _ *fakegithub.Server, _ *fakegithub.User) {
			p.Config.GitHub.App = config.GitHubApp{ID: 77, Installation: 12345, KeyFile: "/nowhere"}
		}, false, []string{"github.app.key_file"}},
		"another bot_id": {func(_ *testing.T, p *Host, _ *fakegithub.Server, bot *fakegithub.User) {
			p.Config.GitHub.BotID = bot.ID + 1
		}, true, []string{"github.bot_id is {other}", "tacho-bot (account {us})"}},
		"a merge bot that is us": {func(_ *testing.T, p *Host, _ *fakegithub.Server, bot *fakegithub.User) {
			p.Config.GitHub.MergeBots = []int64{bot.ID}
		}, true, []string{"github.merge_bots names {us}", "tacho-bot (account {us})"}},
	} {
		t.Run(name, func(t *testing.T) {
			p, server, bot, said := asking(t, time.Hour)
			tc.change(t, p, server, bot)
			self, err := p.identify(t.Context())
			if err == nil || self != (githubapi.Account{}) {
				t.Fatalf("%v, %v", self, err)
			}
			if errors.As(err, new(usage.Error)) != tc.usage || said.Len() > 0 {
				t.Errorf("%v: waited: %q", err, said)
			}
			numbers := strings.NewReplacer("{us}", fmt.Sprint(bot.ID), "{other}", fmt.Sprint(bot.ID+1))
			for _, part := range tc.says {
				if part = numbers.Replace(part); !strings.Contains(err.Error(), part) {
					t.Errorf("it says %q, want %q in it", err, part)
				}
			}
		})
	}
}

// A start asks a GitHub that does not answer again, for as long as it may wait and not longer.
func TestAGitHubThatDoesNotAnswerIsWaitedFor(t *testing.T) {
	for name, do := range map[string]fakegithub.Failure{
		"no answer": fakegithub.Drop(), "503": fakegithub.Status(503), "garbage": fakegithub.Garbage(), "a short limit": fakegithub.TooManyRequests(time.Second),
	} {
		t.Run(name, func(t *testing.T) {
			p, server, bot, said := asking(t, 50*time.Millisecond)
			broken := server.Break(fakegithub.Fault{Path: "/user", Do: do})
			_, err := p.identify(t.Context())
			if err == nil || !strings.HasPrefix(err.Error(), "it is not known which account comments are written as (GitHub: ask for the account of the token") {
				t.Errorf("%v", err)
			}
			if limited := name == "a short limit"; !limited && (broken.Hits() < 2 || !strings.Contains(said.String(), "waiting    GitHub does not say")) {
				t.Errorf("asked %d times, said %q", broken.Hits(), said)
			}
			p.Config.StartWait = config.Duration(time.Hour)
			go func() {
				<-broken.Arrived()
				<-broken.Arrived()
				broken.Mend()
			}()
			if self, err := p.identify(t.Context()); err != nil || !self.Is(bot.ID) {
				t.Errorf("%v, %v", self, err)
			}
		})
	}
}
