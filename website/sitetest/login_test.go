package sitetest

import (
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/tachobench/tacho/config"
	"github.com/tachobench/tacho/control"
	"github.com/tachobench/tacho/website"
)

// A second website with the same token takes the session: they share nothing else. One with another token does not.
func TestASessionIsTakenByEachWebsite(t *testing.T) {
	var reader website.Config
	s := open(t, func(c *website.Config) { reader = *c })
	s.account("alice", control.AccountChange{})
	_, aliceToken := s.account("alice", control.AccountChange{})
	p := s.person()
	p.login(aliceToken)
	for own, want := range map[string]bool{token: true, "another": false} {
		c := reader
		c.Token, c.Registry = own, nil
		again := httptest.NewServer(website.New(c).Handler())
		other := s.personAt(again.URL, again.Client().Transport)
		other.http.Jar = p.http.Jar // cookies know no ports
		if _, body := other.ask(http.MethodGet, "/requests", nil); strings.Contains(body, "<strong>alice</strong>") != want {
			t.Errorf("token %q: taken is not %v", own, want)
		}
		again.Close()
	}
}

func TestATokenIsNotTakenWhereOthersListen(t *testing.T) {
	s := open(t, func(c *website.Config) { c.Readers = config.Readers{TrustedProxies: []string{"127.0.0.9"}} })
	_, aliceToken := s.account("alice", control.AccountChange{})
	given := url.Values{"token": {aliceToken}}

	for _, address := range foreign(t) {
		l, err := net.Listen("tcp", net.JoinHostPort(address, "0"))
		if err != nil {
			t.Fatal(err)
		}
		plain := httptest.NewUnstartedServer(s.server.Handler())
		plain.Listener.Close()
		plain.Listener = l
		plain.Start()
		defer plain.Close()
		p := s.personAt(plain.URL, plain.Client().Transport)
		p.wants(http.StatusForbidden, "a token is taken only over TLS", http.MethodGet, "/login", nil)
		p.wants(http.StatusForbidden, "a token is taken only over TLS", http.MethodPost, "/login", given)
		p.wants(http.StatusForbidden, "name the proxy", http.MethodPost, "/login", given, "X-Forwarded-Proto", "https")
	}

	proxied := s.personAt(s.http.URL, from(t, "127.0.0.9").Transport)
	proxied.wants(http.StatusForbidden, "the proxy does not say that you use it", http.MethodPost, "/login", given, "X-Forwarded-Proto", "http")
	resp, _ := proxied.ask(http.MethodPost, "/login", given, "X-Forwarded-Proto", "https", "X-Forwarded-For", "192.0.2.7")
	if cookie := resp.Header.Get("Set-Cookie"); !strings.HasPrefix(cookie, "__Host-tacho_session=alice.") || !strings.Contains(cookie, "; Secure") {
		t.Errorf("%s %s", resp.Status, cookie)
	}

	secure := httptest.NewTLSServer(s.server.Handler())
	defer secure.Close()
	p := s.personAt(secure.URL, secure.Client().Transport)
	if cookie := p.login(aliceToken).Header.Get("Set-Cookie"); !strings.HasPrefix(cookie, "__Host-tacho_session=alice.") || !strings.Contains(cookie, "; Secure") {
		t.Errorf("the cookie over TLS: %s", cookie)
	}
	if _, body := p.ask(http.MethodGet, "/collectors", nil); !strings.Contains(body, "<strong>alice</strong>") {
		t.Error("the session over TLS is not taken")
	}
}

// foreign returns the addresses of this machine that are not loopback.
func foreign(t *testing.T) (out []string) {
	t.Helper()
	list, err := net.InterfaceAddrs()
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range list {
		if n, ok := a.(*net.IPNet); ok && n.IP.IsGlobalUnicast() {
			out = append(out, n.IP.String())
		}
	}
	return out
}

func TestWrongTokensAreBoundedPerAddress(t *testing.T) {
	s := open(t, nil)
	_, aliceToken := s.account("alice", control.AccountChange{})
	p := s.person()
	for range 10 {
		p.wants(http.StatusUnauthorized, "the token is wrong", http.MethodPost, "/login", url.Values{"token": {"guess"}})
	}
	resp, body := p.ask(http.MethodPost, "/login", url.Values{"token": {aliceToken}})
	if resp.StatusCode != http.StatusTooManyRequests || resp.Header.Get("Retry-After") != "60" || !strings.Contains(body, "too many wrong tokens") {
		t.Errorf("%s %v %s", resp.Status, resp.Header, body)
	}
	s.personAt(s.http.URL, from(t, "127.0.0.7").Transport).login(aliceToken)
}

func TestNobodyLogsInWhereNobodyMayWrite(t *testing.T) {
	s := open(t, func(c *website.Config) { c.Token = "" })
	s.person().wants(http.StatusForbidden, "TACHO_TOKEN", http.MethodGet, "/login", nil)
	s.person().wants(http.StatusForbidden, "TACHO_TOKEN", http.MethodPost, "/login", url.Values{"token": {""}})
}
