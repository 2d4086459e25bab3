package website

import (
	"net/http"
	"net/netip"
	"strings"
)

// visitor returns the address that a request counts for. This is the other end of the connection. If that is a trusted
// proxy, it is the rightmost address in X-Forwarded-For that is not a trusted proxy: addresses further to the left may
// be invented by the client. All connections without an address, such as a socket of this machine, count as one.
func visitor(r *http.Request, trusted []netip.Prefix) netip.Addr {
	peer, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil {
		return netip.Addr{}
	}
	who := peer.Addr().Unmap()
	hops := strings.Split(strings.Join(r.Header.Values("X-Forwarded-For"), ","), ",")
	for i := len(hops) - 1; i >= 0 && within(trusted, who); i-- {
		next, ok := hop(strings.TrimSpace(hops[i]))
		if !ok {
			break
		}
		who = next
	}
	return household(who)
}

// hop reads one address of X-Forwarded-For. Some proxies add the port.
func hop(text string) (netip.Addr, bool) {
	if a, err := netip.ParseAddr(text); err == nil {
		return a.Unmap(), true
	}
	a, err := netip.ParseAddrPort(text)
	return a.Addr().Unmap(), err == nil
}

func within(networks []netip.Prefix, who netip.Addr) bool {
	for _, n := range networks {
		if n.Contains(who.WithZone("")) {
			return true
		}
	}
	return false
}

// household returns one address for all that a network gives to one place: for IPv6 the /64.
func household(a netip.Addr) netip.Addr {
	if !a.Is6() {
		return a
	}
	network, err := a.WithZone("").Prefix(64)
	if err != nil {
		return a // no address has fewer bits
	}
	return network.Addr()
}
