package view

import (
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"bandmate.dev/bandmate/advisor"
	"bandmate.dev/bandmate/api/v1alpha1"
	"bandmate.dev/bandmate/predictor/score"
	"bandmate.dev/bandmate/units"
)

// Pod is what a pod says of itself.
type Pod struct {
	UID             types.UID
	Namespace, Name string
	// Application is the value of its label; empty when it names none.
	Application string
	// CPUs is what it requests, 1 when that is nothing.
	CPUs float64
	// Limit is the slowdown it may suffer at most; zero means any.
	Limit units.Slowdown
	// NUMANode is the node of the server it keeps to; nil for any.
	NUMANode *int
}

// job is the pod on a node, whose network card it uses.
func (p Pod) job(e advisor.Entry, node string) score.Job {
	return score.Job{Name: p.Name, Application: e.Application, CPUs: p.CPUs, Limit: p.Limit, Card: node}
}

// ReadPod reads labels, annotations and requests. What cannot be read counts as
// absent and is returned as faults.
func ReadPod(p *v1.Pod) (pod Pod, faults []error) {
	pod = Pod{
		UID: p.UID, Namespace: p.Namespace, Name: p.Name,
		Application: p.Labels[v1alpha1.ApplicationLabel], CPUs: requestedCPUs(p),
	}
	if text, ok := p.Annotations[v1alpha1.MaxSlowdownAnnotation]; ok {
		limit, err := v1alpha1.ParseMaxSlowdown(text)
		if err != nil {
			faults = append(faults, err)
		}
		pod.Limit = limit
	}
	text, ok := p.Annotations[v1alpha1.NUMANodeAnnotation]
	if !ok {
		text, ok = p.Labels[v1alpha1.NUMANodeAnnotation]
	}
	if ok {
		node, err := v1alpha1.ParseNUMANode(text)
		if err != nil {
			faults = append(faults, err)
		} else {
			pod.NUMANode = &node
		}
	}
	return pod, faults
}

// Finished pods keep their node for a while and press on nobody.
func Finished(p *v1.Pod) bool {
	return p.Status.Phase == v1.PodSucceeded || p.Status.Phase == v1.PodFailed
}

// requestedCPUs adds up the requests as the kubelet does: containers and
// sidecars together, or the largest other init container. A pod that requests
// nothing counts as one CPU: its slowdown must weigh something.
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
