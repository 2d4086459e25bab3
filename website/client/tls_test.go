package client

import (
	"crypto/tls"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/tachobench/tacho/internal/tlsfiles"
	"github.com/tachobench/tacho/internal/tlstest"
)

// A server that is not trusted is not away: the user is not told to start one.
func TestTrust(t *testing.T) {
	ca, foreign := tlstest.NewCA(t, "bench CA"), tlstest.NewCA(t, "foreign CA")
	files := ca.Issue(tlstest.Leaf{Name: "server"})
	pair, err := tlsfiles.OpenPair(files.Cert, files.Key, nil)
	if err != nil {
		t.Fatal(err)
	}
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet {
			t.Errorf("%s", r.Method)
		}
		_, _ = w.Write([]byte(`{}`))
	}))
	s.TLS = &tls.Config{Certificates: []tls.Certificate{*pair.Current()}}
	s.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
	s.StartTLS()
	t.Cleanup(s.Close)
	ask := func(address, ca, name string) error {
		c, err := New(address, "")
		if err != nil {
			t.Fatal(err)
		}
		if ca != "" {
			a, err := tlsfiles.OpenAuthorities(nil, ca)
			if err != nil {
				t.Fatal(err)
			}
			c.Secure(tlsfiles.Client{CA: a, Name: name}.Config())
		}
		_, err = c.Status(within(t))
		return err
	}
	for _, good := range []string{ca.File, files.Cert} {
		if err := ask(s.URL, good, ""); err != nil {
			t.Error(err)
		}
	}
	for _, tc := range []struct {
		address, ca, name string
		want              []string
	}{
		{s.URL, "", "", []string{"not signed by a CA that Tacho trusts", "TACHO_SERVER_CA"}},
		{s.URL, foreign.File, "", []string{"issued by CN=bench CA", "TACHO_SERVER_CA"}},
		{s.URL, ca.File, "elsewhere", []string{"is not for elsewhere but for localhost"}},
		{"http" + strings.TrimPrefix(s.URL, "https"), "", "", []string{"speaks only TLS: write its address with https://"}},
	} {
		err := ask(tc.address, tc.ca, tc.name)
		var away *UnreachableError
		if err == nil || errors.As(err, &away) || passing(err) {
			t.Errorf("%v: %v", tc, err)
			continue
		}
		for _, want := range tc.want {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("got %v, want %q in it", err, want)
			}
		}
	}
	plain := serve(t, http.NotFound)
	err = ask("https"+strings.TrimPrefix(strings.TrimSuffix(plain.URL(""), "/"), "http"), ca.File, "")
	if err == nil || !strings.Contains(err.Error(), "does not speak TLS") {
		t.Error(err)
	}
}
