package sitetest

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tachobench/tacho/control"
	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/website/client"
)

// limited returns a change of the rights of an account.
func limited(may ...events.Right) control.AccountChange { return control.AccountChange{May: &may} }

// A page shows the forms that the rights of the session allow. The others are refused, too, if they are sent.
func TestFormsAreThoseOfTheRights(t *testing.T) {
	st := open(t, nil).story()
	_, secret := st.account("alice", limited(events.RightNone))
	id := st.request(control.NewRequest{Suite: "go", Kind: events.Master, Tag: sha("d"), Parent: sha("c"), Account: "alice"})
	st.ends(st.start(id)[1], events.Failure, "it broke")
	page := "/requests/" + string(id)
	p := st.person()
	p.login(secret)
	all := []string{"priority", "cancel", "repair", "retrigger", "noise"}
	for right, forms := range map[events.Right][]string{
		events.RightNone: nil, events.RightRequest: nil, events.RightForce: nil, events.RightPrioritise: {"priority"}, events.RightCancel: {"cancel"},
		events.RightRerun: {"repair"}, events.RightRetrigger: {"retrigger", "noise"}, "usual": all,
	} {
		if _, err := st.client.ConfigureAccount(st.ctx, "alice", limited(right)); err != nil {
			t.Fatal(err)
		}
		st.until(func() bool {
			a, err := st.client.Account(st.ctx, "alice")
			usual := right == "usual" && len(a.May) == 0
			return err == nil && (usual || slices.Equal(a.May, []events.Right{right})) // the account may have had it before
		})
		_, body := p.ask(http.MethodGet, page, nil)
		var shown []string
		for _, form := range all {
			if strings.Contains(body, `id="`+form+`" method="post"`) {
				shown = append(shown, form)
			}
		}
		if diff := cmp.Diff(forms, shown); diff != "" {
			t.Errorf("with the right %s: %s", right, diff)
		}
		for words, want := range map[string]bool{
			"It lacks the rights prioritise, rerun, retrigger: ask the operator.": right == events.RightCancel,
			"It lacks":           right != "usual",
			"Change the request": right == "usual" || right == events.RightPrioritise || right == events.RightCancel,
			"Measure again":      right == "usual" || right == events.RightRerun || right == events.RightRetrigger,
		} {
			if strings.Contains(body, words) != want {
				t.Errorf("with the right %s: the page says %q: %v", right, words, !want)
			}
		}
		if _, shares := p.ask(http.MethodGet, "/shares", nil); strings.Contains(shares, `<span class="note">may `+string(right)+`</span>`) != (right != "usual") {
			t.Errorf("with the right %s: shares\n%s", right, shares)
		}
	}
	change := limited("usual")
	change.Branches = &[]string{"main", "try/*", "next", "release/*"}
	if _, err := st.client.ConfigureAccount(st.ctx, "alice", change); err != nil {
		t.Fatal(err)
	}
	st.shows("/shares", []string{`<span class="note">branches main, try/*, next and 1 more</span>`}, nil)
	form := url.Values{"form": {p.formToken()}, "priority": {"low"}, "at": {"1"}, "copies": {"2"}}
	if _, err := st.client.ConfigureAccount(st.ctx, "alice", limited(events.RightRequest)); err != nil {
		t.Fatal(err)
	}
	before := st.head()
	p.wants(http.StatusForbidden, "account alice lacks the right prioritise", http.MethodPost, page+"/priority", form)
	p.wants(http.StatusForbidden, "account alice lacks the right cancel", http.MethodPost, page+"/cancel", form)
	for kind, right := range map[string]string{"repair": "rerun", "retrigger": "retrigger", "noise": "retrigger"} {
		form.Set("kind", kind)
		if kind == "repair" {
			form.Del("copies")
		} else {
			form.Set("copies", "2")
		}
		p.wants(http.StatusForbidden, "lacks the right "+right, http.MethodPost, page+"/again", form)
	}
	if st.head() != before {
		t.Error("a refused form recorded something")
	}
}

// An account does by its token what it has the rights for, and is refused the rest with the next step.
func TestRightsAtTheAPI(t *testing.T) {
	st := scheduled(t)
	robot, _ := st.account("robot", control.AccountChange{})
	made, err := robot.CreateRequest(st.ctx, control.NewRequest{Suite: "go", Kind: events.Master, Tag: sha("d"), Parent: sha("c")})
	if err != nil {
		t.Fatal(err)
	}
	other := st.suite
	other.Profiles = append(other.Profiles[:0:0], other.Profiles...)
	other.Profiles[0].OnRequest = true
	calls := map[string]struct {
		right events.Right
		do    func() error
	}{
		"request": {events.RightRequest, func() error {
			_, err := robot.CreateRequest(st.ctx, control.NewRequest{Suite: "go", Kind: events.Master, Tag: sha("e")})
			return err
		}},
		"batch": {events.RightRequest, func() error {
			_, err := robot.CreateRequests(st.ctx, control.Batch{Requests: []control.NewRequest{{Suite: "go", Kind: events.Master, Tag: sha("f")}}})
			return err
		}},
		"retrigger": {events.RightRetrigger, func() error {
			_, err := robot.WantGraph(st.ctx, made.RequestID, client.NewGraph{Kind: events.GraphRetrigger})
			return err
		}},
		"dry run": {events.RightRetrigger, func() error {
			_, err := robot.WantGraph(st.ctx, made.RequestID, client.NewGraph{Kind: events.GraphRetrigger, DryRun: true})
			return err
		}},
		"repair": {events.RightRerun, func() error {
			_, err := robot.RepairRequest(st.ctx, made.RequestID, control.Repair{Key: "k"})
			return err
		}},
		"prioritise": {events.RightPrioritise, func() error {
			_, err := robot.PrioritiseRequest(st.ctx, made.RequestID, client.NewPriority{Priority: "low"})
			return err
		}},
		"publish": {events.RightPublish, func() error {
			_, err := robot.Publish(st.ctx, other.Canonical(), client.Publication{Branch: "next"})
			return err
		}},
		"promote": {events.RightPromote, func() error {
			_, err := robot.Promote(st.ctx, "go", client.Promotion{Branch: "next", Digest: st.suite.Digest()})
			return err
		}},
	}
	if _, err := st.client.ConfigureAccount(st.ctx, "robot", limited(events.RightNone)); err != nil {
		t.Fatal(err)
	}
	before := st.head()
	for _, c := range calls {
		err := c.do()
		wantStatus(t, err, http.StatusForbidden, "account robot lacks the right "+string(c.right)+": ask the operator: `tacho account set robot --may "+string(c.right)+"`")
	}
	// The scheduler goes on meanwhile with what was asked for before.
	for seq := before + 1; seq <= st.head(); seq++ {
		e, err := st.now().Event(st.ctx, seq)
		if err != nil || e.Source != "scheduler" {
			t.Fatalf("a refused call recorded event %d, %s of %s: %v", seq, e.Type, e.Source, err)
		}
	}
	branches := []string{"next", "try/*"}
	change := limited(events.RightPublish, events.RightPromote)
	change.Branches = &branches
	if _, err := st.client.ConfigureAccount(st.ctx, "robot", change); err != nil {
		t.Fatal(err)
	}
	_, err = robot.Publish(st.ctx, other.Canonical(), client.Publication{})
	wantStatus(t, err, http.StatusForbidden, "account robot may publish only for branches that match next or try/*: name the branch")
	for _, name := range []string{"publish", "promote"} {
		if err := calls[name].do(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	shown, err := st.now().Account(st.ctx, "robot")
	if err != nil || cmp.Diff([]events.Right{events.RightPromote, events.RightPublish}, shown.May) != "" || cmp.Diff(branches, shown.Branches) != "" {
		t.Errorf("%+v %v", shown, err)
	}
	_, body := st.do(http.MethodPut, "/api/v1/accounts/robot", `{"may":["fly"]}`, permitted())
	if !strings.Contains(body, `unknown right \"fly\": use some of request, rerun`) {
		t.Error(body)
	}
}
