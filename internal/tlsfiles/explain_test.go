package tlsfiles

import (
	"crypto/tls"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/tachobench/tacho/internal/tlstest"
)

// listen answers every connection with one byte.
func listen(t *testing.T, conf *tls.Config) string {
	t.Helper()
	l, err := tls.Listen("tcp", "127.0.0.1:0", conf)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				if _, err := c.Write([]byte("x")); err == nil {
					_, _ = io.Copy(io.Discard, c)
				}
			}()
		}
	}()
	return l.Addr().String()
}

func open(t *testing.T, p tlstest.Pair) *Pair {
	t.Helper()
	pair, err := OpenPair(p.Cert, p.Key, nil)
	if err != nil {
		t.Fatal(err)
	}
	return pair
}

func believe(t *testing.T, ca *tlstest.CA) *Authorities {
	t.Helper()
	a, err := OpenAuthorities(nil, ca.File)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// dial connects and waits for the byte of the server.
func dial(address string, conf *tls.Config) error {
	c, err := tls.Dial("tcp", address, conf)
	if err != nil {
		return err
	}
	defer c.Close()
	_, err = c.Read(make([]byte, 1))
	return err
}

// When a client and a server do not agree, the error says why and what to do.
func TestDisagreementsAreExplained(t *testing.T) {
	ca, foreign := tlstest.NewCA(t, "bench CA"), tlstest.NewCA(t, "foreign CA")
	server := open(t, ca.Issue(tlstest.Leaf{Name: "server"}))
	plain := Server(server, nil)
	// Tacho does not even open an expired certificate of its own: these servers show certificates of others.
	shows := func(p tlstest.Pair) *tls.Config {
		pair, err := tls.LoadX509KeyPair(p.Cert, p.Key)
		if err != nil {
			t.Fatal(err)
		}
		return &tls.Config{Certificates: []tls.Certificate{pair}}
	}
	mutual := Server(server, believe(t, ca))
	older := mutual.Clone()
	older.MaxVersion, older.GetConfigForClient = tls.VersionTLS12, nil
	stranger := open(t, foreign.Issue(tlstest.Leaf{Name: "stranger"}))
	old := ca.Issue(tlstest.Leaf{Name: "old", From: -2 * time.Hour, To: -time.Hour})
	expired, err := tls.LoadX509KeyPair(old.Cert, old.Key)
	if err != nil {
		t.Fatal(err)
	}
	outdated := &Pair{files: &watched[*tls.Certificate]{value: &expired, looked: time.Now().Add(time.Hour), log: slog.New(slog.DiscardHandler)}}
	both := Settings{CA: "nats.ca", Pair: "nats.client_cert", Name: "nats.server_name"}
	for name, tc := range map[string]struct {
		server *tls.Config
		client Client
		want   []string
	}{
		"wrong CA":           {plain, Client{CA: believe(t, foreign)}, []string{"subject CN=server", "issued by CN=bench CA", "not signed by a CA that Tacho trusts", "set nats.ca"}},
		"no CA":              {plain, Client{}, []string{"not signed by a CA that Tacho trusts", "the certificate of its CA, CN=bench CA"}},
		"self-signed":        {shows(tlstest.SelfSigned(t, tlstest.In(t.TempDir()), tlstest.Leaf{Name: "self"})), Client{CA: believe(t, ca)}, []string{"self-signed", "copy its certificate"}},
		"expired":            {shows(old), Client{CA: believe(t, ca)}, []string{"subject CN=old", "expired on", "its operator must renew it"}},
		"not yet valid":      {shows(ca.Issue(tlstest.Leaf{Name: "young", From: time.Hour, To: 2 * time.Hour})), Client{CA: believe(t, ca)}, []string{"is not valid before", "clock"}},
		"another host":       {plain, Client{CA: believe(t, ca), Name: "bench.example.org"}, []string{"is not for bench.example.org but for localhost, 127.0.0.1", "nats.server_name"}},
		"no host":            {shows(ca.Issue(tlstest.Leaf{Name: "x", Hosts: []string{}})), Client{CA: believe(t, ca)}, []string{"names no host", "subject alternative names"}},
		"no certificate":     {mutual, Client{CA: believe(t, ca)}, []string{"requires a certificate from its clients, and Tacho shows none: set nats.client_cert"}},
		"no certificate 1.2": {older, Client{CA: believe(t, ca)}, []string{"ended the TLS handshake", "if it requires a certificate from its clients, set nats.client_cert"}},
		"a stranger":         {mutual, Client{CA: believe(t, ca), Pair: stranger}, []string{"refuses us", "subject CN=stranger", "issued by CN=foreign CA", "no CA that the server trusts", "set nats.client_cert"}},
		"a stranger 1.2":     {older, Client{CA: believe(t, ca), Pair: stranger}, []string{"refuses us", "subject CN=stranger"}},
		"old client":         {mutual, Client{CA: believe(t, ca), Pair: outdated}, []string{"refuses us", "subject CN=old", "has expired"}},
	} {
		t.Run(name, func(t *testing.T) {
			s := both
			if tc.client.Pair != nil {
				s.Ours = tc.client.Pair.Current().Leaf
			}
			err := Explain(dial(listen(t, tc.server), tc.client.Config()), "tls://server", s)
			var said *Error
			if !errors.As(err, &said) || errors.Unwrap(err) == nil {
				t.Fatalf("got %v", err)
			}
			for _, want := range append(tc.want, "tls://server") {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("got %v, want %q in it", err, want)
				}
			}
		})
	}
	if err := dial(listen(t, mutual), Client{CA: believe(t, ca), Pair: open(t, ca.Issue(tlstest.Leaf{Name: "friend"}))}.Config()); err != nil {
		t.Errorf("a client of the CA is refused: %v", err)
	}
}

func TestAServerWithoutTLSIsExplained(t *testing.T) {
	web := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(web.Close)
	_, err := http.Get("https" + strings.TrimPrefix(web.URL, "http"))
	if got := Explain(err, "https://x", Settings{}).Error(); !strings.Contains(got, "https://x does not speak TLS") {
		t.Error(got)
	}
	err = dial(web.Listener.Addr().String(), Client{}.Config())
	if got := Explain(err, "tls://x", Settings{}).Error(); !strings.Contains(got, "tls://x does not speak TLS") {
		t.Error(got)
	}
	for _, other := range []error{nil, io.EOF, &net.OpError{Op: "dial", Err: io.EOF}} {
		if got := Explain(other, "x", Settings{}); got != other {
			t.Errorf("%v became %v", other, got)
		}
	}
}
