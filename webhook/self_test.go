package webhook

import (
	"strings"
	"testing"

	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/internal/githubapi"
)

// The bot never obeys itself, whatever its account may do in the repository. If GitHub was not asked which account it
// is, its name is enough.
func TestTheBotNeverListensToItself(t *testing.T) {
	known, configured, nobody := githubapi.Account{ID: robot, Login: "tacho-bot"}, githubapi.Account{ID: robot}, githubapi.Account{}
	for name, tc := range map[string]struct {
		self  githubapi.Account
		user  int64
		login string
		own   bool
	}{
		"the account":                      {known, robot, "tacho-bot", true},
		"the account, renamed":             {known, robot, "tacho-robot", true},
		"a person who has the bot's name":  {known, alice, "tacho", false},
		"a person":                         {known, alice, "alice", false},
		"the configured account":           {configured, robot, "tacho-bot", true},
		"the configured bot's name":        {configured, alice, "tacho", true},
		"a person, and one is configured":  {configured, alice, "alice", false},
		"the name, and nobody asked":       {nobody, robot, "tacho", true},
		"the name in another case":         {nobody, robot, "Tacho", true},
		"the name of the App":              {nobody, robot, "tacho[bot]", true},
		"a longer name, and nobody asked":  {nobody, alice, "tachometer", false},
		"a person, and nobody asked":       {nobody, alice, "alice", false},
		"an account without a number":      {nobody, 0, "tacho", true},
		"nobody's number is not the bot's": {nobody, 0, "ghost", false},
	} {
		t.Run(name, func(t *testing.T) {
			inRig(t, func(t *testing.T, r *rig) {
				r.rules.Self = tc.self
				if tc.own {
					// Give the account every right.
					r.rules.Users, r.rules.MergeBots = []int64{tc.user}, []int64{tc.user}
				}
				r.run()
				r.deliver("issue_comment", comments{id: 50, user: 99, login: "bob", association: "OWNER", body: "@tacho queue"}.payload())
				before := len(facts[events.CommentWanted](r))
				for i, body := range []string{"@tacho queue", "@tacho cancel", "@tacho frobnicate", builtMessage, "@tacho status\n\n" + events.ReportKey("r1").Marker()} {
					c := comments{id: int64(100 + i), user: tc.user, login: tc.login, association: "OWNER", body: body}
					h := r.deliver("issue_comment", c.payload())
					if own := h.Outcome == events.DeliveryIgnored && strings.Contains(h.Reason, "does not listen to itself"); tc.own && !own {
						t.Errorf("%q: %+v", body, h)
					}
				}
				obeyed := len(facts[events.CommentWanted](r)) > before || len(facts[events.RequestCreated](r)) > 1 ||
					len(facts[events.RequestCancelled](r))+len(facts[events.RequestArtifactsReady](r)) > 0
				if obeyed == tc.own {
					t.Errorf("obeyed: %v", obeyed)
				}
			})
		})
	}
}
