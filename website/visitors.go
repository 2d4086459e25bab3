package website

import (
	"net/http"
	"net/netip"
	"strings"
)

// visitor returns the address that a request counts for: that of the other end of the connection, or, where that is a
// trusted proxy, the nearest one in X-Forwarded-For that is none. What stands further to the left was said by the
// client itself. What has no address, such as a socket of this machine, counts as one.
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

// household makes one of all addresses that a network gives to one place: of IPv6 a /64.
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
