package main

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
	"strings"

	"github.com/nats-io/nats.go"

	"github.com/tachobench/tacho/config"
	"github.com/tachobench/tacho/internal/tlsfiles"
	"github.com/tachobench/tacho/website/client"
)

// webTLS are the flags of a command that serves the website.
type webTLS struct {
	Cert string `help:"Certificate of the website and API, in PEM; read again when it is renewed." name:"tls-cert" type:"path" placeholder:"FILE"`
	Key  string `help:"Private key of that certificate." name:"tls-key" type:"path" placeholder:"FILE"`
}

func (f webTLS) apply(c *config.Config) error {
	override(&c.TLS.Cert, f.Cert)
	override(&c.TLS.Key, f.Key)
	return flagsFit(*c)
}

// natsServerTLS are the flags of a command that runs a NATS server.
type natsServerTLS struct {
	Cert     string `help:"Certificate that collectors of other machines are shown, in PEM; read again when it is renewed." name:"nats-cert" type:"path" placeholder:"FILE"`
	Key      string `help:"Private key of that certificate." name:"nats-key" type:"path" placeholder:"FILE"`
	ClientCA string `help:"CA that must have signed a certificate of every collector." name:"nats-client-ca" type:"path" placeholder:"FILE"`
}

func (f natsServerTLS) apply(c *config.Config) error {
	override(&c.NATS.Cert, f.Cert)
	override(&c.NATS.Key, f.Key)
	override(&c.NATS.ClientCA, f.ClientCA)
	return flagsFit(*c)
}

// natsClientTLS are the flags of a command that connects to a NATS server.
type natsClientTLS struct {
	CA         string `help:"CA of the log's server; default: what the credentials say." name:"nats-ca" type:"path" placeholder:"FILE"`
	ServerName string `help:"Name in the certificate of the log's server; default: what the credentials say, else the host of the URL." name:"nats-server-name" placeholder:"NAME"`
	ClientCert string `help:"Certificate to show to the log's server." name:"nats-client-cert" type:"path" placeholder:"FILE"`
	ClientKey  string `help:"Private key of that certificate." name:"nats-client-key" type:"path" placeholder:"FILE"`
}

func (f natsClientTLS) apply(c *config.Config) error {
	override(&c.NATS.CA, f.CA)
	override(&c.NATS.ServerName, f.ServerName)
	override(&c.NATS.ClientCert, f.ClientCert)
	override(&c.NATS.ClientKey, f.ClientKey)
	return flagsFit(*c)
}

// arguments are the flags as they were given.
func (f natsClientTLS) arguments() map[string]string {
	return map[string]string{
		"--nats-ca": f.CA, "--nats-server-name": f.ServerName, "--nats-client-cert": f.ClientCert, "--nats-client-key": f.ClientKey,
	}
}

func override(setting *string, flag string) {
	if flag != "" {
		*setting = flag
	}
}

func flagsFit(c config.Config) error {
	if err := c.CheckTLS(); err != nil {
		return usageError{err}
	}
	return nil
}

// servedPair reads the pair that a server shows. settings names it in errors.
func servedPair(settings, cert, key string, logger *slog.Logger) (*tlsfiles.Pair, error) {
	pair, err := tlsfiles.OpenPair(cert, key, logger)
	if err != nil {
		return nil, usagef("%s: %w", settings, err)
	}
	if pair.Name() == "" {
		return nil, usagef("%s: the certificate in %s names no host, so that no client would take it: make one with subject alternative names", settings, cert)
	}
	return pair, nil
}

// secureListener is a listener whose connections speak TLS.
type secureListener struct {
	net.Listener
	pair *tlsfiles.Pair
}

// webPair reads what the website and API show; nil is HTTP without TLS.
func (p *program) webPair() (*tlsfiles.Pair, error) {
	c := p.config.TLS
	if c.Cert == "" {
		return nil, nil
	}
	return servedPair("tls.cert and tls.key", c.Cert, c.Key, p.logger())
}

// listenWith opens the listener of the website and API.
func listenWith(address string, pair *tlsfiles.Pair) (net.Listener, error) {
	l, err := listen(address)
	if err != nil || pair == nil {
		return l, err
	}
	return secureListener{Listener: l, pair: pair}, nil
}

// scheme returns how a listener is spoken to, and under which host if it has the choice.
func scheme(l net.Listener, host string) (prefix, known string) {
	s, secure := l.(secureListener)
	if !secure {
		return "http://", host
	}
	if ip := net.ParseIP(host); ip != nil && ip.IsLoopback() && !s.pair.Fits(host) && s.pair.Fits("localhost") {
		host = "localhost"
	}
	return "https://", host
}

// announcement says where we answer, and how commands and collectors know that it is us. Those of this machine
// believe the very certificate that we show, whoever signed it, under one of its names, which 127.0.0.1 need not be.
func (p *program) announcement(k *core, l net.Listener) (running, error) {
	r := running{URL: urlOf(l), NATSURL: k.natsURL, PID: os.Getpid(), Version: programVersion()}
	if k.secured != nil {
		r.NATSCA, r.NATSServerName = k.secured.ca, k.secured.name
	} else if p.config.NATS.URL != "" {
		r.NATSCA, r.NATSServerName = p.config.NATS.CA, p.config.NATS.ServerName
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
	next, err := filepath.Abs(p.config.TLS.Cert)
	r.CA = []string{directory(p.config.Data).path(webShown), next}
	return r, err
}

// The certificates that are shown now stand in the data directory: the files of the operator may hold new ones
// already, or half of them.
const (
	webShown  = "web.pem"
	natsShown = "nats.pem"
)

// keepShown writes down what a pair shows.
func (d directory) keepShown(pair *tlsfiles.Pair, name string, logger *slog.Logger) {
	pair.Follow(func(text string) {
		if err := d.write(name, text); err != nil {
			logger.Warn("the certificate that is shown cannot be kept: commands and collectors of this machine may refuse it", "error", err)
		}
	})
}

// secure has a client believe the server that the configuration or, if it is not nil, the announcement speaks of.
func (p *program) secure(c *client.Client, r *running) error {
	ca, name := []string{p.config.ServerCA}, ""
	if r != nil {
		name = r.ServerName
		if p.config.ServerCA == "" {
			ca = r.CA
		}
	}
	if len(ca) == 0 || ca[0] == "" || !strings.HasPrefix(c.URL(""), "https:") {
		return nil
	}
	authorities, err := tlsfiles.OpenAuthorities(p.logger(), ca...)
	if err != nil {
		return usagef("server_ca (--server-ca, TACHO_SERVER_CA): %w", err)
	}
	c.Secure(tlsfiles.Client{CA: authorities, Name: name}.Config())
	return nil
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
func secureNATS(c config.NATS, d directory, logger *slog.Logger) (*natsTLS, error) {
	if c.Cert == "" {
		if c.CA != "" || c.ClientCert != "" {
			return nil, usagef("nats.ca and nats.client_cert are for a server with TLS, and the one inside this process has none: set nats.cert and nats.key, or leave them out")
		}
		return nil, nil
	}
	pair, err := servedPair("nats.cert and nats.key", c.Cert, c.Key, logger)
	if err != nil {
		return nil, err
	}
	n := &natsTLS{ca: c.CA, name: cmp.Or(c.ServerName, pair.Name())}
	if c.CA == "" {
		d.keepShown(pair, natsShown, logger)
		n.ca = d.path(natsShown)
	}
	believed, err := tlsfiles.OpenAuthorities(logger, n.ca)
	if err == nil {
		err = believed.Check(pair, n.name)
	}
	if err != nil {
		return nil, usagef("nats.cert with nats.ca and nats.server_name: %w: collectors would refuse it, so give the CA and the name that fit", err)
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
		return nil, usagef("nats.client_ca: %w", err)
	}
	if c.ClientCert == "" {
		return clients, nil
	}
	pair, err := tlsfiles.OpenPair(c.ClientCert, c.ClientKey, logger)
	if err == nil {
		err = clients.Check(pair, "")
	}
	if err != nil {
		return nil, usagef("nats.client_cert with nats.client_ca: %w: the collectors of this machine would be refused, so give a certificate that fits", err)
	}
	return clients, nil
}

// applyTLS sets what the flags say. Collectors of this machine that have nothing to show to a server that wants a
// certificate are refused.
func (c *upCmd) applyTLS(conf *config.Config) error {
	if err := c.TLS.apply(conf); err != nil {
		return err
	}
	if err := c.NATSTLS.apply(conf); err != nil {
		return err
	}
	n := conf.NATS
	if n.URL == "" && n.ClientCA != "" && n.ClientCert == "" && c.Collectors != 0 {
		return usagef("nats.client_ca wants a certificate of every collector, and those of this machine have none: set nats.client_cert and nats.client_key, or run none with --collectors 0")
	}
	return nil
}

// trust adds to credentials what a collector elsewhere must know to believe the log's server: ca is a file, and empty
// without TLS.
func (c *credentials) trust(ca, name string) (err error) {
	c.CA, c.ServerName = "", ""
	if ca == "" {
		return nil
	}
	if c.CA, err = tlsfiles.Trust(ca); err != nil {
		return fmt.Errorf("what collector %s must believe cannot be read: %w", c.Name, err)
	}
	c.ServerName = name
	return nil
}

// natsClient returns how we look at a NATS server: as the configuration says, and where it says nothing, as the
// credentials do.
func (p *program) natsClient(creds credentials) (tlsfiles.Client, error) {
	n, look := p.config.NATS, tlsfiles.Client{}
	var err error
	switch {
	case n.CA != "":
		look.CA, err = tlsfiles.OpenAuthorities(p.logger(), n.CA)
		if err != nil {
			return look, usagef("nats.ca (--nats-ca, TACHO_NATS_CA): %w", err)
		}
	case creds.CA != "":
		look.CA, err = tlsfiles.ParseAuthorities(fmt.Sprintf("the field ca of the credentials of collector %s", creds.Name), creds.CA)
		if err != nil {
			return look, usagef("%w; or bring the credentials again, with `tacho collector add`", err)
		}
	}
	look.Name = cmp.Or(n.ServerName, creds.ServerName)
	if n.ClientCert != "" {
		if look.Pair, err = tlsfiles.OpenPair(n.ClientCert, n.ClientKey, p.logger()); err != nil {
			return look, usagef("nats.client_cert and nats.client_key: %w", err)
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
		return fmt.Errorf("the NATS server at %s does not speak TLS: write its address with nats:// and leave nats.ca and nats.client_cert out, or have its operator switch TLS on", hostsOf(servers))
	}
	s := tlsfiles.Settings{
		CA: "nats.ca (--nats-ca, TACHO_NATS_CA)", Pair: "nats.client_cert and nats.client_key (TACHO_NATS_CLIENT_CERT, TACHO_NATS_CLIENT_KEY)",
		Name: "nats.server_name (TACHO_NATS_SERVER_NAME)",
	}
	if look.Pair != nil {
		s.Ours = look.Pair.Current().Leaf
	}
	var said *tlsfiles.Error
	if errors.As(tlsfiles.Explain(err, hostsOf(servers), s), &said) {
		return said
	}
	return nil
}
