package tlsfiles

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"time"
)

// maxFile is how large a file may be: the largest bundles of certificates have some hundred kilobytes.
const maxFile = 4 << 20

// readFile reads a file of certificates or a key. what names its purpose in errors.
func readFile(what, file string) ([]byte, error) {
	info, err := os.Stat(file)
	if err == nil && info.Size() > maxFile {
		return nil, fmt.Errorf("%s %s has %d bytes, too many for a file of certificates: name the right file", what, file, info.Size())
	}
	text, err := os.ReadFile(file)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("%s %s does not exist: check the name of the file", what, file)
	case errors.Is(err, fs.ErrPermission):
		return nil, fmt.Errorf("%s %s may not be read by the user that runs Tacho: let that user read it", what, file)
	case err != nil:
		return nil, fmt.Errorf("%s cannot be read: %w", what, err)
	}
	return text, nil
}

// certificatesIn returns the certificates of a PEM text. name says in errors where the text comes from.
func certificatesIn(name string, text []byte) ([]*x509.Certificate, error) {
	var found []*x509.Certificate
	var others []string
	for rest := text; ; {
		var block *pem.Block
		if block, rest = pem.Decode(rest); block == nil {
			break
		}
		if block.Type != "CERTIFICATE" {
			others = append(others, block.Type)
			continue
		}
		c, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			return nil, fmt.Errorf("certificate %d in %s is damaged (%w): copy the file again", len(found)+1, name, err)
		}
		found = append(found, c)
	}
	if len(found) > 0 {
		return found, nil
	}
	switch {
	case len(bytes.TrimSpace(text)) == 0:
		return nil, fmt.Errorf("%s is empty: put a certificate in PEM into it", name)
	case len(others) > 0:
		return nil, fmt.Errorf("%s holds no certificate but %s: name the file with the certificate", name, listOf(others))
	case isDER(text):
		return nil, fmt.Errorf("%s is not PEM but the binary form (DER): turn it into PEM with `openssl x509 -inform der -in FILE -out FILE.pem`", name)
	}
	return nil, fmt.Errorf("%s holds no certificate in PEM: it must have a line -----BEGIN CERTIFICATE-----", name)
}

// checkKey returns an error if a text is not a private key that a server can use without a person.
func checkKey(file string, text []byte) error {
	var others []string
	for rest := text; ; {
		var block *pem.Block
		if block, rest = pem.Decode(rest); block == nil {
			break
		}
		switch {
		case block.Type == "ENCRYPTED PRIVATE KEY" || strings.Contains(block.Headers["Proc-Type"], "ENCRYPTED"):
			return fmt.Errorf("the private key in %s has a passphrase, which Tacho cannot type: remove it with `openssl pkey -in FILE -out NEW`", file)
		case strings.HasSuffix(block.Type, "PRIVATE KEY"):
			return nil
		}
		others = append(others, block.Type)
	}
	switch {
	case len(others) > 0:
		return fmt.Errorf("%s holds no private key but %s: name the file with the key", file, listOf(others))
	case isDER(text):
		return fmt.Errorf("%s is not PEM but the binary form (DER): turn it into PEM with `openssl pkey -inform der -in FILE -out FILE.pem`", file)
	}
	return fmt.Errorf("%s holds no private key in PEM: it must have a line -----BEGIN PRIVATE KEY-----", file)
}

// readPair reads a certificate and its key. Its error says which of the two is wrong.
func readPair(certFile, keyFile string, now time.Time) (*tls.Certificate, error) {
	certText, err := readFile("the certificate", certFile)
	if err != nil {
		return nil, err
	}
	keyText, err := readFile("the private key", keyFile)
	if err != nil {
		return nil, err
	}
	return pairOf(certFile, certText, keyFile, keyText, now)
}

func pairOf(certFile string, certText []byte, keyFile string, keyText []byte, now time.Time) (*tls.Certificate, error) {
	chain, err := certificatesIn(certFile, certText)
	if err != nil {
		return nil, err
	}
	if err := checkKey(keyFile, keyText); err != nil {
		return nil, err
	}
	pair, err := tls.X509KeyPair(certText, keyText)
	if err != nil {
		return nil, fmt.Errorf("the private key in %s does not belong to the certificate %s in %s (%w)%s", keyFile, describe(chain[0]), certFile, err, order(chain, keyText))
	}
	if err := checkDates(certFile, chain[0], now); err != nil {
		return nil, err
	}
	pair.Leaf = chain[0]
	return &pair, nil
}

// order returns what to do about a pair that does not fit: the key may belong to a later certificate of the file.
func order(chain []*x509.Certificate, keyText []byte) string {
	for _, c := range chain[1:] {
		one := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: c.Raw})
		if _, err := tls.X509KeyPair(one, keyText); err == nil {
			return fmt.Sprintf(", but to %s: put that one first in the file, then those of its issuers", describe(c))
		}
	}
	return ": give the two files that were made together"
}

// checkDates returns an error if a certificate is not valid now. The error says when it is valid.
func checkDates(file string, c *x509.Certificate, now time.Time) error {
	switch {
	case now.After(c.NotAfter):
		return fmt.Errorf("the certificate %s in %s expired on %s: get a new one, or correct the clock of this machine if it is wrong", describe(c), file, day(c.NotAfter))
	case now.Before(c.NotBefore):
		return fmt.Errorf("the certificate %s in %s is not valid before %s: wait until then, or correct the clock of this machine if it is wrong", describe(c), file, day(c.NotBefore))
	}
	return nil
}

// describe describes a certificate in parentheses: its subject, its hosts, its issuer, and when it is valid.
func describe(c *x509.Certificate) string {
	parts := []string{"subject " + named(c.Subject.String())}
	if hosts := hostsOf(c); len(hosts) > 0 {
		parts = append(parts, "for "+strings.Join(hosts, ", "))
	}
	if selfSigned(c) {
		parts = append(parts, "self-signed")
	} else {
		parts = append(parts, "issued by "+named(c.Issuer.String()))
	}
	return "(" + strings.Join(append(parts, "valid from "+day(c.NotBefore)+" to "+day(c.NotAfter)), "; ") + ")"
}

func named(name string) string {
	if name == "" {
		return "without a name"
	}
	return name
}

func day(t time.Time) string { return t.UTC().Format("2006-01-02 15:04 UTC") }

// hostsOf returns the names and addresses that a certificate is for.
func hostsOf(c *x509.Certificate) []string {
	hosts := append([]string(nil), c.DNSNames...)
	for _, ip := range c.IPAddresses {
		hosts = append(hosts, ip.String())
	}
	return hosts
}

func selfSigned(c *x509.Certificate) bool {
	return bytes.Equal(c.RawIssuer, c.RawSubject) && c.CheckSignature(c.SignatureAlgorithm, c.RawTBSCertificate, c.Signature) == nil
}

func isDER(text []byte) bool { return len(text) > 1 && text[0] == 0x30 && text[1]&0x80 != 0 }

func listOf(types []string) string {
	seen := map[string]bool{}
	var out []string
	for _, t := range types {
		if !seen[t] {
			seen[t] = true
			out = append(out, fmt.Sprintf("%q", t))
		}
	}
	return strings.Join(out, ", ")
}
