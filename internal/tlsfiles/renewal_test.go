package tlsfiles

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"testing"

	"golang.org/x/sync/errgroup"

	"github.com/tachobench/tacho/internal/tlstest"
)

// get calls a server and returns the name in the certificate that it showed.
func get(ctx context.Context, c *http.Client, url string) (shown string, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return "", err
	}
	resp, err := c.Do(req)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	if _, err := io.Copy(io.Discard, resp.Body); err != nil {
		return "", err
	}
	return resp.TLS.PeerCertificates[0].Subject.CommonName, nil
}

// While clients connect all the time, files are replaced: the certificate first and the key later, rubbish, new
// pairs. No client is ever refused, connected ones stay connected, and each good pair is shown in the end.
func TestRenewalUnderLoad(t *testing.T) {
	ca := tlstest.NewCA(t, "bench CA")
	files := ca.Issue(tlstest.Leaf{Name: "pair 0"})
	server := &http.Server{
		Handler:   http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("here")) }),
		TLSConfig: Server(open(t, files), nil), ErrorLog: slog.NewLogLogger(slog.DiscardHandler, slog.LevelError),
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- server.ServeTLS(l, "", "") }()
	t.Cleanup(func() {
		_ = server.Close()
		if err := <-ended; !errors.Is(err, http.ErrServerClosed) {
			t.Error(err)
		}
	})
	url := "https://" + l.Addr().String()
	fresh := &http.Client{Transport: &http.Transport{TLSClientConfig: Client{CA: believe(t, ca)}.Config(), DisableKeepAlives: true}}
	dials := 0
	kept := &http.Client{Transport: &http.Transport{
		TLSClientConfig: Client{CA: believe(t, ca)}.Config(), MaxConnsPerHost: 1,
		DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
			dials++
			return new(net.Dialer).DialContext(ctx, network, address)
		},
	}}

	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	load, ctx := errgroup.WithContext(ctx)
	for _, c := range []*http.Client{fresh, fresh, kept} {
		load.Go(func() error {
			for ctx.Err() == nil {
				shown, err := get(ctx, c, url)
				if err == nil && c == kept && shown != "pair 0" {
					err = fmt.Errorf("the connection that stands shows %q", shown)
				}
				if err != nil && ctx.Err() == nil {
					return err
				}
			}
			return nil
		})
	}
	for n := 1; n <= 3; n++ {
		next := ca.Issue(tlstest.Leaf{Name: fmt.Sprint("pair ", n)})
		write(t, files.Cert, []byte("rubbish"))
		write(t, files.Cert, read(t, next.Cert))
		until := func(want string) {
			for {
				shown, err := get(ctx, fresh, url)
				if err != nil {
					t.Fatal(errors.Join(err, load.Wait()))
				}
				if shown == want {
					return
				}
			}
		}
		until(fmt.Sprint("pair ", n-1))
		write(t, files.Key, read(t, next.Key))
		until(fmt.Sprint("pair ", n))
	}
	stop()
	if err := load.Wait(); err != nil {
		t.Error(err)
	}
	if dials != 1 {
		t.Errorf("%d connections, and one should have been kept", dials)
	}
}

// A client shows the pair that its files hold now, and a server trusts the CA that its file holds now.
func TestBothSidesFollowTheirFiles(t *testing.T) {
	one, two := tlstest.NewCA(t, "one"), tlstest.NewCA(t, "two")
	mine := one.Issue(tlstest.Leaf{Name: "mine"})
	address := listen(t, Server(open(t, one.Issue(tlstest.Leaf{Name: "server"})), believe(t, one)))
	look := Client{CA: believe(t, one), Pair: open(t, mine)}
	if err := dial(address, look.Config()); err != nil {
		t.Fatal(err)
	}
	two.IssueTo(mine, tlstest.Leaf{Name: "mine anew"})
	for dial(address, look.Config()) == nil {
		// The new pair is shown within a second.
	}
	write(t, one.File, read(t, two.File))
	server := func() *tls.Config {
		return &tls.Config{InsecureSkipVerify: true, GetClientCertificate: look.Config().GetClientCertificate}
	}
	for dial(address, server()) != nil {
		// The new CA is trusted within another second.
	}
}
