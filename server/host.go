package server

import (
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
)

// checkHost refuses a request that was meant for another host. A page elsewhere
// can have its own name resolved to a loopback address and then ask here as if it
// asked at home (DNS rebinding); the browser still says which name it asked for.
// Addresses, localhost and the given names are taken.
func checkHost(r *http.Request, names []string) error {
	host := r.Host
	if h, _, err := net.SplitHostPort(host); err == nil {
		host = h
	}
	host = strings.ToLower(strings.TrimSuffix(host, "."))
	if host == "localhost" || slices.Contains(names, host) {
		return nil
	}
	if _, err := netip.ParseAddr(strings.TrimSuffix(strings.TrimPrefix(host, "["), "]")); err == nil {
		return nil
	}
	return problemf(http.StatusMisdirectedRequest, "host %q: this server answers for localhost and addresses only: ask there, or start it with --allow-host", r.Host)
}
