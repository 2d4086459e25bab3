package node

import (
	"fmt"
	"net"
	"net/netip"

	"github.com/tachobench/tacho/internal/tlsfiles"
)

func listen(address string) (net.Listener, error) {
	l, err := net.Listen("tcp", address)
	if err != nil {
		return nil, fmt.Errorf("listen on %s: %w; choose another address with --listen, for example --listen 127.0.0.1:0", address, err)
	}
	return l, nil
}

func free(address string) bool {
	l, err := net.Listen("tcp", address)
	if err != nil {
		return false
	}
	return l.Close() == nil
}

// secureListener is a listener whose connections speak TLS.
type secureListener struct {
	net.Listener
	pair *tlsfiles.Pair
}

// listenWith opens the listener of the website and API.
func listenWith(address string, pair *tlsfiles.Pair) (net.Listener, error) {
	l, err := listen(address)
	if err != nil || pair == nil {
		return l, err
	}
	return secureListener{Listener: l, pair: pair}, nil
}

// scheme returns the beginning of the listener's URL, and the host for it: "localhost" for a loopback address that only as
// "localhost" is in the certificate.
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

// urlOf returns the URL of the listener for people.
func urlOf(l net.Listener) string {
	address, err := netip.ParseAddrPort(l.Addr().String())
	if err != nil {
		prefix, _ := scheme(l, "")
		return prefix + l.Addr().String()
	}
	host := address.Addr().String()
	if address.Addr().IsUnspecified() {
		host = "localhost"
	}
	prefix, host := scheme(l, host)
	return prefix + net.JoinHostPort(host, fmt.Sprint(address.Port()))
}
