package view

import (
	"time"

	v1 "k8s.io/api/core/v1"

	"bandmate.dev/bandmate/advisor/occupancy"
	"bandmate.dev/bandmate/api/v1alpha1"
)

// ReadPod reads the labels, annotations, CPU requests and start of a pod. Invalid values count as
// absent and are among the faults. No profile is looked up.
func ReadPod(p *v1.Pod) (pod occupancy.Resident, faults []error) {
	pod = occupancy.Resident{
		ID: string(p.UID), Namespace: p.Namespace, Name: p.Name, Node: p.Spec.NodeName,
		Application: p.Labels[v1alpha1.ApplicationLabel], CPUs: requestedCPUs(p), Since: runningSince(p),
	}
	if text, ok := p.Annotations[v1alpha1.MaxSlowdownAnnotation]; ok {
		limit, err := v1alpha1.ParseMaxSlowdown(text)
		if err != nil {
			faults = append(faults, err)
		}
		pod.Limit = limit
	}
	if text, ok := p.Annotations[v1alpha1.LoadAnnotation]; ok {
		load, err := v1alpha1.ParseLoad(text)
		if err != nil {
			faults = append(faults, err)
		}
		pod.Demand.Load = load
	}
	if text, ok := p.Annotations[v1alpha1.MaxP99Annotation]; ok {
		limit, err := v1alpha1.ParseMaxP99(text)
		if err != nil {
			faults = append(faults, err)
		}
		pod.Demand.MaxP99 = limit
	}
	text, ok := p.Annotations[v1alpha1.NUMANodeAnnotation]
	if !ok {
		text, ok = p.Labels[v1alpha1.NUMANodeAnnotation]
	}
	if ok {
		number, err := v1alpha1.ParseNUMANode(text)
		if err != nil {
			faults = append(faults, err)
		} else {
			pod.NUMANode = occupancy.PinnedTo(number)
		}
	}
	return pod, faults
}

// runningSince returns when the last container of a running pod started for the first time,
// as far as it is told; zero for a pod that does not run.
func runningSince(p *v1.Pod) time.Time {
	if p.Status.Phase != v1.PodRunning || p.Status.StartTime == nil {
		return time.Time{}
	}
	since := p.Status.StartTime.Time
	for i := range p.Status.ContainerStatuses {
		c := &p.Status.ContainerStatuses[i]
		if c.RestartCount == 0 && c.State.Running != nil && c.State.Running.StartedAt.After(since) {
			since = c.State.Running.StartedAt.Time
		}
	}
	return since
}

// Finished reports whether a pod has ended, although it may still be on its node.
func Finished(p *v1.Pod) bool {
	return p.Status.Phase == v1.PodSucceeded || p.Status.Phase == v1.PodFailed
}

// ReadNode reads the labels and the measured traffic of a node, without residents. The
// error means that the measurement is invalid and ignored.
func ReadNode(n *v1.Node) (*occupancy.Node, error) {
	node := &occupancy.Node{Name: n.Name, Domain: n.Labels[v1alpha1.MemoryDomainLabel], Machine: n.Labels[v1alpha1.MachineLabel]}
	text, ok := n.Annotations[v1alpha1.MeasuredTrafficAnnotation]
	if !ok {
		return node, nil
	}
	m, err := v1alpha1.ParseMeasuredTraffic(text)
	if err == nil {
		node.Measured = &occupancy.Measurement{Traffic: m.Traffic(), Start: m.Start.Time, Time: m.Time.Time}
	}
	return node, err
}

// requestedCPUs adds up the requests as the kubelet does: containers and sidecars
// together, or the largest other init container. A pod without requests counts as one CPU.
func requestedCPUs(p *v1.Pod) float64 {
	var together, largest int64
	for i := range p.Spec.InitContainers {
		c := &p.Spec.InitContainers[i]
		request := c.Resources.Requests.Cpu().MilliValue()
		if c.RestartPolicy != nil && *c.RestartPolicy == v1.ContainerRestartPolicyAlways {
			together += request
			request = 0
		}
		largest = max(largest, together+request)
	}
	for i := range p.Spec.Containers {
		together += p.Spec.Containers[i].Resources.Requests.Cpu().MilliValue()
	}
	if r := p.Spec.Resources; r != nil && r.Requests.Cpu() != nil {
		together = max(together, r.Requests.Cpu().MilliValue())
	}
	if milli := max(together, largest); milli > 0 {
		return float64(milli) / 1000
	}
	return 1
}
