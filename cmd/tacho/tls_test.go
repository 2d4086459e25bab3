package main

import (
	"bufio"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"

	"github.com/tachobench/tacho/internal/cli"
	"github.com/tachobench/tacho/internal/datadir"
	"github.com/tachobench/tacho/internal/tlstest"
)

// here returns what the running Tacho announces.
func (s *site) here() (r datadir.Running) {
	s.t.Helper()
	text, err := os.ReadFile(s.data("running.json"))
	if err != nil {
		s.t.Fatal(err)
	}
	if err := json.Unmarshal(text, &r); err != nil {
		s.t.Fatal(err)
	}
	return r
}

// elsewhere is another machine, with a directory of its own and the credentials of a collector.
func (s *site) elsewhere(name string) (*site, []string) {
	s.t.Helper()
	text, err := os.ReadFile(s.data("credentials", name+".json"))
	if err != nil {
		s.t.Fatal(err)
	}
	far := &site{t: s.t, dir: s.t.TempDir(), env: s.env}
	file := filepath.Join(far.dir, "credentials.json")
	if err := os.WriteFile(file, text, 0o600); err != nil {
		s.t.Fatal(err)
	}
	far.args = []string{"--data", far.data(), "--config", filepath.Join(s.dir, "quick.toml")}
	return far, []string{"collector", "run", name, "--credentials", file}
}

func (s *site) idle(name string) {
	s.t.Helper()
	s.eventually(name+" is online", 60*time.Second, func() bool {
		for line := range strings.Lines(s.must("collector", "list")) {
			if strings.HasPrefix(line, name+" ") {
				return strings.Contains(line, "idle")
			}
		}
		return false
	})
}

// Website and log speak TLS with a certificate that is not for 127.0.0.1. Commands and collectors on this machine and on
// another one need no settings. A client with another CA is told why it does not work.
func TestEverythingOverTLS(t *testing.T) {
	t.Parallel()
	ca, foreign := tlstest.NewCA(t, "bench CA"), tlstest.NewCA(t, "foreign CA")
	files := ca.Issue(tlstest.Leaf{Name: "bench", Hosts: []string{"bench.example.org"}})
	s := newSite(t)
	s.start("--collectors", "1", "--tls-cert", files.Cert, "--tls-key", files.Key, "--nats-listen", "127.0.0.1:0", "--nats-cert", files.Cert, "--nats-key", files.Key)
	r := s.here()
	if !strings.HasPrefix(r.URL, "https://127.0.0.1:") || !strings.HasPrefix(r.NATSURL, "tls://127.0.0.1:") {
		t.Fatalf("%+v", r)
	}
	s.idle("local-here-0")

	// The website: by the data directory, by a CA and a name, and not by the wrong ones.
	s.must("status")
	u, err := url.Parse(r.URL)
	if err != nil {
		t.Fatal(err)
	}
	s.refused(cli.ExitFailed, []string{"status", "--server", r.URL}, "subject CN=bench", "issued by CN=bench CA", "is not for 127.0.0.1 but for bench.example.org")
	s.refused(cli.ExitFailed, []string{"status", "--server-ca", foreign.File}, "not signed by a CA that Tacho trusts", "TACHO_SERVER_CA")
	s.must("status", "--server-ca", ca.File)
	s.refused(cli.ExitFailed, []string{"status", "--server", r.URL, "--server-ca", ca.File}, "is not for 127.0.0.1 but for bench.example.org")
	s.refused(cli.ExitUsage, []string{"status", "--server", "http://" + u.Host}, "speaks only TLS", "https://")
	s.refused(cli.ExitUsage, []string{"status", "--server", r.URL, "--server-ca", files.Key}, "TACHO_SERVER_CA", `holds no certificate but "PRIVATE KEY"`)

	// A collector on another machine needs only the credentials that were made for it.
	s.must("collector", "add", "far", "--target", "here", "--set", "1")
	far, run := s.elsewhere("far")
	far.begin(run...)
	s.idle("far")
	s.must("request", "master", "v1")
	s.eventually("both collectors have measured", 60*time.Second, func() bool {
		return strings.Contains(s.must("events", "tail"), "request.completed")
	})

	s.must("collector", "add", "further", "--target", "here", "--set", "1", "--standby")
	further, run := s.elsewhere("further")
	for name, tc := range map[string]struct {
		flags []string
		code  int
		want  []string
	}{
		"wrong CA":      {[]string{"--nats-ca", foreign.File}, cli.ExitFailed, []string{"subject CN=bench", "issued by CN=bench CA", "not signed by a CA that Tacho trusts", "TACHO_NATS_CA"}},
		"another name":  {[]string{"--nats-server-name", "elsewhere.example.org"}, cli.ExitFailed, []string{"is not for elsewhere.example.org but for bench.example.org", "TACHO_NATS_SERVER_NAME"}},
		"no CA at all":  {[]string{"--nats-ca", files.Cert + "x"}, cli.ExitUsage, []string{"TACHO_NATS_CA", "does not exist"}},
		"half a pair":   {[]string{"--nats-client-cert", files.Cert}, cli.ExitUsage, []string{"--nats-client-cert, --nats-client-key"}},
		"expired pair":  {nil, cli.ExitUsage, []string{"nats.client_cert and nats.client_key", "subject CN=old", "expired on"}},
		"pair and more": {[]string{"--nats-client-cert", files.Cert, "--nats-client-key", foreign.File}, cli.ExitUsage, []string{`holds no private key but "CERTIFICATE"`}},
	} {
		if tc.flags == nil {
			old := ca.Issue(tlstest.Leaf{Name: "old", From: -2 * time.Hour, To: -time.Hour})
			tc.flags = []string{"--nats-client-cert", old.Cert, "--nats-client-key", old.Key}
		}
		t.Run(name, func(*testing.T) { further.refused(tc.code, append(run, tc.flags...), tc.want...) })
	}

	// New connections get a new pair and never a broken one. Open connections stay open.
	keep := dialWeb(t, u.Host, ca)
	for _, name := range []string{"renewed", "renewed again"} {
		ca.IssueTo(files, tlstest.Leaf{Name: name, Hosts: []string{"bench.example.org"}})
		s.eventually("the new certificate is shown", 30*time.Second, func() bool { return dialWeb(t, u.Host, ca).shown() == name })
	}
	if err := os.WriteFile(files.Cert, []byte("half a fi"), 0o600); err != nil {
		t.Fatal(err)
	}
	s.eventually("the broken file is told of", 30*time.Second, func() bool {
		if got := dialWeb(t, u.Host, ca).shown(); got != "renewed again" {
			t.Fatalf("shows %q", got)
		}
		return strings.Contains(s.log.String(), "holds no certificate in PEM")
	})
	keep.get()
	if keep.shown() != "bench" {
		t.Errorf("the old connection shows %q", keep.shown())
	}
	s.idle("far")
}

// webConn is one connection to a website.
type webConn struct {
	t *testing.T
	c *tls.Conn
	r *bufio.Reader
}

func dialWeb(t *testing.T, address string, ca *tlstest.CA) *webConn {
	t.Helper()
	c, err := tls.Dial("tcp", address, &tls.Config{RootCAs: poolOf(t, ca), ServerName: "bench.example.org"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	w := &webConn{t: t, c: c, r: bufio.NewReader(c)}
	w.get()
	return w
}

func poolOf(t *testing.T, ca *tlstest.CA) *x509.CertPool {
	t.Helper()
	text, err := os.ReadFile(ca.File)
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(text)
	return pool
}

func (w *webConn) get() {
	w.t.Helper()
	if _, err := fmt.Fprint(w.c, "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"); err != nil {
		w.t.Fatal(err)
	}
	resp, err := http.ReadResponse(w.r, nil)
	if err != nil || resp.StatusCode != http.StatusOK {
		w.t.Fatalf("%v, %v", resp, err)
	}
	if _, err := w.r.Discard(int(resp.ContentLength)); err != nil {
		w.t.Fatal(err)
	}
}

func (w *webConn) shown() string {
	return w.c.ConnectionState().PeerCertificates[0].Subject.CommonName
}

// With a CA of clients, only clients with its certificates come in. That includes the collectors of this machine.
func TestCollectorsShowCertificates(t *testing.T) {
	t.Parallel()
	ca, foreign := tlstest.NewCA(t, "bench CA"), tlstest.NewCA(t, "foreign CA")
	files := tlstest.SelfSigned(t, tlstest.In(t.TempDir()), tlstest.Leaf{Name: "bench"})
	mine, stranger := ca.Issue(tlstest.Leaf{Name: "mine"}), foreign.Issue(tlstest.Leaf{Name: "stranger"})
	flags := []string{"--nats-cert", files.Cert, "--nats-key", files.Key, "--nats-client-ca", ca.File}
	s := newSite(t)
	s.refused(cli.ExitUsage, append([]string{"up", "--listen", "127.0.0.1:0"}, flags...), "the collectors of this machine have none", "nats.client_cert and nats.client_key", "--collectors 0")
	s.with("TACHO_NATS_CLIENT_CERT="+stranger.Cert, "TACHO_NATS_CLIENT_KEY="+stranger.Key).
		refused(cli.ExitUsage, append([]string{"up", "--listen", "127.0.0.1:0"}, flags...), "subject CN=stranger", "nats.client_ca", "would be refused")

	bare := s.env
	s.env = append(s.env[:len(s.env):len(s.env)], "TACHO_NATS_CLIENT_CERT="+mine.Cert, "TACHO_NATS_CLIENT_KEY="+mine.Key)
	s.start(append(flags, "--collectors", "1")...)
	s.idle("local-here-0")
	s.must("collector", "add", "far", "--target", "here", "--set", "1")
	far, run := s.elsewhere("far")
	far.env = bare
	far.refused(cli.ExitFailed, run, "requires a certificate from its clients, and Tacho shows none", "TACHO_NATS_CLIENT_CERT")
	far.refused(cli.ExitFailed, append(run, "--nats-client-cert", stranger.Cert, "--nats-client-key", stranger.Key),
		"refuses us", "subject CN=stranger", "issued by CN=foreign CA", "TACHO_NATS_CLIENT_CERT")
	far.begin(append(run, "--nats-client-cert", mine.Cert, "--nats-client-key", mine.Key)...)
	s.idle("far")
}

// With a pair or a CA that cannot work, Tacho does not start. It says what to do, and makes nothing before that.
func TestCertificatesThatCannotWorkAreRefusedAtTheStart(t *testing.T) {
	t.Parallel()
	ca, foreign := tlstest.NewCA(t, "bench CA"), tlstest.NewCA(t, "foreign CA")
	good, other := ca.Issue(tlstest.Leaf{Name: "good"}), ca.Issue(tlstest.Leaf{Name: "other"})
	old := ca.Issue(tlstest.Leaf{Name: "old", From: -2 * time.Hour, To: -time.Hour})
	nameless := ca.Issue(tlstest.Leaf{Name: "nameless", Hosts: []string{}})
	s := newSite(t)
	for name, tc := range map[string]struct {
		flags string
		want  string
	}{
		"expired":        {"--tls-cert " + old.Cert + " --tls-key " + old.Key, "tls.cert and tls.key: the certificate (subject CN=old; for localhost, 127.0.0.1; issued by CN=bench CA"},
		"not a pair":     {"--tls-cert " + good.Cert + " --tls-key " + other.Key, "does not belong to the certificate (subject CN=good"},
		"no host":        {"--tls-cert " + nameless.Cert + " --tls-key " + nameless.Key, "subject alternative names"},
		"half":           {"--tls-cert " + good.Cert, "--tls-cert, --tls-key"},
		"half of NATS":   {"--nats-key " + good.Key, "--nats-cert, --nats-key"},
		"CA without TLS": {"--nats-client-ca " + ca.File, "nats.client_ca"},
		"expired NATS":   {"--nats-cert " + old.Cert + " --nats-key " + old.Key, "nats.cert and nats.key: the certificate (subject CN=old"},
	} {
		t.Run(name, func(*testing.T) { s.refused(cli.ExitUsage, words("up --listen 127.0.0.1:0 "+tc.flags), tc.want) })
	}
	nats := words("up --listen 127.0.0.1:0 --nats-cert " + good.Cert + " --nats-key " + good.Key)
	s.with("TACHO_NATS_CA="+foreign.File).refused(cli.ExitUsage, nats, "(subject CN=good", "collectors would refuse it")
	s.with("TACHO_NATS_SERVER_NAME=elsewhere").refused(cli.ExitUsage, nats, "(subject CN=good", "collectors would refuse it")
	s.with("TACHO_NATS_CA="+ca.File).refused(cli.ExitUsage, words("up --listen 127.0.0.1:0"), "set nats.cert and nats.key")
	for _, made := range []string{"postgres", "running.json"} {
		if _, err := os.Stat(s.data(made)); err == nil {
			t.Errorf("%s was made", made)
		}
	}
}

// Collectors and the core explain what is wrong with the TLS of other people's NATS servers in the same words.
func TestServersOfOthersOverTLS(t *testing.T) {
	t.Parallel()
	ca := tlstest.NewCA(t, "bench CA")
	show := func(l tlstest.Leaf) string {
		files := ca.Issue(l)
		pair, err := tls.LoadX509KeyPair(files.Cert, files.Key)
		if err != nil {
			t.Fatal(err)
		}
		return natsWith(t, server.Options{TLSConfig: &tls.Config{Certificates: []tls.Certificate{pair}}, TLS: true, TLSTimeout: 5})
	}
	s := newSite(t)
	expired := show(tlstest.Leaf{Name: "old", From: -2 * time.Hour, To: -time.Hour})
	plain := natsWith(t, server.Options{})
	for address, want := range map[string][]string{
		expired: {"subject CN=old", "expired on", "its operator must renew it"},
		plain:   {"does not speak TLS", "nats.ca"},
	} {
		at := s.with("TACHO_NATS_URL=nats://"+address, "TACHO_NATS_CA="+ca.File)
		at.refused(cli.ExitFailed, words("serve scheduler"), append(want, address)...)
	}
	good := show(tlstest.Leaf{Name: "good"})
	at := s.with("TACHO_NATS_URL=nats://" + good)
	at.refused(cli.ExitFailed, words("serve scheduler"), "not signed by a CA that Tacho trusts", "TACHO_NATS_CA")
	s.with("TACHO_NATS_URL=tls://"+good, "TACHO_NATS_CA="+ca.File).begin("serve", "scheduler").says(s, "serving    scheduler")
	// An error of a port without a server says nothing about TLS.
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	s.with("TACHO_NATS_URL=tls://"+l.Addr().String(), "TACHO_NATS_CA="+ca.File).refused(cli.ExitFailed, words("serve scheduler"), "connection refused")
}

// `tacho serve` takes HTTP over TLS as `tacho up` does, and the doctor reads the same files.
func TestAPartServesOverTLS(t *testing.T) {
	t.Parallel()
	ca := tlstest.NewCA(t, "bench CA")
	files := ca.Issue(tlstest.Leaf{Name: "hook"})
	s := newSite(t)
	s.env = append(s.env, "TACHO_NATS_URL=nats://"+natsWith(t, server.Options{}), "TACHO_GITHUB_REPO=rust-lang/rust", "TACHO_TLS_CERT="+files.Cert, "TACHO_TLS_KEY="+files.Key)
	listen := freePort(t)
	s.begin("serve", "webhook", "--insecure-dev", "--listen", listen).says(s, "webhook    https://"+listen+webhookPath)
	c, err := tls.Dial("tcp", listen, &tls.Config{RootCAs: poolOf(t, ca), NextProtos: []string{"h2"}})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if p := c.ConnectionState().NegotiatedProtocol; p != "h2" {
		t.Errorf("protocol %q", p)
	}

	out, _, _ := s.run("doctor")
	if !strings.Contains(out, "note  TLS of the website") || !strings.Contains(out, "it expires in 0 days") {
		t.Error(out)
	}
	out, _, code := s.with("TACHO_NATS_CA="+files.Key, "TACHO_TLS_KEY="+ca.File).run("doctor")
	if code != cli.ExitFailed || !strings.Contains(out, "bad   TLS of the website") || !strings.Contains(out, "bad   CA of the log's server") {
		t.Error(code, out)
	}
}
