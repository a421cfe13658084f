//go:build kubernetes_1_35

package schedplugin

import (
	v1 "k8s.io/api/core/v1"
	fwk "k8s.io/kube-scheduler/framework"
)

const maxScore = fwk.MaxNodeScore

// inGroup is false: the scheduler of Kubernetes 1.35 places every pod by itself, also
// those of a gang.
func inGroup(*v1.Pod) bool { return false }
