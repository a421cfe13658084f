package schedplugin

import (
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	fwk "k8s.io/kube-scheduler/framework"

	"bandmate.dev/bandmate/api/v1alpha1"
	"bandmate.dev/bandmate/predictor/score"
	"bandmate.dev/bandmate/schedplugin/config"
	"bandmate.dev/bandmate/units"
)

// occupancy is what a node brings to its memory domain. It is immutable but for
// its cache.
type occupancy struct {
	domain, machine string
	residents       []resident
	measured        measurement
	cache           placeCache
}

// resident is a pod on a node, bound or assumed.
type resident struct {
	uid      types.UID
	job      score.Job
	sketch   *score.Sketch
	numaNode int
}

// measurement is what the node agent published, if anything.
type measurement struct {
	present bool
	traffic units.Traffic
	time    time.Time
}

// usable reports whether the measurement is recent; one from the future is by a
// clock that is wrong, and no newer than one as long ago.
func (m measurement) usable(now time.Time, maxAge time.Duration) bool {
	return m.present && now.Sub(m.time).Abs() <= maxAge
}

// readNode reads a node of the scheduler's snapshot.
func (p *Plugin) readNode(info fwk.NodeInfo, s *snapshot) *occupancy {
	node := info.Node()
	o := &occupancy{
		domain:   node.Labels[v1alpha1.MemoryDomainLabel],
		machine:  node.Labels[v1alpha1.MachineLabel],
		measured: p.readMeasurement(node),
	}
	for _, podInfo := range info.GetPods() {
		pod := podInfo.GetPod()
		// An annotation that cannot be read was reported when the pod was scheduled.
		facts, _ := readPod(pod)
		if finished(pod) || !p.concerns(facts) {
			continue
		}
		k := s.lookup(facts.application, o.machine)
		o.residents = append(o.residents, resident{
			uid:      pod.UID,
			job:      score.Job{Name: pod.Name, Application: k.Application, CPUs: facts.cpus, Limit: facts.limit, Card: node.Name},
			sketch:   k.sketch,
			numaNode: facts.numaNode,
		})
	}
	return o
}

// finished pods keep their node for a while and press on nobody.
func finished(pod *v1.Pod) bool {
	return pod.Status.Phase == v1.PodSucceeded || pod.Status.Phase == v1.PodFailed
}

// concerns reports whether a pod takes part in the reckoning at all.
func (p *Plugin) concerns(f podFacts) bool {
	return f.application != "" || p.args.UnlabelledPods == config.UnlabelledUnknown
}

func (p *Plugin) readMeasurement(node *v1.Node) measurement {
	text, ok := node.Annotations[v1alpha1.MeasuredTrafficAnnotation]
	if !ok {
		return measurement{}
	}
	m, err := v1alpha1.ParseMeasuredTraffic(text)
	if err != nil {
		p.metrics.measured.WithLabelValues(resultInvalid).Inc()
		return measurement{}
	}
	return measurement{present: true, traffic: m.Traffic(), time: m.Time.Time}
}

// equal reports whether two readings of a node say the same.
func (o *occupancy) equal(other *occupancy) bool {
	return o.domain == other.domain && o.machine == other.machine &&
		o.measured.present == other.measured.present && o.measured.traffic == other.measured.traffic &&
		o.measured.time.Equal(other.measured.time) &&
		slices.Equal(o.residents, other.residents)
}
