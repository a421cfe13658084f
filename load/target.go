package load

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"time"
)

var (
	// ErrURL is wrapped where a request cannot be understood.
	ErrURL = errors.New("want a URL such as http://127.0.0.1:8080/file or redis://127.0.0.1:6379/GET/key")
	// ErrRejected is wrapped where a service answers a request with an error.
	ErrRejected = errors.New("the service rejects the request")
)

// request is what a connection sends.
type request struct {
	// before and after surround numbers below the bounds, drawn anew for each request.
	texts  []string
	bounds []int64
}

// Target is a service and the requests to it.
type Target struct {
	protocol protocol
	address  string
	requests []request
	texts    []string
}

// protocol implements the requests to a service over a connection.
type protocol interface {
	// dial opens a connection to the address.
	dial(ctx context.Context, address string) (net.Conn, error)
	// encode returns a request without its random numbers.
	encode(u *url.URL) (string, error)
	// answer reads the answer to a request. reusable reports whether the connection
	// takes another request. The error wraps ErrRejected, or is of the connection.
	answer(c *conn) (reusable bool, err error)
}

// placeholder is a random number below N in a URL: {N}.
var placeholder = regexp.MustCompile(`\{([0-9]{1,18})\}`)

// Parse returns the target of URLs, of which each request takes one at random: http://,
// https://, redis://HOST:PORT/COMMAND/ARGUMENT/… or memcached://HOST:PORT/KEY. All must be
// of the same host, port and scheme. {N} in a path or a query stands for a random number
// below N. tcp://HOST:PORT opens a connection and asks for nothing: see Connects. The
// error wraps ErrURL.
func Parse(urls ...string) (*Target, error) {
	t := &Target{texts: urls}
	if len(urls) == 0 {
		return nil, ErrURL
	}
	scheme := ""
	for _, text := range urls {
		u, err := url.Parse(text)
		if err != nil {
			return nil, fmt.Errorf("%w: %w", err, ErrURL)
		}
		if u.User != nil {
			return nil, fmt.Errorf("%q: a user or a password is not sent, and would be kept in the profile: measure a server that asks for none: %w", u.Redacted(), ErrURL)
		}
		p, port := protocolOf(u)
		if p == nil || u.Hostname() == "" || port == "" && u.Port() == "" {
			return nil, fmt.Errorf("%q: %w", text, ErrURL)
		}
		address := net.JoinHostPort(u.Hostname(), first(u.Port(), port))
		if t.protocol != nil && (address != t.address || u.Scheme != scheme) {
			return nil, fmt.Errorf("%q and %q are of different services: %w", urls[0], text, ErrURL)
		}
		t.protocol, t.address, scheme = p, address, u.Scheme
		encoded, err := p.encode(u)
		if err != nil {
			return nil, fmt.Errorf("%q: %w: %w", text, err, ErrURL)
		}
		r, err := divide(encoded)
		if err != nil {
			return nil, fmt.Errorf("%q: %w: %w", text, err, ErrURL)
		}
		t.requests = append(t.requests, r)
	}
	return t, nil
}

func protocolOf(u *url.URL) (p protocol, port string) {
	switch u.Scheme {
	case "http":
		return &http1{host: u.Host}, "80"
	case "https":
		return &http1{host: u.Host, tls: true, name: u.Hostname()}, "443"
	case "redis":
		return redis{}, "6379"
	case "memcached":
		return memcached{}, "11211"
	case "tcp":
		return connecting{}, ""
	}
	return nil, ""
}

func first(texts ...string) string {
	for _, t := range texts {
		if t != "" {
			return t
		}
	}
	return ""
}

// divide finds the placeholders of a request.
func divide(text string) (request, error) {
	var r request
	end := 0
	for _, at := range placeholder.FindAllStringSubmatchIndex(text, -1) {
		bound, err := strconv.ParseInt(text[at[2]:at[3]], 10, 64)
		if err != nil || bound < 1 {
			return r, fmt.Errorf("%s: want a number of 1 or more", text[at[0]:at[1]])
		}
		r.texts, r.bounds = append(r.texts, text[end:at[0]]), append(r.bounds, bound)
		end = at[1]
	}
	r.texts = append(r.texts, text[end:])
	return r, nil
}

// appendTo appends the request with random numbers. Each is as wide as the greatest, so
// that lengths that the request states hold.
func (r request) appendTo(b []byte, random *rand.Rand) []byte {
	for i, text := range r.texts {
		b = append(b, text...)
		if i < len(r.bounds) {
			b = fmt.Appendf(b, "%0*d", width(r.bounds[i]), random.Int64N(r.bounds[i]))
		}
	}
	return b
}

func width(bound int64) int { return len(strconv.FormatInt(bound-1, 10)) }

// String returns the requests.
func (t *Target) String() string { return strings.Join(t.texts, ", ") }

// Connects reports whether the target only opens connections: it shows whether a server
// is ready, and takes no load.
func (t *Target) Connects() bool { _, is := t.protocol.(connecting); return is }

// Requests returns the URLs.
func (t *Target) Requests() []string { return t.texts }

const (
	// readyPoll is the time between two checks whether a service is ready.
	readyPoll = 50 * time.Millisecond
	// oneRequest bounds one request of Ask.
	oneRequest = 10 * time.Second
)

// Ask sends one request and waits for the answer. The error wraps ErrRejected, or is of
// the connection.
func (t *Target) Ask(ctx context.Context) error {
	_, err := t.Redirect(ctx)
	return err
}

// Redirect is Ask, and returns the URL to which the answer sends the client instead: a load
// of such requests measures redirects. It is empty where the answer is no redirect.
func (t *Target) Redirect(ctx context.Context) (to string, err error) {
	ctx, cancel := context.WithTimeout(ctx, oneRequest)
	defer cancel()
	c, err := t.connect(ctx)
	if err != nil {
		return "", err
	}
	defer func() { _ = c.Close() }()
	stop := context.AfterFunc(ctx, func() { _ = c.SetDeadline(time.Now()) })
	defer stop()
	if t.Connects() {
		return "", nil
	}
	_, err = t.exchange(c, rand.New(rand.NewPCG(0, 0)))
	return c.redirect, err
}

// AwaitReady repeats the request until the service answers, and then returns nil. It
// returns the error of ended as soon as there is one. When the context ends, it returns
// the last error of Ask that the context did not cause.
func (t *Target) AwaitReady(ctx context.Context, ended func() error) error {
	var last error
	for {
		err := t.Ask(ctx)
		if err == nil {
			return nil
		}
		if last == nil || ctx.Err() == nil {
			last = err
		}
		if gone := ended(); gone != nil {
			return gone
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("not ready: %w", last)
		case <-time.After(readyPoll):
		}
	}
}
