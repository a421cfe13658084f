package server

import (
	"bufio"
	"context"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// patient is how long a test waits for what has to happen, on a machine that
// others use as well.
const patient = 30 * time.Second

func TestListen(t *testing.T) {
	for address, want := range map[string]error{
		"127.0.0.1:0": nil, "localhost:0": nil, "127.0.0.2:0": nil,
		"0.0.0.0:0": ErrNotLoopback, ":0": ErrNotLoopback, "[::]:0": ErrNotLoopback, "192.0.2.1:0": ErrNotLoopback, "example.org:0": ErrNotLoopback,
	} {
		l, err := Listen(t.Context(), address, false)
		if !errors.Is(err, want) {
			t.Errorf("%s: %v, want %v", address, err, want)
		}
		if l != nil {
			l.Close()
		}
	}
	for _, address := range []string{"", "127.0.0.1", "127.0.0.1:http:1", "127.0.0.1:99999", "127.0.0.1:-1"} {
		if l, err := Listen(t.Context(), address, false); err == nil {
			l.Close()
			t.Errorf("%q was taken", address)
		}
	}
	l, err := Listen(t.Context(), "0.0.0.0:0", true)
	if err != nil {
		t.Fatal(err)
	}
	l.Close()
}

// serve serves h and returns the address, and what ends it and waits for that.
func serve(t *testing.T, h http.Handler, limits timeouts) (address string, end func() error) {
	t.Helper()
	l, err := Listen(t.Context(), "127.0.0.1:0", false)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- serveWithin(ctx, l, h, log.New(io.Discard, "", 0), limits) }()
	end = func() error {
		cancel()
		select {
		case err := <-ended:
			return err
		case <-time.After(patient):
			return errors.New("it does not end")
		}
	}
	return l.Addr().String(), end
}

// A request under way is answered when the server is asked to end; after that
// nobody listens.
func TestEndsGracefully(t *testing.T) {
	began, goOn := make(chan struct{}), make(chan struct{})
	address, end := serve(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		close(began)
		<-goOn
		_, _ = io.WriteString(w, "answered")
	}), usualTimeouts())
	answered := make(chan string, 1)
	go func() {
		client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
		r, err := client.Get("http://" + address)
		if err != nil {
			answered <- err.Error()
			return
		}
		body, _ := io.ReadAll(r.Body)
		r.Body.Close()
		answered <- string(body)
	}()
	<-began
	ended := make(chan error, 1)
	go func() { ended <- end() }()
	for { // until it listens no more
		c, err := net.DialTimeout("tcp", address, patient)
		if err != nil {
			break
		}
		c.Close()
	}
	close(goOn)
	if got := <-answered; got != "answered" {
		t.Errorf("the request under way was told %q", got)
	}
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// More connections than there are places wait; one that ends makes room, and an
// idle clients do not keep the server from ending.
func TestConnectionsAreLimited(t *testing.T) {
	address, end := serve(t, http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}), usualTimeouts())
	connect := func() net.Conn {
		c, err := net.DialTimeout("tcp", address, patient)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Close() })
		if _, err := io.WriteString(c, "GET / HTTP/1.1\r\nHost: "+address+"\r\n\r\n"); err != nil {
			t.Fatal(err)
		}
		return c
	}
	answered := func(c net.Conn, within time.Duration) error {
		if err := c.SetReadDeadline(time.Now().Add(within)); err != nil {
			t.Fatal(err)
		}
		_, err := http.ReadResponse(bufio.NewReader(c), nil)
		return err
	}
	var clients []net.Conn
	for range mostConnections {
		c := connect()
		if err := answered(c, patient); err != nil {
			t.Fatal(err)
		}
		clients = append(clients, c)
	}
	late := connect()
	if err := answered(late, 100*time.Millisecond); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("one connection too many: %v", err)
	}
	clients[0].Close()
	if err := answered(late, patient); err != nil {
		t.Errorf("when one has ended: %v", err)
	}
	if err := end(); err != nil {
		t.Error(err)
	}
}

// Requests with headers beyond the bound, and requests that are none, are refused,
// and the server goes on.
func TestBrokenRequests(t *testing.T) {
	address, end := serve(t, newTestHandler(t, newFake()), usualTimeouts())
	for name, tt := range map[string]struct{ request, status string }{
		"large header":       {"GET /healthz HTTP/1.1\r\nHost: localhost\r\nX: " + strings.Repeat("x", 2*largestHeader) + "\r\n\r\n", " 431 "},
		"no host":            {"GET /healthz HTTP/1.1\r\n\r\n", " 400 "},
		"host of another":    {"GET /healthz HTTP/1.1\r\nHost: evil.example\r\n\r\n", " 421 "},
		"absolute elsewhere": {"GET http://evil.example/healthz HTTP/1.1\r\nHost: localhost\r\n\r\n", " 421 "},
		"HTTP/1.0":           {"GET /healthz HTTP/1.0\r\n\r\n", " 421 "},
		"nonsense":           {"\x16\x03\x01\x02\x00\x01\r\n\r\n", " 400 "},
		"a body":             {"GET /healthz HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000000000\r\n\r\n{}", " 413 "},
		"two lengths":        {"GET /healthz HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n", " 400 "},
		"control in path":    {"GET /a\x00b HTTP/1.1\r\nHost: localhost\r\n\r\n", " 400 "},
		"right":              {"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n", " 200 "},
	} {
		c, err := net.DialTimeout("tcp", address, patient)
		if err != nil {
			t.Fatal(err)
		}
		_ = c.SetDeadline(time.Now().Add(patient))
		_, _ = io.WriteString(c, tt.request) // may be cut short by the refusal
		line, _ := bufio.NewReader(c).ReadString('\n')
		if !strings.Contains(line, tt.status) {
			t.Errorf("%s: %q, want%s", name, line, tt.status)
		}
		c.Close()
	}
	if err := end(); err != nil {
		t.Error(err)
	}
}

// Clients that send or read at a crawl are shown the door, and others are answered
// meanwhile.
func TestSlowClients(t *testing.T) {
	limits := timeouts{header: 300 * time.Millisecond, read: 300 * time.Millisecond, write: 300 * time.Millisecond, idle: 300 * time.Millisecond}
	large := strings.Repeat("x", 64<<20)
	began := make(chan struct{}, 1)
	answer := newTestHandler(t, newFake())
	address, end := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/large" {
			began <- struct{}{}
			_, _ = io.WriteString(w, large)
			return
		}
		answer.ServeHTTP(w, r)
	}), limits)
	dial := func(request string) net.Conn {
		c, err := net.DialTimeout("tcp", address, patient)
		if err != nil {
			t.Fatal(err)
		}
		_ = c.SetDeadline(time.Now().Add(patient))
		if _, err := io.WriteString(c, request); err != nil {
			t.Fatal(err)
		}
		return c
	}
	var slow []net.Conn
	for range 20 {
		slow = append(slow, dial("GET /healthz HTTP/1.1\r\nHost: loc"), dial("GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"), dial(""))
	}
	reader := dial("GET /large HTTP/1.1\r\nHost: localhost\r\n\r\n")
	<-began
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: patient}
	for deadline := time.Now().Add(patient); ; { // a busy machine may itself be slow
		r, err := client.Get("http://" + address + "/healthz")
		if err == nil {
			r.Body.Close()
			break
		}
		if time.Now().After(deadline) {
			t.Fatal(err)
		}
	}
	for _, c := range slow {
		// The server ends the connection: whatever it said comes, then the end.
		if _, err := io.Copy(io.Discard, c); errors.Is(err, os.ErrDeadlineExceeded) {
			t.Error("a slow client was kept")
		}
		c.Close()
	}
	time.Sleep(2 * limits.write) // it reads nothing for so long
	if n, err := io.Copy(io.Discard, reader); errors.Is(err, os.ErrDeadlineExceeded) || n >= int64(len(large)) {
		t.Errorf("one that does not read was sent %d bytes, %v", n, err)
	}
	reader.Close()
	if err := end(); err != nil {
		t.Error(err)
	}
}
