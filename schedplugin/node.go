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

// reading is what one pod of a node brings; pods are immutable objects, and most of
// a node's are still the same when another one has come.
type reading struct {
	pod         *v1.Pod
	concerns    bool
	application string
	resident    resident
}

// readNode reads a node of the scheduler's snapshot. What was read of the same pods
// before serves again; last may be nil.
func (p *Plugin) readNode(info fwk.NodeInfo, s *snapshot, last *seen) (*occupancy, []reading) {
	node, pods := info.Node(), info.GetPods()
	o := &occupancy{
		domain:    node.Labels[v1alpha1.MemoryDomainLabel],
		machine:   node.Labels[v1alpha1.MachineLabel],
		residents: make([]resident, 0, len(pods)),
		measured:  p.readMeasurement(node),
	}
	var before []reading
	sameProfiles := false
	if last != nil {
		before, sameProfiles = last.readings, last.snapshot == s && last.occupancy.machine == o.machine
	}
	readings := make([]reading, len(pods))
	for i, podInfo := range pods {
		pod := podInfo.GetPod()
		r, read := &readings[i], true
		if i < len(before) && before[i].pod == pod {
			*r = before[i]
		} else if at := slices.IndexFunc(before, func(r reading) bool { return r.pod == pod }); at >= 0 {
			*r = before[at]
		} else {
			*r, read = p.readResident(pod, node), false
		}
		if r.concerns {
			if !read || !sameProfiles {
				k := s.lookup(r.application, o.machine)
				r.resident.job.Application, r.resident.sketch = k.Application, k.sketch
			}
			o.residents = append(o.residents, r.resident)
		}
	}
	return o, readings
}

// readResident reads all of a pod but its profile.
func (p *Plugin) readResident(pod *v1.Pod, node *v1.Node) reading {
	// An annotation that cannot be read was reported when the pod was scheduled.
	facts, _ := readPod(pod)
	if finished(pod) || !p.concerns(facts) {
		return reading{pod: pod}
	}
	return reading{pod: pod, concerns: true, application: facts.application, resident: resident{
		uid:      pod.UID,
		job:      score.Job{Name: pod.Name, CPUs: facts.cpus, Limit: facts.limit, Card: node.Name},
		numaNode: facts.numaNode,
	}}
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
