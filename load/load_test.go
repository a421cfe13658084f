package load_test

import (
	"bufio"
	"context"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
	"go.uber.org/goleak"

	"bandmate.dev/bandmate/load"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func target(t *testing.T, urls ...string) *load.Target {
	t.Helper()
	parsed, err := load.Parse(urls...)
	if err != nil {
		t.Fatal(err)
	}
	return parsed
}

func server(t *testing.T, handle http.HandlerFunc) string {
	t.Helper()
	s := httptest.NewServer(handle)
	t.Cleanup(s.Close)
	return s.URL
}

// run asks for a while, and for as long as there is no answer: others may hold all CPUs.
func run(t *testing.T, to *load.Target, o load.Options, d time.Duration) (*load.Result, error) {
	t.Helper()
	l := to.Start(t.Context(), o)
	defer l.Close()
	time.Sleep(d)
	for begin := time.Now(); l.Answers() == 0 && l.Err() == nil && time.Since(begin) < time.Minute; {
		time.Sleep(time.Millisecond)
	}
	return l.Take()
}

func TestLoadHTTP(t *testing.T) {
	var paths [10]atomic.Int64
	url := server(t, func(w http.ResponseWriter, r *http.Request) {
		if n := strings.TrimPrefix(r.URL.Path, "/key/"); len(n) == 1 && n[0] >= '0' && n[0] <= '9' && r.URL.RawQuery == "a=b" {
			paths[n[0]-'0'].Add(1)
		} else {
			t.Errorf("asked for %s", r.URL)
		}
		_, _ = io.WriteString(w, strings.Repeat("x", 5000))
	})
	const rate, seconds = 500.0, 2
	r, err := run(t, target(t, url+"/key/{10}?a=b"), load.Options{Rate: rate, Seed: 1}, seconds*time.Second)
	if err != nil && !errors.Is(err, load.ErrBehind) { // another program may hold all CPUs
		t.Fatal(err)
	}
	// Six standard deviations of a Poisson process.
	if n := float64(r.Answers); err == nil && (n < rate*r.Elapsed.Seconds()-200-64 || n > rate*r.Elapsed.Seconds()+200) {
		t.Errorf("%v answers in %v at %v per second", n, r.Elapsed, rate)
	}
	for i := range paths {
		if paths[i].Load() == 0 {
			t.Errorf("%d was never drawn", i)
		}
	}
	if p50, p99 := r.Quantile(0.5), r.Quantile(0.99); p50 <= 0 || p99 < p50 {
		t.Errorf("p50 %v, p99 %v", p50, p99)
	}
}

// redisServer answers every request with reply.
func redisServer(t *testing.T, reply string, requests *atomic.Int64) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer func() { _ = c.Close() }()
				r := bufio.NewReader(c)
				for {
					var request strings.Builder
					for range 5 { // of two words
						line, err := r.ReadString('\n')
						if err != nil {
							return
						}
						request.WriteString(line)
					}
					if got := request.String(); !strings.HasPrefix(got, "*2\r\n$3\r\nGET\r\n$7\r\nkey:") || len(got) != len("*2\r\n$3\r\nGET\r\n$7\r\nkey:000\r\n") {
						t.Errorf("sent %q", got)
					}
					requests.Add(1)
					if _, err := io.WriteString(c, reply); err != nil {
						return
					}
				}
			}()
		}
	}()
	return "redis://" + l.Addr().String() + "/GET/key:{1000}"
}

func TestLoadRedis(t *testing.T) {
	for _, reply := range []string{"$5\r\nhello\r\n", "$-1\r\n", "+OK\r\n", ":7\r\n", "*2\r\n$1\r\na\r\n*1\r\n:1\r\n", "%1\r\n+a\r\n_\r\n"} {
		var requests atomic.Int64
		to := target(t, redisServer(t, reply, &requests))
		if err := to.Ask(t.Context()); err != nil {
			t.Fatal(err)
		}
		r, err := run(t, to, load.Options{Connections: 4}, 50*time.Millisecond)
		if err != nil || r.Answers == 0 || requests.Load() < r.Answers {
			t.Errorf("%q: %d answers of %d requests: %v", reply, r.Answers, requests.Load(), err)
		}
	}
	for _, reply := range []string{"garbage\r\n", "$x\r\n", "$-5\r\n", "\r\n", strings.Repeat("*1\r\n", 100)} {
		var requests atomic.Int64
		if err := target(t, redisServer(t, reply, &requests)).Ask(t.Context()); err == nil {
			t.Errorf("%q was taken for an answer", reply)
		}
	}
	var requests atomic.Int64
	// What follows an error within a reply is not the answer to the next request.
	l := target(t, redisServer(t, "*2\r\n-ERR no\r\n+OK\r\n", &requests)).Start(t.Context(), load.Options{Connections: 1})
	for l.Err() == nil {
		time.Sleep(time.Millisecond)
	}
	l.Close()
	if !errors.Is(l.Err(), load.ErrRejected) || l.Answers() != 0 {
		t.Errorf("%d answers: %v", l.Answers(), l.Err())
	}
	err := target(t, redisServer(t, "-WRONGPASS no\r\n", &requests)).Ask(t.Context())
	if !errors.Is(err, load.ErrRejected) || !strings.Contains(err.Error(), "WRONGPASS no") {
		t.Errorf("%v", err)
	}
}

// An escaped slash does not divide a key.
func TestRedisArguments(t *testing.T) {
	for path, want := range map[string]string{
		"/GET/user%2F1":        "*2\r\n$3\r\nGET\r\n$6\r\nuser/1\r\n",
		"/SET/a%3Fb/%E2%82%AC": "*3\r\n$3\r\nSET\r\n$3\r\na?b\r\n$3\r\n\u20ac\r\n",
		"/GET/user%2F{1}":      "*2\r\n$3\r\nGET\r\n$6\r\nuser/0\r\n",
		"/GET/%25{1}":          "*2\r\n$3\r\nGET\r\n$2\r\n%0\r\n",
		"":                     "*1\r\n$4\r\nPING\r\n",
	} {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		sent := make(chan string, 1)
		go func() {
			c, err := l.Accept()
			if err != nil {
				return
			}
			defer func() { _ = c.Close() }()
			request := make([]byte, 100)
			n, _ := c.Read(request)
			sent <- string(request[:n])
			_, _ = io.WriteString(c, "+OK\r\n")
		}()
		if err := target(t, "redis://"+l.Addr().String()+path).Ask(t.Context()); err != nil {
			t.Error(err)
		}
		if got := <-sent; got != want {
			t.Errorf("%q sends %q, want %q", path, got, want)
		}
		_ = l.Close()
	}
}

func TestLoadMemcached(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer func() { _ = c.Close() }()
				r := bufio.NewReader(c)
				for {
					switch line, _ := r.ReadString('\n'); line {
					case "get there\r\n":
						_, _ = io.WriteString(c, "VALUE there 0 5\r\nEND\r\n\r\nEND\r\n")
					case "get gone\r\n":
						_, _ = io.WriteString(c, "END\r\n")
					case "get broken\r\n":
						_, _ = io.WriteString(c, "SERVER_ERROR out of memory\r\n")
					case "get odd\r\n":
						_, _ = io.WriteString(c, "VALUE odd 0 -1\r\n")
					default:
						return
					}
				}
			}()
		}
	}()
	at := "memcached://" + l.Addr().String() + "/"
	for _, key := range []string{"there", "gone"} {
		r, err := run(t, target(t, at+key), load.Options{Connections: 2}, 30*time.Millisecond)
		if err != nil || r.Answers == 0 {
			t.Errorf("%s: %v, %d answers", key, err, r.Answers)
		}
	}
	if err := target(t, at+"broken").Ask(t.Context()); !errors.Is(err, load.ErrRejected) || !strings.Contains(err.Error(), "out of memory") {
		t.Error(err)
	}
	if err := target(t, at+"odd").Ask(t.Context()); err == nil || errors.Is(err, load.ErrRejected) {
		t.Error(err)
	}
	connects := target(t, "tcp://"+l.Addr().String())
	if err := connects.Ask(t.Context()); err != nil || !connects.Connects() {
		t.Error(err)
	}
}

// A stall delays all requests that should have started in it. A generator that waits for
// answers would see one slow request for each connection.
func TestCoordinatedOmission(t *testing.T) {
	begin := time.Now()
	const from, to, end = 500 * time.Millisecond, 1500 * time.Millisecond, 2500 * time.Millisecond
	url := server(t, func(http.ResponseWriter, *http.Request) {
		if at := time.Since(begin); at > from && at < to {
			time.Sleep(to - at)
		}
	})
	r, err := run(t, target(t, url), load.Options{Rate: 400, Connections: 4, Seed: 1}, end)
	if err != nil && !errors.Is(err, load.ErrBehind) {
		t.Fatal(err)
	}
	// 40% of the requests are meant for the stall, half of which wait for longer than
	// half of it.
	if p90 := r.Quantile(0.9); p90 < 300*time.Millisecond {
		t.Errorf("p90 %v: the stall of %v was left out", p90, to-from)
	}
}

// The slowest requests are under way when a stretch of time ends. Finish waits for them.
func TestFinish(t *testing.T) {
	const slow = 300 * time.Millisecond
	var n atomic.Int64
	url := server(t, func(http.ResponseWriter, *http.Request) {
		if n.Add(1)%20 == 0 {
			time.Sleep(slow)
		}
	})
	l := target(t, url).Start(t.Context(), load.Options{Rate: 300, Seed: 1})
	defer l.Close()
	for n.Load() < 10 {
		time.Sleep(time.Millisecond)
	}
	if _, err := l.Take(); err != nil && !errors.Is(err, load.ErrBehind) {
		t.Fatal(err)
	}
	for taken := n.Load(); n.Load() < taken+50; {
		time.Sleep(time.Millisecond)
	}
	r, err := l.Finish(t.Context(), time.Minute)
	if err != nil && !errors.Is(err, load.ErrBehind) { // other programs may hold the CPUs
		t.Fatal(err)
	}
	if p99 := r.Quantile(0.99); p99 < slow {
		t.Errorf("p99 %v of %d: the requests under way were left out", p99, r.Latency.TotalCount())
	}
	if all := l.Answers(); all != n.Load() {
		t.Errorf("%d of %d requests were answered", all, n.Load())
	}
}

// What is not answered in time is no result.
func TestFinishWithoutAnswers(t *testing.T) {
	held := make(chan struct{})
	url := server(t, func(http.ResponseWriter, *http.Request) { <-held })
	l := target(t, url).Start(t.Context(), load.Options{Rate: 1000})
	defer l.Close()
	defer close(held)
	time.Sleep(50 * time.Millisecond)
	if _, err := l.Finish(t.Context(), 50*time.Millisecond); !errors.Is(err, load.ErrBehind) {
		t.Error(err)
	}
}

// A server may close a connection that is idle, just as a request is sent over it.
func TestIdleConnectionsAreClosed(t *testing.T) {
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	s.Config.IdleTimeout = 50 * time.Millisecond
	s.Start()
	defer s.Close()
	l := target(t, s.URL).Start(t.Context(), load.Options{Rate: 200, Connections: 40, Seed: 1})
	defer l.Close()
	for l.Answers() < 200 && l.Err() == nil {
		time.Sleep(time.Millisecond)
	}
	if err := l.Err(); err != nil {
		t.Error(err)
	}
}

// Early hints are not the answer.
func TestEarlyHints(t *testing.T) {
	const slow = 30 * time.Millisecond
	url := server(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Link", "</a.css>")
		w.WriteHeader(http.StatusEarlyHints)
		time.Sleep(slow)
		w.WriteHeader(http.StatusOK)
	})
	l := target(t, url).Start(t.Context(), load.Options{Connections: 2})
	defer l.Close()
	for l.Answers() < 10 && l.Err() == nil {
		time.Sleep(time.Millisecond)
	}
	r, err := l.Take()
	if median := r.Quantile(0.5); err != nil || median < slow*9/10 {
		t.Errorf("median %v: %v", median, err)
	}
}

func TestLoadAboveSaturation(t *testing.T) {
	url := server(t, func(http.ResponseWriter, *http.Request) { time.Sleep(20 * time.Millisecond) })
	// 4 connections take 200 per second.
	_, err := run(t, target(t, url), load.Options{Rate: 2000, Connections: 4}, time.Second)
	if !errors.Is(err, load.ErrBehind) || !strings.Contains(err.Error(), "above saturation") {
		t.Errorf("%v", err)
	}
}

func TestGate(t *testing.T) {
	url := server(t, func(http.ResponseWriter, *http.Request) {})
	for _, rate := range []float64{0, 2000} {
		l := target(t, url).Start(t.Context(), load.Options{Rate: rate, Connections: 4})
		wait := func(what string, done func() bool) {
			t.Helper()
			for deadline := time.Now().Add(time.Minute); !done(); time.Sleep(time.Millisecond) {
				if time.Now().After(deadline) {
					t.Fatal(what)
				}
			}
		}
		wait("no answers", func() bool { return l.Answers() > 50 })
		l.Open(false)
		last, since := l.Answers(), time.Now()
		wait("a closed gate lets requests through", func() bool {
			if n := l.Answers(); n != last {
				last, since = n, time.Now()
			}
			return time.Since(since) > 200*time.Millisecond
		})
		l.Open(true)
		wait("the gate stays closed", func() bool { return l.Answers() > last+50 })
		l.Close()
	}
}

func TestRedirect(t *testing.T) {
	moved := target(t, server(t, func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/elsewhere", http.StatusFound) }))
	if to, err := moved.Redirect(t.Context()); to != "/elsewhere" || err != nil {
		t.Errorf("redirected to %q, %v", to, err)
	}
	there := target(t, server(t, func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("Location", "/made") }))
	if to, err := there.Redirect(t.Context()); to != "" || err != nil {
		t.Errorf("redirected to %q, %v", to, err)
	}
}

func TestFailures(t *testing.T) {
	tls := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	tls.Config.ErrorLog = log.New(io.Discard, "", 0)
	tls.StartTLS()
	defer tls.Close()
	gone := httptest.NewServer(nil)
	gone.Close()
	for _, test := range []struct{ name, url, want string }{
		{"rejects", server(t, func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "no", http.StatusServiceUnavailable) }), "503"},
		{"nobody there", gone.URL, "refused"},
		{"unknown certificate", tls.URL, "certificate"},
		{"other protocol", strings.Replace(server(t, func(http.ResponseWriter, *http.Request) {}), "http:", "redis:", 1), "not of the protocol"},
		{"hangs up", server(t, func(w http.ResponseWriter, _ *http.Request) { panic(http.ErrAbortHandler) }), "EOF"},
	} {
		t.Run(test.name, func(t *testing.T) {
			to := target(t, test.url)
			if err := to.Ask(t.Context()); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("asked: %v", err)
			}
			l := to.Start(t.Context(), load.Options{Rate: 1000, Connections: 2})
			defer l.Close()
			for deadline := time.Now().Add(time.Minute); l.Err() == nil && time.Now().Before(deadline); time.Sleep(time.Millisecond) {
			}
			if _, err := l.Take(); !errors.Is(err, load.ErrFailing) || !strings.Contains(err.Error(), test.want) {
				t.Errorf("under load: %v", err)
			}
		})
	}
}

// The few failures that are tolerated are told.
func TestFewFailures(t *testing.T) {
	const refused = 5
	var n atomic.Int64
	url := server(t, func(w http.ResponseWriter, _ *http.Request) {
		if i := n.Add(1); i%20 == 0 && i <= 20*refused {
			http.Error(w, "no", http.StatusServiceUnavailable)
		}
	})
	l := target(t, url).Start(t.Context(), load.Options{Rate: 1000, Seed: 1})
	defer l.Close()
	for l.Answers() < 200 && l.Err() == nil {
		time.Sleep(time.Millisecond)
	}
	r, err := l.Finish(t.Context(), time.Minute)
	if err != nil && !errors.Is(err, load.ErrBehind) { // other programs may hold the CPUs
		t.Fatal(err)
	}
	if r.Failed != refused || !errors.Is(r.Failure, load.ErrRejected) {
		t.Errorf("%d requests failed, first %v: want %d", r.Failed, r.Failure, refused)
	}
}

// Requests that failed are slower than every answer.
func TestQuantileBesideFailures(t *testing.T) {
	latencies := hdrhistogram.New(1, 1e12, 3)
	for i := range int64(900) {
		if err := latencies.RecordValue(i + 1); err != nil {
			t.Fatal(err)
		}
	}
	for _, test := range []struct {
		failed int64
		q      float64
		want   time.Duration
	}{{0, 0.5, 450}, {0, 0.99, 891}, {100, 0.5, 500}, {100, 0.9, 900}, {100, 0.99, 900}, {5000, 0.5, 900}} {
		if got := load.Quantile(latencies, test.failed, test.q); got != test.want {
			t.Errorf("quantile %v beside %d failures: %d, want %d", test.q, test.failed, got, test.want)
		}
	}
}

func TestAwaitReady(t *testing.T) {
	begin := time.Now()
	url := server(t, func(w http.ResponseWriter, _ *http.Request) {
		if time.Since(begin) < 200*time.Millisecond {
			http.Error(w, "loading", http.StatusServiceUnavailable)
		}
	})
	alive := func() error { return nil }
	if err := target(t, url).AwaitReady(t.Context(), alive); err != nil || time.Since(begin) < 200*time.Millisecond {
		t.Error(err)
	}
	died := errors.New("it died")
	never := server(t, func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "loading", http.StatusServiceUnavailable) })
	if err := target(t, never).AwaitReady(t.Context(), func() error { return died }); !errors.Is(err, died) {
		t.Error(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var asked atomic.Int32
	interrupted := server(t, func(w http.ResponseWriter, r *http.Request) {
		if asked.Add(1) > 1 {
			cancel()
			<-r.Context().Done()
		}
		http.Error(w, "loading", http.StatusServiceUnavailable)
	})
	if err := target(t, interrupted).AwaitReady(ctx, alive); !errors.Is(err, load.ErrRejected) {
		t.Error(err)
	}
}

func TestParseFaults(t *testing.T) {
	for _, urls := range [][]string{
		{},
		{""},
		{"127.0.0.1:80"},
		{"ftp://a/b"},
		{"http://"},
		{"http://a/{0}"},
		{"redis://"},
		{"http://a/%zz"},
		{"http://a/", "http://b/"},
		{"http://a/", "redis://a:80/PING"},
		{"http://a/?x= y"},
		{"tcp://a"},
		{"memcached://a/"},
		{"http://user:password@a/"},
		{"redis://:password@a/PING"},
		{"redis://a/GET/what?"},
		{"redis://a/GET/key?db=2"},
		{"redis://a/GET/key#1"},
		{"memcached://a/key?x"},
		{"redis://a/GET/%zz"},
	} {
		if _, err := load.Parse(urls...); !errors.Is(err, load.ErrURL) {
			t.Errorf("%q: %v", urls, err)
		}
	}
	both := target(t, "http://a/x", "http://a/y")
	if both.String() != "http://a/x, http://a/y" {
		t.Error(both)
	}
}
