package webhook

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/tachobench/tacho/control"
	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/rules/suite"
)

// account changes the account of alice.
func (r *rig) account(change control.AccountChange) {
	r.t.Helper()
	r.rules.Accounts = true
	if _, err := r.control().ConfigureAccount(r.t.Context(), control.By{Actor: "test"}, "gh-alice", change); err != nil {
		r.t.Fatal(err)
	}
}

// redelivered delivers a comment again: as the same delivery, and as another webhook would.
func (r *rig) redelivered(comment int64, body string) events.DeliveryHandled {
	r.t.Helper()
	r.postAs(fmt.Sprintf("d%d", r.n), "issue_comment", from(comment, alice, body).payload())
	synctest.Wait()
	return r.deliver("issue_comment", from(comment, alice, body).payload())
}

// Each command of a comment needs a right of the account. A denied one is recorded, and answered once.
func TestCommentsNeedRights(t *testing.T) {
	for comment, right := range map[string]events.Right{
		"queue": events.RightRequest, "build " + merged: events.RightRequest, "retry": events.RightRerun, "noise": events.RightRetrigger,
		"cancel": events.RightCancel, "priority low": events.RightPrioritise,
	} {
		t.Run(comment, func(t *testing.T) {
			inRig(t, func(t *testing.T, r *rig) {
				r.account(control.AccountChange{})
				r.run()
				r.deliver("issue_comment", from(90, alice, "@tacho queue").payload()) // what is to be cancelled and prioritised
				if comment == "retry" || comment == "noise" {
					r.measured("failed")
				}
				none := []events.Right{events.RightNone}
				r.account(control.AccountChange{May: &none})
				said := len(facts[events.CommentWanted](r))
				h := r.comes(100, alice, "@tacho "+comment)
				answer := r.lastAnswer()
				if h.Outcome != events.DeliveryRefused || h.Command == "" || len(h.Requests) > 0 || !strings.Contains(h.Reason, "lacks the right "+string(right)) {
					t.Errorf("%+v", h)
				}
				if !strings.HasPrefix(answer, "Account gh-alice lacks the right "+string(right)) || !strings.Contains(answer, "`tacho account set gh-alice --may "+string(right)+"`") {
					t.Errorf("%q", answer)
				}
				if again := r.redelivered(100, "@tacho "+comment); again.Outcome != events.DeliveryIgnored || again.Reason != told {
					t.Errorf("%+v", again)
				}
				if now := len(facts[events.CommentWanted](r)); now != said+1 {
					t.Errorf("%d answers", now-said)
				}
				if n := len(facts[events.RequestCancelled](r)) + len(facts[events.PriorityChanged](r)) + len(facts[events.GraphWanted](r)); n > 0 {
					t.Errorf("%d effects", n)
				}
				one := []events.Right{right}
				r.account(control.AccountChange{May: &one})
				if h := r.comes(101, alice, "@tacho "+comment); strings.Contains(h.Reason, "lacks") {
					t.Errorf("with its right: %+v", h)
				}
			})
		})
	}
}

// Status and help change nothing, and without accounts there are no rights.
func TestWhatNeedsNoRight(t *testing.T) {
	inRig(t, func(t *testing.T, r *rig) {
		none := []events.Right{events.RightNone}
		r.account(control.AccountChange{May: &none, Branches: &[]string{"main"}})
		r.run()
		for i, comment := range []string{"status", "help"} {
			if h := r.comes(int64(100+i), alice, "@tacho "+comment); h.Outcome != events.DeliveryAccepted {
				t.Errorf("%s: %+v", comment, h)
			}
		}
	})
	inRig(t, func(t *testing.T, r *rig) {
		none := []events.Right{events.RightNone}
		r.account(control.AccountChange{May: &none, Branches: &[]string{"main"}})
		r.rules.Accounts = false
		r.run()
		for i, comment := range []string{"queue", "priority high", "cancel"} {
			if h := r.comes(int64(100+i), alice, "@tacho "+comment); h.Outcome != events.DeliveryAccepted {
				t.Errorf("%s: %+v", comment, h)
			}
		}
	})
}

// What a merge bot says about a try build is not bound by the rights of who asked for it.
func TestABuildNeedsNoRight(t *testing.T) {
	inRig(t, func(t *testing.T, r *rig) {
		r.account(control.AccountChange{})
		r.run()
		r.deliver("issue_comment", from(100, alice, "@tacho queue").payload())
		none := []events.Right{events.RightNone}
		r.account(control.AccountChange{May: &none})
		build := comments{id: 101, user: bors, body: "Try build successful\n<!-- homu: {\"type\":\"TryBuildCompleted\",\"merge_sha\":\"" + merged + "\"} -->"}
		if h := r.deliver("issue_comment", build.payload()); h.Outcome != events.DeliveryAccepted || len(facts[events.RequestArtifactsReady](r)) != 1 {
			t.Errorf("%+v", h)
		}
	})
}

// The branch that the pull request is meant for must match, also if the suite has nothing of its own for branches.
func TestCommentsAreForTheBranchesOfTheAccount(t *testing.T) {
	for _, varies := range []bool{false, true} {
		inRig(t, func(t *testing.T, r *rig) {
			recorded := ""
			if varies {
				recorded = "release/1.2"
				if _, err := r.control().Publish(t.Context(), control.By{Actor: "test"}, offering()); err != nil {
					t.Fatal(err)
				}
			}
			r.account(control.AccountChange{Branches: &[]string{"main", "try/*"}})
			r.run()
			for i, comment := range []string{"queue", "build " + merged} {
				h := r.comes(int64(100+i), alice, "@tacho "+comment)
				if h.Outcome != events.DeliveryRefused || !strings.Contains(r.lastAnswer(), "may ask only for branches that match main or try/*, and release/1.2 does not") {
					t.Errorf("varies %v: %+v %q", varies, h, r.lastAnswer())
				}
			}
			r.account(control.AccountChange{Branches: &[]string{"release/*"}})
			h := r.comes(103, alice, "@tacho queue")
			created := facts[events.RequestCreated](r)
			if h.Outcome != events.DeliveryAccepted || len(created) != 1 || created[0].Branch != recorded {
				t.Errorf("varies %v: %+v %+v", varies, h, created)
			}
		})
	}
}

// A comment gives no priority above the lower cap, that of the branch or that of the account.
func TestPrioritiesOfCommentsHaveTwoCaps(t *testing.T) {
	for _, tc := range []struct {
		branch, account events.Priority
		says            string
	}{
		{events.PriorityNormal, events.PriorityHigh, "branch release/1.2 allows, which is normal"},
		{events.PriorityHigh, events.PriorityNormal, "account gh-alice may give, which is normal"},
	} {
		inRig(t, func(t *testing.T, r *rig) {
			d := offering()
			d.Branches = []suite.Branch{{Match: "release/*", MaxPriority: tc.branch}}
			if _, err := r.control().Publish(t.Context(), control.By{Actor: "test"}, d); err != nil {
				t.Fatal(err)
			}
			r.account(control.AccountChange{MaxPriority: &tc.account})
			r.run()
			r.comes(100, alice, "@tacho queue")
			for i, p := range events.Priorities {
				h := r.comes(int64(101+i), alice, "@tacho priority "+string(p))
				switch over := p.Level() < events.PriorityNormal.Level(); {
				case over && (h.Outcome != events.DeliveryRefused || !strings.Contains(r.lastAnswer(), "is above what "+tc.says)):
					t.Errorf("%s: %+v %q", p, h, r.lastAnswer())
				case !over && h.Outcome != events.DeliveryAccepted:
					t.Errorf("%s: %+v %q", p, h, r.lastAnswer())
				}
			}
		})
	}
}
