package main

import (
	"strings"
	"testing"
	"time"

	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/internal/cli"
	"github.com/tachobench/tacho/website/client"
)

// The command line shows deliveries and comments, whatever words are in them.
func TestGitHubOnTheCommandLine(t *testing.T) {
	t.Parallel()
	g := onGitHub(t)
	g.start()
	if out := g.must("github", "deliveries"); out != "GitHub has delivered nothing yet.\n" {
		t.Errorf("%q", out)
	}
	if out := g.must("github", "outbox"); out != "There is no comment for GitHub yet.\n" {
		t.Errorf("%q", out)
	}
	if out := g.must("github", "outbox", "--pr", "14"); out != "There is no such comment.\n" {
		t.Errorf("%q", out)
	}
	g.listen()
	g.repo.Comment(pull, g.alice, "@tacho queue profiles=quick")
	g.awaitComments("the command is answered", func(c []string) bool { return len(c) == 1 })
	const clears = "\x1b[2J\u202e\u009b2J"
	g.repo.Comment(pull, g.mallory, "@tacho queue profiles="+clears)
	g.awaitComments("the other one is answered too", func(c []string) bool { return len(c) == 2 })
	g.eventually("the tables know that both stand", 30*time.Second, func() bool {
		return strings.Count(g.must("github", "outbox", "--state", "posted"), "rust-lang/rust#14") == 2
	})

	list := g.must("github", "deliveries", "--pr", "14")
	for _, want := range []string{"issue_comment", "alice", "accepted", "queue", "mallory", "forbidden"} {
		if !strings.Contains(list, want) {
			t.Errorf("the deliveries lack %q:\n%s", want, list)
		}
	}
	c, _ := g.client()
	deliveries, err := c.Deliveries(t.Context(), client.DeliveryQuery{Outcome: events.DeliveryForbidden})
	if err != nil || len(deliveries) != 1 {
		t.Fatalf("%+v, %v", deliveries, err)
	}
	one := g.must("github", "delivery", string(deliveries[0].ID))
	for _, want := range []string{"issue_comment, forbidden", "from     mallory (account ", "pr       rust-lang/rust#14", `"login": "mallory"`, "profiles="} {
		if !strings.Contains(one, want) {
			t.Errorf("the delivery lacks %q:\n%s", want, one)
		}
	}
	if same := g.must("github", "delivery", string(deliveries[0].Hook)+"/"+string(deliveries[0].ID)); same != one {
		t.Errorf("by its whole name it is\n%s", same)
	}
	outbox := g.must("github", "outbox", "--state", "posted")
	if strings.Count(outbox, "rust-lang/rust#14") != 2 || !strings.Contains(outbox, "#issuecomment-") {
		t.Errorf("the outbox:\n%s", outbox)
	}
	comments, err := c.Outbox(t.Context(), client.CommentQuery{})
	if err != nil || len(comments) != 2 || comments[1].RequestID == "" {
		t.Fatalf("%+v, %v", comments, err)
	}
	text := g.must("github", "comment", string(comments[1].Key))
	for _, want := range []string{"answer on rust-lang/rust#14: posted", "attempts 1", "labels   +S-waiting-on-perf", "Awaiting the try build"} {
		if !strings.Contains(text, want) {
			t.Errorf("the comment lacks %q:\n%s", want, text)
		}
	}
	if shown := g.must("request", "show", string(comments[1].RequestID)); !strings.Contains(shown, string(comments[1].Key)) || !strings.Contains(shown, "posted") {
		t.Errorf("the request does not show its comment:\n%s", shown)
	}
	for _, args := range [][]string{
		{"github", "deliveries"}, {"github", "delivery", string(deliveries[0].ID)}, {"github", "comment", string(comments[0].Key)}, {"events", "tail"},
	} {
		if out := g.must(args...); strings.ContainsAny(out, "\x1b\u202e\u009b") {
			t.Errorf("tacho %s lets the words of others reach the Terminal: %q", strings.Join(args, " "), out)
		}
	}
	for _, args := range [][]string{{"github", "delivery", "none"}, {"github", "delivery", "7/none"}, {"github", "comment", "none"}} {
		if _, errs, code := g.run(args...); code != cli.ExitRefused || !strings.Contains(errs, "not found: see `tacho github ") {
			t.Errorf("tacho %s: %d %s", strings.Join(args, " "), code, errs)
		}
	}
	if _, errs, code := g.run("github", "outbox", "--state", "odd"); code != cli.ExitUsage || !strings.Contains(errs, "wanted, postponed, posted, refused, minimised") {
		t.Errorf("%d %s", code, errs)
	}
}
