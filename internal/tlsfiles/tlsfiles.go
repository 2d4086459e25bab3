// Package tlsfiles keeps the certificates that Tacho shows and trusts: it reads them from files, and reads them again
// when they are renewed.
//
// When a connection comes, at most once a second, the package checks the time and size of the files. If a new file is
// half written, does not fit its key or has expired, the old content stays in use, and one warning per change says
// why: a renewal never makes a listener fail. At the first reading the same is an error, which names the file, the
// certificate and what to do. Existing connections are not touched.
package tlsfiles

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync/atomic"
	"time"
)

// Pair is a certificate and its private key in two files.
type Pair struct {
	files *watched[*tls.Certificate]
	cert  string
	// expired is the certificate about whose end a warning was logged.
	expired atomic.Pointer[tls.Certificate]
}

// OpenPair reads a pair. The certificates of issuers may follow the first one in the file.
func OpenPair(cert, key string, log *slog.Logger) (*Pair, error) {
	files, err := watch(log, func() (*tls.Certificate, error) { return readPair(cert, key, time.Now()) }, cert, key)
	if err != nil {
		return nil, err
	}
	return &Pair{files: files, cert: cert}, nil
}

// Current returns the pair in the files, or, while they cannot be used, the last usable one.
func (p *Pair) Current() *tls.Certificate {
	c := p.files.get()
	if time.Now().After(c.Leaf.NotAfter) && p.expired.Swap(c) != c {
		p.files.log.Warn("the certificate in use has expired, and clients refuse it: put a new one in its place", "file", p.cert, "certificate", describe(c.Leaf))
	}
	return c
}

// Follow calls f with the certificates that the pair shows, as PEM, and again before it shows new ones.
func (p *Pair) Follow(f func(text string)) {
	p.files.follow(func(c *tls.Certificate) { f(textOf(c.Certificate...)) })
}

// Name returns a name that the certificate is valid for; empty when it has none.
func (p *Pair) Name() string {
	leaf := p.Current().Leaf
	switch {
	case len(leaf.DNSNames) > 0:
		// A client cannot expect a wildcard itself: it needs a name below it.
		return strings.Replace(leaf.DNSNames[0], "*", "tacho", 1)
	case len(leaf.IPAddresses) > 0:
		return leaf.IPAddresses[0].String()
	}
	return ""
}

// Until returns when the certificate expires.
func (p *Pair) Until() time.Time { return p.Current().Leaf.NotAfter }

// Fits reports whether the certificate is valid for a host.
func (p *Pair) Fits(host string) bool { return p.Current().Leaf.VerifyHostname(host) == nil }

// Authorities are the certificates of trusted CAs.
type Authorities struct {
	files *watched[*x509.CertPool]
	// fixed holds certificates that came from no file.
	fixed *x509.CertPool
}

// OpenAuthorities reads files of certificates. At least one file must be good. A file may also hold the certificate
// that a server itself shows: then only that one is trusted.
func OpenAuthorities(log *slog.Logger, names ...string) (*Authorities, error) {
	files, err := watch(log, func() (*x509.CertPool, error) { return readPool(names, time.Now()) }, names...)
	if err != nil {
		return nil, err
	}
	return &Authorities{files: files}, nil
}

func readPool(names []string, now time.Time) (*x509.CertPool, error) {
	all, good := x509.NewCertPool(), false
	var wrong error
	for _, name := range names {
		text, err := readFile("the CA file", name)
		if err == nil {
			err = addTo(all, "the CA file "+name, text, now)
		}
		if err != nil {
			wrong = errors.Join(wrong, err)
			continue
		}
		good = true
	}
	if !good {
		return nil, wrong
	}
	return all, nil
}

// ParseAuthorities reads certificates from a PEM text. name says in errors where the text comes from.
func ParseAuthorities(name, text string) (*Authorities, error) {
	pool := x509.NewCertPool()
	if err := addTo(pool, name, []byte(text), time.Now()); err != nil {
		return nil, err
	}
	return &Authorities{fixed: pool}, nil
}

// Pool returns the certificates. Nil authorities return nil, which means those of the system.
func (a *Authorities) Pool() *x509.CertPool {
	switch {
	case a == nil:
		return nil
	case a.files == nil:
		return a.fixed
	}
	return a.files.get()
}

// addTo adds the certificates of a text. At least one of them must be valid now.
func addTo(pool *x509.CertPool, name string, text []byte, now time.Time) error {
	certs, err := certificatesIn(name, text)
	if err != nil {
		return err
	}
	var wrong error
	good := false
	for _, c := range certs {
		pool.AddCert(c)
		if err := checkDates(name, c, now); err != nil {
			wrong = err
			continue
		}
		good = true
	}
	if !good {
		return wrong
	}
	return nil
}

// Check returns an error if the authorities have not signed the certificate of a pair, or if it is not for the host.
// An empty host means a client, which has none.
func (a *Authorities) Check(p *Pair, host string) error {
	chain, err := x509.ParseCertificates(bytes.Join(p.Current().Certificate, nil))
	if err != nil {
		return err
	}
	usage := x509.ExtKeyUsageServerAuth
	if host == "" {
		usage = x509.ExtKeyUsageClientAuth
	}
	_, err = chain[0].Verify(x509.VerifyOptions{DNSName: host, Roots: a.Pool(), Intermediates: poolWith(chain[1:]), KeyUsages: []x509.ExtKeyUsage{usage}})
	if err != nil {
		return fmt.Errorf("the certificate %s in %s does not fit: %w", describe(chain[0]), p.cert, err)
	}
	return nil
}

func poolWith(certs []*x509.Certificate) *x509.CertPool {
	pool := x509.NewCertPool()
	for _, c := range certs {
		pool.AddCert(c)
	}
	return pool
}

// Trust returns the certificates, as PEM, that clients on other machines must trust to reach a server. For a file of
// CAs it returns all of them. For the file that the server shows, it returns the root if the file has it, else the
// last certificate; and nothing if this system already trusts the first one.
func Trust(file string) (string, error) {
	text, err := readFile("the certificate", file)
	if err != nil {
		return "", err
	}
	chain, err := certificatesIn(file, text)
	if err != nil {
		return "", err
	}
	if chain[0].IsCA {
		return textOf(rawOf(chain)...), nil
	}
	if _, err := chain[0].Verify(x509.VerifyOptions{Intermediates: poolWith(chain[1:])}); err == nil {
		return "", nil
	}
	top := chain[len(chain)-1]
	for _, c := range chain {
		if selfSigned(c) {
			top = c
		}
	}
	return textOf(top.Raw), nil
}

func rawOf(certs []*x509.Certificate) [][]byte {
	raw := make([][]byte, 0, len(certs))
	for _, c := range certs {
		raw = append(raw, c.Raw)
	}
	return raw
}

// textOf returns certificates as PEM.
func textOf(certs ...[]byte) string {
	var b strings.Builder
	for _, der := range certs {
		b.Write(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))
	}
	return b.String()
}

// Server returns a configuration with which a server shows the pair. With authorities, the server accepts only
// clients with a certificate that they signed.
func Server(p *Pair, clients *Authorities) *tls.Config {
	c := &tls.Config{
		MinVersion:     tls.VersionTLS12,
		GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return p.Current(), nil },
	}
	if clients == nil {
		return c
	}
	c.ClientAuth, c.ClientCAs = tls.RequireAndVerifyClientCert, clients.Pool()
	// Without tickets, each connection checks the client's certificate anew.
	c.SessionTicketsDisabled = true
	c.GetConfigForClient = func(*tls.ClientHelloInfo) (*tls.Config, error) {
		now := c.Clone()
		now.GetConfigForClient, now.ClientCAs = nil, clients.Pool()
		return now, nil
	}
	return c
}

// Client says how a client checks the certificate of a server, and which certificate it shows itself.
type Client struct {
	// CA are the authorities that must have signed the server's certificate; nil means those that this system trusts.
	CA *Authorities
	// Pair is shown to a server that asks for it; nil shows none.
	Pair *Pair
	// Name is the name that the server's certificate must have; empty means the host that the client connects to.
	Name string
}

// Config returns the current configuration; the pair follows its files.
func (c Client) Config() *tls.Config {
	conf := &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: c.CA.Pool(), ServerName: c.Name}
	if c.Pair != nil {
		conf.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return c.Pair.Current(), nil }
	}
	return conf
}

// Set reports whether any field is set: the client differs from one that knows only this system's settings.
func (c Client) Set() bool { return c.CA != nil || c.Pair != nil || c.Name != "" }
