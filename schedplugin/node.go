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
	residents       []*resident
	// waiting is true where a resident is known by its curves until a model of the
	// memory was asked for.
	waiting  bool
	measured measurement
	cache    placeCache
}

// resident is a pod on a node, bound or assumed. It is immutable.
type resident struct {
	uid         types.UID
	application string
	known       *known // on the node's machine
	job         score.Job
	numaNode    int
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

// reading is what one pod of a node brings; pods are immutable objects, and most of
// a node's are still the same when another one has come.
type reading struct {
	pod      *v1.Pod
	resident *resident // nil for a pod that does not concern the plugin
}

// readNode reads a node of the scheduler's snapshot. What was read of the same pods
// before serves again; last may be nil.
func (p *Plugin) readNode(info fwk.NodeInfo, s *snapshot, last *seen) (*occupancy, []reading) {
	node, pods := info.Node(), info.GetPods()
	o := &occupancy{
		domain:    node.Labels[v1alpha1.MemoryDomainLabel],
		machine:   node.Labels[v1alpha1.MachineLabel],
		residents: make([]*resident, 0, len(pods)),
		measured:  p.readMeasurement(node),
	}
	var before []reading
	sameProfiles := false
	if last != nil {
		before, sameProfiles = last.readings, last.snapshot == s && last.occupancy.machine == o.machine
	}
	readings := make([]reading, len(pods))
	for i, podInfo := range pods {
		r := p.readPod(podInfo.GetPod(), node, before, i)
		if r.resident != nil {
			if k := r.resident.known; k == nil || k.byCurves || !sameProfiles {
				r.resident = r.resident.as(s.lookup(r.resident.application, o.machine))
			}
			o.residents = append(o.residents, r.resident)
			o.waiting = o.waiting || r.resident.known.byCurves
		}
		readings[i] = r
	}
	return o, readings
}

// readPod reads a pod, all but its profile where it was not read before: then most
// likely at place i.
func (p *Plugin) readPod(pod *v1.Pod, node *v1.Node, before []reading, i int) reading {
	if i < len(before) && before[i].pod == pod {
		return before[i]
	}
	if at := slices.IndexFunc(before, func(r reading) bool { return r.pod == pod }); at >= 0 {
		return before[at]
	}
	// An annotation that cannot be read was reported when the pod was scheduled.
	facts, _ := readPod(pod)
	if finished(pod) || !p.concerns(facts) {
		return reading{pod: pod}
	}
	return reading{pod, &resident{
		uid: pod.UID, application: facts.application, numaNode: facts.numaNode,
		job: score.Job{Name: pod.Name, CPUs: facts.cpus, Limit: facts.limit, Card: node.Name},
	}}
}

// as returns the resident with what is known of its application.
func (r *resident) as(k *known) *resident {
	if r.known == k {
		return r
	}
	changed := *r
	changed.known, changed.job.Application = k, k.Application
	return &changed
}

// equal reports whether nothing tells two residents apart for who predicts.
func (r *resident) equal(other *resident) bool {
	return r == other || r.uid == other.uid && r.job == other.job && r.numaNode == other.numaNode &&
		r.known.sketch == other.known.sketch
}

// finished pods keep their node for a while and press on nobody.
func finished(pod *v1.Pod) bool {
	return pod.Status.Phase == v1.PodSucceeded || pod.Status.Phase == v1.PodFailed
}

// concerns reports whether a pod takes part in the reckoning at all.
func (p *Plugin) concerns(f podFacts) bool {
	return f.application != "" || p.args.UnlabeledPods == config.UnlabeledUnknown
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
	return o.domain == other.domain && o.machine == other.machine && o.waiting == other.waiting &&
		o.measured.present == other.measured.present && o.measured.traffic == other.measured.traffic &&
		o.measured.time.Equal(other.measured.time) &&
		slices.EqualFunc(o.residents, other.residents, (*resident).equal)
}
