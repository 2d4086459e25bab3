package website

import (
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/tachobench/tacho/control"
	"github.com/tachobench/tacho/events"
)

// sealing returns a server that can seal tickets, and nothing else. The network 10.0.0.0/8 is its proxies.
func sealing(token string, now time.Time) *Server {
	key := sessionKey(token)
	return &Server{
		Config:  Config{Token: token, Control: &control.Control{}, Clock: func() time.Time { return now }},
		bounds:  &bounds{trusted: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}, guesses: newPlaces(guessesOfAll, guessesOfOne, 2)},
		metrics: newMetrics(prometheus.NewRegistry()), key: func() []byte { return key },
	}
}

var sealedAt = time.Date(2026, 11, 23, 1, 0, 0, 0, time.UTC)

func TestATicketIsOfOneTokenAndOneServer(t *testing.T) {
	s := sealing("a", sealedAt)
	digest := events.Digest(strings.Repeat("5e", 32))
	made := s.newTicket("alice", digest)
	value := s.sealed(made)
	if strings.Contains(value, string(digest)) {
		t.Error("the cookie shows the digest of the token")
	}
	got, ok := s.unseal(value)
	if !ok || got != made || !s.of(got, digest) {
		t.Fatalf("%+v %v, want %+v", got, ok, made)
	}
	if s.of(got, "another") || s.of(got, "") {
		t.Error("the ticket is of another token, or of none")
	}
	if operator := s.newTicket("", ""); !s.of(operator, "") {
		t.Error("the operator's ticket is not theirs")
	}
	other := s.newTicket("alice", digest)
	if s.formToken(other) == s.formToken(made) || s.formToken(made) == s.formToken(ticket{}) {
		t.Error("two sessions have one token for forms")
	}
	later := sealing("a", sealedAt.Add(sessionLasts))
	if _, ok := later.unseal(value); ok {
		t.Error("the ticket has no end")
	}
	if _, ok := sealing("b", sealedAt).unseal(value); ok {
		t.Error("a server with another token takes the ticket")
	}
}

// Whatever a cookie holds, only what the server sealed is taken.
func FuzzUnseal(f *testing.F) {
	s := sealing("a", sealedAt)
	valid := s.sealed(ticket{account: "alice", mark: "m", ends: sealedAt.Unix() + 1, nonce: "n"})
	for _, value := range []string{valid, "", "....", valid + ".", strings.Replace(valid, "alice", "bob", 1), strings.Replace(valid, "alice", "", 1), "alice.m.1e9.n.x", "a.b.99999999999999999999.c.d"} {
		f.Add(value)
	}
	f.Fuzz(func(t *testing.T, value string) {
		if got, ok := s.unseal(value); ok != (value == valid) {
			t.Errorf("%q: %+v %v", value, got, ok)
		}
	})
}

func TestTokensAreTakenOnlyWhereNobodyListens(t *testing.T) {
	s := sealing("a", sealedAt)
	for name, c := range map[string]struct {
		peer, local, host   string
		tls                 bool
		proto, forwardedFor string
		secure              bool
		says                string
	}{
		"TLS":                        {peer: "192.0.2.1:7", local: "192.0.2.9", host: "perf.example", tls: true, secure: true},
		"this machine":               {peer: "127.0.0.1:7", local: "127.0.0.1", host: "localhost:8421"},
		"this machine's address":     {peer: "[::1]:7", local: "::1", host: "[::1]:8421"},
		"a name below localhost":     {peer: "127.0.0.1:7", local: "127.0.0.1", host: "Tacho.localhost"},
		"another machine":            {peer: "192.0.2.1:7", local: "192.0.2.9", host: "perf.example", says: "others could read it"},
		"it claims to be localhost":  {peer: "192.0.2.1:7", local: "192.0.2.9", host: "localhost", says: "others could read it"},
		"it claims to use TLS":       {peer: "192.0.2.1:7", local: "192.0.2.9", host: "perf.example", proto: "https", says: "trusted_proxies"},
		"a silent proxy here":        {peer: "127.0.0.1:7", local: "127.0.0.1", host: "perf.example", says: "others could read it"},
		"an unknown proxy here":      {peer: "127.0.0.1:7", local: "127.0.0.1", host: "localhost", forwardedFor: "192.0.2.1", says: "trusted_proxies"},
		"a proxy with TLS":           {peer: "10.0.0.1:7", local: "10.0.0.2", host: "perf.example", proto: "https", forwardedFor: "192.0.2.1", secure: true},
		"a proxy without TLS":        {peer: "10.0.0.1:7", local: "10.0.0.2", host: "perf.example", proto: "http", says: "X-Forwarded-Proto"},
		"a client's word, then http": {peer: "10.0.0.1:7", local: "10.0.0.2", host: "perf.example", proto: "https, http", says: "X-Forwarded-Proto"},
		"TLS to a proxy alone":       {peer: "10.0.0.1:7", local: "10.0.0.2", host: "perf.example", tls: true, proto: "http", says: "X-Forwarded-Proto"},
		"a proxy that does not say":  {peer: "10.0.0.1:7", local: "10.0.0.2", host: "perf.example", forwardedFor: "192.0.2.1", says: "X-Forwarded-Proto"},
		"no address":                 {peer: "@", local: "127.0.0.1", host: "localhost", says: "others could read it"},
	} {
		r := httptest.NewRequest(http.MethodGet, "/login", nil)
		r = r.WithContext(context.WithValue(r.Context(), http.LocalAddrContextKey, &net.TCPAddr{IP: net.ParseIP(c.local), Port: 8421}))
		r.RemoteAddr, r.Host = c.peer, c.host
		if c.tls {
			r.TLS = &tls.ConnectionState{}
		}
		for header, value := range map[string]string{"X-Forwarded-Proto": c.proto, "X-Forwarded-For": c.forwardedFor} {
			if value != "" {
				r.Header.Set(header, value)
			}
		}
		secure, err := s.private(r)
		if secure != c.secure || (err == nil) != (c.says == "") {
			t.Errorf("%s: %v %v", name, secure, err)
		}
		if err == nil {
			continue
		}
		if e, _ := explain(err); e.Status != http.StatusForbidden || !strings.Contains(e.Message+e.Next, c.says) {
			t.Errorf("%s: %v lacks %q", name, e, c.says)
		}
	}
}

func TestALoginLeadsOnlyToOwnPages(t *testing.T) {
	for text, want := range map[string]string{
		"/requests/r1": "/requests/r1", "": "/", "//evil.example": "/", "/\\evil.example": "/", "https://evil.example/": "/", "requests": "/",
		"/login": "/", "/a//b": "/", "/a?b": "/", "/a\r\nb": "/", "/%2f/evil.example": "/",
	} {
		if got := localPath(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

func TestWrongTokensOfAnAddressAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := sealing("a", sealedAt)
		try := func(peer string, right bool) bool {
			r := httptest.NewRequest(http.MethodPost, "/login", nil)
			r.RemoteAddr = peer
			guessed, err := s.guess(r)
			if err == nil {
				guessed(right)
				return true
			}
			e, _ := explain(err)
			return e.Status != http.StatusTooManyRequests || e.RetryAfter != guessLasts
		}
		for range 3 * guessesOfOne {
			if !try("192.0.2.1:7", true) {
				t.Fatal("a right token counts")
			}
		}
		for range guessesOfOne {
			if !try("192.0.2.1:7", false) {
				t.Fatal("too few attempts")
			}
		}
		if try("192.0.2.1:8", true) {
			t.Error("an attempt too many")
		}
		if !try("192.0.2.2:7", true) {
			t.Error("another address has to wait")
		}
		time.Sleep(guessLasts + time.Second)
		if !try("192.0.2.1:7", true) {
			t.Error("the minute does not end")
		}
	})
}
