//go:build !kubernetes_1_35

package schedplugin

import (
	v1 "k8s.io/api/core/v1"
	fwk "k8s.io/kube-scheduler/framework"
)

const maxScore = fwk.MaxScore

// inGroup reports whether the scheduler may place a pod together with others.
func inGroup(pod *v1.Pod) bool { return pod.Spec.SchedulingGroup != nil }
