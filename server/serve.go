package server

import (
	"context"
	"errors"
	"fmt"
	"log"
	"net"
	"net/http"
	"net/netip"
	"time"

	"golang.org/x/net/netutil"
)

// Bounds of connections.
const (
	mostConnections = 512
	largestHeader   = 32 << 10 // bytes
	shutdownPeriod  = 5 * time.Second
)

// timeouts are how long a client may take.
type timeouts struct {
	header, read time.Duration
	// write holds for making a page of thousands of applications and for sending
	// it over a slow line.
	write time.Duration
	idle  time.Duration
}

func usualTimeouts() timeouts {
	return timeouts{header: 5 * time.Second, read: 10 * time.Second, write: 2 * time.Minute, idle: time.Minute}
}

// ErrNotLoopback is returned for an address that others than this machine can
// reach.
var ErrNotLoopback = errors.New("is not a loopback address")

// Listen listens on an address such as 127.0.0.1:8080, [::1]:0 or localhost:8080,
// and, where remote is true, on any. It fails with ErrNotLoopback, or as net.Listen
// does.
func Listen(ctx context.Context, address string, remote bool) (net.Listener, error) {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return nil, fmt.Errorf("address %q: %w: want one such as 127.0.0.1:8080", address, err)
	}
	if !remote && !isLoopback(host) {
		return nil, fmt.Errorf("address %q %w", address, ErrNotLoopback)
	}
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", address)
	if err != nil {
		return nil, err
	}
	// A name in /etc/hosts may lie.
	if at, ok := l.Addr().(*net.TCPAddr); !remote && (!ok || !at.IP.IsLoopback()) {
		return nil, errors.Join(fmt.Errorf("address %q %w", address, ErrNotLoopback), l.Close())
	}
	return l, nil
}

func isLoopback(host string) bool {
	if host == "localhost" {
		return true
	}
	a, err := netip.ParseAddr(host)
	return err == nil && a.IsLoopback()
}

// Serve serves h on l until ctx is done, then waits a few seconds for pending requests
// and closes l. It returns nil when ctx ended it. The HTTP server logs to complaints.
func Serve(ctx context.Context, l net.Listener, h http.Handler, complaints *log.Logger) error {
	return serveWithin(ctx, l, h, complaints, usualTimeouts())
}

func serveWithin(ctx context.Context, l net.Listener, h http.Handler, complaints *log.Logger, t timeouts) error {
	s := &http.Server{
		Handler: h, ReadHeaderTimeout: t.header, ReadTimeout: t.read, WriteTimeout: t.write,
		IdleTimeout: t.idle, MaxHeaderBytes: largestHeader, ErrorLog: complaints,
	}
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(netutil.LimitListener(l, mostConnections)) }()
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
	}
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), shutdownPeriod)
	defer cancel()
	err := s.Shutdown(last)
	if errors.Is(err, context.DeadlineExceeded) {
		err = s.Close() // the slow ones have had their time
	}
	if served := <-ended; !errors.Is(served, http.ErrServerClosed) {
		err = errors.Join(err, served)
	}
	return err
}
