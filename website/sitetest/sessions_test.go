package sitetest

import (
	"context"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/tachobench/tacho/control"
	"github.com/tachobench/tacho/events"
)

// person is a browser without a window: it keeps cookies and does not follow redirects.
type person struct {
	*site
	url  string
	http *http.Client
}

func (s *site) person() *person {
	s.t.Helper()
	return s.personAt(s.http.URL, s.http.Client().Transport)
}

func (s *site) personAt(url string, transport http.RoundTripper) *person {
	jar, err := cookiejar.New(nil)
	if err != nil {
		s.t.Fatal(err)
	}
	return &person{s, url, &http.Client{Jar: jar, Transport: transport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}}
}

// ask sends one request and returns the answer and its body. Headers are pairs.
func (p *person) ask(method, path string, form url.Values, headers ...string) (*http.Response, string) {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.ctx, patience)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, method, p.url+path, strings.NewReader(form.Encode()))
	if err != nil {
		p.t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	for i := 0; i < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	resp, err := p.http.Do(req)
	if err != nil {
		p.t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		p.t.Fatal(err)
	}
	return resp, string(body)
}

func (p *person) login(token string) *http.Response {
	p.t.Helper()
	resp, body := p.ask(http.MethodPost, "/login", url.Values{"token": {token}})
	if resp.StatusCode != http.StatusSeeOther {
		p.t.Fatalf("%s: %s", resp.Status, body)
	}
	return resp
}

var formField = regexp.MustCompile(`name="form" value="([^"]+)"`)

// formToken returns what the forms of the person's session hold.
func (p *person) formToken() string {
	p.t.Helper()
	_, page := p.ask(http.MethodGet, "/requests", nil)
	found := formField.FindStringSubmatch(page)
	if found == nil {
		p.t.Fatalf("there is no form on the page:\n%s", page)
	}
	return found[1]
}

// wants insists on an answer with a status that says something.
func (p *person) wants(status int, says, method, path string, form url.Values, headers ...string) {
	p.t.Helper()
	resp, body := p.ask(method, path, form, headers...)
	if resp.StatusCode != status || !strings.Contains(body, says) || resp.Header.Get("Content-Security-Policy") == "" || resp.Header.Get("Cache-Control") != "no-store" {
		p.t.Errorf("%s %s: %s, want %d with %q: %v\n%s", method, path, resp.Status, status, says, resp.Header, body)
	}
}

// asked makes a request of an account and returns its id.
func (s *site) asked(account events.AccountName, tag events.Tag) events.RequestID {
	s.t.Helper()
	made, err := s.client.CreateRequest(s.ctx, control.NewRequest{Suite: "go", Kind: events.Master, Tag: tag, Account: account})
	if err != nil {
		s.t.Fatal(err)
	}
	if _, err := s.now().Request(s.ctx, string(made.RequestID)); err != nil {
		s.t.Fatal(err)
	}
	return made.RequestID
}

func TestASessionChangesItsOwnRequests(t *testing.T) {
	s := open(t, nil)
	s.published()
	_, aliceToken := s.account("alice", control.AccountChange{})
	s.account("bob", control.AccountChange{})
	hers, second, bobs, nobodys := s.asked("alice", "go1.50"), s.asked("alice", "go1.51"), s.asked("bob", "go1.52"), s.asked("", "go1.53")
	page := "/requests/" + string(hers)

	p := s.person()
	_, body := p.ask(http.MethodGet, page, nil)
	for _, words := range []string{"tacho request cancel " + string(hers), "tacho request priority " + string(hers), `href="/login?next=%2Frequests%2F` + string(hers)} {
		if !strings.Contains(body, words) {
			t.Errorf("the page lacks %q:\n%s", words, body)
		}
	}
	if strings.Contains(body, "<button") {
		t.Error("a page without a session has a button")
	}

	resp, _ := p.ask(http.MethodPost, "/login", url.Values{"token": {" " + aliceToken + "\n"}, "next": {page}})
	cookie := resp.Header.Get("Set-Cookie")
	if resp.StatusCode != http.StatusSeeOther || resp.Header.Get("Location") != page {
		t.Fatalf("%s %v", resp.Status, resp.Header)
	}
	for _, part := range []string{"tacho_session=alice.", "Path=/", "Max-Age=43200", "HttpOnly", "SameSite=Strict"} {
		if !strings.Contains(cookie, part) {
			t.Errorf("the cookie lacks %s: %s", part, cookie)
		}
	}
	if strings.Contains(cookie, aliceToken) || strings.Contains(cookie, "Secure") {
		t.Errorf("the cookie holds the token, or needs TLS on this machine: %s", cookie)
	}
	_, body = p.ask(http.MethodGet, page, nil)
	for _, words := range []string{"Logged in as <strong>alice</strong>", `action="/requests/` + string(hers) + `/cancel"`, `<option value="high">`, `<option value="normal" selected>`} {
		if !strings.Contains(body, words) {
			t.Errorf("the page lacks %q:\n%s", words, body)
		}
	}
	if strings.Contains(body, `<option value="vip"`) || strings.Contains(body, aliceToken) || strings.Contains(body, "tacho request cancel") {
		t.Error("the page offers too much")
	}
	for _, id := range []events.RequestID{bobs, nobodys} {
		if _, body := p.ask(http.MethodGet, "/requests/"+string(id), nil); strings.Contains(body, "/cancel") {
			t.Errorf("alice gets a button for request %s", id)
		}
	}
	if _, body := p.ask(http.MethodGet, "/", nil); !strings.Contains(body, "<strong>alice</strong>") {
		t.Error("the status page does not say who is logged in")
	}
	if _, body := s.get("/"); strings.Contains(body, "alice</strong>") || strings.Contains(body, "name=\"form\"") {
		t.Error("the status page of others shows the session")
	}

	form := p.formToken()
	before := s.head()
	for _, id := range []events.RequestID{bobs, nobodys} {
		p.wants(http.StatusForbidden, "ask th", http.MethodPost, "/requests/"+string(id)+"/cancel", url.Values{"form": {form}})
		p.wants(http.StatusForbidden, "ask th", http.MethodPost, "/requests/"+string(id)+"/priority", url.Values{"form": {form}, "priority": {"low"}})
	}
	p.wants(http.StatusForbidden, "max_priority", http.MethodPost, page+"/priority", url.Values{"form": {form}, "priority": {"vip"}})
	p.wants(http.StatusBadRequest, "unknown priority", http.MethodPost, page+"/priority", url.Values{"form": {form}, "priority": {"asap"}})
	p.wants(http.StatusBadRequest, "which priority", http.MethodPost, page+"/priority", url.Values{"form": {form}})
	p.wants(http.StatusNotFound, "there is no request r0", http.MethodPost, "/requests/r0/cancel", url.Values{"form": {form}})
	if s.head() != before {
		t.Fatal("a refused form recorded something")
	}

	p.wants(http.StatusSeeOther, "", http.MethodPost, page+"/priority", url.Values{"form": {form}, "priority": {"low"}, "reason": {"no hurry"}})
	changed, err := s.now().Event(s.ctx, s.head())
	if err != nil || changed.Actor != "account:alice" || changed.Source != "website" || !strings.Contains(string(changed.Data), "no hurry") {
		t.Errorf("%+v %v", changed, err)
	}
	p.wants(http.StatusSeeOther, "", http.MethodPost, page+"/cancel", url.Values{"form": {form}, "reason": {"not needed"}})
	if _, body := p.ask(http.MethodGet, page, nil); !strings.Contains(body, "not needed") || strings.Contains(body, "/cancel\"") {
		t.Errorf("the page after the cancellation:\n%s", body)
	}

	// The operator may change everything, under the name of the operator.
	operator := s.person()
	operator.login(token)
	form = operator.formToken()
	if _, body := operator.ask(http.MethodGet, "/requests/"+string(second), nil); !strings.Contains(body, "the operator") || !strings.Contains(body, `<option value="vip"`) {
		t.Errorf("the operator's page:\n%s", body)
	}
	for _, id := range []events.RequestID{second, bobs, nobodys} {
		operator.wants(http.StatusSeeOther, "", http.MethodPost, "/requests/"+string(id)+"/cancel", url.Values{"form": {form}})
	}
	last, err := s.now().Event(s.ctx, s.head())
	if err != nil || last.Actor != "web:operator" {
		t.Errorf("%+v %v", last, err)
	}
}
