package node

import (
	"cmp"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/url"
	"os"
	"path/filepath"

	"github.com/nats-io/nats.go"

	"github.com/tachobench/tacho/config"
	"github.com/tachobench/tacho/internal/datadir"
	"github.com/tachobench/tacho/internal/tlsfiles"
	"github.com/tachobench/tacho/internal/usage"
)

// servedPair reads the pair that a server shows. settings names it in errors.
func servedPair(settings, cert, key string, logger *slog.Logger) (*tlsfiles.Pair, error) {
	pair, err := tlsfiles.OpenPair(cert, key, logger)
	if err != nil {
		return nil, usage.Errorf("%s: %w", settings, err)
	}
	if pair.Name() == "" {
		return nil, usage.Errorf("%s: the certificate in %s names no host, so that no client would take it: make one with subject alternative names", settings, cert)
	}
	return pair, nil
}

// webPair reads what the website and API show; nil is HTTP without TLS.
func (h *Host) webPair() (*tlsfiles.Pair, error) {
	c := h.Config.TLS
	if c.Cert == "" {
		return nil, nil
	}
	return servedPair("tls.cert and tls.key", c.Cert, c.Key, h.Logger)
}

// announcement says where we answer, and how commands and collectors know that it is us. Those of this machine
// believe the very certificate that we show, whoever signed it, under one of its names, which 127.0.0.1 need not be.
func (h *Host) announcement(k *core, l net.Listener) (datadir.Running, error) {
	r := datadir.Running{URL: urlOf(l), NATSURL: k.natsURL, PID: os.Getpid(), Version: h.Version}
	if k.secured != nil {
		r.NATSCA, r.NATSServerName = k.secured.ca, k.secured.name
	} else if h.Config.NATS.URL != "" {
		r.NATSCA, r.NATSServerName = h.Config.NATS.CA, h.Config.NATS.ServerName
	}
	s, secure := l.(secureListener)
	if !secure {
		return r, nil
	}
	u, err := url.Parse(r.URL)
	if err != nil {
		return r, err
	}
	if !s.pair.Fits(u.Hostname()) {
		r.ServerName = s.pair.Name()
	}
	// While a new certificate comes, the one or the other is shown.
	next, err := filepath.Abs(h.Config.TLS.Cert)
	r.CA = []string{h.data().Path(datadir.WebShown), next}
	return r, err
}

// keepShown writes down what a pair shows.
func keepShown(d datadir.Dir, name string, pair *tlsfiles.Pair, logger *slog.Logger) {
	pair.Follow(func(text string) {
		if err := d.Write(name, text); err != nil {
			logger.Warn("the certificate that is shown cannot be kept: commands and collectors of this machine may refuse it", "error", err)
		}
	})
}

// natsTLS is how the NATS server of this process speaks TLS; nil is without.
type natsTLS struct {
	conf *tls.Config
	// ca is the file that clients on this machine believe, name what they find in our certificate.
	ca, name string
}

func (n *natsTLS) config() *tls.Config {
	if n == nil {
		return nil
	}
	return n.conf
}

// arguments are those of a collector of this machine. It believes the certificate that we show, and needs no other
// name for us than the one that stands in it.
func (n *natsTLS) arguments() []string {
	if n == nil {
		return nil
	}
	return []string{"--nats-ca", n.ca, "--nats-server-name", n.name}
}

// secureNATS reads what the NATS server of this process shows and believes. What its own collectors could not work
// with is refused here, and not by each of them.
func secureNATS(c config.NATS, d datadir.Dir, logger *slog.Logger) (*natsTLS, error) {
	if c.Cert == "" {
		if c.CA != "" || c.ClientCert != "" {
			return nil, usage.Errorf("nats.ca and nats.client_cert are for a server with TLS, and the one inside this process has none: set nats.cert and nats.key, or leave them out")
		}
		return nil, nil
	}
	pair, err := servedPair("nats.cert and nats.key", c.Cert, c.Key, logger)
	if err != nil {
		return nil, err
	}
	n := &natsTLS{ca: c.CA, name: cmp.Or(c.ServerName, pair.Name())}
	if c.CA == "" {
		keepShown(d, datadir.NATSShown, pair, logger)
		n.ca = d.Path(datadir.NATSShown)
	}
	believed, err := tlsfiles.OpenAuthorities(logger, n.ca)
	if err == nil {
		err = believed.Check(pair, n.name)
	}
	if err != nil {
		return nil, usage.Errorf("nats.cert with nats.ca and nats.server_name: %w: collectors would refuse it, so give the CA and the name that fit", err)
	}
	if n.ca, err = filepath.Abs(n.ca); err != nil {
		return nil, err
	}
	clients, err := clientsOf(c, logger)
	if err != nil {
		return nil, err
	}
	n.conf = tlsfiles.Server(pair, clients)
	return n, nil
}

// clientsOf returns who signs the certificates of clients; nil when they need none.
func clientsOf(c config.NATS, logger *slog.Logger) (*tlsfiles.Authorities, error) {
	if c.ClientCA == "" {
		return nil, nil
	}
	clients, err := tlsfiles.OpenAuthorities(logger, c.ClientCA)
	if err != nil {
		return nil, usage.Errorf("nats.client_ca: %w", err)
	}
	if c.ClientCert == "" {
		return clients, nil
	}
	pair, err := tlsfiles.OpenPair(c.ClientCert, c.ClientKey, logger)
	if err == nil {
		err = clients.Check(pair, "")
	}
	if err != nil {
		return nil, usage.Errorf("nats.client_cert with nats.client_ca: %w: the collectors of this machine would be refused, so give a certificate that fits", err)
	}
	return clients, nil
}

// natsClient returns how we look at a NATS server: as the configuration says, and where it says nothing, as the
// credentials do.
func (h *Host) natsClient(creds datadir.Credentials) (tlsfiles.Client, error) {
	n, look := h.Config.NATS, tlsfiles.Client{}
	var err error
	switch {
	case n.CA != "":
		look.CA, err = tlsfiles.OpenAuthorities(h.Logger, n.CA)
		if err != nil {
			return look, usage.Errorf("nats.ca (--nats-ca, TACHO_NATS_CA): %w", err)
		}
	case creds.CA != "":
		look.CA, err = tlsfiles.ParseAuthorities(fmt.Sprintf("the field ca of the credentials of collector %s", creds.Name), creds.CA)
		if err != nil {
			return look, usage.Errorf("%w; or bring the credentials again, with `tacho collector add`", err)
		}
	}
	look.Name = cmp.Or(n.ServerName, creds.ServerName)
	if n.ClientCert != "" {
		if look.Pair, err = tlsfiles.OpenPair(n.ClientCert, n.ClientKey, h.Logger); err != nil {
			return look, usage.Errorf("nats.client_cert and nats.client_key: %w", err)
		}
	}
	return look, nil
}

// tlsOptions are those with which we look at servers as look says. The files are read again at each connection.
func tlsOptions(look tlsfiles.Client) []nats.Option {
	if !look.Set() {
		return nil
	}
	return []nats.Option{func(o *nats.Options) error {
		// A server, or somebody before it, that speaks no TLS gets nothing from us.
		o.Secure, o.TLSConfig = true, look.Config()
		if look.CA != nil {
			o.RootCAsCB = func() (*x509.CertPool, error) { return look.CA.Pool(), nil }
		}
		return nil
	}}
}

// explainTLS says in words why a server and we do not agree on TLS; nil when it is something else.
func explainTLS(err error, servers string, look tlsfiles.Client) error {
	if errors.Is(err, nats.ErrSecureConnWanted) {
		return fmt.Errorf("the NATS server at %s does not speak TLS: write its address with nats:// and leave nats.ca and nats.client_cert out, or have its operator switch TLS on", config.NATSHosts(servers))
	}
	s := tlsfiles.Settings{
		CA: "nats.ca (--nats-ca, TACHO_NATS_CA)", Pair: "nats.client_cert and nats.client_key (TACHO_NATS_CLIENT_CERT, TACHO_NATS_CLIENT_KEY)",
		Name: "nats.server_name (TACHO_NATS_SERVER_NAME)",
	}
	if look.Pair != nil {
		s.Ours = look.Pair.Current().Leaf
	}
	var said *tlsfiles.Error
	if errors.As(tlsfiles.Explain(err, config.NATSHosts(servers), s), &said) {
		return said
	}
	return nil
}
