package sitetest

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/tachobench/tacho/control"
	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/website/client"
)

// account makes an account with a token and returns a client that has it.
func (s *site) account(name events.AccountName, change control.AccountChange) (*client.Client, string) {
	s.t.Helper()
	if _, err := s.client.ConfigureAccount(s.ctx, name, change); err != nil {
		s.t.Fatal(err)
	}
	made, err := s.client.IssueToken(s.ctx, name)
	if err != nil || made.Account != name || made.Token == "" {
		s.t.Fatalf("%+v %v", made, err)
	}
	c, err := client.New(s.http.URL, made.Token)
	if err != nil {
		s.t.Fatal(err)
	}
	return c, made.Token
}

// published tells of the suite that requests are measured with.
func (s *site) published() {
	s.t.Helper()
	if _, err := s.control.Publish(s.ctx, teller(), s.suite); err != nil {
		s.t.Fatal(err)
	}
}

func wantStatus(t *testing.T, err error, status int, says string) {
	t.Helper()
	var e *client.Error
	if !errors.As(err, &e) || e.Status != status || !strings.Contains(e.Error(), says) {
		t.Errorf("%v, want %d with %q", err, status, says)
	}
}

func TestAnAccountAsksForItselfAlone(t *testing.T) {
	s := open(t, nil)
	s.published()
	alice, _ := s.account("alice", control.AccountChange{})
	bob, _ := s.account("bob", control.AccountChange{})
	asks := control.NewRequest{Suite: "go", Kind: events.Master, Tag: "go1.50", Priority: "high"}
	made, err := alice.CreateRequest(s.ctx, asks)
	if err != nil || made.Account != "alice" || made.Queue != "alice" || made.Priority != "high" {
		t.Fatalf("%+v %v", made, err)
	}
	e, err := s.now().Event(s.ctx, made.Seq)
	if err != nil || e.Actor != "account:alice" || e.Source != "website" {
		t.Errorf("%+v %v", e, err)
	}
	read, err := s.now().Request(s.ctx, "go1.50")
	if err != nil || read.Account != "alice" || read.CreatedBy != "account:alice" {
		t.Errorf("%+v %v", read.Request, err)
	}
	_, err = bob.CreateRequest(s.ctx, asks)
	wantStatus(t, err, http.StatusConflict, "account bob instead of alice")
	_, err = bob.CancelRequest(s.ctx, made.RequestID, "")
	wantStatus(t, err, http.StatusForbidden, "is of account alice")
	_, err = bob.PrioritiseRequest(s.ctx, "go1.50", client.NewPriority{Priority: "low"})
	wantStatus(t, err, http.StatusForbidden, "is of account alice")
	_, err = alice.PrioritiseRequest(s.ctx, made.RequestID, client.NewPriority{Priority: "vip"})
	wantStatus(t, err, http.StatusForbidden, "max_priority")
	if low, err := alice.PrioritiseRequest(s.ctx, "go1.50", client.NewPriority{Priority: "low", Reason: "no hurry"}); err != nil || low.Priority != "low" {
		t.Errorf("%+v %v", low, err)
	}
	if vip, err := s.client.PrioritiseRequest(s.ctx, made.RequestID, client.NewPriority{Priority: "vip"}); err != nil || vip.Priority != "vip" {
		t.Errorf("the operator: %+v %v", vip, err)
	}
	asks = control.NewRequest{Suite: "go", Kind: events.Master, Tag: "go1.51", Account: "bob"}
	_, err = alice.CreateRequest(s.ctx, asks)
	wantStatus(t, err, http.StatusForbidden, "cannot ask for account bob")
	asks.Queue = "idle"
	if made, err := s.client.CreateRequest(s.ctx, asks); err != nil || made.Account != "bob" || made.Priority != "idle" || !strings.Contains(made.Note, "read as priority idle") {
		t.Errorf("the operator asks for bob: %+v %v", made, err)
	}
	before := s.head()
	for what, do := range map[string]func() error{
		"make an account": func() error { _, err := alice.ConfigureAccount(s.ctx, "carol", control.AccountChange{}); return err },
		"change its own":  func() error { _, err := alice.ConfigureAccount(s.ctx, "alice", control.AccountChange{}); return err },
		"close":           func() error { _, err := alice.CloseAccount(s.ctx, "bob", ""); return err },
		"take a token":    func() error { _, err := alice.IssueToken(s.ctx, "bob"); return err },
		"end a token":     func() error { _, err := alice.RevokeToken(s.ctx, "bob"); return err },
		"make a queue":    func() error { _, err := alice.ConfigureQueue(s.ctx, "q", control.QueueChange{}); return err },
		"pause":           func() error { _, err := alice.PauseQueue(s.ctx, "main"); return err },
		"set the policy":  func() error { _, err := alice.SetSharePolicy(s.ctx, control.PolicyChange{}); return err },
		"drain":           func() error { _, err := alice.DrainCollector(s.ctx, "amd-0", ""); return err },
		"want a version":  func() error { _, err := alice.WantVersion(s.ctx, events.VersionWanted{Version: "v1.2.3"}); return err },
		"publish":         func() error { _, err := alice.Publish(s.ctx, s.suite.Canonical(), client.Publication{}); return err },
	} {
		t.Run(what, func(t *testing.T) { wantStatus(t, do(), http.StatusForbidden, "ask the operator") })
	}
	if s.head() != before {
		t.Error("something was recorded")
	}
}

func TestATokenEndsAtOnce(t *testing.T) {
	s := open(t, nil)
	s.published()
	for what, end := range map[string]func() error{
		"revoked":  func() error { _, err := s.client.RevokeToken(s.ctx, "alice"); return err },
		"replaced": func() error { _, err := s.client.IssueToken(s.ctx, "alice"); return err },
		"closed":   func() error { _, err := s.client.CloseAccount(s.ctx, "alice", "left"); return err },
	} {
		alice, _ := s.account("alice", control.AccountChange{})
		ask := func(tag string) error {
			_, err := alice.CreateRequest(s.ctx, control.NewRequest{Suite: "go", Kind: events.Master, Tag: events.Tag(what + "-" + tag)})
			return err
		}
		if err := ask("before"); err != nil {
			t.Fatal(err)
		}
		// Fifty clients ask while the token ends: each is served or refused, and none after the end. One whose token
		// was read before the account was closed hears of the account.
		var all sync.WaitGroup
		var over atomic.Bool
		for i := range 50 {
			all.Go(func() {
				ended := over.Load()
				err := ask(fmt.Sprint(i))
				var refused *client.Error
				if !ended && errors.As(err, &refused) && refused.Status == http.StatusConflict && strings.Contains(err.Error(), "account alice was closed") {
					return
				}
				if ended || err != nil {
					wantStatus(t, err, http.StatusUnauthorized, "token is missing or wrong")
				}
			})
			if i == 25 {
				if err := end(); err != nil {
					t.Error(err)
				}
				over.Store(true)
			}
		}
		all.Wait()
		wantStatus(t, ask("after"), http.StatusUnauthorized, "token is missing or wrong")
	}
}

// People who guess tokens learn nothing, and do not keep others from reading or asking, however many they are.
func TestGuessesDoNotKeepOthersFromAsking(t *testing.T) {
	s := open(t, nil)
	s.published()
	alice, token := s.account("alice", control.AccountChange{})
	var all sync.WaitGroup
	for i := range 100 {
		all.Go(func() {
			guess := fmt.Sprintf("%s%03d", token[:len(token)-3], i)
			resp, body := s.do(http.MethodPost, "/api/v1/requests", `{}`, map[string]string{"Authorization": "Bearer " + guess, "Content-Type": "application/json"})
			if resp.StatusCode != http.StatusUnauthorized || strings.Contains(body, "alice") {
				t.Errorf("%s: %s", resp.Status, body)
			}
		})
	}
	if _, err := s.now().Status(s.ctx); err != nil {
		t.Error(err)
	}
	if _, err := alice.CreateRequest(s.ctx, control.NewRequest{Suite: "go", Kind: events.Master, Tag: "go1.50"}); err != nil {
		t.Error(err)
	}
	all.Wait()
}

func TestFiftyClientsAreBoundedByMaxPending(t *testing.T) {
	const clients, each, limit = 50, 3, 10
	s := open(t, nil)
	s.published()
	alice, _ := s.account("alice", control.AccountChange{MaxPending: new(limit)})
	var all sync.WaitGroup
	var made atomic.Int32
	for i := range clients {
		all.Go(func() {
			for k := range each {
				_, err := alice.CreateRequest(s.ctx, control.NewRequest{Suite: "go", Kind: events.Master, Tag: events.Tag(fmt.Sprint("c", i, "-", k))})
				if err == nil {
					made.Add(1)
					continue
				}
				wantStatus(t, err, http.StatusTooManyRequests, "may have 10 (max_pending)")
			}
		})
	}
	all.Wait()
	if n := made.Load(); n < limit || n > limit+clients {
		t.Errorf("%d requests, want %d and at most one more for each client", n, limit)
	}
	before := s.head()
	_, err := alice.CreateRequest(s.ctx, control.NewRequest{Suite: "go", Kind: events.Master, Tag: "more"})
	wantStatus(t, err, http.StatusTooManyRequests, "account alice has ")
	if s.head() != before {
		t.Error("something was recorded")
	}
}

func TestWrongSettingsAreRefused(t *testing.T) {
	s := open(t, nil)
	s.published()
	for _, q := range [][2]events.QueueName{{"builds", ""}, {"bisect", "builds"}} {
		if _, err := s.client.ConfigureQueue(s.ctx, q[0], control.QueueChange{Parent: &q[1]}); err != nil {
			t.Fatal(err)
		}
	}
	s.account("alice", control.AccountChange{})
	s.machines() // waits for the tables, which know the queues
	before := s.head()
	for name, c := range map[string]struct {
		method, path, body string
		status             int
		says               string
	}{
		"weight 0":          {"PUT", "accounts/alice", `{"weight":0}`, 400, "weight 0: use a whole number from 1 to 1000"},
		"weight 1.5":        {"PUT", "accounts/alice", `{"weight":1.5}`, 400, "weight 1.5: use a whole number from 1 to 1000"},
		"weight 1001":       {"PUT", "queues/builds", `{"weight":1001}`, 400, "weight 1001"},
		"a negative limit":  {"PUT", "accounts/alice", `{"max_running":-1}`, 400, "max_running -1"},
		"unknown priority":  {"PUT", "accounts/alice", `{"max_priority":"asap"}`, 400, "use one of vip, high, normal, low, idle"},
		"unknown setting":   {"PUT", "accounts/alice", `{"wieght":7}`, 400, `unknown field "wieght"`},
		"no account":        {"POST", "accounts/bob/token", "", 404, "unknown account"},
		"no account's end":  {"DELETE", "accounts/bob", "", 404, "unknown account"},
		"an own queue":      {"PUT", "queues/alice", `{}`, 409, "use `tacho account set alice`"},
		"a taken name":      {"PUT", "accounts/bisect", `{}`, 409, "there is or was a queue bisect"},
		"a cycle":           {"PUT", "queues/builds", `{"parent":"bisect"}`, 409, "builds cannot be a part of bisect"},
		"unknown parent":    {"PUT", "queues/q", `{"parent":"bilds"}`, 400, `unknown parent "bilds": use one of bisect, builds`},
		"unknown member":    {"PUT", "queues/q", `{"members":["bob"]}`, 400, `unknown account "bob"`},
		"with parts":        {"DELETE", "queues/builds", "", 409, "has parts: close or move bisect first"},
		"no queue":          {"POST", "queues/bilds/pause", "", 404, "there is no queue bilds"},
		"a large floor":     {"PUT", "shares/policy", `{"floor_default":501}`, 400, "use 0 to 500"},
		"floors together":   {"PUT", "shares/policy", `{"floor_default":500,"floor_idle":500}`, 400, "use at most 900"},
		"no lag":            {"PUT", "shares/policy", `{"lag_ms":0}`, 400, "more than 0"},
		"no priority":       {"PUT", "requests/r0/priority", `{}`, 400, "which priority? Use one of vip"},
		"nobody's priority": {"PUT", "requests/r0/priority", `{"priority":"low"}`, 404, "there is no request r0"},
		"unknown account":   {"POST", "requests", `{"suite":"go","kind":"master","tag":"x","account":"bob"}`, 400, "tacho account set bob"},
		"unknown queue":     {"POST", "requests", `{"suite":"go","kind":"master","tag":"x","queue":"bisct"}`, 400, `unknown queue "bisct": use one of main, bisect, builds`},
		"above the cap":     {"POST", "requests", `{"suite":"go","kind":"master","tag":"x","account":"alice","priority":"vip"}`, 403, "may give, which is high"},
		"no batch":          {"POST", "requests/batch", `{}`, 400, "no requests"},
		"a bad line":        {"POST", "requests/batch", `{"requests":[{"kind":"master","tag":"x"},{"kind":"master","tga":"x"}]}`, 400, `line 2: unknown field "tga"`},
		"each and check":    {"POST", "requests/batch", `{"each":true,"check":true,"requests":[{}]}`, 400, "exclude one another"},
		"each of too many":  {"POST", "requests/batch", `{"each":true,"requests":[` + strings.Repeat("{},", control.MaxEach) + `{}]}`, 400, "1001 requests: at most 1000"},
		"a bad queue":       {"POST", "requests/batch", `{"first":7,"requests":[{"kind":"master","tag":"x"},{"kind":"master","tag":"y","queue":"z"}]}`, 400, `line 8: unknown queue "z"`},
		"a wrong method":    {"PATCH", "accounts/alice", `{}`, 405, "use GET or PUT or DELETE"},
		"no reason to know": {"DELETE", "accounts/alice?why=x", "", 400, `unknown parameter "why": use reason`},
	} {
		t.Run(name, func(t *testing.T) {
			resp, body := s.do(c.method, "/api/v1/"+c.path, c.body, permitted())
			e := refusal(t, body)
			if said := e.Message + ": " + e.Next; resp.StatusCode != c.status || !strings.Contains(said, c.says) {
				t.Errorf("%d, want %d with %q: %s", resp.StatusCode, c.status, c.says, body)
			}
		})
	}
	if s.head() != before {
		t.Error("a refused command recorded something")
	}
}

func TestEveryWriteOfASharedFarm(t *testing.T) {
	s := open(t, nil)
	s.published()
	c := s.client
	for what, do := range map[string]func() (control.Answer, error){
		"policy": func() (control.Answer, error) {
			return c.SetSharePolicy(s.ctx, control.PolicyChange{FloorIdle: new(7)})
		},
		"queue": func() (control.Answer, error) { return c.ConfigureQueue(s.ctx, "bisect", control.QueueChange{}) },
	} {
		if a, err := do(); err != nil || a.Existed {
			t.Errorf("%s: %+v %v", what, a, err)
		}
		if a, err := do(); err != nil || !a.Existed {
			t.Errorf("%s again: %+v %v", what, a, err)
		}
	}
	for _, do := range []func() (control.Answer, error){
		func() (control.Answer, error) { return c.PauseQueue(s.ctx, "bisect") },
		func() (control.Answer, error) { return c.ResumeQueue(s.ctx, "bisect") },
		func() (control.Answer, error) { return c.CloseQueue(s.ctx, "bisect", "done") },
	} {
		if a, err := do(); err != nil || a.Existed {
			t.Errorf("%+v %v", a, err)
		}
	}
	alice, _ := s.account("alice", control.AccountChange{})
	list := []control.NewRequest{{Kind: events.Master, Tag: "c1"}, {Kind: events.Try, Key: "k", Queue: "idle"}}
	checked, err := alice.CreateRequests(s.ctx, control.Batch{Requests: list, Check: true})
	if err != nil || checked.Recorded != 0 || !checked.Existed || len(checked.Requests) != 2 {
		t.Fatalf("%+v %v", checked, err)
	}
	made, err := alice.CreateRequests(s.ctx, control.Batch{Requests: list})
	if err != nil || made.Recorded != 2 || made.Requests[0].Account != "alice" || made.Requests[1].Note == "" || made.Seq != s.head() {
		t.Fatalf("%+v %v", made, err)
	}
	if again, err := alice.CreateRequests(s.ctx, control.Batch{Requests: list}); err != nil || !again.Existed {
		t.Errorf("%+v %v", again, err)
	}
	if a, err := c.RevokeToken(s.ctx, "alice"); err != nil || a.Existed {
		t.Errorf("%+v %v", a, err)
	}
	if a, err := c.CloseAccount(s.ctx, "alice", "left"); err != nil || a.Existed {
		t.Errorf("%+v %v", a, err)
	}
	closed, err := s.now().Event(s.ctx, s.head())
	if err != nil || !strings.Contains(string(closed.Data), "left") {
		t.Errorf("%+v %v", closed, err)
	}
}
