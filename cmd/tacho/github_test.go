package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/internal/datadir"
	"github.com/tachobench/tacho/internal/fakegithub"
	"github.com/tachobench/tacho/readmodel"
	"github.com/tachobench/tacho/website/client"
)

const (
	webhookPath = "/webhook/github"
	hookSecret  = "the webhook's secret"
	githubToken = "ghp_thetokenofthebot"
	mergeSHA    = "2038d4e5f6a7b8c9d0e1f2a3b4c5d6e7f8a9b0c1"
	parentSHA   = "1111111111111111111111111111111111111111"
	otherSHA    = "2222222222222222222222222222222222222222"
	pull        = 14
)

// github is a site that works with a fake GitHub.
type github struct {
	*site
	server                    *fakegithub.Server
	repo                      fakegithub.Repository
	hook                      fakegithub.HookHandle
	alice, mallory, bors, bot *fakegithub.User
}

// onGitHub starts Tacho for the pull requests of a repository, with artifacts for a merge commit and its parent.
func onGitHub(t *testing.T) *github {
	t.Helper()
	server := fakegithub.Start(t, fakegithub.Config{})
	g := &github{
		site: newSite(t), server: server, repo: server.Repository("rust-lang/rust"), alice: server.AddUser("alice"),
		mallory: server.AddUser("mallory"), bors: server.AddBot("bors"), bot: server.AddBot("tacho-bot"),
	}
	server.AddToken(githubToken, g.bot)
	g.repo.SetStanding(g.alice, "write", "MEMBER")
	g.repo.AddPull(fakegithub.Pull{Number: pull, Title: "Make it faster", Author: g.alice, Head: otherSHA})
	for _, c := range []fakegithub.Commit{
		{SHA: parentSHA, Message: "parent"},
		{SHA: otherSHA, Message: "faster"},
		{SHA: mergeSHA, Parents: []string{parentSHA, otherSHA}, Message: "Auto merge of #14 - alice:faster, r=<try>"},
	} {
		g.repo.AddCommit(c)
	}
	for _, sha := range []string{parentSHA, mergeSHA} {
		if err := os.MkdirAll(filepath.Join(g.dir, "artifacts", sha), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	path := filepath.Join(g.dir, "quick.toml")
	conf, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	conf = fmt.Appendf(conf, `
[github]
repo = "rust-lang/rust"
api = %q
merge_bots = [%d]
site = "https://perf.example"
[github.labels]
waiting = "S-waiting-on-perf"
regression = "perf-regression"
`, server.URL()+"/api/v3", g.bors.ID)
	if err := os.WriteFile(path, conf, 0o644); err != nil {
		t.Fatal(err)
	}
	g.env = append(g.env, "TACHO_WEBHOOK_SECRET="+hookSecret, "TACHO_GITHUB_TOKEN="+githubToken)
	return g
}

// listen tells GitHub where Tacho is now.
func (g *github) listen() {
	g.t.Helper()
	g.hook = g.repo.AddHook(fakegithub.Hook{URL: g.url() + webhookPath, Secret: hookSecret})
}

func (g *github) url() string {
	g.t.Helper()
	text, err := os.ReadFile(g.data("running.json"))
	if err != nil {
		g.t.Fatal(err)
	}
	var r datadir.Running
	if err := json.Unmarshal(text, &r); err != nil {
		g.t.Fatal(err)
	}
	return r.URL
}

// comments returns the comments of the bot; folded ones are in brackets.
func (g *github) comments() (all []string) {
	for _, c := range g.repo.Comments(pull) {
		if c.Author.ID != g.bot.ID {
			continue
		}
		line, _, _ := strings.Cut(c.Body, "\n")
		if c.Minimized {
			line = "[" + line + "]"
		}
		all = append(all, line)
	}
	return all
}

func (g *github) awaitComments(what string, ok func(comments []string) bool) {
	g.t.Helper()
	g.eventually(what, 120*time.Second, func() bool { return ok(g.comments()) })
}

func built(sha string) string {
	return fmt.Sprintf(":sunny: Try build successful\n<!-- homu: {\"type\":\"TryBuildCompleted\",\"merge_sha\":%q} -->", sha)
}

// From a comment to the report: a signed command is answered, a try build is picked up, jobs run on collectors, and
// one comment compares the results. The answers on the way are folded away, and the labels are right.
func TestFromACommentToTheReport(t *testing.T) {
	t.Parallel()
	g := onGitHub(t)
	g.start()
	g.listen()
	g.must("request", "master", parentSHA, "--profiles", "quick", "--benchmarks", "nap-a")

	g.repo.Comment(pull, g.alice, "Let us see.\n\n@bors try @tacho queue profiles=Quick benchmarks=nap-a,nap-b")
	g.awaitComments("the command is answered", func(c []string) bool { return len(c) == 1 && strings.HasPrefix(c[0], "Awaiting the try build") })
	g.eventually("the waiting label is set", 10*time.Second, func() bool { return strings.Join(g.repo.Labels(pull), " ") == "S-waiting-on-perf" })

	// A stranger writes a comment with the report's marker before the report, and GitHub would let the bot edit that comment.
	g.repo.SetStanding(g.bot, "write", "MEMBER")
	c, _ := g.client()
	var asked []readmodel.Request
	g.eventually("the request is in the tables", 30*time.Second, func() bool {
		var err error
		asked, err = c.Requests(t.Context(), client.RequestQuery{PR: pull})
		return err == nil && len(asked) == 1
	})
	eve := g.server.AddUser("eve")
	g.repo.Comment(pull, eve, "ha\n\n"+events.ReportKey(asked[0].ID).Marker())
	// A stranger says that a build finished, but there was none.
	g.repo.Comment(pull, g.mallory, built(otherSHA))
	g.repo.Comment(pull, g.bors, built(mergeSHA))
	g.awaitComments("the place in the queue is told", func(c []string) bool {
		return len(c) >= 2 && strings.HasPrefix(c[1], "Queued `"+mergeSHA+"` with parent `"+parentSHA+"`")
	})
	g.awaitComments("one report, and the rest folded away", func(c []string) bool {
		return len(c) == 3 && strings.HasPrefix(c[0], "[") && strings.HasPrefix(c[1], "[") && strings.HasPrefix(c[2], "Finished benchmarking commit")
	})
	g.eventually("the waiting label is gone", 10*time.Second, func() bool { return len(g.repo.Labels(pull)) == 0 })

	comments := g.repo.Comments(pull)
	report := comments[len(comments)-1].Body
	for _, c := range comments {
		if c.Author.ID == eve.ID && (len(c.Edits) > 0 || c.Minimized) {
			t.Errorf("the comment of somebody else was touched: %+v", c)
		}
	}
	// The bot's account may give every command, but the bot never obeys itself.
	g.repo.Comment(pull, g.bot, "@tacho queue profiles=quick")
	g.eventually("the bot's own command is ignored", 30*time.Second, func() bool {
		return strings.Contains(g.must("github", "deliveries"), "the bot does not listen to itself")
	})
	for _, want := range []string{mergeSHA, "https://perf.example/compare?", "wall-time"} {
		if !strings.Contains(report, want) {
			t.Errorf("the report has no %q:\n%s", want, report)
		}
	}
	list, err := c.Requests(t.Context(), client.RequestQuery{})
	if err != nil || len(list) != 2 || list[0].State != events.StateCompleted || string(list[0].ParentTag) != parentSHA {
		t.Fatalf("%+v, %v", list, err)
	}
	measured := map[events.Benchmark]bool{}
	for _, e := range g.events() {
		if f, ok := e.Fact.(events.TestCasesMeasured); ok {
			for _, m := range f.Cases {
				measured[m.Benchmark] = true
				if m.Profile != "quick" {
					t.Errorf("measured %s", m.TestCase)
				}
			}
		}
		if f, ok := e.Fact.(events.DeliveryHandled); ok && f.Sender == "mallory" && (f.Outcome != events.DeliveryIgnored || !strings.Contains(f.Reason, "not the merge bot")) {
			t.Errorf("the forged message: %+v", f)
		}
	}
	if len(measured) != 2 || !measured["nap-a"] || !measured["nap-b"] {
		t.Errorf("measured %v", measured)
	}
	if out := g.must("replay", "--verify"); !strings.Contains(out, "identical") {
		t.Error(out)
	}
}

// The program is killed while deliveries come in and comments go out. Deliveries that were answered 202 are in the log,
// GitHub is asked again for the others, and there is one report.
func TestKilledBetweenACommentAndItsReport(t *testing.T) {
	t.Parallel()
	g := onGitHub(t)
	address := freePort(t)
	g.start("--listen", address)
	g.listen()
	restart := func() {
		g.kill(g.up.Process.Pid, "tacho up")
		g.start("--listen", address)
	}
	g.repo.Comment(pull, g.alice, "@tacho queue benchmarks=nap-a profiles=quick")
	restart()
	g.awaitComments("the command is answered", func(c []string) bool { return len(c) == 1 })
	restart()
	g.repo.Comment(pull, g.bors, built(mergeSHA))
	for _, d := range g.hook.Deliveries() {
		for range 4 {
			g.hook.Redeliver(d.ID)
		}
	}
	restart()
	g.awaitComments("the place in the queue is told", func(c []string) bool { return len(c) >= 2 })
	restart()
	g.awaitComments("one report, and the rest folded away", func(c []string) bool {
		return len(c) == 3 && strings.HasPrefix(c[0], "[") && strings.HasPrefix(c[1], "[") && strings.HasPrefix(c[2], "Finished benchmarking commit")
	})
	// Read this before the log: GitHub continues to deliver what was just written.
	delivered := g.hook.Deliveries()
	inLog := map[events.DeliveryID]bool{}
	// The export reads the archive, which is behind the log for a moment.
	g.eventually("every delivery that was answered is in the log", 30*time.Second, func() bool {
		for _, e := range g.events() {
			if f, ok := e.Fact.(events.DeliveryReceived); ok {
				inLog[f.Delivery] = true
			}
		}
		return !slices.ContainsFunc(delivered, func(d fakegithub.Delivery) bool { return d.Delivered() && !inLog[events.NewDeliveryID(d.GUID)] })
	})
}

// Deliveries come in over many connections while the program is killed. Those that were answered 202 are in the log. The
// others were not answered, and can be delivered again.
func TestWhatTheWebhookAnsweredIsInTheLog(t *testing.T) {
	t.Parallel()
	g := onGitHub(t)
	address := freePort(t)
	g.start("--listen", address)
	const writers, most = 8, 400
	var mu sync.Mutex
	taken, sent := map[string]bool{}, 0
	var all sync.WaitGroup
	deliver := func(id string) bool {
		body := fmt.Appendf(nil, `{"zen":"%s %s"}`, id, strings.Repeat("x", 10_000))
		req, err := http.NewRequest(http.MethodPost, "http://"+address+webhookPath, bytes.NewReader(body))
		if err != nil {
			t.Error(err)
			return false
		}
		req.Header.Set("X-GitHub-Event", "ping")
		req.Header.Set("X-GitHub-Delivery", id)
		req.Header.Set("X-Hub-Signature-256", fakegithub.Sign(hookSecret, body))
		answer, err := http.DefaultClient.Do(req)
		if err != nil {
			return false
		}
		defer answer.Body.Close()
		return answer.StatusCode == http.StatusAccepted
	}
	half := make(chan struct{})
	for w := range writers {
		all.Go(func() {
			for i := range most / writers {
				id := fmt.Sprintf("d-%d-%d", w, i)
				ok := deliver(id)
				mu.Lock()
				if sent++; sent == most/2 {
					close(half)
				}
				taken[id] = ok
				mu.Unlock()
			}
		})
	}
	<-half
	g.kill(g.up.Process.Pid, "tacho up")
	all.Wait()
	g.start("--listen", address)
	n := 0
	for id, ok := range taken {
		if ok {
			n++
		} else if !deliver(id) {
			t.Errorf("%s is not taken when it is delivered again", id)
		}
	}
	if n == 0 || n == most {
		t.Errorf("%d of %d were taken before the end", n, most)
	}
	t.Logf("%d of %d were answered 202 before the program was killed", n, most)
	// The export reads the archive, which is behind the log for a moment.
	inLog := map[events.DeliveryID]int{}
	g.eventually("the archive has what was taken", 60*time.Second, func() bool {
		clear(inLog)
		for _, e := range g.events() {
			if f, ok := e.Fact.(events.DeliveryReceived); ok {
				inLog[f.Delivery]++
			}
		}
		return len(inLog) >= len(taken)
	})
	for id := range taken {
		if inLog[events.NewDeliveryID(id)] != 1 {
			t.Errorf("%s, answered before the end: %v, is %d times in the log", id, taken[id], inLog[events.NewDeliveryID(id)])
		}
	}
}
