package tlsfiles

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"time"
)

// Settings names the settings that a person makes, for the errors of a client.
type Settings struct {
	// CA, Pair and Name are the settings' names for the fields of a Client. An empty name means that there is no such
	// setting.
	CA, Pair, Name string
	// Ours is the certificate that the client shows; nil if it shows none.
	Ours *x509.Certificate
}

// Error says in words why a client and a server do not agree on TLS, and what to do about it. Trying again changes
// nothing.
type Error struct {
	text string
	err  error
}

func (e *Error) Error() string { return e.text }

// Unwrap returns the error of the library.
func (e *Error) Unwrap() error { return e.err }

// Explain turns a TLS error of a client that connects to an address into an *Error. It returns other errors
// unchanged.
func Explain(err error, address string, s Settings) error {
	if err == nil {
		return nil
	}
	text := s.ofCertificate(err, address)
	if text == "" {
		text = s.ofServer(err, address)
	}
	if text == "" {
		return err
	}
	return &Error{text: text, err: err}
}

// ofCertificate explains why the client refuses the server's certificate.
func (s Settings) ofCertificate(err error, address string) string {
	var unknown x509.UnknownAuthorityError
	var invalid x509.CertificateInvalidError
	var host x509.HostnameError
	var roots x509.SystemRootsError
	shown := shownBy(err)
	switch {
	case errors.As(err, &unknown):
		if shown == nil {
			shown = unknown.Cert
		}
		return fmt.Sprintf("the certificate of %s %s is not signed by a CA that Tacho trusts: %s", address, describe(shown), s.believe(shown))
	case errors.As(err, &invalid):
		return s.ofInvalid(invalid, address)
	case errors.As(err, &host):
		hosts := strings.Join(hostsOf(host.Certificate), ", ")
		if hosts == "" {
			return fmt.Sprintf("the certificate of %s %s names no host: its operator must make one with subject alternative names", address, describe(host.Certificate))
		}
		step := "connect to one of these names"
		if s.Name != "" {
			step += ", or set one of them as " + s.Name
		}
		return fmt.Sprintf("the certificate of %s %s is not for %s but for %s: %s, or have its operator make one that names %s",
			address, describe(host.Certificate), host.Host, hosts, step, host.Host)
	case errors.As(err, &roots):
		return fmt.Sprintf("this system has no list of CAs to check the certificate of %s with: install the package ca-certificates%s", address, ifSet(", or set ", s.CA))
	}
	return ""
}

func (s Settings) believe(shown *x509.Certificate) string {
	switch {
	case s.CA == "":
		return "check that it is the right server"
	case selfSigned(shown):
		return fmt.Sprintf("if it is the right server, copy its certificate from there, and set %s to that file", s.CA)
	}
	return fmt.Sprintf("if it is the right server, set %s to a file with the certificate of its CA, %s", s.CA, named(shown.Issuer.String()))
}

// ofInvalid explains a certificate that is not valid for any client now.
func (s Settings) ofInvalid(invalid x509.CertificateInvalidError, address string) string {
	c, now := invalid.Cert, time.Now()
	switch {
	case invalid.Reason == x509.Expired && now.Before(c.NotBefore):
		return fmt.Sprintf("the certificate of %s %s is not valid before %s, and it is %s here: correct the clock of this machine, or wait", address, describe(c), day(c.NotBefore), day(now))
	case invalid.Reason == x509.Expired:
		return fmt.Sprintf("the certificate of %s %s expired on %s, and it is %s here: its operator must renew it, or correct the clock of this machine if it is wrong", address, describe(c), day(c.NotAfter), day(now))
	case invalid.Reason == x509.IncompatibleUsage:
		return fmt.Sprintf("the certificate of %s %s is not one for servers: its operator must make one with the extended key usage serverAuth", address, describe(c))
	}
	// The other reasons are rare, so the library's words for them are enough.
	return fmt.Sprintf("the certificate of %s %s cannot be used (%v): its operator must make another one%s", address, describe(c), invalid, ifSet(", or you check ", s.CA))
}

// refusals are the library's words for what servers say about the certificate of a client.
var refusals = []struct{ alert, text string }{
	{"tls: expired certificate", "has expired"},
	{"tls: unknown certificate authority", "is signed by no CA that the server trusts"},
	{"tls: bad certificate", "is refused"},
	{"tls: unsupported certificate", "is of a kind that the server does not accept"},
	{"tls: revoked certificate", "was revoked"},
	{"tls: unknown certificate", "is refused"},
}

// ofServer explains why the server refuses the client, or that it does not speak TLS.
func (s Settings) ofServer(err error, address string) string {
	var record tls.RecordHeaderError
	if errors.As(err, &record) || errors.Is(err, http.ErrSchemeMismatch) {
		return fmt.Sprintf("%s does not speak TLS: write its address with http:// or nats://, or have its operator switch TLS on", address)
	}
	var op *net.OpError
	if !errors.As(err, &op) || op.Op != "remote error" {
		return ""
	}
	said := op.Err.Error()
	if strings.Contains(said, "tls: certificate required") || strings.Contains(said, "tls: bad certificate") && s.Ours == nil {
		if s.Pair == "" {
			return fmt.Sprintf("%s requires a certificate from its clients, and Tacho has none for it: use an address that requires none", address)
		}
		return fmt.Sprintf("%s requires a certificate from its clients, and Tacho shows none: set %s to one that its CA has signed", address, s.Pair)
	}
	if s.Ours != nil {
		for _, r := range refusals {
			if strings.Contains(said, r.alert) {
				return fmt.Sprintf("%s refuses us: our certificate %s %s: set %s to a valid one that the CA of that server's clients has signed", address, describe(s.Ours), r.text, s.Pair)
			}
		}
	}
	step := ""
	if s.Ours == nil {
		// A server with TLS 1.2 does not say that it requires a certificate.
		step = ifSet("; if it requires a certificate from its clients, set ", s.Pair)
	}
	return fmt.Sprintf("%s ended the TLS handshake (%s): check that it is the right server, and that it speaks TLS 1.2 or newer%s", address, said, step)
}

// shownBy returns the certificate that the server has shown, if the error has it.
func shownBy(err error) *x509.Certificate {
	var failed *tls.CertificateVerificationError
	if errors.As(err, &failed) && len(failed.UnverifiedCertificates) > 0 {
		return failed.UnverifiedCertificates[0]
	}
	return nil
}

func ifSet(before, setting string) string {
	if setting == "" {
		return ""
	}
	return before + setting
}
