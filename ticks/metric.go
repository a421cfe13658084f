package ticks

import (
	"errors"
	"fmt"
	"io"
	"math"
	"net/url"
	"strings"
	"time"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
)

// Metric counts by a metric that the program serves in the text format of
// Prometheus: the sum of all series of that name whose labels match. It is asked
// for every few milliseconds, by a goroutine, and takes at most a twentieth of the
// server's time where a request takes less than a hundredth of Patience.
type Metric struct {
	// URL is where the program serves its metrics: http://localhost:9090/metrics.
	URL string
	// Metric is the name of a counter, a gauge, or of the _count or _sum of a
	// histogram or summary, with the labels that a series must have:
	// requests_total{method="GET"}.
	Metric string
	// Patience is how long Open waits for the metric to be served, and how long the
	// program may run without an answer; 0 for ten seconds and one second. The time in
	// which the program is stopped does not count.
	Patience time.Duration
}

var _ Source = Metric{}

// Name returns "metric METRIC".
func (s Metric) Name() string { return "metric " + s.Metric }

// mostExposed bounds the answer of a server.
const mostExposed = 16 << 20

// Prepare checks the URL and the metric's name.
func (s Metric) Prepare() (*Run, error) {
	wanted, err := parseSelector(s.Metric)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	at, err := url.Parse(s.URL)
	if err != nil || at.Scheme != "http" && at.Scheme != "https" || at.Host == "" {
		return nil, fmt.Errorf("%w: %q is no address of metrics; want http://HOST:PORT/metrics", ErrUnavailable, s.URL)
	}
	return &Run{
		Open: func(pid int) (Counter, error) {
			return newCounter(s.Name(), pid, func() (reader, error) { return s.open(pid, wanted) })
		},
		Close: func() error { return nil },
	}, nil
}

// selector is a metric with labels.
type selector struct {
	name   string
	labels map[string]string
}

// parseSelector reads NAME or NAME{LABEL="VALUE",…}, which is a line of the text
// format without its value.
func parseSelector(text string) (selector, error) {
	fault := fmt.Errorf(`%q is no metric; want NAME or NAME{LABEL="VALUE"}`, text)
	if strings.ContainsAny(text, "\r\n#") {
		return selector{}, fault
	}
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(strings.NewReader(text + " 0\n"))
	if err != nil || len(families) != 1 {
		return selector{}, fault
	}
	s := selector{labels: map[string]string{}}
	for name, family := range families {
		s.name = name
		for _, metric := range family.GetMetric() {
			for _, label := range metric.GetLabel() {
				s.labels[label.GetName()] = label.GetValue()
			}
		}
	}
	return s, nil
}

// errNoSeries is wrapped when a metric is not served.
var errNoSeries = errors.New("no such metric")

// read adds up the series that match.
func (s selector) read(from io.Reader) (float64, error) {
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(from)
	if err != nil {
		return 0, fmt.Errorf("not the text format of Prometheus: %w", err)
	}
	sum, found := 0.0, false
	for suffix, value := range parts {
		name, ok := strings.CutSuffix(s.name, suffix)
		if !ok {
			continue
		}
		for _, metric := range families[name].GetMetric() {
			if n, ok := value(metric); ok && s.matches(metric) {
				sum, found = sum+n, true
			}
		}
	}
	switch {
	case !found:
		return 0, fmt.Errorf("%w: %s", errNoSeries, s)
	case math.IsNaN(sum) || math.IsInf(sum, 0):
		return 0, fmt.Errorf("%s is %v", s, sum)
	}
	return sum, nil
}

// parts are the values of a metric, by the end of the name that they are served
// by.
var parts = map[string]func(*dto.Metric) (float64, bool){
	"": func(m *dto.Metric) (float64, bool) {
		switch {
		case m.Counter != nil:
			return m.GetCounter().GetValue(), true
		case m.Gauge != nil:
			return m.GetGauge().GetValue(), true
		case m.Untyped != nil:
			return m.GetUntyped().GetValue(), true
		}
		return 0, false
	},
	"_count": func(m *dto.Metric) (float64, bool) {
		switch {
		case m.Histogram != nil:
			return float64(m.GetHistogram().GetSampleCount()), true
		case m.Summary != nil:
			return float64(m.GetSummary().GetSampleCount()), true
		}
		return 0, false
	},
	"_sum": func(m *dto.Metric) (float64, bool) {
		switch {
		case m.Histogram != nil:
			return m.GetHistogram().GetSampleSum(), true
		case m.Summary != nil:
			return m.GetSummary().GetSampleSum(), true
		}
		return 0, false
	},
}

// matches reports whether a series has the labels.
func (s selector) matches(metric *dto.Metric) bool {
	met := 0
	for _, label := range metric.GetLabel() {
		if value, wanted := s.labels[label.GetName()]; wanted {
			if value != label.GetValue() {
				return false
			}
			met++
		}
	}
	return met == len(s.labels)
}

// String returns the metric as it was written, more or less.
func (s selector) String() string {
	if len(s.labels) == 0 {
		return s.name
	}
	return fmt.Sprintf("%s%v", s.name, s.labels)
}
