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

// servedPair reads the certificate and key that a server shows. Errors begin with settings, the names of its settings.
func servedPair(settings, cert, key string, logger *slog.Logger) (*tlsfiles.Pair, error) {
	pair, err := tlsfiles.OpenPair(cert, key, logger)
	if err != nil {
		return nil, usage.Errorf("%s: %w", settings, err)
	}
	if pair.Name() == "" {
		return nil, usage.Errorf("%s: the certificate in %s names no host, so no client would accept it: make one with subject alternative names", settings, cert)
	}
	return pair, nil
}

// webPair reads the certificate and key of the website and API. It returns nil for HTTP without TLS.
func (h *Host) webPair() (*tlsfiles.Pair, error) {
	c := h.Config.TLS
	if c.Cert == "" {
		return nil, nil
	}
	return servedPair("tls.cert and tls.key", c.Cert, c.Key, h.Logger)
}

// announcement says where we answer, and how commands and collectors recognise us. On this machine they trust exactly the
// certificate that we show, whatever CA signed it, under one of its names; 127.0.0.1 need not be one of them.
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
	// During a renewal, either the old or the new certificate is shown.
	next, err := filepath.Abs(h.Config.TLS.Cert)
	r.CA = []string{h.data().Path(datadir.WebShown), next}
	return r, err
}

// keepShown keeps the certificate that a pair shows in a file of the data directory.
func keepShown(d datadir.Dir, name string, pair *tlsfiles.Pair, logger *slog.Logger) {
	pair.Follow(func(text string) {
		if err := d.Write(name, text); err != nil {
			logger.Warn("the certificate could not be written to the data directory: commands and collectors of this machine may refuse it", "error", err)
		}
	})
}

// natsTLS is how the NATS server of this process speaks TLS; nil if it does not.
type natsTLS struct {
	conf *tls.Config
	// ca is the file with what clients on this machine trust. name is the name that they expect in our certificate.
	ca, name string
}

func (n *natsTLS) config() *tls.Config {
	if n == nil {
		return nil
	}
	return n.conf
}

// arguments returns the TLS flags of a collector on this machine. It trusts the certificate that we show, and expects a name
// that is in it.
func (n *natsTLS) arguments() []string {
	if n == nil {
		return nil
	}
	return []string{"--nats-ca", n.ca, "--nats-server-name", n.name}
}

// secureNATS reads what the NATS server of this process shows and trusts. It refuses what the collectors of this machine
// could not work with, so that they need not refuse it one by one.
func secureNATS(c config.NATS, d datadir.Dir, logger *slog.Logger) (*natsTLS, error) {
	if c.Cert == "" {
		if c.CA != "" || c.ClientCert != "" {
			return nil, usage.Errorf("nats.ca and nats.client_cert are for a server with TLS, but the server inside this process has none: set nats.cert and nats.key, or leave them out")
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
		return nil, usage.Errorf("nats.cert with nats.ca and nats.server_name: %w: collectors would refuse it, so set the CA and the name that fit the certificate", err)
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

// clientsOf returns the CA of the certificates of clients; nil if they need none.
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
		return nil, usage.Errorf("nats.client_cert with nats.client_ca: %w: the collectors of this machine would be refused, so set a certificate that this CA has signed", err)
	}
	return clients, nil
}

// natsClient returns how we check a NATS server and what we show to it: as the configuration says, else as the credentials
// say.
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
			return look, usage.Errorf("%w; or make the credentials again with `tacho collector add`", err)
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

// tlsOptions returns the options for TLS as look says. The files are read again at each connection.
func tlsOptions(look tlsfiles.Client) []nats.Option {
	if !look.Set() {
		return nil
	}
	return []nats.Option{func(o *nats.Options) error {
		// Send nothing to a server, or to somebody between it and us, that does not speak TLS.
		o.Secure, o.TLSConfig = true, look.Config()
		if look.CA != nil {
			o.RootCAsCB = func() (*x509.CertPool, error) { return look.CA.Pool(), nil }
		}
		return nil
	}}
}

// explainTLS says in words why a server and we do not agree on TLS. It returns nil for other errors.
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
