// Package tlstest makes certificates for tests, valid ones and wrong ones.
package tlstest

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// CA signs certificates.
type CA struct {
	t    testing.TB
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
	// File holds its certificate.
	File string
}

// Pair is the files of a certificate and its key.
type Pair struct{ Cert, Key string }

// Leaf says how a certificate differs from the default: for 127.0.0.1 and localhost, valid for an hour more.
type Leaf struct {
	Name string
	// Hosts are names and addresses; none means 127.0.0.1 and localhost.
	Hosts []string
	// From and To are counted from now; both 0 means from an hour ago to an hour from now.
	From, To time.Duration
}

// NewCA makes a CA with its certificate in a file.
func NewCA(t testing.TB, name string) *CA {
	t.Helper()
	ca := &CA{t: t, key: newKey(t), File: filepath.Join(t.TempDir(), "ca.pem")}
	template := newTemplate(t, Leaf{Name: name})
	template.IsCA, template.BasicConstraintsValid, template.KeyUsage = true, true, x509.KeyUsageCertSign
	der, err := x509.CreateCertificate(rand.Reader, template, template, ca.key.Public(), ca.key)
	if err != nil {
		t.Fatal(err)
	}
	if ca.cert, err = x509.ParseCertificate(der); err != nil {
		t.Fatal(err)
	}
	write(t, ca.File, "CERTIFICATE", der)
	return ca
}

// Issue signs a certificate into new files.
func (ca *CA) Issue(l Leaf) Pair {
	ca.t.Helper()
	return ca.IssueTo(In(ca.t.TempDir()), l)
}

// IssueTo signs a certificate into the files of a pair.
func (ca *CA) IssueTo(p Pair, l Leaf) Pair {
	ca.t.Helper()
	key, template := newKey(ca.t), newTemplate(ca.t, l)
	der, err := x509.CreateCertificate(rand.Reader, template, ca.cert, key.Public(), ca.key)
	if err != nil {
		ca.t.Fatal(err)
	}
	keep(ca.t, p, der, key)
	return p
}

// SelfSigned makes a certificate that signs itself, in the files of a pair.
func SelfSigned(t testing.TB, p Pair, l Leaf) Pair {
	t.Helper()
	key, template := newKey(t), newTemplate(t, l)
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	keep(t, p, der, key)
	return p
}

// In returns the pair of files in a directory.
func In(dir string) Pair {
	return Pair{Cert: filepath.Join(dir, "cert.pem"), Key: filepath.Join(dir, "key.pem")}
}

func newKey(t testing.TB) *ecdsa.PrivateKey {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func newTemplate(t testing.TB, l Leaf) *x509.Certificate {
	t.Helper()
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 100))
	if err != nil {
		t.Fatal(err)
	}
	if l.From == 0 && l.To == 0 {
		l.From, l.To = -time.Hour, time.Hour
	}
	if l.Hosts == nil {
		l.Hosts = []string{"127.0.0.1", "localhost"}
	}
	now := time.Now()
	c := &x509.Certificate{
		SerialNumber: serial, Subject: pkix.Name{CommonName: l.Name}, NotBefore: now.Add(l.From), NotAfter: now.Add(l.To),
		KeyUsage:    x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	for _, h := range l.Hosts {
		if ip := net.ParseIP(h); ip != nil {
			c.IPAddresses = append(c.IPAddresses, ip)
		} else {
			c.DNSNames = append(c.DNSNames, h)
		}
	}
	return c
}

func keep(t testing.TB, p Pair, der []byte, key *ecdsa.PrivateKey) {
	t.Helper()
	secret, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	write(t, p.Cert, "CERTIFICATE", der)
	write(t, p.Key, "PRIVATE KEY", secret)
}

func write(t testing.TB, file, kind string, der []byte) {
	t.Helper()
	if err := os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600); err != nil {
		t.Fatal(err)
	}
}
