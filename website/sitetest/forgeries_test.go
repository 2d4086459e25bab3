package sitetest

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/tachobench/tacho/control"
	"github.com/tachobench/tacho/events"
)

func TestAForgedSessionIsNone(t *testing.T) {
	s := open(t, nil)
	s.published()
	_, aliceToken := s.account("alice", control.AccountChange{})
	_, bobToken := s.account("bob", control.AccountChange{})
	id := s.asked("alice", "go1.50")
	cancel := "/requests/" + string(id) + "/cancel"
	alice, bob := s.person(), s.person()
	alice.login(aliceToken)
	bob.login(bobToken)
	where, err := url.Parse(s.http.URL)
	if err != nil {
		t.Fatal(err)
	}
	cookie := alice.http.Jar.Cookies(where)[0].Value
	form := alice.formToken()
	fields := strings.Split(cookie, ".")
	before := s.head()
	with := func(at int, value string) string {
		changed := append([]string(nil), fields...)
		changed[at] = value
		return strings.Join(changed, ".")
	}
	for name, value := range map[string]string{
		"another account": with(0, "bob"), "the operator": with(0, ""), "another token": with(1, fields[4]), "longer": with(2, "99999999999"),
		"another nonce": with(3, "A"), "no seal": with(4, ""), "no number": with(2, "x"), "cut": cookie[:len(cookie)-1], "nothing": "", "noise": "%%%",
		"the token itself": aliceToken, "much": strings.Repeat("a.", 3000),
	} {
		t.Run(name, func(t *testing.T) {
			p := s.person()
			p.t = t
			p.wants(http.StatusUnauthorized, "you are not logged in", http.MethodPost, cancel, url.Values{"form": {form}}, "Cookie", "tacho_session="+value)
			_, body := p.ask(http.MethodGet, "/requests/"+string(id), nil, "Cookie", "tacho_session="+value)
			if strings.Contains(body, "<button") || !strings.Contains(body, ">Log in</a>") {
				t.Errorf("the page takes it for a session:\n%s", body)
			}
		})
	}
	for name, given := range map[string]url.Values{
		"no token of the form": {}, "bob's": {"form": {bob.formToken()}}, "the cookie": {"form": {cookie}}, "empty": {"form": {""}},
	} {
		t.Run(name, func(t *testing.T) {
			alice.t = t
			alice.wants(http.StatusForbidden, "does not belong to your session", http.MethodPost, cancel, given)
		})
	}
	alice.t = t
	alice.wants(http.StatusForbidden, "does not belong to your session", http.MethodPost, "/logout", nil)
	alice.wants(http.StatusForbidden, "comes from another site", http.MethodPost, cancel, url.Values{"form": {form}}, "Sec-Fetch-Site", "cross-site")
	alice.wants(http.StatusForbidden, "comes from another site", http.MethodPost, "/login", url.Values{"token": {bobToken}}, "Origin", "https://evil.example")
	alice.wants(http.StatusUnsupportedMediaType, "application/x-www-form-urlencoded", http.MethodPost, cancel, url.Values{"form": {form}}, "Content-Type", "text/plain")
	alice.wants(http.StatusRequestEntityTooLarge, "send less at once", http.MethodPost, cancel, url.Values{"form": {strings.Repeat("x", 9000)}})
	alice.wants(http.StatusBadRequest, "not a valid text", http.MethodPost, cancel, url.Values{"form": {form}, "reason": {"a\x00b"}})
	for _, path := range []string{cancel, "/logout", "/requests/" + string(id) + "/priority"} {
		alice.wants(http.StatusMethodNotAllowed, "press the button", http.MethodGet, path, nil)
	}
	// A cookie is nothing for the API.
	if resp, body := s.do(http.MethodPost, "/api/v1"+cancel, "", map[string]string{"Cookie": "tacho_session=" + cookie}); resp.StatusCode != http.StatusUnauthorized {
		t.Errorf("%s %s", resp.Status, body)
	}
	if s.head() != before {
		t.Error("something was recorded")
	}
}

func TestASessionEndsWithItsToken(t *testing.T) {
	s := open(t, nil)
	s.published()
	for what, end := range map[string]func(*person){
		"revoked": func(*person) { s.ok(s.client.RevokeToken(s.ctx, "alice")) },
		"replaced": func(*person) {
			_, err := s.client.IssueToken(s.ctx, "alice")
			s.ok(control.Answer{}, err)
		},
		"closed":  func(*person) { s.ok(s.client.CloseAccount(s.ctx, "alice", "left")) },
		"expired": func(*person) { s.clock.advance(12 * time.Hour) },
		"logged out": func(p *person) {
			p.wants(http.StatusSeeOther, "", http.MethodPost, "/logout", url.Values{"form": {p.formToken()}})
		},
	} {
		t.Run(what, func(t *testing.T) {
			_, token := s.account("alice", control.AccountChange{})
			id := s.asked("alice", events.Tag("go-"+strings.ReplaceAll(what, " ", "-")))
			p := s.person()
			p.login(token)
			form := p.formToken()
			end(p)
			before := s.head()
			p.wants(http.StatusUnauthorized, `<a href="/login">Log in</a>`, http.MethodPost, "/requests/"+string(id)+"/cancel", url.Values{"form": {form}})
			if s.head() != before {
				t.Error("something was recorded")
			}
			s.until(func() bool {
				_, body := p.ask(http.MethodGet, "/requests", nil)
				return !strings.Contains(body, "Logged in")
			})
			if what == "revoked" || what == "replaced" || what == "closed" {
				p.wants(http.StatusUnauthorized, "the token is wrong, or has ended", http.MethodPost, "/login", url.Values{"token": {token}})
			}
		})
	}
}

// ok insists on the success of a command.
func (s *site) ok(_ control.Answer, err error) {
	s.t.Helper()
	if err != nil {
		s.t.Fatal(err)
	}
}
