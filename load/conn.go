package load

import (
	"bufio"
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
)

// conn is a connection with what is read ahead.
type conn struct {
	net.Conn

	reader *bufio.Reader
	buffer []byte
	// used is true once a request was answered, and silent while no byte of the answer
	// to the last request has come.
	used, silent bool
	// redirect is where the last redirect leads; empty without one.
	redirect string
}

func (t *Target) connect(ctx context.Context) (*conn, error) {
	c, err := t.protocol.dial(ctx, t.address)
	if err != nil {
		return nil, err
	}
	return &conn{Conn: c, reader: bufio.NewReaderSize(c, 16<<10)}, nil
}

// exchange sends a request and reads its answer.
func (t *Target) exchange(c *conn, random *rand.Rand) (reusable bool, err error) {
	r := t.requests[0]
	if len(t.requests) > 1 {
		r = t.requests[random.IntN(len(t.requests))]
	}
	c.buffer = r.appendTo(c.buffer[:0], random)
	c.silent = true
	if _, err := c.Write(c.buffer); err != nil {
		return false, err
	}
	if _, err := c.reader.Peek(1); err != nil {
		return false, err
	}
	c.silent, c.used = false, true
	return t.protocol.answer(c)
}

// http1 is HTTP/1.1, with TLS or without.
type http1 struct {
	host, name string
	tls        bool
}

func (p *http1) dial(ctx context.Context, address string) (net.Conn, error) {
	if p.tls {
		d := &tls.Dialer{Config: &tls.Config{ServerName: p.name, MinVersion: tls.VersionTLS12}}
		return d.DialContext(ctx, "tcp", address)
	}
	return (&net.Dialer{}).DialContext(ctx, "tcp", address)
}

// spared are the braces of placeholders, which a URL escapes.
var spared = strings.NewReplacer("%7B", "{", "%7D", "}")

func (p *http1) encode(u *url.URL) (string, error) {
	path := spared.Replace(u.EscapedPath())
	if path == "" {
		path = "/"
	}
	if u.RawQuery != "" {
		path += "?" + u.RawQuery
	}
	if strings.ContainsAny(path, " \r\n\t") {
		return "", errors.New("blanks in the path or the query")
	}
	return fmt.Sprintf("GET %s HTTP/1.1\r\nHost: %s\r\nUser-Agent: bandmate\r\n\r\n", path, p.host), nil
}

const (
	// leastRedirect is the first HTTP status that sends the client to another URL.
	leastRedirect = 300
	// leastError is the first HTTP status that is an error.
	leastError = 400
)

func (p *http1) answer(c *conn) (bool, error) {
	r, err := http.ReadResponse(c.reader, nil)
	for err == nil && r.StatusCode < http.StatusOK && r.StatusCode != http.StatusSwitchingProtocols {
		r, err = http.ReadResponse(c.reader, nil) // an interim response precedes the final one
	}
	if err != nil {
		return false, err
	}
	_, err = io.Copy(io.Discard, r.Body)
	if err := errors.Join(err, r.Body.Close()); err != nil {
		return false, err
	}
	if r.StatusCode >= leastError {
		return !r.Close, fmt.Errorf("%w: %s", ErrRejected, r.Status)
	}
	if r.StatusCode >= leastRedirect {
		c.redirect = r.Header.Get("Location")
	}
	return !r.Close, nil
}

// redis is the redis protocol, RESP.
type redis struct{}

func (redis) dial(ctx context.Context, address string) (net.Conn, error) {
	return (&net.Dialer{}).DialContext(ctx, "tcp", address)
}

func (redis) encode(u *url.URL) (string, error) {
	if err := pathOnly(u); err != nil {
		return "", err
	}
	// The path as it was given. EscapedPath drops it where it has a character that ought to
	// be escaped, such as the brace of {100}.
	words := strings.Split(strings.Trim(cmp.Or(u.RawPath, u.EscapedPath()), "/"), "/")
	if words[0] == "" {
		words[0] = "PING"
	}
	var b strings.Builder
	fmt.Fprintf(&b, "*%d\r\n", len(words))
	for _, escaped := range words {
		w, err := url.PathUnescape(escaped)
		if err != nil {
			return "", err
		}
		r, err := divide(w)
		if err != nil {
			return "", err
		}
		length := 0
		for i, text := range r.texts {
			length += len(text)
			if i < len(r.bounds) {
				length += width(r.bounds[i])
			}
		}
		fmt.Fprintf(&b, "$%d\r\n%s\r\n", length, w)
	}
	return b.String(), nil
}

// pathOnly returns an error where a URL has what no command or key is made of.
func pathOnly(u *url.URL) error {
	if u.RawQuery != "" || u.ForceQuery || u.Fragment != "" {
		return errors.New("? and # are no part of a key: write %3F and %23")
	}
	return nil
}

func (p redis) answer(c *conn) (bool, error) {
	err := p.read(c, 0)
	return err == nil || errors.Is(err, ErrRejected), err
}

// errGarbled is returned for a service that speaks another protocol.
var errGarbled = errors.New("the answer is not of the protocol")

const (
	// deepestReply bounds the nesting of a reply, and longestReply its bytes.
	deepestReply = 8
	longestReply = 512 << 20
)

// read reads one reply, nested so deep.
func (p redis) read(c *conn, depth int) error {
	line, err := c.reader.ReadSlice('\n')
	if err != nil {
		return err
	}
	text := strings.TrimRight(string(line), "\r\n")
	if text == "" || depth > deepestReply {
		return errGarbled
	}
	switch kind, rest := text[0], text[1:]; kind {
	case '+', ':', ',', '#', '_', '(':
		return nil
	case '-':
		return fmt.Errorf("%w: %s", ErrRejected, rest)
	case '$', '=', '!':
		n, err := strconv.ParseInt(rest, 10, 64)
		if err != nil || n < -1 || n > longestReply {
			return errGarbled
		}
		if n >= 0 {
			_, err = io.CopyN(io.Discard, c.reader, n+2)
		}
		return err
	case '*', '~', '>', '%':
		n, err := strconv.ParseInt(rest, 10, 64)
		if err != nil || n < -1 || n > longestReply {
			return errGarbled
		}
		if kind == '%' {
			n *= 2
		}
		var rejected error
		for range n {
			err := p.read(c, depth+1)
			if err != nil && !errors.Is(err, ErrRejected) {
				return err
			}
			rejected = cmp.Or(rejected, err)
		}
		return rejected
	}
	return errGarbled
}

// memcached is the text protocol of memcached, of which it gets keys.
type memcached struct{ redis }

// longestKey is that of memcached.
const longestKey = 250

func (memcached) encode(u *url.URL) (string, error) {
	if err := pathOnly(u); err != nil {
		return "", err
	}
	key := strings.Trim(u.Path, "/")
	if key == "" || len(key) > longestKey || strings.ContainsAny(key, " \r\n\t") {
		return "", errors.New("want a key without blanks, of 1 to 250 bytes")
	}
	return "get " + key + "\r\n", nil
}

// answer reads the value, or the end of the answer where there is none.
func (memcached) answer(c *conn) (bool, error) {
	for {
		line, err := c.reader.ReadSlice('\n')
		if err != nil {
			return false, err
		}
		words := strings.Fields(string(line))
		switch {
		case len(words) == 1 && words[0] == "END":
			return true, nil
		case len(words) >= 4 && words[0] == "VALUE":
			n, err := strconv.ParseInt(words[3], 10, 64)
			if err != nil || n < 0 || n > longestReply {
				return false, errGarbled
			}
			if _, err := io.CopyN(io.Discard, c.reader, n+2); err != nil {
				return false, err
			}
		case len(words) > 0 && strings.HasSuffix(words[0], "ERROR"):
			return true, fmt.Errorf("%w: %s", ErrRejected, strings.Join(words, " "))
		default:
			return false, errGarbled
		}
	}
}

// connecting opens connections and sends no requests.
type connecting struct{ redis }

func (connecting) encode(*url.URL) (string, error) { return "", nil }
