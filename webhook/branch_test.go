package webhook

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tachobench/tacho/control"
	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/rules/suite"
)

// offering are definitions that offer a choice.
func offering() suite.Definitions {
	d := small()
	d.Version = 2
	d.Options = []suite.Option{{Name: "pgo", Values: []string{"off", "on"}}, {Name: "lto", Values: []string{"off", "on"}, Who: suite.WhoBranch}}
	d.Graphs = []suite.Graph{{Name: "quick", Kinds: []events.JobKind{"compile"}}, {Name: "full"}}
	d.Branches = []suite.Branch{{Match: "release/*", Options: map[string]string{"lto": "on"}}}
	return d
}

// A pull request is asked for only if the suite has something of its own for branches; then its request has the branch
// that it is meant for, and the definitions of that branch read the comment.
func TestAPullRequestHasItsBranch(t *testing.T) {
	inRig(t, func(t *testing.T, r *rig) {
		r.run()
		id := int64(100)
		says := func(body string) events.DeliveryHandled {
			id++
			return r.deliver("issue_comment", from(id, alice, body).payload())
		}
		says("@tacho queue")
		first := facts[events.RequestCreated](r)
		if len(first) != 1 || first[0].Branch != "" || r.pulls != 0 {
			t.Fatalf("%+v after %d questions", first, r.pulls)
		}
		if h := says("@tacho queue graph=full"); h.Outcome != events.DeliveryRefused {
			t.Errorf("a suite without graphs: %+v", h)
		}
		_, err := r.control().PublishFrom(t.Context(), control.By{Actor: "test"}, offering(), control.Origin{Branch: "release/1.2"})
		if err != nil {
			t.Fatal(err)
		}
		h := says("@tacho queue graph=full pgo=on profiles=opt")
		created := facts[events.RequestCreated](r)
		if h.Outcome != events.DeliveryAccepted || len(created) != 2 || h.Command != "queue profiles=opt graph=full pgo=on" {
			t.Fatalf("%+v %+v", h, created)
		}
		got := created[1]
		if diff := cmp.Diff(map[string]string{"pgo": "on"}, got.Options); diff != "" || got.Branch != "release/1.2" || got.Graph != "full" {
			t.Errorf("%+v", got)
		}
		for comment, want := range map[string]string{
			"@tacho queue pgo=perhaps": "`off` or `on`",
			"@tacho queue lto=on":      "`lto`", // branches alone set it
			"@tacho queue graph=all":   "`quick` or `full`",
		} {
			h := says(comment)
			if h.Outcome != events.DeliveryRefused || !strings.Contains(r.lastAnswer(), want) {
				t.Errorf("%s: %+v %s", comment, h, r.lastAnswer())
			}
		}
		says("@tacho help")
		if help := r.lastAnswer(); !strings.Contains(help, "`graph=` (quick, full), `pgo=` (off, on)") || strings.Contains(help, "lto") {
			t.Errorf("help: %s", help)
		}
	})
}
