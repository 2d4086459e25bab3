package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/tachobench/tacho/config"
	"github.com/tachobench/tacho/internal/fakegithub"
	"github.com/tachobench/tacho/internal/githubapi"
)

// asking is a program that is about to write comments, and what it says meanwhile.
func asking(t *testing.T, wait time.Duration) (*program, *fakegithub.Server, *fakegithub.User, *bytes.Buffer) {
	t.Helper()
	server := fakegithub.Start(t, fakegithub.Config{})
	bot := server.AddUser("tacho-bot")
	server.AddToken(githubToken, bot)
	said := &bytes.Buffer{}
	p := &program{stderr: said}
	p.config.StartWait = config.Duration(wait)
	p.config.GitHub = config.GitHub{Repo: "rust-lang/rust", API: server.URL() + "/api/v3", Token: githubToken, Bot: "tacho"}
	return p, server, bot, said
}

func TestTheAccountIsAskedFor(t *testing.T) {
	p, server, bot, _ := asking(t, 0)
	for _, id := range []int64{0, bot.ID} {
		p.config.GitHub.BotID = id
		if self, err := p.identify(t.Context()); err != nil || self != (githubapi.Account{ID: bot.ID, Login: "tacho-bot"}) {
			t.Errorf("bot_id %d: %v, %v", id, self, err)
		}
	}
	if n := len(server.Requests("GET", "/user")); n != 2 {
		t.Errorf("asked %d times", n)
	}
}

// Where nothing is written nobody is asked; what is configured is believed, and has no login.
func TestNobodyIsAskedWhereNothingIsWritten(t *testing.T) {
	for name, change := range map[string]func(*config.GitHub){
		"no credentials": func(c *config.GitHub) { c.Token = "" },
		"a dry run":      func(c *config.GitHub) { c.DryRun = true },
	} {
		p, server, _, _ := asking(t, time.Minute)
		change(&p.config.GitHub)
		for _, id := range []int64{0, 99} {
			p.config.GitHub.BotID = id
			if self, err := p.identify(t.Context()); err != nil || self != (githubapi.Account{ID: id}) {
				t.Errorf("%s: %+v, %v", name, self, err)
			}
		}
		if n := len(server.Requests("", "")); n != 0 {
			t.Errorf("%s: GitHub was asked %d times", name, n)
		}
	}
}

// A start that is refused for its credentials is refused at once, and says which to look at.
func TestCredentialsThatNameNobodyAreRefused(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(*testing.T, *program, *fakegithub.Server, *fakegithub.User)
		usage  bool
		says   []string
	}{
		"a wrong token": {func(_ *testing.T, p *program, _ *fakegithub.Server, _ *fakegithub.User) {
			p.config.GitHub.Token = "wrong"
		}, false, []string{"Bad credentials", "TACHO_GITHUB_TOKEN", "expired"}},
		"the token of a run of Actions": {func(_ *testing.T, p *program, s *fakegithub.Server, _ *fakegithub.User) {
			s.AddApp(5, "github-actions", nil)
			p.config.GitHub.Token = s.InstallationToken(s.Install(5))
		}, false, []string{"Resource not accessible by integration", "configure github.app"}},
		"another API": {func(_ *testing.T, p *program, s *fakegithub.Server, _ *fakegithub.User) {
			p.config.GitHub.API = s.URL() + "/api/v4"
		}, false, []string{"status 404", "/api/v3"}},
		"a suspended account": {func(_ *testing.T, _ *program, s *fakegithub.Server, _ *fakegithub.User) {
			s.Break(fakegithub.Fault{Path: "/user", Do: fakegithub.Status(403)})
		}, false, []string{"status 403", "TACHO_GITHUB_TOKEN"}},
		"a limit that lasts": {func(_ *testing.T, _ *program, s *fakegithub.Server, _ *fakegithub.User) {
			s.Break(fakegithub.Fault{Path: "/user", Do: fakegithub.TooManyRequests(time.Hour)})
		}, false, []string{"start again in 1h0m0s"}},
		"an App without an installation": {func(t *testing.T, p *program, s *fakegithub.Server, _ *fakegithub.User) {
			public, path, _ := writeKey(t, t.TempDir())
			s.AddApp(77, "tacho-app", public)
			p.config.GitHub.App = config.GitHubApp{ID: 77, Installation: 12345, KeyFile: path}
		}, false, []string{"installation 12345 of the App gets no token", "github.app.installation"}},
		"no key": {func(_ *testing.T, p *program, _ *fakegithub.Server, _ *fakegithub.User) {
			p.config.GitHub.App = config.GitHubApp{ID: 77, Installation: 12345, KeyFile: "/nowhere"}
		}, false, []string{"github.app.key_file"}},
		"another bot_id": {func(_ *testing.T, p *program, _ *fakegithub.Server, bot *fakegithub.User) {
			p.config.GitHub.BotID = bot.ID + 1
		}, true, []string{"github.bot_id is {other}", "tacho-bot (account {us})"}},
		"a merge bot that is us": {func(_ *testing.T, p *program, _ *fakegithub.Server, bot *fakegithub.User) {
			p.config.GitHub.MergeBots = []int64{bot.ID}
		}, true, []string{"github.merge_bots names {us}", "tacho-bot (account {us})"}},
	} {
		t.Run(name, func(t *testing.T) {
			p, server, bot, said := asking(t, time.Hour)
			tc.change(t, p, server, bot)
			self, err := p.identify(t.Context())
			if err == nil || self != (githubapi.Account{}) {
				t.Fatalf("%v, %v", self, err)
			}
			if errors.As(err, new(usageError)) != tc.usage || said.Len() > 0 {
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

// A GitHub that does not answer is asked again for as long as a start waits, and not longer.
func TestAGitHubThatDoesNotAnswerIsWaitedFor(t *testing.T) {
	for name, do := range map[string]fakegithub.Failure{
		"no answer": fakegithub.Drop(), "503": fakegithub.Status(503), "garbage": fakegithub.Garbage(), "a short limit": fakegithub.TooManyRequests(time.Second),
	} {
		t.Run(name, func(t *testing.T) {
			p, server, bot, said := asking(t, 50*time.Millisecond)
			broken := server.Break(fakegithub.Fault{Path: "/user", Do: do})
			_, err := p.identify(t.Context())
			if err == nil || !strings.HasPrefix(err.Error(), "which account comments are written as is not known (GitHub: ask whose the token is") {
				t.Errorf("%v", err)
			}
			if limited := name == "a short limit"; !limited && (broken.Hits() < 2 || !strings.Contains(said.String(), "waiting    GitHub does not say")) {
				t.Errorf("asked %d times, said %q", broken.Hits(), said)
			}
			p.config.StartWait = config.Duration(time.Hour)
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

// The program does not start where it cannot know itself: neither all of it nor the parts that need it. The doctor
// says why, and who it is where all is well.
func TestNothingStartsWithoutKnowingItself(t *testing.T) {
	g := onGitHub(t)
	up := words("up --listen 127.0.0.1:0")
	broken := g.server.Break(fakegithub.Fault{Path: "/user", Do: fakegithub.Status(503)})
	g.refused(exitFailed, up, "which account comments are written as is not known", "status 503", "check github.api")
	if broken.Hits() < 2 {
		t.Errorf("asked %d times", broken.Hits())
	}
	broken.Mend()
	who := fmt.Sprintf("comments are written as tacho-bot (account %d)", g.bot.ID)
	if out, _, _ := g.run("doctor"); !strings.Contains(out, who) {
		t.Errorf("the doctor says %s", out)
	}
	g.replace("quick.toml", "[github]\n", "[github]\nbot_id = 99\n")
	both := []string{"github.bot_id is 99", fmt.Sprintf("tacho-bot (account %d)", g.bot.ID)}
	g.refused(exitUsage, up, both...)
	g.replace("quick.toml", "start_wait", "nats.url = \"nats://127.0.0.1:1\"\ndatabase.url = \"postgres://127.0.0.1:1/x\"\nstart_wait")
	for _, part := range []string{"webhook", "reporter"} {
		g.refused(exitUsage, []string{"serve", part, "--listen", "127.0.0.1:0"}, both...)
	}
	if out, _, code := g.run("doctor"); code != exitFailed || !strings.Contains(out, "github.bot_id is 99") {
		t.Errorf("exit code %d, the doctor says %s", code, out)
	}
	if _, err := os.Stat(g.data("log")); !os.IsNotExist(err) {
		t.Errorf("a start that was refused made a log: %v", err)
	}
}
