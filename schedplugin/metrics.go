package schedplugin

import (
	"sync"
	"sync/atomic"

	"k8s.io/component-base/metrics"
	"k8s.io/component-base/metrics/legacyregistry"

	"bandmate.dev/bandmate/advisor"
)

// Values of labels.
const (
	roleNewcomer = "newcomer"
	roleResident = "resident"
	// roleUnverifiable is that of a rejection because a limit cannot be checked.
	roleUnverifiable = "unverifiable"
	resultUsed       = "used"
	resultStale      = "stale"
	resultInvalid    = "invalid"
)

const subsystem = "bandmate"

// instruments are the plugin's metrics.
type instruments struct {
	lookups            *metrics.CounterVec
	profileAge         *metrics.Histogram
	slowdown           *metrics.HistogramVec
	rejections         *metrics.CounterVec
	unknownPods        *metrics.Counter
	invalidAnnotations *metrics.Counter
	measured           *metrics.CounterVec
	failures           *metrics.Counter
	profiles           *metrics.GaugeVec
	synced             *metrics.GaugeVec
	syncFailures       *metrics.CounterVec
	rebuild            *metrics.Histogram
	eventsDropped      *metrics.Counter
	limits             *metrics.GaugeVec
	// audited is whether a plugin audits limits: one of the process does.
	audited atomic.Bool
	// plugins are those of the process, a *Plugin by the name of its scheduler.
	plugins sync.Map
}

// register adds the metrics to the registry that the scheduler serves. Both belong to
// the process: two scheduler profiles with the plugin share them.
var register = sync.OnceValue(func() *instruments {
	m := newInstruments()
	legacyregistry.MustRegister(m.all()...)
	for _, s := range advisor.States() {
		m.lookups.WithLabelValues(string(s))
	}
	for _, role := range []string{roleNewcomer, roleResident, roleUnverifiable} {
		m.rejections.WithLabelValues(role)
	}
	return m
})

func (m *instruments) all() []metrics.Registerable {
	return []metrics.Registerable{
		m.lookups, m.profileAge, m.slowdown, m.rejections, m.unknownPods, m.invalidAnnotations,
		m.measured, m.failures, m.profiles, m.synced, m.syncFailures, m.rebuild, m.eventsDropped, m.limits,
	}
}

func newInstruments() *instruments {
	counter := func(name, help string) *metrics.CounterOpts {
		return &metrics.CounterOpts{Subsystem: subsystem, Name: name, Help: help, StabilityLevel: metrics.ALPHA}
	}
	gauge := func(name, help string) *metrics.GaugeOpts {
		return &metrics.GaugeOpts{Subsystem: subsystem, Name: name, Help: help, StabilityLevel: metrics.ALPHA}
	}
	histogram := func(name, help string, buckets []float64) *metrics.HistogramOpts {
		return &metrics.HistogramOpts{Subsystem: subsystem, Name: name, Help: help, Buckets: buckets, StabilityLevel: metrics.ALPHA}
	}
	return &instruments{
		lookups: metrics.NewCounterVec(counter("profile_lookups_total",
			"Pods placed, by the state of the application's profile on the node's machine: known, transferred, unknown or invalid."), []string{"result"}),
		profileAge: metrics.NewHistogram(histogram("profile_age_seconds",
			"Age of the profile that a placement was predicted with.", metrics.ExponentialBuckets(3600, 4, 8))),
		slowdown: metrics.NewHistogramVec(histogram("predicted_slowdown",
			"Predicted slowdown at placement, of the pod placed (newcomer) and of the pods already there (resident).",
			[]float64{1.005, 1.01, 1.02, 1.05, 1.1, 1.15, 1.2, 1.3, 1.5, 2, 3, 5}), []string{"role"}),
		rejections: metrics.NewCounterVec(counter("limit_rejections_total",
			"Pods that were kept from a node because they (newcomer) or a pod there (resident) would exceed a bandmate.dev/max-slowdown, max-p99 or load, or one cannot be checked (unverifiable); each counts once while it is pending."), []string{"role"}),
		unknownPods: metrics.NewCounter(counter("unknown_pods_total", "Pods placed whose application has no usable profile.")),
		invalidAnnotations: metrics.NewCounter(counter("invalid_annotations_total",
			"Annotations of pods that could not be read, counted each time a pod is tried.")),
		measured: metrics.NewCounterVec(counter("measured_traffic_total",
			"Readings of a node's measured traffic: used, stale or invalid."), []string{"result"}),
		failures:      metrics.NewCounter(counter("failures_total", "Memory domains that could not be scored; the pod was let through.")),
		eventsDropped: metrics.NewCounter(counter("events_dropped_total", "Placement events that were not written because there were too many at once.")),
		limits: metrics.NewGaugeVec(gauge("limits",
			"Running pods with a bandmate.dev/max-slowdown, max-p99 or load by what the last audit says, every 30 seconds: kept, exceeded or unverifiable."), []string{"state"}),
		profiles: metrics.NewGaugeVec(gauge("profiles", "Profiles by state: known or invalid, those of machines that are not used in full among the invalid."), []string{"state"}),
		synced: metrics.NewGaugeVec(gauge("profiles_synced",
			"1 while the watch of a resource is up, 0 while it is down and the last known profiles are used."), []string{"resource"}),
		syncFailures: metrics.NewCounterVec(counter("profile_sync_failures_total",
			"Attempts to list or watch a resource that failed."), []string{"resource"}),
		rebuild: metrics.NewHistogram(histogram("profiles_rebuild_seconds",
			"Time to compile changed profiles, outside scheduling cycles.", metrics.ExponentialBuckets(0.001, 4, 8))),
	}
}
