package webhook

import (
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tachobench/tacho/eventlog"
	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/internal/githubapi"
	"github.com/tachobench/tacho/shell"
)

const builtMessage = `:sunny: Try build successful
<!-- homu: {"type":"TryBuildCompleted","builders":{"checks-actions":"https://ci.example/1"},"merge_sha":"` + merged + `"} -->`

func TestQueueThenTryBuildThenReady(t *testing.T) {
	inRig(t, func(t *testing.T, r *rig) {
		r.run()
		h := r.deliver("issue_comment", by(alice, "@bors try @tacho queue profiles=Opt,check benchmarks=re*").payload())
		if h.Outcome != events.DeliveryAccepted || h.Command != "queue profiles=check,opt benchmarks=re*" && h.Command != "queue profiles=opt,check benchmarks=re*" {
			t.Fatalf("%+v", h)
		}
		created := facts[events.RequestCreated](r)
		if len(created) != 1 || created[0].PR != 14 || created[0].State != events.StateWaitingForArtifacts || created[0].RequestID != h.Requests[0] {
			t.Fatalf("%+v", created)
		}
		if p := created[0].Parameters; len(p.Profiles) != 2 || p.Benchmarks[0] != "re*" {
			t.Errorf("parameters %+v", p)
		}
		if !strings.Contains(r.lastAnswer(), "Awaiting the try build") {
			t.Errorf("answer %q", r.lastAnswer())
		}
		h = r.deliver("issue_comment", comments{id: 200, user: bors, body: builtMessage}.payload())
		if h.Outcome != events.DeliveryAccepted {
			t.Fatalf("%+v", h)
		}
		ready := facts[events.RequestArtifactsReady](r)
		if len(ready) != 1 || ready[0].Tag != merged || ready[0].Parent != parent1 {
			t.Fatalf("%+v", ready)
		}
		wanted := facts[events.CommentWanted](r)
		last := wanted[len(wanted)-1]
		if len(wanted) != 2 || !last.Temporary || !strings.Contains(last.Body, "Queued `"+merged+"` with parent `"+parent1) ||
			!strings.Contains(last.Body, "https://perf.example/compare?a="+parent1+"&b="+merged) {
			t.Errorf("%+v", last)
		}
	})
}

func TestDeliveriesInAnyOrderAndAgain(t *testing.T) {
	inRig(t, func(t *testing.T, r *rig) {
		r.run()
		r.run() // two bots have the same effect as one
		order, built := by(alice, "@tacho queue").payload(), comments{id: 200, user: bors, body: builtMessage}.payload()
		for range 5 {
			r.postAs("built", "issue_comment", built)
			synctest.Wait()
			r.postAs("order", "issue_comment", order)
		}
		pass(time.Minute)
		if created, ready := facts[events.RequestCreated](r), facts[events.RequestArtifactsReady](r); len(created) != 1 || len(ready) != 1 {
			t.Errorf("%d requests, %d ready", len(created), len(ready))
		}
		if handled, wanted := facts[events.DeliveryHandled](r), facts[events.CommentWanted](r); len(handled) != 2 || len(wanted) != 2 {
			t.Errorf("%d handled, %d answers", len(handled), len(wanted))
		}
	})
}

func TestOnlyTheMergeBotIsBelieved(t *testing.T) {
	inRig(t, func(t *testing.T, r *rig) {
		r.run()
		r.deliver("issue_comment", by(alice, "@tacho queue").payload())
		for _, user := range []int64{mallory, alice} {
			forged := comments{id: 200, user: user, association: "OWNER", body: builtMessage}
			if h := r.deliver("issue_comment", forged.payload()); h.Outcome != events.DeliveryIgnored || !strings.Contains(h.Reason, "not the merge bot") || h.SenderID != user {
				t.Errorf("%+v", h)
			}
		}
		if ready := facts[events.RequestArtifactsReady](r); len(ready) != 0 {
			t.Errorf("%+v", ready)
		}
	})
}

func TestPermissionComesBeforeTheCommand(t *testing.T) {
	inRig(t, func(t *testing.T, r *rig) {
		r.rules.Users = []int64{77}
		r.run()
		for i, body := range []string{"@tacho queue", "@tacho frobnicate", "@tacho queue foo=bar"} {
			h := r.deliver("issue_comment", from(int64(100+i), mallory, body).payload())
			if h.Outcome != events.DeliveryForbidden || h.Command != "" || !strings.Contains(r.lastAnswer(), "Sorry, @mallory") {
				t.Errorf("%q: %+v %q", body, h, r.lastAnswer())
			}
		}
		n := len(facts[events.CommentWanted](r))
		if h := r.deliver("issue_comment", by(mallory, "thanks @tacho for the numbers").payload()); h.Outcome != events.DeliveryIgnored {
			t.Errorf("%+v", h)
		}
		if len(facts[events.CommentWanted](r)) != n {
			t.Error("who asks for nothing is not refused")
		}
		if h := r.deliver("issue_comment", comments{id: 9, user: 77, association: "NONE", body: "@tacho help"}.payload()); h.Outcome != events.DeliveryAccepted {
			t.Errorf("%+v", h)
		}
	})
}

func TestRefusalsAreAnswered(t *testing.T) {
	for body, want := range map[string]string{
		"@tacho queue foo=bar":      "foo",
		"@tacho queue profiles=Foo": "check",
		"@tacho build":              "build",
		"@tacho frobnicate":         "frobnicate",
		"@tacho build 0123456789abcdef0123456789abcdef01234567": "no commit",
		"@tacho queue benchmarks=nothing*":                      "matches nothing",
		"@tacho triage 2038d4e":                                 "",
	} {
		t.Run(body, func(t *testing.T) {
			inRig(t, func(t *testing.T, r *rig) {
				r.commits[merged] = githubapi.Commit{SHA: merged, Message: "no merge"}
				r.run()
				h := r.deliver("issue_comment", by(alice, body).payload())
				if h.Outcome != events.DeliveryRefused || len(facts[events.RequestCreated](r)) != 0 || len(h.Requests) != 0 {
					t.Fatalf("%+v", h)
				}
				if got := r.lastAnswer(); !strings.Contains(got, want) || !strings.HasSuffix(got, ".") {
					t.Errorf("answer %q", got)
				}
			})
		})
	}
}

func TestWhatIsIgnored(t *testing.T) {
	plain := by(alice, "@tacho queue")
	for name, change := range map[string]func(*comments){
		"an edited comment":        func(c *comments) { c.action = "edited" },
		"an issue":                 func(c *comments) { c.issue = true },
		"the bot itself":           func(c *comments) { c.user = robot },
		"the bot itself, marked":   func(c *comments) { c.user, c.body = robot, c.body+"\n\n"+events.ReportKey("r1").Marker() },
		"what is marked as ours":   func(c *comments) { c.body += "\n\n" + events.ReportKey("r1").Marker() },
		"the merge bot's quote":    func(c *comments) { c.user = bors },
		"another repository":       func(c *comments) { c.repo = "a/b" },
		"a quoted line":            func(c *comments) { c.body = "> @tacho queue" },
		"code":                     func(c *comments) { c.body = "`@tacho queue`" },
		"a name inside a word":     func(c *comments) { c.body = "@tachometer queue" },
		"no mention":               func(c *comments) { c.body = "looks good" },
		"a message without commit": func(c *comments) { c.user, c.body = bors, `<!-- homu: {"type":"TryBuildCompleted"} -->` },
	} {
		t.Run(name, func(t *testing.T) {
			inRig(t, func(t *testing.T, r *rig) {
				r.run()
				c := plain
				change(&c)
				if h := r.deliver("issue_comment", c.payload()); h.Outcome != events.DeliveryIgnored || h.Reason == "" {
					t.Errorf("%+v", h)
				}
				if n := len(facts[events.CommentWanted](r)); n != 0 {
					t.Errorf("%d answers", n)
				}
			})
		})
	}
	inRig(t, func(t *testing.T, r *rig) {
		r.run()
		for event, want := range map[string]events.DeliveryOutcome{
			"ping": events.DeliveryIgnored, "issue_comment": events.DeliveryMalformed, "check_suite": events.DeliveryMalformed, "push": events.DeliveryMalformed,
		} {
			if h := r.deliver(event, []byte(`[1`)); h.Outcome != want {
				t.Errorf("%s: %+v", event, h)
			}
		}
	})
}

func TestFaultsAreWaitedForAndNothingOvertakes(t *testing.T) {
	inRig(t, func(t *testing.T, r *rig) {
		r.run()
		r.deliver("issue_comment", by(alice, "@tacho queue").payload())
		r.servers(&githubapi.Error{Kind: githubapi.Fault, Call: "read it", Status: 500, Err: errors.New("status 500")})
		built := r.post("issue_comment", comments{id: 200, user: bors, body: builtMessage}.payload())
		status := r.post("issue_comment", comments{id: 201, user: alice, association: "MEMBER", body: "@tacho status"}.payload())
		other := r.post("issue_comment", comments{id: 202, user: alice, association: "MEMBER", body: "@tacho status", pr: 15}.payload())
		pass(time.Hour)
		for id, want := range map[string]int{built: 1, status: 1, other: 2} {
			if got := len(read(t, r.log, id)); got != want {
				t.Errorf("%s has %d events, want %d", id, got, want)
			}
		}
		r.servers(nil)
		pass(10 * time.Minute)
		if h := r.handled(built); h.Outcome != events.DeliveryAccepted {
			t.Errorf("%+v", h)
		}
		if h := r.handled(status); h.Outcome != events.DeliveryAccepted || len(facts[events.RequestArtifactsReady](r)) != 1 {
			t.Errorf("%+v", h)
		}
	})
}

func TestATryBuildWithoutArtifactsIsToldAfterAWhile(t *testing.T) {
	inRig(t, func(t *testing.T, r *rig) {
		r.run()
		r.servers(nil, merged)
		r.deliver("issue_comment", by(alice, "@tacho queue").payload())
		built := r.post("issue_comment", comments{id: 200, user: bors, body: builtMessage}.payload())
		pass(5 * time.Minute)
		if n := len(read(t, r.log, built)); n != 1 {
			t.Fatalf("%d events: it is waited for", n)
		}
		status := comments{id: 201, user: alice, association: "MEMBER", body: "@tacho status"}
		if h := r.deliver("issue_comment", status.payload()); h.Outcome != events.DeliveryAccepted {
			t.Errorf("what comes next does not wait for artifacts: %+v", h)
		}
		pass(20 * time.Minute)
		if h := r.handled(built); h.Outcome != events.DeliveryRefused || !strings.Contains(r.lastAnswer(), "not on their server") {
			t.Errorf("%+v %q", h, r.lastAnswer())
		}
		r.servers(nil)
		r.deliver("issue_comment", comments{id: 300, user: bors, body: builtMessage}.payload())
		if n := len(facts[events.RequestArtifactsReady](r)); n != 1 {
			t.Errorf("%d ready: the request goes on waiting for another build", n)
		}
	})
}

func TestATryBuildThatFailed(t *testing.T) {
	inRig(t, func(t *testing.T, r *rig) {
		r.run()
		r.deliver("issue_comment", by(alice, "@tacho queue").payload())
		r.deliver("issue_comment", comments{id: 200, user: bors, body: `:broken_heart: <!-- homu: {"type":"BuildFailed","builder_url":"https://ci.example/9"} -->`}.payload())
		failed := facts[events.RequestBuildFailed](r)
		if len(failed) != 1 || failed[0].URL != "https://ci.example/9" || !strings.Contains(r.lastAnswer(), "[its log](https://ci.example/9)") {
			t.Errorf("%+v %q", failed, r.lastAnswer())
		}
	})
}

func TestCheckSuitesAndWorkflowRunsTellOfTryBuilds(t *testing.T) {
	for event, field := range map[string]string{"check_suite": "check_suite", "workflow_run": "workflow_run"} {
		t.Run(event, func(t *testing.T) {
			inRig(t, func(t *testing.T, r *rig) {
				r.run()
				r.deliver("issue_comment", by(alice, "@tacho queue").payload())
				say := func(branch, conclusion string) events.DeliveryHandled {
					return r.deliver(event, fmt.Appendf(nil, `{"action":"completed","%s":{"head_branch":%q,"head_sha":"%s","conclusion":%q},
						"repository":{"full_name":"rust-lang/rust"},"sender":{"login":"gh","id":9}}`, field, branch, merged, conclusion))
				}
				if h := say("main", "success"); h.Outcome != events.DeliveryIgnored {
					t.Errorf("another branch: %+v", h)
				}
				if h := say("automation/bors/try", "neutral"); h.Outcome != events.DeliveryIgnored {
					t.Errorf("neutral: %+v", h)
				}
				if h := say("automation/bors/try", "failure"); h.Outcome != events.DeliveryAccepted || len(facts[events.RequestBuildFailed](r)) != 1 {
					t.Errorf("failure: %+v", h)
				}
				if h := say("automation/bors/try", "success"); h.Outcome != events.DeliveryAccepted || h.PR != 14 || len(facts[events.RequestArtifactsReady](r)) != 1 {
					t.Errorf("success: %+v", h)
				}
			})
		})
	}
}

func TestBuildTriageCancelAndStatus(t *testing.T) {
	inRig(t, func(t *testing.T, r *rig) {
		for i, pr := range []int{21, 22} {
			sha := strings.Repeat(fmt.Sprint(i+5), 40)
			r.commits[sha] = githubapi.Commit{
				SHA: events.Tag(sha), Parents: []events.Tag{parent1}, Message: fmt.Sprintf("Unrolled build for #%d\nRollup merge of #%d", pr, pr),
			}
		}
		r.run()
		if h := r.deliver("issue_comment", by(alice, "@tacho build 2038d4e backends=LLVM").payload()); h.Outcome != events.DeliveryAccepted {
			t.Fatalf("%+v", h)
		}
		created := facts[events.RequestCreated](r)
		if len(created) != 1 || created[0].Tag != merged || created[0].Parent != parent1 || created[0].State != events.StateArtifactsReady {
			t.Fatalf("%+v", created)
		}
		if !strings.Contains(r.lastAnswer(), "Queued `"+merged) {
			t.Errorf("answer %q", r.lastAnswer())
		}
		triage := comments{id: 101, user: alice, association: "MEMBER", body: "@tacho triage 5555555 6666666"}
		if h := r.deliver("issue_comment", triage.payload()); h.Outcome != events.DeliveryAccepted || len(h.Requests) != 2 {
			t.Fatalf("%+v", h)
		}
		created = facts[events.RequestCreated](r)
		if len(created) != 3 || created[1].PR != 21 || created[2].PR != 22 || !strings.Contains(r.lastAnswer(), "| #21 |") {
			t.Fatalf("%+v %q", created, r.lastAnswer())
		}
		status := comments{id: 102, user: alice, association: "MEMBER", body: "@tacho status"}
		r.deliver("issue_comment", status.payload())
		if !strings.Contains(r.lastAnswer(), "artifacts ready") {
			t.Errorf("answer %q", r.lastAnswer())
		}
		cancel := comments{id: 103, user: alice, association: "MEMBER", body: "@tacho cancel"}
		if h := r.deliver("issue_comment", cancel.payload()); h.Outcome != events.DeliveryAccepted || len(h.Requests) != 1 {
			t.Errorf("%+v", h)
		}
		if n := len(facts[events.RequestCancelled](r)); n != 1 {
			t.Errorf("%d cancelled", n)
		}
	})
}

// With accounts a request is charged to who asked for it. Everybody with the right to give commands may still cancel it.
func TestRequestsAreChargedToWhoAsked(t *testing.T) {
	for _, accounts := range []bool{false, true} {
		inRig(t, func(t *testing.T, r *rig) {
			r.rules.Accounts = accounts
			r.run()
			asks := by(alice, "@tacho queue")
			asks.login = "Alice"
			r.deliver("issue_comment", asks.payload())
			created := facts[events.RequestCreated](r)
			want := events.AccountName("")
			if accounts {
				want = "gh-alice"
			}
			if len(created) != 1 || created[0].Account != want || created[0].Queue != events.QueueName(want) {
				t.Fatalf("%+v", created)
			}
			cancel := comments{id: 103, user: alice, association: "MEMBER", body: "@tacho cancel", login: "Carol"}
			r.deliver("issue_comment", cancel.payload())
			if n := len(facts[events.RequestCancelled](r)); n != 1 {
				t.Errorf("%d cancelled", n)
			}
		})
	}
}

// A push is recorded for the poller of the branch.
func TestPushesAreNoted(t *testing.T) {
	inRig(t, func(t *testing.T, r *rig) {
		r.run()
		h := r.deliver("push", []byte(`{"ref":"refs/heads/main","repository":{"full_name":"rust-lang/rust","default_branch":"main"},"sender":{"login":"bors","id":3}}`))
		if h.Outcome != events.DeliveryAccepted || h.Command != "push main" {
			t.Errorf("%+v", h)
		}
		if h := r.deliver("push", []byte(`{"ref":"refs/tags/v1"}`)); h.Outcome != events.DeliveryIgnored {
			t.Errorf("%+v", h)
		}
	})
}

// On a damaged log the bot handles nothing, and the reader of the log reports the damage.
func TestADamagedLogIsSaid(t *testing.T) {
	inRig(t, func(t *testing.T, r *rig) {
		s := shell.New(shell.Config{Log: gapped{r.log}, Clock: time.Now, Logger: slog.New(slog.DiscardHandler)})
		b := r.bot()
		b.Ledger = s
		r.start(b)
		id := r.post("issue_comment", by(alice, "@tacho queue").payload())
		var gone *eventlog.GapError
		if err := s.Run(t.Context()); !errors.As(err, &gone) {
			t.Errorf("got %v", err)
		}
		pass(time.Minute)
		if n := len(read(t, r.log, id)); n != 1 {
			t.Errorf("%d events: it was handled", n)
		}
	})
}

// When a try has waited in vain, its pull request is told once, and the wait ends.
func TestAnExpiredTryIsTold(t *testing.T) {
	inRig(t, func(t *testing.T, r *rig) {
		r.rules.WaitingLabel = "waiting"
		r.run()
		r.run()
		h := r.deliver("issue_comment", by(alice, "@tacho queue").payload())
		r.record(events.RequestExpired{RequestID: h.Requests[0], Reason: "its artifacts were not ready"})
		pass(time.Minute)
		r.run()
		pass(time.Minute)
		all := facts[events.CommentWanted](r)
		if last := all[len(all)-1]; len(all) != 2 || !strings.Contains(last.Body, "No try build came") || len(last.RemoveLabels) != 1 || last.PR != 14 {
			t.Errorf("%+v", all)
		}
	})
}
