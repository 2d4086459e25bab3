package webhook

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tachobench/tacho/eventlog/memory"
	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/internal/githubapi"
)

func from(id int64, user int64, body string) comments {
	c := by(user, body)
	c.id = id
	return c
}

// Without definitions, comments that ask for nothing are ignored as usual; the others are told why they cannot be
// served.
func TestWithoutDefinitions(t *testing.T) {
	inRig(t, func(t *testing.T, r *rig) {
		r.rules.Suite = "other"
		r.run()
		for body, want := range map[string]events.DeliveryOutcome{"looks good": events.DeliveryIgnored, "@tacho queue": events.DeliveryRefused} {
			id := r.post("issue_comment", from(int64(100+r.n), alice, body).payload())
			synctest.Wait()
			if all := read(t, r.log, id); len(all) != 2 || all[1].Fact.(events.DeliveryHandled).Outcome != want {
				t.Errorf("%q: %+v", body, all)
			}
		}
	})
}

// A request is cancelled right after it was made, although the ledger has not read it yet.
func TestCancelRightAfterQueue(t *testing.T) {
	inRig(t, func(t *testing.T, r *rig) {
		const pulls = 20
		for pr := 1; pr <= pulls; pr++ {
			for i, word := range []string{"queue", "cancel"} {
				c := from(int64(100*pr+i), alice, "@tacho "+word)
				c.pr = pr
				r.post("issue_comment", c.payload())
			}
		}
		r.run()
		pass(time.Minute)
		if n := len(facts[events.RequestCancelled](r)); n != pulls {
			t.Errorf("%d of %d cancelled", n, pulls)
		}
	})
}

// In another suite's request, the number of the pull request belongs to another repository.
func TestOtherSuitesAreNotCancelled(t *testing.T) {
	inRig(t, func(t *testing.T, r *rig) {
		r.run()
		r.record(events.RequestCreated{RequestID: "r9", Kind: events.Try, Suite: "llvm", PR: 14, Key: "k", State: events.StateWaitingForArtifacts})
		if h := r.deliver("issue_comment", by(alice, "@tacho cancel").payload()); len(h.Requests) != 0 || len(facts[events.RequestCancelled](r)) != 0 {
			t.Errorf("%+v", h)
		}
	})
}

// A repository may have two webhooks, such as its own and an App's: one comment still counts once.
func TestTwoWebhooksTellOfOneComment(t *testing.T) {
	inRig(t, func(t *testing.T, r *rig) {
		r.run()
		r.run()
		tell := func(hook string, c comments) {
			r.n++
			req := post("/", fmt.Sprintf("d%d", r.n), c.payload())
			req.Header.Set("X-GitHub-Hook-ID", hook)
			if answer, _ := serve(r.receiver, req); answer.StatusCode != http.StatusAccepted {
				t.Fatal(answer.Status)
			}
		}
		failed := `<!-- homu: {"type":"BuildFailed","builder_url":"https://ci.example/9"} -->`
		said := []comments{from(100, alice, "@tacho queue"), from(200, bors, failed), from(300, alice, "@tacho cancel"), from(400, alice, "@tacho queue")}
		for _, c := range said {
			tell("7", c)
			tell("8", c)
			synctest.Wait()
		}
		tell("9", from(300, alice, "@tacho cancel"))
		pass(time.Minute)
		if n := len(facts[events.CommentWanted](r)); n != len(said) {
			t.Errorf("%d answers to %d comments", n, len(said))
		}
		if n, all := len(facts[events.RequestCancelled](r)), len(facts[events.DeliveryHandled](r)); n != 1 || all != 9 {
			t.Errorf("%d cancelled, %d handled", n, all)
		}
	})
}

// Two bots that answered each other would never stop.
func TestOtherBotsAreNotAnswered(t *testing.T) {
	inRig(t, func(t *testing.T, r *rig) {
		r.rules.Users = []int64{77}
		r.run()
		said := func(id int64) []byte {
			return []byte(strings.ReplaceAll(string(comments{id: id, user: id, association: "NONE", body: "@tacho help"}.payload()), `"login":""`, `"login":"b[bot]","type":"Bot"`))
		}
		if h := r.deliver("issue_comment", said(78)); h.Outcome != events.DeliveryIgnored || len(facts[events.CommentWanted](r)) != 0 {
			t.Errorf("%+v", h)
		}
		if h := r.deliver("issue_comment", said(77)); h.Outcome != events.DeliveryAccepted {
			t.Errorf("one that may: %+v", h)
		}
	})
}

// A late message about a build from before the request does not give the build to that request.
func TestAnOldBuildIsNotThatOfANewerRequest(t *testing.T) {
	inRig(t, func(t *testing.T, r *rig) {
		r.run()
		r.deliver("issue_comment", from(100, alice, "@tacho queue").payload())
		r.deliver("issue_comment", from(300, alice, "@tacho queue").payload())
		if h := r.deliver("issue_comment", from(200, bors, builtMessage).payload()); h.Outcome != events.DeliveryIgnored || len(facts[events.RequestArtifactsReady](r)) != 0 {
			t.Errorf("%+v", h)
		}
		if h := r.deliver("issue_comment", from(400, bors, builtMessage).payload()); h.Outcome != events.DeliveryAccepted {
			t.Errorf("%+v", h)
		}
	})
}

// Of the builds that no request waited for, the newest stays known, in whatever order their messages came.
func TestAnOlderBuildDoesNotHideANewerOne(t *testing.T) {
	inRig(t, func(t *testing.T, r *rig) {
		r.run()
		for _, id := range []int64{400, 200} {
			r.deliver("issue_comment", from(id, bors, builtMessage).payload())
		}
		r.deliver("issue_comment", from(300, alice, "@tacho queue").payload())
		pass(time.Minute)
		if n := len(facts[events.RequestArtifactsReady](r)); n != 1 {
			t.Errorf("%d ready", n)
		}
	})
}

// counting counts the calls.
type counting struct {
	GitHub
	n atomic.Int64
}

// Commit implements GitHub.
func (c *counting) Commit(ctx context.Context, repo events.RepoName, ref string) (githubapi.Commit, error) {
	c.n.Add(1)
	return c.GitHub.Commit(ctx, repo, ref)
}

// The bot does not try every second to give a build to its request.
func TestClaimsAreTriedWithPauses(t *testing.T) {
	inRig(t, func(t *testing.T, r *rig) {
		github := &counting{GitHub: r}
		b := r.bot()
		b.GitHub = github
		r.start(b)
		r.deliver("issue_comment", from(200, bors, builtMessage).payload())
		r.servers(&githubapi.Error{Kind: githubapi.Fault, Call: "read it", Status: 500, Err: errors.New("status 500")})
		r.deliver("issue_comment", from(100, alice, "@tacho queue").payload())
		pass(time.Hour)
		if n := github.n.Load(); n > 40 {
			t.Errorf("asked %d times in an hour", n)
		}
		r.servers(nil)
		pass(10 * time.Minute)
		if n := len(facts[events.RequestArtifactsReady](r)); n != 1 {
			t.Errorf("%d ready", n)
		}
	})
}

// A branch whose name looks like a SHA is not a commit.
func TestABranchIsNoCommit(t *testing.T) {
	inRig(t, func(t *testing.T, r *rig) {
		r.commits["main"], r.commits["deadbeef"] = r.commits[merged], r.commits[merged]
		r.run()
		for i, word := range []string{"triage main", "build deadbeef"} {
			h := r.deliver("issue_comment", from(int64(100+i), alice, "@tacho "+word).payload())
			if h.Outcome != events.DeliveryRefused || len(facts[events.RequestCreated](r)) != 0 {
				t.Errorf("%s: %+v", word, h)
			}
		}
	})
}

// stubborn is a webhook whose first delivery GitHub refuses to repeat.
type stubborn struct {
	list  []githubapi.Delivery
	asked []int64
}

// Deliveries implements Hook.
func (s *stubborn) Deliveries(context.Context, events.RepoName, int64, time.Time) ([]githubapi.Delivery, error) {
	return s.list, nil
}

// Redeliver implements Hook.
func (s *stubborn) Redeliver(_ context.Context, _ events.RepoName, _, id int64) error {
	if s.asked = append(s.asked, id); id == 1 {
		return &githubapi.Error{Kind: githubapi.Refused, Call: "ask", Err: errors.New("status 422: it is too old")}
	}
	return nil
}

// A delivery that GitHub does not repeat does not block the others.
func TestARefusedRedeliveryKeepsNoOtherBack(t *testing.T) {
	old := time.Now().Add(-time.Hour)
	hook := &stubborn{list: []githubapi.Delivery{{ID: 1, GUID: "a", At: old, Code: 502}, {ID: 2, GUID: "b", At: old, Code: 502}}}
	r := Redeliverer{Log: memory.New(memory.Config{}), Hook: hook, Repo: "a/b", ID: 7, Clock: time.Now, Logger: slog.New(slog.DiscardHandler)}
	if asked, err := r.look(t.Context()); err != nil || asked != 1 || len(hook.asked) != 2 {
		t.Errorf("asked for %v, %d taken, %v", hook.asked, asked, err)
	}
}
