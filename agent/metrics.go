package agent

import (
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"bandmate.dev/bandmate/api/v1alpha1"
)

// Metrics are the Prometheus metrics of an agent.
type Metrics struct {
	registry     *prometheus.Registry
	traffic      *prometheus.GaugeVec
	time         prometheus.Gauge
	measurements *prometheus.CounterVec
	publications *prometheus.CounterVec
	source       *prometheus.GaugeVec
	machine      *prometheus.GaugeVec
}

// NewMetrics returns metrics in a registry of their own.
func NewMetrics() *Metrics {
	m := &Metrics{
		registry: prometheus.NewRegistry(),
		traffic: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "bandmate_agent_memory_traffic_bytes_per_second",
			Help: "Traffic at the node's memory controllers in the last interval; absent while nothing can measure it.",
		}, []string{"direction"}),
		time: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "bandmate_agent_last_measurement_timestamp_seconds",
			Help: "When the last interval that could be measured ended.",
		}),
		measurements: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "bandmate_agent_measurements_total",
			Help: "Intervals by result: measured, failed.",
		}, []string{"result"}),
		publications: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "bandmate_agent_publications_total",
			Help: "Intervals by publication on the node object: published, held-back (no significant change), failed.",
		}, []string{"result"}),
		source: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "bandmate_agent_source_info",
			Help: "1 for the counters that measure; the source is none where no counters can be read.",
		}, []string{"source"}),
		machine: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "bandmate_agent_machine_info",
			Help: "1 for the machine and memory domain that the node is labeled with; empty where it is not.",
		}, []string{"machine", "memory_domain"}),
	}
	m.registry.MustRegister(m.traffic, m.time, m.measurements, m.publications, m.source, m.machine)
	return m
}

func (m *Metrics) measured(t v1alpha1.MeasuredTraffic) {
	m.traffic.WithLabelValues("read").Set(t.ReadBytesPerSecond)
	m.traffic.WithLabelValues("write").Set(t.WriteBytesPerSecond)
	m.time.Set(float64(t.Time.UnixNano()) / float64(time.Second))
	m.measurements.WithLabelValues("measured").Inc()
}

func (m *Metrics) failed() {
	m.traffic.Reset()
	m.measurements.WithLabelValues("failed").Inc()
}

// Handler serves /metrics, /healthz and /readyz.
func (a *Agent) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(a.metrics.registry, promhttp.HandlerOpts{}))
	mux.HandleFunc("GET /healthz", answer(a.Alive))
	mux.HandleFunc("GET /readyz", answer(a.Ready))
	return mux
}

func answer(check func() error) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		if err := check(); err != nil {
			http.Error(w, err.Error(), http.StatusServiceUnavailable)
			return
		}
		_, _ = w.Write([]byte("ok\n")) // the client notices
	}
}
