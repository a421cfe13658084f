package ticks

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

const exposed = `# HELP requests_total Requests.
# TYPE requests_total counter
requests_total{method="GET",code="200"} 10
requests_total{method="GET",code="500"} 1
requests_total{method="PUT",code="200"} 100
# TYPE steps gauge
steps 2.5e3
# TYPE latency histogram
latency_bucket{le="1"} 3
latency_bucket{le="+Inf"} 4
latency_sum 7.5
latency_count 4
plain 6
bad NaN
`

func TestSelector(t *testing.T) {
	for text, want := range map[string]float64{
		"requests_total":                          111,
		`requests_total{method="GET"}`:            11,
		`requests_total{code="200",method="PUT"}`: 100,
		"steps": 2500, "latency_count": 4, "latency_sum": 7.5, "plain": 6,
	} {
		s, err := parseSelector(text)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := s.read(strings.NewReader(exposed)); got != want || err != nil {
			t.Errorf("%s: %v, %v; want %v", text, got, err, want)
		}
	}
	for _, text := range []string{"none", `requests_total{method="POST"}`, `steps{method="GET"}`, "latency", "bad"} {
		s, err := parseSelector(text)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := s.read(strings.NewReader(exposed)); err == nil {
			t.Errorf("%s: %v", text, got)
		}
	}
	for _, text := range []string{"", "a b", "a{", "a{b=c}", "a\nb", "# HELP a b", "{}"} {
		if s, err := parseSelector(text); err == nil {
			t.Errorf("%q: %v", text, s)
		}
	}
}

func TestMetric(t *testing.T) {
	var count atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		switch n := count.Load(); {
		case n < 0:
			fmt.Fprintln(w, "other 1")
		default:
			fmt.Fprintf(w, "# TYPE steps_total counter\nsteps_total %d\n", n)
		}
	}))
	defer server.Close()
	count.Store(5)
	c := open(t, prepare(t, Metric{URL: server.URL, Metric: "steps_total", Patience: 20 * time.Second}), os.Getpid())
	wantCount(t, c, 5, nil)
	count.Store(8)
	if err := until(c, func(n float64, err error) bool { return n == 8 && err == nil }); err != nil {
		t.Error(err)
	}
	count.Store(-1)
	if err := until(c, func(_ float64, err error) bool { return errors.Is(err, ErrLost) && errors.Is(err, errNoSeries) }); err != nil {
		t.Error(err)
	}
	count.Store(9)
	if err := until(c, func(n float64, err error) bool { return n == 9 && err == nil }); err != nil {
		t.Error(err)
	}
}

// until reads a counter until what it yields is right.
func until(c Counter, isRight func(float64, error) bool) error {
	var n float64
	var err error
	for begin := time.Now(); time.Since(begin) < 20*time.Second; time.Sleep(time.Millisecond) {
		if n, err = c.Read(); isRight(n, err) {
			return nil
		}
	}
	return fmt.Errorf("at last %v, %w", n, err)
}

func TestMetricErrors(t *testing.T) {
	for _, s := range []Metric{{URL: "http://localhost", Metric: "a b"}, {URL: "localhost:80", Metric: "a"}, {URL: "file:///etc/passwd", Metric: "a"}} {
		if _, err := s.Prepare(); !errors.Is(err, ErrUnavailable) {
			t.Errorf("%+v: %v", s, err)
		}
	}
	server := httptest.NewServer(http.NotFoundHandler())
	defer server.Close()
	_, err := prepare(t, Metric{URL: server.URL, Metric: "a", Patience: time.Millisecond}).Open(os.Getpid())
	if !errors.Is(err, ErrUnavailable) {
		t.Errorf("%v, want %v", err, ErrUnavailable)
	}
}

func FuzzSelector(f *testing.F) {
	f.Add("steps", exposed)
	f.Add(`requests_total{method="GET"}`, exposed)
	f.Fuzz(func(t *testing.T, text, served string) {
		s, err := parseSelector(text)
		if err != nil {
			return
		}
		if n, err := s.read(strings.NewReader(served)); err == nil && n != n {
			t.Error("the count is not a number")
		}
	})
}
